//! Node: addresses, AS number, tunnel end points and role of one cluster node.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use routeagg::Platform;

use super::{MacAddr, Metadata};
use crate::Asn;

/// A cluster node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Name, and the labels that selectors look at.
    pub metadata: Metadata,
    /// `spec.bgp`. A node without it takes no part in BGP and VXLAN.
    pub bgp: Option<NodeBgp>,
    /// `spec.ipv4VXLANTunnelAddr`: the node's address inside the IPv4 overlay.
    pub ipv4_vxlan_tunnel_addr: Option<Ipv4Addr>,
    /// `spec.vxlanTunnelMACAddr`: overrides the derived MAC address of the IPv4 tunnel end point.
    pub vxlan_tunnel_mac_addr: Option<MacAddr>,
    /// `spec.ipv6VXLANTunnelAddr`: the node's address inside the IPv6 overlay.
    pub ipv6_vxlan_tunnel_addr: Option<Ipv6Addr>,
    /// `spec.vxlanTunnelMACAddrV6`: overrides the derived MAC address of the IPv6 tunnel end point.
    pub vxlan_tunnel_mac_addr_v6: Option<MacAddr>,
    /// `spec.orchRefs`: the node's names in orchestrators.
    pub orch_refs: Vec<OrchRef>,
    /// `spec.wireguard`: the node's WireGuard addresses.
    pub wireguard: Option<NodeWireguard>,
    /// `spec.addresses`: all addresses that are known of the node.
    pub addresses: Vec<NodeAddress>,
    /// `spec.interfaces`: interfaces and their addresses.
    pub interfaces: Vec<NodeInterface>,
    /// `spec.platform`, an addition of weft: overrides the label `kubernetes.io/os`.
    pub platform: Option<Platform>,
    /// `status.wireguardPublicKey`.
    pub wireguard_public_key: Option<String>,
    /// `status.wireguardPublicKeyV6`.
    pub wireguard_public_key_v6: Option<String>,
    /// `status.podCIDRs`: the node's ranges with host-local IPAM.
    pub pod_cidrs: Vec<IpNet>,
}

/// `spec.bgp` of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeBgp {
    /// `asNumber`: overrides the cluster's AS number.
    pub as_number: Option<Asn>,
    /// `ipv4Address`: the node's IPv4 address with the prefix length of its subnet.
    pub ipv4_address: Option<Ipv4Net>,
    /// `ipv6Address`: the node's IPv6 address with the prefix length of its subnet.
    pub ipv6_address: Option<Ipv6Net>,
    /// `ipv4IPIPTunnelAddr`: the node's address inside the IP-in-IP overlay.
    pub ipv4_ipip_tunnel_addr: Option<Ipv4Addr>,
    /// `routeReflectorClusterID`: makes the node a route reflector (RFC 4456).
    pub route_reflector_cluster_id: Option<Ipv4Addr>,
}

/// A node's name in an orchestrator.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct OrchRef {
    /// The name.
    pub node_name: String,
    /// The orchestrator, `k8s` for Kubernetes.
    pub orchestrator: String,
}

/// WireGuard addresses of a node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct NodeWireguard {
    /// `interfaceIPv4Address`.
    pub interface_ipv4_address: Option<Ipv4Addr>,
    /// `interfaceIPv6Address`.
    pub interface_ipv6_address: Option<Ipv6Addr>,
}

/// One address of a node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NodeAddress {
    /// The address; a subnet is kept where one is given.
    pub address: IpNet,
    /// What kind of address it is.
    pub kind: Option<AddressType>,
}

/// What kind of address a node address is.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum AddressType {
    /// The address that BGP uses.
    CalicoNodeIp,
    /// Inside the cluster's network.
    InternalIp,
    /// Reachable from outside.
    ExternalIp,
}

/// One interface of a node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct NodeInterface {
    /// The interface's name.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

impl Node {
    /// What the node runs on: `spec.platform`, else the label `kubernetes.io/os`, else Linux.
    #[must_use]
    pub fn platform(&self) -> Platform {
        let label = || {
            self.metadata
                .labels
                .get(platform_label())
                .map(String::as_str)
        };
        self.platform.unwrap_or_else(|| match label() {
            Some("windows") => Platform::Windows,
            _ => Platform::Linux,
        })
    }

    /// The node's IPv4 address with its subnet.
    #[must_use]
    pub fn ipv4(&self) -> Option<Ipv4Net> {
        self.bgp.as_ref()?.ipv4_address
    }

    /// The node's IPv6 address with its subnet.
    #[must_use]
    pub fn ipv6(&self) -> Option<Ipv6Net> {
        self.bgp.as_ref()?.ipv6_address
    }

    /// The node's AS number where it overrides the cluster's.
    #[must_use]
    pub fn as_number(&self) -> Option<Asn> {
        self.bgp.as_ref()?.as_number
    }

    /// The route reflector cluster that the node serves.
    #[must_use]
    pub fn cluster_id(&self) -> Option<Ipv4Addr> {
        self.bgp.as_ref()?.route_reflector_cluster_id
    }

    /// The addresses that sessions use, IPv4 first.
    pub fn session_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let ipv4 = self.ipv4().map(|net| IpAddr::V4(net.addr()));
        let ipv6 = self.ipv6().map(|net| IpAddr::V6(net.addr()));
        ipv4.into_iter().chain(ipv6)
    }
}

/// The label that says which operating system a node runs.
#[must_use]
pub const fn platform_label() -> &'static str {
    "kubernetes.io/os"
}

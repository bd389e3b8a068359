//! The fields of Node.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use routeagg::Platform;

use super::super::fields::{A_PREFIX, Fields, PREFIX};
use crate::model::{
    AddressType, MacAddr, Metadata, Node, NodeAddress, NodeBgp, NodeInterface, NodeWireguard,
    OrchRef,
};

pub(super) fn read(metadata: Metadata, spec: &mut Fields<'_>, status: &mut Fields<'_>) -> Node {
    let mut wireguard = spec.fields("wireguard");
    let mut bgp = spec.fields("bgp");
    let mut addresses = spec.list_of_fields("addresses");
    let mut interfaces = spec.list_of_fields("interfaces");
    let mut orch_refs = spec.list_of_fields("orchRefs");
    Node {
        metadata,
        bgp: bgp.is_present().then(|| read_bgp(&mut bgp)),
        ipv4_vxlan_tunnel_addr: spec.parsed("ipv4VXLANTunnelAddr", AN_IPV4, IPV4),
        vxlan_tunnel_mac_addr: mac(spec, "vxlanTunnelMACAddr"),
        ipv6_vxlan_tunnel_addr: spec.parsed("ipv6VXLANTunnelAddr", AN_IPV6, IPV6),
        vxlan_tunnel_mac_addr_v6: mac(spec, "vxlanTunnelMACAddrV6"),
        orch_refs: orch_refs.iter_mut().map(read_orch_ref).collect(),
        wireguard: wireguard.is_present().then(|| NodeWireguard {
            interface_ipv4_address: wireguard.parsed("interfaceIPv4Address", AN_IPV4, IPV4),
            interface_ipv6_address: wireguard.parsed("interfaceIPv6Address", AN_IPV6, IPV6),
        }),
        addresses: addresses.iter_mut().filter_map(read_address).collect(),
        interfaces: interfaces.iter_mut().map(read_interface).collect(),
        platform: spec.choice("platform", &PLATFORMS),
        wireguard_public_key: status.text("wireguardPublicKey"),
        wireguard_public_key_v6: status.text("wireguardPublicKeyV6"),
        pod_cidrs: status.parsed_list("podCIDRs", A_PREFIX, PREFIX),
    }
}

fn read_bgp(bgp: &mut Fields<'_>) -> NodeBgp {
    let ipv4: Option<InSubnet> = bgp.parsed(
        "ipv4Address",
        AN_IPV4,
        "write address and subnet, for example 192.0.2.7/24",
    );
    let ipv6: Option<InSubnet> = bgp.parsed(
        "ipv6Address",
        AN_IPV6,
        "write address and subnet, for example fd00::7/64",
    );
    NodeBgp {
        as_number: bgp.asn("asNumber"),
        ipv4_address: ipv4.and_then(|net| family(bgp, "ipv4Address", net, AN_IPV4)),
        ipv6_address: ipv6.and_then(|net| family(bgp, "ipv6Address", net, AN_IPV6)),
        ipv4_ipip_tunnel_addr: bgp.parsed("ipv4IPIPTunnelAddr", AN_IPV4, IPV4),
        route_reflector_cluster_id: bgp.parsed(
            "routeReflectorClusterID",
            "a cluster ID",
            "write four numbers, for example 244.0.0.1",
        ),
    }
}

/// The address if it is of the family that the field is for.
fn family<N>(fields: &Fields<'_>, name: &str, InSubnet(net): InSubnet, is: &str) -> Option<N>
where
    N: FamilyNet,
{
    let address = N::from_net(net);
    if address.is_none() {
        let remedy = "move it to the field of its family";
        fields
            .sink()
            .error(&fields.path(name), format!("\"{net}\" is not {is}"), remedy);
    }
    address
}

trait FamilyNet: Sized {
    fn from_net(net: IpNet) -> Option<Self>;
}

impl FamilyNet for Ipv4Net {
    fn from_net(net: IpNet) -> Option<Self> {
        match net {
            IpNet::V4(net) => Some(net),
            IpNet::V6(_) => None,
        }
    }
}

impl FamilyNet for Ipv6Net {
    fn from_net(net: IpNet) -> Option<Self> {
        match net {
            IpNet::V4(_) => None,
            IpNet::V6(net) => Some(net),
        }
    }
}

fn mac(spec: &mut Fields<'_>, name: &'static str) -> Option<MacAddr> {
    spec.parsed(name, "a MAC address", "write for example 66:a8:6f:cf:1c:56")
}

fn read_orch_ref(fields: &mut Fields<'_>) -> OrchRef {
    OrchRef {
        node_name: fields.text("nodeName").unwrap_or_default(),
        orchestrator: fields.text("orchestrator").unwrap_or_default(),
    }
}

fn read_address(fields: &mut Fields<'_>) -> Option<NodeAddress> {
    let kind = fields.choice("type", &ADDRESS_TYPES);
    let InSubnet(address) = fields.required(
        "address",
        "an IP address",
        "write for example 192.0.2.7 or 192.0.2.7/24",
    )?;
    Some(NodeAddress { address, kind })
}

fn read_interface(fields: &mut Fields<'_>) -> NodeInterface {
    let addresses: Vec<InSubnet> =
        fields.parsed_list("addresses", "an IP address", "write for example 192.0.2.7");
    NodeInterface {
        name: fields.text("name").unwrap_or_default(),
        addresses: addresses
            .into_iter()
            .map(|InSubnet(net)| net.addr())
            .collect(),
    }
}

/// An address with the length of its subnet; without one, alone in its subnet.
struct InSubnet(IpNet);

impl FromStr for InSubnet {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let address = text.parse::<IpAddr>().map(IpNet::from).map_err(|_| ());
        address.or_else(|()| text.parse().map_err(|_| ())).map(Self)
    }
}

const AN_IPV4: &str = "an IPv4 address";
const IPV4: &str = "write for example 192.0.2.7";
const AN_IPV6: &str = "an IPv6 address";
const IPV6: &str = "write for example fd00::7";

const PLATFORMS: [(&str, Platform); 2] =
    [("linux", Platform::Linux), ("windows", Platform::Windows)];

const ADDRESS_TYPES: [(&str, AddressType); 3] = [
    ("CalicoNodeIP", AddressType::CalicoNodeIp),
    ("InternalIP", AddressType::InternalIp),
    ("ExternalIP", AddressType::ExternalIp),
];

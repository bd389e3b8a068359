//! The overlay: for which families and pools, between which nodes, and which prefix leads to which node.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use routeagg::{Ipam, Platform, RouteKind};

use super::Context;
use crate::Finding;
use crate::model::{Encapsulation, MacAddr, Node};

/// Settings of the overlay. They come from the daemon's own configuration, all nodes have to agree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VxlanSettings {
    /// VXLAN network identifier, the same for both families.
    pub vni: u32,
    /// UDP port, the same for both families.
    pub port: u16,
    /// Name of the IPv4 device.
    pub device_ipv4: String,
    /// Name of the IPv6 device.
    pub device_ipv6: String,
    /// MTU of the IPv4 device; `None` derives it from the underlay.
    pub mtu_ipv4: Option<u32>,
    /// MTU of the IPv6 device; `None` derives it from the underlay.
    pub mtu_ipv6: Option<u32>,
}

/// What the overlay consists of, seen from one node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VxlanPlan {
    /// True when some IPv4 pool uses VXLAN.
    pub ipv4: bool,
    /// True when some IPv6 pool uses VXLAN; never on Windows.
    pub ipv6: bool,
    /// VNI, port, device names, MTU.
    pub settings: VxlanSettings,
    /// The pools that use VXLAN, by range.
    pub pools: BTreeMap<IpNet, VxlanPool>,
    /// All nodes with a node address, this one included.
    pub nodes: BTreeMap<String, VxlanNode>,
    /// Every block and borrowed address inside the pools, this node's included.
    pub routes: BTreeMap<IpNet, VxlanRoute>,
}

/// A pool that uses VXLAN.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VxlanPool {
    /// The pool's name.
    pub name: String,
    /// `Always` or `CrossSubnet`; Windows treats the latter as the former.
    pub mode: Encapsulation,
}

/// A node of the overlay.
///
/// A tunnel to it can exist in a family when both its node address and its tunnel address are known.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct VxlanNode {
    /// Node address with subnet, IPv4.
    pub ipv4: Option<Ipv4Net>,
    /// Node address with subnet, IPv6.
    pub ipv6: Option<Ipv6Net>,
    /// Address inside the IPv4 overlay.
    pub tunnel_ipv4: Option<Ipv4Addr>,
    /// Address inside the IPv6 overlay.
    pub tunnel_ipv6: Option<Ipv6Addr>,
    /// MAC address of the IPv4 end point, where it is not the derived one.
    pub mac_ipv4: Option<MacAddr>,
    /// MAC address of the IPv6 end point, where it is not the derived one.
    pub mac_ipv6: Option<MacAddr>,
    /// What the node runs on.
    pub platform: Platform,
}

/// Where a prefix of the overlay leads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VxlanRoute {
    /// The node.
    pub node: String,
    /// A block, or a borrowed address.
    pub kind: RouteKind,
    /// The range of the pool, a key of [`VxlanPlan::pools`].
    pub pool: IpNet,
}

impl Default for VxlanSettings {
    /// VNI 4096 and port 4789, the only values that Windows accepts too; devices named after weft.
    fn default() -> Self {
        Self {
            vni: 4096,
            port: WINDOWS_PORT,
            device_ipv4: "vxlan.weft".to_owned(),
            device_ipv6: "vxlan-v6.weft".to_owned(),
            mtu_ipv4: None,
            mtu_ipv6: None,
        }
    }
}

pub(super) fn plan(context: &Context<'_>, ipam: &Ipam, findings: &mut Vec<Finding>) -> VxlanPlan {
    let windows = context.is_windows();
    let usable = |cidr: &IpNet| !(windows && matches!(cidr, IpNet::V6(_)));
    let pools: BTreeMap<IpNet, VxlanPool> = context
        .pools
        .iter()
        .filter(|(cidr, pool)| pool.uses_vxlan() && usable(cidr))
        .map(|(cidr, pool)| {
            let mode = if windows {
                Encapsulation::Always
            } else {
                pool.vxlan_mode
            };
            (
                *cidr,
                VxlanPool {
                    name: pool.metadata.name.clone(),
                    mode,
                },
            )
        })
        .collect();
    let settings = context.local.vxlan.clone();
    if windows && !pools.is_empty() {
        check_windows(context, &settings, findings);
    }
    let nodes = context.snapshot.nodes.iter();
    let routes = ipam.routes().filter_map(|route| {
        // The smallest pool around the prefix decides, even when a larger one uses VXLAN.
        let pool = context.pools.containing(&route.prefix)?.cidr.trunc();
        let (node, kind) = (route.node.clone(), route.kind);
        pools
            .contains_key(&pool)
            .then_some((route.prefix, VxlanRoute { node, kind, pool }))
    });
    VxlanPlan {
        ipv4: pools.keys().any(|cidr| matches!(cidr, IpNet::V4(_))),
        ipv6: pools.keys().any(|cidr| matches!(cidr, IpNet::V6(_))),
        settings,
        nodes: match pools.is_empty() {
            true => BTreeMap::new(),
            false => nodes
                .filter_map(|(name, node)| Some((name.clone(), node_of(node)?)))
                .collect(),
        },
        routes: routes.collect(),
        pools,
    }
}

fn node_of(node: &Node) -> Option<VxlanNode> {
    let windows = node.platform() == Platform::Windows;
    let ipv6 = node.ipv6().filter(|_| !windows);
    (node.ipv4().is_some() || ipv6.is_some()).then(|| VxlanNode {
        ipv4: node.ipv4(),
        ipv6,
        tunnel_ipv4: node.ipv4_vxlan_tunnel_addr,
        tunnel_ipv6: node.ipv6_vxlan_tunnel_addr.filter(|_| !windows),
        mac_ipv4: node.vxlan_tunnel_mac_addr,
        mac_ipv6: node.vxlan_tunnel_mac_addr_v6.filter(|_| !windows),
        platform: node.platform(),
    })
}

fn check_windows(context: &Context<'_>, settings: &VxlanSettings, findings: &mut Vec<Finding>) {
    let mut refuse = |problem: String, remedy: &str| {
        findings.push(Finding::error(vec![context.key()], "", problem, remedy));
    };
    if settings.port != WINDOWS_PORT {
        let problem = format!(
            "UDP port {} cannot be used for VXLAN on Windows",
            settings.port
        );
        refuse(problem, "use 4789 on all nodes");
    }
    if !(WINDOWS_VNI).contains(&settings.vni) {
        let problem = format!("VNI {} cannot be used on Windows", settings.vni);
        refuse(problem, "use a VNI from 4096 to 65535 on all nodes");
    }
    if settings.mtu_ipv4.is_some() {
        let problem = "the MTU of the overlay cannot be set on Windows: ignored".to_owned();
        refuse(problem, "leave it to the underlay");
    }
}

/// The switch of Windows knows no other port.
const WINDOWS_PORT: u16 = 4789;
/// HNS reserves what is below 4096 and cuts off what is above 16 bits.
const WINDOWS_VNI: std::ops::RangeInclusive<u32> = 4096..=65535;

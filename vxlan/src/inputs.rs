//! What goes in: everything that the overlay of one node depends on.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::{Family, MacAddr};

/// The whole input.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Inputs {
    /// This node, a key of `nodes`.
    pub node: String,
    /// Settings that all nodes share.
    pub settings: Settings,
    /// The pools that use VXLAN. The smallest one around a prefix decides its mode.
    pub pools: Vec<Pool>,
    /// All nodes, this one included.
    pub nodes: BTreeMap<String, NodeInfo>,
    /// Which node each block, and each borrowed address as /32 or /128, leads to; this node's included.
    pub routes: BTreeMap<IpNet, String>,
}

/// Settings that all nodes of an overlay share, but for the device names and MTUs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    /// VXLAN network identifier, 1 to 16777215, the same for both families.
    pub vni: u32,
    /// UDP port, the same for both families.
    pub port: u16,
    /// Name of the IPv4 device, at most 15 bytes.
    pub device_v4: String,
    /// Name of the IPv6 device, at most 15 bytes.
    pub device_v6: String,
    /// MTU of the IPv4 device; `None` derives it from the underlay's.
    pub mtu_v4: Option<u32>,
    /// MTU of the IPv6 device; `None` derives it from the underlay's.
    pub mtu_v6: Option<u32>,
}

impl Default for Settings {
    /// VNI 4096 on UDP port 4789: what Calico uses, and the lowest VNI that Windows takes.
    fn default() -> Self {
        Self {
            vni: 4096,
            port: 4789,
            device_v4: "vxlan.weft".to_owned(),
            device_v6: "vxlan-v6.weft".to_owned(),
            mtu_v4: None,
            mtu_v6: None,
        }
    }
}

/// A range of addresses that uses the overlay.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pool {
    /// The range.
    pub cidr: IpNet,
    /// When packets are encapsulated.
    pub mode: Mode,
}

/// When packets to a pool's addresses are encapsulated.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Mode {
    /// Always.
    Always,
    /// Only when the other node is in another subnet.
    CrossSubnet,
}

/// One node. A tunnel to it can exist in a family when its node address and its tunnel address are both known.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct NodeInfo {
    /// Node address with its subnet, IPv4.
    pub v4: Option<Ipv4Net>,
    /// Node address with its subnet, IPv6.
    pub v6: Option<Ipv6Net>,
    /// Address inside the IPv4 overlay.
    pub tunnel_v4: Option<Ipv4Addr>,
    /// Address inside the IPv6 overlay.
    pub tunnel_v6: Option<Ipv6Addr>,
    /// MAC address of the IPv4 tunnel end point, where it is not the derived one.
    pub mac_v4: Option<MacAddr>,
    /// MAC address of the IPv6 tunnel end point, where it is not the derived one.
    pub mac_v6: Option<MacAddr>,
}

impl NodeInfo {
    /// The node's address with its subnet.
    #[must_use]
    pub fn address(&self, family: Family) -> Option<IpNet> {
        match family {
            Family::V4 => self.v4.map(IpNet::V4),
            Family::V6 => self.v6.map(IpNet::V6),
        }
    }

    /// The node's address inside the overlay.
    #[must_use]
    pub fn tunnel_address(&self, family: Family) -> Option<IpAddr> {
        match family {
            Family::V4 => self.tunnel_v4.map(IpAddr::V4),
            Family::V6 => self.tunnel_v6.map(IpAddr::V6),
        }
    }

    /// The MAC address of the node's tunnel end point: its own, or the one derived from its name.
    #[must_use]
    pub fn mac(&self, name: &str, family: Family) -> MacAddr {
        let own = match family {
            Family::V4 => self.mac_v4,
            Family::V6 => self.mac_v6,
        };
        own.unwrap_or_else(|| MacAddr::of_node(name, family))
    }
}

impl Settings {
    pub(crate) const fn device(&self, family: Family) -> &String {
        match family {
            Family::V4 => &self.device_v4,
            Family::V6 => &self.device_v6,
        }
    }

    pub(crate) const fn mtu(&self, family: Family) -> Option<u32> {
        match family {
            Family::V4 => self.mtu_v4,
            Family::V6 => self.mtu_v6,
        }
    }
}

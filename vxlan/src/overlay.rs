//! What comes out: the tunnels of one node, with everything that has to be on the host for them.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::{Finding, MacAddr};

/// The desired overlay of one node.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Overlay {
    /// At most one tunnel per family, IPv4 first.
    pub tunnels: Vec<Tunnel>,
    /// What a person should look at, sorted.
    pub findings: Vec<Finding>,
}

/// One VXLAN device and what belongs to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tunnel {
    /// The device's name.
    pub device: String,
    /// Family of the underlay and of everything inside.
    pub family: Family,
    /// VXLAN network identifier.
    pub vni: u32,
    /// UDP port.
    pub port: u16,
    /// This node's address: where packets leave from. The device that carries it is the underlay device.
    pub local: IpAddr,
    /// This node's address inside the overlay, the only one of the device, as /32 or /128.
    pub tunnel_address: IpAddr,
    /// The device's MAC address.
    pub mac: MacAddr,
    /// The device's MTU.
    pub mtu: Mtu,
    /// The other ends, by their addresses inside the overlay.
    pub vteps: BTreeMap<IpAddr, Vtep>,
    /// Where prefixes of other nodes lead.
    pub routes: BTreeMap<IpNet, TunnelRoute>,
}

/// A tunnel end point of another node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Vtep {
    /// The node.
    pub node: String,
    /// Its MAC address inside the overlay.
    pub mac: MacAddr,
    /// The node's address: where packets are sent.
    pub underlay: IpAddr,
}

/// How to reach a prefix of another node.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum TunnelRoute {
    /// Through the tunnel, via the tunnel address of the other node.
    Via(IpAddr),
    /// The prefix is the tunnel address itself: on the device, without a gateway.
    Vtep,
    /// Without the tunnel: the other node is in this node's subnet, this is its address there.
    SameSubnet(IpAddr),
}

/// How large packets inside the tunnel may be.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Mtu {
    /// The underlay device's MTU less [`Family::overhead`], and it follows when that changes.
    Auto,
    /// So many bytes.
    Fixed(u32),
}

/// An address family.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Both, IPv4 first.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The family of a prefix.
    #[must_use]
    pub const fn of(prefix: &IpNet) -> Self {
        match prefix {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }

    /// The family of an address.
    #[must_use]
    pub const fn of_address(address: &IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// What encapsulation adds to a packet, in bytes: outer IP header, UDP, VXLAN and inner Ethernet header (RFC 7348
    /// section 5).
    #[must_use]
    pub const fn overhead(self) -> u32 {
        match self {
            Self::V4 => 50,
            Self::V6 => 70,
        }
    }

    /// Length of a prefix that holds one address.
    #[must_use]
    pub const fn host_length(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }
}

impl Tunnel {
    /// The prefixes that lead through the tunnel to the VTEP with this address.
    ///
    /// Cost grows with the number of routes.
    pub fn prefixes_behind(&self, vtep: IpAddr) -> impl Iterator<Item = &IpNet> {
        self.routes
            .iter()
            .filter_map(move |(prefix, route)| match route {
                TunnelRoute::Via(via) => (*via == vtep).then_some(prefix),
                TunnelRoute::Vtep => (prefix.addr() == vtep).then_some(prefix),
                TunnelRoute::SameSubnet(_) => None,
            })
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

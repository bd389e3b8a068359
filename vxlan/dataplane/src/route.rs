//! Routes as callers ask for them.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

/// What a route is for. Of several routes with one prefix the kernel gets that of the lowest class.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum RouteClass {
    /// Through a VXLAN tunnel to another node. Set by [`crate::Dataplane::set_overlay`] only.
    Tunnel,
    /// Straight to another node in this node's subnet. Set by [`crate::Dataplane::set_overlay`] only.
    SameSubnet,
    /// Learned by BGP.
    Bgp,
    /// This node's own block, as a blackhole: addresses in it that no workload has lead nowhere.
    OwnBlock,
}

/// A change of the routes that are wanted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteChange {
    /// Where to. Host bits are cleared.
    pub prefix: IpNet,
    /// What for. At most one route is kept per prefix and class.
    pub class: RouteClass,
    /// How from now on; `None`: no more.
    pub route: Option<RouteSpec>,
}

/// How packets to a prefix are treated.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub enum RouteSpec {
    /// They are dropped.
    Blackhole,
    /// They are sent on.
    Unicast {
        /// Where to; several share the load (ECMP). Order does not matter, and one that is named twice counts once.
        next_hops: Vec<RouteNextHop>,
        /// Limits the size of packets, for when it is less than the device's.
        mtu: Option<u32>,
    },
}

/// One way out.
///
/// A gateway without an interface is looked up in the kernel, as often as links, addresses or routes there change: it
/// may be on a connected network, or be reached through another gateway (RFC 4271 section 5.1.3), but never through a
/// route of weft's own.
#[derive(Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct RouteNextHop {
    /// The router; `None`: destinations are on the link itself. It may be IPv6 for an IPv4 prefix (RFC 8950).
    pub gateway: Option<IpAddr>,
    /// Name of the interface. Needed for link-local gateways, and when there is no gateway.
    pub interface: Option<String>,
    /// The gateway is on the link although no address of the interface says so.
    pub onlink: bool,
    /// Share of the load relative to the others, 1 to 256; 0 counts as 1.
    pub weight: u16,
}

impl RouteNextHop {
    /// A gateway that is looked up in the kernel.
    #[must_use]
    pub const fn via(gateway: IpAddr) -> Self {
        Self {
            gateway: Some(gateway),
            interface: None,
            onlink: false,
            weight: 1,
        }
    }

    /// Destinations on the link itself.
    #[must_use]
    pub fn dev(interface: impl Into<String>) -> Self {
        Self {
            gateway: None,
            interface: Some(interface.into()),
            onlink: false,
            weight: 1,
        }
    }

    /// A gateway on an interface.
    #[must_use]
    pub fn via_dev(gateway: IpAddr, interface: impl Into<String>) -> Self {
        Self {
            gateway: Some(gateway),
            ..Self::dev(interface)
        }
    }
}

impl RouteSpec {
    /// Sends packets to one next hop.
    #[must_use]
    pub fn unicast(next_hop: RouteNextHop) -> Self {
        Self::multipath([next_hop])
    }

    /// Shares packets out to next hops.
    #[must_use]
    pub fn multipath(next_hops: impl IntoIterator<Item = RouteNextHop>) -> Self {
        Self::Unicast {
            next_hops: next_hops.into_iter().collect(),
            mtu: None,
        }
    }
}

impl fmt::Display for RouteClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tunnel => "tunnel",
            Self::SameSubnet => "same-subnet",
            Self::Bgp => "bgp",
            Self::OwnBlock => "own-block",
        })
    }
}

impl fmt::Display for RouteNextHop {
    /// As `ip route` writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            gateway,
            interface,
            onlink,
            weight,
        } = self;
        let mut separator = "";
        if let Some(gateway) = gateway {
            write!(f, "via {gateway}")?;
            separator = " ";
        }
        if let Some(interface) = interface {
            write!(f, "{separator}dev {interface}")?;
        }
        if *onlink {
            f.write_str(" onlink")?;
        }
        if *weight > 1 {
            write!(f, " weight {weight}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RouteSpec {
    /// As `ip route` writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blackhole => f.write_str("blackhole"),
            Self::Unicast { next_hops, mtu } => {
                for (index, next_hop) in next_hops.iter().enumerate() {
                    let nexthop = if next_hops.len() > 1 { "nexthop " } else { "" };
                    let space = if index > 0 { " " } else { "" };
                    write!(f, "{space}{nexthop}{next_hop}")?;
                }
                match mtu {
                    Some(mtu) => write!(f, " mtu {mtu}"),
                    None => Ok(()),
                }
            }
        }
    }
}

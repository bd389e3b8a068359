//! What in the inputs keeps part of the overlay from working.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::{Family, MacAddr};

/// Something that a person should look at. The text says what is wrong, what follows from it, and, after the last
/// semicolon, what to do.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// A setting can't be used.
    #[error("the overlay's {setting} can't be used: {problem}; {remedy}")]
    Setting {
        /// Which.
        setting: &'static str,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// This node can't be part of the overlay.
    #[error("{family} pools use VXLAN, but this node, {node}, {missing}: it has no {family} tunnel; {}", missing.remedy())]
    OwnEndMissing {
        /// This node.
        node: String,
        /// Of the tunnel that is missing.
        family: Family,
        /// What is not known.
        missing: Missing,
    },
    /// Prefixes lead to a node that has no VTEP: nothing is routed there.
    #[error(
        "{node} holds {prefix}{}, but {missing}: no tunnel leads there; {}",
        and_more(*.more), missing.remedy()
    )]
    VtepMissing {
        /// The node.
        node: String,
        /// Of the VTEP that is missing.
        family: Family,
        /// What is not known.
        missing: Missing,
        /// The first of the prefixes.
        prefix: IpNet,
        /// How many more there are.
        more: usize,
    },
    /// Two nodes have the same MAC address in the overlay, which one of them can have only.
    #[error(
        "{dropped} and {kept} both have the MAC address {mac} in the overlay: no tunnel leads to {dropped}; give one of \
         them another vxlanTunnelMACAddr"
    )]
    DuplicateMac {
        /// The address.
        mac: MacAddr,
        /// Of the tunnel.
        family: Family,
        /// The node that has it now.
        kept: String,
        /// The node that is left out.
        dropped: String,
    },
    /// Two nodes have the same tunnel address.
    #[error(
        "{dropped} and {kept} both have the tunnel address {address}: no tunnel leads to {dropped}; delete the address \
         of one of them, it gets another"
    )]
    DuplicateTunnelAddress {
        /// The address.
        address: IpAddr,
        /// The node that has it now.
        kept: String,
        /// The node that is left out.
        dropped: String,
    },
    /// Another node claims this node's own address.
    #[error(
        "{node} has this node's own address {address}: no tunnel leads to it; correct its address, or delete the Node \
         if this node was renamed"
    )]
    OwnAddressElsewhere {
        /// The other node.
        node: String,
        /// The address.
        address: IpAddr,
    },
    /// A node's MAC address is a group address or zero.
    #[error(
        "{node} has {mac} as its MAC address in the overlay, which is none of one device: no tunnel leads to it; \
             correct its vxlanTunnelMACAddr"
    )]
    InvalidMac {
        /// The node.
        node: String,
        /// The address.
        mac: MacAddr,
    },
    /// A prefix is in no pool of the overlay.
    #[error(
        "{prefix} of {node} is in no pool that uses VXLAN: the overlay has no route for it; add the pool, or release \
             the block"
    )]
    OutsidePools {
        /// The prefix.
        prefix: IpNet,
        /// The node that it leads to.
        node: String,
    },
}

/// What is not known of a node.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash, thiserror::Error)]
pub enum Missing {
    /// The node.
    #[error("is not known as a node")]
    Node,
    /// Its address.
    #[error("has no node address")]
    Address,
    /// Its address in the overlay.
    #[error("has no tunnel address")]
    TunnelAddress,
    /// Another node has its tunnel address or its MAC address, or they are no good; another finding says which.
    #[error("has a tunnel end point that can't be used")]
    UsableEnd,
}

impl Missing {
    const fn remedy(self) -> &'static str {
        match self {
            Self::Node => "add its Node",
            Self::Address => "set spec.bgp.ipv4Address or ipv6Address of its Node",
            Self::TunnelAddress => {
                "set spec.ipv4VXLANTunnelAddr or ipv6VXLANTunnelAddr of its Node"
            }
            Self::UsableEnd => "see the other finding about it",
        }
    }
}

fn and_more(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

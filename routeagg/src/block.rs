//! What IPAM stores: blocks, the addresses handed out of them, and which node claims them.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ipnet::IpNet;

/// One allocation block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Block {
    /// The block's prefix; host bits are ignored.
    pub cidr: IpNet,
    /// Whom the block itself names as its owner.
    pub owner: Owner,
    /// Soft-deleted: the block is on its way out and belongs to nobody.
    pub deleted: bool,
    /// Addresses in use, by ordinal: ordinal `i` is the network address plus `i`.
    pub allocations: BTreeMap<u32, Allocation>,
}

/// Who owns a block.
#[derive(Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Owner {
    /// A cluster node, by name.
    Host(String),
    /// Something that is no node, such as `load-balancer`; no node has routes for it.
    Virtual(String),
    /// Nobody: the block of a released node, kept for the addresses still in use.
    Nobody,
}

/// One address in use.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Allocation {
    /// The node on which the address is used; old data and reservations name none.
    pub node: Option<String>,
    /// What the address is used for.
    pub usage: Usage,
}

/// What an allocated address is used for.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Usage {
    /// A workload.
    Workload,
    /// A tunnel end point (IP-in-IP, VXLAN, WireGuard) of its node.
    Tunnel,
    /// Taken out of use by Windows (network, gateway, host end point, broadcast).
    WindowsReserved,
    /// Released and cooling down: not to be handed out again yet, and used by nobody.
    Released,
}

/// A node's claim to a block.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Affinity {
    /// The claimed block; host bits are ignored.
    pub cidr: IpNet,
    /// The claiming node.
    pub node: String,
    /// How far the claim has come.
    pub state: AffinityState,
    /// Soft-deleted: to be ignored.
    pub deleted: bool,
}

/// How far a claim has come: `pending`, then `confirmed`, then `pendingDeletion`.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum AffinityState {
    /// Empty: written by old versions, means confirmed.
    #[default]
    Legacy,
    /// The block is being claimed; whether it succeeds is not known yet.
    Pending,
    /// The block belongs to the node.
    Confirmed,
    /// The block is being released.
    PendingDeletion,
}

/// The operating system of a node.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub enum Platform {
    /// Linux.
    #[default]
    Linux,
    /// Windows.
    Windows,
}

/// An owner that is neither empty, `host:NAME` nor `virtual:NAME`.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is neither empty nor host:NAME nor virtual:NAME")]
pub struct ParseOwnerError(String);

/// An affinity state that is not one of the four.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is none of confirmed, pending, pendingDeletion or empty")]
pub struct ParseAffinityStateError(String);

impl Block {
    /// The number of addresses in the block, at most 2^32 (IPAM blocks have at most 4096).
    #[must_use]
    pub fn size(&self) -> u64 {
        size_of(&self.cidr)
    }

    /// The address with this ordinal, or `None` when it is outside the block.
    #[must_use]
    pub fn address(&self, ordinal: u32) -> Option<IpAddr> {
        if u64::from(ordinal) >= self.size() {
            return None;
        }
        Some(match self.cidr.network() {
            IpAddr::V4(network) => Ipv4Addr::from(u32::from(network) + ordinal).into(),
            IpAddr::V6(network) => Ipv6Addr::from(u128::from(network) + u128::from(ordinal)).into(),
        })
    }

    /// The block's owner when it is a node and the block is not deleted.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match &self.owner {
            Owner::Host(node) if !self.deleted => Some(node),
            _ => None,
        }
    }
}

impl Affinity {
    /// True when the claim stands: confirmed, or the empty state of old data, and not deleted.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        let standing = matches!(self.state, AffinityState::Confirmed | AffinityState::Legacy);
        standing && !self.deleted
    }
}

/// The ordinals that Windows takes for itself: network, gateway, host end point and broadcast (0, 1, 2 and the last).
///
/// `None` when the block has fewer than eight addresses: Windows then has no use for it.
#[must_use]
pub fn windows_reserved_ordinals(block: &IpNet) -> Option<[u32; 4]> {
    let last = u32::try_from(size_of(block) - 1).ok()?;
    (last >= 7).then_some([0, 1, 2, last])
}

impl FromStr for Owner {
    type Err = ParseOwnerError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        if text.is_empty() {
            return Ok(Self::Nobody);
        }
        let host = text.strip_prefix("host:").and_then(named).map(Self::Host);
        host.or_else(|| {
            text.strip_prefix("virtual:")
                .and_then(named)
                .map(Self::Virtual)
        })
        .ok_or_else(|| ParseOwnerError(text.to_owned()))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(node) => write!(f, "host:{node}"),
            Self::Virtual(name) => write!(f, "virtual:{name}"),
            Self::Nobody => f.write_str("nobody"),
        }
    }
}

impl FromStr for AffinityState {
    type Err = ParseAffinityStateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "" => Ok(Self::Legacy),
            "pending" => Ok(Self::Pending),
            "confirmed" => Ok(Self::Confirmed),
            "pendingDeletion" => Ok(Self::PendingDeletion),
            other => Err(ParseAffinityStateError(other.to_owned())),
        }
    }
}

impl fmt::Display for AffinityState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "",
            Self::Pending => "pending",
            Self::Confirmed => "confirmed",
            Self::PendingDeletion => "pendingDeletion",
        })
    }
}

fn size_of(block: &IpNet) -> u64 {
    let bits = block.max_prefix_len() - block.prefix_len();
    1 << bits.min(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(cidr: &str) -> Block {
        let cidr = cidr.parse().unwrap();
        Block {
            cidr,
            owner: Owner::Nobody,
            deleted: false,
            allocations: BTreeMap::new(),
        }
    }

    #[test]
    fn an_ordinal_is_an_offset_from_the_network_address() {
        let v4 = block("10.244.1.64/30");
        assert_eq!(v4.address(1), Some("10.244.1.65".parse().unwrap()));
        assert_eq!(v4.address(3), Some("10.244.1.67".parse().unwrap()));
        assert_eq!(v4.address(4), None);
        let v6 = block("fd00::ffff:ffff:ffff:ff80/122");
        assert_eq!(
            v6.address(63),
            Some("fd00::ffff:ffff:ffff:ffbf".parse().unwrap())
        );
        assert_eq!(v6.address(64), None);
        let host = block("10.0.0.1/32");
        assert_eq!(host.address(0), Some("10.0.0.1".parse().unwrap()));
        assert_eq!(host.address(1), None);
    }

    #[test]
    fn the_largest_blocks_do_not_overflow() {
        assert_eq!(
            block("0.0.0.0/0").address(u32::MAX),
            Some("255.255.255.255".parse().unwrap())
        );
        assert_eq!(block("::/0").address(7), Some("::7".parse().unwrap()));
    }

    #[test]
    fn windows_leaves_60_of_64_addresses() {
        let reserved = windows_reserved_ordinals(&"10.0.0.64/26".parse().unwrap());
        assert_eq!(reserved, Some([0, 1, 2, 63]));
        assert_eq!(
            windows_reserved_ordinals(&"10.0.0.0/29".parse().unwrap()),
            Some([0, 1, 2, 7])
        );
        assert_eq!(
            windows_reserved_ordinals(&"10.0.0.0/30".parse().unwrap()),
            None
        );
        assert_eq!(
            windows_reserved_ordinals(&"10.0.0.0/32".parse().unwrap()),
            None
        );
    }

    #[test]
    fn owners_are_read_as_calico_writes_them() {
        assert_eq!("host:node-a".parse(), Ok(Owner::Host("node-a".into())));
        assert_eq!(
            "virtual:load-balancer".parse(),
            Ok(Owner::Virtual("load-balancer".into()))
        );
        assert_eq!("".parse(), Ok(Owner::Nobody));
        for wrong in ["node-a", "host:", "virtual:", "Host:a"] {
            assert_eq!(wrong.parse::<Owner>(), Err(ParseOwnerError(wrong.into())));
        }
    }
}

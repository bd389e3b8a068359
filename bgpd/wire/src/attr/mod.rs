//! Path attributes: what each is, how it is read, what a fault in it costs, how it is written.
//!
//! ```text
//!   octets ─▶ decode (flags, lengths, values) ─▶ Attributes + faults ─▶ ... ─▶ Attributes ─▶ block ─▶ octets
//!                └─ registry: what a fault costs
//! ```
//!
//! RFC 4271 sections 4.3 and 5, RFC 7606.

mod aggregator;
mod as_path;
mod block;
mod cluster_list;
pub mod code;
mod communities;
pub(crate) mod decode;
mod fault;
mod opaque;
mod origin;
pub(crate) mod registry;

use crate::asn::Asn;
use crate::router_id::RouterId;

pub use aggregator::Aggregator;
pub use as_path::{AsPath, Segment, SegmentKind, Segments};
pub use block::{AttributeBlock, encode_attributes};
pub use cluster_list::ClusterList;
pub use communities::{
    Communities, Community, CommunitySet, ExtendedCommunities, ExtendedCommunity,
    Ipv6ExtendedCommunities, Ipv6ExtendedCommunity, LargeCommunities, LargeCommunity,
    ParseCommunityError,
};
pub use fault::{AttributeFault, FaultAction, FaultReason};
pub use origin::Origin;
pub use registry::attribute_name;

/// All attributes of a route but its next hop, in a form in which equal means the same.
///
/// `NEXT_HOP`, `MP_REACH_NLRI` and `MP_UNREACH_NLRI` are not here: they go with the NLRI. Nothing refers to the message
/// that the attributes came in. See `attributes_have_a_known_size` for the cost of a set.
#[derive(Clone, Eq, PartialEq, Hash, Debug, Default)]
pub struct Attributes {
    /// ORIGIN.
    pub origin: Origin,
    /// AS_PATH, merged with AS4_PATH.
    pub as_path: AsPath,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// LOCAL_PREF; never from an eBGP peer.
    pub local_pref: Option<u32>,
    /// ATOMIC_AGGREGATE.
    pub atomic_aggregate: bool,
    /// AGGREGATOR, merged with AS4_AGGREGATOR.
    pub aggregator: Option<Aggregator>,
    /// COMMUNITIES.
    pub communities: Communities,
    /// EXTENDED_COMMUNITIES.
    pub extended_communities: ExtendedCommunities,
    /// IPV6_EXTENDED_COMMUNITIES.
    pub ipv6_extended_communities: Ipv6ExtendedCommunities,
    /// LARGE_COMMUNITIES.
    pub large_communities: LargeCommunities,
    /// ORIGINATOR_ID; never from an eBGP peer.
    pub originator_id: Option<RouterId>,
    /// CLUSTER_LIST; never from an eBGP peer.
    pub cluster_list: ClusterList,
    /// The metric of AIGP; never from an eBGP peer, and not for one either (RFC 7311 section 3.1).
    pub aigp: Option<u64>,
    /// ONLY_TO_CUSTOMER (RFC 9234).
    pub otc: Option<Asn>,
    /// PMSI_TUNNEL, of a structure that has been checked.
    pub pmsi_tunnel: Option<Box<[u8]>>,
    /// TUNNEL_ENCAPSULATION, of a structure that has been checked.
    pub tunnel_encapsulation: Option<Box<[u8]>>,
    /// PREFIX_SID, of a structure that has been checked; never from an eBGP peer.
    pub prefix_sid: Option<Box<[u8]>>,
    /// Optional transitive attributes that are not known here, by ascending code, each code once.
    pub unknown: Vec<UnknownAttribute>,
    /// Which of the known optional transitive attributes carry the Partial bit.
    pub partial: PartialSet,
}

/// An attribute that is passed on as it came (RFC 4271 section 5).
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct UnknownAttribute {
    /// Optional, Transitive and Partial; the others are not kept.
    pub flags: u8,
    /// Its type code.
    pub code: u8,
    /// Its value.
    pub value: Box<[u8]>,
}

/// Codes of known attributes with the Partial bit, which once set stays (RFC 4271 section 5).
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Hash)]
pub struct PartialSet(u64);

impl PartialSet {
    /// True when the attribute carries the bit. Only codes below 64 ever do.
    #[must_use]
    pub const fn contains(self, code: u8) -> bool {
        code < 64 && self.0 & (1 << code) != 0
    }

    const fn insert(&mut self, code: u8) {
        if code < 64 {
            self.0 |= 1 << code;
        }
    }
}

impl FromIterator<u8> for PartialSet {
    /// Codes from 64 on are left out.
    fn from_iter<I: IntoIterator<Item = u8>>(codes: I) -> Self {
        let mut set = Self::default();
        codes.into_iter().for_each(|code| set.insert(code));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of a million paths may have some hundred thousand sets: an octet more here is a hundred kilobytes there.
    #[test]
    fn attributes_have_a_known_size() {
        assert_eq!(size_of::<Attributes>(), 256);
    }
}

//! What a term asks of a route.

use std::sync::Arc;

use bgp_wire::{Asn, Community, ExtendedCommunity, Family, LargeCommunity, SessionType};
use ipnet::IpNet;

use super::{PolicyRoute, PrefixSet, RouteSource};

/// One condition of a [`super::Term`].
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub enum Condition {
    /// The prefix is in the set.
    PrefixIn(Arc<PrefixSet>),
    /// The prefix is not in the set.
    PrefixNotIn(Arc<PrefixSet>),
    /// The prefix is of this family.
    Family(Family),
    /// The route came from here.
    Source(SourceMatch),
    /// The policy runs for a session of this kind.
    Session(SessionType),
    /// The community is there (RFC 1997).
    Community(Community),
    /// The large community is there (RFC 8092).
    LargeCommunity(LargeCommunity),
    /// The extended community is there (RFC 4360).
    ExtendedCommunity(ExtendedCommunity),
    /// AS_PATH begins with exactly these, the nearest first.
    AsPathStartsWith(Vec<Asn>),
    /// AS_PATH has this AS somewhere.
    AsPathContains(Asn),
    /// The next hop is in the set, as a host prefix. This node as next hop is in no set.
    NextHopIn(Arc<PrefixSet>),
    /// LOCAL_PREF is there and compares so.
    LocalPref(Compare, u32),
    /// MED is there and compares so.
    Med(Compare, u32),
    /// The other condition does not hold.
    Not(Box<Self>),
}

/// Which sources a condition takes.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum SourceMatch {
    /// This node's own routes.
    Local,
    /// Routes from peers of either kind.
    Peers,
    /// Routes from peers of one kind.
    Peer(SessionType),
}

/// How a number compares with the one in a condition.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Compare {
    /// It is the same.
    Equal,
    /// It is lower.
    Below,
    /// It is higher.
    Above,
}

impl Condition {
    pub(super) fn holds(&self, route: &PolicyRoute<'_>) -> bool {
        let attributes = route.attributes;
        match self {
            Self::PrefixIn(set) => set.contains(route.prefix),
            Self::PrefixNotIn(set) => !set.contains(route.prefix),
            Self::Family(family) => *family == Family::of(&route.prefix),
            Self::Source(source) => source.takes(route.source),
            Self::Session(session) => *session == route.session,
            Self::Community(community) => attributes.communities.binary_search(community).is_ok(),
            Self::LargeCommunity(community) => attributes
                .large_communities
                .binary_search(community)
                .is_ok(),
            Self::ExtendedCommunity(community) => attributes
                .extended_communities
                .binary_search(community)
                .is_ok(),
            Self::AsPathStartsWith(asns) => attributes.as_path.starts_with(asns),
            Self::AsPathContains(asn) => attributes.as_path.contains(*asn),
            Self::NextHopIn(set) => route
                .next_hop
                .is_some_and(|address| set.contains(IpNet::from(address))),
            Self::LocalPref(compare, value) => attributes
                .local_pref
                .is_some_and(|actual| compare.holds(actual, *value)),
            Self::Med(compare, value) => attributes
                .med
                .is_some_and(|actual| compare.holds(actual, *value)),
            Self::Not(condition) => !condition.holds(route),
        }
    }

    /// True when an edit can change the answer.
    pub(super) fn reads_attributes(&self) -> bool {
        match self {
            Self::PrefixIn(_)
            | Self::PrefixNotIn(_)
            | Self::Family(_)
            | Self::Source(_)
            | Self::Session(_) => false,
            Self::Community(_)
            | Self::LargeCommunity(_)
            | Self::ExtendedCommunity(_)
            | Self::AsPathStartsWith(_)
            | Self::AsPathContains(_)
            | Self::NextHopIn(_)
            | Self::LocalPref(..)
            | Self::Med(..) => true,
            Self::Not(condition) => condition.reads_attributes(),
        }
    }
}

impl SourceMatch {
    fn takes(self, source: RouteSource) -> bool {
        match (self, source) {
            (Self::Local, RouteSource::Local) | (Self::Peers, RouteSource::Peer(_)) => true,
            (Self::Peer(wanted), RouteSource::Peer(actual)) => wanted == actual,
            _ => false,
        }
    }
}

impl Compare {
    const fn holds(self, actual: u32, value: u32) -> bool {
        match self {
            Self::Equal => actual == value,
            Self::Below => actual < value,
            Self::Above => actual > value,
        }
    }
}

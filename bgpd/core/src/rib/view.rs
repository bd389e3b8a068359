//! What queries answer: plain values that no longer hang on the shard.

use std::fmt;

use bgp_wire::{Attributes, Family, NextHop};
use ipnet::IpNet;

use super::decision::Step;
use super::export::{GroupKey, Withheld};
use super::fib::FibRoute;
use super::paths::ImportVerdict;
use super::table::Ineligible;
use crate::PeerId;

/// Which routes to list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteQuery {
    /// From which table.
    pub table: RouteTable,
    /// `None` for all families.
    pub family: Option<Family>,
    /// Which prefixes.
    pub prefix: PrefixFilter,
}

/// The tables of RFC 4271 section 3.2.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum RouteTable {
    /// All paths of each prefix, the best first.
    LocRib,
    /// What a peer sent, before import policy.
    AdjIn(PeerId),
    /// What a peer was sent.
    AdjOut(PeerId),
}

/// Which prefixes to list.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum PrefixFilter {
    /// All.
    All,
    /// This one.
    Exact(IpNet),
    /// This one and those inside it.
    Within(IpNet),
    /// This one and those that it is inside of.
    Covering(IpNet),
}

/// A prefix and its paths.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteView {
    /// Where to.
    pub prefix: IpNet,
    /// Best first in Loc-RIB; in order of path id in Adj-RIB-In; one in Adj-RIB-Out.
    pub paths: Vec<PathView>,
}

/// One path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathView {
    /// Who sent it; `None` for a route of this node's own.
    pub peer: Option<PeerId>,
    /// Path identifier (RFC 7911); 0 without add-path.
    pub path_id: u32,
    /// After import policy in Loc-RIB, before it in Adj-RIB-In and for paths that did not pass it; as sent in Adj-RIB-Out.
    pub attributes: Attributes,
    /// `None` is this node.
    pub next_hop: Option<NextHop>,
    /// Not announced again since the peer's restart.
    pub stale: bool,
    /// How it fared.
    pub state: PathState,
}

/// How a path fared in the decision.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PathState {
    /// It is the best.
    Best,
    /// It shares the load with the best, which is ahead by this step only.
    Multipath(Step),
    /// It lost at this step.
    Lost(Step),
    /// It can't be used.
    Unusable(Unusable),
}

/// Why a path can't be used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Unusable {
    /// AS_PATH has this AS in it.
    OwnAsLoop,
    /// ORIGINATOR_ID is this node.
    OwnOriginator,
    /// CLUSTER_LIST has this cluster in it.
    OwnCluster,
    /// AS_PATH does not begin with the peer's AS.
    FirstAsMismatch,
    /// Import policy; the name of the term.
    DeniedByPolicy(String),
    /// The next hop is an address of this node.
    NextHopIsSelf,
    /// There is no way to the next hop.
    NextHopUnreachable,
    /// The session that brought it is over, and it is about to go.
    Gone,
}

impl Unusable {
    pub(super) fn new(ineligible: Ineligible, term: impl FnOnce() -> String) -> Self {
        match ineligible {
            Ineligible::Gone => Self::Gone,
            Ineligible::NextHopIsSelf => Self::NextHopIsSelf,
            Ineligible::NextHopUnreachable => Self::NextHopUnreachable,
            Ineligible::Import(ImportVerdict::OwnAsLoop) => Self::OwnAsLoop,
            Ineligible::Import(ImportVerdict::OwnOriginator) => Self::OwnOriginator,
            Ineligible::Import(ImportVerdict::OwnCluster) => Self::OwnCluster,
            Ineligible::Import(ImportVerdict::FirstAsMismatch) => Self::FirstAsMismatch,
            Ineligible::Import(ImportVerdict::DeniedByPolicy | ImportVerdict::Accepted) => {
                Self::DeniedByPolicy(term())
            }
        }
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnAsLoop => f.write_str("AS_PATH contains this AS"),
            Self::OwnOriginator => f.write_str("this node is its ORIGINATOR_ID"),
            Self::OwnCluster => f.write_str("CLUSTER_LIST contains this cluster"),
            Self::FirstAsMismatch => f.write_str("AS_PATH does not begin with the peer's AS"),
            Self::DeniedByPolicy(term) => write!(f, "denied by import policy, term {term}"),
            Self::NextHopIsSelf => f.write_str("its next hop is an address of this node"),
            Self::NextHopUnreachable => f.write_str("its next hop is unreachable"),
            Self::Gone => f.write_str("its session is over"),
        }
    }
}

impl fmt::Display for PathState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Best => f.write_str("best"),
            Self::Multipath(step) => write!(f, "shares the load; not best: {step}"),
            Self::Lost(step) => write!(f, "not best: {step}"),
            Self::Unusable(why) => write!(f, "unusable: {why}"),
        }
    }
}

/// All that decides about one prefix.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Explanation {
    /// The prefix that was asked for.
    pub prefix: IpNet,
    /// Every path, best first, the unusable ones last. Empty when nobody announces the prefix.
    pub paths: Vec<PathView>,
    /// What the kernel was told.
    pub fib: Option<FibRoute>,
    /// One for each peer that is up.
    pub advertisements: Vec<AdvertisementView>,
}

/// What one peer was told of a prefix.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AdvertisementView {
    /// Who.
    pub peer: PeerId,
    /// What it was sent, or why it was sent nothing.
    pub result: Result<SentRoute, NotAdvertised>,
}

/// A route as it was sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SentRoute {
    /// The path attributes.
    pub attributes: Attributes,
    /// `None` never occurs.
    pub next_hop: Option<NextHop>,
}

/// Why a peer was not sent a prefix.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NotAdvertised {
    /// There is no usable path.
    NoBestPath,
    /// The session does not carry the family.
    FamilyNotNegotiated,
    /// The best path came from this peer.
    SplitHorizon,
    /// The route started at this peer (RFC 4456 section 8).
    Originator,
    /// The route carries NO_ADVERTISE.
    NoAdvertise,
    /// The route carries NO_EXPORT, and the peer is in another AS.
    NoExport,
    /// The route came from an iBGP peer and may not go to another (RFC 4456 section 6).
    NotReflected,
    /// Export policy; the name of the term.
    DeniedByPolicy(String),
    /// No own address of the family is known for the session.
    NoOwnNextHop,
    /// The session cannot carry a next hop of that family.
    NextHopFamily,
    /// The attributes do not fit into a message.
    TooLarge,
    /// This node has restarted and does not announce before its peers have (RFC 4724 section 4.1).
    Deferring,
    /// It is about to be sent, or waits for the peer to take it.
    Pending,
}

impl NotAdvertised {
    pub(super) fn new(withheld: Withheld, key: &GroupKey) -> Self {
        match withheld {
            Withheld::NoAdvertise => Self::NoAdvertise,
            Withheld::NoExport => Self::NoExport,
            Withheld::NotReflected => Self::NotReflected,
            Withheld::DeniedByPolicy(term) => {
                Self::DeniedByPolicy(key.export.term_name(term).to_owned())
            }
            Withheld::NoOwnNextHop => Self::NoOwnNextHop,
            Withheld::NextHopFamily => Self::NextHopFamily,
            Withheld::TooLarge => Self::TooLarge,
        }
    }
}

impl fmt::Display for NotAdvertised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DeniedByPolicy(term) => return write!(f, "denied by export policy, term {term}"),
            Self::NoBestPath => "no usable path",
            Self::FamilyNotNegotiated => "the session does not carry the family",
            Self::SplitHorizon => "the best path came from this peer",
            Self::Originator => "the route started at this peer",
            Self::NoAdvertise => "carries NO_ADVERTISE",
            Self::NoExport => "carries NO_EXPORT, and the peer is in another AS",
            Self::NotReflected => "came from an iBGP peer, and neither peer is a reflector client",
            Self::NoOwnNextHop => "no own address of this family is known for the session",
            Self::NextHopFamily => "the session cannot carry a next hop of that family",
            Self::TooLarge => "the attributes do not fit into a message",
            Self::Deferring => "this node has restarted and waits for its peers",
            Self::Pending => "about to be sent",
        })
    }
}

/// Numbers of one peer in one family.
///
/// Right after a session ended its paths still count until the sweep has come by.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct FamilyCounts {
    /// Paths in Adj-RIB-In.
    pub received: u32,
    /// Those that import let pass.
    pub accepted: u32,
    /// Prefixes that go by way of this peer.
    pub best: u32,
    /// Paths that were not announced again since the restart, or the refresh, that is under way.
    pub stale: u32,
    /// Prefixes that the peer was sent, or is about to be.
    pub advertised: u32,
    /// Prefixes that wait for the peer to take them.
    pub pending: u32,
}

/// Numbers of one peer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PeerCounts {
    /// For each family that the shard knows.
    pub families: Vec<(Family, FamilyCounts)>,
    /// Octets handed out and not yet reported as sent.
    pub outstanding: usize,
    /// Paths that were dropped because their prefix had as many as it can hold (65,534).
    pub overflowed: u64,
}

/// Numbers of a shard.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Totals {
    /// Prefixes.
    pub prefixes: u64,
    /// Paths in all Adj-RIBs-In, own routes included.
    pub paths: u64,
    /// Own routes.
    pub originated: u64,
    /// Distinct attribute sets.
    pub attribute_sets: u64,
    /// Update groups.
    pub groups: u64,
    /// Routes that some group could not be sent because their attributes do not fit into a message; counted each time
    /// that one is worked out.
    pub too_large: u64,
    /// Peers that were refused because the shard knows 65,534 already.
    pub refused_peers: u64,
}

/// An update group.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GroupView {
    /// All that its members have in common.
    pub key: GroupKey,
    /// Peers that get the same bytes.
    pub members: Vec<PeerId>,
    /// Those that are fed by themselves, because they take less than the others.
    pub lagging: Vec<PeerId>,
    /// In Adj-RIB-Out.
    pub prefixes: usize,
    /// Prefixes that changed and were not yet looked at.
    pub pending: usize,
}

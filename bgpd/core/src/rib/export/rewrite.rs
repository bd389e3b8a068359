//! What a route becomes on its way to a group, or why it stays here.
//!
//! RFC 4271 sections 5.1 and 9.1.3, RFC 4456 sections 6 to 8, RFC 1997. Export policy runs on the route as Loc-RIB has it;
//! what the session type asks for comes after.

use std::fmt;

use bgp_wire::{Attributes, NextHop, RouterId, SessionType};
use hashbrown::HashMap;
use ipnet::IpNet;

use super::key::GroupKey;
use super::pack;
use crate::policy::{Edits, RouteSource};
use crate::rib::attributes::{Reach, RouteAttributes};
use crate::rib::ids::{AttrId, PeerIndex};
use crate::rib::paths::Path;
use crate::rib::peers::Facts;
use crate::rib::settings::NextHopMode;
use crate::rib::shared::Shared;

/// Why a group does not get a route.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(in crate::rib) enum Withheld {
    /// NO_ADVERTISE (RFC 1997).
    NoAdvertise,
    /// NO_EXPORT or NO_EXPORT_SUBCONFED, and the group is eBGP (RFC 1997).
    NoExport,
    /// From one iBGP peer to another, and neither is a client of this reflector (RFC 4456 section 6).
    NotReflected,
    /// Export policy; which term.
    DeniedByPolicy(Option<u16>),
    /// The next hop would be an own address of a family that this node has none of on this session.
    NoOwnNextHop,
    /// The next hop is of a family that messages to this group cannot carry (RFC 8950).
    NextHopFamily,
    /// The attributes leave no room for a prefix in a message.
    TooLarge,
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAdvertise => "carries NO_ADVERTISE",
            Self::NoExport => "carries NO_EXPORT, and the peer is in another AS",
            Self::NotReflected => "came from an iBGP peer, and neither peer is a reflector client",
            Self::DeniedByPolicy(_) => "denied by export policy",
            Self::NoOwnNextHop => "no own address of this family is known for the session",
            Self::NextHopFamily => "the session cannot carry a next hop of that family",
            Self::TooLarge => "the attributes do not fit into a message",
        })
    }
}

/// Results of rewriting, for as long as one batch lasts: most routes of a batch share a few attribute sets.
///
/// The keys are held by paths, which do not change during a batch; the values are held here.
#[derive(Debug, Default)]
pub(in crate::rib) struct Memo {
    results: HashMap<(AttrId, PeerIndex, Edits), Result<AttrId, Withheld>>,
    too_large: u64,
}

impl Memo {
    /// Routes withheld because they did not fit, since the start.
    pub(super) const fn too_large(&self) -> u64 {
        self.too_large
    }

    fn count(&mut self, result: Result<AttrId, Withheld>) -> Result<AttrId, Withheld> {
        self.too_large += u64::from(result == Err(Withheld::TooLarge));
        result
    }

    /// Ends the batch.
    pub(in crate::rib) fn clear(&mut self, shared: &mut Shared) {
        for (_, result) in self.results.drain() {
            if let Ok(id) = result {
                shared.release(id);
            }
        }
    }
}

/// What a path becomes for a group. The id returned is held by the memo.
pub(in crate::rib) fn export(
    shared: &mut Shared,
    memo: &mut Memo,
    key: &GroupKey,
    prefix: IpNet,
    path: &Path,
) -> Result<AttrId, Withheld> {
    let edits = judge(shared, key, prefix, path)?;
    let memo_key = (path.accepted, path.peer, edits);
    if let Some(result) = memo.results.get(&memo_key) {
        return memo.count(*result);
    }
    let facts = *shared.peers.facts(path.peer);
    let result =
        rewrite(shared, key, &facts, path.accepted, &memo_key.2).map(|route| shared.intern(route));
    memo.results.insert(memo_key, result);
    memo.count(result)
}

/// The rules and export policy: what would be edited, or why the route stays here.
pub(in crate::rib) fn judge(
    shared: &Shared,
    key: &GroupKey,
    prefix: IpNet,
    path: &Path,
) -> Result<Edits, Withheld> {
    let facts = shared.peers.facts(path.peer);
    match shared.attributes.metrics(path.accepted).reach {
        Reach::Any => {}
        Reach::ThisAs if key.session_type == SessionType::Internal => {}
        Reach::ThisAs => return Err(Withheld::NoExport),
        Reach::ThisNode => return Err(Withheld::NoAdvertise),
    }
    if is_reflection(key, facts) {
        let client = key.reflector_client || facts.client;
        if key.cluster_id.is_none() || !client {
            return Err(Withheld::NotReflected);
        }
    }
    let route = shared.policy_route(prefix, path.accepted, facts.source, key.session_type);
    let outcome = key.export.evaluate(&route);
    if outcome.accepted {
        Ok(outcome.edits)
    } else {
        Err(Withheld::DeniedByPolicy(outcome.term))
    }
}

/// The attributes as the group gets them.
pub(in crate::rib) fn rewrite(
    shared: &Shared,
    key: &GroupKey,
    source: &Facts,
    accepted: AttrId,
    edits: &Edits,
) -> Result<RouteAttributes, Withheld> {
    let RouteAttributes {
        mut attributes,
        next_hop,
    } = shared.load(accepted);
    let mut set_by_policy = None;
    key.export.apply(edits, &mut attributes, &mut set_by_policy);

    match key.session_type {
        SessionType::External => {
            attributes.as_path.prepend(key.local_asn, 1);
            attributes.local_pref = None;
            attributes.originator_id = None;
            attributes.cluster_list.clear();
            attributes.aigp = None;
            attributes.prefix_sid = None;
            // RFC 4271 section 5.1.4: MED from one neighbour AS is not for another one.
            if source.source != RouteSource::Local && !key.export.sets_med(edits) {
                attributes.med = None;
            }
        }
        SessionType::Internal => {
            attributes.local_pref.get_or_insert(key.default_local_pref);
            if let Some(cluster_id) = key.cluster_id.filter(|_| is_reflection(key, source)) {
                reflect(&mut attributes, source.router_id, cluster_id);
            }
        }
    }

    let next_hop = match set_by_policy {
        Some(address) => NextHop::from(address),
        None => own_or_received(key, source, next_hop)?,
    };
    if !key.can_carry(next_hop) {
        return Err(Withheld::NextHopFamily);
    }
    let route = RouteAttributes {
        attributes,
        next_hop: Some(next_hop),
    };
    if pack::fits(key, &route) {
        Ok(route)
    } else {
        Err(Withheld::TooLarge)
    }
}

fn own_or_received(
    key: &GroupKey,
    source: &Facts,
    received: Option<NextHop>,
) -> Result<NextHop, Withheld> {
    let keep = match (key.next_hop, key.session_type) {
        // RFC 4456 section 10: reflection leaves the next hop alone.
        _ if is_reflection(key, source) => true,
        (NextHopMode::ToSelf, _) => false,
        (NextHopMode::Auto, session_type) => session_type == SessionType::Internal,
        (NextHopMode::Keep, _) => true,
    };
    received
        .filter(|_| keep)
        .or(key.own_next_hop)
        .ok_or(Withheld::NoOwnNextHop)
}

/// RFC 4456 section 8.
fn reflect(attributes: &mut Attributes, source: RouterId, cluster_id: RouterId) {
    attributes.originator_id.get_or_insert(source);
    attributes.cluster_list.prepend(cluster_id);
}

fn is_reflection(key: &GroupKey, source: &Facts) -> bool {
    key.session_type == SessionType::Internal && source.is_ibgp()
}

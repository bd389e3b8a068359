//! What becomes of a path on its way in: loop checks, then import policy.
//!
//! RFC 4271 sections 9.1.2 and 6.3, RFC 4456 section 8. Every path is kept as it was received, also one that can't be
//! used: a change of policy needs no refresh from the peer, and `explain` can tell what is wrong.

use std::sync::Arc;

use bgp_wire::{Attributes, NextHop, Nlri, Reach, SessionType, Unreach, UpdateMessage};
use ipnet::IpNet;

use super::attributes::RouteAttributes;
use super::ids::{AttrId, PeerIndex};
use super::paths::{ImportVerdict, Path};
use super::peers::table_index;
use super::settings::{RibPeer, ShardSettings};
use super::shared::Shared;
use super::table::{Announcement, Table};
use crate::policy::{Edits, RouteSource};

/// Takes in the routes of one message: first what it withdraws, then what it announces.
pub(super) fn receive(
    shared: &mut Shared,
    tables: &mut [Table],
    peer: PeerIndex,
    update: UpdateMessage,
) {
    let Some(settings) = shared
        .peers
        .record(peer)
        .map(|record| Arc::clone(&record.settings))
    else {
        return;
    };
    let carried = |family| {
        settings
            .families
            .contains(&family)
            .then(|| table_index(family))
    };
    for Unreach { family, nlri } in update.unreach {
        if let Some(number) = carried(family).flatten() {
            for Nlri { path_id, prefix } in nlri {
                tables[number].withdraw(shared, prefix, peer, path_id);
            }
        }
    }
    let Some(mut attributes) = update.attributes else {
        return;
    };
    normalize(&settings, &mut attributes);
    let verdict = check_loops(&shared.settings, &settings, &attributes);
    for Reach {
        family,
        next_hop,
        nlri,
    } in update.reach
    {
        if let Some(number) = carried(family).flatten() {
            let route = RouteAttributes {
                attributes: attributes.clone(),
                next_hop: Some(next_hop),
            };
            let received = shared.intern(route);
            let mut last = None;
            for Nlri { path_id, prefix } in nlri {
                let (accepted, verdict) =
                    run_policy(shared, &settings, received, verdict, prefix, &mut last);
                let path = Announcement {
                    peer,
                    path_id,
                    received,
                    accepted,
                    verdict,
                };
                tables[number].announce(shared, prefix, path);
            }
            release_last(shared, last);
            shared.release(received);
        }
    }
}

/// Runs import again over a path that is held. The id returned carries a reference.
pub(super) fn run_again(
    shared: &mut Shared,
    path: &Path,
    prefix: IpNet,
) -> (AttrId, ImportVerdict) {
    if path.peer == PeerIndex::LOCAL {
        return (
            shared.attributes.retain(path.received),
            ImportVerdict::Accepted,
        );
    }
    let Some(settings) = shared
        .peers
        .record(path.peer)
        .map(|record| record.settings.clone())
    else {
        return (AttrId::NONE, path.verdict);
    };
    let received = shared.load(path.received).attributes;
    let verdict = check_loops(&shared.settings, &settings, &received);
    let mut last = None;
    let result = run_policy(shared, &settings, path.received, verdict, prefix, &mut last);
    let accepted = shared.attributes.retain(result.0);
    release_last(shared, last);
    (accepted, result.1)
}

/// Takes away what a peer of this kind has no business to send (RFC 7606 section 7.5, RFC 4456 section 8).
fn normalize(settings: &RibPeer, attributes: &mut Attributes) {
    if settings.session_type == SessionType::External {
        attributes.local_pref = None;
        attributes.originator_id = None;
        attributes.cluster_list.clear();
    }
}

fn check_loops(
    shard: &ShardSettings,
    settings: &RibPeer,
    attributes: &Attributes,
) -> ImportVerdict {
    let as_path = &attributes.as_path;
    let mut own = as_path.count(settings.local_asn);
    if shard.local_asn != settings.local_asn {
        own += as_path.count(shard.local_asn);
    }
    if own > usize::from(settings.allow_own_asn) {
        return ImportVerdict::OwnAsLoop;
    }
    match settings.session_type {
        SessionType::Internal => {
            if attributes.originator_id == Some(shard.router_id) {
                return ImportVerdict::OwnOriginator;
            }
            let through_cluster = |cluster| attributes.cluster_list.contains(&cluster);
            if shard.cluster_id.is_some_and(through_cluster) {
                return ImportVerdict::OwnCluster;
            }
        }
        SessionType::External => {
            if settings.enforce_first_asn && as_path.first_asn() != Some(settings.remote_asn) {
                return ImportVerdict::FirstAsMismatch;
            }
        }
    }
    ImportVerdict::Accepted
}

/// The last edited set, with a reference: neighbouring prefixes of one message as a rule are edited alike.
type LastEdit = Option<(Edits, AttrId)>;

/// The id returned is held by `received` or by `last`.
fn run_policy(
    shared: &mut Shared,
    settings: &RibPeer,
    received: AttrId,
    verdict: ImportVerdict,
    prefix: IpNet,
    last: &mut LastEdit,
) -> (AttrId, ImportVerdict) {
    if verdict != ImportVerdict::Accepted {
        return (AttrId::NONE, verdict);
    }
    let policy = &settings.import;
    let session = settings.session_type;
    let source = RouteSource::Peer(session);
    let outcome = policy.evaluate(&shared.policy_route(prefix, received, source, session));
    if !outcome.accepted {
        return (AttrId::NONE, ImportVerdict::DeniedByPolicy);
    }
    if outcome.edits.is_empty() {
        return (received, ImportVerdict::Accepted);
    }
    if let Some((edits, id)) = last
        && *edits == outcome.edits
    {
        return (*id, ImportVerdict::Accepted);
    }
    let mut edited = shared.load(received);
    let mut next_hop = None;
    policy.apply(&outcome.edits, &mut edited.attributes, &mut next_hop);
    if let Some(address) = next_hop {
        edited.next_hop = Some(NextHop::from(address));
    }
    let id = shared.intern(edited);
    release_last(shared, last.replace((outcome.edits, id)));
    (id, ImportVerdict::Accepted)
}

fn release_last(shared: &mut Shared, last: LastEdit) {
    if let Some((_, id)) = last {
        shared.release(id);
    }
}

//! Peers: configuration, state, and counts.

use std::time::Duration;

use bgp_core::rib::{FamilyCounts, PeerCounts};
use bgp_core::session::{DownBy, LastDown, MessageCounters, PeerStatus, SessionState};
use cluster::plan::SessionKind;
use weft_proto::v1;
use weft_proto::v1::peer::State;

use super::Queries;
use crate::bgp::peer::PeerReport;
use crate::control::PeerEntry;

impl Queries {
    /// All peers, in order of their addresses.
    pub(crate) async fn peers(&self) -> Vec<v1::Peer> {
        let view = self.view.load_full();
        let peer = async |entry: &PeerEntry| {
            // A peer that is being removed may not answer any more.
            let report = entry.handle.report().await?;
            let id = entry.id;
            let counts = self
                .shards
                .ask_all(move |shard| shard.peer_counts(id))
                .await;
            Some(self.render_peer(entry, report, &counts))
        };
        // All are asked at once: the answer takes as long as that of the busiest.
        let peers = futures_util::future::join_all(view.peers.iter().map(peer)).await;
        peers.into_iter().flatten().collect()
    }

    fn render_peer(
        &self,
        entry: &PeerEntry,
        report: PeerReport,
        counts: &[PeerCounts],
    ) -> v1::Peer {
        let PeerReport {
            status,
            local_address,
            end_of_rib_received,
            end_of_rib_sent,
        } = report;
        let PeerStatus {
            state,
            negotiated,
            epoch: _,
            established_at,
            last_down,
            last_failure,
            flaps,
            received,
            sent,
            restarting,
            stale,
            next_dial: _,
        } = status;
        let last = match state {
            SessionState::Established => last_down,
            _ => later(last_down, last_failure),
        };
        let since = if state == SessionState::Established {
            established_at
        } else {
            last.as_ref().map(|last| last.at)
        };
        let mut conditions = Vec::new();
        if let Some(since) = entry.pending_reset_since {
            let mut pending = condition(
                "PendingReset",
                "SessionResetNotAllowed",
                "new settings wait: they need a session reset, which the last Apply did not allow",
            );
            pending.last_transition = Some(since.into());
            conditions.push(pending);
        }
        if let Some(stale) = stale {
            let names: Vec<String> = stale.families.iter().map(ToString::to_string).collect();
            let mut kept = condition(
                "Stale",
                "PeerRestarting",
                &format!(
                    "routes of {} are kept while the peer restarts (RFC 4724)",
                    names.join(", ")
                ),
            );
            kept.last_transition = last.as_ref().map(|last| self.clock.wall(last.at).into());
            conditions.push(kept);
        }
        if restarting {
            let mut gathers = condition(
                "Restarting",
                "InitialState",
                "this node has restarted and gathers routes",
            );
            gathers.last_transition = Some(self.clock.wall(bgp_core::Instant::ZERO).into());
            conditions.push(gathers);
        }
        let mut families = families(counts);
        let is_negotiated = |name: &str| {
            let agreed = negotiated.iter().flat_map(|agreed| &agreed.families);
            agreed.into_iter().any(|family| family.to_string() == name)
        };
        families.retain(|family| {
            family.received + family.advertised > 0 || is_negotiated(&family.family)
        });
        for family in &mut families {
            let named = |known: &bgp_wire::Family| known.to_string() == family.family;
            family.end_of_rib_received = end_of_rib_received.iter().any(named);
            family.end_of_rib_sent = end_of_rib_sent.iter().any(named);
        }
        let capabilities = |of: fn(&bgp_core::session::Negotiated) -> &[bgp_wire::Capability]| {
            let list = negotiated.as_deref().map(of).unwrap_or_default();
            list.iter()
                .map(ToString::to_string)
                .collect::<Vec<String>>()
        };
        let seconds = |duration: Option<Duration>| duration.and_then(|time| time.try_into().ok());
        v1::Peer {
            address: entry.key.address.to_string(),
            port: entry.key.port.into(),
            name: entry.plan.name.clone(),
            description: entry.plan.description.clone().unwrap_or_default(),
            kind: match entry.plan.kind {
                SessionKind::Mesh => "mesh",
                SessionKind::Global => "global",
                SessionKind::Node => "node",
                SessionKind::Reverse => "reverse",
            }
            .to_owned(),
            remote_asn: entry.plan.remote_asn.0,
            local_asn: entry.plan.local_asn.0,
            state: match state {
                SessionState::Idle => State::Idle,
                SessionState::Connect => State::Connect,
                SessionState::Active => State::Active,
                SessionState::OpenSent => State::OpenSent,
                SessionState::OpenConfirm => State::OpenConfirm,
                SessionState::Established => State::Established,
            }
            .into(),
            since: since.map(|at| self.clock.wall(at).into()),
            remote_router_id: negotiated
                .as_ref()
                .map(|agreed| agreed.remote_router_id.to_string())
                .unwrap_or_default(),
            local_address: local_address
                .map(|address| address.to_string())
                .unwrap_or_default(),
            passive: entry.plan.passive,
            reflector_client: entry.plan.reflector_client,
            hold_time: seconds(
                negotiated
                    .as_ref()
                    .and_then(|agreed| agreed.hold_time.duration()),
            ),
            keepalive_time: seconds(negotiated.as_ref().and_then(|agreed| agreed.keepalive)),
            local_capabilities: capabilities(|agreed| &agreed.local_capabilities),
            remote_capabilities: capabilities(|agreed| &agreed.remote_capabilities),
            families,
            last_down: last.map(|last| self.last_down(last)),
            flaps,
            received: Some(counters(received)),
            sent: Some(counters(sent)),
            conditions,
        }
    }

    fn last_down(&self, last: LastDown) -> v1::LastDown {
        let LastDown {
            at,
            by,
            code,
            subcode,
            text,
        } = last;
        v1::LastDown {
            by: match by {
                DownBy::Local => "local",
                DownBy::Remote => "remote",
                DownBy::Transport => "transport",
            }
            .to_owned(),
            code: code.map_or(0, u32::from),
            subcode: subcode.map_or(0, u32::from),
            text,
            at: Some(self.clock.wall(at).into()),
        }
    }
}

fn later(one: Option<LastDown>, other: Option<LastDown>) -> Option<LastDown> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.at >= one.at { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// Sums what the shards counted, each for its own prefixes.
fn families(counts: &[PeerCounts]) -> Vec<v1::PeerFamily> {
    let mut families: Vec<v1::PeerFamily> = Vec::new();
    for (family, counts) in counts.iter().flat_map(|counts| &counts.families) {
        let FamilyCounts {
            received,
            accepted,
            best,
            stale,
            advertised,
            pending: _,
        } = *counts;
        let name = family.to_string();
        let index = match families.iter().position(|known| known.family == name) {
            Some(index) => index,
            None => {
                families.push(v1::PeerFamily {
                    family: name,
                    ..v1::PeerFamily::default()
                });
                families.len() - 1
            }
        };
        let sum = &mut families[index];
        sum.received += u64::from(received);
        sum.accepted += u64::from(accepted);
        sum.best += u64::from(best);
        sum.advertised += u64::from(advertised);
        sum.stale |= stale > 0;
    }
    families
}

fn counters(counters: MessageCounters) -> v1::MessageCounters {
    let MessageCounters {
        open,
        update,
        notification,
        keepalive,
        route_refresh,
    } = counters;
    v1::MessageCounters {
        open,
        update,
        keepalive,
        notification,
        route_refresh,
    }
}

pub(super) fn condition(kind: &str, reason: &str, message: &str) -> v1::Condition {
    v1::Condition {
        r#type: kind.to_owned(),
        status: v1::condition::Status::True.into(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition: None,
    }
}

//! The peers of this node: one task each, started, changed and stopped as the plan says.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bgp_core::PeerId;
use bgp_core::policy::Policy;
use bgp_core::rib::NextHopMode;
use bgp_core::session::{
    ChangeCost, ConnectMode, GracefulRestartSettings, HoldTime, PeerEvent, PeerSettings, StopReason,
};
use bgp_wire::{Asn, Family, RouterId};
use cluster::model;
use cluster::plan::{self, Plan, SessionKey, SessionPlan};
use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::bgp::peer::{PeerCommand, PeerContext, PeerHandle, PeerNews};
use crate::bgp::peer_config::{PeerConfig, RouteSettings};
use crate::bgp::shard::Shards;
use crate::clock::Clock;

/// All peers.
pub(super) struct Peers {
    clock: Clock,
    shards: Shards,
    news: mpsc::UnboundedSender<PeerNews>,
    /// Whether peers that start now may hold our routes of an earlier life.
    restarting: bool,
    entries: BTreeMap<SessionKey, Entry>,
    next_id: u32,
}

struct Entry {
    id: PeerId,
    handle: PeerHandle,
    config: PeerConfig,
    plan: SessionPlan,
    /// Since when newer settings wait, because they would reset the session.
    parked_since: Option<SystemTime>,
}

/// Whether a change may reset sessions.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Resets {
    Allowed,
    /// Such a change is parked until it is allowed.
    Parked,
}

/// What the RIB's part of every peer is made of.
pub(super) struct Policies {
    pub(super) import: Arc<Policy>,
    pub(super) export: Arc<Policy>,
}

impl Peers {
    pub(super) const fn new(
        clock: Clock,
        shards: Shards,
        news: mpsc::UnboundedSender<PeerNews>,
        restarting: bool,
    ) -> Self {
        Self {
            clock,
            shards,
            news,
            restarting,
            entries: BTreeMap::new(),
            next_id: 0,
        }
    }

    /// Makes the peers what the plan says. Returns those that are gone.
    pub(super) fn set(
        &mut self,
        plan: &Plan,
        router_id: RouterId,
        policies: &Policies,
        resets: Resets,
    ) -> Vec<PeerId> {
        let mut gone = Vec::new();
        let unwanted: Vec<SessionKey> = self
            .entries
            .keys()
            .filter(|key| !plan.sessions.contains_key(key))
            .copied()
            .collect();
        for key in unwanted {
            if let Some(entry) = self.entries.remove(&key) {
                info!(peer = %entry.plan.name, address = %key.address, "peer removed");
                entry
                    .handle
                    .send(PeerCommand::End(StopReason::Deconfigured));
                gone.push(entry.id);
            }
        }
        for (key, session) in &plan.sessions {
            let config = match configure(*key, session, plan, router_id, policies) {
                Ok(config) => config,
                Err(reason) => {
                    warn!(peer = %session.name, reason, "peer left out");
                    continue;
                }
            };
            match self.entries.get_mut(key) {
                Some(entry) => entry.change(config, session, resets),
                None => self.start(*key, config, session),
            }
        }
        gone
    }

    fn start(&mut self, key: SessionKey, config: PeerConfig, session: &SessionPlan) {
        let id = PeerId(self.next_id);
        self.next_id += 1;
        let context = PeerContext {
            id,
            name: session.name.as_str().into(),
            clock: self.clock,
            shards: self.shards.clone(),
            news: self.news.clone(),
            seed: seed(&config, id),
        };
        let handle = PeerHandle::spawn(context, config.clone(), self.restarting);
        handle.send(PeerCommand::Session(PeerEvent::Start));
        info!(peer = %session.name, address = %key.address, asn = %session.remote_asn, "peer added");
        self.entries.insert(
            key,
            Entry {
                id,
                handle,
                config,
                plan: session.clone(),
                parked_since: None,
            },
        );
    }

    /// The first moments are over: OPENs no longer say that we restart.
    pub(super) fn restart_completed(&mut self) {
        self.restarting = false;
        for entry in self.entries.values() {
            entry
                .handle
                .send(PeerCommand::Session(PeerEvent::RestartCompleted));
        }
    }

    /// Closes all sessions in such a way that neighbours keep our routes while we are away.
    pub(super) async fn let_go(self) {
        for entry in self.entries.values() {
            entry.handle.send(PeerCommand::End(StopReason::Restart));
        }
        let all_ended = async {
            for entry in self.entries.values() {
                entry.handle.ended().await;
            }
        };
        // A task that still runs after that long is stuck on a neighbour that does not read.
        let _ = tokio::time::timeout(LET_GO, all_ended).await;
    }

    /// Who may connect.
    pub(super) fn neighbours(&self) -> HashMap<IpAddr, PeerHandle> {
        self.entries
            .iter()
            .map(|(key, entry)| (key.address, entry.handle.clone()))
            .collect()
    }

    /// Everybody, for queries.
    pub(super) fn view(&self) -> Vec<super::PeerEntry> {
        let entry = |(key, entry): (&SessionKey, &Entry)| super::PeerEntry {
            key: *key,
            id: entry.id,
            handle: entry.handle.clone(),
            plan: entry.plan.clone(),
            pending_reset_since: entry.parked_since,
        };
        self.entries.iter().map(entry).collect()
    }

    /// Sessions whose new settings wait for a reset.
    pub(super) fn parked(&self) -> impl Iterator<Item = SessionKey> {
        let parked = |(_, entry): &(&SessionKey, &Entry)| entry.parked_since.is_some();
        self.entries.iter().filter(parked).map(|(key, _)| *key)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = PeerId> {
        self.entries.values().map(|entry| entry.id)
    }

    pub(super) fn address_of(&self, peer: PeerId) -> Option<SocketAddr> {
        let (key, _) = self.entries.iter().find(|(_, entry)| entry.id == peer)?;
        Some(SocketAddr::new(key.address, key.port))
    }
}

impl Entry {
    fn change(&mut self, config: PeerConfig, plan: &SessionPlan, resets: Resets) {
        if self.config.change_cost(&config) == ChangeCost::SessionReset && resets == Resets::Parked
        {
            self.parked_since.get_or_insert_with(SystemTime::now);
            return;
        }
        self.parked_since = None;
        self.plan = plan.clone();
        if self.config != config {
            self.config = config.clone();
            self.handle.send(PeerCommand::Configure(Box::new(config)));
        }
    }
}

/// The session as the core has it.
///
/// # Errors
/// What this version can't do; the peer is then left out rather than run with less than was asked for.
fn configure(
    key: SessionKey,
    session: &SessionPlan,
    plan: &Plan,
    router_id: RouterId,
    policies: &Policies,
) -> Result<PeerConfig, &'static str> {
    let SessionPlan {
        name: _,
        kind: _,
        remote_asn,
        local_asn,
        passive,
        reflector_client,
        source_address,
        families,
        hold_time,
        keepalive,
        connect_retry,
        restart_time,
        next_hop_mode,
        allow_own_asn,
        ttl_security,
        description: _,
        from: _,
    } = session;
    if ttl_security.is_some() {
        return Err("ttlSecurity is not supported yet");
    }
    let families = families.iter().map(|family| match family {
        plan::Family::Ipv4 => Family::IPV4_UNICAST,
        plan::Family::Ipv6 => Family::IPV6_UNICAST,
    });
    let keepalive = (*keepalive > 0).then(|| Duration::from_secs((*keepalive).into()));
    Ok(PeerConfig {
        remote: SocketAddr::new(key.address, key.port),
        source: *source_address,
        session: PeerSettings {
            local_asn: Asn(local_asn.0),
            remote_asn: Asn(remote_asn.0),
            router_id,
            hold_time: HoldTime::new(*hold_time)
                .map_err(|_| "holdTime of 1 or 2 seconds is not allowed")?,
            keepalive,
            connect_retry: Duration::from_secs((*connect_retry).into()),
            connect: if *passive {
                ConnectMode::Passive
            } else {
                ConnectMode::Active
            },
            families: families.collect(),
            add_path: Vec::new(),
            graceful_restart: Some(GracefulRestartSettings {
                restart_time: (*restart_time).min(GracefulRestartSettings::MAX_RESTART_TIME),
                ..GracefulRestartSettings::default()
            }),
            extended_messages: true,
        },
        routes: RouteSettings {
            reflector_client: *reflector_client,
            next_hop: match next_hop_mode {
                model::NextHopMode::Auto => NextHopMode::Auto,
                model::NextHopMode::OwnAddress => NextHopMode::ToSelf,
                model::NextHopMode::Keep => NextHopMode::Keep,
            },
            allow_own_asn: *allow_own_asn,
            own_v4: plan.node_addresses.ipv4_address(),
            own_v6: plan.node_addresses.ipv6_address(),
            import: Arc::clone(&policies.import),
            export: Arc::clone(&policies.export),
        },
    })
}

/// Jitter must differ between the nodes of a cluster that starts at once, and between the peers of a node.
fn seed(config: &PeerConfig, id: PeerId) -> u64 {
    u64::from(u32::from(config.session.router_id.0)) << 32 | u64::from(id.0)
}

const LET_GO: Duration = Duration::from_secs(1);

//! One speaker: a session for each neighbour, and one RIB shard.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bgp_core::policy::Policy;
use bgp_core::rib::{LocalNextHops, NextHopMode, Origination, RibPeer, Shard, ShardSettings};
use bgp_core::session::{
    ConnectMode, GracefulRestartSettings, HoldTime, Negotiated, Peer, PeerSettings, SessionState,
};
use bgp_core::{ConnectionId, Epoch, Instant, PeerId};
use bgp_wire::{Attributes, Family, SessionType};
use ipnet::IpNet;

use crate::random::Random;
use crate::topology::{SpeakerId, Topology};

/// What all speakers of a simulation have in common.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    /// Everyone takes part in graceful restart (RFC 4724).
    pub graceful_restart: bool,
    /// Which next hop iBGP peers get for routes from outside.
    pub next_hop: NextHopMode,
    /// Octets on their way to a peer above which it lags. A few hundred make everybody lag.
    pub send_window: usize,
    /// Hold time that every OPEN proposes.
    pub hold_time: HoldTime,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            graceful_restart: false,
            next_hop: NextHopMode::Auto,
            send_window: 1 << 16,
            hold_time: HoldTime::DEFAULT,
        }
    }
}

/// What became of a speaker's process.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Condition {
    Running,
    /// The process is gone; its system refuses connections.
    Ended,
    /// The machine is gone and answers nothing.
    PoweredOff,
}

/// One neighbour of a speaker.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) peer: Peer,
    pub(crate) link: usize,
    /// The connection that the present dial will become.
    pub(crate) dial: Option<ConnectionId>,
    pub(crate) established: Option<(ConnectionId, Epoch)>,
    /// When the queue wakes it next, at the latest.
    pub(crate) alarm: Option<Instant>,
}

#[derive(Debug)]
pub(crate) struct Speaker {
    pub(crate) id: SpeakerId,
    pub(crate) condition: Condition,
    /// Counts its lives: nothing meant for an earlier one reaches it.
    pub(crate) life: u32,
    pub(crate) sessions: BTreeMap<PeerId, Session>,
    pub(crate) shard: Shard,
    pub(crate) shard_alarm: Option<Instant>,
    /// While it defers after a graceful restart: whose End-of-RIB it waits for (RFC 4724 section 4.1).
    pub(crate) deferral: Option<BTreeSet<(PeerId, Family)>>,
    /// What it announces by itself; survives a restart, like configuration.
    pub(crate) own: BTreeMap<IpNet, Attributes>,
}

/// How a life begins.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Start {
    /// With nothing.
    Cold,
    /// With forwarding state preserved (RFC 4724 section 4.1).
    Graceful,
}

impl Speaker {
    pub(crate) fn new(id: SpeakerId, topology: &Topology, settings: &Settings) -> Self {
        Self {
            id,
            condition: Condition::Ended,
            life: 0,
            sessions: BTreeMap::new(),
            shard: Shard::new(shard_settings(id, topology, settings), false),
            shard_alarm: None,
            deferral: None,
            own: BTreeMap::new(),
        }
    }

    /// Begins another life; sessions are stopped yet.
    pub(crate) fn begin(
        &mut self,
        topology: &Topology,
        settings: &Settings,
        start: Start,
        random: &mut Random,
    ) {
        let graceful = start == Start::Graceful && settings.graceful_restart;
        self.condition = Condition::Running;
        self.life += 1;
        self.shard = Shard::new(shard_settings(self.id, topology, settings), graceful);
        self.shard_alarm = None;
        self.sessions = topology
            .neighbours_of(self.id)
            .map(|(neighbour, link)| {
                let settings = session_settings(self.id, neighbour, topology, settings);
                let session = Session {
                    peer: Peer::new(settings, random.number(), graceful),
                    link,
                    dial: None,
                    established: None,
                    alarm: None,
                };
                (neighbour.peer_id(), session)
            })
            .collect();
        self.deferral = graceful.then(|| {
            self.sessions
                .keys()
                .flat_map(|peer| FAMILIES.map(|family| (*peer, family)))
                .collect()
        });
    }

    pub(crate) fn end(&mut self, condition: Condition) {
        self.condition = condition;
        self.life += 1;
        self.sessions.clear();
        self.shard_alarm = None;
        self.deferral = None;
    }

    pub(crate) fn is_running(&self) -> bool {
        self.condition == Condition::Running
    }

    pub(crate) fn originations(&self) -> Vec<Origination> {
        self.own
            .iter()
            .map(|(prefix, attributes)| Origination {
                prefix: *prefix,
                attributes: attributes.clone(),
                next_hop: None,
            })
            .collect()
    }

    /// True when exactly the sessions over usable links are up and nothing waits to be done.
    pub(crate) fn is_settled(&self, usable: impl Fn(usize) -> bool) -> bool {
        self.deferral.is_none()
            && self.shard.next_deadline().is_none()
            && self.sessions.values().all(|session| {
                let status = session.peer.status();
                let established = status.state == SessionState::Established;
                established == usable(session.link) && status.stale.is_none()
            })
    }
}

/// What the shard must know of a session that just came up.
pub(crate) fn rib_peer(
    id: SpeakerId,
    neighbour: SpeakerId,
    topology: &Topology,
    settings: &Settings,
    link: usize,
    negotiated: &Negotiated,
) -> RibPeer {
    RibPeer {
        address: neighbour.address().into(),
        local_address: id.address().into(),
        local_next_hops: LocalNextHops {
            v6: Some(id.address_v6()),
            ..LocalNextHops::default()
        },
        interface: None,
        local_asn: topology.speaker(id).asn,
        remote_asn: topology.speaker(neighbour).asn,
        remote_router_id: negotiated.remote_router_id,
        session_type: negotiated.session_type,
        reflector_client: topology.is_reflector_of(id, link),
        families: negotiated.families.clone(),
        encode: negotiated.encode.clone(),
        next_hop: match negotiated.session_type {
            SessionType::Internal => settings.next_hop,
            SessionType::External => NextHopMode::Auto,
        },
        allow_own_asn: 0,
        enforce_first_asn: true,
        import: Arc::new(Policy::accept_all()),
        export: Arc::new(Policy::accept_all()),
        enhanced_refresh: negotiated.enhanced_refresh,
    }
}

fn session_settings(
    id: SpeakerId,
    neighbour: SpeakerId,
    topology: &Topology,
    settings: &Settings,
) -> PeerSettings {
    PeerSettings {
        local_asn: topology.speaker(id).asn,
        remote_asn: topology.speaker(neighbour).asn,
        router_id: id.router_id(),
        hold_time: settings.hold_time,
        keepalive: None,
        connect_retry: PeerSettings::DEFAULT_CONNECT_RETRY,
        connect: ConnectMode::Active,
        families: FAMILIES.to_vec(),
        add_path: Vec::new(),
        graceful_restart: settings
            .graceful_restart
            .then(GracefulRestartSettings::default),
        extended_messages: true,
    }
}

fn shard_settings(id: SpeakerId, topology: &Topology, settings: &Settings) -> ShardSettings {
    let speaker = topology.speaker(id);
    ShardSettings {
        cluster_id: speaker.cluster_id,
        send_window: settings.send_window,
        ..ShardSettings::new(speaker.asn, id.router_id())
    }
}

/// What every session carries.
pub(crate) const FAMILIES: [Family; 2] = [Family::IPV4_UNICAST, Family::IPV6_UNICAST];

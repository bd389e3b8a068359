//! The virtual clock, and the driver's part for every speaker: what the daemon's tasks do, in one thread.
//!
//! ```text
//!   queue ──timer──▶ session ◀──frames── network ◀──────────────┐
//!     ▲                │ ▲                                      │
//!     │                ▼ │ InitialRoutesSent                    │
//!     └──alarm────── shard ──Send── (credit comes back with the arrival)
//! ```
//!
//! Every delay is drawn from the seed, events of one instant happen in the order in which they were scheduled, and
//! nothing else decides: the same seed gives the same history.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bgp_core::rib::{RibAction, RibEvent, Shard};
use bgp_core::session::{PeerAction, PeerEvent, PeerStatus, StopReason};
use bgp_core::{ConnectionId, Instant, Outbox, PeerId};
use bgp_wire::{Attributes, Family};
use bytes::Bytes;
use ipnet::IpNet;

use crate::network::{Item, Network, Side};
use crate::random::Random;
use crate::speaker::{Condition, FAMILIES, Settings, Speaker, Start, rib_peer};
use crate::topology::{SpeakerId, Topology};
use crate::trace::Trace;

/// Many speakers, the network between them, and a clock.
#[derive(Debug)]
pub struct Simulation {
    topology: Topology,
    settings: Settings,
    speakers: Vec<Speaker>,
    network: Network,
    random: Random,
    now: Instant,
    queue: BinaryHeap<Reverse<(Instant, u64, Alarm)>>,
    scheduled: u64,
    /// What follows from an action while others of the same batch still wait.
    later: VecDeque<(SpeakerId, PeerId, PeerEvent)>,
    trace: Trace,
}

/// How a speaker goes down.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Crash {
    /// The process dies: its system closes the connections, and refuses new ones.
    Process,
    /// The machine dies: nobody is told.
    Power,
    /// The process ends for a restart and closes in silence, so that graceful neighbours keep its routes.
    Planned,
}

#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
enum Alarm {
    Arrival(ConnectionId, Side),
    Session(SpeakerId, PeerId, u32),
    Shard(SpeakerId, u32),
    /// Selection_Deferral_Timer of RFC 4724 section 4.1.
    Deferral(SpeakerId, u32),
}

impl Simulation {
    /// Speakers that are not started yet.
    #[must_use]
    pub fn new(topology: Topology, settings: Settings, seed: u64) -> Self {
        let mut random = Random::new(seed);
        Self {
            speakers: topology
                .ids()
                .map(|id| Speaker::new(id, &topology, &settings))
                .collect(),
            network: Network::new(topology.links.len(), random.fork()),
            topology,
            settings,
            random,
            now: Instant::ZERO,
            queue: BinaryHeap::new(),
            scheduled: 0,
            later: VecDeque::new(),
            trace: Trace::default(),
        }
    }

    /// Starts every speaker that does not run, with nothing but its own routes.
    pub fn start_all(&mut self) {
        for id in self.topology.ids() {
            self.start(id);
        }
    }

    /// Starts a speaker, unless it runs.
    pub fn start(&mut self, id: SpeakerId) {
        self.begin(id, Start::Cold);
    }

    /// Starts a speaker, unless it runs, with its forwarding state preserved (RFC 4724 section 4.1).
    pub fn start_gracefully(&mut self, id: SpeakerId) {
        self.begin(id, Start::Graceful);
    }

    /// Takes a speaker down; nothing when it is down.
    pub fn crash(&mut self, id: SpeakerId, crash: Crash) {
        if !self.speakers[id.index()].is_running() {
            return;
        }
        if crash == Crash::Planned {
            for peer in self.peers_of(id) {
                self.drive(id, peer, PeerEvent::Stop(StopReason::Restart));
            }
        }
        for (connection, side) in self.network.open_at(id) {
            self.set_closed(connection, side);
            if crash != Crash::Power {
                self.send(connection, 1 - side, Item::Closed { error: None });
            }
        }
        let condition = match crash {
            Crash::Process | Crash::Planned => Condition::Ended,
            Crash::Power => Condition::PoweredOff,
        };
        self.speakers[id.index()].end(condition);
    }

    /// Lets a link carry nothing.
    pub fn cut(&mut self, link: usize) {
        self.network.cut(link);
    }

    /// Lets a link carry again, first what it held back.
    pub fn heal(&mut self, link: usize) {
        let (arrivals, freed) = self.network.heal(self.now, link);
        for (at, connection, side) in arrivals {
            self.schedule(at, Alarm::Arrival(connection, side));
        }
        for (connection, side) in freed {
            self.report(connection, side, PeerEvent::SendProgress { connection });
        }
        self.finish();
    }

    /// Breaks the connections over a link; it carries new ones.
    pub fn reset(&mut self, link: usize) {
        for (connection, side) in self.network.open_on(link) {
            self.lose(connection, side, Some("connection reset"));
        }
        self.finish();
    }

    /// Announces a prefix from a speaker, also when that is down and only will be able to later.
    pub fn originate(&mut self, id: SpeakerId, prefix: IpNet, attributes: Attributes) {
        self.speakers[id.index()].own.insert(prefix, attributes);
        if self.speakers[id.index()].is_running() {
            let routes = self.speakers[id.index()].originations();
            let routes = routes.into_iter().filter(|route| route.prefix == prefix);
            self.tell_shard(id, RibEvent::Originate(routes.collect()));
        }
    }

    /// Takes a prefix of a speaker's own back.
    pub fn withdraw(&mut self, id: SpeakerId, prefix: IpNet) {
        self.speakers[id.index()].own.remove(&prefix);
        if self.speakers[id.index()].is_running() {
            self.tell_shard(id, RibEvent::Withdraw(vec![prefix]));
        }
    }

    /// Asks a neighbour for all its routes again (RFC 2918).
    pub fn request_refresh(&mut self, id: SpeakerId, from: SpeakerId, family: Family) {
        self.drive(id, from.peer_id(), PeerEvent::RequestRefresh { family });
    }

    /// Lets time pass.
    pub fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        while let Some(Reverse((at, _, alarm))) = self.queue.peek().copied()
            && at <= end
        {
            self.queue.pop();
            self.now = self.now.max(at);
            self.ring(alarm);
        }
        self.now = end;
    }

    /// Lets time pass until [`Self::is_settled`]; false when that is not so after `limit`.
    pub fn run_until_settled(&mut self, limit: Duration) -> bool {
        let end = self.now + limit;
        while !self.is_settled() {
            if self.now >= end {
                return false;
            }
            self.run_for(Duration::from_secs(1));
        }
        true
    }

    /// True when exactly the sessions over usable links are up, nothing is on its way there but KEEPALIVEs, nobody has
    /// work left, and nobody waits for a neighbour that restarts.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let usable = |link| self.is_usable(link);
        self.network.is_quiet(usable)
            && self
                .speakers
                .iter()
                .all(|speaker| !speaker.is_running() || speaker.is_settled(usable))
    }

    /// True while a speaker runs.
    #[must_use]
    pub fn is_running(&self, id: SpeakerId) -> bool {
        self.speakers[id.index()].is_running()
    }

    /// True when a link carries and both its ends run: there has to be a session.
    #[must_use]
    pub fn is_usable(&self, link: usize) -> bool {
        let ends = self.topology.links[link].ends;
        self.network.is_up(link) && ends.iter().all(|end| self.is_running(*end))
    }

    /// Who there is.
    #[must_use]
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// What they have in common.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A speaker's RIB.
    #[must_use]
    pub fn shard(&self, id: SpeakerId) -> &Shard {
        &self.speakers[id.index()].shard
    }

    /// A speaker's own routes.
    pub fn own(&self, id: SpeakerId) -> impl Iterator<Item = (IpNet, &Attributes)> {
        self.speakers[id.index()]
            .own
            .iter()
            .map(|(prefix, attributes)| (*prefix, attributes))
    }

    /// A session as one of its ends sees it; `None` when the speaker is down or there is no such neighbour.
    #[must_use]
    pub fn session(&self, id: SpeakerId, neighbour: SpeakerId) -> Option<PeerStatus> {
        let session = self.speakers[id.index()]
            .sessions
            .get(&neighbour.peer_id())?;
        Some(session.peer.status())
    }

    /// Virtual time since the start.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// A hash of everything that arrived so far, with when and where.
    #[must_use]
    pub const fn fingerprint(&self) -> u64 {
        self.trace.fingerprint()
    }

    /// How many UPDATE messages speakers have read so far.
    #[must_use]
    pub const fn updates(&self) -> u64 {
        self.trace.updates()
    }

    fn begin(&mut self, id: SpeakerId, start: Start) {
        let speaker = &mut self.speakers[id.index()];
        if speaker.is_running() {
            return;
        }
        speaker.begin(&self.topology, &self.settings, start, &mut self.random);
        let (life, own) = (speaker.life, speaker.originations());
        if speaker.deferral.is_some() {
            self.schedule(self.now + DEFERRAL, Alarm::Deferral(id, life));
        }
        self.tell_shard(id, RibEvent::Originate(own));
        for peer in self.peers_of(id) {
            self.drive(id, peer, PeerEvent::Start);
        }
    }

    fn peers_of(&self, id: SpeakerId) -> Vec<PeerId> {
        self.speakers[id.index()].sessions.keys().copied().collect()
    }

    fn schedule(&mut self, at: Instant, alarm: Alarm) {
        self.scheduled += 1;
        self.queue.push(Reverse((at, self.scheduled, alarm)));
    }

    fn ring(&mut self, alarm: Alarm) {
        match alarm {
            Alarm::Arrival(connection, side) => self.arrive(connection, side),
            Alarm::Session(id, peer, life) => self.wake_session(id, peer, life),
            Alarm::Shard(id, life) => self.wake_shard(id, life),
            Alarm::Deferral(id, life) if self.speakers[id.index()].life == life => {
                self.end_deferral(id);
            }
            Alarm::Deferral(..) => {}
        }
        self.finish();
    }

    /// Does what was put off.
    fn finish(&mut self) {
        while let Some((id, peer, event)) = self.later.pop_front() {
            self.drive_once(id, peer, event);
        }
    }

    fn drive(&mut self, id: SpeakerId, peer: PeerId, event: PeerEvent) {
        self.drive_once(id, peer, event);
        self.finish();
    }

    fn drive_once(&mut self, id: SpeakerId, peer: PeerId, event: PeerEvent) {
        let mut out = Outbox::new();
        if let Some(session) = self.speakers[id.index()].sessions.get_mut(&peer) {
            session.peer.handle(self.now, event, &mut out);
            self.carry_out(id, peer, &mut out);
        }
    }

    fn wake_session(&mut self, id: SpeakerId, peer: PeerId, life: u32) {
        let speaker = &mut self.speakers[id.index()];
        if speaker.life != life {
            return;
        }
        let Some(session) = speaker.sessions.get_mut(&peer) else {
            return;
        };
        let mut out = Outbox::new();
        session.alarm = None;
        if session
            .peer
            .next_deadline()
            .is_some_and(|at| at <= self.now)
        {
            session.peer.handle_timeout(self.now, &mut out);
        }
        self.carry_out(id, peer, &mut out);
    }

    fn set_session_alarm(&mut self, id: SpeakerId, peer: PeerId) {
        let speaker = &mut self.speakers[id.index()];
        let life = speaker.life;
        if let Some(session) = speaker.sessions.get_mut(&peer)
            && let Some(deadline) = session.peer.next_deadline()
            && session.alarm.is_none_or(|alarm| deadline < alarm)
        {
            session.alarm = Some(deadline);
            self.schedule(deadline, Alarm::Session(id, peer, life));
        }
    }

    fn tell_shard(&mut self, id: SpeakerId, event: RibEvent) {
        let mut out = Outbox::new();
        let shard = &mut self.speakers[id.index()].shard;
        shard.handle(self.now, event, &mut out);
        self.carry_out_rib(id, &mut out);
    }

    fn wake_shard(&mut self, id: SpeakerId, life: u32) {
        let speaker = &mut self.speakers[id.index()];
        if speaker.life != life {
            return;
        }
        speaker.shard_alarm = None;
        let mut out = Outbox::new();
        if speaker
            .shard
            .next_deadline()
            .is_some_and(|at| at <= self.now)
        {
            speaker.shard.handle_timeout(self.now, &mut out);
        }
        self.carry_out_rib(id, &mut out);
    }

    fn set_shard_alarm(&mut self, id: SpeakerId) {
        let speaker = &mut self.speakers[id.index()];
        let life = speaker.life;
        if let Some(deadline) = speaker.shard.next_deadline()
            && speaker.is_running()
        {
            // It has other work too: how much comes in meanwhile decides what coalesces.
            let earliest = deadline.max(self.now);
            let latest = earliest + THINKING;
            if speaker.shard_alarm.is_none_or(|alarm| alarm > latest) {
                let at = earliest + self.random.up_to(THINKING);
                speaker.shard_alarm = Some(at);
                self.schedule(at, Alarm::Shard(id, life));
            }
        }
    }

    fn carry_out(&mut self, id: SpeakerId, peer: PeerId, out: &mut Outbox<PeerAction>) {
        for action in out.drain() {
            self.act(id, peer, action);
        }
        self.set_session_alarm(id, peer);
    }

    fn act(&mut self, id: SpeakerId, peer: PeerId, action: PeerAction) {
        match action {
            PeerAction::Dial => self.dial(id, peer),
            PeerAction::CancelDial => {
                let session = self.speakers[id.index()].sessions.get_mut(&peer);
                if let Some(connection) = session.and_then(|session| session.dial.take()) {
                    self.close(connection, 0);
                }
            }
            PeerAction::Send {
                connection, bytes, ..
            } => {
                if let Some(side) = self.side_of(connection, id) {
                    let credit = None;
                    self.transmit(id, peer, connection, side, Item::Data { bytes, credit });
                }
            }
            PeerAction::Close { connection } => {
                if let Some(side) = self.side_of(connection, id) {
                    self.close(connection, side);
                }
            }
            PeerAction::AllowExtended { connection } => {
                if let Some(side) = self.side_of(connection, id)
                    && let Some(connection) = self.network.connection(connection)
                {
                    connection.ends[side].framer.set_extended_messages(true);
                }
            }
            PeerAction::Up {
                epoch,
                connection,
                negotiated,
                ..
            } => {
                let Some(session) = self.speakers[id.index()].sessions.get_mut(&peer) else {
                    return;
                };
                session.established = Some((connection, epoch));
                let settings = rib_peer(
                    id,
                    SpeakerId::of_peer(peer),
                    &self.topology,
                    &self.settings,
                    session.link,
                    &negotiated,
                );
                let settings = Arc::new(settings);
                self.tell_shard(
                    id,
                    RibEvent::PeerUp {
                        peer,
                        epoch,
                        settings,
                    },
                );
                // One that restarts itself does not send End-of-RIB before it has ours.
                let restart = negotiated.graceful_restart.as_ref();
                if restart.is_none_or(|restart| restart.restarting) {
                    for family in FAMILIES {
                        self.no_longer_awaits(id, peer, family);
                    }
                }
            }
            PeerAction::Update { epoch, update } => {
                let event = RibEvent::Update {
                    peer,
                    epoch,
                    update,
                };
                self.tell_shard(id, event);
            }
            PeerAction::EndOfRib { epoch, family } => {
                let event = RibEvent::EndOfRib {
                    peer,
                    epoch,
                    family,
                };
                self.tell_shard(id, event);
                self.no_longer_awaits(id, peer, family);
            }
            PeerAction::Refresh {
                epoch,
                family,
                subtype,
            } => {
                let event = RibEvent::Refresh {
                    peer,
                    epoch,
                    family,
                    subtype,
                };
                self.tell_shard(id, event);
            }
            PeerAction::Down { epoch, keep, .. } => {
                if let Some(session) = self.speakers[id.index()].sessions.get_mut(&peer) {
                    session.established = None;
                }
                self.tell_shard(id, RibEvent::PeerDown { peer, epoch, keep });
            }
            PeerAction::FlushStale { families } => {
                self.tell_shard(id, RibEvent::FlushStale { peer, families });
            }
            PeerAction::StateChanged { .. } => {}
        }
    }

    fn carry_out_rib(&mut self, id: SpeakerId, out: &mut Outbox<RibAction>) {
        for action in out.drain() {
            match action {
                RibAction::Send { peers, frame, .. } => {
                    for peer in peers.iter() {
                        self.send_routes(id, peer, &frame);
                    }
                }
                RibAction::InitialRoutesSent {
                    peer,
                    epoch,
                    family,
                } => {
                    let event = PeerEvent::InitialRoutesSent { epoch, family };
                    self.later.push_back((id, peer, event));
                }
                RibAction::Fib(_) | RibAction::BestChanged(_) => {}
            }
        }
        self.set_shard_alarm(id);
    }

    fn send_routes(&mut self, id: SpeakerId, peer: PeerId, frame: &Bytes) {
        let session = self.speakers[id.index()].sessions.get(&peer);
        let Some((connection, epoch)) = session.and_then(|session| session.established) else {
            return;
        };
        if let Some(side) = self.side_of(connection, id) {
            let item = Item::Data {
                bytes: frame.clone(),
                credit: Some(epoch),
            };
            self.transmit(id, peer, connection, side, item);
        }
    }

    /// The restart is over once every neighbour has sent what it has (RFC 4724 section 4.1).
    fn no_longer_awaits(&mut self, id: SpeakerId, peer: PeerId, family: Family) {
        if let Some(awaited) = &mut self.speakers[id.index()].deferral {
            awaited.remove(&(peer, family));
            if awaited.is_empty() {
                self.end_deferral(id);
            }
        }
    }

    fn end_deferral(&mut self, id: SpeakerId) {
        if self.speakers[id.index()].deferral.take().is_some() {
            self.tell_shard(id, RibEvent::EndDeferral);
            for peer in self.peers_of(id) {
                self.later
                    .push_back((id, peer, PeerEvent::RestartCompleted));
            }
        }
    }

    fn dial(&mut self, id: SpeakerId, peer: PeerId) {
        let Some(session) = self.speakers[id.index()].sessions.get_mut(&peer) else {
            return;
        };
        assert_eq!(session.dial, None, "{id} dials {peer} twice");
        let connection = self
            .network
            .dial(session.link, id, SpeakerId::of_peer(peer));
        session.dial = Some(connection);
        self.send(connection, 1, Item::Syn);
    }

    /// The end of a connection that a speaker holds open.
    fn side_of(&mut self, connection: ConnectionId, id: SpeakerId) -> Option<Side> {
        let connection = self.network.connection(connection)?;
        [0, 1]
            .into_iter()
            .find(|side| connection.ends[*side].speaker == id && connection.ends[*side].open)
    }

    /// Sends data from a side to the other.
    fn transmit(
        &mut self,
        id: SpeakerId,
        peer: PeerId,
        connection: ConnectionId,
        side: Side,
        item: Item,
    ) {
        self.send(connection, 1 - side, item);
        let Some(ends) = self.network.connection(connection) else {
            return;
        };
        let link = ends.link;
        if !self.network.is_up(link)
            && let Some(ends) = self.network.connection(connection)
            && !std::mem::replace(&mut ends.ends[side].stuck, true)
        {
            self.later
                .push_back((id, peer, PeerEvent::SendPending { connection }));
        }
    }

    fn send(&mut self, connection: ConnectionId, side: Side, item: Item) {
        if let Some(at) = self.network.send(self.now, connection, side, item) {
            self.schedule(at, Alarm::Arrival(connection, side));
        }
    }

    fn set_closed(&mut self, connection: ConnectionId, side: Side) {
        if let Some(connection) = self.network.connection(connection) {
            connection.ends[side].open = false;
        }
    }

    fn close(&mut self, connection: ConnectionId, side: Side) {
        self.set_closed(connection, side);
        self.send(connection, 1 - side, Item::Closed { error: None });
    }

    /// A side finds out that its connection is gone.
    fn lose(&mut self, connection: ConnectionId, side: Side, error: Option<&'static str>) {
        let Some(ends) = self.network.connection(connection) else {
            return;
        };
        let id = ends.ends[side].speaker;
        let peer = ends.ends[1 - side].speaker.peer_id();
        ends.ends[side].open = false;
        let session = self.speakers[id.index()].sessions.get_mut(&peer);
        let dialling = session.filter(|session| session.dial == Some(connection));
        let error = error.map(str::to_owned);
        let event = if let Some(session) = dialling {
            session.dial = None;
            let error = error.unwrap_or_else(|| "closed".to_owned());
            PeerEvent::DialFailed { error }
        } else {
            PeerEvent::Closed { connection, error }
        };
        self.later.push_back((id, peer, event));
    }

    /// Tells the speaker at one end of a connection.
    fn report(&mut self, connection: ConnectionId, side: Side, event: PeerEvent) {
        if let Some(ends) = self.network.connection(connection)
            && ends.ends[side].open
        {
            let id = ends.ends[side].speaker;
            let peer = ends.ends[1 - side].speaker.peer_id();
            self.later.push_back((id, peer, event));
        }
    }

    fn arrive(&mut self, connection: ConnectionId, side: Side) {
        let Some(item) = self.network.receive(connection, side) else {
            return;
        };
        self.trace.record(self.now, connection, side, &item);
        let Some(ends) = self.network.connection(connection) else {
            return;
        };
        let [here, there] = [side, 1 - side].map(|side| ends.ends[side].speaker);
        let [open_here, open_there] = [side, 1 - side].map(|side| ends.ends[side].open);
        match self.speakers[here.index()].condition {
            Condition::PoweredOff => {}
            Condition::Ended => {
                if open_there {
                    let answer = match item {
                        Item::Syn => Item::Refused,
                        _ => Item::Closed {
                            error: Some("connection reset"),
                        },
                    };
                    self.send(connection, 1 - side, answer);
                }
            }
            Condition::Running => match item {
                // Given up before it arrived.
                Item::Syn if !open_there => {}
                Item::Syn => {
                    ends.ends[side].open = true;
                    self.send(connection, 1 - side, Item::Connected);
                    let local_address = here.address().into();
                    let event = PeerEvent::Accepted {
                        connection,
                        local_address,
                    };
                    self.later.push_back((here, there.peer_id(), event));
                }
                Item::Connected if !open_here => self.close(connection, side),
                Item::Connected => {
                    let peer = there.peer_id();
                    if let Some(session) = self.speakers[here.index()].sessions.get_mut(&peer) {
                        session.dial = None;
                    }
                    let local_address = here.address().into();
                    let event = PeerEvent::Dialed {
                        connection,
                        local_address,
                    };
                    self.later.push_back((here, peer, event));
                }
                Item::Refused if open_here => {
                    self.lose(connection, side, Some("connection refused"));
                }
                Item::Closed { error } if open_here => self.lose(connection, side, error),
                Item::Refused | Item::Closed { .. } => {}
                Item::Data { .. } if !open_here => {
                    if open_there {
                        let error = Some("connection reset");
                        self.send(connection, 1 - side, Item::Closed { error });
                    }
                }
                Item::Data { bytes, credit } => {
                    // The sender's system knows that it arrived, and the sender's writer may send more.
                    if let Some(epoch) = credit
                        && self.speakers[there.index()].is_running()
                    {
                        let (peer, bytes) = (here.peer_id(), bytes.len());
                        self.tell_shard(there, RibEvent::Sent { peer, epoch, bytes });
                    }
                    self.trace.count(&bytes);
                    self.read(connection, side, &bytes);
                }
            },
        }
        self.finish();
        self.network.forget_if_over(connection);
    }

    /// Cuts what arrived into messages and hands them over, until the session closes the connection.
    fn read(&mut self, connection: ConnectionId, side: Side, bytes: &[u8]) {
        let Some(ends) = self.network.connection(connection) else {
            return;
        };
        let id = ends.ends[side].speaker;
        let peer = ends.ends[1 - side].speaker.peer_id();
        ends.ends[side].framer.push(bytes);
        while let Some(ends) = self.network.connection(connection)
            && ends.ends[side].open
        {
            let event = match ends.ends[side].framer.next_frame() {
                Ok(Some(frame)) => PeerEvent::Frame { connection, frame },
                Ok(None) => return,
                Err(notification) => {
                    let event = PeerEvent::Malformed {
                        connection,
                        notification,
                    };
                    self.drive(id, peer, event);
                    return;
                }
            };
            self.drive(id, peer, event);
        }
    }
}

/// How long a shard may be busy with something else.
const THINKING: Duration = Duration::from_millis(2);

/// How long a speaker waits for End-of-RIB after its restart; below the restart time that it promises.
const DEFERRAL: Duration = Duration::from_secs(60);

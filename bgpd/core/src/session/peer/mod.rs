//! The peer: all connections to one neighbour, and what outlives them.
//!
//! RFC 4271 section 8.2. `commands` is what the operator does, `connections` what TCP and the peer do, `collision`
//! decides between two connections, `dialer` when to connect, `stale` how long a restarting peer's routes stay.

mod collision;
mod commands;
mod connections;
mod dialer;
mod stale;

use bgp_wire::{Family, NotificationMessage, RefreshSubtype};
use bytes::Bytes;

use self::dialer::Dialer;
use self::stale::StaleRoutes;
use super::action::{DownReason, Lane, PeerAction};
use super::connection::{Connection, Due, Phase};
use super::event::PeerEvent;
use super::message;
use super::negotiation::OpenForm;
use super::notification;
use super::random::SplitMix64;
use super::settings::{ConnectMode, PeerSettings};
use super::status::{LastDown, MessageCounters, PeerStatus, SessionState};
use crate::{ConnectionId, Epoch, Instant, Outbox};

/// One neighbour's session.
///
/// It begins stopped. Its cost does not grow with routes.
#[derive(Debug)]
pub struct Peer {
    settings: PeerSettings,
    random: SplitMix64,
    admin: Admin,
    /// Our OPENs carry the Restart State bit (RFC 4724 section 3).
    restarting: bool,
    open_form: OpenForm,
    dialer: Dialer,
    /// At most two: one dialled and one accepted, or an Established one and its challenger.
    connections: Vec<Connection>,
    stale: StaleRoutes,
    epoch: Epoch,
    /// As last reported.
    state: SessionState,
    last_down: Option<LastDown>,
    last_failure: Option<LastDown>,
    flaps: u64,
    received: MessageCounters,
    sent: MessageCounters,
}

/// What the operator wants.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Admin {
    Stopped,
    Running,
}

impl Peer {
    /// A stopped session.
    ///
    /// `seed` makes its timers reproducible; give every peer another one. `restarting` says that this daemon just
    /// restarted with its forwarding state preserved (RFC 4724 section 4.1).
    #[must_use]
    pub const fn new(settings: PeerSettings, seed: u64, restarting: bool) -> Self {
        Self {
            settings,
            random: SplitMix64::new(seed),
            admin: Admin::Stopped,
            restarting,
            open_form: OpenForm::WithCapabilities,
            dialer: Dialer::new(),
            connections: Vec::new(),
            stale: StaleRoutes::Nothing,
            epoch: Epoch(0),
            state: SessionState::Idle,
            last_down: None,
            last_failure: None,
            flaps: 0,
            received: MessageCounters::ZERO,
            sent: MessageCounters::ZERO,
        }
    }

    /// Takes one event and appends what follows from it to `out`.
    pub fn handle(&mut self, now: Instant, event: PeerEvent, out: &mut Outbox<PeerAction>) {
        match event {
            PeerEvent::Start => self.start(),
            PeerEvent::Stop(reason) => self.stop(now, reason, out),
            PeerEvent::Reset { text } => self.reset(now, &text, out),
            PeerEvent::Configure(settings) => self.configure(now, settings, out),
            PeerEvent::RestartCompleted => self.restarting = false,
            PeerEvent::Dialed {
                connection,
                local_address,
            } => {
                self.dialed(now, connection, local_address, out);
            }
            PeerEvent::DialFailed { error } => {
                if self.dialer.dial_failed() {
                    self.last_failure = Some(LastDown::dial_failed(now, &error));
                }
            }
            PeerEvent::Accepted {
                connection,
                local_address,
            } => {
                self.accepted(now, connection, local_address, out);
            }
            PeerEvent::Frame { connection, frame } => self.receive(now, connection, &frame, out),
            PeerEvent::Malformed {
                connection,
                notification,
            } => {
                self.end(now, connection, DownReason::Sent(notification), out);
            }
            PeerEvent::Closed { connection, error } => {
                self.end(now, connection, DownReason::Lost { error }, out);
            }
            PeerEvent::SendPending { connection } => {
                if let Some(connection) = self.connection_mut(connection) {
                    connection.send_pending(now);
                }
            }
            PeerEvent::SendProgress { connection } => {
                if let Some(connection) = self.connection_mut(connection) {
                    connection.send_progress();
                }
            }
            PeerEvent::InitialRoutesSent { epoch, family } => {
                self.end_of_rib(epoch, family, out);
            }
            PeerEvent::UpdatesSent { epoch, messages } => {
                if self.established(epoch).is_some() {
                    self.sent.update += messages;
                }
            }
            PeerEvent::RequestRefresh { family } => self.request_refresh(family, out),
            PeerEvent::PrefixLimitExceeded {
                epoch,
                family,
                limit,
            } => {
                if let Some(id) = self.established(epoch).map(|connection| connection.id) {
                    let message = notification::prefix_limit(family, limit);
                    self.end_hard(now, id, message, out);
                }
            }
        }
        self.settle(now, out);
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Outbox<PeerAction>) {
        let connections: Vec<_> = self
            .connections
            .iter()
            .map(|connection| connection.id)
            .collect();
        for connection in connections {
            self.handle_connection_timeout(now, connection, out);
        }
        Self::flush(self.stale.handle_timeout(now), out);
        self.dialer
            .handle_timeout(now, &self.settings, &mut self.random, out);
        self.settle(now, out);
    }

    /// When [`Self::handle_timeout`] is wanted next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.connections
            .iter()
            .filter_map(Connection::next_deadline)
            .chain(self.dialer.next_deadline())
            .chain(self.stale.next_deadline())
            .min()
    }

    /// A snapshot for the operator.
    #[must_use]
    pub fn status(&self) -> PeerStatus {
        let furthest = self
            .connections
            .iter()
            .max_by_key(|connection| connection.state());
        PeerStatus {
            state: self.current_state(),
            negotiated: furthest.and_then(Connection::negotiated).cloned(),
            epoch: self.epoch,
            established_at: furthest.and_then(|connection| match &connection.phase {
                Phase::Established(phase) => Some(phase.since),
                Phase::OpenSent(_) | Phase::OpenConfirm(_) => None,
            }),
            last_down: self.last_down.clone(),
            last_failure: self.last_failure.clone(),
            flaps: self.flaps,
            received: self.received,
            sent: self.sent,
            restarting: self.restarting,
            stale: self.stale.status(),
            next_dial: self.dialer.next_dial(),
        }
    }

    /// The settings in force.
    #[must_use]
    pub const fn settings(&self) -> &PeerSettings {
        &self.settings
    }

    /// Draws the conclusions that do not depend on which event it was.
    fn settle(&mut self, now: Instant, out: &mut Outbox<PeerAction>) {
        // Whoever has no rival (any more) may go on.
        if let [only] = self.connections.as_slice()
            && matches!(only.phase, Phase::OpenConfirm(_))
            && !only.is_answered()
        {
            self.answer(now, only.id, out);
        }
        let wants_dial = self.admin == Admin::Running
            && self.settings.connect == ConnectMode::Active
            && self.may_use_dial();
        self.dialer
            .settle(now, wants_dial, &self.settings, &mut self.random, out);

        let state = self.current_state();
        if state != self.state {
            out.push(PeerAction::StateChanged {
                from: self.state,
                to: state,
            });
            self.state = state;
        }
    }

    fn handle_connection_timeout(
        &mut self,
        now: Instant,
        id: ConnectionId,
        out: &mut Outbox<PeerAction>,
    ) {
        while let Some(connection) = self.connection_mut(id) {
            match connection.due(now) {
                Due::Nothing => return,
                Due::Keepalive => self.send_keepalive(now, id, out),
                Due::Answer => self.answer(now, id, out),
                Due::HoldExpired => {
                    let message = notification::hold_timer_expired();
                    self.end(now, id, DownReason::Sent(message), out);
                }
                Due::SendHoldExpired => {
                    let message = notification::send_hold_timer_expired();
                    self.end(now, id, DownReason::Sent(message), out);
                }
            }
        }
    }

    fn end_of_rib(&mut self, epoch: Epoch, family: Family, out: &mut Outbox<PeerAction>) {
        let Some(connection) = self.established(epoch) else {
            return;
        };
        let id = connection.id;
        if connection
            .negotiated()
            .is_some_and(|negotiated| negotiated.families.contains(&family))
        {
            self.sent.update += 1;
            Self::send(id, message::end_of_rib(family), Lane::Routes, out);
        }
    }

    fn request_refresh(&mut self, family: Family, out: &mut Outbox<PeerAction>) {
        let Some(connection) = self.established(self.epoch) else {
            return;
        };
        let id = connection.id;
        let answers = connection.negotiated().is_some_and(|negotiated| {
            negotiated.route_refresh && negotiated.families.contains(&family)
        });
        if answers {
            self.sent.route_refresh += 1;
            let bytes = message::route_refresh(family, RefreshSubtype::Normal);
            Self::send(id, bytes, Lane::Control, out);
        }
    }

    /// The Established connection, if `epoch` names its life.
    fn established(&self, epoch: Epoch) -> Option<&Connection> {
        self.connections.iter().find(|connection| {
            epoch == self.epoch && matches!(connection.phase, Phase::Established(_))
        })
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections
            .iter_mut()
            .find(|connection| connection.id == id)
    }

    fn current_state(&self) -> SessionState {
        let furthest = self.connections.iter().map(Connection::state).max();
        furthest.unwrap_or_else(|| match self.admin {
            Admin::Stopped => SessionState::Idle,
            Admin::Running if self.dialer.is_dialing() => SessionState::Connect,
            Admin::Running => SessionState::Active,
        })
    }

    fn send(connection: ConnectionId, bytes: Bytes, lane: Lane, out: &mut Outbox<PeerAction>) {
        out.push(PeerAction::Send {
            connection,
            bytes,
            lane,
        });
    }

    fn flush(families: Vec<Family>, out: &mut Outbox<PeerAction>) {
        if !families.is_empty() {
            out.push(PeerAction::FlushStale { families });
        }
    }

    /// Closes a connection so that the peer does not keep our routes either (RFC 8538 section 3).
    fn end_hard(
        &mut self,
        now: Instant,
        id: ConnectionId,
        message: NotificationMessage,
        out: &mut Outbox<PeerAction>,
    ) {
        let understood = self
            .connection_mut(id)
            .and_then(|connection| connection.negotiated())
            .and_then(|negotiated| negotiated.graceful_restart.as_ref())
            .is_some_and(|restart| restart.notification);
        let message = if understood {
            notification::hard_reset(&message)
        } else {
            message
        };
        self.end(now, id, DownReason::Sent(message), out);
    }
}

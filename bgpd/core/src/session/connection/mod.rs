//! One TCP connection to the peer: the part of the state machine from OpenSent on.
//!
//! RFC 4271 section 8.2.1 gives every connection its own state machine. The states before a connection exists (Idle,
//! Connect, Active) belong to the peer, which also decides when a connection may go on: a phase only tells what a
//! message or a timer means ([`Outcome`], [`Due`]).
//!
//! ```text
//!             OPEN                 answer            KEEPALIVE
//!  OpenSent ───────▶ OpenConfirm ─────────▶ OpenConfirm ───────▶ Established
//!                    (contested)            (answered)
//! ```

mod established;
mod liveness;
mod open_confirm;
mod open_sent;

use std::net::IpAddr;
use std::sync::Arc;

use bgp_wire::{
    DecodeContext, Family, Message, NotificationMessage, RefreshSubtype, UpdateMessage,
};
use bytes::Bytes;

pub(super) use established::Established;
pub(super) use open_confirm::OpenConfirm;
pub(super) use open_sent::OpenSent;

use super::negotiation::{Negotiated, Offer};
use super::random::SplitMix64;
use super::status::SessionState;
use crate::{ConnectionId, Instant};

/// A TCP connection that is up, and the phase of its session.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: ConnectionId,
    pub(super) origin: Origin,
    pub(super) local_address: IpAddr,
    pub(super) phase: Phase,
    /// Since when the socket has taken nothing although bytes wait.
    blocked_since: Option<Instant>,
}

/// Who opened a connection.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Origin {
    Dialed,
    Accepted,
}

/// The state, and what exists in it.
#[derive(Debug)]
pub(super) enum Phase {
    OpenSent(OpenSent),
    OpenConfirm(OpenConfirm),
    Established(Established),
}

/// What a message means to the peer.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are updates, and a box for each would cost more than the room"
)]
pub(super) enum Outcome {
    /// Nothing beyond the connection's own timers.
    Nothing,
    /// A good OPEN.
    Opened(Box<Negotiated>),
    /// The KEEPALIVE that makes the session Established.
    Confirmed,
    Update(UpdateMessage),
    EndOfRib(Family),
    Refresh {
        family: Family,
        subtype: RefreshSubtype,
    },
    /// The connection must close with this NOTIFICATION.
    Refused(NotificationMessage),
    /// The peer closed the connection with this NOTIFICATION.
    Ended(NotificationMessage),
}

/// What a connection's timers ask for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Due {
    Nothing,
    /// Send the periodic KEEPALIVE.
    Keepalive,
    /// The rival had its time: answer the OPEN.
    Answer,
    HoldExpired,
    SendHoldExpired,
}

impl Connection {
    pub(super) fn new(
        now: Instant,
        id: ConnectionId,
        origin: Origin,
        local_address: IpAddr,
        offer: Offer,
    ) -> Self {
        let phase = Phase::OpenSent(OpenSent::new(now, offer));
        Self {
            id,
            origin,
            local_address,
            phase,
            blocked_since: None,
        }
    }

    pub(super) const fn state(&self) -> SessionState {
        match self.phase {
            Phase::OpenSent(_) => SessionState::OpenSent,
            Phase::OpenConfirm(_) => SessionState::OpenConfirm,
            Phase::Established(_) => SessionState::Established,
        }
    }

    /// Reads one message.
    pub(super) fn receive(&mut self, now: Instant, frame: &Bytes) -> Outcome {
        match self.decode(frame) {
            Ok(message) => match &mut self.phase {
                Phase::OpenSent(phase) => phase.receive(message),
                Phase::OpenConfirm(phase) => phase.receive(now, message),
                Phase::Established(phase) => phase.receive(now, message),
            },
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// What the state does not expect is not even looked into (RFC 6608); the rest is decoded as agreed on.
    fn decode(&self, frame: &Bytes) -> Result<Message, NotificationMessage> {
        use super::message::{KEEPALIVE, OPEN, ROUTE_REFRESH, UPDATE, kind};
        match (&self.phase, kind(frame)) {
            (Phase::OpenSent(_), UPDATE | KEEPALIVE | ROUTE_REFRESH) => Err(OpenSent::unexpected()),
            (Phase::OpenConfirm(_), OPEN | UPDATE | ROUTE_REFRESH) => {
                Err(OpenConfirm::unexpected())
            }
            (Phase::Established(_), OPEN) => Err(Established::unexpected()),
            (Phase::OpenSent(_), _) => bgp_wire::decode(frame, &DecodeContext::default()),
            (Phase::OpenConfirm(phase), _) => bgp_wire::decode(frame, &phase.negotiated.decode),
            (Phase::Established(phase), _) => bgp_wire::decode(frame, &phase.negotiated.decode),
        }
    }

    /// The peer's OPEN was good.
    pub(super) fn open_confirm(&mut self, now: Instant, negotiated: Negotiated) {
        self.phase = Phase::OpenConfirm(OpenConfirm::new(now, Arc::new(negotiated)));
    }

    /// The peer's KEEPALIVE is here. Returns what was negotiated, or `None` when the OPEN is not.
    pub(super) fn establish(&mut self, now: Instant) -> Option<Arc<Negotiated>> {
        let Phase::OpenConfirm(confirmed) = &self.phase else {
            return None;
        };
        let established = Established::new(now, confirmed);
        let negotiated = Arc::clone(&established.negotiated);
        self.phase = Phase::Established(established);
        Some(negotiated)
    }

    /// A KEEPALIVE goes out now.
    pub(super) fn keepalive_sent(&mut self, now: Instant, random: &mut SplitMix64) {
        match &mut self.phase {
            Phase::OpenSent(_) => {}
            Phase::OpenConfirm(phase) => phase.liveness.keepalive_sent(now, random),
            Phase::Established(phase) => phase.liveness.keepalive_sent(now, random),
        }
    }

    pub(super) const fn negotiated(&self) -> Option<&Arc<Negotiated>> {
        match &self.phase {
            Phase::OpenSent(_) => None,
            Phase::OpenConfirm(phase) => Some(&phase.negotiated),
            Phase::Established(phase) => Some(&phase.negotiated),
        }
    }

    /// True when our KEEPALIVE has answered the peer's OPEN.
    pub(super) const fn is_answered(&self) -> bool {
        match &self.phase {
            Phase::OpenSent(_) => false,
            Phase::OpenConfirm(phase) => phase.is_answered(),
            Phase::Established(_) => true,
        }
    }

    /// Another KEEPALIVE interval was configured.
    pub(super) fn set_keepalive(
        &mut self,
        now: Instant,
        configured: Option<std::time::Duration>,
        random: &mut SplitMix64,
    ) {
        let (negotiated, liveness) = match &mut self.phase {
            Phase::OpenSent(phase) => {
                phase.offer.settings.keepalive = configured;
                return;
            }
            Phase::OpenConfirm(phase) => (&mut phase.negotiated, &mut phase.liveness),
            Phase::Established(phase) => (&mut phase.negotiated, &mut phase.liveness),
        };
        let interval = Negotiated::keepalive_interval(negotiated.hold_time, configured);
        Arc::make_mut(negotiated).keepalive = interval;
        liveness.set_interval(now, interval, random);
    }

    pub(super) fn send_pending(&mut self, now: Instant) {
        self.blocked_since.get_or_insert(now);
    }

    pub(super) const fn send_progress(&mut self) {
        self.blocked_since = None;
    }

    pub(super) fn due(&self, now: Instant) -> Due {
        match &self.phase {
            Phase::OpenSent(phase) if phase.next_deadline() <= now => Due::HoldExpired,
            Phase::OpenSent(_) => Due::Nothing,
            Phase::OpenConfirm(phase) => phase.due(now),
            Phase::Established(phase) => phase.due(now, self.blocked_since),
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::OpenSent(phase) => Some(phase.next_deadline()),
            Phase::OpenConfirm(phase) => phase.next_deadline(),
            Phase::Established(phase) => phase.next_deadline(self.blocked_since),
        }
    }
}

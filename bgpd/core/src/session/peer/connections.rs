//! What TCP and the peer do: connections come, speak and go.

use std::net::IpAddr;

use bgp_wire::{Family, NotificationMessage};
use bytes::Bytes;

use super::collision::{self, Identities, Verdict};
use super::{Admin, Peer};
use crate::session::action::{DownReason, Lane, PeerAction};
use crate::session::connection::{Connection, Origin, Outcome, Phase};
use crate::session::message;
use crate::session::negotiation::{Negotiated, Offer, OpenForm};
use crate::session::notification;
use crate::session::settings::ConnectMode;
use crate::session::status::LastDown;
use crate::{ConnectionId, Epoch, Instant, Outbox};

impl Peer {
    /// True while a connection that we dial could still become the session.
    pub(super) fn may_use_dial(&self) -> bool {
        !self
            .connections
            .iter()
            .any(|connection| connection.origin == Origin::Dialed || connection.is_answered())
    }

    pub(super) fn dialed(
        &mut self,
        now: Instant,
        id: ConnectionId,
        local_address: IpAddr,
        out: &mut Outbox<PeerAction>,
    ) {
        // A dial that was cancelled may succeed all the same; without our OPEN the peer cannot mistake it for more.
        let wanted = self.admin == Admin::Running
            && self.settings.connect == ConnectMode::Active
            && self.may_use_dial();
        if wanted {
            self.dialer.dialed();
            self.open(now, id, Origin::Dialed, local_address, out);
        } else {
            out.push(PeerAction::Close { connection: id });
        }
    }

    pub(super) fn accepted(
        &mut self,
        now: Instant,
        id: ConnectionId,
        local_address: IpAddr,
        out: &mut Outbox<PeerAction>,
    ) {
        if self.admin == Admin::Stopped {
            // RFC 4271 section 8.2.2, Idle: refuse all incoming connections.
            out.push(PeerAction::Close { connection: id });
            return;
        }
        // A speaker dials once at a time: its earlier connection is dead at its end, unless it is the session.
        let superseded = self.connections.iter().find(|connection| {
            connection.origin == Origin::Accepted
                && !matches!(connection.phase, Phase::Established(_))
        });
        if let Some(superseded) = superseded.map(|connection| connection.id) {
            self.end(
                now,
                superseded,
                DownReason::Sent(notification::collision()),
                out,
            );
        }
        self.open(now, id, Origin::Accepted, local_address, out);
    }

    fn open(
        &mut self,
        now: Instant,
        id: ConnectionId,
        origin: Origin,
        local_address: IpAddr,
        out: &mut Outbox<PeerAction>,
    ) {
        // Once the session was up, forwarding has gone on ever since: a later loss is no restart of ours.
        let forwarding_preserved = self.restarting || self.epoch != Epoch(0);
        let offer = Offer::new(
            &self.settings,
            self.open_form,
            self.restarting,
            forwarding_preserved,
        );
        self.sent.open += 1;
        Self::send(id, message::open(&offer.open), Lane::Control, out);
        self.connections
            .push(Connection::new(now, id, origin, local_address, offer));
    }

    pub(super) fn receive(
        &mut self,
        now: Instant,
        id: ConnectionId,
        frame: &Bytes,
        out: &mut Outbox<PeerAction>,
    ) {
        let Some(connection) = self.connection_mut(id) else {
            return;
        };
        let outcome = connection.receive(now, frame);
        self.received.count(frame);
        let epoch = self.epoch;
        match outcome {
            Outcome::Nothing => {}
            Outcome::Opened(negotiated) => self.opened(now, id, *negotiated, out),
            Outcome::Confirmed => self.establish(now, id, out),
            Outcome::Update(update) => out.push(PeerAction::Update { epoch, update }),
            Outcome::EndOfRib(family) => {
                self.stale.end_of_rib(family);
                out.push(PeerAction::EndOfRib { epoch, family });
            }
            Outcome::Refresh { family, subtype } => {
                out.push(PeerAction::Refresh {
                    epoch,
                    family,
                    subtype,
                });
            }
            Outcome::Refused(message) => self.end(now, id, DownReason::Sent(message), out),
            Outcome::Ended(message) => {
                self.remember_plain_peer(id, &message);
                self.end(now, id, DownReason::Received(message), out);
            }
        }
    }

    /// A good OPEN arrived: may its connection go on beside the other one?
    fn opened(
        &mut self,
        now: Instant,
        id: ConnectionId,
        negotiated: Negotiated,
        out: &mut Outbox<PeerAction>,
    ) {
        let identities = Identities {
            local: (self.settings.router_id, self.settings.local_asn),
            remote: (negotiated.remote_router_id, self.settings.remote_asn),
        };
        let (mut verdict, mut rival) = (Verdict::Win, None);
        if let Some(connection) = self
            .connections
            .iter()
            .find(|connection| connection.id == id)
            && let Some(other) = self
                .connections
                .iter()
                .find(|connection| connection.id != id)
        {
            verdict = collision::judge(connection.origin, other, identities);
            rival = Some(other.id);
        }
        match (verdict, rival) {
            (Verdict::Lose, _) => {
                return self.end(now, id, DownReason::Sent(notification::collision()), out);
            }
            (Verdict::Win, Some(rival)) => {
                self.end(now, rival, DownReason::Sent(notification::collision()), out);
            }
            (Verdict::ReplaceEstablished, Some(rival)) => {
                self.end(now, rival, DownReason::PeerRestarted, out);
            }
            // Without a rival `settle` answers at once, otherwise when the contest is over.
            (Verdict::Contested, _) | (_, None) => {}
        }
        if let Some(connection) = self.connection_mut(id) {
            connection.open_confirm(now, negotiated);
        }
    }

    /// Answers the peer's OPEN. From here on the peer may become Established on this connection.
    pub(super) fn answer(&mut self, now: Instant, id: ConnectionId, out: &mut Outbox<PeerAction>) {
        let random = &mut self.random;
        let Some(connection) = self
            .connections
            .iter_mut()
            .find(|connection| connection.id == id)
        else {
            return;
        };
        let Phase::OpenConfirm(phase) = &mut connection.phase else {
            return;
        };
        if phase.negotiated.extended_messages {
            out.push(PeerAction::AllowExtended { connection: id });
        }
        self.sent.keepalive += 1;
        Self::send(id, message::keepalive(), Lane::Control, out);
        if let Outcome::Confirmed = phase.answer(now, random) {
            self.establish(now, id, out);
        }
    }

    pub(super) fn send_keepalive(
        &mut self,
        now: Instant,
        id: ConnectionId,
        out: &mut Outbox<PeerAction>,
    ) {
        let random = &mut self.random;
        if let Some(connection) = self
            .connections
            .iter_mut()
            .find(|connection| connection.id == id)
        {
            connection.keepalive_sent(now, random);
            self.sent.keepalive += 1;
            Self::send(id, message::keepalive(), Lane::Control, out);
        }
    }

    fn establish(&mut self, now: Instant, id: ConnectionId, out: &mut Outbox<PeerAction>) {
        // RFC 4271 section 6.8: an Established session ends every contest.
        let rivals: Vec<_> = self
            .connections
            .iter()
            .map(|connection| connection.id)
            .collect();
        for rival in rivals.into_iter().filter(|&rival| rival != id) {
            self.end(now, rival, DownReason::Sent(notification::collision()), out);
        }
        let Some(connection) = self.connection_mut(id) else {
            return;
        };
        let local_address = connection.local_address;
        let Some(negotiated) = connection.establish(now) else {
            return;
        };

        self.epoch = Epoch(self.epoch.0 + 1);
        self.last_failure = None;
        self.dialer.succeeded();
        let max_stale_time = self
            .settings
            .graceful_restart
            .unwrap_or_default()
            .max_stale_time;
        Self::flush(self.stale.session_up(now, &negotiated, max_stale_time), out);
        let epoch = self.epoch;
        out.push(PeerAction::Up {
            epoch,
            connection: id,
            local_address,
            negotiated,
        });
    }

    /// Ends a connection, whatever phase it is in. Does nothing when it is gone already.
    pub(super) fn end(
        &mut self,
        now: Instant,
        id: ConnectionId,
        reason: DownReason,
        out: &mut Outbox<PeerAction>,
    ) {
        let Some(index) = self
            .connections
            .iter()
            .position(|connection| connection.id == id)
        else {
            return;
        };
        let connection = self.connections.remove(index);
        self.take_leave(&connection, &reason, out);

        let Phase::Established(phase) = connection.phase else {
            // Losing a collision is how it should be, not a failure.
            if reason != DownReason::Sent(notification::collision()) {
                self.dialer.ended(&reason, None);
                self.last_failure = Some(LastDown::new(now, &reason));
            }
            return;
        };
        let keep = retained(&phase.negotiated, &reason);
        let restart_time = phase.negotiated.restart_time();
        self.stale.session_lost(now, &keep, restart_time);
        self.dialer
            .ended(&reason, Some(now.saturating_since(phase.since)));
        self.last_down = Some(LastDown::new(now, &reason));
        self.open_form = OpenForm::WithCapabilities;
        self.flaps += 1;
        out.push(PeerAction::Down {
            epoch: self.epoch,
            reason,
            keep,
        });
    }

    /// Tells the peer, when it is to be told, and closes TCP, when it is still there.
    fn take_leave(
        &mut self,
        connection: &Connection,
        reason: &DownReason,
        out: &mut Outbox<PeerAction>,
    ) {
        let id = connection.id;
        let restarts_gracefully = connection
            .negotiated()
            .is_some_and(|negotiated| negotiated.graceful_restart.is_some());
        let farewell = match reason {
            DownReason::Sent(message) => Some(message.clone()),
            // Silence keeps nothing where graceful restart was not agreed on; then the peer may as well know.
            DownReason::PlannedRestart if !restarts_gracefully => {
                Some(notification::admin_reset("restart"))
            }
            DownReason::PlannedRestart
            | DownReason::PeerRestarted
            | DownReason::Received(_)
            | DownReason::Lost { .. } => None,
        };
        if let Some(farewell) = farewell {
            self.sent.notification += 1;
            Self::send(id, message::notification(&farewell), Lane::Control, out);
        }
        if !matches!(reason, DownReason::Lost { .. }) {
            out.push(PeerAction::Close { connection: id });
        }
    }

    /// RFC 5492 section 3: a peer that does not know the Capabilities parameter refuses it with 2/4; try without.
    fn remember_plain_peer(&mut self, id: ConnectionId, message: &NotificationMessage) {
        let in_open_sent = self
            .connection_mut(id)
            .is_some_and(|connection| matches!(connection.phase, Phase::OpenSent(_)));
        let may_do_without = self.settings.families.contains(&Family::IPV4_UNICAST);
        if in_open_sent && notification::is_unsupported_parameter(message) && may_do_without {
            self.open_form = OpenForm::Plain;
        }
    }
}

/// The families whose routes stay when a session ends for `reason` (RFC 4724 section 4.2, RFC 8538 section 3).
fn retained(negotiated: &Negotiated, reason: &DownReason) -> Vec<Family> {
    let graceful = negotiated.graceful_restart.as_ref();
    let keeps = match reason {
        // We go and our forwarding stays: nothing is to be withdrawn on our way out.
        DownReason::PlannedRestart => return negotiated.families.clone(),
        DownReason::Lost { .. } | DownReason::PeerRestarted => true,
        DownReason::Sent(message) | DownReason::Received(message) => {
            graceful.is_some_and(|restart| restart.notification)
                && !notification::is_hard_reset(message)
        }
    };
    match graceful {
        Some(restart) if keeps && !restart.restart_time.is_zero() => restart
            .families
            .iter()
            .map(|listed| listed.family)
            .collect(),
        Some(_) | None => Vec::new(),
    }
}

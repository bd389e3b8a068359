//! What the operator does: start, stop, reset, configure.

use super::{Admin, Peer};
use crate::session::action::{DownReason, PeerAction};
use crate::session::event::StopReason;
use crate::session::negotiation::OpenForm;
use crate::session::notification;
use crate::session::settings::{ChangeCost, PeerSettings};
use crate::{ConnectionId, Instant, Outbox};

impl Peer {
    pub(super) fn start(&mut self) {
        if self.admin == Admin::Stopped {
            self.admin = Admin::Running;
            self.open_form = OpenForm::WithCapabilities;
            self.dialer.forget();
        }
    }

    pub(super) fn stop(&mut self, now: Instant, reason: StopReason, out: &mut Outbox<PeerAction>) {
        self.admin = Admin::Stopped;
        for id in self.connection_ids() {
            match &reason {
                StopReason::AdminShutdown { text } => {
                    self.end_hard(now, id, notification::admin_shutdown(text), out);
                }
                StopReason::Deconfigured => {
                    self.end_hard(now, id, notification::deconfigured(), out);
                }
                StopReason::Restart => self.end(now, id, DownReason::PlannedRestart, out),
            }
        }
        let stale = self.stale.flush();
        if reason != StopReason::Restart {
            Self::flush(stale, out);
        }
    }

    pub(super) fn reset(&mut self, now: Instant, text: &str, out: &mut Outbox<PeerAction>) {
        for id in self.connection_ids() {
            self.end_hard(now, id, notification::admin_reset(text), out);
        }
        Self::flush(self.stale.flush(), out);
        self.dialer.forget();
    }

    pub(super) fn configure(
        &mut self,
        now: Instant,
        settings: PeerSettings,
        out: &mut Outbox<PeerAction>,
    ) {
        let cost = self.settings.change_cost(&settings);
        let old = std::mem::replace(&mut self.settings, settings);
        if cost < ChangeCost::SessionReset {
            if old.keepalive != self.settings.keepalive {
                for connection in &mut self.connections {
                    connection.set_keepalive(now, self.settings.keepalive, &mut self.random);
                }
            }
            return;
        }
        // Routes outlive the reset where both sides keep them over a NOTIFICATION (RFC 8538), and it is still the
        // same neighbour that they came from.
        let keeps_routes = old.remote_asn == self.settings.remote_asn
            && old.local_asn == self.settings.local_asn
            && self.settings.graceful_restart.is_some();
        for id in self.connection_ids() {
            let message = notification::configuration_changed();
            if keeps_routes {
                self.end(now, id, DownReason::Sent(message), out);
            } else {
                self.end_hard(now, id, message, out);
            }
        }
        if !keeps_routes {
            Self::flush(self.stale.flush(), out);
        }
        self.open_form = OpenForm::WithCapabilities;
        self.dialer.forget();
    }

    fn connection_ids(&self) -> Vec<ConnectionId> {
        self.connections
            .iter()
            .map(|connection| connection.id)
            .collect()
    }
}

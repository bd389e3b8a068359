//! Established: routes flow.
//!
//! RFC 4271 section 8.2.2 (Established), RFC 2918 and RFC 7313 (ROUTE-REFRESH), RFC 6608 (5/3), RFC 9687 (send hold
//! timer).

use std::sync::Arc;
use std::time::Duration;

use bgp_wire::{Message, NotificationMessage, RefreshSubtype};

use super::super::negotiation::Negotiated;
use super::super::notification;
use super::liveness::Liveness;
use super::open_confirm::OpenConfirm;
use super::{Due, Outcome};
use crate::Instant;

/// What exists while the session is up.
#[derive(Debug)]
pub(crate) struct Established {
    pub(crate) negotiated: Arc<Negotiated>,
    pub(crate) since: Instant,
    pub(super) liveness: Liveness,
}

impl Established {
    /// The timers move along with the connection.
    pub(super) fn new(now: Instant, confirmed: &OpenConfirm) -> Self {
        let negotiated = Arc::clone(&confirmed.negotiated);
        Self {
            negotiated,
            since: now,
            liveness: confirmed.liveness.clone(),
        }
    }

    pub(super) fn receive(&mut self, now: Instant, message: Message) -> Outcome {
        self.liveness.heard(now);
        match message {
            Message::Keepalive => Outcome::Nothing,
            Message::Update(update) => match update.end_of_rib {
                Some(family) if self.negotiated.families.contains(&family) => {
                    Outcome::EndOfRib(family)
                }
                Some(_) => Outcome::Nothing,
                None => Outcome::Update(update),
            },
            Message::RouteRefresh(refresh)
                if self.negotiated.families.contains(&refresh.family) =>
            {
                let family = refresh.family;
                // RFC 7313 section 3.2: without the capability the octet is reserved, and ignored.
                if self.negotiated.enhanced_refresh {
                    Outcome::Refresh {
                        family,
                        subtype: refresh.subtype,
                    }
                } else {
                    Outcome::Refresh {
                        family,
                        subtype: RefreshSubtype::Normal,
                    }
                }
            }
            // RFC 2918 section 4: a family that was not agreed on is ignored.
            Message::RouteRefresh(_) => Outcome::Nothing,
            Message::Notification(message) => Outcome::Ended(message),
            Message::Open(_) => Outcome::Refused(Self::unexpected()),
        }
    }

    /// A second OPEN.
    pub(super) fn unexpected() -> NotificationMessage {
        notification::unexpected_in_established()
    }

    pub(super) fn due(&self, now: Instant, blocked_since: Option<Instant>) -> Due {
        if self.liveness.is_expired(now) {
            Due::HoldExpired
        } else if self
            .send_hold(blocked_since)
            .is_some_and(|until| until <= now)
        {
            Due::SendHoldExpired
        } else if self.liveness.is_keepalive_due(now) {
            Due::Keepalive
        } else {
            Due::Nothing
        }
    }

    pub(super) fn next_deadline(&self, blocked_since: Option<Instant>) -> Option<Instant> {
        self.liveness
            .next_deadline()
            .into_iter()
            .chain(self.send_hold(blocked_since))
            .min()
    }

    /// RFC 9687 section 3.2: the greater of 8 minutes and twice the hold time; none without a hold time.
    fn send_hold(&self, blocked_since: Option<Instant>) -> Option<Instant> {
        let hold_time = self.negotiated.hold_time.duration()?;
        Some(blocked_since? + LEAST_SEND_HOLD_TIME.max(hold_time * 2))
    }
}

const LEAST_SEND_HOLD_TIME: Duration = Duration::from_secs(8 * 60);

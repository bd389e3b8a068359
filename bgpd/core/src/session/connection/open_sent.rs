//! OpenSent: our OPEN is on the wire and we wait for the peer's.
//!
//! RFC 4271 section 8.2.2 (OpenSent), RFC 5492 (capabilities), RFC 6286 (identifiers), RFC 6608 (5/1).

use std::time::Duration;

use bgp_wire::{Message, NotificationMessage};

use super::super::negotiation::Offer;
use super::super::notification;
use super::Outcome;
use crate::Instant;

/// What exists while the peer's OPEN is awaited.
#[derive(Debug)]
pub(crate) struct OpenSent {
    /// What our OPEN said.
    pub(crate) offer: Box<Offer>,
    hold: Instant,
}

impl OpenSent {
    pub(super) fn new(now: Instant, offer: Offer) -> Self {
        Self {
            offer: Box::new(offer),
            hold: now + LARGE_HOLD_TIME,
        }
    }

    pub(super) fn receive(&self, message: Message) -> Outcome {
        match message {
            Message::Open(open) => match self.offer.negotiate(&open) {
                Ok(negotiated) => Outcome::Opened(Box::new(negotiated)),
                Err(refusal) => Outcome::Refused(refusal),
            },
            Message::Notification(message) => Outcome::Ended(message),
            Message::Keepalive | Message::Update(_) | Message::RouteRefresh(_) => {
                Outcome::Refused(Self::unexpected())
            }
        }
    }

    /// Any message but OPEN and NOTIFICATION.
    pub(super) fn unexpected() -> NotificationMessage {
        notification::unexpected_in_open_sent()
    }

    pub(super) const fn next_deadline(&self) -> Instant {
        self.hold
    }
}

/// RFC 4271 section 8.2.2 suggests 4 minutes until the peer's OPEN must be here.
const LARGE_HOLD_TIME: Duration = Duration::from_secs(240);

//! OpenConfirm: both OPENs agree and we wait for the peer's KEEPALIVE.
//!
//! RFC 4271 section 8.2.2 (OpenConfirm), section 6.8 (collisions), RFC 6608 (5/2).
//!
//! A connection that would lose a collision starts here contested: it withholds its KEEPALIVE, so that the peer cannot
//! become Established on it, until its rival is gone or has been silent for too long.

use std::sync::Arc;
use std::time::Duration;

use bgp_wire::{Message, NotificationMessage};

use super::super::negotiation::Negotiated;
use super::super::notification;
use super::super::random::SplitMix64;
use super::liveness::Liveness;
use super::{Due, Outcome};
use crate::Instant;

/// What exists while the peer's KEEPALIVE is awaited.
#[derive(Debug)]
pub(crate) struct OpenConfirm {
    pub(crate) negotiated: Arc<Negotiated>,
    pub(super) liveness: Liveness,
    answer: Answer,
}

/// Whether a KEEPALIVE has answered the peer's OPEN.
#[derive(Debug)]
enum Answer {
    Withheld {
        until: Instant,
        keepalive_seen: bool,
    },
    Given,
}

impl OpenConfirm {
    /// The peer's OPEN was good; the KEEPALIVE is withheld until [`Self::answer`].
    pub(super) fn new(now: Instant, negotiated: Arc<Negotiated>) -> Self {
        let liveness = Liveness::new(now, &negotiated);
        let answer = Answer::Withheld {
            until: now + CONTEST_TIME,
            keepalive_seen: false,
        };
        Self {
            negotiated,
            liveness,
            answer,
        }
    }

    /// True once the KEEPALIVE is out.
    pub(crate) const fn is_answered(&self) -> bool {
        matches!(self.answer, Answer::Given)
    }

    /// The KEEPALIVE goes out now. Returns [`Outcome::Confirmed`] when the peer's is here already.
    pub(crate) fn answer(&mut self, now: Instant, random: &mut SplitMix64) -> Outcome {
        self.liveness.keepalive_sent(now, random);
        match std::mem::replace(&mut self.answer, Answer::Given) {
            Answer::Withheld {
                keepalive_seen: true,
                ..
            } => Outcome::Confirmed,
            Answer::Withheld {
                keepalive_seen: false,
                ..
            }
            | Answer::Given => Outcome::Nothing,
        }
    }

    pub(super) fn receive(&mut self, now: Instant, message: Message) -> Outcome {
        match message {
            Message::Keepalive => {
                self.liveness.heard(now);
                match &mut self.answer {
                    Answer::Given => Outcome::Confirmed,
                    Answer::Withheld { keepalive_seen, .. } => {
                        *keepalive_seen = true;
                        Outcome::Nothing
                    }
                }
            }
            Message::Notification(message) => Outcome::Ended(message),
            Message::Open(_) | Message::Update(_) | Message::RouteRefresh(_) => {
                Outcome::Refused(Self::unexpected())
            }
        }
    }

    /// Any message but KEEPALIVE and NOTIFICATION.
    pub(super) fn unexpected() -> NotificationMessage {
        notification::unexpected_in_open_confirm()
    }

    pub(super) fn due(&self, now: Instant) -> Due {
        if self.liveness.is_expired(now) {
            return Due::HoldExpired;
        }
        match self.answer {
            Answer::Withheld { until, .. } if until <= now => Due::Answer,
            Answer::Given if self.liveness.is_keepalive_due(now) => Due::Keepalive,
            Answer::Withheld { .. } | Answer::Given => Due::Nothing,
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let contest = match self.answer {
            Answer::Withheld { until, .. } => Some(until),
            Answer::Given => None,
        };
        self.liveness
            .next_deadline()
            .into_iter()
            .chain(contest)
            .min()
    }
}

/// How long the rival may take to show its OPEN: a few round trips, and less than the shortest hold time.
const CONTEST_TIME: Duration = Duration::from_secs(2);

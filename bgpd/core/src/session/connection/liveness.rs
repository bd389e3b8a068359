//! The hold timer and the KEEPALIVE timer of one connection (RFC 4271 sections 4.4, 6.5 and 10).

use std::time::Duration;

use super::super::negotiation::Negotiated;
use super::super::random::SplitMix64;
use crate::Instant;

/// Both timers; neither runs when the negotiated hold time is zero.
#[derive(Clone, Debug)]
pub(crate) struct Liveness {
    hold_time: Option<Duration>,
    hold: Option<Instant>,
    interval: Option<Duration>,
    keepalive: Option<Instant>,
}

impl Liveness {
    /// Starts the hold timer. The KEEPALIVE timer starts with the first KEEPALIVE.
    pub(super) fn new(now: Instant, negotiated: &Negotiated) -> Self {
        let hold_time = negotiated.hold_time.duration();
        Self {
            hold_time,
            hold: hold_time.map(|time| now + time),
            interval: negotiated.keepalive,
            keepalive: None,
        }
    }

    /// Any message proves that the peer lives.
    pub(super) fn heard(&mut self, now: Instant) {
        self.hold = self.hold_time.map(|time| now + time);
    }

    /// A KEEPALIVE goes out now.
    pub(super) fn keepalive_sent(&mut self, now: Instant, random: &mut SplitMix64) {
        self.keepalive = self.interval.map(|interval| now + random.jitter(interval));
    }

    /// Another interval, from now on.
    pub(super) fn set_interval(
        &mut self,
        now: Instant,
        interval: Option<Duration>,
        random: &mut SplitMix64,
    ) {
        self.interval = interval;
        if self.keepalive.is_some() {
            self.keepalive_sent(now, random);
        }
    }

    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.hold.is_some_and(|hold| hold <= now)
    }

    pub(super) fn is_keepalive_due(&self, now: Instant) -> bool {
        self.keepalive.is_some_and(|keepalive| keepalive <= now)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.hold.into_iter().chain(self.keepalive).min()
    }
}

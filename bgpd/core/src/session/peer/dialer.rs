//! When to dial: the ConnectRetryTimer, and the damping of a peer that keeps failing.
//!
//! RFC 4271 sections 8.1.3 (DampPeerOscillations), 8.2.2 (Connect, Active) and 10 (ConnectRetryTimer). Where the RFC
//! waits in Idle and refuses the peer's connections meanwhile, we wait in Active: a peer whose fault is mended may
//! come in at once.

use std::time::Duration;

use super::super::action::{DownReason, PeerAction};
use super::super::notification;
use super::super::random::SplitMix64;
use super::super::settings::PeerSettings;
use crate::{Instant, Outbox};

/// The one dial that we may have.
#[derive(Debug)]
pub(super) struct Dialer {
    state: DialState,
    pause: Pause,
    /// Attempts in a row that led nowhere, without anyone being at fault.
    failures: u32,
    /// Sessions and attempts in a row that ended with an error.
    errors: u32,
}

#[derive(Debug)]
enum DialState {
    /// Not wanted: stopped, passive, or a connection is there.
    Off,
    /// Active: the ConnectRetryTimer runs.
    Waiting { at: Instant },
    /// Connect: TCP is being set up; given up and begun again at `until`.
    Dialing { until: Instant },
}

/// How long to wait before the next dial.
#[derive(Copy, Clone, Debug)]
enum Pause {
    /// As soon as the spread of many sessions allows.
    AtOnce,
    /// About a second: something ended that worked.
    Soon,
    /// The connect-retry time.
    Retry,
    /// The connect-retry time, doubled with every error in a row.
    Damped,
}

impl Dialer {
    pub(super) const fn new() -> Self {
        Self {
            state: DialState::Off,
            pause: Pause::AtOnce,
            failures: 0,
            errors: 0,
        }
    }

    pub(super) const fn is_dialing(&self) -> bool {
        matches!(self.state, DialState::Dialing { .. })
    }

    /// When the next dial begins.
    pub(super) const fn next_dial(&self) -> Option<Instant> {
        match self.state {
            DialState::Waiting { at } => Some(at),
            DialState::Off | DialState::Dialing { .. } => None,
        }
    }

    pub(super) const fn next_deadline(&self) -> Option<Instant> {
        match self.state {
            DialState::Off => None,
            DialState::Waiting { at } => Some(at),
            DialState::Dialing { until } => Some(until),
        }
    }

    /// Forgets the past: the operator started or changed the session.
    pub(super) fn forget(&mut self) {
        self.pause = Pause::AtOnce;
        self.failures = 0;
        self.errors = 0;
        if matches!(self.state, DialState::Waiting { .. }) {
            self.state = DialState::Off;
        }
    }

    /// The session is Established.
    pub(super) const fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// The dial led to a connection.
    pub(super) const fn dialed(&mut self) {
        self.state = DialState::Off;
    }

    /// The dial led nowhere. False when none ran.
    pub(super) const fn dial_failed(&mut self) -> bool {
        if !self.is_dialing() {
            return false;
        }
        self.state = DialState::Off;
        self.count_failure();
        true
    }

    /// A connection ended; `lived` is how long it was Established, if it was.
    pub(super) fn ended(&mut self, reason: &DownReason, lived: Option<Duration>) {
        if lived.is_some_and(|lived| lived >= STABLE_AFTER) {
            self.failures = 0;
            self.errors = 0;
        }
        match reason {
            DownReason::Sent(message) | DownReason::Received(message)
                if notification::is_error(message) =>
            {
                self.errors = self.errors.saturating_add(1);
                self.pause = Pause::Damped;
            }
            DownReason::Sent(_) | DownReason::Received(_) | DownReason::Lost { .. } => {
                self.count_failure();
            }
            DownReason::PeerRestarted | DownReason::PlannedRestart => self.pause = Pause::Soon,
        }
    }

    /// Starts or ends dialling, as `wanted` says. Called at the end of every event.
    pub(super) fn settle(
        &mut self,
        now: Instant,
        wanted: bool,
        settings: &PeerSettings,
        random: &mut SplitMix64,
        out: &mut Outbox<PeerAction>,
    ) {
        match (wanted, &self.state) {
            (true, DialState::Off) => {
                let at = now + self.delay(settings, random);
                self.state = DialState::Waiting { at };
            }
            (false, DialState::Waiting { .. }) => self.state = DialState::Off,
            (false, DialState::Dialing { .. }) => {
                out.push(PeerAction::CancelDial);
                self.state = DialState::Off;
            }
            (true, DialState::Waiting { .. } | DialState::Dialing { .. })
            | (false, DialState::Off) => {}
        }
    }

    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        settings: &PeerSettings,
        random: &mut SplitMix64,
        out: &mut Outbox<PeerAction>,
    ) {
        match self.state {
            DialState::Waiting { at } if at <= now => {}
            DialState::Dialing { until } if until <= now => {
                out.push(PeerAction::CancelDial);
                self.count_failure();
            }
            DialState::Off | DialState::Waiting { .. } | DialState::Dialing { .. } => return,
        }
        out.push(PeerAction::Dial);
        let patience = random.jitter(settings.connect_retry).max(LEAST_DIAL_TIME);
        self.state = DialState::Dialing {
            until: now + patience,
        };
    }

    const fn count_failure(&mut self) {
        self.pause = if self.failures == 0 {
            Pause::Soon
        } else {
            Pause::Retry
        };
        self.failures = self.failures.saturating_add(1);
    }

    fn delay(&self, settings: &PeerSettings, random: &mut SplitMix64) -> Duration {
        let retry = settings.connect_retry.max(LEAST_RETRY);
        match self.pause {
            Pause::AtOnce => random.up_to(FIRST_DIAL_SPREAD),
            Pause::Soon => random.jitter(SOON.min(retry)),
            Pause::Retry => random.jitter(retry),
            Pause::Damped => {
                let doublings = self.errors.saturating_sub(1).min(16);
                let damped = retry.saturating_mul(1 << doublings);
                random.jitter(damped.min(LONGEST_PAUSE.max(retry)))
            }
        }
    }
}

/// Spreads the first dials of many sessions that start together.
const FIRST_DIAL_SPREAD: Duration = Duration::from_millis(100);
/// Wait after the first failure in a row.
const SOON: Duration = Duration::from_secs(1);
/// Floor of the configured connect-retry time, so that zero does not spin.
const LEAST_RETRY: Duration = Duration::from_millis(100);
/// A dial gets at least this long, whatever the connect-retry time: one lost SYN costs a second.
const LEAST_DIAL_TIME: Duration = Duration::from_secs(4);
/// Where doubling ends.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);
/// A session that lived this long clears the record.
const STABLE_AFTER: Duration = Duration::from_secs(60);

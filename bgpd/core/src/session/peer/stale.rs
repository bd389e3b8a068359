//! Routes of a peer that restarts: how long they may stay (RFC 4724 section 4.2, the Receiving Speaker).
//!
//! The RIB holds the routes and their marks; this only says when they go.
//!
//! ```text
//!             session lost, families kept            Established, F bit set
//!  Nothing ───────────────────────────▶ AwaitingPeer ──────────────────────▶ AwaitingEndOfRib
//!     ▲          restart time over            │                                     │
//!     ├──────────── flush ◀───────────────────┘    End-of-RIB of the last family,   │
//!     └──────────── flush ◀──────────────────────  or max_stale_time over ◀─────────┘
//! ```

use std::time::Duration;

use bgp_wire::Family;

use super::super::negotiation::Negotiated;
use super::super::status::{StaleAwaiting, StaleStatus};
use crate::Instant;

/// The families with stale routes, and what they wait for.
#[derive(Debug, Default)]
pub(super) enum StaleRoutes {
    #[default]
    Nothing,
    AwaitingPeer {
        families: Vec<Family>,
        until: Instant,
    },
    AwaitingEndOfRib {
        families: Vec<Family>,
        until: Instant,
    },
}

impl StaleRoutes {
    /// The session ended and the routes of `keep` stay for `restart_time`.
    pub(super) fn session_lost(&mut self, now: Instant, keep: &[Family], restart_time: Duration) {
        // Families that were stale and are not kept again go with the session's other routes.
        *self = if keep.is_empty() {
            Self::Nothing
        } else {
            Self::AwaitingPeer {
                families: keep.to_vec(),
                until: now + restart_time,
            }
        };
    }

    /// The peer is back. Returns the families that must go at once: those that it no longer lists, or whose
    /// forwarding state it did not preserve.
    pub(super) fn session_up(
        &mut self,
        now: Instant,
        negotiated: &Negotiated,
        max_stale_time: Duration,
    ) -> Vec<Family> {
        let (stay, go): (Vec<_>, Vec<_>) = self
            .flush()
            .into_iter()
            .partition(|&family| negotiated.forwarding_preserved(family));
        if !stay.is_empty() {
            *self = Self::AwaitingEndOfRib {
                families: stay,
                until: now + max_stale_time,
            };
        }
        go
    }

    /// The peer sent all it has for `family`; the RIB sweeps.
    pub(super) fn end_of_rib(&mut self, family: Family) {
        if let Self::AwaitingEndOfRib { families, .. } = self {
            families.retain(|&stale| stale != family);
            if families.is_empty() {
                *self = Self::Nothing;
            }
        }
    }

    /// Gives up: returns the families whose stale routes must go.
    pub(super) fn flush(&mut self) -> Vec<Family> {
        match std::mem::take(self) {
            Self::Nothing => Vec::new(),
            Self::AwaitingPeer { families, .. } | Self::AwaitingEndOfRib { families, .. } => {
                families
            }
        }
    }

    /// Returns the families whose time is over.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Vec<Family> {
        match self.next_deadline() {
            Some(until) if until <= now => self.flush(),
            _ => Vec::new(),
        }
    }

    pub(super) const fn next_deadline(&self) -> Option<Instant> {
        match self {
            Self::Nothing => None,
            Self::AwaitingPeer { until, .. } | Self::AwaitingEndOfRib { until, .. } => Some(*until),
        }
    }

    pub(super) fn status(&self) -> Option<StaleStatus> {
        let (families, until, awaiting) = match self {
            Self::Nothing => return None,
            Self::AwaitingPeer { families, until } => (families, until, StaleAwaiting::Peer),
            Self::AwaitingEndOfRib { families, until } => {
                (families, until, StaleAwaiting::EndOfRib)
            }
        };
        Some(StaleStatus {
            families: families.clone(),
            until: *until,
            awaiting,
        })
    }
}

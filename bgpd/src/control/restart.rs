//! When the picture is complete after a start: the moment from which kernel entries of an earlier life may be removed,
//! deferred announcements go out, and OPENs no longer carry the restart bit.
//!
//! RFC 4724 section 4.1 waits for the End-of-RIB of every peer. A dead peer must not hold a node up for that long, so
//! peers that can't be reached are waited for only for a moment, and peers that are restarting themselves not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bgp_core::{Instant, PeerId};
use bgp_wire::Family;

/// Watches the first moments of a daemon's life.
#[derive(Debug)]
pub(crate) struct Restart {
    /// When the first configuration was in.
    configured_at: Option<Instant>,
    peers: BTreeMap<PeerId, Progress>,
    complete: bool,
}

#[derive(Debug)]
enum Progress {
    /// Not Established so far.
    Absent,
    /// Established; these families have not ended their initial routes.
    Sending(BTreeSet<Family>),
    /// Established at that time, and these families have not ended their initial routes; but the peer may never say so.
    Unmarked(Instant, BTreeSet<Family>),
    /// All there is to be had from this peer is in.
    Done,
}

/// Whether a peer will mark the end of its initial routes.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum EndOfRib {
    /// It takes part in graceful restart (RFC 4724 section 2).
    Promised,
    /// It does not. Some mark it all the same.
    NotPromised,
    /// It is restarting itself, and waits for ours.
    AfterOurs,
}

impl Restart {
    pub(crate) const fn new() -> Self {
        Self {
            configured_at: None,
            peers: BTreeMap::new(),
            complete: false,
        }
    }

    /// The first configuration is in, with these peers.
    pub(crate) fn configured(&mut self, now: Instant, peers: impl IntoIterator<Item = PeerId>) {
        if self.configured_at.is_none() {
            self.configured_at = Some(now);
            self.peers = peers
                .into_iter()
                .map(|peer| (peer, Progress::Absent))
                .collect();
        }
    }

    pub(crate) fn up(&mut self, now: Instant, peer: PeerId, families: &[Family], marker: EndOfRib) {
        if let Some(progress) = self.peers.get_mut(&peer) {
            let families: BTreeSet<Family> = families.iter().copied().collect();
            *progress = match marker {
                _ if families.is_empty() => Progress::Done,
                EndOfRib::AfterOurs => Progress::Done,
                EndOfRib::Promised => Progress::Sending(families),
                EndOfRib::NotPromised => Progress::Unmarked(now, families),
            };
        }
    }

    pub(crate) fn end_of_rib(&mut self, peer: PeerId, family: Family) {
        if let Some(progress) = self.peers.get_mut(&peer)
            && let Progress::Sending(families) | Progress::Unmarked(_, families) = progress
        {
            families.remove(&family);
            if families.is_empty() {
                *progress = Progress::Done;
            }
        }
    }

    pub(crate) fn down(&mut self, peer: PeerId) {
        if let Some(progress @ (Progress::Sending(_) | Progress::Unmarked(..))) =
            self.peers.get_mut(&peer)
        {
            *progress = Progress::Absent;
        }
    }

    pub(crate) fn removed(&mut self, peer: PeerId) {
        self.peers.remove(&peer);
    }

    /// True from the one call that finds the picture complete; false ever after.
    pub(crate) fn completes(&mut self, now: Instant) -> bool {
        if self.complete || !self.is_complete(now) {
            return false;
        }
        self.complete = true;
        self.peers.clear();
        true
    }

    /// True once [`Restart::completes`] has said so.
    pub(crate) const fn has_completed(&self) -> bool {
        self.complete
    }

    /// When to look again even if nothing happens.
    pub(crate) fn next_deadline(&self, now: Instant) -> Option<Instant> {
        let configured_at = self.configured_at.filter(|_| !self.complete)?;
        let unmarked = self.peers.values().filter_map(|progress| match progress {
            Progress::Unmarked(since, _) => Some(*since + WAIT_FOR_UNMARKED),
            _ => None,
        });
        [WAIT_FOR_ABSENT, WAIT_FOR_SENDING]
            .into_iter()
            .map(|wait| configured_at + wait)
            .chain(unmarked)
            .filter(|deadline| *deadline > now)
            .min()
    }

    fn is_complete(&self, now: Instant) -> bool {
        let Some(configured_at) = self.configured_at else {
            return false;
        };
        let waited = now.saturating_since(configured_at);
        self.peers.values().all(|progress| match progress {
            Progress::Done => true,
            Progress::Absent => waited >= WAIT_FOR_ABSENT,
            Progress::Sending(_) => waited >= WAIT_FOR_SENDING,
            Progress::Unmarked(since, _) => now.saturating_since(*since) >= WAIT_FOR_UNMARKED,
        })
    }
}

/// A reachable peer is up well within three connect retries of 5 seconds.
const WAIT_FOR_ABSENT: Duration = Duration::from_secs(15);

/// A peer without graceful restart sends what it has at once, but need not say when that is all.
const WAIT_FOR_UNMARKED: Duration = Duration::from_secs(5);

/// A peer that is up may send a full table first.
const WAIT_FOR_SENDING: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    const A: PeerId = PeerId(1);
    const B: PeerId = PeerId(2);
    const V4: Family = Family::IPV4_UNICAST;
    const V6: Family = Family::IPV6_UNICAST;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn nothing_is_complete_before_the_first_configuration() {
        let mut restart = Restart::new();
        assert!(!restart.completes(at(1000)));
        restart.configured(at(1000), []);
        assert!(restart.completes(at(1000)), "no peers: nothing to wait for");
        assert!(!restart.completes(at(1001)), "said only once");
    }

    #[test]
    fn every_family_of_every_reachable_peer_is_waited_for() {
        let mut restart = Restart::new();
        restart.configured(at(0), [A, B]);
        restart.up(at(0), A, &[V4, V6], EndOfRib::Promised);
        restart.up(at(0), B, &[V4], EndOfRib::Promised);
        restart.end_of_rib(A, V4);
        restart.end_of_rib(B, V4);
        assert!(!restart.completes(at(1)));
        restart.end_of_rib(A, V6);
        assert!(restart.completes(at(1)));
    }

    #[test]
    fn a_dead_peer_holds_us_up_for_seconds_not_minutes() {
        let mut restart = Restart::new();
        restart.configured(at(0), [A]);
        assert!(!restart.completes(at(14)));
        assert_eq!(restart.next_deadline(at(14)), Some(at(15)));
        assert!(restart.completes(at(15)));
    }

    #[test]
    fn restarting_peers_do_not_wait_for_each_other() {
        let mut restart = Restart::new();
        restart.configured(at(0), [A]);
        restart.up(at(0), A, &[V4], EndOfRib::AfterOurs);
        assert!(restart.completes(at(0)));
    }

    #[test]
    fn a_peer_that_need_not_mark_the_end_is_waited_for_a_moment() {
        let mut restart = Restart::new();
        restart.configured(at(0), [A, B]);
        restart.up(at(2), A, &[V4], EndOfRib::NotPromised);
        restart.up(at(3), B, &[V4], EndOfRib::NotPromised);
        restart.end_of_rib(B, V4);
        assert!(!restart.completes(at(6)));
        assert_eq!(restart.next_deadline(at(6)), Some(at(7)));
        assert!(restart.completes(at(7)));
    }

    #[test]
    fn a_peer_that_goes_down_while_sending_is_absent_again() {
        let mut restart = Restart::new();
        restart.configured(at(0), [A]);
        restart.up(at(0), A, &[V4], EndOfRib::Promised);
        restart.down(A);
        assert!(!restart.completes(at(1)));
        assert!(restart.completes(at(15)));
    }
}

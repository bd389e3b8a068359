//! Which paths of a peer's family are current, stale, or dead, without touching them.
//!
//! Every path carries the generation in which it was last announced. A restart or a refresh starts a new generation:
//! older paths are stale at once, and end (or are swept) at once, in constant time, whatever their number. A walk
//! then reclaims the dead ones; until it comes by, [`Life::is_alive`] keeps them out of every decision.
//!
//! RFC 4724 section 4.2 (stale paths), RFC 7313 section 4 (begin and end of refresh).

/// The generations of one peer and family.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Life {
    /// What an announcement gets now.
    current: u8,
    /// The oldest generation that is alive.
    oldest: u8,
    /// The first generation after the restart, while End-of-RIB is awaited.
    restarted: Option<u8>,
    /// The first generation after BoRR, while EoRR is awaited or its effect is put off.
    refreshing: Option<u8>,
    /// EoRR came before the End-of-RIB that ends the restart.
    refreshed_early: bool,
    /// Generations begun since the last [`Life::swept`].
    unswept: u8,
}

impl Life {
    /// The generation of what is announced now.
    pub(super) const fn current(self) -> u8 {
        self.current
    }

    /// True for a path that may be used.
    pub(super) const fn is_alive(self, generation: u8) -> bool {
        self.current.wrapping_sub(generation) <= self.current.wrapping_sub(self.oldest)
    }

    /// True for a path that is alive, but not announced again since the restart.
    pub(super) fn is_stale(self, generation: u8) -> bool {
        let fresh = self.restarted.unwrap_or(self.oldest);
        self.is_alive(generation)
            && self.current.wrapping_sub(generation) > self.current.wrapping_sub(fresh)
    }

    /// The session is gone and its routes with it.
    pub(super) fn end(&mut self) {
        self.begin();
        self.oldest = self.current;
        self.restarted = None;
        self.refreshing = None;
        self.refreshed_early = false;
    }

    /// The session is gone and its routes stay, as stale; those that are stale already die.
    pub(super) fn restart(&mut self) {
        self.oldest = self.restarted.unwrap_or(self.oldest);
        self.begin();
        self.restarted = Some(self.current);
        self.refreshing = None;
        self.refreshed_early = false;
    }

    /// End-of-RIB, or the stale timer: what is still stale dies.
    pub(super) fn end_restart(&mut self) {
        let Some(restarted) = self.restarted.take() else {
            return;
        };
        self.oldest = restarted;
        if self.refreshed_early {
            self.end_refresh();
        }
    }

    /// BoRR: what is not announced again before EoRR dies then.
    pub(super) fn begin_refresh(&mut self) {
        // A peer that begins over and over and never ends must not make the window of living generations wrap. The
        // price at the limit: what it announced since its last BoRR counts as announced after this one.
        if self.current.wrapping_sub(self.oldest) < MOST_ALIVE {
            self.begin();
        }
        self.refreshing = Some(self.current);
        self.refreshed_early = false;
    }

    /// EoRR. During a restart it waits for End-of-RIB, lest it sweep stale paths too early.
    pub(super) fn end_refresh(&mut self) {
        if self.restarted.is_some() {
            self.refreshed_early = self.refreshing.is_some();
            return;
        }
        if let Some(refreshing) = self.refreshing.take() {
            self.oldest = refreshing;
        }
        self.refreshed_early = false;
    }

    /// A walk has reclaimed every path that was dead when it began.
    pub(super) const fn swept(&mut self) {
        self.unswept = 0;
    }

    /// True when so many generations began during one walk that a dead one would soon look alive again: the walk
    /// has to end before the next one.
    pub(super) const fn must_sweep(self) -> bool {
        self.unswept >= 100
    }

    fn begin(&mut self) {
        self.current = self.current.wrapping_add(1);
        self.unswept = self.unswept.saturating_add(1);
    }
}

/// Generations that can be alive at once, far below the 256 that a path can tell apart.
const MOST_ALIVE: u8 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_begins_of_refresh_kill_nothing() {
        let mut life = Life::default();
        let old = life.current();
        for _ in 0..1000 {
            life.begin_refresh();
            assert!(life.is_alive(old));
        }
        life.end_refresh();
        assert!(!life.is_alive(old));
    }

    #[test]
    fn without_restart_nothing_survives_the_end() {
        let mut life = Life::default();
        let old = life.current();
        life.end();
        assert!(!life.is_alive(old));
        assert!(life.is_alive(life.current()));
        assert!(!life.is_stale(life.current()));
    }

    #[test]
    fn a_restart_makes_paths_stale_until_end_of_rib() {
        let mut life = Life::default();
        let old = life.current();
        life.restart();
        let new = life.current();
        assert!(life.is_alive(old) && life.is_stale(old));
        assert!(life.is_alive(new) && !life.is_stale(new));
        life.end_restart();
        assert!(!life.is_alive(old));
        assert!(life.is_alive(new));
    }

    #[test]
    fn a_second_restart_kills_what_was_stale() {
        let mut life = Life::default();
        let first = life.current();
        life.restart();
        let second = life.current();
        life.restart();
        assert!(!life.is_alive(first));
        assert!(life.is_stale(second));
    }

    #[test]
    fn a_refresh_kills_what_was_not_announced_again() {
        let mut life = Life::default();
        let old = life.current();
        life.begin_refresh();
        let new = life.current();
        assert!(life.is_alive(old) && !life.is_stale(old));
        life.end_refresh();
        assert!(!life.is_alive(old));
        assert!(life.is_alive(new));
    }

    #[test]
    fn a_refresh_during_a_restart_keeps_stale_paths_until_end_of_rib() {
        let mut life = Life::default();
        let stale = life.current();
        life.restart();
        let before = life.current();
        life.begin_refresh();
        let refreshed = life.current();
        life.end_refresh();
        assert!(life.is_stale(stale) && life.is_alive(before));
        life.end_restart();
        assert!(!life.is_alive(stale));
        assert!(!life.is_alive(before));
        assert!(life.is_alive(refreshed));
    }

    #[test]
    fn end_of_refresh_without_begin_is_nothing() {
        let mut life = Life::default();
        life.begin_refresh();
        life.end_refresh();
        let before = life;
        life.end_refresh();
        life.end_restart();
        assert_eq!(life, before);
    }

    #[test]
    fn dead_generations_stay_dead_until_a_sweep_is_due() {
        let mut life = Life::default();
        let old = life.current();
        while !life.must_sweep() {
            life.restart();
            life.end_restart();
            assert!(!life.is_alive(old));
        }
    }
}

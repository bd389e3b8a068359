//! Long work over a whole table, a slice at a time: sweeping dead paths, running import again, deciding again.
//!
//! All work shares one cursor that goes round the slots like a lift: a job gets on where the cursor is and gets off when
//! it has been all round. A thousand peers that go down together cost one round, not a thousand.

use super::ids::{AttrId, PeerIndex, Slot};
use super::import;
use super::shared::Shared;
use super::table::Table;

/// What a round is for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Job {
    /// Reclaim paths of generations that are over, see [`super::life`].
    Sweep,
    /// Run import again over the paths of a peer, and decide and export them again.
    Reimport(PeerIndex),
    /// Decide again where a changed next hop is concerned.
    NextHops,
    /// Decide everything again.
    Redecide,
}

/// The cursor and who rides.
#[derive(Debug, Default)]
pub(super) struct Walk {
    cursor: usize,
    riders: Vec<Rider>,
}

#[derive(Debug)]
struct Rider {
    job: Job,
    /// Where it got on.
    start: usize,
    /// The cursor has been at the end since.
    wrapped: bool,
}

impl Walk {
    /// Adds a job, or sends the same one round once more from here.
    pub(super) fn add(&mut self, job: Job) {
        self.riders.retain(|rider| rider.job != job);
        self.riders.push(Rider {
            job,
            start: self.cursor,
            wrapped: false,
        });
    }

    /// True when there is nothing to do.
    pub(super) const fn is_idle(&self) -> bool {
        self.riders.is_empty()
    }

    /// True while this job rides.
    pub(super) fn has(&self, job: Job) -> bool {
        self.riders.iter().any(|rider| rider.job == job)
    }

    /// Moves the cursor on; returns the jobs that are done.
    fn advance(&mut self, to: usize, end: usize) -> Vec<Job> {
        let at_end = to >= end;
        self.cursor = if at_end { 0 } else { to };
        let mut done = Vec::new();
        self.riders.retain_mut(|rider| {
            // Not `cursor >= start`: one slice may go past `start` and on to the end, where the cursor is 0.
            let over = if rider.wrapped {
                to >= rider.start
            } else {
                at_end && rider.start == 0
            };
            rider.wrapped |= at_end;
            if over {
                done.push(rider.job);
            }
            !over
        });
        done
    }
}

impl Table {
    /// Visits up to `budget` slots.
    pub(super) fn walk(&mut self, shared: &mut Shared, budget: usize) {
        if self.walk.is_idle() {
            return;
        }
        let end = self.slots.len();
        let from = self.walk.cursor;
        let to = end.min(from + budget);
        let next_hops = self.walk.has(Job::NextHops);
        let all = self.walk.has(Job::Redecide);
        for index in from..to {
            self.visit(shared, Slot::from_index(index), next_hops, all);
        }
        for job in self.walk.advance(to, end) {
            self.finish(shared, job);
        }
    }

    /// Goes round until nothing rides any more.
    pub(super) fn walk_to_end(&mut self, shared: &mut Shared) {
        while !self.walk.is_idle() {
            self.walk(shared, usize::MAX / 2);
        }
    }

    fn visit(&mut self, shared: &mut Shared, slot: Slot, next_hops: bool, all: bool) {
        let list = self.slots[slot.index()].paths;
        // From the end, because a removal moves what follows.
        for position in (0..list.len()).rev() {
            let path = self.paths.get(self.slots[slot.index()].paths)[position];
            let family = shared.peers.family(path.peer, self.number);
            if !family.life.is_alive(path.generation) {
                self.remove(shared, slot, position);
            } else if family.reimport {
                let prefix = self.prefixes.get(slot);
                let (accepted, verdict) = import::run_again(shared, &path, prefix);
                self.set_accepted(shared, slot, position, accepted, verdict);
            } else if all || next_hops && concerned(shared, path.accepted) {
                self.dirty.insert(slot);
            }
        }
    }

    fn finish(&mut self, shared: &mut Shared, job: Job) {
        match job {
            Job::Sweep => shared.peers.swept(self.number),
            Job::Reimport(peer) => shared.peers.family_mut(peer, self.number).reimport = false,
            Job::NextHops | Job::Redecide => {}
        }
    }
}

fn concerned(shared: &Shared, accepted: AttrId) -> bool {
    accepted
        .some()
        .and_then(|id| shared.attributes.metrics(id).next_hop)
        .is_some_and(|next_hop| shared.next_hops.is_changed(next_hop))
}

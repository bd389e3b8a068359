//! One peer in an update group, and how far it is behind the group.
//!
//! A member that is in step costs a few bytes. One that lags, because it takes less than the others, or that has to get
//! what the group had before it came, costs one bit for each prefix at most.

use super::group::AdjRibOut;
use crate::rib::ids::{PeerIndex, Slot};
use crate::rib::slot_set::SlotSet;

/// One peer in a group.
#[derive(Clone, Debug)]
pub(in crate::rib) struct Member {
    pub(in crate::rib) peer: PeerIndex,
    /// The round over Adj-RIB-Out that it gets besides live changes.
    pub(super) dump: Option<Dump>,
    /// What it has to get by itself; `None` when it is in step.
    lagging: Option<Lagging>,
    /// The initial routes are not complete.
    pub(super) owes_initial: bool,
    /// BoRR went out, and EoRR has to follow (RFC 7313).
    pub(super) owes_refresh_end: bool,
}

/// A ride on the group's round over Adj-RIB-Out.
#[derive(Copy, Clone, Debug)]
pub(super) struct Dump {
    /// Where it got on.
    pub(super) start: usize,
    /// The round has been at the end since.
    pub(super) wrapped: bool,
}

#[derive(Clone, Debug, Default)]
struct Lagging {
    slots: SlotSet,
    cursor: usize,
}

impl Member {
    /// A peer that has nothing yet.
    pub(super) const fn new(peer: PeerIndex) -> Self {
        Self {
            peer,
            dump: None,
            lagging: None,
            owes_initial: true,
            owes_refresh_end: false,
        }
    }

    /// True when it does not get live changes.
    pub(in crate::rib) const fn is_lagging(&self) -> bool {
        self.lagging.is_some()
    }

    /// True when it gets live changes.
    pub(super) const fn is_in_step(&self) -> bool {
        self.lagging.is_none()
    }

    /// True when something has to be said once it has all.
    pub(super) const fn owes(&self) -> bool {
        self.owes_initial || self.owes_refresh_end
    }

    /// True when it still has to get something that the group was sent before.
    pub(in crate::rib) const fn is_behind(&self) -> bool {
        self.lagging.is_some() || self.dump.is_some()
    }

    /// True while it rides the round, and is not left to itself.
    pub(super) const fn is_dumping(&self) -> bool {
        self.dump.is_some() && self.lagging.is_none()
    }

    /// From now on it gets what it lacks by itself, the rest of its round included.
    pub(super) fn lag(&mut self, out: &AdjRibOut, dump_cursor: usize) {
        let lagging = self.lagging.get_or_insert_default();
        let Some(dump) = self.dump.take() else {
            return;
        };
        let rest = if dump.wrapped {
            dump_cursor..dump.start
        } else {
            dump_cursor..out.end()
        };
        let missed = if dump.wrapped { 0..0 } else { 0..dump.start };
        for slot in rest.chain(missed).map(Slot::from_index) {
            if out.get(slot).is_some() {
                lagging.slots.insert(slot);
            }
        }
    }

    /// It has to get all of Adj-RIB-Out again.
    pub(super) fn start_over(&mut self, out: &AdjRibOut, dump_cursor: usize) {
        self.dump = Some(Dump {
            start: dump_cursor,
            wrapped: false,
        });
        if self.lagging.is_some() {
            self.lag(out, dump_cursor);
        }
    }

    /// A slot changed: noted when the member lags.
    pub(super) fn note(&mut self, slot: Slot) {
        if let Some(lagging) = &mut self.lagging {
            lagging.slots.insert(slot);
        }
    }

    /// The next slot to send to it; `None` when it is in step again.
    pub(super) fn next_missing(&mut self) -> Option<Slot> {
        let lagging = self.lagging.as_mut()?;
        let slot = lagging.slots.pop(&mut lagging.cursor);
        if slot.is_none() {
            self.lagging = None;
        }
        slot
    }

    /// True when a withdrawal of the slot may still have to go to it.
    pub(in crate::rib) fn lacks(&self, slot: Slot) -> bool {
        self.lagging
            .as_ref()
            .is_some_and(|lagging| lagging.slots.contains(slot))
    }

    /// How many prefixes it lacks.
    pub(in crate::rib) fn missing(&self) -> usize {
        self.lagging
            .as_ref()
            .map_or(0, |lagging| lagging.slots.len())
    }
}

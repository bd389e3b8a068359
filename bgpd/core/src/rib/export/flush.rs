//! Sending: what changed to those in step, what they lack to the others.
//!
//! ```text
//!              dirty ──▶ compare with Adj-RIB-Out ──▶ pack ──▶ members in step
//!                                 │
//!                                 └──▶ note for members that lag ──▶ pack, when they have room ──▶ one member
//!  Adj-RIB-Out, round and round ──▶ pack ──▶ members that came late or want all again
//! ```
//!
//! Members that have room wait for those that have none for [`PATIENCE`] only; then the others lag, and are fed by
//! themselves. While none has room nothing is sent, and changes coalesce in the dirty set.

use std::sync::Arc;
use std::time::Duration;

use bgp_wire::RefreshSubtype;

use super::group::{Excluded, Group, Room, Sent, has_room};
use super::member::Member;
use super::pack::{self, Audience, Packer};
use super::rewrite::{Memo, export};
use crate::rib::event::{Recipients, RibAction};
use crate::rib::ids::{AttrId, Slot};
use crate::rib::shared::Shared;
use crate::rib::table::Table;
use crate::{Instant, Outbox, PeerId};

/// What sending needs besides the group.
pub(super) struct Sender<'a> {
    pub(super) shared: &'a mut Shared,
    pub(super) table: &'a mut Table,
    pub(super) memo: &'a mut Memo,
    pub(super) packer: &'a mut Packer,
    pub(super) now: Instant,
    /// Slots between two looks at the members' room.
    pub(super) step: usize,
    pub(super) out: &'a mut Outbox<RibAction>,
}

/// Whether a batch may go out.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Pace {
    Go,
    Wait,
}

impl Sender<'_> {
    /// Does up to `budget` slots of whatever the group has to do; returns what is left of the budget.
    pub(super) fn run(&mut self, group: &mut Group, mut budget: usize) -> usize {
        self.flush(group, &mut budget);
        self.dump(group, &mut budget);
        self.feed(group, &mut budget);
        self.conclude(group);
        budget
    }

    fn flush(&mut self, group: &mut Group, budget: &mut usize) {
        let mut undecided = Vec::new();
        while !group.dirty.is_empty() && *budget > 0 {
            if self.pace_live(group) == Pace::Wait {
                break;
            }
            let lagging = group.members.iter().any(Member::is_lagging);
            for _ in 0..self.step.min(*budget) {
                let before = group.cursor;
                let Some(slot) = group.dirty.pop(&mut group.cursor) else {
                    break;
                };
                // The cursor has been all round: whatever was there at the start has been looked at.
                if group.cursor <= before && undecided.is_empty() {
                    group.filling = false;
                }
                *budget -= 1;
                if self.table.dirty.contains(slot) {
                    undecided.push(slot);
                } else {
                    self.update(group, slot, lagging);
                }
            }
            let in_step = group.in_step(self.shared);
            self.packer
                .send(self.shared, self.table, &group.key, &in_step, self.out);
            self.memo.clear(self.shared);
        }
        if group.dirty.is_empty() && undecided.is_empty() {
            group.filling = false;
        }
        // Their best path is about to change: what it was is not worth a message.
        for slot in undecided {
            group.dirty.insert(slot);
        }
    }

    /// Compares what a slot should be with what was sent, and queues the difference.
    fn update(&mut self, group: &mut Group, slot: Slot, lagging: bool) {
        let old = group.out.get(slot);
        let new = self.wanted(group, slot);
        if old == new {
            return;
        }
        let had_not = group.excluded(self.shared, old);
        let must_not = group.excluded(self.shared, new);
        self.queue(slot, old, new, &had_not, &must_not);

        self.shared
            .attributes
            .retain(new.map_or(AttrId::NONE, |sent| sent.attributes));
        self.shared
            .release(old.map_or(AttrId::NONE, |sent| sent.attributes));
        group.out.set(slot, new);
        let record = &mut self.table.slots[slot.index()];
        record.holders += u16::from(new.is_some());
        record.holders -= u16::from(old.is_some());
        if lagging {
            group
                .members
                .iter_mut()
                .for_each(|member| member.note(slot));
        }
        group.version += 1;
        group.branch = None;
    }

    fn wanted(&mut self, group: &Group, slot: Slot) -> Option<Sent> {
        let path = *self.table.best(slot)?;
        let prefix = self.table.prefixes.get(slot);
        let attributes = export(self.shared, self.memo, &group.key, prefix, &path).ok()?;
        Some(Sent {
            attributes,
            source: path.peer,
        })
    }

    /// Who has to hear what, so that afterwards each member has exactly what it should.
    fn queue(
        &mut self,
        slot: Slot,
        old: Option<Sent>,
        new: Option<Sent>,
        had_not: &Excluded,
        must_not: &Excluded,
    ) {
        if let Some(new) = new {
            if old.is_some_and(|old| old.attributes == new.attributes) {
                let newly = difference(had_not, must_not);
                self.packer
                    .announce(slot, new.attributes, Audience::Only(newly));
            } else {
                self.packer
                    .announce(slot, new.attributes, Audience::AllBut(must_not.clone()));
            }
            if old.is_some() {
                let no_longer = difference(must_not, had_not);
                self.packer.withdraw(slot, Audience::Only(no_longer));
            }
        } else if old.is_some() {
            self.packer
                .withdraw(slot, Audience::AllBut(had_not.clone()));
        }
    }

    /// One shared round over Adj-RIB-Out for all members that came late or asked for everything.
    fn dump(&mut self, group: &mut Group, budget: &mut usize) {
        while group.members.iter().any(Member::is_dumping) && *budget > 0 {
            if self.pace_dump(group) == Pace::Wait {
                return;
            }
            let end = group.out.end();
            let from = group.dump_cursor;
            let to = end.min(from + self.step.min(*budget));
            *budget = budget.saturating_sub(to - from);
            for slot in (from..to).map(Slot::from_index) {
                let sent = group.out.get(slot);
                if let Some(Sent { attributes, .. }) = sent {
                    let excluded = group.excluded(self.shared, sent);
                    self.packer
                        .announce(slot, attributes, Audience::AllBut(excluded));
                }
            }
            let riders: Arc<[PeerId]> = group
                .members
                .iter()
                .filter(|member| member.is_dumping())
                .map(|member| self.shared.peers.facts(member.peer).id)
                .collect();
            self.packer
                .send(self.shared, self.table, &group.key, &riders, self.out);
            group.advance_dump(to);
        }
    }

    /// Gives members that lag what they lack, as far as they have room.
    fn feed(&mut self, group: &mut Group, budget: &mut usize) {
        for position in 0..group.members.len() {
            let peer = group.members[position].peer;
            while group.members[position].is_lagging() && *budget > 0 && has_room(self.shared, peer)
            {
                for _ in 0..self.step.min(*budget) {
                    let Some(slot) = group.members[position].next_missing() else {
                        group.steps_changed();
                        break;
                    };
                    *budget -= 1;
                    let sent = group.out.get(slot);
                    let excluded = group.excluded(self.shared, sent).contains(&peer);
                    match sent.filter(|_| !excluded) {
                        Some(sent) => self.packer.announce(
                            slot,
                            sent.attributes,
                            Audience::AllBut(Excluded::new()),
                        ),
                        None => self
                            .packer
                            .withdraw(slot, Audience::AllBut(Excluded::new())),
                    }
                }
                let alone: Arc<[PeerId]> = Arc::new([self.shared.peers.facts(peer).id]);
                self.packer
                    .send(self.shared, self.table, &group.key, &alone, self.out);
            }
        }
    }

    /// Tells of members that have got everything that they were owed.
    fn conclude(&mut self, group: &mut Group) {
        let filling = group.filling;
        for member in &mut group.members {
            if member.is_behind() {
                continue;
            }
            let Some(record) = self.shared.peers.record(member.peer) else {
                continue;
            };
            let epoch = record.epoch;
            let peer = self.shared.peers.facts(member.peer).id;
            let family = self.table.family;
            if member.owes_initial && !filling {
                member.owes_initial = false;
                self.out.push(RibAction::InitialRoutesSent {
                    peer,
                    epoch,
                    family,
                });
            }
            if member.owes_refresh_end && !filling {
                member.owes_refresh_end = false;
                let frame = pack::refresh_mark(family, RefreshSubtype::End);
                self.packer
                    .push(self.shared, Recipients::one(peer), frame, 1, self.out);
            }
        }
    }

    fn pace_live(&mut self, group: &mut Group) -> Pace {
        let (pace, patience) = self.pace(group, group.patience, Member::is_in_step);
        group.patience = patience;
        pace
    }

    fn pace_dump(&mut self, group: &mut Group) -> Pace {
        let (pace, patience) = self.pace(group, group.dump_patience, Member::is_dumping);
        group.dump_patience = patience;
        pace
    }

    fn pace(
        &mut self,
        group: &mut Group,
        patience: Option<Instant>,
        concerned: fn(&Member) -> bool,
    ) -> (Pace, Option<Instant>) {
        match group.room(self.shared, concerned) {
            Room::All => (Pace::Go, None),
            Room::None => (Pace::Wait, None),
            Room::Some => {
                let until = patience.unwrap_or(self.now + PATIENCE);
                if self.now < until {
                    return (Pace::Wait, Some(until));
                }
                group.leave_behind(self.shared, concerned);
                (Pace::Go, None)
            }
        }
    }
}

fn difference(all: &Excluded, without: &Excluded) -> Excluded {
    all.iter()
        .copied()
        .filter(|peer| !without.contains(peer))
        .collect()
}

/// How long members that have room wait for those that have none.
pub(super) const PATIENCE: Duration = Duration::from_millis(10);

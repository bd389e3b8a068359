//! Update groups: from Loc-RIB to the bytes that leave.
//!
//! ```text
//!  Loc-RIB ─▶ rewrite ─▶ Adj-RIB-Out of the group ─▶ pack ─▶ Send to the members in step
//!  (slots)   (policy,     (what was last sent)      (encode once)
//!             RFC 4271,
//!             RFC 4456)
//! ```
//!
//! - [`key`]: what makes two peers share a group.
//! - [`rewrite`]: what a route becomes, or why it is withheld.
//! - [`group`], [`member`]: what was sent, and who is how far behind.
//! - [`flush`]: the work, in slices.
//! - [`pack`]: full messages, encoded once.
//!
//! When the settings of a peer change so that its key does, the peer takes a copy of what it was sent into another group
//! and is brought up to date there: only what differs goes out. When that is done the group merges with the one that has
//! the same key, if there is one: equal keys and nothing dirty mean equal Adj-RIBs-Out.

mod flush;
mod group;
mod key;
mod member;
mod pack;
mod rewrite;

use std::sync::Arc;

use bgp_wire::RefreshSubtype;
use hashbrown::HashMap;

use self::flush::Sender;
pub(super) use self::group::{Group, GroupIndex, Sent};
pub use self::key::GroupKey;
use self::member::Member;
use self::pack::Packer;
use self::rewrite::Memo;
pub(super) use self::rewrite::{Withheld, judge, rewrite};
use super::event::{Recipients, RibAction};
use super::ids::{PeerIndex, Slot};
use super::peers::FAMILIES;
use super::shard::Slices;
use super::shared::Shared;
use super::table::Table;
use crate::{Instant, Outbox};

/// All update groups of a shard.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: Vec<Option<Box<Group>>>,
    by_table: [Vec<GroupIndex>; FAMILIES.len()],
    /// For each key the group that new members join.
    by_key: HashMap<Arc<GroupKey>, GroupIndex>,
    /// Left by their last member; their references are given back a slice at a time.
    closing: Vec<Closing>,
    serial: u64,
    memo: Memo,
    packer: Packer,
}

#[derive(Debug)]
struct Closing {
    group: Box<Group>,
    next: usize,
}

impl Groups {
    /// The best path of a slot changed.
    pub(super) fn mark(&mut self, table: usize, slot: Slot) {
        for index in &self.by_table[table] {
            if let Some(group) = &mut self.groups[index.index()] {
                group.dirty.insert(slot);
            }
        }
    }

    /// Puts a peer where the key says: into a group if it is in none, else from its present one into another.
    pub(super) fn place(
        &mut self,
        shared: &mut Shared,
        table: &mut Table,
        peer: PeerIndex,
        key: GroupKey,
    ) {
        let key = Arc::new(key);
        let current = shared.peers.family(peer, table.number).group;
        let index = match current.and_then(|index| Some((index, self.get(index)?))) {
            Some((_, group)) if group.key == key => return,
            Some((index, group)) if group.members.len() == 1 => {
                self.rekey(shared, table, index, key)
            }
            Some((index, _)) => self.branch(shared, table, peer, index, key),
            None => self.join(shared, table, peer, key),
        };
        shared.peers.family_mut(peer, table.number).group = Some(index);
    }

    /// Takes a peer out of its group.
    pub(super) fn leave(&mut self, shared: &mut Shared, table: &Table, peer: PeerIndex) {
        let Some(index) = shared.peers.family_mut(peer, table.number).group.take() else {
            return;
        };
        if let Some(group) = &mut self.groups[index.index()] {
            group.take(peer);
            if group.members.is_empty() {
                self.close(index);
            }
        }
    }

    /// A peer wants everything again (RFC 2918).
    pub(super) fn resend(
        &mut self,
        shared: &mut Shared,
        table: &Table,
        peer: PeerIndex,
        out: &mut Outbox<RibAction>,
    ) {
        let Some(index) = shared.peers.family(peer, table.number).group else {
            return;
        };
        let Some(group) = &mut self.groups[index.index()] else {
            return;
        };
        let (adj_rib_out, cursor) = (&group.out, group.dump_cursor);
        let position = group
            .members
            .binary_search_by_key(&peer, |member| member.peer);
        let Some(member) = position
            .ok()
            .and_then(|position| group.members.get_mut(position))
        else {
            return;
        };
        member.start_over(adj_rib_out, cursor);
        let enhanced = shared
            .peers
            .record(peer)
            .is_some_and(|record| record.settings.enhanced_refresh);
        if enhanced {
            member.owes_refresh_end = true;
            let frame = pack::refresh_mark(table.family, RefreshSubtype::Begin);
            let id = shared.peers.facts(peer).id;
            self.packer.push(shared, Recipients::one(id), frame, 1, out);
        }
    }

    /// Does one slice of what the groups have to send.
    pub(super) fn run(
        &mut self,
        shared: &mut Shared,
        tables: &mut [Table],
        now: Instant,
        slices: Slices,
        out: &mut Outbox<RibAction>,
    ) {
        let Slices {
            send: mut budget,
            step,
            ..
        } = slices;
        for table in tables {
            // From another one each time, so that a short budget does not always serve the same groups.
            let members = self.by_table[table.number].len();
            self.by_table[table.number].rotate_left(usize::from(members > 1));
            for position in 0..members {
                let Some(&index) = self.by_table[table.number].get(position) else {
                    break;
                };
                let Some(mut group) = self.groups[index.index()].take() else {
                    continue;
                };
                let Self { memo, packer, .. } = self;
                let (shared, out) = (&mut *shared, &mut *out);
                let mut sender = Sender {
                    shared,
                    table,
                    memo,
                    packer,
                    now,
                    step,
                    out,
                };
                budget = sender.run(&mut group, budget);
                self.groups[index.index()] = Some(group);
                if budget == 0 {
                    return;
                }
            }
            self.merge(shared, table.number);
        }
    }

    /// Gives back up to `budget` references of groups that closed.
    pub(super) fn reclaim(&mut self, shared: &mut Shared, tables: &mut [Table], mut budget: usize) {
        while let Some(Closing { group, next }) = self.closing.last_mut() {
            let end = group.out.end().min(*next + budget);
            let table = &mut tables[group.table];
            for slot in (*next..end).map(Slot::from_index) {
                if let Some(sent) = group.out.get(slot) {
                    shared.release(sent.attributes);
                    table.slots[slot.index()].holders -= 1;
                }
            }
            budget -= end - *next;
            *next = end;
            if end < group.out.end() {
                return;
            }
            self.closing.pop();
        }
    }

    /// True when no group may still name a peer that is gone, or a slot that is not held.
    pub(super) fn is_clean(&self) -> bool {
        self.closing.is_empty() && self.iter().all(|group| group.dirty.is_empty())
    }

    /// True when a slot without holders is still wanted here: to be compared, or withdrawn from a member that lags.
    pub(super) fn wants(&self, table: usize, slot: Slot) -> bool {
        self.by_table[table]
            .iter()
            .filter_map(|index| self.get(*index))
            .any(|group| {
                group.dirty.contains(slot) || group.members.iter().any(|member| member.lacks(slot))
            })
    }

    /// True when there is something to give back.
    pub(super) const fn is_reclaiming(&self) -> bool {
        !self.closing.is_empty()
    }

    /// Routes that did not fit into a message.
    pub(super) const fn too_large(&self) -> u64 {
        self.memo.too_large()
    }

    /// When there is something to send: at once, or when patience ends. `None` when all waits for room or for routes.
    pub(super) fn next_deadline(&self, shared: &Shared) -> Option<Instant> {
        self.iter().filter_map(|group| group.deadline(shared)).min()
    }

    /// All groups.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().flatten().map(|group| &**group)
    }

    /// A group.
    pub(super) fn get(&self, index: GroupIndex) -> Option<&Group> {
        self.groups.get(index.index())?.as_deref()
    }

    fn join(
        &mut self,
        shared: &Shared,
        table: &Table,
        peer: PeerIndex,
        key: Arc<GroupKey>,
    ) -> GroupIndex {
        let index = self.by_key.get(&key).copied().unwrap_or_else(|| {
            let index = self.create(table.number, key);
            if let Some(group) = &mut self.groups[index.index()] {
                mark_all(group, table);
            }
            index
        });
        let mut member = Member::new(peer);
        if let Some(group) = &mut self.groups[index.index()] {
            if group.out.len() > 0 {
                member.start_over(&group.out, group.dump_cursor);
            }
            group.add(shared, member);
        }
        index
    }

    /// The only member of a group gets another key: the group does.
    fn rekey(
        &mut self,
        shared: &Shared,
        table: &Table,
        index: GroupIndex,
        key: Arc<GroupKey>,
    ) -> GroupIndex {
        self.unlist(index);
        if let Some(group) = &mut self.groups[index.index()] {
            group.set_key(shared, Arc::clone(&key));
            mark_all(group, table);
        }
        self.by_key.entry(key).or_insert(index);
        index
    }

    /// A peer leaves its group for another key, and takes along what it was sent.
    fn branch(
        &mut self,
        shared: &mut Shared,
        table: &mut Table,
        peer: PeerIndex,
        from: GroupIndex,
        key: Arc<GroupKey>,
    ) -> GroupIndex {
        let Some(old) = &mut self.groups[from.index()] else {
            return self.join(shared, table, peer, key);
        };
        let Some(mut member) = old.take(peer) else {
            return from;
        };
        let origin = (old.serial, old.version);
        if member.is_behind() {
            member.lag(&old.out, old.dump_cursor);
        }
        let filling = old.filling;

        let twin = self.by_table[table.number].iter().copied().find(|index| {
            self.get(*index)
                .is_some_and(|group| group.branch == Some(origin) && group.key == key)
        });
        let index = twin.unwrap_or_else(|| {
            let out = self
                .get(from)
                .map(|old| old.out.clone())
                .unwrap_or_default();
            for slot in (0..out.end()).map(Slot::from_index) {
                if let Some(sent) = out.get(slot) {
                    shared.attributes.retain(sent.attributes);
                    table.slots[slot.index()].holders += 1;
                }
            }
            let index = self.create(table.number, key);
            if let Some(group) = &mut self.groups[index.index()] {
                group.out = out;
                group.branch = Some(origin);
                group.filling = filling;
                mark_all(group, table);
            }
            index
        });
        if let Some(group) = &mut self.groups[index.index()] {
            group.add(shared, member);
        }
        index
    }

    fn create(&mut self, table: usize, key: Arc<GroupKey>) -> GroupIndex {
        let position = self
            .groups
            .iter()
            .position(Option::is_none)
            .unwrap_or_else(|| {
                self.groups.push(None);
                self.groups.len() - 1
            });
        let index = GroupIndex(u32::try_from(position).expect("fewer than 2^32 groups"));
        self.serial += 1;
        let group = Group::new(Arc::clone(&key), table, index, self.serial);
        self.groups[position] = Some(Box::new(group));
        self.by_table[table].push(index);
        self.by_key.entry(key).or_insert(index);
        index
    }

    fn close(&mut self, index: GroupIndex) {
        self.unlist(index);
        if let Some(group) = self.groups[index.index()].take() {
            self.by_table[group.table].retain(|other| *other != index);
            self.closing.push(Closing { group, next: 0 });
        }
    }

    fn unlist(&mut self, index: GroupIndex) {
        if let Some(group) = &self.groups[index.index()]
            && self.by_key.get(&group.key) == Some(&index)
        {
            self.by_key.remove(&group.key);
        }
    }

    /// Groups with equal keys that are both up to date become one.
    fn merge(&mut self, shared: &mut Shared, table: usize) {
        for position in (0..self.by_table[table].len()).rev() {
            let index = self.by_table[table][position];
            let Some(group) = self.get(index).filter(|group| group.dirty.is_empty()) else {
                continue;
            };
            let Some(&main) = self.by_key.get(&group.key) else {
                // Its namesake closed meanwhile.
                self.by_key.insert(Arc::clone(&group.key), index);
                continue;
            };
            if main == index || self.get(main).is_none_or(|main| !main.dirty.is_empty()) {
                continue;
            }
            let peers: Vec<_> = self
                .get(index)
                .into_iter()
                .flat_map(|group| &group.members)
                .map(|m| m.peer)
                .collect();
            for peer in peers {
                let Some(member) = self.groups[index.index()].as_mut().and_then(|group| {
                    let mut member = group.take(peer)?;
                    if member.is_behind() {
                        member.lag(&group.out, group.dump_cursor);
                    }
                    Some(member)
                }) else {
                    continue;
                };
                if let Some(main) = &mut self.groups[main.index()] {
                    main.add(shared, member);
                }
                shared.peers.family_mut(peer, table).group = Some(main);
            }
            self.close(index);
        }
    }
}

/// Everything has to be compared: all that is, and all that was sent.
fn mark_all(group: &mut Group, table: &Table) {
    for slot in (0..table.slots.len()).map(Slot::from_index) {
        if table.prefixes.is_used(slot) {
            group.dirty.insert(slot);
        }
    }
}

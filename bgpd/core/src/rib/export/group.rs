//! An update group: peers that get the same bytes, and what was last sent to them.
//!
//! A prefix costs 6 bytes for each group that has it, whatever the number of members: 4 for the attributes, 2 for the
//! source. What a member has is the group's Adj-RIB-Out without the entries that it is [`Group::excluded`] from.

use std::sync::Arc;

use bgp_wire::RouterId;
use hashbrown::HashMap;
use smallvec::SmallVec;

use super::key::GroupKey;
use super::member::Member;
use crate::rib::ids::{AttrId, PeerIndex, Slot};
use crate::rib::shared::Shared;
use crate::rib::slot_set::SlotSet;
use crate::{Instant, PeerId};

/// Position of a group in the shard.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub(in crate::rib) struct GroupIndex(pub(in crate::rib) u32);

impl GroupIndex {
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What was last sent of a prefix, and from whom it came.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(in crate::rib) struct Sent {
    pub(in crate::rib) attributes: AttrId,
    pub(in crate::rib) source: PeerIndex,
}

/// What was last sent to a group, by slot.
#[derive(Clone, Debug, Default)]
pub(in crate::rib) struct AdjRibOut {
    attributes: Vec<AttrId>,
    sources: Vec<PeerIndex>,
    len: usize,
}

impl AdjRibOut {
    /// What was sent of a slot.
    pub(in crate::rib) fn get(&self, slot: Slot) -> Option<Sent> {
        let attributes = self.attributes.get(slot.index())?.some()?;
        Some(Sent {
            attributes,
            source: self.sources[slot.index()],
        })
    }

    /// Records what is sent; the references are the caller's business.
    pub(super) fn set(&mut self, slot: Slot, sent: Option<Sent>) {
        let index = slot.index();
        if index >= self.attributes.len() {
            self.attributes.resize(index + 1, AttrId::NONE);
            self.sources.resize(index + 1, PeerIndex::NONE);
        }
        self.len -= usize::from(self.attributes[index] != AttrId::NONE);
        self.len += usize::from(sent.is_some());
        self.attributes[index] = sent.map_or(AttrId::NONE, |sent| sent.attributes);
        self.sources[index] = sent.map_or(PeerIndex::NONE, |sent| sent.source);
    }

    /// One more than the highest slot that was ever sent.
    pub(in crate::rib) const fn end(&self) -> usize {
        self.attributes.len()
    }

    /// How many prefixes.
    pub(in crate::rib) const fn len(&self) -> usize {
        self.len
    }
}

/// Peers that get the same bytes.
#[derive(Debug)]
pub(in crate::rib) struct Group {
    pub(in crate::rib) key: Arc<GroupKey>,
    /// Tells groups apart that had the same index one after the other.
    pub(super) serial: u64,
    pub(super) index: GroupIndex,
    /// Of the table that it exports.
    pub(super) table: usize,
    pub(in crate::rib) out: AdjRibOut,
    /// Slots whose best path changed since they were last compared with `out`.
    pub(in crate::rib) dirty: SlotSet,
    pub(super) cursor: usize,
    /// In order of peer.
    pub(in crate::rib) members: Vec<Member>,
    /// The first round over all prefixes is not done.
    pub(super) filling: bool,
    /// How often `out` changed.
    pub(super) version: u64,
    /// The group that its members came from, and that one's version then, while nothing has been sent since.
    pub(super) branch: Option<(u64, u64)>,
    /// Where the walk over `out` is that members without it ride.
    pub(super) dump_cursor: usize,
    /// Until when members that have room wait for those that have none.
    pub(super) patience: Option<Instant>,
    pub(super) dump_patience: Option<Instant>,
    /// The members that get live changes; `None` when that has to be worked out again.
    in_step: Option<Arc<[PeerId]>>,
    /// iBGP only: for not reflecting a route back to where it started.
    by_router_id: HashMap<RouterId, SmallVec<[PeerIndex; 1]>>,
}

/// How many of some members may be handed more.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Room {
    /// All, or there are none.
    All,
    Some,
    None,
}

/// True when a peer may be handed more.
pub(super) fn has_room(shared: &Shared, peer: PeerIndex) -> bool {
    shared
        .peers
        .record(peer)
        .is_some_and(|record| record.outstanding < shared.settings.send_window)
}

/// Members that do not get a route: where it came from, and where it started.
pub(super) type Excluded = SmallVec<[PeerIndex; 2]>;

impl Group {
    pub(super) fn new(key: Arc<GroupKey>, table: usize, index: GroupIndex, serial: u64) -> Self {
        Self {
            key,
            serial,
            index,
            table,
            out: AdjRibOut::default(),
            dirty: SlotSet::default(),
            cursor: 0,
            members: Vec::new(),
            filling: true,
            version: 0,
            branch: None,
            dump_cursor: 0,
            patience: None,
            dump_patience: None,
            in_step: None,
            by_router_id: HashMap::new(),
        }
    }

    /// Gives the group another key; what was sent stays, and has to be compared.
    pub(super) fn set_key(&mut self, shared: &Shared, key: Arc<GroupKey>) {
        self.key = key;
        self.branch = None;
        self.by_router_id.clear();
        for position in 0..self.members.len() {
            self.index_router_id(shared, self.members[position].peer);
        }
    }

    pub(super) fn add(&mut self, shared: &Shared, member: Member) {
        self.index_router_id(shared, member.peer);
        let position = self
            .members
            .partition_point(|other| other.peer < member.peer);
        self.members.insert(position, member);
        self.in_step = None;
    }

    fn index_router_id(&mut self, shared: &Shared, peer: PeerIndex) {
        if self.key.cluster_id.is_some() {
            let router_id = shared.peers.facts(peer).router_id;
            self.by_router_id.entry(router_id).or_default().push(peer);
        }
    }

    /// Takes a member out, also when what is known of it has changed since it came.
    pub(super) fn take(&mut self, peer: PeerIndex) -> Option<Member> {
        let position = self
            .members
            .binary_search_by_key(&peer, |member| member.peer)
            .ok()?;
        self.by_router_id.retain(|_, peers| {
            peers.retain(|other| *other != peer);
            !peers.is_empty()
        });
        self.in_step = None;
        Some(self.members.remove(position))
    }

    pub(in crate::rib) fn member(&self, peer: PeerIndex) -> Option<&Member> {
        let position = self
            .members
            .binary_search_by_key(&peer, |member| member.peer)
            .ok()?;
        self.members.get(position)
    }

    /// The round over Adj-RIB-Out has come to `to`; those that have been all round get off.
    pub(super) fn advance_dump(&mut self, to: usize) {
        let at_end = to >= self.out.end();
        self.dump_cursor = if at_end { 0 } else { to };
        for member in &mut self.members {
            if let Some(dump) = &mut member.dump {
                // Not `dump_cursor >= start`: one batch may go past `start` and on to the end, where the cursor is 0.
                let over = if dump.wrapped {
                    to >= dump.start
                } else {
                    at_end && dump.start == 0
                };
                dump.wrapped |= at_end;
                if over {
                    member.dump = None;
                }
            }
        }
    }

    /// How many of the members concerned have room.
    pub(super) fn room(&self, shared: &Shared, concerned: fn(&Member) -> bool) -> Room {
        let (mut ready, mut stuck) = (false, false);
        for member in self.members.iter().filter(|member| concerned(member)) {
            let room = has_room(shared, member.peer);
            ready |= room;
            stuck |= !room;
        }
        match (ready, stuck) {
            (_, false) => Room::All,
            (true, true) => Room::Some,
            (false, true) => Room::None,
        }
    }

    /// The members concerned that have no room lag from now on.
    pub(super) fn leave_behind(&mut self, shared: &Shared, concerned: fn(&Member) -> bool) {
        let (out, cursor) = (&self.out, self.dump_cursor);
        for member in self.members.iter_mut().filter(|member| concerned(member)) {
            if !has_room(shared, member.peer) {
                member.lag(out, cursor);
            }
        }
        self.in_step = None;
    }

    /// When there is something to send: at once, or when patience ends. `None` when all waits for room or for routes.
    pub(super) fn deadline(&self, shared: &Shared) -> Option<Instant> {
        let paced = |concerned, patience: Option<Instant>| match self.room(shared, concerned) {
            Room::All => Some(Instant::ZERO),
            Room::Some => Some(patience.unwrap_or(Instant::ZERO)),
            Room::None => None,
        };
        let live = if self.dirty.is_empty() {
            None
        } else {
            paced(Member::is_in_step, self.patience)
        };
        let dump = if self.members.iter().any(Member::is_dumping) {
            paced(Member::is_dumping, self.dump_patience)
        } else {
            None
        };
        let alone = self.members.iter().any(|member| {
            let fed = member.is_lagging() && has_room(shared, member.peer);
            fed || !self.filling && member.owes() && !member.is_behind()
        });
        let alone = alone.then_some(Instant::ZERO);
        [live, dump, alone].into_iter().flatten().min()
    }

    /// A member began or ceased to lag.
    pub(super) fn steps_changed(&mut self) {
        self.in_step = None;
    }

    /// The members that get live changes.
    pub(super) fn in_step(&mut self, shared: &Shared) -> Arc<[PeerId]> {
        let members = &self.members;
        Arc::clone(self.in_step.get_or_insert_with(|| {
            members
                .iter()
                .filter(|member| !member.is_lagging())
                .map(|member| shared.peers.facts(member.peer).id)
                .collect()
        }))
    }

    /// The members that do not have, or must not get, what is sent of a prefix.
    pub(in crate::rib) fn excluded(&self, shared: &Shared, sent: Option<Sent>) -> Excluded {
        let mut excluded = Excluded::new();
        let Some(Sent { attributes, source }) = sent else {
            return excluded;
        };
        // Split horizon: the peer has it from nearer by.
        if shared.peers.family(source, self.table).group == Some(self.index) {
            excluded.push(source);
        }
        // RFC 4456 section 8: never reflect back to the originator.
        if !self.by_router_id.is_empty()
            && let Some(originator) = shared.attributes.metrics(attributes).originator_id
            && let Some(peers) = self.by_router_id.get(&originator)
        {
            excluded.extend(peers.iter().copied().filter(|peer| *peer != source));
        }
        excluded.sort_unstable();
        excluded
    }
}

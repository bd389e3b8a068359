//! One family: Adj-RIB-In of all peers and Loc-RIB, by slot.
//!
//! ```text
//!  announce, withdraw ─▶ paths ─▶ dirty ─▶ decide ─▶ best ─▶ FIB change
//!                                              └──▶ the groups' dirty sets
//! ```
//!
//! A prefix costs 16 bytes here, 12 (IPv4) or 24 (IPv6) in the index, and 16 for each path: 44 bytes for an IPv4 route
//! that one peer announces, plus 6 for each update group that carries it and its share of an attribute set.

use std::net::IpAddr;

use bgp_wire::Family;
use ipnet::IpNet;
use smallvec::SmallVec;

use super::attributes::Metrics;
use super::decision::{Candidate, Candidates, Step, TieBreak, decide};
use super::fib::{FibChange, FibId, FibNextHop, FibRoute};
use super::ids::{AttrId, PeerIndex, Slot};
use super::next_hops::Resolution;
use super::paths::{ImportVerdict, Path, PathList, PathStore};
use super::peers::FAMILIES;
use super::prefixes::PrefixTable;
use super::shared::Shared;
use super::slot_set::SlotSet;
use super::walk::Walk;
use crate::policy::RouteSource;

/// The routes of one family.
#[derive(Debug)]
pub(super) struct Table {
    /// In [`FAMILIES`].
    pub(super) number: usize,
    pub(super) family: Family,
    pub(super) prefixes: PrefixTable,
    pub(super) paths: PathStore,
    pub(super) slots: Vec<SlotRecord>,
    /// Slots whose paths changed since their last decision.
    pub(super) dirty: SlotSet,
    cursor: usize,
    /// Slots without paths that somebody may still name: a group that has not withdrawn them yet.
    graveyard: SlotSet,
    grave_cursor: usize,
    /// The last look at the graveyard gave slots back, and left some unseen.
    burying: bool,
    pub(super) walk: Walk,
}

/// What Loc-RIB holds of one prefix.
#[derive(Copy, Clone, Debug)]
pub(super) struct SlotRecord {
    pub(super) paths: PathList,
    /// What the kernel was told.
    pub(super) fib: FibId,
    best: u16,
    /// Adj-RIBs-Out that have the prefix.
    pub(super) holders: u16,
}

/// A path that a peer, or this node itself, announces.
#[derive(Copy, Clone, Debug)]
pub(super) struct Announcement {
    pub(super) peer: PeerIndex,
    pub(super) path_id: u32,
    pub(super) received: AttrId,
    pub(super) accepted: AttrId,
    pub(super) verdict: ImportVerdict,
}

/// What came out of a batch of decisions.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) fib: Vec<FibChange>,
    pub(super) best: Vec<IpNet>,
}

impl SlotRecord {
    const UNUSED: Self = Self {
        paths: PathList::EMPTY,
        fib: FibId::NONE,
        best: NO_BEST,
        holders: 0,
    };

    /// Position of the best path among the paths of the prefix.
    pub(super) fn best(&self) -> Option<usize> {
        (self.best < TOUCHED).then_some(usize::from(self.best))
    }
}

impl Table {
    pub(super) fn new(number: usize) -> Self {
        let family = FAMILIES[number];
        Self {
            number,
            family,
            prefixes: PrefixTable::new(family),
            paths: PathStore::default(),
            slots: Vec::new(),
            dirty: SlotSet::default(),
            cursor: 0,
            graveyard: SlotSet::default(),
            grave_cursor: 0,
            burying: false,
            walk: Walk::default(),
        }
    }

    /// Puts a path into Adj-RIB-In, in place of the one with the same peer and path id.
    ///
    /// The attribute ids stay the caller's; the table takes references of its own.
    pub(super) fn announce(&mut self, shared: &mut Shared, prefix: IpNet, path: Announcement) {
        let Some(slot) = self.prefixes.find_or_insert(prefix) else {
            return;
        };
        if slot.index() >= self.slots.len() {
            self.slots.resize(slot.index() + 1, SlotRecord::UNUSED);
        }
        self.graveyard.remove(slot);
        let list = self.slots[slot.index()].paths;
        match self.paths.position(list, path.peer, path.path_id) {
            Ok(position) => self.replace(shared, slot, position, path),
            Err(position) => self.insert(shared, slot, position, path),
        }
    }

    /// Takes a path out of Adj-RIB-In; nothing when it is not there.
    pub(super) fn withdraw(
        &mut self,
        shared: &mut Shared,
        prefix: IpNet,
        peer: PeerIndex,
        path_id: u32,
    ) {
        let Some(slot) = self.prefixes.find(prefix) else {
            return;
        };
        let list = self.slots[slot.index()].paths;
        if let Ok(position) = self.paths.position(list, peer, path_id) {
            self.remove(shared, slot, position);
        }
    }

    /// Takes the path at a position out.
    pub(super) fn remove(&mut self, shared: &mut Shared, slot: Slot, position: usize) {
        self.touch_path(shared, slot, position);
        let record = &mut self.slots[slot.index()];
        let path = self.paths.remove(&mut record.paths, position);
        if record.best < TOUCHED && usize::from(record.best) > position {
            record.best -= 1;
        }
        let family = shared.peers.family_mut(path.peer, self.number);
        family.held -= 1;
        family.fresh -= u32::from(path.generation == family.life.current());
        family.accepted -= u32::from(path.accepted != AttrId::NONE);
        shared.release(path.received);
        shared.release(path.accepted);
        self.dirty.insert(slot);
    }

    /// The path at a position comes out of import differently now. Takes over the reference to `accepted`.
    pub(super) fn set_accepted(
        &mut self,
        shared: &mut Shared,
        slot: Slot,
        position: usize,
        accepted: AttrId,
        verdict: ImportVerdict,
    ) {
        // Also when nothing differs: what is known of the peer may, and decision and export ask for that.
        self.touch_path(shared, slot, position);
        let path = &mut self.paths.get_mut(self.slots[slot.index()].paths)[position];
        let family = shared.peers.family_mut(path.peer, self.number);
        family.accepted -= u32::from(path.accepted != AttrId::NONE);
        family.accepted += u32::from(accepted != AttrId::NONE);
        let old = std::mem::replace(&mut path.accepted, accepted);
        path.verdict = verdict;
        shared.release(old);
        self.dirty.insert(slot);
    }

    /// The best path of a slot, as last decided.
    pub(super) fn best(&self, slot: Slot) -> Option<&Path> {
        let record = self.slots.get(slot.index())?;
        self.paths.get(record.paths).get(record.best()?)
    }

    /// The next slot to decide, taken out of the dirty set.
    pub(super) fn next_dirty(&mut self) -> Option<Slot> {
        self.dirty.pop(&mut self.cursor)
    }

    /// Runs the decision for a slot; true when the best path is another, or has changed.
    pub(super) fn decide(
        &mut self,
        shared: &mut Shared,
        slot: Slot,
        changes: &mut Changes,
    ) -> bool {
        let mut candidates = self.candidates(shared, slot);
        decide(&mut candidates, |_, _| {});
        self.set_fib(shared, slot, &candidates, changes);

        let best = candidates.first().map_or(NO_BEST, |best| best.position);
        let record = &mut self.slots[slot.index()];
        let changed = record.best != best;
        if changed {
            self.count_best(shared, slot, Count::Down);
            self.slots[slot.index()].best = best;
            self.count_best(shared, slot, Count::Up);
            changes.best.push(self.prefixes.get(slot));
        }
        let record = &self.slots[slot.index()];
        if record.paths.is_empty() {
            self.graveyard.insert(slot);
        }
        changed
    }

    /// Gives slots back that hold nothing and that nobody `wants`; looks at up to `budget`.
    pub(super) fn bury(&mut self, budget: usize, wants: impl Fn(Slot) -> bool) {
        let seen = budget.min(self.graveyard.len());
        let mut kept = Vec::new();
        for _ in 0..seen {
            let Some(slot) = self.graveyard.pop(&mut self.grave_cursor) else {
                break;
            };
            let record = &self.slots[slot.index()];
            let empty = record.paths.is_empty() && record.holders == 0;
            if !empty || self.dirty.contains(slot) || wants(slot) {
                kept.push(slot);
            } else {
                self.prefixes.remove(slot);
            }
        }
        self.burying = kept.len() < seen && !self.graveyard.is_empty();
        for slot in kept {
            self.graveyard.insert(slot);
        }
    }

    /// True when there is something to do at once.
    pub(super) const fn is_busy(&self) -> bool {
        !self.walk.is_idle() || !self.dirty.is_empty() || self.burying
    }

    /// The paths of a slot that may be used, in order of peer.
    pub(super) fn candidates(&self, shared: &Shared, slot: Slot) -> Candidates {
        let list = self.slots[slot.index()].paths;
        (0..NO_BEST)
            .zip(self.paths.get(list))
            .filter_map(|(position, path)| {
                self.eligible(shared, path)
                    .ok()
                    .map(|eligible| candidate(shared, position, path, &eligible))
            })
            .collect()
    }

    /// What the decision reads of a path, or why it may not be used.
    pub(super) fn eligible<'a>(
        &self,
        shared: &'a Shared,
        path: &Path,
    ) -> Result<Eligible<'a>, Ineligible> {
        let life = shared.peers.family(path.peer, self.number).life;
        if !life.is_alive(path.generation) {
            return Err(Ineligible::Gone);
        }
        let Some(accepted) = path.accepted.some() else {
            return Err(Ineligible::Import(path.verdict));
        };
        let metrics = shared.attributes.metrics(accepted);
        if path.peer == PeerIndex::LOCAL {
            // Whoever originates it knows whether it is there; nothing is sent to its next hop by way of this table.
            return Ok(Eligible { metrics, cost: 0 });
        }
        match metrics
            .next_hop
            .map(|next_hop| shared.next_hops.resolve(next_hop))
        {
            None => Ok(Eligible { metrics, cost: 0 }),
            Some(Resolution::Usable(cost)) => Ok(Eligible { metrics, cost }),
            Some(Resolution::Own) => Err(Ineligible::NextHopIsSelf),
            Some(Resolution::Unreachable) => Err(Ineligible::NextHopUnreachable),
        }
    }

    fn replace(&mut self, shared: &mut Shared, slot: Slot, position: usize, new: Announcement) {
        let list = self.slots[slot.index()].paths;
        let old = self.paths.get(list)[position];
        let family = shared.peers.family_mut(new.peer, self.number);
        let alive = family.life.is_alive(old.generation);
        let current = family.life.current();
        family.fresh += u32::from(old.generation != current);
        let path = &mut self.paths.get_mut(list)[position];
        path.generation = current;
        if alive
            && (old.received, old.accepted, old.verdict)
                == (new.received, new.accepted, new.verdict)
        {
            return;
        }
        family.accepted -= u32::from(old.accepted != AttrId::NONE);
        family.accepted += u32::from(new.accepted != AttrId::NONE);
        path.received = shared.attributes.retain(new.received);
        path.accepted = shared.attributes.retain(new.accepted);
        path.verdict = new.verdict;
        shared.release(old.received);
        shared.release(old.accepted);
        self.touch_path(shared, slot, position);
        self.dirty.insert(slot);
    }

    fn insert(&mut self, shared: &mut Shared, slot: Slot, position: usize, new: Announcement) {
        let family = shared.peers.family_mut(new.peer, self.number);
        let path = Path {
            received: new.received,
            accepted: new.accepted,
            path_id: new.path_id,
            peer: new.peer,
            generation: family.life.current(),
            verdict: new.verdict,
        };
        let record = &mut self.slots[slot.index()];
        if record.paths.len() >= MOST_PATHS || !self.paths.insert(&mut record.paths, position, path)
        {
            if let Some(peer) = shared.peers.record_mut(new.peer) {
                peer.overflowed += 1;
            }
            return;
        }
        family.held += 1;
        family.fresh += 1;
        family.accepted += u32::from(new.accepted != AttrId::NONE);
        if record.best < TOUCHED && usize::from(record.best) >= position {
            record.best += 1;
        }
        shared.attributes.retain(new.received);
        shared.attributes.retain(new.accepted);
        self.dirty.insert(slot);
    }

    /// The path at a position changes: if it is the best one, the next decision finds another best in any case.
    fn touch_path(&mut self, shared: &mut Shared, slot: Slot, position: usize) {
        if self.slots[slot.index()].best() == Some(position) {
            self.count_best(shared, slot, Count::Down);
            self.slots[slot.index()].best = TOUCHED;
        }
    }

    fn count_best(&self, shared: &mut Shared, slot: Slot, count: Count) {
        let Some(peer) = self.best(slot).map(|path| path.peer) else {
            return;
        };
        let family = shared.peers.family_mut(peer, self.number);
        match count {
            Count::Up => family.best += 1,
            Count::Down => family.best -= 1,
        }
    }

    fn set_fib(
        &mut self,
        shared: &mut Shared,
        slot: Slot,
        equal: &Candidates,
        changes: &mut Changes,
    ) {
        let route = self.fib_route(shared, slot, equal);
        let installed = self.slots[slot.index()].fib;
        if shared.fibs.get(installed) == route.as_ref() {
            return;
        }
        let prefix = self.prefixes.get(slot);
        changes.fib.push(FibChange {
            prefix,
            route: route.clone(),
        });
        let id = route.map_or(FibId::NONE, |route| shared.fibs.intern(route));
        self.slots[slot.index()].fib = id;
        shared.fibs.release(installed);
    }

    fn fib_route(&self, shared: &Shared, slot: Slot, equal: &Candidates) -> Option<FibRoute> {
        let paths = self.paths.get(self.slots[slot.index()].paths);
        let best = paths.get(usize::from(equal.first()?.position))?;
        let RouteSource::Peer(source) = shared.peers.facts(best.peer).source else {
            return None;
        };
        let mut next_hops = SmallVec::<[FibNextHop; 1]>::new();
        let most = usize::from(shared.settings.multipath.max(1));
        for candidate in equal.iter().take(most) {
            let path = &paths[usize::from(candidate.position)];
            let Some(next_hop) = shared.attributes.metrics(path.accepted).next_hop else {
                continue;
            };
            let address = shared.next_hops.address(next_hop);
            let interface = shared
                .peers
                .facts(path.peer)
                .interface
                .filter(|_| is_link_local(address));
            let next_hop = FibNextHop {
                address,
                interface,
                weight: 1,
            };
            if !next_hops.contains(&next_hop) {
                next_hops.push(next_hop);
            }
        }
        let local_pref = shared.attributes.metrics(best.accepted).local_pref;
        (!next_hops.is_empty()).then_some(FibRoute {
            next_hops,
            source,
            local_pref,
        })
    }

    /// The step at which each usable path lost, by position; the paths left are equal, best first.
    pub(super) fn trace(
        &self,
        shared: &Shared,
        slot: Slot,
    ) -> (Candidates, SmallVec<[(u16, Step); 8]>) {
        let mut candidates = self.candidates(shared, slot);
        let mut lost = SmallVec::new();
        decide(&mut candidates, |candidate, step| {
            lost.push((candidate.position, step))
        });
        (candidates, lost)
    }
}

/// What the decision reads of a path that may be used.
#[derive(Debug)]
pub(super) struct Eligible<'a> {
    metrics: &'a Metrics,
    cost: u32,
}

/// Why a path may not be used.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Ineligible {
    /// Its session is over, or swept it; a walk is on its way to reclaim it.
    Gone,
    /// Import did not let it pass.
    Import(ImportVerdict),
    /// RFC 4271 section 5.1.3.
    NextHopIsSelf,
    /// RFC 4271 section 9.1.2.1.
    NextHopUnreachable,
}

fn candidate(shared: &Shared, position: u16, path: &Path, eligible: &Eligible<'_>) -> Candidate {
    let Eligible { metrics, cost } = eligible;
    let facts = shared.peers.facts(path.peer);
    Candidate {
        position,
        local: path.peer == PeerIndex::LOCAL,
        ebgp: facts.is_ebgp(),
        origin: metrics.origin as u8,
        local_pref: metrics
            .local_pref
            .unwrap_or(shared.settings.default_local_pref),
        hops: metrics.hops,
        neighbour: metrics.neighbour,
        // RFC 4271 section 9.1.2.2 (c): without MED it counts as the lowest.
        med: metrics.med.unwrap_or(0),
        cost: *cost,
        tie: TieBreak {
            router_id: metrics.originator_id.unwrap_or(facts.router_id),
            cluster_list: metrics.cluster_list,
            address: facts.address,
            peer: facts.id,
            path_id: path.path_id,
        },
    }
}

const fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[derive(Copy, Clone)]
enum Count {
    Up,
    Down,
}

/// In [`SlotRecord::best`]: there is none.
const NO_BEST: u16 = u16::MAX;
/// In [`SlotRecord::best`]: it changed or went after the last decision; the slot is dirty.
const TOUCHED: u16 = u16::MAX - 1;
/// Paths for one prefix: every position is below the special values of [`SlotRecord::best`].
const MOST_PATHS: usize = TOUCHED as usize;

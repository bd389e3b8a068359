//! The shard itself: what each event does, and the order of the work that follows.
//!
//! `handle` only records: it changes Adj-RIB-In and marks what is dirty. The rest happens in `handle_timeout`, in slices,
//! so that events which come in a burst cost one decision and one message:
//!
//! ```text
//!  walk (sweep, import again) ─▶ decide ─▶ Fib, BestChanged ─▶ groups: compare, pack, Send ─▶ give slots back
//! ```

use std::net::IpAddr;
use std::sync::Arc;

use bgp_wire::{Family, RefreshSubtype};
use ipnet::IpNet;

use super::attributes::RouteAttributes;
use super::event::{Origination, RibAction, RibEvent};
use super::export::{GroupKey, Groups};
use super::ids::PeerIndex;
use super::import;
use super::life::Life;
use super::paths::ImportVerdict;
use super::peers::{FAMILIES, table_index};
use super::settings::{RibPeer, ShardSettings};
use super::shared::Shared;
use super::table::{Announcement, Changes, Table};
use super::walk::Job;
use crate::policy::Policy;
use crate::{Epoch, Instant, Outbox, PeerId};

/// One slice of the prefix space: Adj-RIB-In, decision, Loc-RIB and update groups of every family.
///
/// A prefix must always go to the same shard. Everything else is told to all shards alike.
#[derive(Debug)]
pub struct Shard {
    pub(super) shared: Shared,
    pub(super) tables: [Table; FAMILIES.len()],
    pub(super) groups: Groups,
    pub(super) deferring: bool,
    pub(super) refused_peers: u64,
    /// Some next hops carry the mark that a walk looks for.
    next_hops_marked: bool,
    slices: Slices,
}

/// How much one call of [`Shard::handle_timeout`] does, in slots: a few ms, so that nothing else waits for longer.
#[derive(Copy, Clone, Debug)]
pub(super) struct Slices {
    /// Visits of a walk, for each family.
    pub(super) walk: usize,
    /// Decisions, for each family.
    pub(super) decide: usize,
    /// Comparisons with, and dumps of, Adj-RIBs-Out.
    pub(super) send: usize,
    /// Of these, between two looks at how much room the members have.
    pub(super) step: usize,
    /// Slots of groups that closed.
    pub(super) reclaim: usize,
    /// Looks at slots that may be given back, for each family.
    pub(super) bury: usize,
}

impl Default for Slices {
    fn default() -> Self {
        Self {
            walk: 16_384,
            decide: 16_384,
            send: 32_768,
            step: 2048,
            reclaim: 65_536,
            bury: 16_384,
        }
    }
}

impl Shard {
    /// An empty shard. One that is `deferring` decides and programs routes, but sends nothing before
    /// [`RibEvent::EndDeferral`] (RFC 4724 section 4.1).
    #[must_use]
    pub fn new(settings: ShardSettings, deferring: bool) -> Self {
        Self {
            shared: Shared::new(settings),
            tables: std::array::from_fn(Table::new),
            groups: Groups::default(),
            deferring,
            refused_peers: 0,
            next_hops_marked: false,
            slices: Slices::default(),
        }
    }

    /// Cuts the work differently, so that small tables take many slices.
    #[cfg(test)]
    pub(super) const fn set_slices(&mut self, slices: Slices) {
        self.slices = slices;
    }

    /// Takes in what happened. Most of what follows from it is done by [`Self::handle_timeout`].
    pub fn handle(&mut self, _now: Instant, event: RibEvent, out: &mut Outbox<RibAction>) {
        match event {
            RibEvent::PeerUp {
                peer,
                epoch,
                settings,
            } => self.peer_up(peer, epoch, settings),
            RibEvent::PeerDown { peer, epoch, keep } => {
                if let Some(index) = self.shared.peers.find_up(peer, epoch) {
                    self.peer_down(index, &keep);
                }
            }
            RibEvent::FlushStale { peer, families } => {
                for family in families {
                    self.turn_life(peer, family, Life::end_restart);
                }
            }
            RibEvent::RemovePeer { peer } => self.remove_peer(peer),
            RibEvent::Update {
                peer,
                epoch,
                update,
            } => {
                if let Some(index) = self.shared.peers.find_up(peer, epoch) {
                    import::receive(&mut self.shared, &mut self.tables, index, update);
                }
            }
            RibEvent::EndOfRib {
                peer,
                epoch,
                family,
            } => {
                if self.shared.peers.find_up(peer, epoch).is_some() {
                    self.turn_life(peer, family, Life::end_restart);
                }
            }
            RibEvent::Refresh {
                peer,
                epoch,
                family,
                subtype,
            } => {
                if self.shared.peers.find_up(peer, epoch).is_some() {
                    self.refresh(peer, family, subtype, out);
                }
            }
            RibEvent::Originate(routes) => {
                for route in routes {
                    self.originate(route);
                }
            }
            RibEvent::Withdraw(prefixes) => {
                for prefix in prefixes {
                    self.withdraw(prefix);
                }
            }
            RibEvent::Policies {
                peer,
                import,
                export,
            } => self.set_policies(peer, import, export),
            RibEvent::PeerSettings { peer, settings } => self.set_peer(peer, settings),
            RibEvent::NextHopChanged { address, state } => {
                let concerned = self.shared.next_hops.set_state(address, state);
                self.next_hops_changed(concerned);
            }
            RibEvent::Sent { peer, epoch, bytes } => {
                let index = self.shared.peers.find_up(peer, epoch);
                if let Some(record) = index.and_then(|index| self.shared.peers.record_mut(index)) {
                    record.outstanding = record.outstanding.saturating_sub(bytes);
                }
            }
            RibEvent::EndDeferral => self.deferring = false,
            RibEvent::Configure(settings) => self.configure(settings),
        }
    }

    /// Does a slice of the work that waits.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Outbox<RibAction>) {
        let slices = self.slices;
        for table in &mut self.tables {
            table.walk(&mut self.shared, slices.walk);
        }
        self.unmark_next_hops();
        self.decide(out);
        if !self.deferring {
            self.groups
                .run(&mut self.shared, &mut self.tables, now, slices, out);
        }
        self.groups
            .reclaim(&mut self.shared, &mut self.tables, slices.reclaim);
        self.bury();
        if self.groups.is_clean() && self.tables.iter().all(|table| table.dirty.is_empty()) {
            self.shared.peers.recycle();
        }
    }

    /// When to call [`Self::handle_timeout`] next: [`Instant::ZERO`], which is past, when work waits.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.tables.iter().any(Table::is_busy) || self.groups.is_reclaiming() {
            return Some(Instant::ZERO);
        }
        if self.deferring {
            None
        } else {
            self.groups.next_deadline(&self.shared)
        }
    }

    fn peer_up(&mut self, peer: PeerId, epoch: Epoch, settings: Arc<RibPeer>) {
        let index = match self.shared.peers.find(peer) {
            Some(index) => {
                if self
                    .shared
                    .peers
                    .record(index)
                    .is_some_and(|record| record.up)
                {
                    self.peer_down(index, &[]);
                }
                self.replace_settings(index, settings);
                index
            }
            None => {
                let own = settings.own_addresses();
                let Some(index) = self.shared.peers.add(peer, settings) else {
                    self.refused_peers += 1;
                    return;
                };
                self.add_own(own);
                index
            }
        };
        if let Some(record) = self.shared.peers.record_mut(index) {
            record.up = true;
            record.epoch = epoch;
            record.outstanding = 0;
        }
        self.place(index);
    }

    fn peer_down(&mut self, index: PeerIndex, keep: &[Family]) {
        if let Some(record) = self.shared.peers.record_mut(index) {
            record.up = false;
        }
        for (number, family) in FAMILIES.iter().enumerate() {
            self.groups
                .leave(&mut self.shared, &self.tables[number], index);
            let begin = if keep.contains(family) {
                Life::restart
            } else {
                Life::end
            };
            self.change_life(index, number, begin);
        }
    }

    fn remove_peer(&mut self, peer: PeerId) {
        let Some(index) = self.shared.peers.find(peer) else {
            return;
        };
        self.peer_down(index, &[]);
        let own = self
            .shared
            .peers
            .record(index)
            .map(|record| record.settings.own_addresses());
        if let Some(own) = own {
            self.remove_own(own);
        }
        self.shared.peers.remove(index);
    }

    fn turn_life(&mut self, peer: PeerId, family: Family, change: fn(&mut Life)) {
        if let (Some(index), Some(number)) = (self.shared.peers.find(peer), table_index(family)) {
            self.change_life(index, number, change);
        }
    }

    /// Begins or ends a generation, and sends a walk to reclaim what died.
    fn change_life(&mut self, index: PeerIndex, number: usize, change: fn(&mut Life)) {
        let family = self.shared.peers.family_mut(index, number);
        if family.held == 0 {
            family.life.swept();
        } else if family.life.must_sweep() {
            self.tables[number].walk_to_end(&mut self.shared);
        }
        let family = self.shared.peers.family_mut(index, number);
        let before = family.life;
        change(&mut family.life);
        if family.life.current() != before.current() {
            family.fresh = 0;
        }
        if family.held > 0 && family.life != before {
            self.tables[number].walk.add(Job::Sweep);
        }
    }

    fn refresh(
        &mut self,
        peer: PeerId,
        family: Family,
        subtype: RefreshSubtype,
        out: &mut Outbox<RibAction>,
    ) {
        match subtype {
            RefreshSubtype::Normal => {
                // What was never sent need not be sent again.
                if let (false, Some(index), Some(number)) = (
                    self.deferring,
                    self.shared.peers.find(peer),
                    table_index(family),
                ) {
                    self.groups
                        .resend(&mut self.shared, &self.tables[number], index, out);
                }
            }
            RefreshSubtype::Begin => self.turn_life(peer, family, Life::begin_refresh),
            RefreshSubtype::End => self.turn_life(peer, family, Life::end_refresh),
            RefreshSubtype::Unknown(_) => {}
        }
    }

    fn originate(&mut self, route: Origination) {
        let Origination {
            prefix,
            mut attributes,
            next_hop,
        } = route;
        let prefix = prefix.trunc();
        // Marks of reflection (RFC 4456 section 8): nobody has reflected it yet.
        attributes.originator_id = None;
        attributes.cluster_list.clear();
        let next_hop = next_hop.map(Into::into);
        let id = self.shared.intern(RouteAttributes {
            attributes,
            next_hop,
        });
        let path = Announcement {
            peer: PeerIndex::LOCAL,
            path_id: 0,
            received: id,
            accepted: id,
            verdict: ImportVerdict::Accepted,
        };
        self.tables[number_of(prefix)].announce(&mut self.shared, prefix, path);
        self.shared.release(id);
    }

    fn withdraw(&mut self, prefix: IpNet) {
        let prefix = prefix.trunc();
        let number = number_of(prefix);
        self.tables[number].withdraw(&mut self.shared, prefix, PeerIndex::LOCAL, 0);
    }

    fn set_policies(&mut self, peer: PeerId, import: Arc<Policy>, export: Arc<Policy>) {
        let index = self.shared.peers.find(peer);
        if let Some(record) = index.and_then(|index| self.shared.peers.record(index)) {
            let settings = RibPeer {
                import,
                export,
                ..(*record.settings).clone()
            };
            self.set_peer(peer, Arc::new(settings));
        }
    }

    fn set_peer(&mut self, peer: PeerId, settings: Arc<RibPeer>) {
        if let Some(index) = self.shared.peers.find(peer) {
            self.replace_settings(index, settings);
            self.place(index);
        }
    }

    fn replace_settings(&mut self, index: PeerIndex, settings: Arc<RibPeer>) {
        let old = self
            .shared
            .peers
            .record(index)
            .map(|record| record.settings.own_addresses());
        self.add_own(settings.own_addresses());
        if let Some(old) = old {
            self.remove_own(old);
        }
        if self.shared.peers.set_settings(index, settings) {
            self.import_again(index);
        }
    }

    fn import_again(&mut self, index: PeerIndex) {
        for table in &mut self.tables {
            let family = self.shared.peers.family_mut(index, table.number);
            if family.held > 0 {
                family.reimport = true;
                table.walk.add(Job::Reimport(index));
            }
        }
    }

    /// Puts a peer that is up into the group of its key in each of its families, and out of all others.
    fn place(&mut self, index: PeerIndex) {
        let Some(record) = self.shared.peers.record(index).filter(|record| record.up) else {
            return;
        };
        let settings = Arc::clone(&record.settings);
        for table in &mut self.tables {
            if settings.families.contains(&table.family) {
                let key = GroupKey::of(&self.shared.settings, &settings, table.family);
                self.groups.place(&mut self.shared, table, index, key);
            } else {
                self.groups.leave(&mut self.shared, table, index);
            }
        }
    }

    fn configure(&mut self, settings: ShardSettings) {
        if settings == self.shared.settings {
            return;
        }
        self.shared.peers.set_router_id(settings.router_id);
        self.shared.settings = settings;
        let peers: Vec<_> = self.shared.peers.iter().map(|(index, _)| index).collect();
        for index in peers {
            self.import_again(index);
            self.place(index);
        }
        for table in &mut self.tables {
            table.walk.add(Job::Redecide);
        }
    }

    fn add_own(&mut self, addresses: impl Iterator<Item = IpAddr>) {
        for address in addresses {
            let concerned = self.shared.next_hops.add_own(address);
            self.next_hops_changed(concerned);
        }
    }

    fn remove_own(&mut self, addresses: impl Iterator<Item = IpAddr>) {
        for address in addresses {
            let concerned = self.shared.next_hops.remove_own(address);
            self.next_hops_changed(concerned);
        }
    }

    fn next_hops_changed(&mut self, concerned: bool) {
        if concerned {
            self.next_hops_marked = true;
            for table in &mut self.tables {
                table.walk.add(Job::NextHops);
            }
        }
    }

    fn unmark_next_hops(&mut self) {
        if self.next_hops_marked
            && self
                .tables
                .iter()
                .all(|table| !table.walk.has(Job::NextHops))
        {
            self.shared.next_hops.clear_changed();
            self.next_hops_marked = false;
        }
    }

    fn decide(&mut self, out: &mut Outbox<RibAction>) {
        let mut changes = Changes::default();
        for table in &mut self.tables {
            for _ in 0..self.slices.decide {
                let Some(slot) = table.next_dirty() else {
                    break;
                };
                if table.decide(&mut self.shared, slot, &mut changes) {
                    self.groups.mark(table.number, slot);
                }
            }
        }
        if !changes.fib.is_empty() {
            out.push(RibAction::Fib(changes.fib));
        }
        if !changes.best.is_empty() {
            out.push(RibAction::BestChanged(changes.best));
        }
    }

    /// Gives back the slots of prefixes that nobody holds or was sent any more.
    fn bury(&mut self) {
        let Self {
            tables,
            groups,
            slices,
            ..
        } = self;
        for (number, table) in tables.iter_mut().enumerate() {
            table.bury(slices.bury, |slot| groups.wants(number, slot));
        }
    }
}

fn number_of(prefix: IpNet) -> usize {
    match prefix {
        IpNet::V4(_) => 0,
        IpNet::V6(_) => 1,
    }
}

//! Next hops that attribute sets name, and what is known of them.
//!
//! An attribute set holds the index of its next hop, so a decision looks a next hop up with one array access. There
//! are as many entries as distinct next hops: about one for each router, never one for each route.

use std::net::IpAddr;

use hashbrown::HashMap;

/// What the driver knows of an address that routes go through.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum NextHopState {
    /// There is a way to it.
    Reachable {
        /// Of the way inside this network, for RFC 4271 section 9.1.2.2 step (e). Lower is better.
        cost: u32,
    },
    /// There is none: paths through it can't be used (RFC 4271 section 9.1.2.1).
    Unreachable,
}

impl Default for NextHopState {
    /// Before anything is known, an address counts as reachable at no cost.
    fn default() -> Self {
        Self::Reachable { cost: 0 }
    }
}

/// Index into [`NextHopTable`].
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub(super) struct NextHopIndex(u32);

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    /// Attribute sets that name it, plus peers that have it as their own end, plus one while a state is known.
    references: u32,
    state: Option<NextHopState>,
    /// Sessions that have this address as their own end.
    own: u32,
    /// The state changed and a walk is looking for the prefixes that this concerns.
    changed: bool,
}

/// All next hops of a shard.
#[derive(Debug, Default)]
pub(super) struct NextHopTable {
    entries: Vec<Entry>,
    free: Vec<u32>,
    by_address: HashMap<IpAddr, u32>,
}

/// How a path fares with its next hop.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Resolution {
    /// Usable at this cost.
    Usable(u32),
    /// No way to it.
    Unreachable,
    /// It is this node (RFC 4271 section 5.1.3: such a route is never used).
    Own,
}

impl NextHopTable {
    /// Takes a reference to an address, for [`Self::release`].
    pub(super) fn acquire(&mut self, address: IpAddr) -> NextHopIndex {
        let index = self.index_of(address);
        self.entries[index as usize].references += 1;
        NextHopIndex(index)
    }

    /// Gives a reference back.
    pub(super) fn release(&mut self, NextHopIndex(index): NextHopIndex) {
        let entry = &mut self.entries[index as usize];
        entry.references -= 1;
        if entry.references == 0 {
            self.by_address.remove(&entry.address);
            self.free.push(index);
        }
    }

    /// The address itself.
    pub(super) fn address(&self, NextHopIndex(index): NextHopIndex) -> IpAddr {
        self.entries[index as usize].address
    }

    /// How a path with this next hop fares.
    pub(super) fn resolve(&self, NextHopIndex(index): NextHopIndex) -> Resolution {
        let entry = &self.entries[index as usize];
        match entry.state.unwrap_or_default() {
            _ if entry.own > 0 => Resolution::Own,
            NextHopState::Reachable { cost } => Resolution::Usable(cost),
            NextHopState::Unreachable => Resolution::Unreachable,
        }
    }

    /// Learns the state of an address; true when routes may be concerned: look for [`Self::is_changed`].
    pub(super) fn set_state(&mut self, address: IpAddr, state: NextHopState) -> bool {
        // Nothing to keep: this is what an unknown address counts as.
        let state = (state != NextHopState::default()).then_some(state);
        let NextHopIndex(index) = self.acquire(address);
        let entry = &mut self.entries[index as usize];
        let differs = entry.state != state;
        match (entry.state.is_some(), state.is_some()) {
            (false, true) => entry.references += 1,
            (true, false) => entry.references -= 1,
            _ => {}
        }
        entry.state = state;
        let concerned = differs && entry.references > 1 + u32::from(state.is_some()) + entry.own;
        entry.changed |= concerned;
        self.release(NextHopIndex(index));
        concerned
    }

    /// Records that a session has this address as its own end; true when routes may be concerned.
    pub(super) fn add_own(&mut self, address: IpAddr) -> bool {
        let NextHopIndex(index) = self.acquire(address);
        let entry = &mut self.entries[index as usize];
        entry.own += 1;
        let concerned = entry.own == 1 && entry.references > 1 + u32::from(entry.state.is_some());
        entry.changed |= concerned;
        concerned
    }

    /// Takes back one [`Self::add_own`]; true when routes may be concerned.
    pub(super) fn remove_own(&mut self, address: IpAddr) -> bool {
        let index = self.index_of(address);
        let entry = &mut self.entries[index as usize];
        entry.own -= 1;
        let concerned = entry.own == 0 && entry.references > 1 + u32::from(entry.state.is_some());
        entry.changed |= concerned;
        self.release(NextHopIndex(index));
        concerned
    }

    /// True while a walk looks for the routes through it.
    pub(super) fn is_changed(&self, NextHopIndex(index): NextHopIndex) -> bool {
        self.entries[index as usize].changed
    }

    /// The walks are done.
    pub(super) fn clear_changed(&mut self) {
        for entry in &mut self.entries {
            entry.changed = false;
        }
    }

    fn index_of(&mut self, address: IpAddr) -> u32 {
        if let Some(&index) = self.by_address.get(&address) {
            return index;
        }
        let entry = Entry {
            address,
            references: 0,
            state: None,
            own: 0,
            changed: false,
        };
        let index = if let Some(index) = self.free.pop() {
            self.entries[index as usize] = entry;
            index
        } else {
            self.entries.push(entry);
            u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 next hops fit in memory")
        };
        self.by_address.insert(address, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    #[test]
    fn unknown_is_reachable_at_no_cost() {
        let mut table = NextHopTable::default();
        let index = table.acquire(ADDRESS);
        assert_eq!(table.resolve(index), Resolution::Usable(0));
    }

    #[test]
    fn a_state_outlives_the_routes_that_use_it() {
        let mut table = NextHopTable::default();
        assert!(!table.set_state(ADDRESS, NextHopState::Unreachable));
        let index = table.acquire(ADDRESS);
        assert_eq!(table.resolve(index), Resolution::Unreachable);
        table.release(index);
        let index = table.acquire(ADDRESS);
        assert_eq!(table.resolve(index), Resolution::Unreachable);
        assert!(table.set_state(ADDRESS, NextHopState::Reachable { cost: 7 }));
        assert!(table.is_changed(index));
        assert_eq!(table.resolve(index), Resolution::Usable(7));
    }

    #[test]
    fn own_addresses_count_sessions() {
        let mut table = NextHopTable::default();
        let index = table.acquire(ADDRESS);
        assert!(table.add_own(ADDRESS));
        assert!(!table.add_own(ADDRESS));
        assert_eq!(table.resolve(index), Resolution::Own);
        assert!(!table.remove_own(ADDRESS));
        assert!(table.remove_own(ADDRESS));
        assert_eq!(table.resolve(index), Resolution::Usable(0));
    }

    #[test]
    fn unused_entries_are_reused() {
        let mut table = NextHopTable::default();
        for last in 0..100 {
            let index = table.acquire(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)));
            table.release(index);
        }
        assert_eq!(table.entries.len(), 1);
        assert!(table.by_address.is_empty());
    }
}

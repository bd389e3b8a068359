//! What the kernel should have: routes with their next hops, interned.
//!
//! A prefix holds 4 bytes: the id of its route. Prefixes with the same next hops, source and LOCAL_PREF share one
//! route, so that a change of a path which the kernel would not see is no change.

use std::hash::BuildHasher;
use std::net::IpAddr;

use bgp_wire::SessionType;
use hashbrown::{DefaultHashBuilder, HashTable};
use ipnet::IpNet;
use smallvec::SmallVec;

/// A change of what the kernel should have.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FibChange {
    /// Where to.
    pub prefix: IpNet,
    /// How, in place of what was there before; `None` takes the route away.
    pub route: Option<FibRoute>,
}

/// How to reach a prefix. Never an own route: the kernel has those from elsewhere.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct FibRoute {
    /// At least one; the best path's first, then in an order that depends on nothing but the paths.
    pub next_hops: SmallVec<[FibNextHop; 1]>,
    /// What kind of session the best path came over.
    pub source: SessionType,
    /// Of the best path after import policy; `None` when it has none, as over eBGP.
    pub local_pref: Option<u32>,
}

/// One way out.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct FibNextHop {
    /// The BGP next hop; not yet resolved.
    pub address: IpAddr,
    /// The interface, when the address is link-local and so means nothing without.
    pub interface: Option<u32>,
    /// Share of the load, relative to the others.
    pub weight: u8,
}

/// An interned [`FibRoute`].
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub(super) struct FibId(u32);

impl FibId {
    /// Nothing in the kernel.
    pub(super) const NONE: Self = Self(u32::MAX);
}

/// All distinct routes of a shard.
#[derive(Debug, Default)]
pub(super) struct FibTable {
    entries: Vec<Entry>,
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

#[derive(Debug)]
struct Entry {
    route: FibRoute,
    references: u32,
}

impl FibTable {
    /// The id of a route, with a reference for the caller.
    pub(super) fn intern(&mut self, route: FibRoute) -> FibId {
        let Self {
            entries,
            free,
            index,
            hasher,
        } = self;
        let hash = hasher.hash_one(&route);
        if let Some(&id) = index.find(hash, |id| entries[*id as usize].route == route) {
            entries[id as usize].references += 1;
            return FibId(id);
        }
        let entry = Entry {
            route,
            references: 1,
        };
        let id = if let Some(id) = free.pop() {
            entries[id as usize] = entry;
            id
        } else {
            entries.push(entry);
            u32::try_from(entries.len() - 1).expect("fewer than 2^32 routes fit in memory")
        };
        index.insert_unique(hash, id, |id| hasher.hash_one(&entries[*id as usize].route));
        FibId(id)
    }

    /// Gives a reference back; nothing for `NONE`.
    pub(super) fn release(&mut self, id: FibId) {
        if id == FibId::NONE {
            return;
        }
        let entry = &mut self.entries[id.0 as usize];
        entry.references -= 1;
        if entry.references == 0 {
            let hash = self.hasher.hash_one(&entry.route);
            if let Ok(found) = self.index.find_entry(hash, |other| *other == id.0) {
                found.remove();
            }
            self.free.push(id.0);
        }
    }

    /// The route of an id; `None` for `NONE`.
    pub(super) fn get(&self, id: FibId) -> Option<&FibRoute> {
        (id != FibId::NONE).then(|| &self.entries[id.0 as usize].route)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn via(last: u8) -> FibRoute {
        let next_hop = FibNextHop {
            address: Ipv4Addr::new(192, 0, 2, last).into(),
            interface: None,
            weight: 1,
        };
        FibRoute {
            next_hops: SmallVec::from_buf([next_hop]),
            source: SessionType::Internal,
            local_pref: None,
        }
    }

    #[test]
    fn equal_routes_share_an_id_until_the_last_is_released() {
        let mut table = FibTable::default();
        let first = table.intern(via(1));
        assert_eq!(table.intern(via(1)), first);
        assert_ne!(table.intern(via(2)), first);
        table.release(first);
        assert_eq!(table.get(first), Some(&via(1)));
        table.release(first);
        assert_eq!(table.intern(via(3)), first);
        assert_eq!(table.get(FibId::NONE), None);
    }
}

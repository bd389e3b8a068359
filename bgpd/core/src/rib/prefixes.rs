//! Prefixes and their slots: the exact-match index of a table.
//!
//! A hash table holds slots only, 4 bytes each, and compares through the array of keys; a key costs 5 bytes for IPv4 and
//! 17 for IPv6. With the hash table's slack a prefix costs about 12 bytes (IPv4) or 24 (IPv6) here.
//!
//! There is no ordered index, because nothing on the way of an update needs order. A listing reads the whole array of
//! keys for each page, 5 MB for a million IPv4 prefixes: 2 ms, and no cost for routers that nobody lists.

use std::collections::BinaryHeap;
use std::hash::BuildHasher;

use bgp_wire::Family;
use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::ids::Slot;

/// The prefixes of one family.
#[derive(Debug)]
pub(super) struct PrefixTable {
    keys: Keys,
    /// `true` by slot: the slot holds a prefix.
    used: Vec<bool>,
    index: HashTable<Slot>,
    hasher: DefaultHashBuilder,
    free: Vec<Slot>,
}

#[derive(Debug)]
enum Keys {
    V4(Vec<Ipv4Net>),
    V6(Vec<Ipv6Net>),
}

impl PrefixTable {
    /// An empty table.
    pub(super) fn new(family: Family) -> Self {
        let keys = if family == Family::IPV4_UNICAST {
            Keys::V4(Vec::new())
        } else {
            Keys::V6(Vec::new())
        };
        Self {
            keys,
            used: Vec::new(),
            index: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            free: Vec::new(),
        }
    }

    /// The slot of a prefix; `None` when it has none, or is of another family.
    pub(super) fn find(&self, prefix: IpNet) -> Option<Slot> {
        let hash = self.hash(prefix);
        self.index
            .find(hash, |slot| self.keys.is(*slot, prefix))
            .copied()
    }

    /// The slot of a prefix, a new one when it has none; `None` for a prefix of another family.
    pub(super) fn find_or_insert(&mut self, prefix: IpNet) -> Option<Slot> {
        if !self.keys.holds(prefix) {
            return None;
        }
        let hash = self.hash(prefix);
        let Self {
            keys,
            used,
            index,
            hasher,
            free,
        } = self;
        let same = |slot: &Slot| keys.is(*slot, prefix);
        let entry = match index.entry(hash, same, |slot| keys.hash(hasher, *slot)) {
            Entry::Occupied(entry) => return Some(*entry.get()),
            Entry::Vacant(entry) => entry,
        };
        let slot = free.pop().unwrap_or_else(|| Slot::from_index(used.len()));
        entry.insert(slot);
        keys.set(slot, prefix);
        if slot.index() == used.len() {
            used.push(true);
        } else {
            used[slot.index()] = true;
        }
        Some(slot)
    }

    /// Gives the slot of a prefix back.
    pub(super) fn remove(&mut self, slot: Slot) {
        let hash = self.keys.hash(&self.hasher, slot);
        if let Ok(entry) = self.index.find_entry(hash, |other| *other == slot) {
            entry.remove();
            self.used[slot.index()] = false;
            self.free.push(slot);
        }
    }

    /// The prefix of a slot that is in use.
    pub(super) fn get(&self, slot: Slot) -> IpNet {
        match &self.keys {
            Keys::V4(keys) => IpNet::V4(keys[slot.index()]),
            Keys::V6(keys) => IpNet::V6(keys[slot.index()]),
        }
    }

    /// True when the slot holds a prefix.
    pub(super) fn is_used(&self, slot: Slot) -> bool {
        self.used.get(slot.index()).is_some_and(|used| *used)
    }

    /// One more than the highest slot that was ever in use.
    #[cfg(test)]
    pub(super) fn end(&self) -> usize {
        self.used.len()
    }

    /// How many prefixes.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// The first `limit` prefixes after `after` that pass `keep`, in order. Reads all keys.
    pub(super) fn page(
        &self,
        after: Option<IpNet>,
        limit: usize,
        mut keep: impl FnMut(Slot, IpNet) -> bool,
    ) -> Vec<(IpNet, Slot)> {
        let mut page: BinaryHeap<(IpNet, Slot)> = BinaryHeap::with_capacity(limit.min(4096) + 1);
        for (index, _) in self.used.iter().enumerate().filter(|(_, used)| **used) {
            let slot = Slot::from_index(index);
            let prefix = self.get(slot);
            let wanted = after.is_none_or(|after| prefix > after)
                && (page.len() < limit || page.peek().is_some_and(|last| prefix < last.0));
            if wanted && keep(slot, prefix) {
                page.push((prefix, slot));
                if page.len() > limit {
                    page.pop();
                }
            }
        }
        page.into_sorted_vec()
    }

    fn hash(&self, prefix: IpNet) -> u64 {
        match prefix {
            IpNet::V4(net) => hash_v4(&self.hasher, net),
            IpNet::V6(net) => hash_v6(&self.hasher, net),
        }
    }
}

impl Keys {
    fn is(&self, slot: Slot, prefix: IpNet) -> bool {
        match (self, prefix) {
            (Self::V4(keys), IpNet::V4(net)) => keys[slot.index()] == net,
            (Self::V6(keys), IpNet::V6(net)) => keys[slot.index()] == net,
            _ => false,
        }
    }

    const fn holds(&self, prefix: IpNet) -> bool {
        matches!(
            (self, prefix),
            (Self::V4(_), IpNet::V4(_)) | (Self::V6(_), IpNet::V6(_))
        )
    }

    fn set(&mut self, slot: Slot, prefix: IpNet) {
        match (self, prefix) {
            (Self::V4(keys), IpNet::V4(net)) => put(keys, slot, net),
            (Self::V6(keys), IpNet::V6(net)) => put(keys, slot, net),
            _ => {}
        }
    }

    fn hash(&self, hasher: &DefaultHashBuilder, slot: Slot) -> u64 {
        match self {
            Self::V4(keys) => hash_v4(hasher, keys[slot.index()]),
            Self::V6(keys) => hash_v6(hasher, keys[slot.index()]),
        }
    }
}

/// One multiplication, where hashing octet by octet takes six.
fn hash_v4(hasher: &DefaultHashBuilder, net: Ipv4Net) -> u64 {
    hasher.hash_one(u64::from(net.addr().to_bits()) << 8 | u64::from(net.prefix_len()))
}

fn hash_v6(hasher: &DefaultHashBuilder, net: Ipv6Net) -> u64 {
    hasher.hash_one((net.addr().to_bits(), net.prefix_len()))
}

fn put<T>(keys: &mut Vec<T>, slot: Slot, key: T) {
    if slot.index() == keys.len() {
        keys.push(key);
    } else {
        keys[slot.index()] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts
            .iter()
            .map(|text| text.parse().expect("a prefix"))
            .collect()
    }

    fn both_families() -> [(Family, Vec<IpNet>); 2] {
        [
            (
                Family::IPV4_UNICAST,
                nets(&["10.0.0.0/8", "10.0.0.0/16", "10.1.0.0/16", "192.0.2.1/32"]),
            ),
            (
                Family::IPV6_UNICAST,
                nets(&[
                    "2001:db8::/32",
                    "2001:db8::/48",
                    "2001:db8:1::/48",
                    "2001:db8:2::1/128",
                ]),
            ),
        ]
    }

    #[test]
    fn a_slot_is_found_until_it_is_removed_and_then_reused() {
        for (family, prefixes) in both_families() {
            let mut table = PrefixTable::new(family);
            let slots: Vec<_> = prefixes
                .iter()
                .map(|prefix| table.find_or_insert(*prefix))
                .collect();
            for (prefix, slot) in prefixes.iter().zip(&slots) {
                assert_eq!(table.find(*prefix), *slot);
                assert_eq!(Some(table.get(slot.expect("inserted"))), Some(*prefix));
            }
            table.remove(slots[1].expect("inserted"));
            assert_eq!(table.find(prefixes[1]), None);
            assert_eq!(table.len(), 3);
            assert_eq!(table.find_or_insert(prefixes[1]), slots[1]);
            assert_eq!(table.end(), 4);
        }
    }

    #[test]
    fn a_prefix_of_another_family_has_no_slot() {
        let [(v4, v4_prefixes), (v6, v6_prefixes)] = both_families();
        assert_eq!(PrefixTable::new(v4).find_or_insert(v6_prefixes[0]), None);
        assert_eq!(PrefixTable::new(v6).find_or_insert(v4_prefixes[0]), None);
    }

    #[test]
    fn pages_are_in_order_and_go_on_where_the_last_ended() {
        for (family, mut prefixes) in both_families() {
            let mut table = PrefixTable::new(family);
            prefixes.reverse();
            for prefix in &prefixes {
                table.find_or_insert(*prefix);
            }
            let mut listed = Vec::new();
            let mut after = None;
            loop {
                let page = table.page(after, 3, |_, _| true);
                let Some((last, _)) = page.last() else { break };
                after = Some(*last);
                listed.extend(page.into_iter().map(|(prefix, _)| prefix));
            }
            prefixes.sort();
            assert_eq!(listed, prefixes);
        }
    }
}

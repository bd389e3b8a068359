//! Paths: one 16-byte record for each (prefix, peer, path id), in one short array per prefix.
//!
//! The array of a prefix is a block of a [`Slab`] that fits. So there is no heap object for a route, a prefix with one path
//! costs 16 bytes here, and the candidates of a decision lie side by side. Records are in order of (peer, path id): a path
//! is found by bisection, and arrival order leaves no trace.

use super::ids::{AttrId, PeerIndex};
use super::slab::{Class, Slab, capacity, class_for};

/// One path in Adj-RIB-In, before and after import policy.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Path {
    /// As the peer sent it.
    pub(super) received: AttrId,
    /// As import policy left it; `NONE` when it can't be used, and `verdict` says why.
    pub(super) accepted: AttrId,
    /// The peer's path identifier (RFC 7911); 0 without add-path.
    pub(super) path_id: u32,
    /// Who sent it.
    pub(super) peer: PeerIndex,
    /// In which life of the peer's family; see [`super::life::Life`].
    pub(super) generation: u8,
    /// What the checks and import policy said.
    pub(super) verdict: ImportVerdict,
}

/// What became of a path on import.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(super) enum ImportVerdict {
    /// A candidate for the decision, when its next hop is usable.
    Accepted,
    /// The path goes through this AS already (RFC 4271 section 9.1.2).
    OwnAsLoop,
    /// This node announced it first, a reflector sent it back (RFC 4456 section 8).
    OwnOriginator,
    /// It went through this cluster already (RFC 4456 section 8).
    OwnCluster,
    /// The first AS is not the peer's (RFC 4271 section 6.3), and the operator wants that checked.
    FirstAsMismatch,
    /// Import policy rejected it.
    DeniedByPolicy,
}

impl Path {
    const fn key(&self) -> (PeerIndex, u32) {
        (self.peer, self.path_id)
    }

    /// A record that is not in use.
    pub(super) const EMPTY: Self = Self {
        received: AttrId::NONE,
        accepted: AttrId::NONE,
        path_id: 0,
        peer: PeerIndex::NONE,
        generation: 0,
        verdict: ImportVerdict::Accepted,
    };
}

/// The array of paths of one prefix; a handle into [`PathStore`].
#[derive(Copy, Clone, Debug)]
pub(super) struct PathList {
    /// Where its block starts in the slab, or which of the long arrays it is.
    start: u32,
    /// Paths in use.
    len: u16,
    /// Size of the block; meaningful when `len > 0`.
    class: Class,
}

impl PathList {
    /// No paths.
    pub(super) const EMPTY: Self = Self {
        start: 0,
        len: 0,
        class: 0,
    };

    /// How many paths.
    pub(super) const fn len(self) -> usize {
        self.len as usize
    }

    /// True without paths.
    pub(super) const fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// All paths of a table.
#[derive(Debug, Default)]
pub(super) struct PathStore {
    slab: Slab,
    /// Arrays of more paths than a block of the slab holds. Each has its own place on the heap.
    long: Vec<Vec<Path>>,
    free_long: Vec<u32>,
}

impl PathStore {
    /// The paths of a prefix.
    pub(super) fn get(&self, list: PathList) -> &[Path] {
        match list.class {
            _ if list.is_empty() => &[],
            LONG => &self.long[list.start as usize],
            _ => self.slab.get(list.start, list.len()),
        }
    }

    /// The paths of a prefix, for changes that keep peer and path id.
    pub(super) fn get_mut(&mut self, list: PathList) -> &mut [Path] {
        match list.class {
            _ if list.is_empty() => &mut [],
            LONG => &mut self.long[list.start as usize],
            _ => self.slab.get_mut(list.start, list.len()),
        }
    }

    /// Where the path of a peer is, or where it would go.
    pub(super) fn position(
        &self,
        list: PathList,
        peer: PeerIndex,
        path_id: u32,
    ) -> Result<usize, usize> {
        self.get(list)
            .binary_search_by_key(&(peer, path_id), Path::key)
    }

    /// Puts a path at the position that [`Self::position`] told. False, and nothing happens, when the prefix has as
    /// many paths as a list can count (65,535).
    pub(super) fn insert(&mut self, list: &mut PathList, position: usize, path: Path) -> bool {
        if list.len == u16::MAX {
            return false;
        }
        if list.is_empty() {
            *list = PathList {
                start: self.slab.allocate(0),
                len: 0,
                class: 0,
            };
        } else if list.class != LONG && list.len() == capacity(list.class) {
            self.resize(list, class_for(list.len() + 1).unwrap_or(LONG));
        }
        list.len += 1;
        if list.class == LONG {
            self.long[list.start as usize].insert(position, path);
            return true;
        }
        let paths = self.get_mut(*list);
        paths.copy_within(position..paths.len() - 1, position + 1);
        paths[position] = path;
        true
    }

    /// Takes the path at a position out.
    pub(super) fn remove(&mut self, list: &mut PathList, position: usize) -> Path {
        if list.class == LONG {
            let path = self.long[list.start as usize].remove(position);
            list.len -= 1;
            if let Some(class) = class_for(list.len() + list.len() / 4) {
                self.resize(list, class);
            }
            return path;
        }
        let paths = self.get_mut(*list);
        let path = paths[position];
        paths.copy_within(position + 1.., position);
        list.len -= 1;
        if list.is_empty() {
            self.slab.free(list.class, list.start);
        } else if list.class >= 2 && list.len() <= capacity(list.class - 2) {
            // Two sizes, not one: a path that comes and goes does not move the others each time.
            self.resize(list, list.class - 1);
        }
        path
    }

    /// Moves a list into a block of another size, or into an array of its own.
    fn resize(&mut self, list: &mut PathList, class: Class) {
        let old = *list;
        let start = match (old.class, class) {
            (LONG, class) => {
                let start = self.slab.allocate(class);
                let paths = std::mem::take(&mut self.long[old.start as usize]);
                self.slab.get_mut(start, old.len()).copy_from_slice(&paths);
                self.free_long.push(old.start);
                start
            }
            (_, LONG) => {
                let paths = self.get(old).to_vec();
                self.slab.free(old.class, old.start);
                self.add_long(paths)
            }
            (old_class, class) => {
                let start = self.slab.allocate(class);
                self.slab.copy(old.start, start, old.len());
                self.slab.free(old_class, old.start);
                start
            }
        };
        *list = PathList {
            start,
            class,
            ..old
        };
    }

    fn add_long(&mut self, paths: Vec<Path>) -> u32 {
        if let Some(number) = self.free_long.pop() {
            self.long[number as usize] = paths;
            return number;
        }
        self.long.push(paths);
        u32::try_from(self.long.len() - 1).expect("fewer than 2^32 paths fit in memory")
    }
}

/// In place of a size: an array of its own.
const LONG: Class = Class::MAX;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_costs_16_bytes() {
        assert_eq!(size_of::<Path>(), 16);
        assert_eq!(size_of::<PathList>(), 8);
    }

    #[test]
    fn a_list_can_grow_long_and_shrink_again() {
        let (mut store, mut list) = (PathStore::default(), PathList::EMPTY);
        let path = |path_id| Path {
            path_id,
            peer: PeerIndex(1),
            ..Path::EMPTY
        };
        for path_id in 0..2000 {
            let position = store
                .position(list, PeerIndex(1), path_id)
                .expect_err("new");
            assert!(store.insert(&mut list, position, path(path_id)));
        }
        for path_id in (0..2000).rev() {
            assert!(store.get(list).iter().copied().eq((0..=path_id).map(path)));
            let position = store.position(list, PeerIndex(1), path_id).expect("there");
            store.remove(&mut list, position);
        }
        assert!(store.get(list).is_empty());
        assert!(store.long.iter().all(Vec::is_empty));
    }

    proptest! {
        #[test]
        fn lists_behave_like_ordered_maps(
            operations in prop::collection::vec((0usize..4, any::<bool>(), 0u16..12, 0u32..3), 0..400),
        ) {
            let mut store = PathStore::default();
            let mut lists = [PathList::EMPTY; 4];
            let mut models: [BTreeMap<(PeerIndex, u32), Path>; 4] = Default::default();
            for (step, (which, insert, peer, path_id)) in operations.into_iter().enumerate() {
                let path = Path {
                    received: AttrId(u32::try_from(step).expect("few steps")),
                    path_id,
                    peer: PeerIndex(peer),
                    ..Path::EMPTY
                };
                match (store.position(lists[which], path.peer, path_id), insert) {
                    (Ok(position), true) => store.get_mut(lists[which])[position] = path,
                    (Err(position), true) => {
                        prop_assert!(store.insert(&mut lists[which], position, path));
                    }
                    (Ok(position), false) => {
                        let removed = store.remove(&mut lists[which], position);
                        prop_assert_eq!(removed.key(), path.key());
                    }
                    (Err(_), false) => {}
                }
                if insert {
                    models[which].insert(path.key(), path);
                } else {
                    models[which].remove(&path.key());
                }
                for (list, model) in lists.iter().zip(&models) {
                    prop_assert!(store.get(*list).iter().eq(model.values()));
                }
            }
        }
    }
}

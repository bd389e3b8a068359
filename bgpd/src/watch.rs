//! Who watches what, and what changed since they last looked.
//!
//! Only keys are kept, never values: a key that changes a thousand times before its watcher looks costs one entry, and
//! the watcher reads the newest value. A watcher that falls too far behind loses its keys, is told so, and starts over
//! with a snapshot; memory stays bounded whatever a watcher does.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use ipnet::IpNet;
use tokio::sync::Notify;

/// Something that can be watched.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub(crate) enum Key {
    Status,
    Peer(SocketAddr),
    Vtep(IpAddr),
    Block(IpNet),
    Route(IpNet),
}

/// The kinds of [`Key`].
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub(crate) enum Kind {
    Status,
    Peer,
    Vtep,
    Block,
    Route,
}

impl Key {
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Status => Kind::Status,
            Self::Peer(_) => Kind::Peer,
            Self::Vtep(_) => Kind::Vtep,
            Self::Block(_) => Kind::Block,
            Self::Route(_) => Kind::Route,
        }
    }
}

/// Where changes are marked. One for the daemon.
#[derive(Debug, Default)]
pub(crate) struct WatchHub {
    watchers: Mutex<Vec<Weak<Watcher>>>,
    revision: AtomicU64,
}

impl WatchHub {
    /// Marks keys as changed for everybody who watches their kinds. Costs next to nothing when nobody does.
    pub(crate) fn mark(&self, keys: impl IntoIterator<Item = Key> + Clone) {
        self.revision.fetch_add(1, Ordering::Relaxed);
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| {
            let Some(watcher) = watcher.upgrade() else {
                return false;
            };
            watcher.mark(keys.clone());
            true
        });
    }

    /// Whether anybody watches this kind: what it costs to find out what changed can be saved otherwise.
    pub(crate) fn is_watched(&self, kind: Kind) -> bool {
        let watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut living = watchers.iter().filter_map(Weak::upgrade);
        living.any(|watcher| watcher.wants(kind))
    }

    /// Grows with each change in this daemon's life.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    /// Begins to watch; what changes from now on is not missed.
    pub(crate) fn watch(&self, kinds: BTreeSet<Kind>) -> Arc<Watcher> {
        let watcher = Arc::new(Watcher {
            kinds,
            changes: Mutex::default(),
            wake: Notify::new(),
        });
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        watchers.push(Arc::downgrade(&watcher));
        watcher
    }
}

/// One watcher's marks.
#[derive(Debug)]
pub(crate) struct Watcher {
    kinds: BTreeSet<Kind>,
    changes: Mutex<Changes>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Changes {
    keys: BTreeSet<Key>,
    lagged: bool,
}

/// What a watcher finds when it looks.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Changed {
    /// These keys; read their values now.
    Keys(BTreeSet<Key>),
    /// Too much to tell; start over.
    Lagged,
}

impl Watcher {
    /// Watches this kind?
    pub(crate) fn wants(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Waits until something changed, and takes it.
    pub(crate) async fn changed(&self) -> Changed {
        loop {
            let changes =
                std::mem::take(&mut *self.changes.lock().unwrap_or_else(PoisonError::into_inner));
            if changes.lagged {
                return Changed::Lagged;
            }
            if !changes.keys.is_empty() {
                return Changed::Keys(changes.keys);
            }
            self.wake.notified().await;
        }
    }

    fn mark(&self, keys: impl IntoIterator<Item = Key>) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys {
            if !changes.lagged && self.kinds.contains(&key.kind()) {
                changes.keys.insert(key);
            }
        }
        if changes.keys.len() > MOST_KEYS {
            *changes = Changes {
                keys: BTreeSet::new(),
                lagged: true,
            };
        }
        if changes.lagged || !changes.keys.is_empty() {
            self.wake.notify_one();
        }
    }
}

/// Changed keys that are kept for one watcher: about 4 MB.
const MOST_KEYS: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    fn route(index: u32) -> Key {
        Key::Route(IpNet::V4(ipnet::Ipv4Net::new(index.into(), 32).unwrap()))
    }

    #[tokio::test]
    async fn many_changes_of_one_key_are_one() {
        let hub = WatchHub::default();
        let watcher = hub.watch([Kind::Route].into());
        for _ in 0..1000 {
            hub.mark([route(1), Key::Status]);
        }
        assert_eq!(watcher.changed().await, Changed::Keys([route(1)].into()));
    }

    #[tokio::test]
    async fn a_watcher_that_lags_is_told_and_goes_on() {
        let hub = WatchHub::default();
        let watcher = hub.watch([Kind::Route].into());
        for index in 0..=u32::try_from(MOST_KEYS).unwrap() {
            hub.mark([route(index)]);
        }
        hub.mark([route(1)]);
        assert_eq!(watcher.changed().await, Changed::Lagged);
        hub.mark([route(2)]);
        assert_eq!(watcher.changed().await, Changed::Keys([route(2)].into()));
    }

    #[test]
    fn a_watcher_that_left_costs_nothing() {
        let hub = WatchHub::default();
        drop(hub.watch([Kind::Route].into()));
        hub.mark([route(1)]);
        assert!(hub.watchers.lock().unwrap().is_empty());
    }
}

//! When what the kernel refused is tried again.

use std::collections::BTreeSet;
use std::hash::Hash;
use std::time::{Duration, Instant};

use hashbrown::HashMap;

use crate::KernelError;

/// Pauses between attempts: doubling from `first` to `limit`.
#[derive(Copy, Clone, Debug)]
pub(super) struct Pauses {
    pub(super) first: Duration,
    pub(super) limit: Duration,
}

/// What was refused, by object.
#[derive(Debug)]
pub(super) struct Refused<K> {
    pauses: Pauses,
    failures: HashMap<K, Failure>,
    due: BTreeSet<(Instant, K)>,
}

#[derive(Debug)]
struct Failure {
    error: KernelError,
    attempts: u32,
    due: Option<Instant>,
}

impl<K: Copy + Eq + Hash + Ord> Refused<K> {
    pub(super) fn new(pauses: Pauses) -> Self {
        Self {
            pauses,
            failures: HashMap::new(),
            due: BTreeSet::new(),
        }
    }

    pub(super) fn error(&self, key: &K) -> Option<&KernelError> {
        self.failures.get(key).map(|failure| &failure.error)
    }

    /// It is refused, and its pause is not over.
    pub(super) fn is_waiting(&self, key: &K) -> bool {
        self.failures
            .get(key)
            .is_some_and(|failure| failure.due.is_some())
    }

    /// Notes a refusal; the object is due again after a pause.
    pub(super) fn refuse(&mut self, now: Instant, key: K, error: KernelError) {
        let attempts = self.failures.get(&key).map_or(0, |known| known.attempts);
        let pause = self
            .pauses
            .first
            .saturating_mul(1 << attempts.min(16))
            .min(self.pauses.limit);
        self.forget_due(&key);
        let due = now + pause;
        self.due.insert((due, key));
        self.failures.insert(
            key,
            Failure {
                error,
                attempts: attempts + 1,
                due: Some(due),
            },
        );
    }

    /// Notes a refusal that only a change of the host can end; it is not tried again by itself.
    pub(super) fn block(&mut self, key: K, error: KernelError) {
        self.forget_due(&key);
        self.failures.insert(
            key,
            Failure {
                error,
                attempts: 0,
                due: None,
            },
        );
    }

    pub(super) fn clear(&mut self, key: &K) {
        self.forget_due(key);
        self.failures.remove(key);
    }

    /// The objects whose pause is over. They stay refused until they are cleared.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<K> {
        let mut result = Vec::new();
        while let Some(&(due, key)) = self.due.first() {
            if due > now {
                break;
            }
            self.due.pop_first();
            if let Some(failure) = self.failures.get_mut(&key) {
                failure.due = None;
            }
            result.push(key);
        }
        result
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.failures.keys()
    }

    fn forget_due(&mut self, key: &K) {
        if let Some(due) = self
            .failures
            .get_mut(key)
            .and_then(|failure| failure.due.take())
        {
            self.due.remove(&(due, *key));
        }
    }
}

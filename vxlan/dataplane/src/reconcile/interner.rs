//! Equal values stored once, under a 4-byte number that is counted.

use std::hash::Hash;
use std::sync::Arc;

use hashbrown::HashMap;

/// Number of a value.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub(super) struct Id(u32);

#[derive(Debug)]
pub(super) struct Interner<T> {
    slots: Vec<Slot<T>>,
    index: HashMap<Arc<T>, u32>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    value: Option<Arc<T>>,
    users: u32,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            index: HashMap::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Eq + Hash> Interner<T> {
    /// The number of a value, counted once more.
    pub(super) fn acquire(&mut self, value: T) -> Id {
        if let Some(&number) = self.index.get(&value) {
            return self.share(Id(number));
        }
        let value = Arc::new(value);
        let slot = Slot {
            value: Some(Arc::clone(&value)),
            users: 1,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 distinct routes")
            }
        };
        self.index.insert(value, number);
        Id(number)
    }

    /// Counts once more.
    pub(super) fn share(&mut self, id: Id) -> Id {
        self.slots[id.0 as usize].users += 1;
        id
    }

    /// Counts once less; the last one frees the value.
    pub(super) fn release(&mut self, id: Id) {
        let slot = &mut self.slots[id.0 as usize];
        slot.users -= 1;
        if slot.users == 0
            && let Some(value) = slot.value.take()
        {
            self.index.remove(&value);
            self.free.push(id.0);
        }
    }

    pub(super) fn get(&self, id: Id) -> &Arc<T> {
        self.slots[id.0 as usize]
            .value
            .as_ref()
            .expect("an id is held for every value in use")
    }

    pub(super) fn is_used(&self, id: Id) -> bool {
        self.slots[id.0 as usize].value.is_some()
    }

    /// All values in use, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, &Arc<T>)> {
        (0u32..)
            .zip(&self.slots)
            .filter_map(|(number, slot)| slot.value.as_ref().map(|value| (Id(number), value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_lives_as_long_as_it_is_counted() {
        let mut interner = Interner::default();
        let first = interner.acquire("a".to_owned());
        assert_eq!(interner.acquire("a".to_owned()), first);
        let other = interner.acquire("b".to_owned());
        assert_ne!(first, other);
        interner.release(first);
        assert_eq!(interner.get(first).as_str(), "a");
        interner.release(first);
        assert_eq!(interner.iter().count(), 1);
        assert_eq!(interner.acquire("c".to_owned()), first);
    }
}

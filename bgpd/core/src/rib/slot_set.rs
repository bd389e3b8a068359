//! A set of slots: what is dirty, what a lagging member still has to get.
//!
//! Two levels of bits: one per slot, and one per word of 64 slots. Insertion is two memory writes; finding the next
//! member of a sparse set of a million slots reads 256 words at most. Memory: 1/8 byte per slot of the highest slot
//! that was ever in the set.

use super::ids::Slot;

/// A set of [`Slot`]s in slot order.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotSet {
    words: Vec<u64>,
    /// Bit `i` says that `words[i]` is not zero.
    summary: Vec<u64>,
    len: usize,
}

impl SlotSet {
    /// Adds a slot; false when it is in the set already.
    pub(super) fn insert(&mut self, slot: Slot) -> bool {
        let word = slot.index() / BITS;
        if word >= self.words.len() {
            self.grow(word + 1);
        }
        let bit = 1 << (slot.index() % BITS);
        let added = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.summary[word / BITS] |= 1 << (word % BITS);
        self.len += usize::from(added);
        added
    }

    /// Takes a slot out; false when it is not in the set.
    pub(super) fn remove(&mut self, slot: Slot) -> bool {
        let word = slot.index() / BITS;
        let bit = 1 << (slot.index() % BITS);
        let Some(bits) = self.words.get_mut(word) else {
            return false;
        };
        if *bits & bit == 0 {
            return false;
        }
        *bits &= !bit;
        if *bits == 0 {
            self.summary[word / BITS] &= !(1 << (word % BITS));
        }
        self.len -= 1;
        true
    }

    /// True when the slot is in the set.
    pub(super) fn contains(&self, slot: Slot) -> bool {
        self.words
            .get(slot.index() / BITS)
            .is_some_and(|word| word & (1 << (slot.index() % BITS)) != 0)
    }

    /// The first member at or after `from`.
    pub(super) fn next_from(&self, from: usize) -> Option<Slot> {
        let start = from / BITS;
        if let Some(word) = self.words.get(start) {
            let rest = word & (u64::MAX << (from % BITS));
            if rest != 0 {
                return Some(at(start, rest));
            }
        }
        let next = start + 1;
        let mut index = next / BITS;
        let mut mask = u64::MAX << (next % BITS);
        while let Some(summary) = self.summary.get(index) {
            let rest = summary & mask;
            if rest != 0 {
                let word = index * BITS + rest.trailing_zeros() as usize;
                return Some(at(word, self.words[word]));
            }
            mask = u64::MAX;
            index += 1;
        }
        None
    }

    /// Takes out and returns the next member at or after `*cursor`, going round at the end; moves the cursor behind
    /// it, so that no member waits for ever behind others that come back.
    pub(super) fn pop(&mut self, cursor: &mut usize) -> Option<Slot> {
        if self.len == 0 {
            return None;
        }
        let slot = self.next_from(*cursor).or_else(|| self.next_from(0))?;
        self.remove(slot);
        *cursor = slot.index() + 1;
        Some(slot)
    }

    /// How many slots are in the set.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// True when nothing is in the set.
    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn grow(&mut self, words: usize) {
        self.words.resize(words, 0);
        self.summary.resize(words.div_ceil(BITS), 0);
    }
}

fn at(word: usize, bits: u64) -> Slot {
    Slot::from_index(word * BITS + bits.trailing_zeros() as usize)
}

const BITS: usize = u64::BITS as usize;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pop_goes_round_from_the_cursor() {
        let mut set = SlotSet::default();
        for index in [5, 70, 100_000] {
            assert!(set.insert(Slot(index)));
        }
        assert!(!set.insert(Slot(70)));
        let mut cursor = 71;
        assert_eq!(set.pop(&mut cursor), Some(Slot(100_000)));
        assert_eq!(set.pop(&mut cursor), Some(Slot(5)));
        assert_eq!(set.pop(&mut cursor), Some(Slot(70)));
        assert_eq!(set.pop(&mut cursor), None);
        assert!(set.is_empty());
    }

    proptest! {
        #[test]
        fn behaves_like_an_ordered_set(operations in prop::collection::vec((any::<bool>(), 0u32..20_000), 0..300), from in 0u32..20_000) {
            let mut set = SlotSet::default();
            let mut model = BTreeSet::new();
            for (insert, index) in operations {
                let slot = Slot(index);
                if insert {
                    prop_assert_eq!(set.insert(slot), model.insert(slot));
                } else {
                    prop_assert_eq!(set.remove(slot), model.remove(&slot));
                }
                prop_assert_eq!(set.len(), model.len());
                prop_assert_eq!(set.contains(slot), model.contains(&slot));
            }
            prop_assert_eq!(set.next_from(from as usize), model.range(Slot(from)..).next().copied());
        }
    }
}

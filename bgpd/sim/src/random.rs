//! The one source of chance in a simulation: SplitMix64 from the scenario's seed.

use std::time::Duration;

/// The generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers, on every machine.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own for a part of the simulation, so that the parts do not shift each other's numbers.
    #[must_use]
    pub const fn fork(&mut self) -> Self {
        Self(self.number())
    }

    /// Evenly among all 64-bit numbers.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Evenly from 0 up to, not including, `limit`; 0 when `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        // The upper half of the product is below `limit`, which fits.
        ((u128::from(self.number()) * limit as u128) >> 64) as usize
    }

    /// True in one of `times` cases.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Evenly between zero and `limit`, in microseconds.
    pub fn up_to(&mut self, limit: Duration) -> Duration {
        let micros = usize::try_from(limit.as_micros()).unwrap_or(usize::MAX - 1);
        Duration::from_micros(self.below(micros + 1) as u64)
    }

    /// One of the items; `None` when there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

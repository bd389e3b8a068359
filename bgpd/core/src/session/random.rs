//! Reproducible randomness: SplitMix64, seeded by the driver.
//!
//! It spreads timers and nothing else; nothing here is a secret.

use std::time::Duration;

/// The generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// `duration` times a factor between 0.75 and 1, as RFC 4271 section 10 asks for every timer.
    pub(super) fn jitter(&mut self, duration: Duration) -> Duration {
        let least = duration - duration / 4;
        least + self.up_to(duration / 4)
    }

    /// Evenly between zero and `limit`, both included.
    pub(super) fn up_to(&mut self, limit: Duration) -> Duration {
        let nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let share = u128::from(self.next()) * (u128::from(nanos) + 1);
        // The upper half of the product is below 2^64, because `share` is below 2^64 * 2^64.
        Duration::from_nanos((share >> 64) as u64)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_is_the_published_one() {
        // First outputs of the reference implementation for seed 1234567.
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn jitter_stays_between_three_quarters_and_all() {
        let mut random = SplitMix64::new(1);
        let second = Duration::from_secs(1);
        let drawn: Vec<_> = (0..1000).map(|_| random.jitter(second)).collect();
        assert!(drawn.iter().all(|&d| d >= second * 3 / 4 && d <= second));
        assert!(drawn.iter().any(|&d| d < second * 4 / 5));
        assert!(drawn.iter().any(|&d| d > second * 19 / 20));
    }
}

//! The hop counts of the pairs asked for last, in a fixed amount of memory.

use std::sync::atomic::{AtomicU64, Ordering};

const SLOT_BITS: u32 = 16;
const VALUE_BITS: u32 = SLOT_BITS;
/// The value of a slot that holds nothing.
const EMPTY: u64 = (1 << VALUE_BITS) - 1;

/// A direct-mapped table of 65,536 pairs, 512 KiB.
///
/// A pair is scrambled one to one into 64 bits, of which 16 choose the slot and 48 are kept
/// in it beside a 16-bit hop count; so a hit is never another pair's.
#[derive(Debug)]
pub(super) struct PairCache(Box<[AtomicU64]>);

impl Default for PairCache {
    fn default() -> PairCache {
        PairCache((0..1u32 << SLOT_BITS).map(|_| AtomicU64::new(EMPTY)).collect())
    }
}

impl PairCache {
    /// The remembered hop count of the pair, else `hops()`, which is remembered if it is below 65,535.
    pub(super) fn get_or(&self, source: u32, destination: u32, hops: impl FnOnce() -> u32) -> u32 {
        let pair = u64::from(source) << 32 | u64::from(destination);
        let mixed = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = mixed ^ mixed >> 32;
        let slot = &self.0[(mixed & ((1 << SLOT_BITS) - 1)) as usize];
        let tag = mixed >> SLOT_BITS;
        let held = slot.load(Ordering::Relaxed);
        if held >> VALUE_BITS == tag && held & EMPTY != EMPTY {
            return (held & EMPTY) as u32;
        }
        let hops = hops();
        if u64::from(hops) < EMPTY {
            slot.store(tag << VALUE_BITS | u64::from(hops), Ordering::Relaxed);
        }
        hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_hit_is_the_pairs_own(pairs in prop::collection::vec((0u32..400, 0u32..400), 1..400)) {
            let cache = PairCache::default();
            let value = |(a, b): (u32, u32)| (a * 401 + b) % 70_000;
            for &pair in pairs.iter().chain(&pairs) {
                prop_assert_eq!(cache.get_or(pair.0, pair.1, || value(pair)), value(pair));
            }
        }
    }

    #[test]
    fn what_was_asked_for_is_remembered() {
        let cache = PairCache::default();
        assert_eq!(cache.get_or(u32::MAX, 3, || 7), 7);
        assert_eq!(cache.get_or(u32::MAX, 3, || unreachable!()), 7);
        assert_eq!(cache.get_or(3, u32::MAX, || 8), 8);
        assert_eq!(cache.get_or(0, 0, || 70_000), 70_000);
        assert_eq!(cache.get_or(0, 0, || 70_001), 70_001, "too many hops for a slot");
    }
}

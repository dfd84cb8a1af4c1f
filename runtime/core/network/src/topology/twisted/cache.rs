//! The hop counts of the pairs asked for last, in a fixed amount of memory.

use std::sync::atomic::{AtomicU64, Ordering};

/// A hop count takes so many bits of a slot.
const VALUE_BITS: u32 = 16;
/// The slots are at least and at most two to these.
const SLOT_BITS: [u32; 2] = [16, 22];
/// Pairs of one endpoint that a program is likely to use again and again.
const PARTNERS: u64 = 16;

/// A direct-mapped table of pairs: 16 slots for an endpoint, 512 KiB at least and 32 MiB at most.
///
/// A pair is scrambled one to one into 64 bits. The low ones choose the slot and the rest are kept in it
/// beside the hop count, so that a hit is never another pair's.
#[derive(Debug)]
pub(super) struct PairCache {
    /// The pair's rest and one more than its hop count; 0 holds nothing.
    slots: Box<[AtomicU64]>,
    bits: u32,
}

impl PairCache {
    /// For a network of so many endpoints.
    pub(super) fn new(endpoints: u64) -> PairCache {
        let bits = (endpoints * PARTNERS).next_power_of_two().ilog2().clamp(SLOT_BITS[0], SLOT_BITS[1]);
        PairCache { slots: (0..1u32 << bits).map(|_| AtomicU64::new(0)).collect(), bits }
    }

    /// The remembered hop count of the pair, else `hops()`, which is remembered if it is below 65,535.
    pub(super) fn get_or(&self, source: u32, destination: u32, hops: impl FnOnce() -> u32) -> u32 {
        let pair = u64::from(source) << 32 | u64::from(destination);
        let mixed = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = mixed ^ mixed >> 32;
        let slot = &self.slots[(mixed & ((1 << self.bits) - 1)) as usize];
        let rest = mixed >> self.bits;
        let held = slot.load(Ordering::Relaxed);
        let value = held & ((1 << VALUE_BITS) - 1);
        if held >> VALUE_BITS == rest && value != 0 {
            return value as u32 - 1;
        }
        let hops = hops();
        if hops < (1 << VALUE_BITS) - 1 {
            slot.store(rest << VALUE_BITS | u64::from(hops + 1), Ordering::Relaxed);
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
            let cache = PairCache::new(400);
            let value = |(a, b): (u32, u32)| (a * 401 + b) % 70_000;
            for &pair in pairs.iter().chain(&pairs) {
                prop_assert_eq!(cache.get_or(pair.0, pair.1, || value(pair)), value(pair));
            }
        }
    }

    #[test]
    fn what_was_asked_for_is_remembered() {
        let cache = PairCache::new(400);
        assert_eq!(cache.get_or(u32::MAX, 3, || 7), 7);
        assert_eq!(cache.get_or(u32::MAX, 3, || unreachable!()), 7);
        assert_eq!(cache.get_or(3, u32::MAX, || 8), 8);
        assert_eq!(cache.get_or(0, 0, || 70_000), 70_000);
        assert_eq!(cache.get_or(0, 0, || 70_001), 70_001, "too many hops for a slot");
    }
}

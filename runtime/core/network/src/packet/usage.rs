//! What the link behind a port did, counted in half the memory where that is enough.

use super::over_time::OverTime;
use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;

/// The use of one direction of a cable, and of the input buffer at its end.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct LinkUse {
    /// Bytes sent, headers included.
    pub bytes: u64,
    /// Picoseconds during which it sent.
    pub busy: u64,
    /// Picoseconds that packets waited for it or for credit, summed over packets.
    pub blocked: u64,
    /// Bytes of the buffer at the end times nanoseconds that they were occupied.
    pub occupancy: u64,
}

/// The low halves of what `LinkUse` counts; the shard has the high ones.
#[derive(Clone, Copy, Default, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LinkCounters {
    bytes: u32,
    busy: u32,
    blocked: u32,
    occupancy: u32,
}

/// The high halves of the counts of the few ports that need them, and what links did when, if somebody wants
/// to know.
#[derive(Default)]
pub(crate) struct Carried {
    high: FxHashMap<u32, [u32; 4]>,
    pub(crate) over_time: Option<Box<OverTime>>,
}

impl Carried {
    /// Counts what `port` sent, from when on and with the time that took and the time it waited.
    // Inlined always, as is `held`: a call for each packet and link costs more than what it counts.
    #[inline(always)]
    pub(crate) fn sent(
        &mut self,
        port: u32,
        low: &mut LinkCounters,
        bytes: u32,
        (from, busy): (u64, u64),
        blocked: u64,
    ) {
        if let Some(over_time) = &mut self.over_time {
            Carried::keep(over_time, port, from, busy);
        }
        let bytes = add(&mut low.bytes, u64::from(bytes));
        let (busy, blocked) = (add(&mut low.busy, busy), add(&mut low.blocked, blocked));
        if bytes | busy | blocked != 0 {
            self.carry(port, [bytes, busy, blocked, 0]);
        }
    }

    /// Counts bytes times nanoseconds in the buffer behind `port`.
    #[inline(always)]
    pub(crate) fn held(&mut self, port: u32, low: &mut LinkCounters, occupancy: u64) {
        let occupancy = add(&mut low.occupancy, occupancy);
        if occupancy != 0 {
            self.carry(port, [0, 0, 0, occupancy]);
        }
    }

    #[inline(never)]
    fn keep(over_time: &mut OverTime, port: u32, from: u64, busy: u64) {
        over_time.add(port, from, busy);
    }

    #[cold]
    #[inline(never)]
    fn carry(&mut self, port: u32, carry: [u32; 4]) {
        let high = self.high.entry(port).or_default();
        high.iter_mut().zip(carry).for_each(|(high, carry)| *high += carry);
    }

    /// All that was counted of `port`.
    pub(crate) fn total(&self, port: u32, low: &LinkCounters) -> LinkUse {
        let high = self.high.get(&port).copied().unwrap_or_default();
        let count = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        LinkUse {
            bytes: count(high[0], low.bytes),
            busy: count(high[1], low.busy),
            blocked: count(high[2], low.blocked),
            occupancy: count(high[3], low.occupancy),
        }
    }
}

/// Adds to a counter; the answer is what does not fit.
#[inline(always)]
fn add(low: &mut u32, count: u64) -> u32 {
    let sum = u64::from(*low) + count;
    *low = sum as u32;
    (sum >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_beyond_32_bits_are_carried(
            counts in prop::collection::vec(prop::array::uniform4(0u64..1 << 34), 0..20),
        ) {
            let (mut carried, mut usage, mut sums) = (Carried::default(), LinkCounters::default(), [0u64; 4]);
            for mut count in counts {
                count[0] &= u64::from(u32::MAX);
                carried.sent(7, &mut usage, count[0] as u32, (0, count[1]), count[2]);
                carried.held(7, &mut usage, count[3]);
                sums.iter_mut().zip(&count).for_each(|(sum, count)| *sum += count);
            }
            let [bytes, busy, blocked, occupancy] = sums;
            prop_assert_eq!(carried.total(7, &usage), LinkUse { bytes, busy, blocked, occupancy });
        }
    }
}

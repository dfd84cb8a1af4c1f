//! Measured intervals that the host has interrupted: they are charged as their neighbours are.
//!
//! An interruption that no clock sees lengthens one interval in hundreds several times, and a rank that waits
//! for others meets the longest of all of them. So what the host did, spread over a thousand ranks, doubles a
//! short run. The program's own long intervals differ from the host's in number: interruptions come at a rate
//! that is measured before the run, to each rank as often as it computes.

use engine::Span;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Intervals of a pair whose median is the usual one.
const RECENT: usize = 15;
/// An interruption adds this much at least, in picoseconds of the host.
const MIN_ADDED_PS: u64 = 10_000_000;
/// It adds this many times the median of all at most.
const MAX_MEDIANS: u64 = 8;
/// Intervals in which an interruption is likelier than this are charged as they are: theirs are alike.
const MAX_LIKELIHOOD: f64 = 0.1;
/// Interruptions of a pair's intervals that are believed in for each that is expected.
const BELIEVED: f64 = 2.0;
/// Interruptions that are believed in at once.
const MAX_SAVED: f64 = 3.0;

/// Measured intervals that were charged as their neighbours, since the host had interrupted them.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct InterruptedIntervals {
    /// Interruptions in a second of virtual time, as measured before the run.
    pub per_second: f64,
    /// The median of their lengths, in virtual picoseconds.
    pub median_ps: u64,
    /// Intervals that were charged as their neighbours.
    pub intervals: u64,
    /// The time that they took beyond that, all together.
    pub removed_ps: u128,
}

impl InterruptedIntervals {
    /// Adds those of another process. The greater rate stays.
    pub fn add(&mut self, other: &InterruptedIntervals) {
        if other.per_second > self.per_second {
            (self.per_second, self.median_ps) = (other.per_second, other.median_ps);
        }
        self.intervals += other.intervals;
        self.removed_ps += other.removed_ps;
    }
}

/// The last intervals of a pair of functions, and the interruptions that they may have had.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecentIntervals {
    lengths_ps: [u64; RECENT],
    count: u64,
    /// Interruptions that were expected and did not come.
    saved: f64,
}

impl RecentIntervals {
    #[inline]
    fn add(&mut self, ps: u64) {
        self.lengths_ps[(self.count % RECENT as u64) as usize] = ps;
        self.count += 1;
    }

    /// Returns the median of the last intervals; `None` if there were too few.
    fn median(&self) -> Option<u64> {
        if self.count < RECENT as u64 {
            return None;
        }
        let mut lengths = self.lengths_ps;
        lengths.sort_unstable();
        Some(lengths[RECENT / 2])
    }
}

/// Interruptions of this host, and the ranks whose intervals they met.
#[derive(Debug, Default)]
pub struct Interruptions {
    of_run: InterruptedIntervals,
    /// An interruption adds this much at least.
    min_added_ps: u64,
    by_rank: HashMap<u32, u32>,
}

impl Interruptions {
    /// Expects interruptions at a rate and of a length of host time, of which one second is `factor` virtual
    /// ones.
    pub fn new(per_second: f64, median: Span, factor: f64) -> Interruptions {
        let of_run = InterruptedIntervals {
            per_second: per_second / factor,
            median_ps: (median.as_ps() as f64 * factor) as u64,
            ..InterruptedIntervals::default()
        };
        Interruptions { of_run, min_added_ps: (MIN_ADDED_PS as f64 * factor) as u64, by_rank: HashMap::new() }
    }

    /// Returns what was taken off so far; `None` if no interruption is expected.
    pub fn of_run(&self) -> Option<InterruptedIntervals> {
        (self.of_run.per_second > 0.0).then_some(self.of_run)
    }

    /// Returns the charge for an interval of a rank that has computed for `computed`: the usual length of its
    /// pair if the host has likely interrupted it, else its own.
    #[inline]
    pub(super) fn charge(
        &mut self,
        pair: &mut RecentIntervals,
        span: Span,
        rank: u32,
        computed: Span,
    ) -> Span {
        let ps = span.as_ps();
        let charged = match ps < self.min_added_ps {
            true => ps,
            false => self.usual(pair, ps, rank, computed).unwrap_or(ps),
        };
        pair.add(ps);
        pair.saved = (pair.saved + BELIEVED * self.expected(charged)).min(MAX_SAVED);
        Span::from_ps(charged)
    }

    /// Returns the number of interruptions expected in a time.
    #[inline]
    fn expected(&self, ps: u64) -> f64 {
        self.of_run.per_second * ps as f64 * 1e-12
    }

    /// Returns the usual length of an interval that took `ps`, if its rest is likely an interruption.
    #[cold]
    fn usual(&mut self, pair: &mut RecentIntervals, ps: u64, rank: u32, computed: Span) -> Option<u64> {
        let usual = pair.median()?;
        let added = ps.checked_sub(usual)?;
        if added < self.min_added_ps.max(usual / 2)
            || added > MAX_MEDIANS * self.of_run.median_ps
            || self.expected(usual) > MAX_LIKELIHOOD
            || pair.saved < 1.0
        {
            return None;
        }
        // A rank that is always the slower one is not always the one that is interrupted.
        let believed = 1.0 + self.expected(computed.as_ps());
        let met = self.by_rank.entry(rank).or_default();
        if f64::from(*met) + 1.0 > believed {
            return None;
        }
        *met += 1;
        pair.saved -= 1.0;
        self.of_run.intervals += 1;
        self.of_run.removed_ps += u128::from(added);
        Some(usual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Span {
        Span::from_ns(1000 * us)
    }

    /// A host that interrupts 1,250 times a second for 35 us.
    fn host(factor: f64) -> Interruptions {
        Interruptions::new(1250.0, us(35), factor)
    }

    /// Charges intervals of ranks, in microseconds; returns each rank's sum.
    fn charged(host: &mut Interruptions, ranks: u32, steps: u32, of: impl Fn(u32, u32) -> u64) -> Vec<Span> {
        let mut pair = RecentIntervals::default();
        let mut sums = vec![Span::ZERO; ranks as usize];
        for step in 0..steps {
            for rank in 0..ranks {
                let sum = &mut sums[rank as usize];
                *sum += host.charge(&mut pair, us(of(rank, step)), rank, *sum);
            }
        }
        sums
    }

    #[test]
    fn what_the_host_adds_now_and_then_is_charged_to_no_rank() {
        // One interval in a hundred, each time another rank's.
        let interrupted = |rank: u32, step: u32| (rank + 37 * step) % 100 == 99;
        for factor in [1.0, 0.5, 4.0] {
            let scaled = |us: u64| (us as f64 * factor) as u64;
            let mut host = host(factor);
            let sums = charged(&mut host, 1000, 20, |rank, step| {
                scaled(if interrupted(rank, step) { 48 } else { 8 })
            });
            let greatest = sums.iter().max().unwrap();
            // The first come before as many are expected.
            assert!(*greatest <= us(scaled(20 * 8 + 40)), "{greatest}");
            let disturbed = sums.iter().filter(|sum| **sum > us(scaled(20 * 8))).count();
            assert!(disturbed <= 3, "{disturbed} ranks pay for the host");
            let of_run = host.of_run().unwrap();
            assert!(of_run.intervals >= 197, "{of_run:?}");
            assert_eq!(of_run.removed_ps, u128::from(of_run.intervals) * u128::from(scaled(40)) * 1_000_000);
        }
    }

    #[test]
    fn a_rank_that_is_always_slower_is_charged_for_it() {
        let sums = charged(&mut host(1.0), 1000, 20, |rank, _| if rank == 7 { 58 } else { 8 });
        assert!(sums[7] >= us(18 * 58), "{}", sums[7]);
    }

    #[test]
    fn a_phase_of_longer_intervals_is_charged_for_them() {
        for ranks in [1, 4, 64] {
            let sums = charged(&mut host(1.0), ranks, 2000, |_, step| if step < 1000 { 20 } else { 60 });
            for sum in &sums {
                let off = 1000 * 80 - sum.as_ps() / 1_000_000;
                assert!(off <= 4 * 40, "{ranks} ranks: {off} us are missing");
            }
        }
    }

    #[test]
    fn ranks_of_two_speeds_are_charged_within_a_tenth() {
        let sums = charged(&mut host(1.0), 64, 500, |rank, _| if rank % 2 == 0 { 8 } else { 50 });
        for (rank, sum) in sums.iter().enumerate() {
            let own = if rank % 2 == 0 { 8.0 } else { 50.0 } * 500e6;
            assert!((sum.as_ps() as f64 / own - 1.0).abs() < 0.1, "rank {rank}: {sum}");
        }
    }

    #[test]
    fn what_is_longer_than_an_interruption_is_charged_and_long_intervals_as_they_are() {
        let rare = |rank: u32, step: u32| rank == step;
        let sums = charged(&mut host(1.0), 64, 64, |rank, step| if rare(rank, step) { 400 } else { 8 });
        assert!(sums.iter().all(|sum| *sum == us(63 * 8 + 400)));
        let sums = charged(&mut host(1.0), 64, 64, |rank, step| if rare(rank, step) { 200 } else { 100 });
        assert!(sums.iter().all(|sum| *sum == us(63 * 100 + 200)));
    }

    #[test]
    fn a_host_that_does_not_interrupt_takes_nothing_off() {
        let mut quiet = Interruptions::new(0.0, Span::ZERO, 1.0);
        let sums = charged(&mut quiet, 64, 64, |rank, step| if rank == step { 48 } else { 8 });
        assert!(sums.iter().all(|sum| *sum == us(63 * 8 + 48)));
        assert_eq!(quiet.of_run(), None);
    }
}

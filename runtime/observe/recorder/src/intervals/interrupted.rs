//! Measured intervals that the host has interrupted: they are charged as their neighbours are.
//!
//! An interruption that no clock sees lengthens one interval in hundreds several times, and a rank that waits
//! for others meets the longest of all of them. So what the host did, spread over a thousand ranks, doubles a
//! short run. The program's own long intervals differ from the host's in number: interruptions come at a rate
//! that is measured before the run, to each rank as often as it computes.

use engine::Span;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Last charges of a pair, one of which a long interval may have had without an interruption.
const RECENT: usize = 15;
/// It adds this many times the median of all at most.
const MAX_MEDIANS: u64 = 8;
/// Intervals in which an interruption is likelier than this are charged as they are: theirs are alike.
const MAX_LIKELIHOOD: f64 = 0.1;
/// A preemption adds this much CPU time to an interval at most, in picoseconds of the host: switches, and
/// caches that another process has filled.
const MAX_AFTERMATH_PS: u64 = 150_000_000;
/// Interruptions that are believed in for each that is expected: they come in bursts.
const BELIEVED: f64 = 6.0;
/// Long intervals of a pair, or of a rank, for each interruption that is expected, and beyond those: with
/// more the program makes them long.
const MAX_EXPECTED: f64 = 3.0;
const MAX_CHANCE: f64 = 3.0;
/// Interruptions that meet intervals of a pair one after the other.
const MAX_IN_A_ROW: u32 = 2;
/// Interruptions that are believed in at once.
const MAX_SAVED: f64 = 32.0;

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

/// A measured interval that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EndedInterval {
    /// Virtual length.
    pub span: Span,
    /// Time beside it in which an interruption would have seemed to be in it.
    pub beside: Span,
    /// `true` if the host ran another process meanwhile.
    pub preempted: bool,
    /// Whose it is.
    pub rank: u32,
    /// The rank's computation before it.
    pub computed: Span,
}

/// The last charges between a pair of functions, and the interruptions that they may have had.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecentIntervals {
    charges_ps: [u64; RECENT],
    count: u64,
    /// Intervals so far that were as long as if one had come.
    long: u64,
    /// Long intervals in a row until now.
    long_in_a_row: u32,
    /// Time of all intervals so far and of what was beside them, of long ones as much as was usual then.
    usual_ps: u64,
}

impl RecentIntervals {
    #[inline]
    fn add(&mut self, ps: u64) {
        self.charges_ps[(self.count % RECENT as u64) as usize] = ps;
        self.count += 1;
    }

    /// Returns the median of the last charges; `None` if there were too few.
    fn median(&self) -> Option<u64> {
        let mut charges = self.charges_ps;
        charges.sort_unstable();
        (self.count >= RECENT as u64).then_some(charges[RECENT / 2])
    }

    /// Returns the longest of the last charges that is at most `ps`, or `ps` if there is one of its kind;
    /// `None` if all are much longer.
    // Not the median: intervals of two kinds may end in the same calls.
    fn below(&self, ps: u64) -> Option<u64> {
        let charges = self.charges_ps.iter().copied().filter(|&charge| charge <= ps + ps / 2);
        charges.max().map(|charge| charge.min(ps))
    }
}

/// Interruptions of this host, and the ranks whose intervals they met.
#[derive(Debug, Default)]
pub struct Interruptions {
    of_run: InterruptedIntervals,
    /// An interruption adds this much at least.
    min_added_ps: u64,
    /// A preemption adds this much at most.
    max_aftermath_ps: u64,
    /// Interruptions that were expected and did not come.
    // Of all pairs together: most have none in a run, and each has some of those that come.
    saved: f64,
    by_rank: HashMap<u32, LongOfRank>,
}

/// Intervals of one rank that were longer than others of their pairs.
#[derive(Clone, Copy, Debug, Default)]
struct LongOfRank {
    long: u32,
    /// Time that was taken off them, and was not given back.
    removed_ps: u64,
}

impl Interruptions {
    /// Expects interruptions at a rate, of a median and of a least length of host time, of which one second
    /// is `factor` virtual ones.
    pub fn new(per_second: f64, median: Span, least: Span, factor: f64) -> Interruptions {
        let of_run = InterruptedIntervals {
            per_second: per_second / factor,
            median_ps: (median.as_ps() as f64 * factor) as u64,
            ..InterruptedIntervals::default()
        };
        Interruptions {
            of_run,
            min_added_ps: (least.as_ps() as f64 * factor) as u64,
            max_aftermath_ps: (MAX_AFTERMATH_PS as f64 * factor) as u64,
            saved: 0.0,
            by_rank: HashMap::new(),
        }
    }

    /// Returns what was taken off so far; `None` if nothing was, and no interruption is expected.
    // A host without interruptions still preempts.
    pub fn of_run(&self) -> Option<InterruptedIntervals> {
        (self.of_run != InterruptedIntervals::default()).then_some(self.of_run)
    }

    /// Returns the charge for an interval: an earlier one of its pair if the host has likely interrupted it,
    /// else its own length.
    #[inline]
    pub(super) fn charge(&mut self, pair: &mut RecentIntervals, ended: &EndedInterval) -> Span {
        let ps = ended.span.as_ps();
        let charged = match ps < self.min_added_ps {
            true => {
                self.expect(pair, ps + ended.beside.as_ps());
                pair.long_in_a_row = 0;
                ps
            }
            false => self.charge_long(pair, ended),
        };
        pair.add(charged);
        Span::from_ps(charged)
    }

    /// Returns the number of interruptions expected in a time.
    #[inline]
    fn expected(&self, ps: u64) -> f64 {
        self.of_run.per_second * ps as f64 * 1e-12
    }

    /// Expects interruptions in an interval of a pair that would have taken `usual` without one.
    #[inline]
    fn expect(&mut self, pair: &mut RecentIntervals, usual: u64) {
        pair.usual_ps = pair.usual_ps.saturating_add(usual);
        self.saved = (self.saved + BELIEVED * self.expected(usual)).min(MAX_SAVED);
    }

    /// [`Interruptions::charge`] for an interval that an interruption may have lengthened.
    #[cold]
    fn charge_long(&mut self, pair: &mut RecentIntervals, ended: &EndedInterval) -> u64 {
        let (ps, beside) = (ended.span.as_ps(), ended.beside.as_ps());
        let Some(median) = pair.median() else {
            self.expect(pair, ps + beside);
            return ps;
        };
        let min_added_ps = self.min_added_ps;
        let is_longer = |than: u64| ps.saturating_sub(than) >= min_added_ps.max(than / 2);
        let is_long = is_longer(median);
        // Preemptions are no part of what is expected.
        if !ended.preempted {
            pair.long += u64::from(is_long);
            pair.long_in_a_row = if is_long { pair.long_in_a_row + 1 } else { 0 };
        }
        self.expect(pair, beside + if is_long { median } else { ps });
        match pair.below(ps).filter(|&usual| is_longer(usual)) {
            Some(usual) => self.charge_longer(pair, ended, usual),
            None => ps,
        }
    }

    /// Charges an interval `usual` if the host has likely added what it has beyond that.
    #[cold]
    fn charge_longer(&mut self, pair: &RecentIntervals, ended: &EndedInterval, usual: u64) -> u64 {
        let ps = ended.span.as_ps();
        let added = ps - usual;
        if ended.preempted && added <= self.max_aftermath_ps {
            self.count(added);
            return usual;
        }
        if added > MAX_MEDIANS * self.of_run.median_ps || self.expected(usual) > MAX_LIKELIHOOD {
            return ps;
        }
        // What the program itself does now and then is more frequent than interruptions in the time of the
        // others can be, and a rank that is always the slower one is not always the one that is interrupted.
        let believed = |expected: f64| MAX_CHANCE + MAX_EXPECTED * expected;
        let of_pair = believed(self.expected(pair.usual_ps));
        let of_own = believed(self.expected(ended.computed.as_ps()));
        let of_rank = self.by_rank.entry(ended.rank).or_default();
        of_rank.long += 1;
        if pair.long_in_a_row > MAX_IN_A_ROW || pair.long as f64 > of_pair || f64::from(of_rank.long) > of_own
        {
            // So the earlier ones were the program's too.
            self.of_run.removed_ps -= u128::from(of_rank.removed_ps);
            return ps + std::mem::take(&mut of_rank.removed_ps);
        }
        if self.saved < 1.0 {
            return ps;
        }
        of_rank.removed_ps += added;
        self.saved -= 1.0;
        self.count(added);
        usual
    }

    /// Counts an interval that is charged without `added`.
    fn count(&mut self, added: u64) {
        self.of_run.intervals += 1;
        self.of_run.removed_ps += u128::from(added);
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
        Interruptions::new(1250.0, us(35), us(10), factor)
    }

    /// Charges intervals of ranks, in microseconds; returns each rank's sum.
    fn charged(host: &mut Interruptions, ranks: u32, steps: u32, of: impl Fn(u32, u32) -> u64) -> Vec<Span> {
        let mut pair = RecentIntervals::default();
        let mut sums = vec![Span::ZERO; ranks as usize];
        for step in 0..steps {
            for rank in 0..ranks {
                let sum = &mut sums[rank as usize];
                let span = us(of(rank, step));
                let ended = EndedInterval { span, rank, computed: *sum, ..EndedInterval::default() };
                *sum += host.charge(&mut pair, &ended);
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
        // The first are taken for the host's, and given back.
        for (slow, steps) in [(7, 20), (700, 20), (700, 6)] {
            let sums = charged(&mut host(1.0), 1000, steps, |rank, _| if rank == slow { 58 } else { 8 });
            assert_eq!(sums[slow as usize], us(u64::from(steps) * 58));
        }
    }

    #[test]
    fn interruptions_of_what_is_beside_short_intervals_are_expected_too() {
        // Ten calls a step take longer than what the program does between them.
        let mut host = host(1.0);
        let mut pair = RecentIntervals::default();
        for at in 1..=200_000u32 {
            let span = if at.is_multiple_of(20_000) { us(50) } else { Span::from_ps(500) };
            let beside = Span::from_ns(60);
            let ended = EndedInterval { span, beside, rank: at % 997, ..EndedInterval::default() };
            let charged = host.charge(&mut pair, &ended);
            assert!(charged == Span::from_ps(500) || at < 40_000, "{charged} at {at}");
        }
    }

    #[test]
    fn any_pair_may_be_the_one_that_is_interrupted() {
        let mut host = host(1.0);
        let mut pairs = [RecentIntervals::default(); 100];
        for at in 0..20_000usize {
            // Each pair has 0.25 interruptions in its own time.
            let span = us(if at >= 2000 && at.is_multiple_of(1111) { 41 } else { 1 });
            let ended = EndedInterval { span, rank: at as u32, ..EndedInterval::default() };
            assert_eq!(host.charge(&mut pairs[at % 100], &ended), us(1), "interval {at}");
        }
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
    fn intervals_that_are_long_again_and_again_are_charged_as_they_are() {
        // Each second, third or twentieth one between the same two calls, beside very short ones.
        for (every, short, long) in [(2, 0, 164), (3, 2, 50), (20, 1, 100), (50, 2, 40)] {
            let mut host = host(1.0);
            let steps = 3000;
            let of = |step: u32| if step.is_multiple_of(every) { long } else { short };
            let sums = charged(&mut host, 4, steps, |_, step| of(step));
            let own: u64 = (0..steps).map(of).sum();
            for sum in sums {
                let missing = own - sum.as_ps() / 1_000_000;
                assert!(missing * 100 <= own, "each {every}th: {missing} of {own} us are missing");
            }
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
    fn a_preempted_interval_is_charged_as_an_earlier_one_that_it_can_have_been() {
        let mut host = Interruptions::new(0.0, Span::ZERO, us(10), 1.0);
        let mut pair = RecentIntervals::default();
        let mut charged = |us_taken: u64, preempted: bool| {
            let ended = EndedInterval { span: us(us_taken), preempted, ..EndedInterval::default() };
            host.charge(&mut pair, &ended).as_ps() / 1_000_000
        };
        for step in 0..20 {
            charged(if step % 2 == 0 { 1 } else { 40 }, false);
        }
        assert_eq!(charged(100, true), 40, "the longer kind, and 60 us of the other process's");
        assert_eq!(charged(24, true), 1, "the shorter kind");
        assert_eq!(charged(45, true), 45, "the longer kind, not noticeably longer");
        assert_eq!(charged(38, true), 38, "the longer kind, a little shorter");
        assert_eq!(charged(300, true), 300, "more than a preemption adds");
        assert_eq!(charged(100, false), 100, "nobody ran meanwhile");
        assert_eq!(host.of_run().unwrap().intervals, 2);
    }

    #[test]
    fn a_host_that_does_not_interrupt_takes_nothing_off() {
        let mut quiet = Interruptions::new(0.0, Span::ZERO, us(10), 1.0);
        let sums = charged(&mut quiet, 64, 64, |rank, step| if rank == step { 48 } else { 8 });
        assert!(sums.iter().all(|sum| *sum == us(63 * 8 + 48)));
        assert_eq!(quiet.of_run(), None);
    }
}

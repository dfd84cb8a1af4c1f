//! The time that ranks compute from one call to the next where computation is measured, and which intervals
//! stand out.
//!
//! Intervals between the same two functions are alike in most programs. One that takes a hundred times their
//! median is rather the host's doing than the program's: another process, an interrupt, a hypervisor that has
//! to find a page.

mod interrupted;

use engine::Span;
use interrupted::RecentIntervals;
pub use interrupted::{EndedInterval, InterruptedIntervals, Interruptions};
use serde::{Deserialize, Serialize};

/// An interval stands out from this many medians on.
const STANDS_OUT: u64 = 100;
/// Shorter intervals never do, in picoseconds: the host checks them against no CPU clock.
const MIN_LONG_PS: u64 = 50_000_000;
/// Intervals that a median needs.
const MIN_COUNT: u64 = 16;
/// Intervals of a pair for each long one, at least. With fewer, the program itself makes them long.
const MIN_RARITY: u64 = 10;
/// Pairs of functions that are told apart. Intervals of more are not looked at.
const MAX_PAIRS: usize = 512;
/// Entries of the table that are tried for a pair.
const MAX_PROBES: usize = 8;
/// The histogram begins at 2^10 ps; each power of two has four buckets.
const FIRST_BITS: u32 = 10;
const BUCKETS: usize = 4 * 42;

/// Instead of a function: the rank's own code begins.
pub const BEGINNING: u16 = u16::MAX;
/// Instead of a function: the rank has read a clock.
pub const CLOCK: u16 = u16::MAX - 1;

/// Intervals between two functions that took over a hundred times their median.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LongIntervals {
    /// The function that returned at their beginnings, and the one that was called at their ends.
    pub from: String,
    /// See `from`.
    pub to: String,
    /// Intervals between the two.
    pub intervals: u64,
    /// Their median, within 20 %.
    pub median_ps: u64,
    /// The number that took over a hundred times that.
    pub long: u64,
    /// The time that those took beyond the median, all together; the longest exactly, others within 20 %.
    pub added_ps: u128,
    /// The longest.
    pub max_ps: u64,
    /// Whose it was.
    pub max_rank: u32,
    /// The call site that ended it.
    pub max_site: String,
}

impl LongIntervals {
    /// Adds those of another process.
    pub fn add(&mut self, other: &LongIntervals) {
        self.intervals += other.intervals;
        self.long += other.long;
        self.added_ps += other.added_ps;
        if other.max_ps > self.max_ps {
            (self.max_ps, self.max_rank, self.max_site) =
                (other.max_ps, other.max_rank, other.max_site.clone());
            self.median_ps = other.median_ps;
        }
    }
}

/// Intervals between two functions.
struct FunctionPair {
    key: u32,
    count: u64,
    longest_ps: u64,
    longest_rank: u32,
    /// The address that the call which ended the longest returns to.
    longest_site: usize,
    histogram: [u32; BUCKETS],
    recent: RecentIntervals,
}

/// The pairs that were met, by their key.
#[derive(Default)]
struct FunctionPairs(Vec<Option<Box<FunctionPair>>>);

/// All intervals of a process.
#[derive(Default)]
pub struct Intervals {
    pairs: FunctionPairs,
    from: u16,
    /// Interruptions of the host that no rank is charged for.
    pub interruptions: Interruptions,
    /// Returns the address in the program that the current call returns to.
    pub site: Option<fn() -> usize>,
}

#[inline]
fn bucket(ps: u64) -> usize {
    let bits = u64::BITS - 1 - (ps | 1).leading_zeros();
    if bits < FIRST_BITS {
        0
    } else {
        (1 + 4 * (bits - FIRST_BITS) as usize + (ps >> (bits - 2) & 3) as usize).min(BUCKETS - 1)
    }
}

/// Returns the middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let Some(place) = bucket.checked_sub(1) else { return 1 << (FIRST_BITS - 1) };
    let bits = FIRST_BITS + (place / 4) as u32;
    (1 << bits) + ((2 * (place as u64 % 4) + 1) << (bits - 3))
}

impl Intervals {
    /// An interval begins as `function` returns.
    #[inline]
    pub fn begin(&mut self, function: u16) {
        self.from = function;
    }

    /// Ends an interval as its rank calls `function`. Returns the charge for it, less than its length if the
    /// host has interrupted it, and `true` if its call site was looked up, which takes microseconds.
    #[inline]
    pub fn end(&mut self, function: u16, ended: &EndedInterval) -> (Span, bool) {
        let key = u32::from(self.from) << 16 | u32::from(function);
        let Some(pair) = self.pairs.get(key) else { return (ended.span, false) };
        let (span, rank) = (self.interruptions.charge(&mut pair.recent, ended), ended.rank);
        let ps = span.as_ps();
        pair.count += 1;
        let count = &mut pair.histogram[bucket(ps)];
        *count = count.saturating_add(1);
        if ps <= pair.longest_ps {
            return (span, false);
        }
        (pair.longest_ps, pair.longest_rank) = (ps, rank);
        (span, ps >= MIN_LONG_PS && self.look_up_site(key))
    }

    #[cold]
    fn look_up_site(&mut self, key: u32) -> bool {
        let site = self.site.map_or(0, |site| site());
        if let Some(pair) = self.pairs.get(key) {
            pair.longest_site = site;
        }
        true
    }

    /// Returns what stands out, most time first. `functions` names functions by number, `site` names an
    /// address.
    pub fn long(&self, functions: &[&str], mut site: impl FnMut(usize) -> String) -> Vec<LongIntervals> {
        let name = |function: u16| match function {
            BEGINNING => "the program's beginning".to_owned(),
            CLOCK => "a reading of a clock".to_owned(),
            function => functions
                .get(usize::from(function))
                .map_or_else(|| "a call".to_owned(), |&name| name.to_owned()),
        };
        let mut all: Vec<_> = self
            .pairs
            .0
            .iter()
            .flatten()
            .filter_map(|pair| {
                let (median_ps, long, added_ps) = pair.long()?;
                Some(LongIntervals {
                    from: name((pair.key >> 16) as u16),
                    to: name(pair.key as u16),
                    intervals: pair.count,
                    median_ps,
                    long,
                    added_ps,
                    max_ps: pair.longest_ps,
                    max_rank: pair.longest_rank,
                    max_site: if pair.longest_site == 0 { String::new() } else { site(pair.longest_site) },
                })
            })
            .collect();
        all.sort_by(|one, other| {
            other
                .added_ps
                .cmp(&one.added_ps)
                .then_with(|| (&one.from, &one.to).cmp(&(&other.from, &other.to)))
        });
        all
    }
}

impl FunctionPairs {
    #[inline]
    fn get(&mut self, key: u32) -> Option<&mut FunctionPair> {
        if self.0.is_empty() {
            self.0.resize_with(MAX_PAIRS, || None);
        }
        let first = (key.wrapping_mul(0x9e37_79b1) >> 23) as usize;
        for probe in 0..MAX_PROBES {
            let at = (first + probe) % MAX_PAIRS;
            match &self.0[at] {
                Some(pair) if pair.key != key => {}
                Some(_) => return self.0[at].as_deref_mut(),
                None => {
                    self.0[at] = Some(Box::new(FunctionPair::new(key)));
                    return self.0[at].as_deref_mut();
                }
            }
        }
        None
    }
}

impl FunctionPair {
    fn new(key: u32) -> FunctionPair {
        FunctionPair {
            key,
            count: 0,
            longest_ps: 0,
            longest_rank: 0,
            longest_site: 0,
            histogram: [0; BUCKETS],
            recent: RecentIntervals::default(),
        }
    }

    /// Returns the median, how many intervals are long beside it, and what they add; `None` if none is.
    fn long(&self) -> Option<(u64, u64, u128)> {
        let mut seen = 0;
        let half = self.count / 2;
        let median = self.histogram.iter().position(|&count| {
            seen += u64::from(count);
            seen > half
        })?;
        let median_ps = middle(median);
        let least = (STANDS_OUT * median_ps).max(MIN_LONG_PS);
        if self.count < MIN_COUNT || self.longest_ps < least {
            return None;
        }
        // The longest is one of its bucket's, whose middle may be below what is long.
        let own = bucket(self.longest_ps);
        let (mut long, mut added_ps) = (1, u128::from(self.longest_ps - median_ps));
        for (bucket, &count) in
            self.histogram.iter().enumerate().filter(|(bucket, _)| *bucket == own || middle(*bucket) >= least)
        {
            let others = u64::from(count) - u64::from(bucket == own);
            long += others;
            added_ps += u128::from(others) * u128::from(middle(bucket) - median_ps);
        }
        (long * MIN_RARITY <= self.count).then_some((median_ps, long, added_ps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(intervals: &mut Intervals, from: u16, ns: u64, rank: u32) -> bool {
        intervals.begin(from);
        intervals.end(1, &EndedInterval { span: Span::from_ns(ns), rank, ..EndedInterval::default() }).1
    }

    #[test]
    fn the_middle_of_a_bucket_is_within_a_fifth_of_its_lengths() {
        for ps in (0..3000).map(|step| (1024.0 * 1.01f64.powi(step)) as u64) {
            let off = middle(bucket(ps)) as f64 / ps as f64;
            assert!((0.8..1.25).contains(&off) || bucket(ps) == BUCKETS - 1, "{ps} {off}");
        }
    }

    #[test]
    fn an_interval_of_a_hundred_medians_is_named_with_its_rank_and_site() {
        let mut intervals = Intervals { site: Some(|| 77), ..Intervals::default() };
        for rank in 0..1000 {
            assert!(!ended(&mut intervals, 0, 7_000 + u64::from(rank % 9), rank));
        }
        assert!(intervals.long(&["MPI_Irecv", "MPI_Isend"], |_| String::new()).is_empty());
        assert!(ended(&mut intervals, 0, 4_000_000, 464));
        let long = intervals.long(&["MPI_Irecv", "MPI_Isend"], |site| format!("line {site}"));
        let [one] = long.as_slice() else { panic!("{long:?}") };
        assert_eq!(
            (one.from.as_str(), one.to.as_str(), one.max_site.as_str()),
            ("MPI_Irecv", "MPI_Isend", "line 77")
        );
        assert_eq!((one.intervals, one.long, one.max_ps, one.max_rank), (1001, 1, 4_000_000_000, 464));
        assert!(
            one.median_ps.abs_diff(7_000_000) < 1_400_000 && one.added_ps.abs_diff(3_993_000_000) < 2_000_000,
            "{one:?}"
        );
    }

    #[test]
    fn what_a_program_often_does_does_not_stand_out() {
        let mut intervals = Intervals::default();
        for step in 0..1000u32 {
            // Each eighth step is long, and the other pair always is.
            ended(&mut intervals, 0, if step % 8 == 0 { 4_000_000 } else { 7_000 }, 0);
            ended(&mut intervals, 5, 4_000_000, 0);
        }
        // Too few for a median; and a hundred medians that are no 50 us.
        ended(&mut intervals, 6, 1, 0);
        ended(&mut intervals, 6, 4_000_000, 0);
        for ns in std::iter::repeat_n(100, 100).chain([40_000]) {
            ended(&mut intervals, 7, ns, 0);
        }
        assert_eq!(intervals.long(&[], |_| String::new()), []);
    }
}

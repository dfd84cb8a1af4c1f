//! Times from a histogram: as many short and long ones as were recorded, with their mean and deviation.
//!
//! A histogram has a bin for each power of two, in which times may lie anywhere. Drawn evenly from it they
//! would spread more than those that were recorded, and ranks that wait for the longest would wait longer. So
//! they are drawn as far from the middle of the bin as the recorded deviation allows.
//!
//! Few draws are not yet like the histogram. So the draws of ranks for the same call are stratified at calls
//! that ranks pass seldom. Of 16 ranks one has the longest sixteenth of all times, as in the recording on the
//! mean, and not sometimes none and sometimes three.

use crate::histogram::Summary;
use engine::Span;

/// Passages of a rank up to which what ranks draw is stratified.
// Where they are more it evens out, and ranks that wait for each other at each of them should not always meet
// one that takes long.
const MAX_STRATIFIED: u64 = 16;

/// Draws times of one histogram.
#[derive(Clone, Debug)]
pub struct TimeSampler<'t> {
    summary: &'t Summary,
    /// Number of times that ranks passed there. It exceeds the number of recorded times where some computed
    /// nothing.
    passages: u64,
    /// Ranks of the run.
    ranks: u32,
    /// By what a time from the middle of its bin is multiplied, so that the mean is that of the recording.
    scale: f64,
    /// Width of the range around the middle of a bin from which times are drawn, as a part of the bin.
    pub within: f64,
    /// By what the distance from the mean is multiplied: less than one where bins alone are further apart
    /// than times were.
    pub shrink: f64,
    /// Runs of ranks by their ends, each with the factor by which its times are multiplied.
    factors: Vec<(u32, f64)>,
    /// The first times of each rank, and how many it has.
    first: Option<(u64, Box<TimeSampler<'t>>)>,
}

/// Shared steps in a row of which each is of another stratum.
const STEPS: u32 = 16;

/// Returns a number that looks random, the same for the same two.
fn hash(one: u64, other: u64) -> u64 {
    let mut x = one.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ other.wrapping_add(0x2545_f491_4f6c_dd1d);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        x = (x ^ (x >> 30)).wrapping_mul(factor);
    }
    x ^ (x >> 31)
}

/// Returns the index of a rank among all in an order that looks random, another one for each key. It is a
/// Feistel network on as many bits as the ranks take, repeated until it is among them (J. Black and P.
/// Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).
fn place(rank: u32, ranks: u32, key: u64) -> u32 {
    let half = (32 - (ranks - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u32 << half) - 1;
    let mut place = rank;
    loop {
        let (mut high, mut low) = (place >> half, place & mask);
        for round in 0..4 {
            (high, low) = (low, high ^ (hash(u64::from(low) << 2 | round, key) as u32 & mask));
        }
        place = high << half | low;
        if place < ranks {
            return place;
        }
    }
}

impl<'t> TimeSampler<'t> {
    /// Prepares draws from the histogram of a path. Ranks passed it `passages` times after their first times
    /// ([`Summary::later`]).
    pub fn new(summary: &'t Summary, passages: u64, ranks: u32) -> TimeSampler<'t> {
        let first = summary.first.as_ref().map(|first| {
            (
                u64::from(first.per_rank),
                Box::new(TimeSampler::new(&first.summary, first.summary.count, ranks)),
            )
        });
        let mut draw = TimeSampler {
            summary,
            passages: passages.max(summary.count),
            ranks: ranks.max(1),
            scale: 1.0,
            within: 1.0,
            shrink: 1.0,
            factors: summary.spread.factors(),
            first,
        };
        let count = summary.count.max(1) as f64;
        let over = |of: &dyn Fn(usize) -> f64| {
            (0..summary.bins.len()).map(|bin| of(bin) * summary.bins[bin] as f64).sum::<f64>() / count
        };
        let mean = over(&|bin| draw.middle(bin));
        if mean <= 0.0 {
            return draw;
        }
        let between = over(&|bin| (draw.middle(bin) - mean).powi(2));
        // Of numbers that lie anywhere in a stretch, a twelfth of its square.
        let inside = over(&|bin| {
            let (low, high) = draw.bounds(bin);
            (high as f64 - low as f64).powi(2) / 12.0
        });
        draw.scale = summary.mean as f64 / mean;
        let recorded = (summary.deviation as f64 / draw.scale).powi(2);
        draw.within =
            if inside > 0.0 { ((recorded - between).max(0.0) / inside).sqrt().min(1.0) } else { 0.0 };
        draw.shrink = if recorded < between { (recorded / between).sqrt() } else { 1.0 };
        draw
    }

    /// Returns the least and the greatest time of a bin.
    fn bounds(&self, bin: usize) -> (u64, u64) {
        let bits = self.summary.first_bits + bin as u32;
        let (low, high) = if bits == 0 { (0, 0) } else { (1 << (bits - 1), u64::MAX >> (64 - bits)) };
        (low.max(self.summary.least), high.min(self.summary.most))
    }

    fn middle(&self, bin: usize) -> f64 {
        let (low, high) = self.bounds(bin);
        (low as f64 + high as f64) / 2.0
    }

    /// Returns how many times as long as all ranks on the mean one computes.
    pub fn factor(&self, rank: u32) -> f64 {
        self.factors.get(self.factors.partition_point(|run| run.0 <= rank)).map_or(1.0, |run| run.1)
    }

    /// Returns `true` if times hang on how often the rank passed here.
    pub fn counts(&self) -> bool {
        self.first.is_some() || self.summary.shared > 0
    }

    /// Returns a time for a rank's call of this number, which passes here for the `passage`th time, from 0,
    /// if [`TimeSampler::counts`]. O(bins).
    pub fn time(&self, rank: u32, call: u64, passage: u64) -> Span {
        if let Some((_, draw)) = self.first.as_ref().filter(|(per_rank, _)| passage < *per_rank) {
            return draw.time(rank, call, 0);
        }
        // In a step of all ranks they draw the same.
        let step = hash(self.summary.mean, passage);
        let is_shared = step % 100 < u64::from(self.summary.shared);
        let (key, call) = if is_shared { (0, hash(step, 0)) } else { (u64::from(rank) + 1, call) };
        let mut drawn = hash(key, call);
        let stratum = if is_shared {
            let block = hash(self.summary.mean, passage / u64::from(STEPS));
            Some((place((passage % u64::from(STEPS)) as u32, STEPS, block), STEPS))
        } else {
            let is_few = self.passages <= MAX_STRATIFIED * u64::from(self.ranks);
            is_few.then(|| (place(rank % self.ranks, self.ranks, call), self.ranks))
        };
        if let Some((stratum, strata)) = stratum {
            let stratum = u128::from(stratum) << 64 | u128::from(drawn);
            drawn = (stratum / u128::from(strata)) as u64;
        }
        let mut left = ((u128::from(drawn) * u128::from(self.passages)) >> 64) as u64;
        for (bin, &count) in self.summary.bins.iter().enumerate() {
            if left < count {
                let (low, high) = self.bounds(bin);
                let part = (hash(drawn, call) >> 11) as f64 / (1u64 << 53) as f64;
                let time = (self.middle(bin) + (part - 0.5) * high.saturating_sub(low) as f64 * self.within)
                    * self.scale;
                let mean = self.summary.mean as f64;
                return Span::from_ps(
                    ((mean + (time - mean) * self.shrink) * self.factor(rank)).round() as u64
                );
            }
            left -= count;
        }
        Span::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::Histogram;

    fn of(times: impl IntoIterator<Item = u64>) -> Summary {
        let mut histogram = Histogram::default();
        times.into_iter().for_each(|ps| histogram.add(Span::from_ps(ps)));
        histogram.summary()
    }

    /// Returns mean and deviation of what 10 ranks draw for 10,000 calls, of those that are not zero, and how
    /// many are.
    fn drawn(summary: &Summary, passages: u64) -> (f64, f64, usize) {
        let draw = TimeSampler::new(summary, passages, 10);
        let all: Vec<f64> =
            (0..100_000).map(|k| draw.time((k % 10) as u32, k / 10, 0).as_ps() as f64).collect();
        let some: Vec<f64> = all.iter().copied().filter(|&time| time > 0.0).collect();
        let mean = some.iter().sum::<f64>() / some.len() as f64;
        let variance = some.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / some.len() as f64;
        (mean, variance.sqrt(), all.len() - some.len())
    }

    #[test]
    fn times_have_the_mean_and_deviation_of_the_recording() {
        let narrow = of((0..300).map(|k| 100_000_000 + k * 10_000));
        let split = of((0..300).map(|k| (1 << 27) - 1_500_000 + k * 10_000));
        let wide = of((0..300).map(|k| 1_000_000 + k * k * k * 100));
        for (name, summary, passages) in [("narrow", narrow, 400), ("split", split, 300), ("wide", wide, 600)]
        {
            let (mean, deviation, none) = drawn(&summary, passages);
            assert!(
                (mean / summary.mean as f64 - 1.0).abs() < 0.02,
                "{name}: a mean of {mean} and not {}",
                summary.mean
            );
            let recorded = summary.deviation as f64;
            assert!(
                (deviation / recorded - 1.0).abs() < 0.1,
                "{name}: a deviation of {deviation} and not {recorded}"
            );
            // Some passages had no computation.
            let expected = 1.0 - summary.count as f64 / passages as f64;
            assert!((none as f64 / 100_000.0 - expected).abs() < 0.01, "{name}: {none}");
        }
    }

    #[test]
    fn one_rank_in_ten_has_the_time_that_one_in_ten_had() {
        let summary = of((0..100).map(|k| if k % 10 == 0 { 1 << 40 } else { 1 << 20 }));
        let draw = TimeSampler::new(&summary, 100, 10);
        let mut had = [0; 10];
        for call in 0..1000 {
            let long: Vec<usize> =
                (0..10).filter(|&rank| draw.time(rank as u32, call, 0).as_ps() > 1 << 30).collect();
            assert_eq!(long.len(), 1, "call {call}");
            had[long[0]] += 1;
        }
        assert!(had.iter().all(|times| (50..150).contains(times)), "each has its turn: {had:?}");
    }

    #[test]
    fn ranks_have_places_of_their_own() {
        for ranks in [1, 2, 3, 10, 16, 17, 1000] {
            for key in 0..5 {
                let mut places: Vec<u32> = (0..ranks).map(|rank| place(rank, ranks, key)).collect();
                places.sort_unstable();
                assert!(places.into_iter().eq(0..ranks), "{ranks} ranks");
            }
        }
    }
}

//! Lengths of time, added up so that the order in which they come makes no difference: sums and sums of
//! squares are exact.

use engine::Span;
use ethnum::U256;
use recorder::call_profile::Moments;
use serde::{Deserialize, Serialize};

/// Counts, sums and extremes of lengths of time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TimeMoments {
    count: u64,
    sum: u128,
    /// In square picoseconds. A square has 128 bits, and there are less than 2^64 of them.
    squares: U256,
    min: (u64, u32),
    max: (u64, u32),
}

impl Default for TimeMoments {
    fn default() -> TimeMoments {
        TimeMoments { count: 0, sum: 0, squares: U256::ZERO, min: (u64::MAX, u32::MAX), max: (0, u32::MAX) }
    }
}

impl TimeMoments {
    /// Adds one more, of `rank`; O(1).
    #[inline]
    pub fn add(&mut self, span: Span, rank: u32) {
        let ps = span.as_ps();
        self.count += 1;
        // Most calls take no time.
        if ps != 0 {
            self.sum += u128::from(ps);
            let (low, carry) = self.squares.low().overflowing_add(u128::from(ps) * u128::from(ps));
            *self.squares.low_mut() = low;
            *self.squares.high_mut() += u128::from(carry);
        }
        // Few are an extreme.
        if ps <= self.min.0 {
            self.min = self.min.min((ps, rank));
        }
        if ps >= self.max.0 {
            self.max = longer(self.max, (ps, rank));
        }
    }

    /// Adds moments of other calls.
    pub fn add_all(&mut self, other: &TimeMoments) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        self.min = self.min.min(other.min);
        self.max = longer(self.max, other.max);
    }

    /// Returns the moments as a report has them.
    pub fn moments(&self) -> Moments {
        if self.count == 0 {
            return Moments::default();
        }
        Moments {
            count: self.count,
            sum_ps: self.sum,
            deviation_ps: self.deviation(),
            min_ps: self.min.0,
            min_rank: self.min.1,
            max_ps: self.max.0,
            max_rank: self.max.1,
        }
    }

    /// Returns the standard deviation: the root of `(n sum(x^2) - sum(x)^2) / n^2`, rounded to a picosecond.
    ///
    /// The difference is exact where it fits in 256 bits, which it does up to 2^64 calls of 2^32 s; only its
    /// root is rounded.
    fn deviation(&self) -> u64 {
        let count = U256::from(self.count);
        let whole = self.squares.saturating_mul(count);
        let variance = whole.saturating_sub(U256::from(self.sum).saturating_mul(U256::from(self.sum)));
        (variance.as_f64().sqrt() / self.count as f64).round() as u64
    }
}

/// Returns the longer of two, with the lower rank of two equal ones.
pub fn longer(a: (u64, u32), b: (u64, u32)) -> (u64, u32) {
    if (b.0, !b.1) > (a.0, !a.1) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(spans: &[(u64, u32)]) -> TimeMoments {
        let mut sums = TimeMoments::default();
        spans.iter().for_each(|&(ps, rank)| sums.add(Span::from_ps(ps), rank));
        sums
    }

    #[test]
    fn the_deviation_is_that_of_all_calls() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, deviation 2.
        let spans = [2, 4, 4, 4, 5, 5, 7, 9].map(|ps| (ps, ps as u32));
        let moments = of(&spans).moments();
        assert_eq!((moments.mean_ps(), moments.deviation_ps), (5, 2));
        assert_eq!((moments.min_ps, moments.min_rank, moments.max_ps, moments.max_rank), (2, 2, 9, 9));
    }

    #[test]
    fn long_calls_that_differ_little_have_a_small_deviation() {
        let day = 86_400_000_000_000_000;
        assert_eq!(of(&[(day, 0), (day + 2, 1)]).moments().deviation_ps, 1);
        assert_eq!(of(&[(u64::MAX, 3); 5]).moments().deviation_ps, 0);
    }

    proptest! {
        #[test]
        fn parts_in_any_order_are_the_whole(
            spans in prop::collection::vec((any::<u64>(), 0u32..9), 0..20),
            cut in 0usize..20,
        ) {
            let (low, high) = spans.split_at(cut.min(spans.len()));
            let mut parts = of(high);
            parts.add_all(&of(low));
            prop_assert_eq!(parts, of(&spans));
        }
    }
}

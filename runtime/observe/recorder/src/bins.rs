//! Amounts over virtual time, in a fixed number of equal stretches: these are doubled whenever the run gets
//! longer than they reach.

use engine::{Span, Time};
use serde::{Deserialize, Serialize};

/// Stretches.
const BINS: usize = 512;

/// Amounts by stretch of virtual time: each amount is multiplied by the picoseconds that it lasted.
// All sums are exact integers, so that parts of several processes, in any order, are the whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bins {
    /// A stretch has 2 to this power picoseconds, so that times fall into them by a shift.
    width: u32,
    sums: Vec<u128>,
}

impl Default for Bins {
    fn default() -> Bins {
        Bins { width: 0, sums: vec![0; BINS] }
    }
}

impl Bins {
    /// Adds `amount` from `from` on for `span`; O(stretches that it reaches over).
    #[inline]
    pub fn add(&mut self, from: Time, span: Span, amount: u64) {
        if span == Span::ZERO || amount == 0 {
            return;
        }
        let (from, until) = (from.as_ps(), from.as_ps().saturating_add(span.as_ps()));
        self.reach(until - 1);
        let (first, last) = (from >> self.width, (until - 1) >> self.width);
        let amount = u128::from(amount);
        if first == last {
            self.sums[first as usize] += u128::from(until - from) * amount;
            return;
        }
        for bin in first..=last {
            let (begin, end) =
                ((bin << self.width).max(from), ((u128::from(bin) + 1) << self.width).min(until.into()));
            self.sums[bin as usize] += (end - u128::from(begin)) * amount;
        }
    }

    /// Doubles the length of stretches until the instant `at` is within one of them.
    fn reach(&mut self, at: u64) {
        while at >> self.width >= BINS as u64 {
            self.double();
        }
    }

    fn double(&mut self) {
        for half in 0..BINS / 2 {
            self.sums[half] = self.sums[2 * half] + self.sums[2 * half + 1];
        }
        self.sums[BINS / 2..].fill(0);
        self.width += 1;
    }

    /// Returns the length of a stretch: 2 to this power picoseconds.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Stretches of 2 to this power picoseconds, which is not less than before.
    pub fn widen(&mut self, width: u32) {
        while self.width < width {
            self.double();
        }
    }

    /// Adds what another process has.
    pub fn add_all(&mut self, other: &Bins) {
        let mut other = other.clone();
        self.widen(other.width);
        other.widen(self.width);
        self.sums.iter_mut().zip(&other.sums).for_each(|(all, more)| *all += more);
    }

    /// Stretches up to the last in which there was anything.
    pub fn used(&self) -> &[u128] {
        let length = self.sums.iter().rposition(|&sum| sum != 0).map_or(0, |last| last + 1);
        &self.sums[..length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(bins: &mut Bins, from: u64, span: u64, amount: u64) {
        bins.add(Time::from_ps(from), Span::from_ps(span), amount);
    }

    #[test]
    fn a_long_stay_is_spread_over_the_stretches_that_it_touches() {
        let mut bins = Bins::default();
        add(&mut bins, 3, 1022, 10);
        assert_eq!(bins.width(), 2, "512 stretches of 4 ps reach to 2048, those of 2 ps to 1024 only");
        let used = bins.used();
        assert_eq!((used[0], used[1], used[256], used.len()), (10, 40, 10, 257));
        assert_eq!(used.iter().sum::<u128>(), 10_220);
    }

    #[test]
    fn the_end_of_time_is_within() {
        let mut bins = Bins::default();
        add(&mut bins, u64::MAX - 5, 5, 1);
        assert_eq!((bins.width(), bins.used().len(), bins.used()[511]), (55, 512, 5));
        add(&mut bins, 0, u64::MAX, u64::MAX);
        assert_eq!(bins.used().iter().sum::<u128>(), u128::from(u64::MAX) * u128::from(u64::MAX) + 5);
    }

    #[test]
    fn parts_that_reach_differently_far_are_the_whole() {
        let stays = [(0, 700, 3), (5_000, 90_000, 1), (1, 2, 7), (511, 2, 2)];
        let mut whole = Bins::default();
        stays.iter().for_each(|&(from, span, amount)| add(&mut whole, from, span, amount));
        for cut in 0..=stays.len() {
            let mut parts = [Bins::default(), Bins::default()];
            stays.iter().enumerate().for_each(|(at, &(from, span, amount))| {
                add(&mut parts[usize::from(at >= cut)], from, span, amount)
            });
            let [mut all, other] = parts;
            all.add_all(&other);
            assert_eq!(all, whole, "cut at {cut}");
        }
    }
}

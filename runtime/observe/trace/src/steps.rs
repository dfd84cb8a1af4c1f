//! Sums over ranks of what they computed in a step, for some steps of a path. They show how much of the
//! variance all ranks share: a slow step of all ranks delays a run once, slow ranks in different steps delay
//! it each time.

use crate::codec::{Put, Reader, Result};

/// The most steps that are kept.
const MAX_STEPS: usize = 128;
/// Fewer steps show no variance.
const MIN_STEPS: usize = 4;
/// The most times that the stride is doubled.
const MAX_STRIDE_BITS: u8 = 63;

/// Sums by step: every one of them, or every second, fourth and so on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StepSums {
    /// Steps whose number is a multiple of two to this power are kept.
    stride_bits: u8,
    /// Times and their sum in picoseconds.
    sums: Vec<(u64, u64)>,
}

impl StepSums {
    /// Adds a rank's time in a step. The result is the same in any order. O(1), amortized.
    #[inline]
    pub fn add(&mut self, step: u64, ps: u64) {
        while step & ((1 << self.stride_bits) - 1) == 0 {
            let at = (step >> self.stride_bits) as usize;
            if at < MAX_STEPS {
                if at >= self.sums.len() {
                    self.sums.resize(at + 1, (0, 0));
                }
                let (times, sum) = &mut self.sums[at];
                (*times, *sum) = (*times + 1, sum.saturating_add(ps));
                return;
            }
            self.double_stride();
        }
    }

    /// Keeps every second step of those that are kept.
    fn double_stride(&mut self) {
        let mut at = 0;
        self.sums.retain(|_| {
            at += 1;
            at % 2 == 1
        });
        // The last step that is kept has times.
        while self.sums.last().is_some_and(|step| step.0 == 0) {
            self.sums.pop();
        }
        self.stride_bits += 1;
    }

    /// Adds the times of other ranks, or of other calls in the same steps.
    pub fn merge(&mut self, other: &StepSums) {
        let mut other = other.clone();
        while self.stride_bits < other.stride_bits {
            self.double_stride();
        }
        while other.stride_bits < self.stride_bits {
            other.double_stride();
        }
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), (0, 0));
        }
        for ((times, sum), more) in self.sums.iter_mut().zip(other.sums) {
            (*times, *sum) = (times.saturating_add(more.0), sum.saturating_add(more.1));
        }
    }

    /// Appends a step.
    pub fn push(&mut self, times: u64, ps: u64) {
        if self.stride_bits == 0 && self.sums.len() < MAX_STEPS {
            self.sums.push((times, ps));
        }
    }

    /// Appends the steps that follow these. If not all of them are kept they alone stay: they are far more.
    pub fn append(&mut self, later: &StepSums) {
        if self.stride_bits > 0 || later.stride_bits > 0 {
            if self.stride_bits == 0 {
                self.sums.clear();
            }
            self.merge(later);
            return;
        }
        for &(times, ps) in later.sums.iter().filter(|step| step.0 > 0) {
            self.push(times, ps);
        }
    }

    /// Returns the part of `variance` that all ranks share in a step, from 0 to 1. It is 0 where chance
    /// explains how the means of steps differ (three standard errors). `variance` is that of single times, in
    /// picoseconds squared, beside what the means of ranks differ in.
    pub fn shared(&self, variance: f64) -> f64 {
        let full = self.sums.iter().map(|step| step.0).max().unwrap_or(0);
        // The last steps may be those of few ranks.
        let steps = || self.sums.iter().filter(|step| 2 * step.0 > full);
        let count = steps().count();
        if count < MIN_STEPS || full < 2 || variance <= 0.0 {
            return 0.0;
        }
        let means = || steps().map(|&(times, sum)| sum as f64 / times as f64);
        let mean = means().sum::<f64>() / count as f64;
        let between = means().map(|of_step| (of_step - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
        let ranks = steps().map(|step| step.0 as f64).sum::<f64>() / count as f64;
        let by_chance = variance / ranks;
        if between <= by_chance * (1.0 + 3.0 * (2.0 / (count - 1) as f64).sqrt()) {
            return 0.0;
        }
        ((between - by_chance) / (1.0 - 1.0 / ranks) / variance).clamp(0.0, 1.0)
    }

    /// Appends them, as [`StepSums::read`] reads them.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.stride_bits);
        bytes.number(self.sums.len() as u64);
        for &(times, sum) in &self.sums {
            bytes.number(times);
            bytes.number(sum);
        }
    }

    /// Reads what [`StepSums::write`] wrote.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(reader: &mut Reader) -> Result<StepSums> {
        let stride_bits = reader.byte()?;
        let count = reader.count(2, "steps")?;
        if stride_bits > MAX_STRIDE_BITS || count > MAX_STEPS {
            return reader.wrong(format!("{count} steps, where at most {MAX_STEPS} may be"));
        }
        let sums = (0..count).map(|_| Ok((reader.number()?, reader.number()?))).collect::<Result<_>>()?;
        Ok(StepSums { stride_bits, sums })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(times: &[(u64, u64)]) -> StepSums {
        let mut steps = StepSums::default();
        times.iter().for_each(|&(step, ps)| steps.add(step, ps));
        steps
    }

    proptest! {
        #[test]
        fn steps_are_the_same_in_any_order_and_merged(
            times in prop::collection::vec((0u64..1000, 0u64..1 << 40), 0..60),
            cut in 0usize..60,
        ) {
            let mut turned = times.clone();
            turned.reverse();
            prop_assert_eq!(of(&times), of(&turned));
            let (one, other) = times.split_at(cut.min(times.len()));
            let mut merged = of(one);
            merged.merge(&of(other));
            prop_assert_eq!(&merged, &of(&times));
            let mut bytes = Vec::new();
            merged.write(&mut bytes);
            prop_assert_eq!(StepSums::read(&mut Reader::new(&bytes)).unwrap(), merged);
        }
    }

    /// Returns the shared part where a step takes `step` times a number that looks random, and each rank
    /// `own` times another.
    fn shared(step: f64, own: f64) -> f64 {
        let random = |key: u64| {
            let mixed = (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64
        };
        let (mut steps, mut times) = (StepSums::default(), Vec::new());
        for rank in 0..16u64 {
            for at in 0..100u64 {
                let time = step * random(at) + own * random(1000 + rank * 100 + at);
                steps.add(at, time as u64);
                times.push(time);
            }
        }
        let mean = times.iter().sum::<f64>() / 1600.0;
        steps.shared(times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / 1600.0)
    }

    #[test]
    fn steps_that_follow_are_appended_and_many_stay_alone() {
        let mut steps = of(&[(0, 7), (1, 8)]);
        steps.push(2, 9);
        steps.append(&of(&[(0, 1), (1, 2)]));
        assert_eq!(steps.sums, [(1, 7), (1, 8), (2, 9), (1, 1), (1, 2)]);
        let many: Vec<(u64, u64)> = (0..300).map(|step| (step, 5)).collect();
        steps.append(&of(&many));
        assert_eq!(steps, of(&many));
    }

    #[test]
    fn slow_steps_of_all_ranks_are_shared_and_slow_ranks_are_not() {
        assert!(shared(1.0, 0.0) > 0.95);
        assert!((0.3..0.7).contains(&shared(1.0, 1.0)), "{}", shared(1.0, 1.0));
        assert_eq!(shared(0.0, 1.0), 0.0);
    }
}

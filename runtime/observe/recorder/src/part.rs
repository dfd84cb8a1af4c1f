//! One process's part of a report, and how the parts come together.

use crate::intervals::{InterruptedIntervals, LongIntervals};
use crate::report::{FunctionCost, Spread};
use engine::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The spread of a length of time over some ranks, before the mean is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SpreadSum {
    least: (u64, u64),
    most: (u64, u64),
    sum: u128,
    count: u64,
}

impl SpreadSum {
    /// Sums `spans`, one for each rank from `first` on.
    pub fn of(first: u32, spans: impl IntoIterator<Item = Span>) -> SpreadSum {
        let mut all = SpreadSum::default();
        for (rank, span) in (u64::from(first)..).zip(spans) {
            all = all.with(&SpreadSum {
                least: (span.as_ps(), rank),
                most: (span.as_ps(), rank),
                sum: span.as_ps().into(),
                count: 1,
            });
        }
        all
    }
    /// Adds the counts of higher ranks; of equal ones the lower rank stays.
    #[must_use]
    pub fn with(self, other: &SpreadSum) -> SpreadSum {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { *other } else { self };
        }
        SpreadSum {
            least: if other.least.0 < self.least.0 { other.least } else { self.least },
            most: if other.most.0 > self.most.0 { other.most } else { self.most },
            sum: self.sum + other.sum,
            count: self.count + other.count,
        }
    }
    /// Returns how many ranks they are.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Returns the spread. Where all are zero no rank stands out, and number 0 is named as the greatest.
    pub fn spread(&self) -> Spread {
        // A mean never exceeds the maximum, which is a u64.
        let mean_ps = self.sum.checked_div(u128::from(self.count)).unwrap_or(0) as u64;
        let max_rank = if self.most.0 == 0 { 0 } else { self.most.1 };
        Spread { min_ps: self.least.0, min_rank: self.least.1, mean_ps, max_ps: self.most.0, max_rank }
    }
}

/// Counts of one process.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProcessCounts {
    /// The latest clock, in picoseconds.
    pub latest_ps: u64,
    /// Messages of the program.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u128,
    /// Messages of MPI's own.
    pub internal_messages: u64,
    /// Their bytes.
    pub internal_bytes: u128,
    /// Functions.
    pub functions: BTreeMap<String, FunctionCost>,
    /// Compute time.
    pub compute: SpreadSum,
    /// Waiting time.
    pub wait: SpreadSum,
    /// Processor seconds.
    pub cpu_s: f64,
    /// Largest resident set.
    pub rss: u64,
    /// Switches to a rank.
    pub switches: u64,
    /// Measured computation that stands out.
    pub long_intervals: Vec<LongIntervals>,
    /// Measured computation that the host interrupted.
    pub interrupted_intervals: Option<InterruptedIntervals>,
}

impl ProcessCounts {
    /// Adds the part of the next process.
    pub fn add(&mut self, other: &ProcessCounts) {
        self.latest_ps = self.latest_ps.max(other.latest_ps);
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.internal_messages += other.internal_messages;
        self.internal_bytes += other.internal_bytes;
        for (name, cost) in &other.functions {
            let sum = self.functions.entry(name.clone()).or_insert(FunctionCost { calls: 0, time_ps: 0 });
            sum.calls += cost.calls;
            sum.time_ps += cost.time_ps;
        }
        self.compute = self.compute.with(&other.compute);
        self.wait = self.wait.with(&other.wait);
        self.cpu_s += other.cpu_s;
        self.rss += other.rss;
        self.switches += other.switches;
        if let Some(interrupted) = &other.interrupted_intervals {
            self.interrupted_intervals.get_or_insert_default().add(interrupted);
        }
        for long in &other.long_intervals {
            match self
                .long_intervals
                .iter_mut()
                .find(|known| (&known.from, &known.to) == (&long.from, &long.to))
            {
                Some(known) => known.add(long),
                None => self.long_intervals.push(long.clone()),
            }
        }
    }
    /// Returns the counts as one line of text, for other processes.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("plain data always has a JSON form")
    }
    /// Reads the counts from [`to_text`](Self::to_text).
    ///
    /// # Errors
    /// A sentence, if the text is something else.
    pub fn from_text(text: &str) -> Result<ProcessCounts, String> {
        serde_json::from_str(text)
            .map_err(|why| format!("a process's part of the report cannot be read: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_the_spread_of_the_whole() {
        let spans = [5u64, 3, 3, 9, 9, 0].map(Span::from_ps);
        for cut in 0..=spans.len() {
            let (low, high) = spans.split_at(cut);
            let sum =
                SpreadSum::of(0, low.iter().copied()).with(&SpreadSum::of(cut as u32, high.iter().copied()));
            assert_eq!(sum.spread(), Spread::of(spans), "cut at {cut}");
        }
        assert_eq!(SpreadSum::of(0, [Span::ZERO; 3]).spread(), Spread::of([Span::ZERO; 3]));
        assert_eq!(SpreadSum::default().spread(), Spread::default());
    }

    #[test]
    fn a_part_survives_its_way() {
        let functions = [("MPI_Send".to_owned(), FunctionCost { calls: 1, time_ps: u128::MAX / 4 })].into();
        let part = ProcessCounts {
            functions,
            bytes: u128::from(u64::MAX) * 3,
            cpu_s: 0.25,
            ..ProcessCounts::default()
        };
        assert_eq!(ProcessCounts::from_text(&part.to_text()).unwrap(), part);
        let mut twice = part.clone();
        twice.add(&part);
        assert_eq!((twice.functions["MPI_Send"].calls, twice.bytes), (2, u128::from(u64::MAX) * 6));
    }
}

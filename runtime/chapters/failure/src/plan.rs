//! Plan of the ranks of a run that fail, and when.

use engine::Time;
use rustc_hash::FxHashMap;

/// A rank stops.
// In the order in which failures happen: by time, at a tie the least rank first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Failure {
    /// From when on it does nothing any more.
    pub at: Time,
    /// The world number.
    pub rank: u32,
}

/// All failures that a run has been told of, one a rank at most: who has stopped cannot fail again.
// Sparse: of a million ranks with a failure in years each, few have one within the 213 days of virtual time.
#[derive(Clone, Debug, Default)]
pub struct FailurePlan {
    times: FxHashMap<u32, Time>,
    first: Option<Failure>,
}

impl FailurePlan {
    /// Makes a plan of these failures; of several of one rank the first counts.
    pub fn new(failures: impl IntoIterator<Item = Failure>) -> FailurePlan {
        let mut plan = FailurePlan::default();
        failures.into_iter().for_each(|failure| plan.add(failure));
        plan
    }

    /// Adds one more failure.
    pub fn add(&mut self, failure: Failure) {
        let time = self.times.entry(failure.rank).or_insert(failure.at);
        *time = failure.at.min(*time);
        self.first = Some(self.first.map_or(failure, |first| first.min(failure)));
    }

    /// Returns the first of all.
    pub fn first(&self) -> Option<Failure> {
        self.first
    }

    /// Returns when a rank fails.
    pub fn of(&self, rank: u32) -> Option<Time> {
        self.times.get(&rank).copied()
    }

    /// Returns the ranks that fail, ascending. O(n log n).
    pub fn ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = self.times.keys().copied().collect();
        ranks.sort_unstable();
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_fails_once_and_the_first_failure_is_by_time_then_rank() {
        let at = |rank, ps| Failure { rank, at: Time::from_ps(ps) };
        let plan = FailurePlan::new([at(7, 30), at(3, 20), at(2, 20), at(7, 25), at(2, 90)]);
        assert_eq!(plan.first(), Some(at(2, 20)));
        assert_eq!(
            (plan.of(7), plan.of(2), plan.of(1)),
            (Some(Time::from_ps(25)), Some(Time::from_ps(20)), None)
        );
        assert_eq!(plan.ranks(), [2, 3, 7]);
        assert_eq!(FailurePlan::default().first(), None);
    }
}

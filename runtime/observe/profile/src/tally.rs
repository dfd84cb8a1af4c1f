//! Sums over the calls of one function from one call site.

use crate::moments::{TimeMoments, longer};
use engine::Span;
use recorder::call_profile::{Lost, SiteCost};
use recorder::waiting::{Returned, WaitState};
use serde::{Deserialize, Serialize};

/// Durations are told apart by their bits.
const BUCKETS: usize = 65;

/// The calls of one function from one place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tally {
    bytes: u128,
    time: TimeMoments,
    wait: TimeMoments,
    /// Calls whose duration has so many bits.
    histogram: Vec<u64>,
    /// By the number of the wait state.
    lost: [Lost; WaitState::ALL.len()],
}

impl Default for Tally {
    fn default() -> Tally {
        let (time, wait) = (TimeMoments::default(), TimeMoments::default());
        Tally {
            bytes: 0,
            time,
            wait,
            histogram: vec![0; BUCKETS],
            lost: [Lost::default(); WaitState::ALL.len()],
        }
    }
}

impl Tally {
    /// Adds one more call; O(1).
    #[inline]
    pub fn add(&mut self, call: &Returned) {
        let took = call.left.since(call.entered);
        self.bytes += u128::from(call.bytes);
        self.time.add(took, call.rank);
        self.wait.add(call.wait, call.rank);
        self.histogram[(u64::BITS - took.as_ps().leading_zeros()) as usize] += 1;
    }

    /// Records that a call of `rank` lost time waiting for rank `by`.
    pub fn lose(&mut self, state: WaitState, span: Span, rank: u32, by: u32) {
        let one =
            Lost { calls: 1, sum_ps: span.as_ps().into(), max_ps: span.as_ps(), max_rank: rank, max_by: by };
        add(&mut self.lost[state as usize], &one);
    }

    /// Adds what another process has added up.
    pub fn add_all(&mut self, other: &Tally) {
        self.bytes += other.bytes;
        self.time.add_all(&other.time);
        self.wait.add_all(&other.wait);
        self.histogram.iter_mut().zip(&other.histogram).for_each(|(all, more)| *all += more);
        self.lost.iter_mut().zip(&other.lost).for_each(|(all, more)| add(all, more));
    }

    /// Returns the tally as a report has it.
    pub fn cost(&self, site: String, function: String) -> SiteCost {
        let states = WaitState::ALL.iter().zip(&self.lost).filter(|(_, lost)| lost.calls > 0);
        SiteCost {
            site,
            function,
            bytes: self.bytes,
            time: self.time.moments(),
            wait: self.wait.moments(),
            histogram: (0..)
                .zip(&self.histogram)
                .filter(|(_, calls)| **calls > 0)
                .map(|(bits, &calls)| (bits, calls))
                .collect(),
            states: states.map(|(&state, &lost)| (state, lost)).collect(),
            callers: Vec::new(),
        }
    }
}

fn add(all: &mut Lost, more: &Lost) {
    let key = |lost: &Lost| if lost.calls == 0 { (0, u32::MAX) } else { (lost.max_ps, lost.max_rank) };
    // Of one rank's calls that lost as much the one that waited for the lower rank.
    let (before, now) = (key(all), key(more));
    if before == now && all.calls > 0 {
        all.max_by = all.max_by.min(more.max_by);
    } else if longer(before, now) == now {
        (all.max_ps, all.max_rank, all.max_by) = (more.max_ps, more.max_rank, more.max_by);
    }
    all.calls += more.calls;
    all.sum_ps += more.sum_ps;
}

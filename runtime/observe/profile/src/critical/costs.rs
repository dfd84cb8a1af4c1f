//! Costs of late ranks, handed on to where that began: the delay costs of D. Böhme et al., "Identifying the
//! root causes of wait states in large-scale parallel applications" (ICPP 2010), short-term where who is
//! waited for does something itself, long-term where that one is waiting for somebody in turn.
//!
//! At each instant at which a rank loses time it waits for another. If that one is losing time itself it
//! waits for a third, and so on to one that does not: what this one does at that instant is what the time is
//! lost to.
//!
//! (Böhme et al. compare what two ranks do since they met last; the instant needs no such pairs, and all that
//! is lost has one cause.) So what is lost is the sum of all costs, to the picosecond.
//!
//! It is found backwards: who waits for a rank does so until that one acts, which is after its own waiting,
//! so that at each wait it is known who waits for it all along. O(waits x ranks that wait for one at a time),
//! and as much for each step as the others need.

use super::steps::{CallStep, Cursor, NOBODY, StepsReader};
use recorder::critical_path::{DelayCost, LostTime};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;

/// Behind a rank's last call, for which nobody waits.
const BEHIND: u32 = u32::MAX;
/// Ranks that wait for each other at one instant, each for the next, before it is given up to follow them.
// More than there can be of ranks that wait without a deadlock is not known here; calls that do several
// things at once may seem to wait in a circle.
const CHAIN: u32 = 1 << 10;

/// Numbers of ranks that wait for one at an instant: for its own acts, and through other ranks that wait for
/// it.
#[derive(Clone, Copy, Default)]
struct Weight {
    short: i64,
    long: i64,
}

/// A rank, from its end back to `at`.
struct RankHistory {
    cursor: Cursor,
    /// `true` if the last step of the cursor has been gone back through as far as its wait.
    within: bool,
    /// The call that comes next in time.
    next: u32,
    at: u64,
    /// The ranks that wait for it at `at`.
    weight: Weight,
    /// Times before `at` at which the weight changes, with the change of each number, going back.
    changes: BinaryHeap<(u64, i64, i64)>,
    /// For whom it waits from `at` on.
    by: u32,
}

/// Attributes the costs of delays to call sites, back from the end of the run.
pub struct DelayAttribution {
    ranks: Vec<RankHistory>,
    places: FxHashMap<u32, (LostTime, LostTime)>,
}

/// An activity of a rank that others wait for: a field of [`LostTime`].
type Kind = fn(&mut LostTime) -> &mut u128;
const COMPUTE: Kind = |of| &mut of.compute_ps;
const MPI: Kind = |of| &mut of.mpi_ps;
const TRANSFER: Kind = |of| &mut of.transfer_ps;
const WAIT: Kind = |of| &mut of.wait_ps;

impl DelayAttribution {
    /// Creates the costs of ranks from their cursors, which are at the end of the ranks' steps.
    pub fn new(cursors: impl Iterator<Item = Cursor>) -> DelayAttribution {
        let timeline = |cursor| RankHistory {
            cursor,
            within: false,
            next: BEHIND,
            at: u64::MAX,
            weight: Weight::default(),
            changes: BinaryHeap::new(),
            by: NOBODY,
        };
        DelayAttribution { ranks: cursors.map(timeline).collect(), places: FxHashMap::default() }
    }

    /// Passes the next wait of all ranks, by when the late one acted and backwards, which is this rank's.
    pub fn wait(&mut self, reader: &mut StepsReader, rank: u32) -> io::Result<()> {
        let Some(step) = self.pass_to_wait(reader, rank)? else { return Ok(()) };
        let lost = step.lost_range();
        self.pass_behind_wait(rank, &step);
        // From its latest part to the first: who waits for this rank waits for the one that it waits for.
        let mut parts = Vec::new();
        let timeline = &mut self.ranks[rank as usize];
        while timeline.at > lost.start {
            let until = timeline.at;
            let Weight { short, long } = timeline.weight;
            let from = timeline.changes.peek().map_or(lost.start, |change| change.0.max(lost.start));
            if from < until {
                parts.push((from..until, short + long));
            }
            timeline.back_to(from);
        }
        (timeline.within, timeline.by) = (true, step.by);
        for (range, others) in parts {
            self.charge(step.by, range, Weight { short: 1, long: others });
        }
        Ok(())
    }

    /// Returns the costs by site, the greatest first: all waits have been.
    pub fn end(
        mut self,
        reader: &mut StepsReader,
        names: &[&(String, String)],
    ) -> io::Result<Vec<DelayCost>> {
        for rank in 0..self.ranks.len() as u32 {
            self.pass_to_wait(reader, rank)?;
            let next = self.ranks[rank as usize].next;
            self.pass(rank, 0, next, COMPUTE);
        }
        let name = |place: u32| {
            names.get(place as usize).map_or((String::new(), String::new()), |name| (*name).clone())
        };
        let cost = |(place, (short, long)): (u32, (LostTime, LostTime))| {
            let (site, function) = name(place);
            DelayCost { site, function, short, long }
        };
        let mut all: Vec<DelayCost> = self.places.into_iter().map(cost).collect();
        all.sort_by(|a, b| {
            (Reverse(a.sum()), &a.site, &a.function).cmp(&(Reverse(b.sum()), &b.site, &b.function))
        });
        Ok(all)
    }

    /// Goes back through a rank's steps to the end of the next one that lost anything.
    fn pass_to_wait(&mut self, reader: &mut StepsReader, rank: u32) -> io::Result<Option<CallStep>> {
        loop {
            let timeline = &mut self.ranks[rank as usize];
            let Some(step) = reader.last(&mut timeline.cursor)? else { return Ok(None) };
            if !timeline.within {
                let next = timeline.next;
                self.pass(rank, step.left, next, COMPUTE);
                if step.lost > 0 {
                    return Ok(Some(step));
                }
                self.pass_behind_wait(rank, &step);
            }
            self.pass(rank, step.entered, step.place, MPI);
            let timeline = &mut self.ranks[rank as usize];
            (timeline.within, timeline.next) = (false, step.place);
            timeline.cursor.pass();
        }
    }

    /// Goes back through what a call did when its wait was over, and through the waiting that is lost to
    /// nobody.
    fn pass_behind_wait(&mut self, rank: u32, step: &CallStep) {
        self.pass(rank, step.ended, step.place, MPI);
        let kind = if step.waits_for_messages() { TRANSFER } else { WAIT };
        let began = if step.lost > 0 { step.lost_range().end } else { step.began() };
        self.pass(rank, began, step.place, kind);
    }

    /// Goes back to `to`: until then the rank did this, on its way to the place or there.
    fn pass(&mut self, rank: u32, to: u64, place: u32, kind: Kind) {
        let timeline = &mut self.ranks[rank as usize];
        while timeline.at > to {
            let until = timeline.at;
            let Weight { short, long } = timeline.weight;
            let from = timeline.changes.peek().map_or(to, |change| change.0.max(to));
            if short + long > 0 {
                let cost = self.places.entry(place).or_default();
                *kind(&mut cost.0) += u128::from(until - from) * short as u128;
                *kind(&mut cost.1) += u128::from(until - from) * long as u128;
            }
            timeline.back_to(from);
        }
    }

    /// So many wait for this rank then; what of that it waited itself is charged to who it waited for.
    // It has been gone back through that already where all act at one instant, on a network that takes no
    // time, and where a call acts while it waits.
    fn charge(&mut self, mut rank: u32, mut range: Range<u64>, mut weight: Weight) {
        for _ in 0..CHAIN {
            let Some(timeline) = self.ranks.get_mut(rank as usize) else { return };
            let at = timeline.at.clamp(range.start, range.end);
            if range.start < at {
                timeline.changes.push((at, weight.short, weight.long));
                timeline.changes.push((range.start, -weight.short, -weight.long));
                // The change at `at` itself holds from there on.
                timeline.settle();
            }
            if at == range.end {
                return;
            }
            (range.start, weight) = (at, Weight { short: 0, long: weight.short + weight.long });
            if timeline.by == rank || timeline.by == NOBODY {
                break;
            }
            rank = timeline.by;
        }
        let Some(timeline) = self.ranks.get(rank as usize) else { return };
        let cost = self.places.entry(timeline.next).or_default();
        *WAIT(&mut cost.0) += u128::from(range.end - range.start) * weight.short as u128;
        *WAIT(&mut cost.1) += u128::from(range.end - range.start) * weight.long as u128;
    }
}

impl RankHistory {
    /// Goes back to this instant, at or before which there is no change but there.
    fn back_to(&mut self, at: u64) {
        self.at = at;
        self.settle();
    }

    /// Changes at the instant that has been reached.
    fn settle(&mut self) {
        while let Some(&(at, short, long)) = self.changes.peek()
            && at >= self.at
        {
            self.weight.short += short;
            self.weight.long += long;
            self.changes.pop();
        }
    }
}

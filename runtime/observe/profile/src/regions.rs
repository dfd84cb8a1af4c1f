//! Times of ranks in each region that the program names (`xsim_region_begin`) or numbers (`MPI_Pcontrol`).
//!
//! Time counts for all regions that are open: what an inner one takes is a part of the outer one.

use crate::series::Activity;
use engine::{Span, Time};
use recorder::RegionEvent;
use recorder::SpreadSum;
use recorder::call_profile::RegionCost;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Picoseconds of a process's ranks by region and by what they did: three words a rank and region, so that
/// the rank that takes longest is known.
pub struct Regions {
    first: u32,
    count: u32,
    numbers: FxHashMap<String, usize>,
    /// By number: the name, how often ranks went in, and their times.
    regions: Vec<(String, u64, Vec<[u64; 3]>)>,
    /// Empty until a rank speaks of a region: a program without pays one look at this for each call.
    callers: Vec<OpenRegions>,
}

/// Regions that a rank is in, and the time up to which its time is counted.
#[derive(Clone, Default)]
struct OpenRegions {
    level: Option<usize>,
    open: Vec<usize>,
    /// Up to when its time is counted. Computation is told of at the call behind it, and a region may end
    /// before.
    counted: Time,
}

/// Visits of a region on a process, and sums over its ranks of the whole time and of each activity.
type Sums = (u64, [SpreadSum; 4]);

/// The regions of a process's ranks by name.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RegionTimes {
    first: u32,
    count: u32,
    regions: BTreeMap<String, Sums>,
}

impl Regions {
    /// Creates the record of regions for `count` ranks from `first` on.
    pub fn new(first: u32, count: u32) -> Regions {
        Regions { first, count, numbers: FxHashMap::default(), regions: Vec::new(), callers: Vec::new() }
    }

    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        self.numbers.insert(name.to_owned(), self.regions.len());
        self.regions.push((name.to_owned(), 0, vec![[0; 3]; self.count as usize]));
        self.regions.len() - 1
    }

    /// Notes that a rank goes into a region or out of one. Returns `true` if that fits what it gave before.
    pub fn change(&mut self, rank: u32, at: Time, region: RegionEvent) -> bool {
        if self.callers.is_empty() {
            self.callers = vec![OpenRegions::default(); self.count as usize];
        }
        // Between calls a rank computes.
        let counted = self.callers[(rank - self.first) as usize].counted;
        if at > counted {
            self.add(Activity::Compute, rank, counted, at.since(counted));
        }
        let number = match region {
            RegionEvent::Begin(name) | RegionEvent::End(name) => Some(self.number(name)),
            // Level 1 is MPI's normal one, in which a program is that says nothing.
            RegionEvent::Level(1) => None,
            RegionEvent::Level(level) => Some(self.number(&format!("MPI_Pcontrol {level}"))),
        };
        let caller = &mut self.callers[(rank - self.first) as usize];
        let enters = match region {
            RegionEvent::Begin(_) => {
                caller.open.extend(number);
                true
            }
            // Regions that overlap would have their time counted for neither of them rightly.
            RegionEvent::End(_) if caller.open.last() != number.as_ref() => return false,
            RegionEvent::End(_) => {
                caller.open.pop();
                false
            }
            RegionEvent::Level(_) => std::mem::replace(&mut caller.level, number) != number,
        };
        if let Some(number) = number.filter(|_| enters) {
            self.regions[number].1 += 1;
        }
        true
    }

    /// Adds what a rank did; O(1) without regions, else O(regions that are open).
    #[inline]
    pub fn add(&mut self, doing: Activity, rank: u32, from: Time, span: Span) {
        if !self.callers.is_empty() {
            self.count_in(doing, rank, from, span);
        }
    }

    fn count_in(&mut self, doing: Activity, rank: u32, from: Time, span: Span) {
        let index = (rank - self.first) as usize;
        let caller = &mut self.callers[index];
        let (from, until) = (from.max(caller.counted), from + span);
        if until <= from {
            return;
        }
        caller.counted = until;
        let ps = until.since(from).as_ps();
        let open = || caller.level.iter().chain(&caller.open);
        // A region within itself is one.
        let is_first = |(depth, number): &(usize, &usize)| !open().take(*depth).any(|outer| outer == *number);
        for (_, &number) in open().enumerate().filter(is_first) {
            self.regions[number].2[index][doing as usize] += ps;
        }
    }

    /// Returns the times of regions, added up over ranks; O(ranks regions).
    pub fn part(&mut self) -> RegionTimes {
        let sums = |times: &[[u64; 3]]| -> [SpreadSum; 4] {
            let of = |time: &dyn Fn(&[u64; 3]) -> u64| {
                SpreadSum::of(self.first, times.iter().map(|times| Span::from_ps(time(times))))
            };
            [
                of(&|times| times.iter().sum()),
                of(&|times| times[0]),
                of(&|times| times[1]),
                of(&|times| times[2]),
            ]
        };
        let regions = self.regions.iter().filter(|(_, visits, _)| *visits > 0);
        RegionTimes {
            first: self.first,
            count: self.count,
            regions: regions.map(|(name, visits, times)| (name.clone(), (*visits, sums(times)))).collect(),
        }
    }
}

impl RegionTimes {
    /// Returns what each region cost in a run whose processes, in the order of their ranks, have these parts;
    /// the longest first.
    pub fn report(parts: &[RegionTimes]) -> Vec<RegionCost> {
        let names: BTreeMap<&String, ()> =
            parts.iter().flat_map(|part| part.regions.keys()).map(|name| (name, ())).collect();
        let cost = |name: &String| {
            let (mut visits, mut all) = (0, [SpreadSum::default(); 4]);
            for part in parts {
                // A process none of whose ranks was there has ranks all the same.
                let idle = || (0, [SpreadSum::of(part.first, (0..part.count).map(|_| Span::ZERO)); 4]);
                let (count, sums) = part.regions.get(name).copied().unwrap_or_else(idle);
                visits += count;
                all = std::array::from_fn(|at| all[at].with(&sums[at]));
            }
            let [time, compute, mpi, wait] = all.map(|sum| sum.spread());
            RegionCost { name: name.clone(), visits, time, compute, mpi, wait }
        };
        let mut costs: Vec<RegionCost> = names.into_keys().map(cost).collect();
        costs.sort_by_key(|cost| Reverse(cost.time.mean_ps));
        costs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    fn did(regions: &mut Regions, doing: Activity, rank: u32, from: u64, until: u64) {
        regions.add(doing, rank, at(from), at(until).since(at(from)));
    }

    #[test]
    fn time_counts_for_all_regions_that_are_open() {
        let mut regions = Regions::new(4, 2);
        did(&mut regions, Activity::Compute, 4, 0, 10);
        assert!(regions.change(4, at(15), RegionEvent::Begin("outer")));
        assert!(regions.change(4, at(20), RegionEvent::Begin("inner")));
        // What was computed between two calls is told of at the second.
        did(&mut regions, Activity::Compute, 4, 10, 30);
        did(&mut regions, Activity::Mpi, 4, 30, 31);
        did(&mut regions, Activity::Wait, 4, 31, 40);
        assert!(regions.change(4, at(45), RegionEvent::End("inner")));
        assert!(regions.change(4, at(46), RegionEvent::End("outer")));
        did(&mut regions, Activity::Compute, 4, 40, 60);
        let costs = RegionTimes::report(&[regions.part()]);
        let told: Vec<_> = costs
            .iter()
            .map(|cost| {
                (cost.name.as_str(), cost.visits, cost.compute.max_ps, cost.mpi.max_ps, cost.wait.max_ps)
            })
            .collect();
        assert_eq!(told, [("outer", 1, 21, 1, 9), ("inner", 1, 15, 1, 9)]);
        assert_eq!(
            (costs[0].time.max_ps, costs[0].time.min_ps, costs[0].time.max_rank),
            (31, 0, 4),
            "rank 5 was not there"
        );
    }

    #[test]
    fn a_level_is_a_region_until_the_next() {
        let mut regions = Regions::new(0, 1);
        assert!(regions.change(0, at(0), RegionEvent::Level(3)));
        assert!(regions.change(0, at(2), RegionEvent::Level(3)));
        assert!(regions.change(0, at(5), RegionEvent::Level(0)));
        assert!(regions.change(0, at(6), RegionEvent::Level(1)));
        assert!(regions.change(0, at(9), RegionEvent::Begin("a")));
        assert!(regions.change(0, at(9), RegionEvent::Begin("a")));
        did(&mut regions, Activity::Compute, 0, 0, 10);
        let told: Vec<_> = RegionTimes::report(&[regions.part()])
            .into_iter()
            .map(|cost| (cost.name, cost.visits, cost.time.max_ps))
            .collect();
        assert_eq!(
            told,
            [
                ("MPI_Pcontrol 3".to_owned(), 1, 5),
                ("MPI_Pcontrol 0".to_owned(), 1, 1),
                ("a".to_owned(), 2, 1)
            ]
        );
    }

    #[test]
    fn regions_end_in_the_order_in_which_they_began() {
        let mut regions = Regions::new(0, 1);
        assert!(!regions.change(0, at(0), RegionEvent::End("a")));
        assert!(
            regions.change(0, at(0), RegionEvent::Begin("a"))
                && regions.change(0, at(0), RegionEvent::Begin("b"))
        );
        assert!(!regions.change(0, at(0), RegionEvent::End("a")), "b is within it");
        assert!(
            regions.change(0, at(0), RegionEvent::End("b"))
                && regions.change(0, at(0), RegionEvent::End("a"))
        );
    }

    #[test]
    fn processes_tell_what_one_would() {
        let run = |first: u32, count: u32| {
            let mut regions = Regions::new(first, count);
            for rank in (first..first + count).filter(|&rank| rank > 0) {
                assert!(regions.change(rank, at(0), RegionEvent::Begin("a")));
                did(&mut regions, Activity::Compute, rank, 0, u64::from(rank));
            }
            regions.part()
        };
        assert_eq!(RegionTimes::report(&[run(0, 1), run(1, 3)]), RegionTimes::report(&[run(0, 4)]));
    }
}

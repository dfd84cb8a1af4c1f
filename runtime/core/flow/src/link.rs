//! A link, the group of flows that it bottlenecks, and what other groups take of it.

use crate::members::Members;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The level of a link that bottlenecks no flow.
pub(crate) const FREE: u64 = u64::MAX;
/// No link, flow or index.
pub(crate) const NONE: u32 = u32::MAX;
/// No time.
pub(crate) const NEVER: u64 = u64::MAX;

/// Flows across a link that another link bottlenecks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BottleneckedFlows {
    /// The other link.
    pub(crate) group: u32,
    /// Sum of the flows' weights.
    pub(crate) weight: u32,
}

/// A link: what every flow that crosses it needs, in one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Link {
    /// The level of its group, [`FREE`] without one.
    pub(crate) level: u64,
    pub(crate) capacity: u64,
    /// Sum of the weights of the group.
    pub(crate) own: u32,
    /// The index among the links of the present solution, [`NONE`] if it is not one.
    pub(crate) place: u32,
    /// The round in which it was last inspected.
    pub(crate) seen: u32,
    /// Other flows across the link, by the link that bottlenecks them.
    pub(crate) foreign: SmallVec<[BottleneckedFlows; 2]>,
}

/// The flows that a link bottlenecks.
#[derive(Debug)]
pub(crate) struct BottleneckGroup {
    /// Work done for each unit of weight, at `since`.
    pub(crate) clock: u128,
    pub(crate) since: u64,
    /// The time at which the first of the group ends.
    pub(crate) due: u64,
    pub(crate) members: Members,
    /// With many members, the other links that they cross.
    pub(crate) watch: Option<Box<CrossedLinks>>,
}

/// The links that a large group crosses beside its own.
#[derive(Default, Debug)]
pub(crate) struct CrossedLinks {
    /// The level up to which each link cannot saturate.
    pub(crate) levels: FxHashMap<u32, u64>,
    /// The levels with their links, least first. Some entries are out of date.
    pub(crate) order: BinaryHeap<Reverse<(u64, u32)>>,
    /// Links that have groups of their own. Some have none any more.
    pub(crate) saturated: Vec<u32>,
}

impl Link {
    pub(crate) fn new(capacity: u64) -> Link {
        Link { level: FREE, capacity, own: 0, place: NONE, seen: 0, foreign: SmallVec::new() }
    }

    /// Counts a flow of another group.
    #[inline]
    pub(crate) fn add_foreign(&mut self, group: u32, weight: u32) {
        match self.foreign.iter_mut().find(|share| share.group == group) {
            Some(share) => share.weight += weight,
            None => self.foreign.push(BottleneckedFlows { group, weight }),
        }
    }

    /// Counts a flow of another group no more.
    #[inline]
    pub(crate) fn remove_foreign(&mut self, group: u32, weight: u32) {
        let index = self.foreign.iter().position(|share| share.group == group);
        let index = index.expect("a flow is counted at every link of its path");
        self.foreign[index].weight -= weight;
        if self.foreign[index].weight == 0 {
            self.foreign.swap_remove(index);
        }
    }
}

impl BottleneckGroup {
    pub(crate) fn new() -> BottleneckGroup {
        BottleneckGroup { clock: 0, since: 0, due: NEVER, members: Members::default(), watch: None }
    }

    /// Moves the clock of a group with this level on to `now`.
    #[inline]
    pub(crate) fn move_clock(&mut self, level: u64, now: u64) {
        let passed = now - self.since;
        if passed > 0 {
            self.clock += u128::from(level) * u128::from(passed);
            self.since = now;
        }
    }

    /// Returns when the first of the group ends at this level: its work to the nearest picosecond, halves up.
    #[inline]
    pub(crate) fn next_end(&self, level: u64) -> u64 {
        let Some(first) = self.members.first() else { return NEVER };
        let left = first.mark.saturating_sub(self.clock);
        // A level of 0 is less than a unit for each flow: they would take longer than virtual time lasts.
        if left >= 1 << 126 || level == 0 {
            return NEVER;
        }
        let picoseconds = (left + u128::from(level / 2)) / u128::from(level);
        u64::try_from(picoseconds).ok().and_then(|span| self.since.checked_add(span)).unwrap_or(NEVER)
    }
}

const _: () = assert!(size_of::<Link>() == 64 && size_of::<BottleneckGroup>() == 64, "a line each");

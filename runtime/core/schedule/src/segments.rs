//! Members of a collective by process, where each process has a row of them.

use crate::Active;
use std::ops::Range;
use std::rc::Rc;

/// Members `starts[p]..starts[p + 1]` are on process `p`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segments {
    starts: Vec<u32>,
}

impl Segments {
    /// The segments of `size` members whose world ranks ascend, `firsts` the first rank of each process.
    /// O(processes * log members).
    // By bisection, since ranks on a process are a row: no list of all members is made.
    pub fn ascending(
        size: u32,
        world_rank: impl Fn(u32) -> u32,
        firsts: impl Iterator<Item = u32>,
    ) -> Segments {
        let first_member = |rank: u32| {
            // The first member whose rank is not below the process's first.
            let (mut low, mut high) = (0, size);
            while low < high {
                let middle = low + (high - low) / 2;
                if world_rank(middle) < rank { low = middle + 1 } else { high = middle }
            }
            low
        };
        Segments { starts: firsts.map(first_member).chain([size]).collect() }
    }
    /// Returns the number of all members.
    pub fn size(&self) -> u32 {
        *self.starts.last().expect("at least one process")
    }
    /// Returns the members of a process.
    pub fn of_process(&self, process: u32) -> Range<u32> {
        self.starts[process as usize]..self.starts[process as usize + 1]
    }
    /// Returns the process of a member.
    pub fn process(&self, member: u32) -> u32 {
        self.starts.partition_point(|&start| start <= member) as u32 - 1
    }
    /// Returns the processes that have members.
    pub fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.starts.len() as u32 - 1).filter(|&process| !self.of_process(process).is_empty())
    }
}

/// The members that a process runs through the rounds: a row of all. One process alone has the row that is
/// everything; nothing else tells the two cases apart.
// With `whole`, one process takes the code of many, with nobody to tell: their results cannot drift apart.
#[derive(Clone)]
pub struct ProcessSegment {
    own: Range<u32>,
    size: u32,
    /// This process and where the others' members are; a process alone asks for nobody's.
    others: Option<(u32, Rc<Segments>)>,
}

impl ProcessSegment {
    /// Makes the segment of a process that has all `size` members.
    pub fn whole(size: u32) -> ProcessSegment {
        ProcessSegment { own: 0..size, size, others: None }
    }
    /// Returns the members of process `me`.
    pub fn part(me: u32, segments: Rc<Segments>) -> ProcessSegment {
        ProcessSegment { own: segments.of_process(me), size: segments.size(), others: Some((me, segments)) }
    }
    /// Returns own members.
    #[inline]
    pub fn own(&self) -> Range<u32> {
        self.own.clone()
    }
    /// Returns the number of all members everywhere.
    #[inline]
    pub fn size(&self) -> u32 {
        self.size
    }
    /// Returns `true` if all members are here.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.own.len() == self.size as usize
    }
    /// Returns `true` if a member is here.
    #[inline]
    pub fn has(&self, member: u32) -> bool {
        self.own.contains(&member)
    }
    /// Returns a member's place among those here.
    #[inline]
    pub fn place(&self, member: u32) -> usize {
        (member - self.own.start) as usize
    }
    /// Returns the process of a member that is not here.
    pub fn process(&self, member: u32) -> u32 {
        self.others.as_ref().expect("a process alone has all members").1.process(member)
    }
    /// Returns this process, and the segments of all, where there are others.
    pub(crate) fn others(&self) -> (u32, Rc<Segments>) {
        self.others.clone().expect("a process alone has nobody to tell")
    }
    /// Returns own members that may have steps in a round.
    pub(crate) fn active(&self, active: Option<Active>) -> ActiveMembers {
        match active {
            None => ActiveMembers::Row(self.own.clone()),
            Some(active) if self.is_whole() => ActiveMembers::Strided(active, self.size, 0),
            Some(active) => ActiveMembers::List(active_in(active, self.size, &self.own).into_iter()),
        }
    }
}

/// Members one after the other.
pub(crate) enum ActiveMembers {
    Row(Range<u32>),
    Strided(Active, u32, u32),
    // A stride round the end comes back in another phase, so that own members are no single progression.
    List(std::vec::IntoIter<u32>),
}

impl Iterator for ActiveMembers {
    type Item = u32;
    #[inline]
    fn next(&mut self) -> Option<u32> {
        match self {
            ActiveMembers::Row(row) => row.next(),
            ActiveMembers::Strided(active, size, index) => {
                let at = *index;
                *index += 1;
                let member = || {
                    ((u64::from(active.first) + u64::from(at) * u64::from(active.stride)) % u64::from(*size))
                        as u32
                };
                (at < active.count).then(member)
            }
            ActiveMembers::List(list) => list.next(),
        }
    }
}

/// The members of `own` that may have steps in a round.
// O(own active members): each turn's part is computed, none is searched for.
fn active_in(active: Active, size: u32, own: &Range<u32>) -> Vec<u32> {
    let (first, stride) = (u64::from(active.first), u64::from(active.stride.max(1)));
    let (count, size) = (u64::from(active.count), u64::from(size));
    let mut members = Vec::new();
    // Each turn through the members is a row of its own.
    let turns = (first + stride * count.saturating_sub(1)) / size;
    for turn in 0..=turns {
        let (start, end) = (turn * size + u64::from(own.start), turn * size + u64::from(own.end));
        let from = start.saturating_sub(first).div_ceil(stride);
        let to = end.saturating_sub(first).div_ceil(stride).min(count);
        members.extend((from..to).map(|index| (first + index * stride - turn * size) as u32));
    }
    members
}

#[cfg(test)]
impl Segments {
    /// Segments of these lengths.
    pub fn lengths(lengths: &[u32]) -> Segments {
        let mut at = 0;
        let ends = lengths.iter().map(|length| {
            at += length;
            at
        });
        Segments { starts: std::iter::once(0).chain(ends).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_member_is_in_the_segment_of_its_process(
            picks in proptest::collection::vec(any::<bool>(), 1..60),
            processes in 1u32..7,
        ) {
            let firsts: Vec<u32> =
                (0..processes).map(|process| process * picks.len() as u32 / processes).collect();
            let ranks: Vec<u32> =
                (0..).zip(&picks).filter(|(_, pick)| **pick).map(|(rank, _)| rank).collect();
            let segments = Segments::ascending(
                ranks.len() as u32,
                |member| ranks[member as usize],
                firsts.iter().copied(),
            );
            prop_assert_eq!(segments.size(), ranks.len() as u32);
            for (member, &rank) in (0..).zip(&ranks) {
                let process = firsts.partition_point(|&first| first <= rank) as u32 - 1;
                prop_assert_eq!(segments.process(member), process);
                prop_assert!(segments.of_process(process).contains(&member));
                prop_assert!(segments.processes().any(|other| other == process));
            }
        }

        #[test]
        fn active_members_are_found_by_their_process(
            first in 0u32..50,
            stride in 1u32..20,
            count in 0u32..30,
            size in 1u32..50,
            cut in 0u32..50,
        ) {
            let active = Active { first: first % size, stride, count };
            let all = |own: Range<u32>| {
                let mut members = active_in(active, size, &own);
                members.sort_unstable();
                members
            };
            let mut plain: Vec<u32> =
                (0..count).map(|index| (first % size + index * stride) % size).collect();
            plain.sort_unstable();
            let cut = cut % (size + 1);
            let mut parts = all(0..cut);
            parts.extend(all(cut..size));
            prop_assert_eq!(all(0..size), plain.clone());
            parts.sort_unstable();
            prop_assert_eq!(parts, plain);
        }
    }
}

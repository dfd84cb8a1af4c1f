//! Which members of a communicator are on which process, where each process has a row of them.

use crate::group::Group;
use crate::remote::Blocks;
use std::ops::Range;

/// Members `starts[p]..starts[p + 1]` are on process `p`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Segments {
    starts: Vec<u32>,
}

impl Segments {
    /// The segments of a group whose world ranks ascend; other groups have none.
    pub(crate) fn of(group: &Group, blocks: &Blocks) -> Option<Segments> {
        let size = group.size();
        let ascends = match group.as_range() {
            Some((_, stride)) => stride > 0,
            None => (1..size).all(|member| group.world_rank(member - 1) < group.world_rank(member)),
        };
        ascends.then(|| {
            let first = |process: u32| {
                let rank = blocks.first(process);
                // The first member whose rank is not below the process's first.
                let (mut low, mut high) = (0, size);
                while low < high {
                    let middle = low + (high - low) / 2;
                    if group.world_rank(middle) < rank { low = middle + 1 } else { high = middle }
                }
                low
            };
            Segments { starts: (0..blocks.processes()).map(first).chain([size]).collect() }
        })
    }
    /// All members.
    pub(crate) fn size(&self) -> u32 {
        *self.starts.last().expect("at least one process")
    }
    /// The members of a process.
    pub(crate) fn of_process(&self, process: u32) -> Range<u32> {
        self.starts[process as usize]..self.starts[process as usize + 1]
    }
    /// The process of a member.
    pub(crate) fn process(&self, member: u32) -> u32 {
        self.starts.partition_point(|&start| start <= member) as u32 - 1
    }
    /// The processes that have members.
    pub(crate) fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.starts.len() as u32 - 1).filter(|&process| !self.of_process(process).is_empty())
    }
}

#[cfg(test)]
impl Segments {
    /// Segments of these lengths.
    pub(crate) fn lengths(lengths: &[u32]) -> Segments {
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
            picks in proptest::collection::vec(any::<bool>(), 1..60), processes in 1u32..7,
        ) {
            let blocks = Blocks::even(picks.len() as u32, processes);
            let ranks: Vec<u32> = (0..).zip(&picks).filter(|(_, pick)| **pick).map(|(rank, _)| rank).collect();
            let group = Group::from_ranks(ranks);
            let segments = Segments::of(&group, &blocks).unwrap();
            prop_assert_eq!(segments.size(), group.size());
            for member in 0..group.size() {
                let process = blocks.process(group.world_rank(member));
                prop_assert_eq!(segments.process(member), process);
                prop_assert!(segments.of_process(process).contains(&member));
                prop_assert!(segments.processes().any(|other| other == process));
            }
        }
    }

    #[test]
    fn a_group_out_of_order_has_none() {
        assert_eq!(Segments::of(&Group::from_ranks(vec![0, 2, 1]), &Blocks::even(4, 2)), None);
        assert_eq!(Segments::of(&Group::range(3, -1, 4), &Blocks::even(4, 2)), None);
    }
}

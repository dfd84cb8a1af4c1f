//! Which members of a communicator are on which process, where each process has a row of them.

use std::ops::Range;

/// Members `starts[p]..starts[p + 1]` are on process `p`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segments {
    starts: Vec<u32>,
}

impl Segments {
    /// The segments of `size` members whose world ranks ascend, `firsts` the first rank of each process.
    /// O(processes * log members).
    pub fn ascending(size: u32, world_rank: impl Fn(u32) -> u32, firsts: impl Iterator<Item = u32>) -> Segments {
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
    /// All members.
    pub fn size(&self) -> u32 {
        *self.starts.last().expect("at least one process")
    }
    /// The members of a process.
    pub fn of_process(&self, process: u32) -> Range<u32> {
        self.starts[process as usize]..self.starts[process as usize + 1]
    }
    /// The process of a member.
    pub fn process(&self, member: u32) -> u32 {
        self.starts.partition_point(|&start| start <= member) as u32 - 1
    }
    /// The processes that have members.
    pub fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.starts.len() as u32 - 1).filter(|&process| !self.of_process(process).is_empty())
    }
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
            picks in proptest::collection::vec(any::<bool>(), 1..60), processes in 1u32..7,
        ) {
            let firsts: Vec<u32> = (0..processes).map(|process| process * picks.len() as u32 / processes).collect();
            let ranks: Vec<u32> = (0..).zip(&picks).filter(|(_, pick)| **pick).map(|(rank, _)| rank).collect();
            let segments = Segments::ascending(ranks.len() as u32, |member| ranks[member as usize], firsts.iter().copied());
            prop_assert_eq!(segments.size(), ranks.len() as u32);
            for (member, &rank) in (0..).zip(&ranks) {
                let process = firsts.partition_point(|&first| first <= rank) as u32 - 1;
                prop_assert_eq!(segments.process(member), process);
                prop_assert!(segments.of_process(process).contains(&member));
                prop_assert!(segments.processes().any(|other| other == process));
            }
        }
    }
}

//! Load of each rank, as a whole; of many ranks, folded to blocks of neighbours.

use crate::series::Activity;
use engine::Span;
use recorder::SpreadSum;
use recorder::call_profile;
use serde::{Deserialize, Serialize};

/// Blocks that a report has at most.
const BLOCKS: u32 = 512;

/// Picoseconds of a process's ranks, by what they did: tables of plain numbers, which cost nothing until they
/// are touched.
pub struct Load {
    first: u32,
    /// Ranks of a block, in the whole run.
    block: u32,
    times: [Vec<u64>; 3],
}

/// Some ranks of one block: its number, and their times by what they did.
pub type Block = (u32, [SpreadSum; 3]);

/// All blocks that a process has ranks of.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Blocks {
    block: u32,
    blocks: Vec<Block>,
}

impl Load {
    /// Creates the record of the load of `count` ranks from `first` on, of `ranks` in the run.
    pub fn new(first: u32, count: u32, ranks: u32) -> Load {
        Load {
            first,
            block: ranks.div_ceil(BLOCKS).max(1),
            times: std::array::from_fn(|_| vec![0; count as usize]),
        }
    }

    /// Adds what a rank did for so long; O(1).
    #[inline]
    pub fn add(&mut self, doing: Activity, rank: u32, span: Span) {
        if span != Span::ZERO {
            // No rank does anything for longer than virtual time is.
            self.times[doing as usize][(rank - self.first) as usize] += span.as_ps();
        }
    }

    /// Returns the times, folded; O(ranks).
    pub fn blocks(&self) -> Blocks {
        let count = self.times[0].len() as u32;
        let mut blocks = Vec::new();
        let mut from = self.first;
        while from < self.first + count {
            let number = from / self.block;
            let until = ((number + 1).saturating_mul(self.block)).min(self.first + count);
            let here = (from - self.first) as usize..(until - self.first) as usize;
            blocks.push((
                number,
                std::array::from_fn(|at| {
                    SpreadSum::of(from, self.times[at][here.clone()].iter().map(|&ps| Span::from_ps(ps)))
                }),
            ));
            from = until;
        }
        Blocks { block: self.block, blocks }
    }
}

impl Blocks {
    /// Adds those of the next process, which has higher ranks.
    pub fn add_all(&mut self, other: &Blocks) {
        self.block = other.block;
        for (number, sums) in &other.blocks {
            match self.blocks.last_mut() {
                Some((last, own)) if last == number => {
                    (0..3).for_each(|at| own[at] = own[at].with(&sums[at]))
                }
                _ => self.blocks.push((*number, *sums)),
            }
        }
    }

    /// Returns the times of groups of ranks, as a report has them.
    pub fn report(&self) -> Vec<call_profile::RankGroupTimes> {
        let block = |(number, [compute, mpi, wait]): &Block| call_profile::RankGroupTimes {
            first_rank: u64::from(number * self.block),
            ranks: compute.count(),
            compute: compute.spread(),
            mpi: mpi.spread(),
            wait: wait.spread(),
        };
        self.blocks.iter().map(block).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(first: u32, count: u32) -> Blocks {
        let mut load = Load::new(first, count, 1500);
        (first..first + count).for_each(|rank| load.add(Activity::Wait, rank, Span::from_ps(rank.into())));
        load.blocks()
    }

    #[test]
    fn a_block_may_be_on_two_processes() {
        let mut parts = of(0, 700);
        parts.add_all(&of(700, 800));
        assert_eq!(parts, of(0, 1500));
        let report = parts.report();
        assert_eq!((report.len(), report[1].first_rank, report[1].ranks), (500, 3, 3));
        assert_eq!(
            (report[1].wait.min_ps, report[1].wait.mean_ps, report[1].wait.max_ps, report[1].wait.max_rank),
            (3, 4, 5, 5)
        );
    }
}

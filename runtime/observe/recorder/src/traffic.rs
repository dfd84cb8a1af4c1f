//! Traffic between ranks, exact up to some thousand ranks and folded to blocks of neighbouring ranks beyond.

use crate::bins::Bins;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Pairs of blocks that are kept; when there are more, blocks are doubled until there are not.
const MAX_BLOCK_PAIRS: usize = 1 << 16;
/// Blocks in a row of the matrix at most.
const BLOCKS: u32 = 4096;

/// Point-to-point messages by sender and receiver, and over time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traffic {
    /// Ranks of a block: 2 to this power.
    fold: u32,
    /// Messages and bytes by block of the sender (upper half) and of the receiver.
    cells: FxHashMap<u64, (u64, u128)>,
    /// Bytes of messages that were received, from their sending to their arrival.
    pub under_way: Bins,
}

/// The matrix as a report has it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Matrix {
    /// Neighbouring ranks that are one row and one column together.
    pub ranks_per_block: u64,
    /// Block of the sender, block of the receiver, messages, bytes; in this order.
    pub cells: Vec<(u32, u32, u64, u128)>,
}

impl Traffic {
    /// Creates the traffic of `ranks` ranks, without messages.
    pub fn of(ranks: u32) -> Traffic {
        Traffic {
            fold: ranks.div_ceil(BLOCKS).max(1).next_power_of_two().ilog2(),
            cells: FxHashMap::default(),
            under_way: Bins::default(),
        }
    }

    /// Adds a message with so many bytes; O(1), amortized.
    pub fn add(&mut self, from: u32, to: u32, bytes: u64) {
        let key = u64::from(from >> self.fold) << 32 | u64::from(to >> self.fold);
        let cell = self.cells.entry(key).or_default();
        cell.0 += 1;
        cell.1 += u128::from(bytes);
        if self.cells.len() > MAX_BLOCK_PAIRS {
            self.refold(self.fold + 1);
        }
    }

    /// Adds what ranks of other processes sent. How far it is folded in the end depends on the whole alone:
    /// more pairs than are kept in a part are more in the whole as well.
    pub fn add_all(&mut self, other: &Matrix) {
        let fold = (other.ranks_per_block.max(1) as u32).ilog2();
        self.refold(fold.max(self.fold));
        for &(from, to, messages, bytes) in &other.cells {
            let shift = self.fold - fold;
            let cell = self.cells.entry(u64::from(from >> shift) << 32 | u64::from(to >> shift)).or_default();
            cell.0 += messages;
            cell.1 += bytes;
            if self.cells.len() > MAX_BLOCK_PAIRS {
                self.refold(self.fold + 1);
                return self.add_rest(other, (from, to));
            }
        }
    }

    /// Goes on behind this pair, now that blocks are larger.
    fn add_rest(&mut self, other: &Matrix, done: (u32, u32)) {
        let cells = other.cells.iter().filter(|cell| (cell.0, cell.1) > done).copied().collect();
        self.add_all(&Matrix { ranks_per_block: other.ranks_per_block, cells });
    }

    fn refold(&mut self, fold: u32) {
        while self.fold < fold {
            self.fold += 1;
            let mut cells: FxHashMap<u64, (u64, u128)> = FxHashMap::default();
            for (key, (messages, bytes)) in self.cells.drain() {
                let cell = cells.entry((key >> 33) << 32 | (key & u64::from(u32::MAX)) >> 1).or_default();
                cell.0 += messages;
                cell.1 += bytes;
            }
            self.cells = cells;
        }
    }

    /// Returns the matrix as a report has it.
    pub fn matrix(&self) -> Matrix {
        let cell = |(&key, &(messages, bytes)): (&u64, &(u64, u128))| {
            ((key >> 32) as u32, key as u32, messages, bytes)
        };
        let mut cells: Vec<_> = self.cells.iter().map(cell).collect();
        cells.sort_unstable();
        Matrix { ranks_per_block: 1 << self.fold, cells }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_ranks_are_told_apart() {
        let mut traffic = Traffic::of(4);
        traffic.add(1, 2, 10);
        traffic.add(1, 2, 5);
        traffic.add(0, 3, 0);
        let cells = vec![(0, 3, 1, 0), (1, 2, 2, 15)];
        assert_eq!(traffic.matrix(), Matrix { ranks_per_block: 1, cells });
    }

    #[test]
    fn the_whole_is_folded_alike_however_many_parts_it_came_in() {
        // 300 ranks to each other are 90,000 pairs, and those of blocks of two 22,500.
        let pairs = || (0..300).flat_map(|from| (0..300).map(move |to| (from, to)));
        let mut whole = Traffic::of(300);
        pairs().for_each(|(from, to)| whole.add(from, to, 1));
        for parts in [2, 3, 5] {
            let mut of_parts = vec![Traffic::of(300); parts];
            pairs().for_each(|(from, to)| of_parts[from as usize * parts / 300].add(from, to, 1));
            let mut all = Traffic::of(300);
            of_parts.iter().for_each(|part| all.add_all(&part.matrix()));
            assert_eq!(all.matrix(), whole.matrix(), "{parts} parts");
        }
        let matrix = whole.matrix();
        assert_eq!((matrix.ranks_per_block, matrix.cells.len()), (2, 22_500));
        assert!(matrix.cells.iter().all(|&(_, _, messages, bytes)| (messages, bytes) == (4, 4)));
    }

    #[test]
    fn a_million_ranks_are_four_thousand_blocks() {
        assert_eq!(Traffic::of(1_000_000).matrix().ranks_per_block, 256);
        assert_eq!(Traffic::of(4096).matrix().ranks_per_block, 1);
        assert_eq!(Traffic::of(4097).matrix().ranks_per_block, 2);
    }
}

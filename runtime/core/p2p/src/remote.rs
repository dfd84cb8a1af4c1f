//! Many native processes: each has a block of the ranks, and what crosses between them is a record in a
//! stream.
//!
//! A process runs its own ranks as if it were alone. What goes to another process's rank is written to that
//! process's stream (`remote/stream.rs`); what must know of all processes (safe time, deadlock, the end) is
//! agreed on when none of them can go on (`remote/agree.rs`).

pub mod arrivals;
pub mod block;
pub mod group;
pub mod message;
pub mod shared;
pub mod stream;

pub use engine::record;

mod processes;

pub use processes::{Blocks, Remote};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_rank_is_in_the_block_of_its_process(ranks in 1u32..500, processes in 1u32..40) {
            let blocks = Blocks::even(ranks, processes);
            prop_assert_eq!((blocks.ranks(), blocks.processes()), (ranks, processes));
            prop_assert_eq!((0..processes).map(|process| blocks.count(process)).sum::<u32>(), ranks);
            for rank in 0..ranks {
                let process = blocks.process(rank);
                prop_assert!(
                    process < processes && rank >= blocks.first(process) && rank < blocks.first(process + 1)
                );
            }
        }

        #[test]
        fn rows_of_any_length_are_those_of_their_processes(
            lengths in proptest::collection::vec(0u32..9, 1..9),
        ) {
            let blocks = Blocks::rows(&lengths);
            prop_assert_eq!(blocks.ranks(), lengths.iter().sum::<u32>());
            let processes: Vec<u32> = (0..blocks.ranks()).map(|rank| blocks.process(rank)).collect();
            let plain: Vec<u32> = (0..)
                .zip(&lengths)
                .flat_map(|(process, &length)| std::iter::repeat_n(process, length as usize))
                .collect();
            prop_assert_eq!(processes, plain);
        }
    }
}

//! Many native processes: each has a block of the ranks, and what crosses between them is a record in a stream.
//!
//! A process runs its own ranks as if it were alone. What goes to another process's rank is written to that process's stream
//! (`remote/stream.rs`); what must know of all processes (safe time, deadlock, the end) is agreed on when none of them can go on
//! (`remote/agree.rs`).

pub mod arrivals;
pub mod block;
pub mod message;
pub mod stream;

pub use engine::record;

use crate::messages::Messages;
use std::rc::Rc;
use stream::Streams;
use transport::Transport;

/// How ranks lie on processes: a row on each, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Process `p` has the ranks `starts[p]..starts[p + 1]`.
    starts: Rc<[u32]>,
}

impl Blocks {
    /// Rows of equal length, the first ones one longer where it does not divide.
    pub fn even(ranks: u32, processes: u32) -> Blocks {
        let (each, more) = (ranks / processes, ranks % processes);
        Blocks { starts: (0..=processes).map(|process| process * each + process.min(more)).collect() }
    }
    /// Rows of these lengths, one a process.
    pub fn rows(lengths: &[u32]) -> Blocks {
        let mut end = 0;
        let ends = lengths.iter().map(|length| {
            end += length;
            end
        });
        Blocks { starts: std::iter::once(0).chain(ends).collect() }
    }
    /// World size.
    pub fn ranks(&self) -> u32 {
        self.starts[self.starts.len() - 1]
    }
    /// Native processes.
    pub fn processes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }
    /// First rank of a process.
    pub fn first(&self, process: u32) -> u32 {
        self.starts[process as usize]
    }
    /// Ranks of a process.
    pub fn count(&self, process: u32) -> u32 {
        self.first(process + 1) - self.first(process)
    }
    /// The process that has a rank.
    pub fn process(&self, rank: u32) -> u32 {
        self.starts.partition_point(|&start| start <= rank) as u32 - 1
    }
}

/// The other processes, as one of them sees them.
pub struct Remote {
    /// The number of this process.
    pub me: u32,
    /// Which process has which ranks.
    pub blocks: Blocks,
    /// What goes to and comes from the others.
    pub streams: Streams,
    /// A rank with too many messages that it has not taken, and about how many bytes each has.
    pub flooded: Option<u32>,
    /// About how many bytes each message of the flooded rank has.
    pub flooding: u64,
}

impl Remote {
    /// The processes behind `transport`, over which `ranks` ranks are spread evenly.
    pub fn new(transport: Box<dyn Transport>, ranks: u32) -> Remote {
        let blocks = Blocks::even(ranks, transport.size());
        Remote::placed(transport, blocks)
    }
    /// The processes behind `transport`, each with a row of ranks.
    pub fn placed(transport: Box<dyn Transport>, blocks: Blocks) -> Remote {
        let me = transport.rank();
        Remote { me, blocks, streams: Streams::new(transport), flooded: None, flooding: 0 }
    }
    /// Whether this is process 0, which speaks for all.
    pub fn is_first(&self) -> bool {
        self.me == 0
    }
    /// This process's ranks: the first, and how many.
    pub fn own(&self) -> (u32, u32) {
        (self.blocks.first(self.me), self.blocks.count(self.me))
    }
}

impl Messages {
    /// Whether a world rank is one of this process's.
    #[inline]
    pub fn is_local(&self, rank: u32) -> bool {
        rank.wrapping_sub(self.first) < self.local
    }
    /// The other processes; there are some where a rank is not local.
    pub fn others(&mut self) -> &mut Remote {
        self.remote.as_mut().expect("several processes")
    }
    /// Gives up: the machine's MPI failed, or another process is not as it should be.
    pub fn broken(&mut self, why: &str) -> ! {
        eprintln!("xsim: {why}; the run ends");
        transport::watch::over();
        if let Some(remote) = &mut self.remote {
            remote.streams.abort(1);
        }
        std::process::exit(1)
    }
}

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
                prop_assert!(process < processes && rank >= blocks.first(process) && rank < blocks.first(process + 1));
            }
        }

        #[test]
        fn rows_of_any_length_are_those_of_their_processes(lengths in proptest::collection::vec(0u32..9, 1..9)) {
            let blocks = Blocks::rows(&lengths);
            prop_assert_eq!(blocks.ranks(), lengths.iter().sum::<u32>());
            let processes: Vec<u32> = (0..blocks.ranks()).map(|rank| blocks.process(rank)).collect();
            let plain: Vec<u32> = (0..).zip(&lengths).flat_map(|(process, &length)| std::iter::repeat_n(process, length as usize)).collect();
            prop_assert_eq!(processes, plain);
        }
    }
}

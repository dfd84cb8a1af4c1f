//! Many native processes: each has a block of the ranks, and what crosses between them is a record in a stream.
//!
//! A process runs its own ranks as if it were alone. What goes to another process's rank is written to that process's stream
//! (`remote/stream.rs`); what must know of all processes (safe time, deadlock, the end) is agreed on when none of them can go on
//! (`remote/agree.rs`).

pub(crate) mod agree;
pub(crate) mod apart;
pub(crate) mod block;
pub(crate) mod bridge;
pub(crate) mod collective;
pub(crate) mod contribution;
pub(crate) mod ending;
pub(crate) mod links;
pub(crate) mod meeting;
pub(crate) mod message;
pub(crate) mod partial;
pub(crate) mod record;
pub(crate) mod rounds;
pub(crate) mod segments;
pub(crate) mod stream;

use crate::group::Group;
use crate::world::World;
use agree::Agreeing;
use collective::Spread;
use engine::Time;
use std::collections::VecDeque;
use stream::Streams;
use transport::Transport;

/// How ranks lie on processes: in blocks, the first ones one longer where it does not divide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// World size.
    pub ranks: u32,
    /// Native processes.
    pub processes: u32,
}

impl Blocks {
    /// First rank of a process.
    pub fn first(&self, process: u32) -> u32 {
        let (each, more) = (self.ranks / self.processes, self.ranks % self.processes);
        process * each + process.min(more)
    }
    /// Ranks of a process.
    pub fn count(&self, process: u32) -> u32 {
        self.first(process + 1) - self.first(process)
    }
    /// The process that has a rank.
    pub fn process(&self, rank: u32) -> u32 {
        let (each, more) = (self.ranks / self.processes, self.ranks % self.processes);
        let long = more * (each + 1);
        if rank < long { rank / (each + 1) } else { more + (rank - long) / each.max(1) }
    }
}

/// The other processes, as one of them sees them.
pub struct Remote {
    pub(crate) me: u32,
    pub(crate) blocks: Blocks,
    pub(crate) streams: Streams,
    pub(crate) agreeing: Agreeing,
    pub(crate) spread: Spread,
    /// Blobs of the end phase, by sender.
    pub(crate) gathered: VecDeque<(u32, Vec<u8>)>,
    /// Times before which everything is known: no message earlier than that will come any more.
    pub(crate) safe: Time,
}

impl Remote {
    /// The processes behind `transport`, over which `ranks` ranks are spread.
    pub fn new(transport: Box<dyn Transport>, ranks: u32) -> Remote {
        let (me, processes) = (transport.rank(), transport.size());
        Remote {
            me,
            blocks: Blocks { ranks, processes },
            agreeing: Agreeing::new(processes),
            streams: Streams::new(transport),
            spread: Spread::default(),
            gathered: VecDeque::new(),
            safe: Time::ZERO,
        }
    }
    /// This process's ranks: the first, and how many.
    pub fn own(&self) -> (u32, u32) {
        (self.blocks.first(self.me), self.blocks.count(self.me))
    }
}

/// How many members of `group` are among `count` world ranks from `first` on.
pub(crate) fn hosted(group: &Group, first: u32, count: u32) -> u32 {
    let end = u64::from(first) + u64::from(count);
    match group.as_range() {
        Some((start, 1)) => {
            let (from, to) = (u64::from(start).max(first.into()), (u64::from(start) + u64::from(group.size())).min(end));
            to.saturating_sub(from) as u32
        }
        _ => group.iter().filter(|&rank| rank >= first && u64::from(rank) < end).count() as u32,
    }
}

impl World {
    /// Whether a world rank is one of this process's.
    #[inline]
    pub(crate) fn is_local(&self, rank: u32) -> bool {
        rank.wrapping_sub(self.first) < self.local
    }
    /// The other processes; there are some where a rank is not local.
    pub(crate) fn others(&mut self) -> &mut Remote {
        self.remote.as_mut().expect("several processes")
    }
    /// Gives up: the machine's MPI failed, or another process is not as it should be.
    pub(crate) fn broken(&mut self, why: &str) -> ! {
        eprintln!("xsim: {why}; the run ends");
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
            let blocks = Blocks { ranks, processes };
            prop_assert_eq!((0..processes).map(|process| blocks.count(process)).sum::<u32>(), ranks);
            for rank in 0..ranks {
                let process = blocks.process(rank);
                prop_assert!(process < processes && rank >= blocks.first(process) && rank < blocks.first(process + 1));
            }
        }

        #[test]
        fn members_of_a_process_are_counted(start in 0u32..50, stride in 1i64..4, size in 0u32..30, first in 0u32..60, count in 0u32..60) {
            let group = Group::range(start, stride, size);
            let plain = group.iter().filter(|rank| (first..first + count).contains(rank)).count() as u32;
            prop_assert_eq!(hosted(&group, first, count), plain);
        }
    }
}

//! Which process has which ranks, and the streams to the others.

use crate::remote::stream::Streams;
use objects::group::Group;
use std::rc::Rc;
use transport::Transport;

/// Distribution of ranks over processes: consecutive ranks on each, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks {
    /// Process `p` has the ranks `starts[p]..starts[p + 1]`.
    starts: Rc<[u32]>,
}

impl Blocks {
    /// Rows of equal length, the first ones one longer where it does not divide.
    // A row of ranks on each, because neighbours in rank mostly are neighbours in communication.
    pub fn even(ranks: u32, processes: u32) -> Blocks {
        let (each, more) = (ranks / processes, ranks % processes);
        Blocks { starts: (0..=processes).map(|process| process * each + process.min(more)).collect() }
    }
    /// Makes blocks of rows of these lengths, one a process.
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
    /// Returns the number of ranks of a process.
    pub fn count(&self, process: u32) -> u32 {
        self.first(process + 1) - self.first(process)
    }
    /// Returns the processes that have members of a group, in order. O(processes).
    pub fn with_members<'a>(&'a self, group: &'a Group) -> impl Iterator<Item = u32> + 'a {
        (0..self.processes())
            .filter(|&process| group.members_between(self.first(process), self.count(process)) > 0)
    }
    /// The process that has a rank.
    // O(log processes), once a message that leaves. A division would do for even rows, and rows need not be
    // even.
    pub fn process(&self, rank: u32) -> u32 {
        self.starts.partition_point(|&start| start <= rank) as u32 - 1
    }
}

/// The other processes, as one of them sees them.
pub struct Remote {
    /// The number of this process.
    pub me: u32,
    /// The ranks of each process.
    pub blocks: Blocks,
    /// Streams of records to and from the others.
    pub streams: Streams,
    /// A rank with too many messages that it has not taken, and about how many bytes each has.
    pub flooded: Option<u32>,
    /// About how many bytes each message of the flooded rank has.
    pub flooding: u64,
}

impl Remote {
    /// Makes the state of the processes behind `transport`, over which `ranks` ranks are spread evenly.
    pub fn new(transport: Box<dyn Transport>, ranks: u32) -> Remote {
        let blocks = Blocks::even(ranks, transport.size());
        Remote::placed(transport, blocks)
    }
    /// Makes the state of the processes behind `transport`, each with a row of ranks.
    pub fn placed(transport: Box<dyn Transport>, blocks: Blocks) -> Remote {
        let me = transport.rank();
        Remote { me, blocks, streams: Streams::new(transport), flooded: None, flooding: 0 }
    }
    /// These processes with their ranks for another run, in which nothing has been sent yet, once nothing is
    /// under way.
    pub fn afresh(self) -> Remote {
        Remote { streams: self.streams.afresh(), flooded: None, flooding: 0, ..self }
    }
    /// Returns `true` if this is process 0, which speaks for all.
    pub fn is_first(&self) -> bool {
        self.me == 0
    }
    /// Returns this process's ranks: the first, and how many.
    pub fn own(&self) -> (u32, u32) {
        (self.blocks.first(self.me), self.blocks.count(self.me))
    }
}

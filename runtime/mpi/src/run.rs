//! How a run goes as a whole: who has ended, whether somebody aborted it.

use engine::Time;
use std::collections::VecDeque;

/// Why a run ends before its ranks do.
#[derive(Clone, Debug)]
pub struct Abort {
    /// From when ranks stop at their next call.
    pub at: Time,
    /// Who aborted (world rank).
    pub rank: u32,
    /// The exit status.
    pub status: i32,
}

/// The course of a run.
pub(crate) struct Run {
    /// Ranks of this process whose `main` has ended.
    pub(crate) ended: u32,
    pub(crate) abort: Option<Abort>,
    /// Ranks that ended without `MPI_Finalize`: how many, and the first.
    pub(crate) left: u32,
    pub(crate) left_first: u32,
    /// Blobs of the end phase, by the process that sent them.
    pub(crate) gathered: VecDeque<(u32, Vec<u8>)>,
}

impl Run {
    /// Nobody has begun.
    pub(crate) fn new() -> Run {
        Run { ended: 0, abort: None, left: 0, left_first: 0, gathered: VecDeque::new() }
    }
}

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// The process's exit status.
    pub status: i32,
    /// What the user must know: a deadlock, ranks that left without `MPI_Finalize`.
    pub messages: Vec<String>,
    /// The program's own exit status if no rank of it called `MPI_Init`.
    pub without_mpi: Option<i32>,
    /// Ranks that ended without `MPI_Init`.
    pub(crate) strangers: u32,
    /// The first rank that ended with another exit status than 0, and that.
    pub(crate) failed: Option<(u32, i32)>,
    /// Ranks that ended without `MPI_Finalize`: how many, and the first.
    pub(crate) left: (u32, u32),
}

impl Ending {
    /// A run that cannot go on, for this reason.
    pub fn failed(why: String) -> Ending {
        Ending { status: 1, messages: vec![why], ..Ending::default() }
    }
}

/// What is done when the run is over while the process's rank waits in a call: it cannot return.
pub type Over = fn(Ending) -> !;

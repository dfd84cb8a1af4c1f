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

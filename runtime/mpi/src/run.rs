//! How a run goes as a whole: who has ended, whether somebody aborted it.

use engine::Time;
use failure::Plan;
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
    /// Whether that rank has failed, and not called for it.
    pub failed: bool,
}

/// The course of a run.
pub(crate) struct Run {
    /// Ranks of this process whose `main` has ended.
    pub(crate) ended: u32,
    pub(crate) abort: Option<Abort>,
    /// Who fails when.
    pub(crate) plan: Plan,
    /// From when on a rank may not simply go on: somebody has failed or aborted by then.
    // One time for both, so that a call asks one thing; the end of time while there is neither.
    pub(crate) limit: Time,
    /// Whether the others go on when a rank fails.
    pub(crate) tolerant: bool,
    /// Ranks that ended without `MPI_Finalize`: how many, and the first.
    pub(crate) left: u32,
    pub(crate) left_first: u32,
    /// The greatest clock of all processes' ranks, on process 0 once all have told.
    pub(crate) end: Time,
    /// Blobs of the end phase, by the process that sent them.
    pub(crate) gathered: VecDeque<(u32, Vec<u8>)>,
}

impl Run {
    /// Nobody has begun.
    pub(crate) fn new(plan: Plan, tolerant: bool) -> Run {
        let limit = plan.first().map_or(Time::MAX, |first| first.at);
        Run { ended: 0, abort: None, plan, limit, tolerant, left: 0, left_first: 0, end: Time::ZERO, gathered: VecDeque::new() }
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

//! State of a run as a whole: who has ended, and who has aborted it.

use engine::Time;
use failure::FailurePlan;
use std::collections::VecDeque;
use std::time::Instant;

/// The reason why a run ends before its ranks do.
#[derive(Clone, Debug)]
pub struct Abort {
    /// From when ranks stop at their next call.
    pub at: Time,
    /// World rank that aborted.
    pub rank: u32,
    /// The exit status.
    pub status: i32,
    /// `true` if that rank has failed, and not called for it.
    pub failed: bool,
    /// The signal that has stopped the run on several processes; no rank called for it.
    pub signal: Option<i32>,
}

/// The course of a run.
pub(crate) struct Run {
    /// Ranks of this process whose `main` has ended.
    pub(crate) ended: u32,
    pub(crate) abort: Option<Abort>,
    /// Planned failures: ranks and times.
    pub(crate) plan: FailurePlan,
    /// From when on a rank may not simply go on: somebody has failed or aborted by then.
    // One time for both, so that a call asks one thing; the end of time while there is neither.
    pub(crate) limit: Time,
    /// `true` if the others go on when a rank fails.
    pub(crate) tolerant: bool,
    /// Ranks that ended without `MPI_Finalize`: how many, and the first.
    pub(crate) left: u32,
    pub(crate) left_first: u32,
    /// The first rank that started a thread whose work is not measured.
    pub(crate) helped: Option<u32>,
    /// The greatest clock of all processes' ranks, on process 0 once all have told.
    pub(crate) end: Time,
    /// Since when this process waits for the others after an abort, in host time.
    pub(crate) waits_to_abort: Option<Instant>,
    /// Blobs of the end phase, by the process that sent them.
    pub(crate) gathered: VecDeque<(u32, Vec<u8>)>,
}

impl Run {
    /// Makes a run in which no rank has begun.
    pub(crate) fn new(plan: FailurePlan, tolerant: bool) -> Run {
        let limit = plan.first().map_or(Time::MAX, |first| first.at);
        Run {
            ended: 0,
            abort: None,
            plan,
            limit,
            tolerant,
            left: 0,
            left_first: 0,
            helped: None,
            end: Time::ZERO,
            waits_to_abort: None,
            gathered: VecDeque::new(),
        }
    }
}

/// A cause that ended a run before the program did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// No rank could go on.
    Deadlock,
    /// A signal.
    Signal,
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// The process's exit status.
    pub status: i32,
    /// Messages for the user: a deadlock, ranks that left without `MPI_Finalize`.
    pub messages: Vec<String>,
    /// The cause that ended the run before the program did.
    pub cause: Option<Cause>,
    /// The program's own exit status if no rank of it called `MPI_Init`.
    pub without_mpi: Option<i32>,
    /// The signal that has stopped the run.
    pub(crate) stopped: Option<i32>,
    /// Ranks that ended without `MPI_Init`.
    pub(crate) strangers: u32,
    /// The first rank that ended with another exit status than 0, and that.
    pub(crate) failed: Option<(u32, i32)>,
    /// Ranks that ended without `MPI_Finalize`: how many, and the first.
    pub(crate) left: (u32, u32),
    /// The least rank that started a thread whose work is not measured, as far as that is to be said at the
    /// end.
    pub(crate) helped: Option<u32>,
}

impl Ending {
    /// Returns the ending of a run that cannot go on, for this reason.
    pub fn failed(why: String) -> Ending {
        Ending { status: 1, messages: vec![why], ..Ending::default() }
    }
}

/// Returns the sentence that says that work of threads which `rank` started takes no virtual time.
pub fn uncharged(rank: u32) -> String {
    format!(
        "rank {rank} starts a thread (OpenMP, std::thread), and what it computes takes no virtual time: of a \
         rank only the thread that runs main is measured; run one rank a process, which measures all threads \
         (mpirun -np N PROGRAM -xsim-one-rank, and \
         OMP_WAIT_POLICY=passive or a core for each thread), or charge the work with xsim_compute"
    )
}

/// Callback for a run that is over while the process's rank waits in a call: it cannot return.
pub type Over = fn(Ending) -> !;

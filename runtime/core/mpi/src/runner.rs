//! Runners, which the main loop drives: the ranks of this process, whatever they are.
//!
//! Ranks are programs on stacks of their own (`rank::Ranks`), the process itself ([`crate::alone`]), or state
//! machines without a stack (the crate `workload`). The loop is compiled for each of them: a switch goes
//! through no table of functions.

use rank::Ranks;

/// State of a rank after it was resumed.
// No "yielded": who is not blocked and has not ended runs on. What wakes a rank is with messages and
// chapters, never with the runner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It waits for something that its call has arranged to wake it.
    Blocked,
    /// It has ended.
    Finished {
        /// The exit status.
        status: i32,
    },
    /// It goes on where the main loop was called: on the process's own stack.
    GoesOnOutside,
}

/// Ranks that the main loop drives. They are numbered among those of this process.
pub trait Runner {
    /// Lets a rank run until it blocks or ends. Nobody borrows the world meanwhile.
    fn resume(&mut self, rank: u32) -> Outcome;

    /// Calls a function of the program, or what touches the program's memory, for a rank that does not run
    /// now.
    // No answer and no failure: what the call does is the caller's, and a rank without memory runs it as it
    // is.
    fn mounted(&mut self, rank: u32, call: impl FnOnce());

    /// Returns where the program makes the call that a rank is blocked in: file, line and function. Returns
    /// `None` if that is not known.
    fn call_site(&mut self, rank: u32) -> Option<String> {
        let _ = rank;
        None
    }

    /// Prefetches for `rank`, one of the next to run, and `later`, which runs some switches behind it: what
    /// resuming the first will touch, and of the other where that is. Asked for only where there are so many
    /// ranks that these have left the cache.
    #[inline(always)]
    fn prefetch(&mut self, rank: u32, later: u32) {
        let _ = (rank, later);
    }
}

impl Runner for Ranks {
    // Always, as for `Ranks::resume`.
    #[inline(always)]
    fn resume(&mut self, rank: u32) -> Outcome {
        match Ranks::resume(self, rank) {
            rank::ResumeResult::Blocked => Outcome::Blocked,
            rank::ResumeResult::Finished { status } => Outcome::Finished { status },
        }
    }
    fn mounted(&mut self, rank: u32, call: impl FnOnce()) {
        Ranks::mounted(self, rank, call);
    }
    #[inline(always)]
    fn prefetch(&mut self, rank: u32, later: u32) {
        self.prefetch_place(later);
        Ranks::prefetch(self, rank);
    }
}

//! State that a process keeps of agreements with others.

use crate::order::key::Key;
use crate::remote::arbiter::Arbiter;
use crate::remote::control::{Report, Verdict};
use engine::Time;
use std::collections::VecDeque;

/// The bound up to which a process may decide alone: before anything that it sent to another since can make a
/// rank there act.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    /// No rank of another process acts before this.
    pub(crate) other: Time,
    /// Without lookahead: their first decision, which comes after all before it.
    pub(crate) until: Option<Key>,
}

/// A process's part in a vote that reports stand (`arbiter.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ballot {
    /// No vote is requested.
    None,
    /// The vote of this number is requested, and not given yet.
    Requested(u64),
    /// The vote is given: no thread is let in until the release or a verdict.
    Given,
}

/// One process's part in agreements.
pub(crate) struct Agreeing {
    /// Verdicts followed so far.
    // Reports name it, so that process 0 knows which of its verdicts a report has seen: no report can cross a
    // verdict unnoticed.
    pub(crate) followed: u64,
    pub(crate) reported: bool,
    pub(crate) ballot: Ballot,
    /// Last report of this process, if its threads make it report again.
    pub(crate) last: Option<Report>,
    /// `true` if the next report tells all that was sent before it: no report since the last verdict has.
    pub(crate) effects_known: bool,
    pub(crate) verdicts: VecDeque<Verdict>,
    pub(crate) lease: Option<Lease>,
    /// `true` if the last verdict made this process go on alone.
    pub(crate) alone: bool,
    /// `true` if this process leaves before the run is over.
    pub(crate) leaving: bool,
    /// Number of times that all were to start what they hold back, as far as this process was told, and how
    /// often it has done so.
    pub(crate) held: u64,
    pub(crate) started: u64,
    /// Process 0's state in agreements; other processes do not use it.
    pub(crate) arbiter: Arbiter,
}

impl Agreeing {
    /// Creates the state for `processes` processes, of which the first `there` have started.
    pub(crate) fn new(processes: u32, there: u32) -> Agreeing {
        Agreeing {
            followed: 0,
            reported: false,
            ballot: Ballot::None,
            last: None,
            effects_known: true,
            verdicts: VecDeque::new(),
            lease: None,
            alone: false,
            leaving: false,
            held: 0,
            started: 0,
            arbiter: Arbiter::new(processes, there),
        }
    }
}

//! What a process keeps of agreements with others.

use crate::order::key::Key;
use crate::remote::arbiter::Arbiter;
use crate::remote::control::Decision;
use engine::Time;
use std::collections::VecDeque;

/// How far a process may decide alone: before anything that it sent to another since can make a rank there act.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    /// No rank of another process acts before this.
    pub(crate) other: Time,
    /// Without lookahead: their first item, which comes after all before it.
    pub(crate) until: Option<Key>,
}

/// One process's part in agreements.
pub(crate) struct Agreeing {
    /// Decisions followed so far.
    // Reports name it, so that process 0 knows which of its decisions a report has seen: no report can cross a
    // decision unnoticed.
    pub(crate) followed: u64,
    pub(crate) reported: bool,
    /// Whether the next report tells all that was sent before it: no report since the last decision has.
    pub(crate) effects_known: bool,
    pub(crate) decisions: VecDeque<Decision>,
    pub(crate) lease: Option<Lease>,
    /// Whether the last decision made this process go on alone.
    pub(crate) alone: bool,
    /// How often it was decided that all start what they hold back, as far as this process was told, and how often it has done so.
    pub(crate) held: u64,
    pub(crate) started: u64,
    /// Of use on process 0.
    pub(crate) arbiter: Arbiter,
}

impl Agreeing {
    pub(crate) fn new(processes: u32) -> Agreeing {
        Agreeing {
            followed: 0,
            reported: false,
            effects_known: true,
            decisions: VecDeque::new(),
            lease: None,
            alone: false,
            held: 0,
            started: 0,
            arbiter: Arbiter::new(processes),
        }
    }
}

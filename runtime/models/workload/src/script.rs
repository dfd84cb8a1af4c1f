//! The calls of a workload one after the other, without a machine that they run on.

use crate::call::{Answer, Call};
use crate::replay::Replay;
use crate::workload::{Caller, Known, Workload};
use engine::{Span, Time};
use trace::trace::Comms;

/// The calls of one rank, provided that they do not depend on the answers to its calls.
pub struct Script<'r, 't, W: Workload> {
    workload: &'r mut W,
    comms: &'t Comms,
    rank: u32,
    cursor: W::Cursor,
    is_over: bool,
}

impl<'r, 't> Script<'r, 't, Replay<'t>> {
    /// Makes the script of a rank of the trace, from its first call on. A rank has at most one script of a
    /// replay.
    pub fn new(replay: &'r mut Replay<'t>, rank: u32) -> Script<'r, 't, Replay<'t>> {
        let comms = replay.comms();
        Script::of(replay, comms, rank)
    }

    /// Returns the name of the function that the program called, when it made this call, the last one.
    pub fn function(&self, call: &Call) -> Option<&'static str> {
        self.workload
            .function(&self.cursor, call)
            .and_then(|function| self.workload.names().get(usize::from(function)).copied())
    }
}

impl<'r, 't, W: Workload> Script<'r, 't, W> {
    /// Makes the script of a rank of a workload, with what is known of the communicators that ranks make.
    /// Each rank has one, once.
    pub fn of(workload: &'r mut W, comms: &'t Comms, rank: u32) -> Script<'r, 't, W> {
        Script { workload, comms, rank, cursor: W::Cursor::default(), is_over: false }
    }

    /// Makes the next call; returns it, and what the rank computes before it; `None` behind the last. What it
    /// computes behind that comes with a [`Call::Local`].
    ///
    /// # Errors
    /// A sentence, if the workload does not say enough of it.
    #[allow(clippy::should_implement_trait, reason = "it fails")]
    pub fn next(&mut self) -> Result<Option<(Span, Call)>, String> {
        let mut computed = Span::ZERO;
        while !self.is_over {
            let caller =
                Caller { rank: self.rank, clock: Time::ZERO, knows: Known::Recorded(self.comms), first: 0 };
            let (before, call) = self.workload.next(&caller, &mut self.cursor, &Answer::Done);
            computed += before;
            match call {
                Call::Compute(span) => computed += span,
                Call::Fail(why) => return Err(self.refusal(&why)),
                Call::End => self.is_over = true,
                call => return Ok(Some((computed, call))),
            }
        }
        Ok((computed != Span::ZERO).then_some((computed, Call::Local)))
    }

    /// Returns why the call that was asked for last is refused, with its rank and place.
    pub fn refusal(&self, why: &str) -> String {
        format!("rank {}{}: {why}", self.rank, self.workload.place(&self.cursor))
    }
}

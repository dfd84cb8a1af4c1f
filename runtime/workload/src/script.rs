//! The calls of a replay one after the other, without a machine that they run on.

use crate::call::{Answer, Call};
use crate::replay::{Cursor, Replay};
use crate::workload::{Caller, Known, Workload};
use engine::{Span, Time};

/// What one rank does.
pub struct Script<'r, 't> {
    replay: &'r mut Replay<'t>,
    rank: u32,
    cursor: Cursor,
}

impl<'r, 't> Script<'r, 't> {
    /// Of a rank of the trace, from its first call. Each rank has one, once.
    pub fn new(replay: &'r mut Replay<'t>, rank: u32) -> Script<'r, 't> {
        Script { replay, rank, cursor: Cursor::default() }
    }

    /// The next call, and what the rank computes before it; `None` behind the last.
    ///
    /// # Errors
    /// A sentence, if the trace does not say enough of it.
    #[allow(clippy::should_implement_trait, reason = "it fails")]
    pub fn next(&mut self) -> Result<Option<(Span, Call)>, String> {
        let mut computed = Span::ZERO;
        loop {
            let caller = Caller { rank: self.rank, clock: Time::ZERO, knows: Known::Recorded(self.replay.comms()), first: 0 };
            match self.replay.next(&caller, &mut self.cursor, &Answer::Done) {
                Call::Compute(span) => computed += span,
                Call::Fail(why) => return Err(self.refusal(&why)),
                Call::End => return Ok(None),
                call => return Ok(Some((computed, call))),
            }
        }
    }

    /// Why the call that was asked for last is refused, with its rank and place.
    pub fn refusal(&self, why: &str) -> String {
        format!("rank {}{}: {why}", self.rank, self.replay.place(&self.cursor))
    }
}

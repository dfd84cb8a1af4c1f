//! Ranks that wait in polls and are sent on when nothing else can happen, and for how long there is hope in
//! that.

use engine::Time;

/// Polls of ranks that were sent on, without a message between, after which they are taken to poll for ever.
// Some seconds of the host's time: enough for a program that goes on to compute in the end, and a report
// still comes while somebody waits for it if none does.
const FRUITLESS_POLLS: u32 = 10_000_000;

/// A parked rank that may be sent on; the least clock, then rank, comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Poller {
    pub(crate) clock: Time,
    pub(crate) rank: u32,
    /// Number of failed polls before it is parked again.
    pub(crate) polls: u32,
}

/// Polls of ranks that were sent on.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fruitless {
    /// Messages of the run so far.
    messages: u64,
    /// Polls since there were so many.
    polls: u32,
}

impl Fruitless {
    /// One more rank is to be sent on, for so many polls: whether there is hope.
    // Any message of anybody renews it: something has come of polling.
    pub(crate) fn has_hope(&mut self, messages: u64, polls: u32) -> bool {
        if self.messages != messages {
            *self = Fruitless { messages, polls: 0 };
        }
        self.polls += polls;
        self.polls <= FRUITLESS_POLLS
    }
}

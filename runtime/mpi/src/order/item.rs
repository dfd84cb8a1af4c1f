//! What is open in a process, and what is known of the order in which it will be decided.

use crate::order::key::Key;
use engine::{Decision, DecisionQueue, Time};

/// What happens when an item is decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum What {
    /// A receive for any source takes a message: their nodes.
    Receive(u32, u32),
    /// The first open thing of a chapter happens: the chapter's number.
    Chapter(u8),
    /// The rank's poll is answered.
    Poll,
}

/// One thing to decide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Item {
    /// When the message arrives, or what is asked about.
    pub(crate) time: Time,
    pub(crate) rank: u32,
    pub(crate) source: u32,
    pub(crate) what: What,
}

impl Item {
    pub(crate) fn key(&self) -> Key {
        Key { time: self.time, rank: self.rank, source: self.source }
    }
}

impl Decision for Item {
    fn owner(&self) -> u32 {
        self.rank
    }
}

/// All that is open in a process.
#[derive(Default)]
pub(crate) struct Agenda {
    /// Of all ranks of the process; without owners until there is an item.
    pub(crate) queue: DecisionQueue<Item>,
    /// When a receive of a rank for any source was last decided or cancelled, from the first rank on: what had to wait for that meets its message no earlier.
    pub(crate) floors: Vec<Time>,
    /// A rank whose poll at this instant was decided alone: as long as it only polls, nothing else comes first.
    pub(crate) turn: Option<(u32, Time)>,
    /// A rank whose receives for any source have no message before that time, as long as nothing happens to it.
    pub(crate) quiet: Option<(u32, Time)>,
}

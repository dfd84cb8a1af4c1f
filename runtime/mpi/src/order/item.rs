//! What is open in a process, and what is known of the order in which it will be decided.

use crate::order::key::Key;
use engine::{Decision, DecisionQueue, Time};

/// One thing to decide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Item {
    /// When the message arrives, or what is asked about.
    pub(crate) time: Time,
    pub(crate) rank: u32,
    pub(crate) source: u32,
    /// The receive node, or [`NIL`](crate::node::NIL) for the rank's poll.
    pub(crate) receive: u32,
    pub(crate) message: u32,
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

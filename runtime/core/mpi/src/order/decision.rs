//! Open decisions of a process, and what is known of the order in which they will be made.

use crate::order::key::Key;
use engine::{Decidable, DecisionQueue, Time};
use std::cmp::Ordering;

/// The effect of a decision.
// In the order in which things of one time, rank and source happen. A receive comes before a poll of that
// instant, which asks what is there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum What {
    /// A receive for any source takes a message: their nodes.
    Receive(u32, u32),
    /// A sender learns that its message was met by a receive that might have been cancelled: the receive's
    /// node.
    Told(u32),
    /// The first open thing of a chapter happens: the chapter's number.
    Chapter(u8),
    /// The rank fails, or gets to know of a failure or a revocation.
    Alarm,
    /// The rank's poll is answered.
    Poll,
}

/// One decision to make.
// Decisions are in the order of their keys, then of what they are. No two are equal in all of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    /// The time at which the message arrives, or what is asked about.
    pub(crate) time: Time,
    pub(crate) rank: u32,
    pub(crate) source: u32,
    pub(crate) what: What,
}

impl Decision {
    pub(crate) fn key(&self) -> Key {
        Key {
            time: self.time,
            rest: !matches!(self.what, What::Told(_)),
            rank: self.rank,
            source: self.source,
        }
    }
}

impl Ord for Decision {
    fn cmp(&self, other: &Decision) -> Ordering {
        (self.key(), self.what).cmp(&(other.key(), other.what))
    }
}

impl PartialOrd for Decision {
    fn partial_cmp(&self, other: &Decision) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Decidable for Decision {
    fn owner(&self) -> u32 {
        self.rank
    }
}

/// All that is open in a process.
#[derive(Default)]
pub(crate) struct Decisions {
    /// Decisions of all ranks of the process; without owners until there is a decision.
    pub(crate) queue: DecisionQueue<Decision>,
    /// The time at which a receive of a rank for any source was last decided or cancelled, from the first
    /// rank on. A receive that had to wait for that meets its message no earlier.
    pub(crate) floors: Vec<Time>,
    /// A rank whose poll at this instant was decided alone: as long as it only polls, nothing else comes
    /// first.
    // A loop of polls at one instant is most of what a polling program does: the next of them is answered
    // without a switch.
    pub(crate) turn: Option<(u32, Time)>,
    /// A rank whose receives for any source have no message before that time, as long as nothing happens to
    /// it.
    // Remembers that looking failed, until something happens to the rank: else each poll would look at
    // all its receives again.
    pub(crate) quiet: Option<(u32, Time)>,
}

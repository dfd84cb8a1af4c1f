//! Matches of which their senders are not told yet, because the receive may still be cancelled before its message arrives.
//!
//! A receive with a named source has its message as soon as both are known, whatever their times (`matching`): its owner may be
//! behind, and cancel the receive before the message arrives. A sender that waits for the match would have gone on by then, or not, as the host
//! pleases. So in a program that can cancel such a match is held until the owner's clock has passed the arrival, or what is safe has: it is one more
//! thing to be decided in the order of time. Receives for which their rank is blocked are not held: it cannot cancel them any more.

use crate::envelope::Transit;
use engine::Time;
use std::collections::BTreeMap;

/// A match that is not told.
#[derive(Clone, Copy, Debug)]
pub struct HeldMatch {
    pub(crate) posted_at: Time,
    pub(crate) bytes: u64,
    /// As the message came.
    pub transit: Transit,
}

/// All of a process.
// By owner and time: who decides asks for the first of a rank. Programs that cancel are few, and few of their
// matches are held, so that a tree is fast enough.
#[derive(Default)]
pub struct HeldMatches {
    /// Whether the program can cancel.
    pub cancels: bool,
    /// By owner, time of the match, source and receive.
    pub(crate) all: BTreeMap<(u32, Time, u32, u32), HeldMatch>,
}

//! The way of a message from sender to receiver.

use crate::node::NIL;
use engine::Time;

/// The way of a message, beyond its envelope and payload.
#[derive(Clone, Copy, Debug)]
pub struct Transit {
    /// Arrival at the receiver; with `flag::RENDEZVOUS` that of the request to send; unknown (`Time::MAX`)
    /// with `flag::UNDER_WAY`, or when it leaves, until its receiver's process has launched it.
    pub arrival: Time,
    /// `SYNCHRONOUS`, `RENDEZVOUS`, `UNDER_WAY`, `OWNED` of the node flags.
    pub flags: u16,
    /// The sender's request, where the sender waits for the match; else `NIL`.
    pub request: u32,
    /// The message's number in a shared network, with `flag::UNDER_WAY`; else `NIL`.
    pub flight: u32,
}

impl Transit {
    /// By a formula, its sender done with it: all that is to be known is when it arrives.
    #[inline(always)]
    pub fn at(arrival: Time) -> Transit {
        Transit { arrival, flags: 0, request: NIL, flight: NIL }
    }
}

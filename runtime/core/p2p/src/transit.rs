//! The way of a message from sender to receiver.

use crate::envelope::Envelope;
use crate::moving::Payload;
use crate::node::{NIL, Node, State};
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
    /// Makes the transit of a message by a formula, its sender done with it: all that is to be known is when
    /// it arrives.
    #[inline(always)]
    pub fn at(arrival: Time) -> Transit {
        Transit { arrival, flags: 0, request: NIL, flight: NIL }
    }

    /// Returns the node of a message that travels so.
    #[inline(always)]
    pub fn node(&self, envelope: &Envelope, payload: Payload, bytes: u64) -> Node {
        let (flags, buffer, mut data) = payload.parts();
        if self.request != NIL {
            data[1] = u64::from(self.request);
        }
        Node {
            buffer,
            flags: self.flags | flags,
            layout: self.flight,
            data,
            ..Node::of(envelope, self.arrival, bytes, State::Unexpected)
        }
    }
}

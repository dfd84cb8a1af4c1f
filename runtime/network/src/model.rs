//! The one trait that every network fidelity implements.

use crate::packet::NetworkReport;
use engine::{Span, Time};

/// A place where a rank can be attached: 0 to `Network::endpoints() - 1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Endpoint(pub u32);

/// A message as a network sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Where it leaves.
    pub source: Endpoint,
    /// Where it goes; may equal `source`.
    pub destination: Endpoint,
    /// Payload bytes, zero included.
    pub bytes: u64,
    /// The caller's name for it, given back on delivery.
    pub id: u64,
    /// Traffic class, 0 unless the caller distinguishes any.
    pub class: u8,
}

/// A message that reached its destination whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivered {
    /// `Message::id`.
    pub id: u64,
    /// When its last byte arrived.
    pub at: Time,
}

/// Whether a message's time depends on other messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// A function of (source, destination, bytes): `send` may be called in any order and answers at once.
    Free,
    /// Messages share links: `send` must be called in non-decreasing time, and answers come from `advance`.
    ByTime,
}

/// How long messages take on the simulated machine.
pub trait Network {
    /// How many endpoints there are.
    fn endpoints(&self) -> u64;
    /// See [`Order`].
    fn order(&self) -> Order;
    /// A lower bound on the time any message to `to` from another endpoint takes; may be zero.
    fn lookahead(&self, to: Endpoint) -> Span;
    /// Gives a message to the network at `at`. A `Free` network answers with its arrival.
    fn send(&mut self, at: Time, message: &Message) -> Option<Time>;
    /// The time of the earliest internal event of a `ByTime` network.
    fn next_event(&self) -> Option<Time>;
    /// Carries a `ByTime` network through all events at or before `until`;
    /// appends deliveries in (time, id) order.
    fn advance(&mut self, until: Time, delivered: &mut Vec<Delivered>);
    /// Why nothing will ever be delivered again though messages are under way, as a sentence; `None` while something can happen, and
    /// where nothing is under way.
    fn stuck(&self) -> Option<String> {
        None
    }
    /// What its packets and links did up to `end`, if it has any.
    fn report(&self, _end: Time) -> Option<NetworkReport> {
        None
    }
}

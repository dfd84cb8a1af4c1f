//! A message as a network sees it.

use engine::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A place where a rank can be attached: from 0 to before the network's number of endpoints.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Endpoint(pub u32);

/// A message that a rank hands to a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Endpoint that it leaves from.
    pub source: Endpoint,
    /// Endpoint that it goes to; may equal `source`.
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

/// Messages on their last way, in the order of (time, id).
#[derive(Default)]
pub(crate) struct DeliveryQueue(BinaryHeap<Reverse<(Time, u64)>>);

impl DeliveryQueue {
    /// Adds a message.
    pub(crate) fn push(&mut self, Delivered { id, at }: Delivered) {
        self.0.push(Reverse((at, id)));
    }

    /// Returns when the first arrives.
    pub(crate) fn next(&self) -> Option<Time> {
        self.0.peek().map(|&Reverse((at, _))| at)
    }

    /// Removes the first.
    pub(crate) fn pop(&mut self) -> Option<Delivered> {
        self.0.pop().map(|Reverse((at, id))| Delivered { id, at })
    }

    /// Moves those of the first instant behind `delivered`. Returns `false` if that is after `limit`.
    pub(crate) fn deliver_first(&mut self, limit: Time, delivered: &mut Vec<Delivered>) -> bool {
        let Some(first) = self.next().filter(|&first| first <= limit) else { return false };
        while self.next() == Some(first) {
            delivered.extend(self.pop());
        }
        true
    }
}

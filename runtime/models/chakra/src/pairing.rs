//! Sends and receives: of one sender, receiver and tag the first send meets the first receive, and so on.

use engine::slab::Slab;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// A message, with its send and its receive.
#[derive(Clone, Copy, Debug)]
pub struct PairedMessage {
    /// Node of the send.
    pub send: u32,
    /// Node of the receive, once it has begun.
    pub receive: Option<u32>,
    /// Payload.
    pub bytes: u64,
    /// `true` while the payload waits for the receive.
    pub waits: bool,
    /// `true` if the payload, or the request for it, has arrived.
    pub is_there: bool,
}

impl PairedMessage {
    /// Returns a message without a receive.
    pub fn new(send: u32, bytes: u64, waits: bool) -> PairedMessage {
        PairedMessage { send, receive: None, bytes, waits, is_there: false }
    }
}

/// Sender, receiver and tag.
type PairKey = (u32, u32, i64);

/// Sends without a receive, or receives without a send.
#[derive(Default)]
struct UnpairedNodes {
    /// Messages.
    sends: VecDeque<u32>,
    /// Nodes.
    receives: VecDeque<u32>,
}

/// Messages that no receive has completed.
#[derive(Default)]
pub struct Pairs {
    messages: Slab<PairedMessage>,
    unpaired: FxHashMap<PairKey, UnpairedNodes>,
}

impl Pairs {
    /// Adds a message. Returns its number; it has its receive, if one waits.
    pub fn send(&mut self, key: PairKey, message: PairedMessage) -> u32 {
        let unpaired = self.unpaired.entry(key).or_default();
        let receive = unpaired.receives.pop_front();
        let number = self.messages.insert(PairedMessage { receive, ..message });
        if receive.is_none() {
            unpaired.sends.push_back(number);
        }
        number
    }

    /// Adds a receive. Returns the message that it meets, if one was sent.
    pub fn receive(&mut self, key: PairKey, node: u32) -> Option<u32> {
        let unpaired = self.unpaired.entry(key).or_default();
        let Some(number) = unpaired.sends.pop_front() else {
            unpaired.receives.push_back(node);
            return None;
        };
        self[number].receive = Some(node);
        Some(number)
    }

    /// Removes a message that was received.
    pub fn remove(&mut self, number: u32) {
        self.messages.remove(number);
    }

    /// Returns the sends of messages without a receive, in no order.
    pub fn unreceived(&self) -> impl Iterator<Item = u32> {
        self.messages.iter().filter(|(_, message)| message.receive.is_none()).map(|(_, message)| message.send)
    }
}

impl Index<u32> for Pairs {
    type Output = PairedMessage;
    fn index(&self, number: u32) -> &PairedMessage {
        self.messages.get(number).expect("a message stays until it is received")
    }
}

impl IndexMut<u32> for Pairs {
    fn index_mut(&mut self, number: u32) -> &mut PairedMessage {
        self.messages.get_mut(number).expect("a message stays until it is received")
    }
}

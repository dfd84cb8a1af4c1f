//! Standard sends that need a buffer (MPI 5.0 section 3.5), found while types are compared (`-xsim-check`).
//!
//! A sender goes on once a receive has met its message, as if no message were buffered. Its clock shows
//! nothing of that. Where nothing else can happen, the senders that still wait are what a buffer is needed
//! for.

use crate::node::NIL;
use engine::Time;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A message: its node, and its number, which distinguishes it from others that were in that node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentMessage {
    node: u32,
    number: u32,
}

impl SentMessage {
    /// No message.
    pub const NONE: SentMessage = SentMessage { node: NIL, number: 0 };

    /// Returns `true` if this message has the number that the message in its node has.
    pub(super) fn is_there(self, number: impl Fn(u32) -> Option<u32>) -> bool {
        number(self.node) == Some(self.number)
    }
}

/// A message for whose receive a rank waits.
#[derive(Clone, Copy, Debug)]
struct Unmatched {
    rank: u32,
    to: u32,
    clock: Time,
}

/// Standard sends whose messages no receive has met.
pub(crate) struct Sends {
    /// The message that was sent last, if no receive has met it, and its receiver.
    last: SentMessage,
    to: u32,
    /// Messages so far.
    count: u32,
    /// Messages that the call of the mounted rank waits for, with their receivers.
    awaited: Vec<(SentMessage, u32)>,
    by_node: FxHashMap<u32, Unmatched>,
    /// The nodes that ranks wait for, by clock and rank.
    waiting: BTreeMap<(Time, u32), u32>,
}

impl Default for Sends {
    fn default() -> Sends {
        let (by_node, waiting) = (FxHashMap::default(), BTreeMap::new());
        Sends { last: SentMessage::NONE, to: NIL, count: 0, awaited: Vec::new(), by_node, waiting }
    }
}

impl Sends {
    /// Notes that a call begins.
    #[inline]
    pub fn begin(&mut self) {
        self.last = SentMessage::NONE;
    }

    /// Notes that the message that is being sent is in this node. Returns its number.
    #[inline]
    pub fn sent(&mut self, node: u32) -> u32 {
        // 0 is no number.
        self.count = self.count.wrapping_add(1).max(1);
        self.last = SentMessage { node, number: self.count };
        self.count
    }

    /// Notes the receiver of the next message.
    #[inline]
    pub fn send_to(&mut self, to: u32) {
        self.to = to;
    }

    /// Notes that a receive meets the message. Returns the rank that waited for that.
    #[inline]
    pub fn met(&mut self, node: u32) -> Option<u32> {
        if self.last.node == node {
            self.last = SentMessage::NONE;
        }
        if self.by_node.is_empty() { None } else { self.remove(node) }
    }

    #[cold]
    fn remove(&mut self, node: u32) -> Option<u32> {
        let Unmatched { rank, clock, .. } = self.by_node.remove(&node)?;
        self.waiting.remove(&(clock, rank));
        Some(rank)
    }

    fn wait(&mut self, node: u32, unmatched: Unmatched) {
        self.by_node.insert(node, unmatched);
        self.waiting.insert((unmatched.clock, unmatched.rank), node);
    }

    /// Notes that `rank` ends a standard send. Returns `true` if it is to wait for the receive.
    pub fn end(&mut self, rank: u32, clock: Time) -> bool {
        let SentMessage { node, .. } = std::mem::replace(&mut self.last, SentMessage::NONE);
        if node != NIL {
            self.wait(node, Unmatched { rank, to: self.to, clock });
        }
        node != NIL
    }

    /// Returns the message that was sent last, and its receiver, if no receive has met it.
    pub fn last(&self) -> (SentMessage, u32) {
        (self.last, self.to)
    }

    /// Notes that the call of the mounted rank waits for the requests of these messages.
    pub fn await_all(&mut self, messages: impl Iterator<Item = (SentMessage, u32)>) {
        self.awaited.clear();
        self.awaited.extend(messages);
    }

    /// Takes the messages that the call of the mounted rank waits for, with their receivers.
    // Before it blocks: others begin to wait meanwhile.
    pub fn take_awaited(&mut self) -> SmallVec<[(SentMessage, u32); 8]> {
        self.awaited.drain(..).collect()
    }

    /// Notes that `rank` waits for the receive of a message to `to`.
    pub fn wait_for(&mut self, message: SentMessage, to: u32, (rank, clock): (u32, Time)) {
        self.wait(message.node, Unmatched { rank, to, clock });
    }

    /// Returns the least clock of a sender that waits for a receive.
    pub fn least_clock(&self) -> Option<Time> {
        self.waiting.first_key_value().map(|(&(clock, _), _)| clock)
    }

    /// Returns the receiver and the node of the message for whose receive `rank` waits since `clock`.
    pub fn waited(&self, rank: u32, clock: Time) -> Option<(u32, u32)> {
        let node = self.waiting.get(&(clock, rank))?;
        Some((self.by_node.get(node)?.to, *node))
    }

    /// Lets the waiting sender with the least clock go on. Returns its rank.
    pub fn release_first(&mut self) -> Option<u32> {
        let (&(_, rank), &node) = self.waiting.first_key_value()?;
        self.remove(node);
        Some(rank)
    }

    /// Lets all waiting senders go on. Returns their ranks and messages, by clock.
    pub fn release_all(&mut self) -> Vec<(u32, u32)> {
        let senders: Vec<(u32, u32)> = self.waiting.iter().map(|(&(_, rank), &node)| (rank, node)).collect();
        for &(_, node) in &senders {
            self.remove(node);
        }
        senders
    }
}

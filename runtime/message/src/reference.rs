//! Payloads that stay in the sender's memory until they are received.
//!
//! A nonblocking send may leave its payload where it is until its request is completed. Where the receive
//! comes first, which is so whenever the sender blocks for receives of its own, the payload is copied once,
//! from the sender's memory into the receiver's; otherwise completing the send copies it out.

use crate::messages::Messages;
use crate::node::{Node, State, flag};
use crate::view::BufferView;

/// Payload bytes from which on a message refers to them: shorter ones are copied for less.
// A reference is settled or received later, when the sender's line may have left the cache: a few lines are
// cheaper to copy now.
pub const REFERRED: u64 = 256;
/// Payload bytes from which on copying one out costs more than letting its receiver run first.
// More than the nearest caches hold: a copy out and in costs then what a switch of ranks costs a hundred
// times over.
pub const LONG: u64 = 256 << 10;

impl Messages {
    /// Bytes that completing this send would copy out; none if its message was received or is no such
    /// message.
    #[inline]
    pub fn unread(&self, index: u32) -> u64 {
        let node = &self.matcher[index];
        if node.state == State::Unexpected
            && node.flags & (flag::OWNED | flag::REFERS) == flag::OWNED | flag::REFERS
        {
            node.bytes
        } else {
            0
        }
    }

    /// Returns `true` if completing sends of so many unread bytes should wait until other ranks have run:
    /// they may receive them.
    #[inline]
    pub fn should_linger(&self, unread: u64) -> bool {
        unread >= LONG && (!self.ready.is_empty() || self.ready.has_lagging())
    }

    /// Settles what becomes of a message's payload now that no receive is there: it stays where it is, or is
    /// copied if the sender's request will not keep it or it cannot be read there while others run.
    // Memory that only a mounted rank reaches (its stack, its globals, where ranks have images of their own)
    // is somebody else's as soon as another rank runs.
    pub fn settle_reference(&mut self, message: u32) {
        let node = &self.matcher[message];
        let stays = node.has(flag::OWNED) && rank::is_addressable_unmounted(node.buffer, node.bytes as usize);
        if node.has(flag::REFERS) && !stays {
            self.copy_referred(message);
        }
    }

    /// Copies the payload that a message refers to.
    fn copy_referred(&mut self, message: u32) {
        let Node { buffer, bytes, .. } = self.matcher[message];
        let index = self.payloads.pack(&BufferView { buffer, layout: None, bytes });
        let node = &mut self.matcher[message];
        node.data[0] = u64::from(index);
        node.flags = node.flags & !flag::REFERS | flag::POOLED;
    }

    /// A message was received: its node is free, or all that is left is the sender's request.
    // With a request of its sender left, the node is that, until the sender asks.
    #[inline(always)]
    pub fn drop_message(&mut self, message: u32) {
        let node = &mut self.matcher[message];
        if node.has(flag::OWNED) {
            node.state = State::Sent;
        } else {
            self.matcher.free(message);
        }
    }

    /// The request of a send ends before its message is received, which gets a copy of the payload that it
    /// refers to.
    pub fn disown(&mut self, message: u32) {
        if self.matcher[message].has(flag::REFERS) {
            self.copy_referred(message);
        }
        self.matcher[message].flags &= !flag::OWNED;
    }
}

//! Payloads that stay in the sender's memory until they are received.
//!
//! A nonblocking send may leave its payload where it is until its request is completed. Where the receive
//! comes first, which is so whenever the sender blocks for receives of its own, the payload is copied once,
//! from the sender's memory into the receiver's. Otherwise completing the send copies it out.

use crate::moving::Payloads;
use crate::node::{Node, flag};
use crate::ready::Ready;
use crate::view::BufferView;

/// Payload bytes from which on a message refers to them: shorter ones are copied for less.
// A reference is settled or received later, when the sender's line may have left the cache: a few lines are
// cheaper to copy now.
pub const REFERRED: u64 = 256;
/// Payload bytes from which on copying one out costs more than letting its receiver run first.
// More than the nearest caches hold: a copy out and in costs then what a switch of ranks costs a hundred
// times over.
pub const LONG_BYTES: u64 = 256 << 10;

impl Ready {
    /// Returns `true` if completing sends of so many unread bytes should wait until other ranks have run:
    /// they may receive them.
    #[inline]
    pub fn should_linger(&self, unread: u64) -> bool {
        unread >= LONG_BYTES && (!self.is_empty() || self.has_lagging())
    }
}

impl Payloads {
    /// Settles what becomes of a message's payload when no receive is there. It stays where it is, or is
    /// copied if the sender's request will not keep it or it cannot be read there while others run.
    // Memory that only a mounted rank reaches (its stack, its globals, where ranks have images of their own)
    // belongs to another rank as soon as that runs.
    pub fn settle(&mut self, message: &mut Node) {
        let stays = message.has(flag::OWNED)
            && rank::is_addressable_unmounted(message.buffer, message.bytes as usize);
        if message.has(flag::REFERS) && !stays {
            self.copy_referred(message);
        }
    }

    /// Copies the payload that a message refers to.
    fn copy_referred(&mut self, message: &mut Node) {
        let index = self.pack(&BufferView { buffer: message.buffer, layout: None, bytes: message.bytes });
        message.data[0] = u64::from(index);
        message.flags = message.flags & !flag::REFERS | flag::POOLED;
    }

    /// Ends the request of a send before its message is received. The message gets a copy of the payload that
    /// it refers to.
    pub(crate) fn disown(&mut self, message: &mut Node) {
        if message.has(flag::REFERS) {
            self.copy_referred(message);
        }
        message.flags &= !flag::OWNED;
    }
}

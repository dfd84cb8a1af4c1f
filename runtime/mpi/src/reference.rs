//! Payloads that stay in the sender's memory until they are received.
//!
//! A nonblocking send may leave its payload where it is until its request is completed. Where the receive comes first,
//! which is so whenever the sender blocks for receives of its own, the payload is copied once,
//! from the sender's memory into the receiver's; otherwise completing the send copies it out.

use crate::matching::Extent;
use crate::node::{NIL, Node, State, flag};
use crate::world::World;
use rank::memory;

/// Payload bytes from which on a message refers to them: shorter ones are copied for less.
pub const REFERRED: u64 = 256;

impl World {
    /// Makes a message refer to its payload, and a node for the send. `NIL` if the payload must be
    /// copied: it does not lie in one piece, or not where it can be read while others run.
    pub(crate) fn refer(&mut self, message: u32, payload: &Extent) -> u32 {
        if payload.layout.is_some() || !rank::is_addressable_unmounted(payload.buffer, payload.bytes as usize) {
            return NIL;
        }
        let send = self.nodes.alloc(Node { state: State::Sending, data: [u64::from(message), 0], ..Node::default() });
        let node = &mut self.nodes[message];
        node.buffer = payload.buffer;
        node.flags |= flag::REFERS;
        node.data[0] = u64::from(send);
        send
    }

    /// A receive takes a message that refers to its payload, which is copied if it fits.
    pub(crate) fn take_referred(&mut self, receive: u32, message: &Node, fits: bool) {
        self.nodes[message.data[0] as u32].state = State::Sent;
        if !fits {
            return;
        }
        let node = &mut self.nodes[receive];
        if node.has(flag::LAYOUT | flag::MOUNTED_ONLY) {
            let index = self.pool.alloc(message.bytes as usize);
            memory::append(message.buffer, message.bytes as usize, self.pool.get_mut(index));
            node.data[0] = u64::from(index);
            node.flags |= flag::POOLED;
        } else {
            memory::copy(node.buffer, message.buffer, message.bytes as usize);
        }
    }

    /// Moves the payload that a message refers to into the mounted rank's memory.
    pub(crate) fn unload_referred(&mut self, message: &Node, extent: &Extent) {
        self.nodes[message.data[0] as u32].state = State::Sent;
        match &extent.layout {
            None => memory::copy(extent.buffer, message.buffer, message.bytes as usize),
            Some((datatype, count)) => {
                let index = self.pool.alloc(message.bytes as usize);
                memory::append(message.buffer, message.bytes as usize, self.pool.get_mut(index));
                datatype.unpack(extent.buffer, *count, self.pool.get(index));
                self.pool.free(index);
            }
        }
    }

    /// Completes a send: a message that still refers to its payload gets a copy.
    pub(crate) fn finish_referring(&mut self, send: u32) {
        let Node { state, data, .. } = self.nodes[send];
        if state == State::Sending {
            let message = data[0] as u32;
            let Node { buffer, bytes, .. } = self.nodes[message];
            let index = self.pool.alloc(bytes as usize);
            memory::append(buffer, bytes as usize, self.pool.get_mut(index));
            let node = &mut self.nodes[message];
            node.data[0] = u64::from(index);
            node.flags = node.flags & !flag::REFERS | flag::POOLED;
        }
        self.nodes.free(send);
    }
}

//! Moves of payloads from the sender's memory to the receiver's, by way of a node or of the pool where it
//! cannot go straight.
//!
//! | | from | to | when |
//! |---|---|---|---|
//! | [`Payloads::load`] | the sender's memory | the node, or (laid out) the pool | it is sent |
//! | [`Payloads::pack`] | memory | the pool | it must leave its place |
//! | [`Payloads::put`] | wherever it is | the receive's buffer | they meet, or the receiver runs |
//! | [`Payloads::unload`] | wherever it is | the mounted rank's buffer, laid out | the receiver runs |
//!
//! Nothing else in this crate moves a message's bytes (`tests/structure.rs` counts). The callers decide what
//! a payload may do at a point: its rank is mounted or not, its sender has gone on or not.

use crate::node::{Node, flag};
use crate::payload::Pool;
use crate::view::BufferView;
use objects::datatype::Datatype;
use objects::slab::Slab;
use rank::{Addr, memory};
use std::rc::Rc;

/// Location of a payload that no receive has taken.
#[derive(Clone, Copy, Debug)]
pub enum Payload {
    /// Nowhere: it has no bytes, or the run has no payloads.
    None,
    /// In its node.
    Inline([u64; 2]),
    /// In its sender's memory, side by side.
    At(Addr),
    /// In a buffer of the pool.
    Pooled(u32),
}

impl Payload {
    /// Returns what a node says of it: flags, address, data.
    #[inline(always)]
    pub fn parts(self) -> (u16, Addr, [u64; 2]) {
        match self {
            Payload::None => (0, Addr::NULL, [0; 2]),
            Payload::Inline(data) => (flag::INLINE, Addr::NULL, data),
            Payload::At(buffer) => (flag::REFERS, buffer, [0; 2]),
            Payload::Pooled(index) => (flag::POOLED, Addr::NULL, [u64::from(index), 0]),
        }
    }

    /// Returns the location of a node's payload.
    #[inline(always)]
    pub fn of(node: &Node) -> Payload {
        if node.has(flag::INLINE) {
            Payload::Inline(node.data)
        } else if node.has(flag::REFERS) {
            Payload::At(node.buffer)
        } else if node.has(flag::POOLED) {
            Payload::Pooled(node.data[0] as u32)
        } else {
            Payload::None
        }
    }
}

/// Datatype and count.
type Layout = (Rc<Datatype>, u64);

/// Bytes that have left their sender and not reached their receiver.
pub struct Payloads {
    /// Payloads that were copied out of their sender.
    pool: Pool,
    /// Layouts of receives whose elements do not lie side by side.
    layouts: Slab<Layout>,
    carried: bool,
}

impl Default for Payloads {
    fn default() -> Payloads {
        Payloads { pool: Pool::default(), layouts: Slab::default(), carried: true }
    }
}

impl Payloads {
    /// A payload of the mounted rank as a message with these flags takes it along.
    // What is laid out is packed before anybody knows whether its receive is there: to unpack straight from
    // one layout into another would take the product of both walks, and a pooled buffer is warm by then.
    #[inline(always)]
    pub fn load(&mut self, view: &BufferView, flags: u16) -> Payload {
        if view.fits_inline(flags) {
            Payload::Inline(memory::load_short(view.buffer, view.bytes as usize))
        } else if view.bytes == 0 || !view.has_memory() {
            Payload::None
        } else if view.layout.is_none() {
            Payload::At(view.buffer)
        } else {
            Payload::Pooled(self.pack(view))
        }
    }

    /// Copies what lies there into a buffer of the pool.
    #[inline(never)]
    pub fn pack(&mut self, view: &BufferView) -> u32 {
        let index = self.pool.alloc(view.bytes as usize);
        view.append_to(self.pool.get_mut(index));
        index
    }

    /// Moves a payload to where it shall lie side by side. Its rank need not be mounted, if the memory can be
    /// reached without.
    #[inline(always)]
    pub fn put(&self, payload: Payload, to: Addr, bytes: u64) {
        match payload {
            Payload::None => {}
            Payload::Inline(data) => memory::store_short(to, &data, bytes as usize),
            Payload::At(from) => memory::copy(to, from, bytes as usize),
            Payload::Pooled(index) => memory::write(to, &self.pool.get(index)[..bytes as usize]),
        }
    }

    /// Moves a payload from a node into the mounted rank's memory. The node has none any more.
    pub fn unload(&mut self, node: &Node, view: &BufferView) {
        if node.bytes == 0 {
            return;
        }
        let mut payload = Payload::of(node);
        if view.layout.is_none() {
            self.put(payload, view.buffer, node.bytes);
        } else {
            if let Payload::At(buffer) = payload {
                payload = Payload::Pooled(self.pack(&BufferView { buffer, layout: None, bytes: node.bytes }));
            }
            match payload {
                Payload::None | Payload::At(_) => {}
                Payload::Inline([low, high]) => {
                    let bytes = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
                    view.fill(&bytes[..node.bytes as usize]);
                }
                Payload::Pooled(index) => view.fill(&self.pool.get(index)[..node.bytes as usize]),
            }
        }
        if let Payload::Pooled(index) = payload {
            self.pool.free(index);
        }
    }

    /// Moves a message's payload, of any kind, to its receive, whose buffer perhaps only its mounted rank
    /// reaches: then it stays where both find it. One that is too long is dropped, and the receive keeps its
    /// length (MPI 5.0 section 3.2.4: an error, the buffer undefined).
    pub(crate) fn hand_over(&mut self, from: &Node, receive: &mut Node) {
        let (room, reachable, to) =
            (receive.bytes, !receive.has(flag::LAYOUT | flag::MOUNTED_ONLY), receive.buffer);
        let mut payload = Payload::of(from);
        match payload {
            Payload::Pooled(index) if from.bytes > room => {
                self.pool.free(index);
                payload = Payload::None;
            }
            _ if from.bytes > room => payload = Payload::None,
            Payload::At(_) if reachable => {
                self.put(payload, to, from.bytes);
                payload = Payload::None;
            }
            Payload::At(buffer) => {
                payload = Payload::Pooled(self.pack(&BufferView { buffer, layout: None, bytes: from.bytes }))
            }
            Payload::None | Payload::Inline(_) | Payload::Pooled(_) => {}
        }
        let (flags, _, data) = payload.parts();
        receive.flags |= flags;
        receive.data = data;
        receive.tell_length(from.bytes);
    }

    /// Returns `true` if messages carry bytes. Without, they have a length and no memory at either end.
    // Buffers have no address then: nothing is ever written to one, so that a receive takes its message as
    // one does whose buffer is reachable.
    #[inline(always)]
    pub fn are_carried(&self) -> bool {
        self.carried
    }
    /// Sets whether messages carry bytes. The run has not begun.
    pub fn set_carried(&mut self, carried: bool) {
        self.carried = carried;
    }

    /// Keeps the layout of a receive whose elements do not lie side by side. Returns its number, for
    /// `Node::layout`.
    pub(crate) fn keep_layout(&mut self, layout: Layout) -> u32 {
        self.layouts.insert(layout)
    }
    /// Drops a layout.
    pub(crate) fn drop_layout(&mut self, number: u32) {
        self.layouts.remove(number);
    }
    /// Returns where a receive's message goes.
    pub fn receive_view(&self, node: &Node) -> BufferView {
        let layout = node.has(flag::LAYOUT).then(|| self.layouts[node.layout].clone());
        BufferView { buffer: node.buffer, layout, bytes: node.bytes }
    }

    /// Stores bytes. Returns their number.
    pub fn store(&mut self, bytes: &[u8]) -> u32 {
        let number = self.pool.alloc(bytes.len());
        self.pool.get_mut(number).extend_from_slice(bytes);
        number
    }
    /// Returns stored bytes.
    pub fn stored(&self, number: u32) -> &[u8] {
        self.pool.get(number)
    }
    /// Drops stored bytes.
    pub fn discard(&mut self, number: u32) {
        self.pool.free(number);
    }
}

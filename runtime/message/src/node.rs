//! The arena of messages and receive requests: one 64-byte line each, named by index.

use crate::envelope::Envelope;
use engine::Time;
use rank::Addr;
use rank::growing::Growing;

/// "No node".
pub const NIL: u32 = u32::MAX;

/// Where a node is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum State {
    /// In the free list.
    #[default]
    Free,
    /// A message that no receive has taken, in its destination's unexpected queue.
    Unexpected,
    /// A receive in its rank's posted queue.
    Posted,
    /// A receive whose message is known but still under way in a shared network.
    InFlight,
    /// A receive with its message: complete at `arrival`.
    Matched,
    /// A message that a matched probe took out of the queues.
    Extracted,
    /// A receive that was cancelled.
    Cancelled,
    /// A message with `flag::OWNED` that was received: its sender's request is left.
    Sent,
}

/// Bits of [`Node::flags`].
pub mod flag {
    /// The owner is blocked until this receive completes.
    pub const WAITED: u16 = 1;
    /// The payload is in `data`.
    pub const INLINE: u16 = 1 << 1;
    /// The payload is pool buffer `data[0]`.
    pub const POOLED: u16 = 1 << 2;
    /// A receive for any source, not decided yet.
    pub const WILD: u16 = 1 << 3;
    /// A receive for any tag.
    pub const ANY_TAG: u16 = 1 << 4;
    /// A message whose sender waits for the match; `data[1]` is its request.
    pub const SYNCHRONOUS: u16 = 1 << 5;
    /// The message was longer than the receive allowed.
    pub const TRUNCATED: u16 = 1 << 6;
    /// A receive with a layout in the side table (`layout` is its index).
    pub const LAYOUT: u16 = 1 << 7;
    /// A message whose arrival a shared network has not told yet.
    pub const UNDER_WAY: u16 = 1 << 8;
    /// A message above the eager limit: `arrival` is the arrival of its request to send until the match.
    pub const RENDEZVOUS: u16 = 1 << 9;
    /// Nobody will complete this receive: it was freed while active.
    pub const ORPHAN: u16 = 1 << 10;
    /// The receive buffer is only reachable while its rank is mounted.
    pub const MOUNTED_ONLY: u16 = 1 << 11;
    /// The payload is still in the sender's memory at `buffer`.
    pub const REFERS: u16 = 1 << 12;
    /// A message that is its sender's request as well, until that is completed.
    pub const OWNED: u16 = 1 << 13;
    /// The owner is blocked for this receive among others and does not want its status: completed as its message comes.
    pub const UNSEEN: u16 = 1 << 14;
    /// A receive whose message's sender has been told of the match.
    pub const TOLD: u16 = 1 << 15;
}

/// Payload bytes that fit in a node.
pub const INLINE_BYTES: u64 = 16;

/// A message, or a receive that becomes one when matched.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub struct Node {
    /// Context of the communicator.
    pub context: u32,
    /// Tag; of a posted receive the pattern (see `flag::ANY_TAG`).
    pub tag: i32,
    /// Rank of the sender in the communicator; of a posted receive the pattern (see `flag::WILD`).
    pub source: u32,
    /// Digest of the envelope or pattern, which queues compare first; of a free node the next free one.
    pub key: u32,
    /// A message's arrival; a posted receive's time of posting.
    pub arrival: Time,
    /// A message's payload; a posted receive's capacity. Bytes.
    pub bytes: u64,
    /// A receive's buffer; a message's with `flag::REFERS`.
    pub buffer: Addr,
    /// Index of the layout, with `flag::LAYOUT`.
    pub layout: u32,
    /// Bits of [`flag`].
    pub flags: u16,
    /// Where it is in its life.
    pub state: State,
    /// Payload, or where it is.
    pub data: [u64; 2],
}

impl Node {
    /// With this envelope and nothing else.
    #[inline(always)]
    pub fn of(envelope: &Envelope, arrival: Time, bytes: u64, state: State) -> Node {
        Node {
            context: envelope.context,
            tag: envelope.tag,
            source: envelope.source,
            key: envelope.key,
            arrival,
            bytes,
            buffer: Addr::NULL,
            layout: NIL,
            flags: 0,
            state,
            data: [0; 2],
        }
    }
    /// Whether `flag` is set.
    #[inline]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// All nodes of a process; freed ones are reused last in, first out.
#[derive(Default)]
pub struct Nodes {
    nodes: Growing<Node>,
    free: u32,
}

impl Nodes {
    /// An empty arena.
    pub fn new() -> Nodes {
        Nodes { nodes: Growing::new(), free: NIL }
    }
    /// Takes a node and fills it.
    // Always: the fields of a node that is made where this is called go straight to their places. Wide loads of what
    // narrow stores have just put on the stack cost more than all the rest.
    #[inline(always)]
    pub fn alloc(&mut self, node: Node) -> u32 {
        if self.free == NIL {
            self.grow();
        }
        let index = self.free;
        let slot = &mut self.nodes[index as usize];
        self.free = slot.key;
        let Node { context, tag, source, key, arrival, bytes, buffer, layout, flags, state, data } = node;
        (slot.context, slot.tag, slot.source, slot.key) = (context, tag, source, key);
        (slot.arrival, slot.bytes, slot.buffer) = (arrival, bytes, buffer);
        (slot.layout, slot.flags, slot.state) = (layout, flags, state);
        slot.data[0] = data[0];
        slot.data[1] = data[1];
        index
    }
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { key: NIL, ..Node::default() });
    }
    /// Gives a node back.
    #[inline(always)]
    pub fn free(&mut self, index: u32) {
        let slot = &mut self.nodes[index as usize];
        slot.state = State::Free;
        slot.key = self.free;
        self.free = index;
    }
    /// The node will be used soon.
    #[inline]
    pub fn prefetch(&self, index: u32) {
        if let Some(node) = self.nodes.get(index as usize) {
            rank::memory::prefetch(node);
        }
    }
    /// The node, to change, if the index was ever given out.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut Node> {
        self.nodes.get_mut(index as usize)
    }
    /// The node, if the index was ever given out.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&Node> {
        self.nodes.get(index as usize)
    }
}

impl std::ops::Index<u32> for Nodes {
    type Output = Node;
    #[inline]
    fn index(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }
}
impl std::ops::IndexMut<u32> for Nodes {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Node {
        &mut self.nodes[index as usize]
    }
}

//! The arena of messages and receive requests: one 64-byte line each, named by index.

mod spare;

use crate::envelope::Envelope;
use engine::Time;
use rank::Addr;
use rank::growing::StableVec;
use spare::Spare;

/// "No node".
pub const NIL: u32 = u32::MAX;

/// Stage of a node's life cycle.
// A message goes down the left side, a receive down the right; `take` is the one step that both make
// together.
//
//      message                                receive
//
//       Free                                   Free
//        | sent                                | posted
//        v          matched probe              v              cancelled
//    Unexpected -----------------> Extracted  Posted --------------------> Cancelled
//        |                             |       |    \ match, still on a       |
//        +-------- received <----------+       |     \ shared network         |
//        |                                     |      v                       |
//        v                                     v    InFlight                  |
//      Free, or with OWNED: Sent            Matched <-- delivered             |
//                | completed                   | completed                    | completed
//                v                             v                              v
//              Free                           Free                           Free
//
// Flags of a message: where its payload is (INLINE, POOLED or REFERS; none if it has no bytes), SYNCHRONOUS
// or RENDEZVOUS while its sender waits for the match (`data[1]` is that request, so INLINE is excluded),
// UNDER_WAY until a shared network has delivered it (`layout` is its flight), OWNED until its sender's
// request is completed. Flags of a receive: WILD and ANY_TAG while it is Posted; LAYOUT or MOUNTED_ONLY, if
// its message cannot be put into its buffer by whoever sends it; LISTED, if its completion or its end
// is noted down; WAITED
// while its rank is blocked for it, STATUS_IGNORED only beside WAITED; ORPHAN once the program freed it; when
// Matched, INLINE or POOLED if its rank still has to move the payload, TRUNCATED, TOLD.
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
// Bits of one word and not fields: the plain paths ask with one mask whether anything at all is out of the
// ordinary, and a new peculiarity that has a bit is kept off them without another test.
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
    /// A receive that is listed, because a failure or a revocation may end it (`faults`), or because its rank
    /// waits piece by piece for the array that it stands in.
    // A message's flag says something else, and no node is both.
    pub const LISTED: u16 = SYNCHRONOUS;
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
    /// The owner is blocked for this receive among others and does not want its status: completed as its
    /// message comes.
    pub const STATUS_IGNORED: u16 = 1 << 14;
    /// A receive whose message's sender has been told of the match.
    pub const TOLD: u16 = 1 << 15;
}

/// Payload bytes that fit in a node.
// What is left of a cache line beside the rest of a node; most messages of latency-bound programs fit.
pub const INLINE_BYTES: u64 = 16;

/// A message, or a receive that becomes one when matched.
// One line, which a sender fills and a receiver reads: that is the one line of memory that a short message
// costs beside its receiver's state. Both kinds in one type, because a receive becomes its message: no second
// allocation, no copy at the match.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
pub struct Node {
    /// Context of the communicator.
    pub context: u32,
    /// Tag; of a posted receive the pattern (see `flag::ANY_TAG`).
    pub tag: i32,
    /// Rank of the sender in the communicator; of a posted receive the pattern (see `flag::WILD`).
    pub source: u32,
    /// Fingerprint of the envelope or pattern, which queues compare first; of a free node the next free one.
    pub key: u32,
    /// A message's arrival; a posted receive's time of posting.
    pub arrival: Time,
    /// A message's payload; a posted receive's capacity. Bytes.
    pub bytes: u64,
    /// A receive's buffer; a message's with `flag::REFERS`.
    pub buffer: Addr,
    /// Index of the layout, with `flag::LAYOUT`; of a receive of a volley (`volley.rs`) its number.
    pub layout: u32,
    /// Bits of [`flag`].
    pub flags: u16,
    /// Stage of its life cycle.
    pub state: State,
    /// Payload, or where it is.
    pub data: [u64; 2],
}

impl Node {
    /// Builds it with this envelope and nothing else.
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
    /// Tells a receive how long its message is: more than there is room for is an error.
    #[inline]
    pub fn tell_length(&mut self, bytes: u64) {
        if bytes > self.bytes {
            self.flags |= flag::TRUNCATED;
            self.data[1] = bytes;
        } else {
            self.bytes = bytes;
        }
    }
    /// Returns the bytes that completing this send would copy out; none if its message was received or is no
    /// such message.
    #[inline]
    pub fn unread(&self) -> u64 {
        let refers = self.flags & (flag::OWNED | flag::REFERS) == flag::OWNED | flag::REFERS;
        if self.state == State::Unexpected && refers { self.bytes } else { 0 }
    }
    /// Returns `true` if `flag` is set.
    #[inline]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// Nodes that were freed one after the other, up to which they are reused last in, first out.
// As much as the nearest cache holds beside what else a few calls need; after a release of many more, what is
// scattered is not handed out again as it is.
const RECENT: u32 = 128;

/// All nodes of a process. Those that were freed last are reused last in, first out, and in the order in
/// which they lie once they were many ([`Nodes::settle`]).
pub struct Nodes {
    nodes: StableVec<Node>,
    free: u32,
    /// Number of nodes that were freed since the free list was put in order; nodes taken since then are not
    /// subtracted.
    // Those that were taken are not counted off, which would cost each message and tell no more of whether
    // many were freed.
    freed: u32,
    spare: Spare,
}

impl Nodes {
    /// An empty arena.
    // The free list runs through the nodes themselves (`key`), and the last freed is the first given out: it
    // is still in cache.
    pub fn new() -> Nodes {
        Nodes { nodes: StableVec::new(), free: NIL, freed: 0, spare: Spare::default() }
    }
    /// Takes a node and fills it.
    // Always: the fields of a node that is made where this is called go straight to their places. Wide loads
    // of what narrow stores have just put on the stack cost more than all the rest.
    #[inline(always)]
    pub fn alloc(&mut self, node: Node) -> u32 {
        if self.free == NIL {
            self.grow();
        }
        let index = self.free;
        let slot = &mut self.nodes[index as usize];
        let next = slot.key;
        self.free = next;
        let Node { context, tag, source, key, arrival, bytes, buffer, layout, flags, state, data } = node;
        (slot.context, slot.tag, slot.source, slot.key) = (context, tag, source, key);
        (slot.arrival, slot.bytes, slot.buffer) = (arrival, bytes, buffer);
        (slot.layout, slot.flags, slot.state) = (layout, flags, state);
        slot.data[0] = data[0];
        slot.data[1] = data[1];
        // Which node is the one after says a node that has left the cache if there are many: asked for now,
        // it is there for the next call.
        self.prefetch(next);
        index
    }
    /// Puts nodes into the empty free list: those of a page, or else one more.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let Nodes { nodes, free, spare, .. } = self;
        spare.take(|node| nodes[node as usize].key = std::mem::replace(free, node));
        if *free == NIL {
            *free = nodes.len() as u32;
            nodes.push(Node { key: NIL, ..Node::default() });
        }
    }
    /// Gives a node back.
    #[inline(always)]
    pub fn free(&mut self, index: u32) {
        let slot = &mut self.nodes[index as usize];
        slot.state = State::Free;
        slot.key = self.free;
        self.free = index;
        self.freed = self.freed.wrapping_add(1);
    }
    /// Many nodes may be taken now, one after the other: if many were freed before, they are given out as
    /// they lie. O(those that were freed).
    // To be called now and then, by who does many things at a time: what few messages need is in the cache as
    // it is.
    #[inline]
    pub fn settle(&mut self) {
        if self.freed > RECENT {
            self.put_in_order();
        }
    }
    #[inline(never)]
    fn put_in_order(&mut self) {
        while let Some(node) = self.nodes.get(self.free as usize) {
            let next = node.key;
            self.spare.put(self.free);
            self.free = next;
        }
        self.freed = 0;
    }
    /// Returns how many indices were ever given out.
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }
    /// Returns `true` if no node was ever given out.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Prefetches a node that will be used soon.
    #[inline]
    pub fn prefetch(&self, index: u32) {
        if let Some(node) = self.nodes.get(index as usize) {
            rank::memory::prefetch(node);
        }
    }
    /// Returns the node, to change, if the index was ever given out.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut Node> {
        self.nodes.get_mut(index as usize)
    }
    /// The node, if the index was ever given out.
    // A handle that the program made up may name any index: only here is that not a bug of ours.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&Node> {
        self.nodes.get(index as usize)
    }
}

impl Default for Nodes {
    fn default() -> Nodes {
        Nodes::new()
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns how many pages nodes lie on.
    fn pages(nodes: &[u32]) -> usize {
        nodes.iter().map(|node| node / 64).collect::<std::collections::BTreeSet<_>>().len()
    }

    #[test]
    fn nodes_that_are_taken_after_many_were_freed_lie_side_by_side() {
        let mut nodes = Nodes::new();
        let used: Vec<u32> = (0..64_000).map(|_| nodes.alloc(Node::default())).collect();
        // In an order in which none follows its neighbour.
        (0..64_000).map(|k| used[k * 257 % 64_000]).for_each(|node| nodes.free(node));
        nodes.settle();
        let again: Vec<u32> = (0..2_000).map(|_| nodes.alloc(Node::default())).collect();
        assert!(pages(&again) < 33, "{} pages for 2,000 nodes", pages(&again));
    }

    proptest! {
        #[test]
        fn a_node_is_given_out_once_and_there_are_no_more_than_were_used_at_a_time(
            steps in proptest::collection::vec((any::<bool>(), 1..400usize, 0..400usize), 1..60),
        ) {
            let (mut nodes, mut used, mut most) = (Nodes::new(), Vec::new(), 0);
            for (takes, count, from) in steps {
                if from % 3 == 0 {
                    nodes.settle();
                }
                for k in 0..count {
                    if takes {
                        let node = nodes.alloc(Node { state: State::Posted, ..Node::default() });
                        prop_assert!(!used.contains(&node));
                        used.push(node);
                    } else if !used.is_empty() {
                        let node: u32 = used.swap_remove((from + k) * 31 % used.len());
                        prop_assert_eq!(nodes[node].state, State::Posted);
                        nodes.free(node);
                    }
                }
                most = most.max(used.len());
                prop_assert_eq!(nodes.len() as usize, most);
            }
        }
    }
}

//! Sends and receives that a rank starts in a row, done together before its next call of another kind.
//!
//! Each of them waits for memory several times over: for the other rank's state, its queue, the node that fits, the
//! payload. One after the other, these waits add up; in stages, all states first, then all queues and so on, they overlap.
//! What the calls do and when (their order, their times) is the same: until its next call a rank may not touch the
//! buffers, and nobody else runs.

use crate::matching::{Envelope, Extent, Pattern};
use crate::node::{INLINE_BYTES, NIL, Node, State, flag};
use crate::reference::REFERRED;
use crate::world::World;
use crate::{handle, handle::REQUEST_SENT};
use engine::Time;
use rank::memory;

/// How many are held at most.
const MOST: usize = 32;
/// Bytes of a payload that are asked for ahead; beyond, the processor has seen the pattern itself.
const AHEAD: u64 = 2048;

/// A message for `to`, or with [`NIL`] a receive of the mounted rank, by its node.
#[derive(Clone, Copy, Debug)]
struct Operation {
    node: u32,
    to: u32,
}

/// A receive of `to` and its message, which are out of their queues.
#[derive(Clone, Copy, Debug)]
struct Pair {
    to: u32,
    receive: u32,
    message: u32,
}

/// What the mounted rank started and nobody has seen yet, in the order of its calls.
#[derive(Default)]
pub(crate) struct Held {
    operations: Vec<Operation>,
    /// Empty but while they are done.
    pairs: Vec<Pair>,
}

impl Held {
    /// Whether nothing is held.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}

impl World {
    /// Holds a send: answers its request's handle.
    ///
    /// Without `stays` the buffer may change after the call, so that the payload must fit in a node.
    #[inline(always)]
    pub(crate) fn hold_send(&mut self, to: u32, message: Envelope, payload: &Extent, arrival: Time, stays: bool) -> usize {
        memory::prefetch(&self.ranks[to as usize]);
        let inline = payload.bytes <= INLINE_BYTES;
        let owned = stays && payload.bytes >= REFERRED;
        let data = if inline { memory::load_short(payload.buffer, payload.bytes as usize) } else { [0; 2] };
        let node = self.nodes.alloc(Node {
            context: message.context,
            tag: message.tag,
            source: message.source,
            next: NIL,
            arrival,
            bytes: payload.bytes,
            buffer: payload.buffer,
            layout: NIL,
            flags: if inline { flag::INLINE } else { flag::REFERS } | if owned { flag::OWNED } else { 0 },
            state: State::Unexpected,
            data,
        });
        self.hold(Operation { node, to });
        if owned { handle::of_node(node) } else { REQUEST_SENT }
    }

    /// Holds a receive with a named source.
    #[inline(always)]
    pub(crate) fn hold_receive(&mut self, node: u32) {
        self.hold(Operation { node, to: NIL });
    }

    #[inline(always)]
    fn hold(&mut self, operation: Operation) {
        self.held.operations.push(operation);
        if self.held.operations.len() == MOST {
            self.release();
        }
    }

    /// Does what is held. Its rank must be mounted.
    #[inline(never)]
    pub(crate) fn release(&mut self) {
        let mut operations = std::mem::take(&mut self.held.operations);
        let mut pairs = std::mem::take(&mut self.held.pairs);
        let me = self.current;
        if operations.len() > 1 {
            self.unexpected.prefetch(self.ranks[me as usize].unexpected);
            for operation in operations.iter().filter(|operation| operation.to != NIL) {
                self.posted.prefetch(self.ranks[operation.to as usize].posted);
            }
        }
        for &Operation { node, to } in &operations {
            let pair = if to == NIL {
                let pattern = Pattern::of(&self.nodes[node]);
                self.match_posted(me, node, &pattern).map(|message| Pair { to: me, receive: node, message })
            } else {
                self.match_held(to, node).map(|receive| Pair { to, receive, message: node })
            };
            pairs.extend(pair);
        }
        for (at, &Pair { to, receive, message }) in pairs.iter().enumerate() {
            if let Some(next) = pairs.get(at + 1) {
                self.approach_payload(next);
            }
            self.take(to, receive, message);
        }
        operations.clear();
        pairs.clear();
        (self.held.operations, self.held.pairs) = (operations, pairs);
    }

    #[inline]
    fn approach_payload(&self, pair: &Pair) {
        let (message, receive) = (&self.nodes[pair.message], &self.nodes[pair.receive]);
        if message.has(flag::REFERS) {
            let bytes = message.bytes.min(receive.bytes).min(AHEAD) as usize;
            memory::prefetch_range(message.buffer, bytes);
            memory::prefetch_range(receive.buffer, bytes);
        }
    }

    /// A held message reaches `to`: the receive that it meets there, else it is in the unexpected queue now.
    #[inline]
    fn match_held(&mut self, to: u32, index: u32) -> Option<u32> {
        let envelope = Envelope::of(&self.nodes[index]);
        let found = self.find_posted(to, &envelope);
        if let Some((_, place)) = found {
            self.posted.remove(&mut self.ranks[to as usize].posted, place, &self.nodes);
        } else {
            self.posted.searched(&mut self.ranks[to as usize].posted, &self.nodes);
            self.settle_reference(index);
            self.enqueue(to, index);
        }
        self.count_burst(to);
        found.map(|(receive, _)| receive)
    }
}

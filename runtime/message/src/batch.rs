//! The batch: sends and receives that a rank starts in a row, done in stages before its next call of another kind.
//!
//! Each of them waits for memory several times over: for the other rank's state, its queue, the node that fits, the
//! payload. One after the other, these waits add up; in stages, all states first, then all queues and so on, they overlap.
//! What the calls do and when (their order, their times) is the same: until its next call a rank may not touch the
//! buffers, and nobody else runs.

mod operations;

pub use operations::{Batch, Batching};
use operations::{MOST, Operation, Pair};

use crate::envelope::{Envelope, Transit};
use crate::messages::Messages;
use crate::node::{NIL, flag};
use crate::queue::Way;
use crate::reference::REFERRED;
use crate::view::BufferView;
use crate::{handle, handle::REQUEST_SENT};
use rank::{Addr, memory};
use smallvec::SmallVec;

/// Bytes of a payload that are asked for ahead; beyond, the processor has seen the pattern itself.
const AHEAD: u64 = 2048;
/// Operations after which what was asked for with one is there.
const LATER: usize = 4;

impl Messages {
    /// Adds a send to the batch: answers its request's handle.
    ///
    /// With `NOTED` somebody wants to know of it. Without `stays` the buffer may change after the call, so that the payload must fit in a node.
    // The node is made at once, so that the program may end up with its handle; what it meets is found later. On a
    // shared network it is nobody's request: when its payload is moved says nothing of when it has left.
    #[inline(always)]
    pub fn batch_send<const NOTED: bool>(
        &mut self,
        to: u32,
        message: Envelope,
        (buffer, bytes): (Addr, u64),
        transit: Transit,
        stays: bool,
    ) -> usize {
        memory::prefetch(&self.ranks[to as usize]);
        let owned = stays && bytes >= REFERRED && transit.flags == 0;
        let payload = self.load(&BufferView { buffer, layout: None, bytes }, 0);
        let flags = if owned { flag::OWNED } else { transit.flags };
        let node = self.message_node(&message, payload, bytes, &Transit { flags, ..transit });
        if NOTED {
            self.note_departure(node);
            self.forget_sent_type();
        }
        self.add_to_batch(Operation { node, to });
        if owned { handle::of_node(node) } else { REQUEST_SENT }
    }

    /// Holds a receive with a named source.
    #[inline(always)]
    pub fn batch_receive(&mut self, node: u32) {
        self.add_to_batch(Operation { node, to: NIL });
    }

    #[inline(always)]
    fn add_to_batch(&mut self, operation: Operation) {
        self.batch.operations[self.batch.count] = operation;
        self.batch.count += 1;
        self.mark_brief();
        if self.sweeps {
            self.approach_queue(operation);
        }
        // Full: the row goes on after that, with its waits for memory overlapping less.
        if self.batch.count == MOST {
            self.ends_interval();
            self.flush_batch();
        }
    }

    /// Where little is in the cache: the buffer of a receive will be, and the state that was asked for some calls ago tells by now
    /// where its queue is.
    // A prefetch that is too early is lost again, one too late is no help: four calls are about a memory
    // latency.
    #[inline(always)]
    fn approach_queue(&self, latest: Operation) {
        if latest.to == NIL {
            memory::prefetch_range(self.nodes[latest.node].buffer, 1);
        } else if let Some(before) = self.batch.count.checked_sub(LATER)
            && self.batch.operations[before].to != NIL
        {
            let to = self.batch.operations[before].to;
            self.posted.prefetch(self.ranks[to as usize].posted, &self.nodes);
        }
    }

    /// Does what is in the batch. Its rank must be mounted.
    #[inline(always)]
    pub fn flush_batch(&mut self) {
        if !self.batch.is_empty() {
            self.do_batch();
        }
    }

    // In order: first all searches, which decide who meets whom exactly as one by one would (each leaves its
    // queue before the next searches), then all payloads. Only addresses are computed ahead of time, never an
    // outcome.
    #[inline(never)]
    fn do_batch(&mut self) {
        let (me, count) = (self.current, std::mem::take(&mut self.batch.count).min(MOST));
        if count > 1 {
            self.takes_a_while();
            self.unexpected.prefetch(self.ranks[me as usize].unexpected, &self.nodes);
            let mut indexed = self.ranks[me as usize].unexpected.is_indexed();
            for operation in &self.batch.operations[..count] {
                if operation.to != NIL {
                    let other = &self.ranks[operation.to as usize];
                    self.posted.prefetch(other.posted, &self.nodes);
                    indexed |= other.posted.is_indexed();
                }
            }
            if indexed {
                self.approach_indexed(me, count);
            }
            if self.sweeps {
                self.approach_nodes(me, count);
            }
        }
        let (mut met, mut sent) = (0, 0);
        for at in 0..count {
            let Operation { node, to } = self.batch.operations[at];
            let pair = if to == NIL {
                self.match_receive(me, node, false).map(|message| Pair { to: me, receive: node, message })
            } else {
                sent += 1;
                self.match_message(to, node).map(|receive| Pair { to, receive, message: node })
            };
            if let Some(pair) = pair {
                if self.sweeps && self.nodes[pair.message].has(flag::INLINE) {
                    memory::prefetch_range(self.nodes[pair.receive].buffer, 1);
                }
                if met == 0 && count > 1 {
                    self.approach_payload(pair);
                }
                self.batch.pairs[met] = pair;
                met += 1;
            }
        }
        for at in 0..met {
            if at + 1 < met {
                self.approach_payload(self.batch.pairs[at + 1]);
            }
            let Pair { to, receive, message } = self.batch.pairs[at];
            self.take(to, receive, message);
        }
        if count == MOST {
            self.nodes.settle();
        }
        if self.ranks[me as usize].counts_burst(sent) {
            let last: [u32; MOST] = std::array::from_fn(|at| self.batch.operations[at].to);
            self.forgive(&last[..count]);
        }
    }

    /// Where nodes are seldom in the cache, those that will be looked at are asked for all at once.
    #[inline]
    fn approach_nodes(&self, me: u32, count: usize) {
        for &Operation { node, to } in &self.batch.operations[..count] {
            self.approach_node(me, to, self.nodes[node].key);
        }
    }

    /// What a message for `to` with this fingerprint, or a receive of `me`, will meet, or lie behind, where the rank's state is known.
    #[inline(always)]
    pub(crate) fn approach_node(&self, me: u32, to: u32, key: u32) {
        if to == NIL {
            self.unexpected.approach(self.ranks[me as usize].unexpected, key, &self.nodes);
            return;
        }
        let other = &self.ranks[to as usize];
        if !self.posted.approach(other.posted, key, &self.nodes) {
            self.unexpected.approach_end(other.unexpected, &self.nodes);
        }
    }

    /// Thousands of outstanding messages are in no cache near: what leads to those that will meet is asked for, a step for all at once.
    #[inline(never)]
    fn approach_indexed(&self, me: u32, count: usize) {
        let mut ways: SmallVec<[Way; MOST]> = SmallVec::new();
        for &Operation { node, to } in &self.batch.operations[..count] {
            let wanted = Envelope::of(&self.nodes[node]);
            ways.extend(match to {
                NIL => self.unexpected.way(self.ranks[me as usize].unexpected, &wanted),
                to => self.posted.way(self.ranks[to as usize].posted, &wanted),
            });
        }
        ways.iter_mut().for_each(Way::to_chain);
        ways.iter_mut().for_each(Way::to_entry);
        ways.iter().for_each(|way| way.to_node(&self.nodes));
    }

    #[inline(always)]
    fn approach_payload(&self, pair: Pair) {
        if self.nodes[pair.message].has(flag::REFERS) {
            self.approach_referred(pair);
        }
    }

    #[inline(never)]
    fn approach_referred(&self, pair: Pair) {
        let (message, receive) = (&self.nodes[pair.message], &self.nodes[pair.receive]);
        let bytes = message.bytes.min(receive.bytes).min(AHEAD) as usize;
        memory::prefetch_range(message.buffer, bytes);
        memory::prefetch_range(receive.buffer, bytes);
    }

    /// A message reaches `to`: the receive that it meets there, else it is in the unexpected queue now.
    #[inline(always)]
    fn match_message(&mut self, to: u32, index: u32) -> Option<u32> {
        let envelope = Envelope::of(&self.nodes[index]);
        let receive = self.match_posted(to, &envelope);
        if receive.is_none() {
            if self.nodes[index].has(flag::REFERS | flag::UNDER_WAY) {
                self.settle_reference(index);
                self.note_under_way(to, index);
            }
            self.enqueue(to, index);
        }
        receive
    }
}

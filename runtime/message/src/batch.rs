//! The batch: sends and receives that a rank starts in a row, done in stages before its next call of another
//! kind.
//!
//! Each of them waits for memory several times over: for the other rank's state, its queue, the node that
//! fits, the payload. One after the other, these waits add up; in stages, all states first, then all queues
//! and so on, they overlap. What the calls do and when (their order, their times) is the same: until its next
//! call a rank may not touch the buffers, and nobody else runs.

mod operations;

pub use operations::{Batch, Batching};
use operations::{MOST, Operation, Pair};

use crate::envelope::Envelope;
use crate::messages::Messages;
use crate::node::{NIL, flag};
use crate::queue::Way;
use crate::reference::REFERRED;
use crate::transit::Transit;
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
    /// With `NOTED` somebody wants to know of it. Without `stays` the buffer may change after the call, so
    /// that the payload must fit in a node.
    // The node is made at once, so that the program may end up with its handle; what it meets is found later.
    // On a shared network it is nobody's request: when its payload is moved says nothing of when it has left.
    #[inline(always)]
    pub fn batch_send<const NOTED: bool>(
        &mut self,
        to: u32,
        message: Envelope,
        (buffer, bytes): (Addr, u64),
        transit: Transit,
        stays: bool,
    ) -> usize {
        self.ranks.prefetch(to);
        let owned = stays && bytes >= REFERRED && transit.flags == 0;
        let payload = self.payloads.load(&BufferView { buffer, layout: None, bytes }, 0);
        let flags = if owned { flag::OWNED } else { transit.flags };
        let node = self.message_node(&message, payload, bytes, &Transit { flags, ..transit });
        if NOTED {
            self.watch.note_departure(node);
            self.watch.forget_sent_type();
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
        self.ranks.mark_brief();
        if self.ranks.exceed_cache() {
            self.approach_queue(operation);
        }
        // Full: the row goes on after that, with its waits for memory overlapping less.
        if self.batch.count == MOST {
            self.ranks.end_interval();
            self.flush_batch();
        }
    }

    /// Asks for a receive's queue, where little is in the cache: the buffer of a receive will be, and the
    /// state that was asked for some calls ago tells by now where its queue is.
    // A prefetch that is too early is lost again, one too late is no help: four calls are about a memory
    // latency.
    #[inline(always)]
    fn approach_queue(&self, latest: Operation) {
        if latest.to == NIL {
            memory::prefetch_range(self.matcher[latest.node].buffer, 1);
        } else if let Some(before) = self.batch.count.checked_sub(LATER)
            && self.batch.operations[before].to != NIL
        {
            let to = self.batch.operations[before].to;
            self.matcher.prefetch_receives(&self.ranks[to].pending);
        }
    }

    /// Returns `true` if the mounted rank has finished what it started.
    #[inline(always)]
    pub fn has_no_batch(&self) -> bool {
        self.batch.is_empty()
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
        let (me, count) = (self.ranks.me(), std::mem::take(&mut self.batch.count).min(MOST));
        if count > 1 {
            self.ranks.mark_varying();
            let own = &self.ranks[me].pending;
            self.matcher.prefetch_messages(own);
            let mut indexed = self.matcher.has_indexed_messages(own);
            for operation in &self.batch.operations[..count] {
                if operation.to != NIL {
                    let other = &self.ranks[operation.to].pending;
                    self.matcher.prefetch_receives(other);
                    indexed |= self.matcher.has_indexed_receives(other);
                }
            }
            if indexed {
                self.approach_indexed(me, count);
            }
            if self.ranks.exceed_cache() {
                self.approach_nodes(me, count);
            }
        }
        let (mut met, mut sent) = (0, 0);
        for at in 0..count {
            let Operation { node, to } = self.batch.operations[at];
            let pair = if to == NIL {
                let state = &mut self.ranks[me];
                let message = self.matcher.post(me, &mut state.pending, node, false, state.clock);
                message.map(|message| Pair { to: me, receive: node, message })
            } else {
                sent += 1;
                self.match_message(to, node).map(|receive| Pair { to, receive, message: node })
            };
            if let Some(pair) = pair {
                if self.ranks.exceed_cache() && self.matcher[pair.message].has(flag::INLINE) {
                    memory::prefetch_range(self.matcher[pair.receive].buffer, 1);
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
            self.matcher.reorder_free();
        }
        if self.ranks[me].counts_burst(sent) {
            let last: [u32; MOST] = std::array::from_fn(|at| self.batch.operations[at].to);
            self.end_burst(&last[..count]);
        }
    }

    /// Prefetches the matcher nodes that the first `count` operations of the batch will search. `me` is the
    /// rank of the receives.
    #[inline]
    fn approach_nodes(&self, me: u32, count: usize) {
        for &Operation { node, to } in &self.batch.operations[..count] {
            self.approach_node(me, to, self.matcher[node].key);
        }
    }

    /// Asks for what a message for `to` with this fingerprint, or a receive of `me`, will meet, or lie
    /// behind, where the rank's state is known.
    #[inline(always)]
    pub(crate) fn approach_node(&self, me: u32, to: u32, key: u32) {
        if to == NIL {
            return self.matcher.prefetch_for_receive(&self.ranks[me].pending, key);
        }
        self.matcher.prefetch_for_message(&self.ranks[to].pending, key);
    }

    /// Thousands of outstanding messages are in no cache near: what leads to those that will meet is asked
    /// for, a step for all at once.
    #[inline(never)]
    fn approach_indexed(&self, me: u32, count: usize) {
        let mut ways: SmallVec<[Way; MOST]> = SmallVec::new();
        for &Operation { node, to } in &self.batch.operations[..count] {
            let wanted = Envelope::of(&self.matcher[node]);
            ways.extend(match to {
                NIL => self.matcher.path_to_message(&self.ranks[me].pending, &wanted),
                to => self.matcher.path_to_receive(&self.ranks[to].pending, &wanted),
            });
        }
        ways.iter_mut().for_each(Way::to_chain);
        ways.iter_mut().for_each(Way::to_entry);
        ways.iter().for_each(|way| self.matcher.prefetch_path(way));
    }

    #[inline(always)]
    fn approach_payload(&self, pair: Pair) {
        if self.matcher[pair.message].has(flag::REFERS) {
            self.approach_referred(pair);
        }
    }

    #[inline(never)]
    fn approach_referred(&self, pair: Pair) {
        let (message, receive) = (&self.matcher[pair.message], &self.matcher[pair.receive]);
        let bytes = message.bytes.min(receive.bytes).min(AHEAD) as usize;
        memory::prefetch_range(message.buffer, bytes);
        memory::prefetch_range(receive.buffer, bytes);
    }

    /// Returns the receive of `to` that a message meets; else the message is unexpected.
    #[inline(always)]
    fn match_message(&mut self, to: u32, message: u32) -> Option<u32> {
        let receive = self.matcher.arrive(to, &mut self.ranks[to].pending, message);
        if receive.is_none() && self.matcher[message].has(flag::REFERS | flag::UNDER_WAY) {
            self.stay_unexpected(to, message);
        }
        receive
    }
}

//! The batch: sends and receives that a rank starts in a row, done in stages before its next call of another
//! kind.
//!
//! Each of them waits for memory several times over: for the other rank's state, its queue, the node that
//! fits, the payload. One after the other, these waits add up; in stages, all states first, then all queues
//! and so on, they overlap. What the calls do and when (their order, their times) is the same: until its next
//! call a rank may not touch the buffers, and nobody else runs.

mod operations;

use operations::MAX_OPERATIONS;
pub use operations::{Batch, Batching};
pub(crate) use operations::{Operation, Pair};

use crate::envelope::Envelope;
use crate::fabric::Fabric;
use crate::meeting::stay_unexpected;
use crate::moving::Payloads;
use crate::node::{NIL, flag};
use crate::queue::Way;
use crate::ranks::Ranks;
use matcher::Matcher;
use rank::memory;
use smallvec::SmallVec;

/// Bytes of a payload that are asked for ahead; beyond, the processor has seen the pattern itself.
const AHEAD: u64 = 2048;
/// Operations after which what was asked for with one is there.
const LATER: usize = 4;

impl Batch {
    /// Adds an operation of the mounted rank. Returns `true` if the batch is full.
    // Full: the row goes on after it is done, with its waits for memory overlapping less.
    #[inline(always)]
    pub(crate) fn add(&mut self, ranks: &mut Ranks, matcher: &Matcher, operation: Operation) -> bool {
        self.operations[self.count] = operation;
        self.count += 1;
        ranks.mark_brief();
        if ranks.exceed_cache() {
            self.prefetch_queue(ranks, matcher, operation);
        }
        let full = self.count == MAX_OPERATIONS;
        if full {
            ranks.end_interval();
        }
        full
    }

    /// Prefetches a receive's queue, where little is in the cache: the buffer of a receive, and the queue of
    /// a rank whose state was prefetched some calls ago.
    // A prefetch that is too early is lost again, one too late is no help: four calls are about a memory
    // latency.
    #[inline(always)]
    fn prefetch_queue(&self, ranks: &Ranks, matcher: &Matcher, latest: Operation) {
        if latest.to == NIL {
            memory::prefetch_range(matcher[latest.node].buffer, 1);
        } else if let Some(before) = self.count.checked_sub(LATER)
            && self.operations[before].to != NIL
        {
            let to = self.operations[before].to;
            matcher.prefetch_receives(&ranks[to].pending);
        }
    }

    /// Matches all operations of rank `me`, in their order. Returns how many there were and how many of them
    /// were sends; those that have met are [`Batch::pairs`].
    // All searches decide who meets whom exactly as one by one would: each leaves its queue before the next
    // searches. Only addresses are computed ahead of time, never an outcome.
    #[inline(always)]
    pub(crate) fn match_all(
        &mut self,
        ranks: &mut Ranks,
        matcher: &mut Matcher,
        (payloads, fabric): (&mut Payloads, &mut Fabric),
    ) -> MatchedBatch {
        let (me, count) = (ranks.me(), std::mem::take(&mut self.count).min(MAX_OPERATIONS));
        if count > 1 {
            ranks.mark_varying();
            let own = &ranks[me].pending;
            matcher.prefetch_messages(own);
            let mut indexed = matcher.has_indexed_messages(own);
            for operation in &self.operations[..count] {
                if operation.to != NIL {
                    let other = &ranks[operation.to].pending;
                    matcher.prefetch_receives(other);
                    indexed |= matcher.has_indexed_receives(other);
                }
            }
            if indexed {
                self.prefetch_indexed(ranks, matcher, count);
            }
            if ranks.exceed_cache() {
                self.prefetch_nodes(ranks, matcher, count);
            }
        }
        let (mut met, mut sent) = (0, 0);
        for at in 0..count {
            let Operation { node, to } = self.operations[at];
            let pair = if to == NIL {
                let state = &mut ranks[me];
                let message = matcher.post(me, &mut state.pending, node, false, state.clock);
                message.map(|message| Pair { to: me, receive: node, message })
            } else {
                sent += 1;
                let receive = matcher.arrive(to, &mut ranks[to].pending, node);
                if receive.is_none() && matcher[node].has(flag::REFERS | flag::UNDER_WAY) {
                    stay_unexpected((payloads, fabric), matcher, to, node);
                }
                receive.map(|receive| Pair { to, receive, message: node })
            };
            if let Some(pair) = pair {
                if ranks.exceed_cache() && matcher[pair.message].has(flag::INLINE) {
                    memory::prefetch_range(matcher[pair.receive].buffer, 1);
                }
                if met == 0 && count > 1 {
                    pair.prefetch_payload(matcher);
                }
                self.pairs[met] = pair;
                met += 1;
            }
        }
        MatchedBatch { count, met, sent }
    }

    /// Prefetches the matcher nodes that the first `count` operations will search.
    #[inline]
    fn prefetch_nodes(&self, ranks: &Ranks, matcher: &Matcher, count: usize) {
        for &Operation { node, to } in &self.operations[..count] {
            ranks.prefetch_other(matcher, to, matcher[node].key);
        }
    }

    /// Prefetches what leads to the nodes that will meet, a step for all at once.
    // Thousands of outstanding messages are in no cache near.
    #[inline(never)]
    fn prefetch_indexed(&self, ranks: &Ranks, matcher: &Matcher, count: usize) {
        let mut ways: SmallVec<[Way; MAX_OPERATIONS]> = SmallVec::new();
        for &Operation { node, to } in &self.operations[..count] {
            let wanted = Envelope::of(&matcher[node]);
            ways.extend(match to {
                NIL => matcher.path_to_message(&ranks[ranks.me()].pending, &wanted),
                to => matcher.path_to_receive(&ranks[to].pending, &wanted),
            });
        }
        ways.iter_mut().for_each(Way::to_chain);
        ways.iter_mut().for_each(Way::to_entry);
        ways.iter().for_each(|way| matcher.prefetch_path(way));
    }

    /// Returns the receivers of the first `count` operations; [`NIL`] for a receive.
    pub(crate) fn receivers(&self) -> [u32; MAX_OPERATIONS] {
        std::array::from_fn(|at| self.operations[at].to)
    }
}

/// Numbers of a batch whose operations have been matched.
pub(crate) struct MatchedBatch {
    /// Operations.
    pub count: usize,
    /// Pairs of a receive and its message.
    pub met: usize,
    /// Sends.
    pub sent: u16,
}

impl MatchedBatch {
    /// Returns `true` if the batch was full.
    pub fn was_full(&self) -> bool {
        self.count == MAX_OPERATIONS
    }
}

impl Ranks {
    /// Prefetches the node that a message for `to` with this fingerprint will meet or lie behind; with
    /// [`NIL`] the one that a receive of the mounted rank will.
    #[inline(always)]
    pub(crate) fn prefetch_other(&self, matcher: &Matcher, to: u32, key: u32) {
        if to == NIL {
            return matcher.prefetch_for_receive(&self[self.me()].pending, key);
        }
        matcher.prefetch_for_message(&self[to].pending, key);
    }
}

impl Pair {
    /// Prefetches the message's payload and where it goes.
    #[inline(always)]
    pub(crate) fn prefetch_payload(self, matcher: &Matcher) {
        if matcher[self.message].has(flag::REFERS) {
            self.prefetch_referred(matcher);
        }
    }

    #[inline(never)]
    fn prefetch_referred(self, matcher: &Matcher) {
        let (message, receive) = (&matcher[self.message], &matcher[self.receive]);
        let bytes = message.bytes.min(receive.bytes).min(AHEAD) as usize;
        memory::prefetch_range(message.buffer, bytes);
        memory::prefetch_range(receive.buffer, bytes);
    }
}

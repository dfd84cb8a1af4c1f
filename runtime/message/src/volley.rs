//! The volley: messages that a rank without a program sends and receives one after the other before it waits
//! for all of them.
//!
//! A program's messages are requests until it waits for them: it may do anything else between. Of a rank
//! without a program it is known ahead that it does not. So nothing is kept of a message that meets its other
//! half at once, neither a node nor a request; what is left when all are started is what the rank is blocked
//! for, and has been marked so from the beginning ([`flag::STATUS_IGNORED`]).
//!
//! Only in runs without payloads, and of messages that are plain (`plain.rs`), whose time is known when they
//! are sent. Everything here does what these calls do one by one.

use crate::envelope::Envelope;
use crate::messages::Messages;
use crate::moving::Payload;
use crate::node::{NIL, flag};
use crate::transit::Transit;
use engine::Time;
use rank::Addr;

/// Maximum number of messages in a batched exchange. Those of one exchange are prefetched together and stay
/// in the nearest cache.
pub const MOST: usize = 64;

impl Messages {
    /// Returns `true` if the mounted rank's messages can go in volleys: nobody wants to know of them, and
    /// nothing of the rank is undecided.
    #[inline(always)]
    pub fn fires_volleys(&self) -> bool {
        let state = &self.ranks[self.ranks.me()];
        let anybody = self.payloads.are_carried()
            || self.lets_others_run()
            || self.deferred.cancels()
            || state.pending.is_watched();
        self.sends_plainly() && self.receives_plainly() && self.unseen && !anybody
    }

    /// The mounted rank, for which that is so, begins one.
    // What it started before comes before: messages of one sender must not overtake (MPI 5.0 section 3.5).
    #[inline(always)]
    pub fn begin_volley(&mut self) {
        self.flush_batch();
        // One more than it waits for: it is not woken before it waits.
        self.ranks.mounted().waiting = 1;
    }

    /// Messages will be sent to these ranks, counted from the `first`.
    #[inline(always)]
    pub fn approach_ranks(&self, first: u32, others: &[u32]) {
        for &other in others {
            self.ranks.prefetch(first + other);
        }
    }

    /// [`Messages::approach_ranks`] has been asked for these: now for what they have posted.
    #[inline(always)]
    pub fn approach_receives(&self, first: u32, others: &[u32]) {
        for &other in others {
            self.matcher.prefetch_receives(&self.ranks[first + other].pending);
        }
    }

    /// [`Messages::approach_receives`] has been asked for these: where nodes are seldom in the cache, now for
    /// that which this message will meet; `to` is none for one that the mounted rank receives.
    #[inline(always)]
    pub fn approach_other(&self, to: Option<u32>, envelope: &Envelope) {
        self.approach_node(self.ranks.me(), to.unwrap_or(NIL), envelope.key);
    }

    /// Receives a message of the volley, or posts the receive. `number` is that of its request.
    #[inline(always)]
    pub fn volley_receive(&mut self, envelope: &Envelope, room: u64, number: u32) {
        let me = self.ranks.me();
        let Some(found) = self.matcher.find_exact(&self.ranks[me].pending, envelope) else {
            let index = self.blocked_receive_node(envelope, room, number);
            let state = self.ranks.mounted();
            state.waiting += 1;
            return self.matcher.append_receive(&mut state.pending, index);
        };
        match self.receive_at_once(found, (Addr::NULL, room)) {
            Some((arrival, _)) => {
                let arrived = &mut self.ranks[me].arrived;
                *arrived = arrival.max(*arrived);
            }
            None => self.volley_receive_any(envelope, room, number),
        }
    }

    /// [`Messages::volley_receive`] of what lies there, whatever that is.
    #[cold]
    #[inline(never)]
    fn volley_receive_any(&mut self, envelope: &Envelope, room: u64, number: u32) {
        let me = self.ranks.me();
        let index = self.blocked_receive_node(envelope, room, number);
        self.ranks[me].waiting += 1;
        self.post(me, index, false);
    }

    /// Sends a message of the volley, which leaves at `at`, to a rank of this process.
    #[inline(always)]
    pub fn volley_send(&mut self, to: u32, envelope: &Envelope, bytes: u64, at: Time) {
        let arrival = at + self.fabric.latency(self.ranks.me(), to, bytes);
        self.ranks.profile_mut().message(bytes);
        match self.matcher.take_posted(&mut self.ranks[to].pending, envelope) {
            Some(receive) => {
                let node = &mut self.matcher[receive];
                (node.source, node.tag) = (envelope.source, envelope.tag);
                node.flags &= !flag::ANY_TAG;
                node.tell_length(bytes);
                self.complete(to, receive, arrival);
            }
            None => self.deliver_to(to, envelope, Payload::None, bytes, &Transit::at(arrival), false),
        }
    }

    /// The volley is over, with so many sends: whether the mounted rank is blocked now, and whether it has
    /// sent many in a row. If it is not blocked, its clock is to be moved as when it is resumed.
    #[inline(always)]
    pub fn end_volley(&mut self, sent: u16) -> (bool, bool) {
        let state = self.ranks.mounted();
        state.waiting -= 1;
        (state.waiting != 0, state.counts_burst(sent))
    }

    /// Receives of the mounted rank's volley that it has to see all the same, and their numbers, by these:
    /// messages that were too long.
    #[cold]
    pub fn unsettled_of_volley(&mut self) -> Vec<(u32, u32)> {
        let me = self.ranks.me();
        let own = self.requests.take_all_unsettled(me);
        let mut nodes: Vec<(u32, u32)> =
            own.into_iter().map(|node| (self.matcher[node].layout, node)).collect();
        nodes.sort_unstable();
        nodes
    }
}

//! Completion of requests that are known to be complete, and waiting for them (MPI 5.0 section 3.7).

use crate::completing::Completing;
use crate::faults::Faults;
use crate::handle::{self, RequestRef};
use crate::node::{State, flag};
use crate::request::{PROC_NULL, RequestArray, Requests, Status};
use engine::Time;
use matcher::Matcher;

impl Completing<'_> {
    /// Completes a request that takes nothing but its status; `None` if there is more to do.
    // The rest (what a rank has to unpack, table requests, errors) may call the program, for which the world
    // is given back first: so it is left to the caller.
    #[inline(always)]
    pub fn finish_plain(&mut self, handle: usize) -> Option<Status> {
        match handle::request(handle) {
            RequestRef::Nothing | RequestRef::Sent | RequestRef::Ignored(_) => Some(Status::EMPTY),
            RequestRef::Node(index) => self.finish_plain_receive(index),
            _ => None,
        }
    }

    /// Completes a request of the mounted rank that is a node and takes nothing but its status: a receive
    /// whose payload is in place, a send whose message was received. `None` if there is more to do.
    // `Matched` first: only what is not costs the second look.
    #[inline(always)]
    pub fn finish_plain_receive(&mut self, index: u32) -> Option<Status> {
        let node = &self.matcher[index];
        let source = node.source;
        if node.state != State::Matched {
            if node.state == State::Sent {
                self.matcher.free(index);
                return Some(Status::EMPTY);
            }
            return None;
        }
        if source == PROC_NULL as u32
            || node.flags & (flag::INLINE | flag::POOLED | flag::LAYOUT | flag::TRUNCATED | flag::LISTED) != 0
        {
            return None;
        }
        let (arrival, status) = (
            node.arrival,
            Status { source: source as i32, tag: node.tag, error: 0, bytes: node.bytes, cancelled: false },
        );
        self.matcher.free(index);
        self.received(arrival, index, (status.bytes, status.tag));
        Some(status)
    }

    /// Moves the mounted rank's clock to the arrival of the message in `node` and charges its overhead.
    /// `told` is what recorders learn of it: bytes and tag.
    // The receive overhead comes after the arrival and the waiting: it is the receiver's processor that works
    // then (LogGP's `o`).
    #[inline(always)]
    pub(crate) fn received(&mut self, arrival: Time, node: u32, told: (u64, i32)) {
        self.watch.note_arrival_of(self.ranks.me(), node, arrival, told);
        self.ranks.receive(arrival, self.fabric.wire().receive_overhead());
    }

    /// Moves the mounted rank's clock by what was completed while it was blocked; what could not be is a
    /// request like any other.
    // One clock for all: completing them one by one would move it to each arrival in turn, with the same end
    // and the same waiting.
    #[inline(always)]
    pub fn settle_ignored(&mut self, requests: RequestArray) {
        self.settle_arrived();
        if !self.requests.all_settled() {
            self.settle_rest(self.ranks.me(), requests);
        }
    }

    /// [`Completing::settle_ignored`] where all could be completed.
    #[inline(always)]
    pub fn settle_arrived(&mut self) {
        let me = self.ranks.me();
        let arrived = self.ranks.strand_mut().take_arrived();
        self.ranks.advance(me, arrived);
    }

    #[cold]
    #[inline(never)]
    fn settle_rest(&mut self, me: u32, requests: RequestArray) {
        for place in 0..requests.count {
            // The node of one that was completed with its status ignored may be another rank's by now.
            if let RequestRef::Ignored(index) = handle::request(requests.get(place))
                && self.requests.take_unsettled(index, me)
            {
                requests.set(place, handle::of_node(index));
            }
        }
    }
}

impl Requests {
    /// Returns what a complete receive that was too short says besides its error.
    #[inline]
    pub fn truncated_status(
        &self,
        matcher: &Matcher,
        faults: Option<&Faults>,
        handle: usize,
    ) -> Option<Status> {
        let RequestRef::Node(index) = handle::request(self.active_part(handle)) else { return None };
        // What it has lost is as if it had never been.
        if faults.is_some_and(|faults| faults.has_ended(index)) {
            return None;
        }
        let node = &matcher[index];
        let status = Status {
            source: node.source as i32,
            tag: node.tag,
            error: 0,
            bytes: node.bytes,
            cancelled: false,
        };
        node.has(flag::TRUNCATED).then_some(status)
    }
}

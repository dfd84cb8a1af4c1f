//! Completion of requests that are known to be complete, and waiting for them (MPI 5.0 section 3.7).

use crate::handle::{self, RequestRef};
use crate::messages::Messages;
use crate::node::flag;
use crate::request::{RequestArray, Status};

impl Messages {
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

    /// [`Messages::settle_ignored`] where all could be completed.
    #[inline(always)]
    pub fn settle_arrived(&mut self) {
        let me = self.ranks.me();
        let arrived = std::mem::take(&mut self.ranks[me].arrived);
        self.advance(me, arrived);
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

    /// Returns what a complete receive that was too short says besides its error.
    #[inline]
    pub fn truncated_status(&self, handle: usize) -> Option<Status> {
        let RequestRef::Node(index) = handle::request(self.requests.active_part(handle)) else { return None };
        // What it has lost is as if it had never been.
        if self.faults.as_ref().is_some_and(|faults| faults.has_ended(index)) {
            return None;
        }
        let node = &self.matcher[index];
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

//! Operations between the parts of [`p2p::Messages`] that calls and decisions have in common.

use crate::envelope::Pattern;
use crate::error::Result;
use crate::request::{Completion, Status};
use crate::world::World;
use engine::Time;
use p2p::deferred::DeferredMatch;

impl World {
    /// Returns what is known of the completion of `handle`.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`.
    #[inline]
    pub fn completion(&self, handle: usize) -> Result<Completion> {
        self.messages.requests().completion(self.messages.matcher(), handle)
    }

    /// Returns the status of a complete receive that was too short, besides its error.
    #[inline]
    pub(crate) fn truncated_status(&self, handle: usize) -> Option<Status> {
        let messages = &self.messages;
        messages.requests().truncated_status(messages.matcher(), messages.faults(), handle)
    }

    /// Returns `true` if standard sends wait for a receive to meet their message.
    #[inline]
    pub(crate) fn checks_sends(&self) -> bool {
        let messages = &self.messages;
        messages.watch().checks_sends(messages.fabric(), messages.peers(), messages.faults())
    }

    /// Lets the mounted rank, which is to block, go on after others: too much waits for other processes or
    /// for its receivers.
    #[cold]
    pub fn step_back(&mut self) {
        let messages = &mut self.messages;
        messages.flush_batch();
        let (strand, clock) = (messages.ranks().running(), messages.clock(messages.me()));
        messages.ready_mut().lag(strand, clock);
    }

    /// Returns the receiver and the tag of the message for whose receive `rank` waits.
    pub(crate) fn unmatched_send(&self, rank: u32) -> Option<(u32, i32)> {
        let messages = &self.messages;
        messages.watch().unmatched_send(messages.matcher(), rank, messages.clock(rank))
    }

    /// Notifies the sender of a deferred match.
    pub(crate) fn notify_deferred(&mut self, rank: u32, met: Time, source: u32, receive: u32) {
        let messages = &mut self.messages;
        if let Some(DeferredMatch { posted_at, bytes, transit }) =
            messages.requests_mut().deferred_mut().remove((rank, met, source, receive))
        {
            messages.handshake(rank, posted_at, bytes, transit);
            self.mark_dirty(rank);
        }
    }

    /// Notifies the senders of all deferred matches that their receivers' clocks have passed. Returns `true`
    /// if there were any.
    pub(crate) fn notify_passed(&mut self) -> bool {
        let messages = &mut self.messages;
        if messages.requests().deferred().is_empty() || messages.faults().is_some() {
            return false;
        }
        let passed = messages.requests().deferred().passed(|rank| messages.clock(rank));
        for &(rank, met, source, receive) in &passed {
            self.notify_deferred(rank, met, source, receive);
        }
        !passed.is_empty()
    }

    /// Matches the receives of `rank` for any source, which are all that it has posted and alike, with the
    /// messages that arrive before `until`, none before `floor`. Returns when the last one met its message,
    /// or `floor`. Ends when the rank is woken. O(log messages) each.
    pub(crate) fn take_alike(&mut self, rank: u32, until: Time, mut floor: Time) -> Time {
        let messages = &mut self.messages;
        let (runnable, mut taken) = (messages.ready().len(), 0);
        let (matcher, pending) = messages.matching(rank);
        let Some(pattern) = matcher.first_pattern(pending) else { return floor };
        while messages.ready().len() == runnable {
            let (matcher, pending) = messages.matching(rank);
            let Some((receive, message)) = matcher.take_alike(pending, &pattern, until) else { break };
            taken += 1;
            let node = &mut matcher[message];
            floor = floor.max(node.arrival);
            node.arrival = floor;
            messages.take(rank, receive, message);
        }
        let (matcher, pending) = messages.matching(rank);
        matcher.close_wildcards(rank, pending, &pattern, taken);
        matcher.reorder_free();
        floor
    }

    /// Matches named receives of `rank` again after a receive for any source was decided or cancelled at
    /// `time`.
    // In the order of posting, so that the first of two alike has the message.
    pub(crate) fn rematch(&mut self, rank: u32, time: Time) {
        let messages = &mut self.messages;
        for receive in messages.matcher().to_rematch(&messages.ranks()[rank].pending) {
            let (matcher, pending) = messages.matching(rank);
            if let Some(message) = matcher.rematch(pending, receive, time) {
                messages.take(rank, receive, message);
            }
        }
    }

    /// Notes that something happened to a rank with open decisions.
    pub(crate) fn mark_dirty(&mut self, rank: u32) {
        let (matcher, pending) = self.messages.matching(rank);
        matcher.mark_dirty(rank, pending);
    }

    /// Returns `true` if an open receive of `rank` for any source could take a message of `pattern`.
    pub(crate) fn wildcard_overlaps(&self, rank: u32, pattern: &Pattern) -> bool {
        let pending = &self.messages.ranks()[rank].pending;
        self.messages.matcher().wildcard_overlaps(rank, pending, pattern)
    }

    /// Returns `true` if a rank has so many messages that it has not taken that no more should come while
    /// others can run: then they stay with their senders, which step back.
    pub(crate) fn is_flooded(&mut self) -> bool {
        let messages = &mut self.messages;
        let Some(rank) = messages.peers().flooded() else { return false };
        // A rank that has failed takes none.
        let unread = match messages.faults() {
            Some(faults) if faults.has_failed(rank) => 0,
            _ => messages.matcher().message_count(&messages.ranks()[rank].pending),
        };
        messages.peers_mut().is_still_flooded(unread)
    }
}

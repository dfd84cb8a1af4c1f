//! Arrivals of messages, posts of receives, and how the two meet.
//!
//! Which meets which is [`matcher`]'s to say. Here payloads move, times follow, and ranks are woken.

use crate::envelope::{Envelope, Pattern};
use crate::flight::Flight;
use crate::messages::Messages;
use crate::moving::Payload;
use crate::node::{NIL, Node, State, flag};
use crate::transit::Transit;
use engine::Time;

impl Messages {
    /// Delivers a message to rank `to`: to its posted receive, or the unexpected queue. Its payload is still
    /// where its sender has it.
    // A message is a node even where its receive is posted already. To make and free one costs a few stores,
    // and two paths to a receive cost two places in which times, flags and truncation have to agree.
    #[inline(always)]
    pub fn deliver(&mut self, to: u32, envelope: &Envelope, payload: Payload, bytes: u64, transit: &Transit) {
        let awaited = self.ranks[to].pending.has_posted();
        self.deliver_to(to, envelope, payload, bytes, transit, awaited);
    }

    /// [`Messages::deliver`], where one of the posted receives may have been `awaited` for it.
    #[inline(always)]
    pub(crate) fn deliver_to(
        &mut self,
        to: u32,
        envelope: &Envelope,
        payload: Payload,
        bytes: u64,
        transit: &Transit,
        awaited: bool,
    ) {
        let message = self.message_node(envelope, payload, bytes, transit);
        self.watch.note_departure(message);
        if awaited && self.meets_posted(to, message) {
            return;
        }
        if !matches!(payload, Payload::Inline(_) | Payload::None) || transit.flags != 0 {
            self.stay_unexpected(to, message);
        }
        self.matcher.append_message(to, &mut self.ranks[to].pending, message);
    }

    /// Makes a message's node, which is in no queue yet.
    #[inline(always)]
    pub fn message_node(
        &mut self,
        envelope: &Envelope,
        payload: Payload,
        bytes: u64,
        transit: &Transit,
    ) -> u32 {
        let (flags, buffer, mut data) = payload.parts();
        if transit.request != NIL {
            data[1] = u64::from(transit.request);
        }
        self.matcher.alloc(Node {
            buffer,
            flags: transit.flags | flags,
            layout: transit.flight,
            data,
            ..Node::of(envelope, transit.arrival, bytes, State::Unexpected)
        })
    }

    /// Returns `true` if a posted receive of `to` takes the message, which is in no queue.
    #[inline(never)]
    fn meets_posted(&mut self, to: u32, message: u32) -> bool {
        let envelope = Envelope::of(&self.matcher[message]);
        let receive = self.matcher.take_posted(&mut self.ranks[to].pending, &envelope);
        if let Some(receive) = receive {
            self.take(to, receive, message);
        }
        receive.is_some()
    }

    /// Secures a message that no receive has taken: its payload, and its way through a shared network.
    #[inline(never)]
    pub(crate) fn stay_unexpected(&mut self, to: u32, message: u32) {
        self.settle_reference(message);
        self.note_under_way(to, message);
    }

    /// Notes where a shared network's delivery finds a message that no receive has taken.
    #[inline(always)]
    pub fn note_under_way(&mut self, to: u32, message: u32) {
        let node = &self.matcher[message];
        if node.has(flag::UNDER_WAY) {
            let flight = node.layout;
            self.fabric.redirect(flight, Flight::Unexpected { to, message });
        }
    }

    /// Completes a receive and its message, which are together: settles times, wakes who waits.
    // On a shared network the payload is moved at the match, long before the arrival. No one may look at a
    // receive's buffer before it is complete (MPI 5.0 section 3.7.2), so nothing has to be kept for its
    // delivery.
    #[inline]
    pub fn meet(&mut self, to: u32, index: u32, posted_at: Time, bytes: u64, transit: Transit) {
        if transit.flags == 0 {
            self.complete(to, index, transit.arrival);
        } else if transit.flags & flag::UNDER_WAY != 0 {
            self.matcher[index].state = State::InFlight;
            self.fabric
                .redirect(transit.flight, Flight::Received { to, receive: index, posted_at, bytes, transit });
        } else {
            self.watch.note_meeting(
                transit.request,
                index,
                (posted_at, to),
                posted_at > transit.arrival,
                transit.flags & flag::RENDEZVOUS != 0,
            );
            let is_deferred = self.is_deferred(to, index, transit.arrival.max(posted_at));
            // The sender's clock depends on this match once it is notified. Then the receive cannot give its
            // message back when it is cancelled, unless the match is still deferred.
            self.matcher[index].flags |= flag::TOLD;
            let arrival = if is_deferred {
                self.defer_match(to, index, posted_at, bytes, transit)
            } else {
                self.handshake(to, posted_at, bytes, transit)
            };
            self.complete(to, index, arrival);
        }
    }

    /// Completes a receive of `to`, whose message arrives at `arrival`.
    #[inline(always)]
    pub fn complete(&mut self, to: u32, index: u32, arrival: Time) {
        let node = &mut self.matcher[index];
        // Its owner is blocked, and all that it needs is when. The node is free before its rank runs again.
        // The handles that the program has name it in a way that only the wait knows which the rank is
        // blocked in (`handle::of_ignored`).
        if node.flags & (flag::WAITED | flag::STATUS_IGNORED | flag::INLINE | flag::POOLED | flag::TRUNCATED)
            == flag::WAITED | flag::STATUS_IGNORED
        {
            self.matcher.free(index);
            let state = &mut self.ranks[to];
            state.arrived = state.arrived.max(arrival);
            return self.count_down(to);
        }
        node.arrival = arrival;
        node.state = State::Matched;
        if node.flags & (flag::WAITED | flag::ORPHAN) != 0 {
            if node.has(flag::ORPHAN) {
                // The main loop completes it, with its rank mounted: its payload may be for memory that only
                // this rank reaches.
                self.requests.add_orphan(to, index);
            } else {
                if node.has(flag::STATUS_IGNORED) {
                    self.requests.add_unsettled(index, to);
                }
                self.count_down(to);
            }
        }
        if self.ranks[to].pending.is_polling() {
            self.mark_dirty(to);
        }
    }

    /// Moves an unexpected (or extracted) message into a receive. The message's node is freed.
    // One mask asks whether the message is complete and its payload can be put from here, one whether the
    // receive can take it so: most can. Source and tag are the message's in any case, since the status is
    // read from the receive.
    #[inline(always)]
    pub fn take(&mut self, to: u32, receive: u32, message: u32) {
        if self.watch.is_noted()
            && let Some(sender) =
                self.watch.note_met_pair((&self.ranks, &self.peers), &self.matcher, receive, message)
        {
            self.ready.wake(sender);
        }
        let Node { source, tag, arrival, bytes, buffer, flags, data, .. } = self.matcher[message];
        let node = &mut self.matcher[receive];
        node.source = source;
        node.tag = tag;
        node.flags &= !(flag::WILD | flag::ANY_TAG);
        if flags & !(flag::INLINE | flag::REFERS | flag::OWNED) == 0
            && !node.has(flag::LAYOUT | flag::MOUNTED_ONLY)
            && bytes <= node.bytes
        {
            node.bytes = bytes;
            let target = node.buffer;
            if flags & flag::INLINE != 0 {
                self.payloads.put(Payload::Inline(data), target, bytes);
            } else if flags & flag::REFERS != 0 {
                self.payloads.put(Payload::At(buffer), target, bytes);
                self.ranks.mark_varying();
            }
            self.drop_message(message);
            return self.complete(to, receive, arrival);
        }
        self.take_any(to, receive, message);
    }

    /// [`Messages::take`] of anything, into a receive that has its message's envelope.
    // The payload leaves before the message's node is free, and all of it before `meet`, which may wake the
    // receiver or the sender.
    #[inline(never)]
    fn take_any(&mut self, to: u32, receive: u32, message: u32) {
        let from = self.matcher[message];
        self.payloads.hand_over(&from, &mut self.matcher[receive]);
        let Node { arrival, bytes, layout, flags, data, .. } = from;
        let posted_at = self.matcher[receive].arrival;
        let waits = flags & (flag::SYNCHRONOUS | flag::RENDEZVOUS) != 0;
        let transit = Transit {
            arrival,
            flags: flags & (flag::SYNCHRONOUS | flag::RENDEZVOUS | flag::UNDER_WAY),
            request: if waits { data[1] as u32 } else { NIL },
            flight: if flags & flag::UNDER_WAY != 0 { layout } else { NIL },
        };
        self.drop_message(message);
        self.meet(to, receive, posted_at, bytes, transit);
    }

    /// Posts a receive of `rank`, which takes its message if that is there. `blocking` is whether the rank
    /// does nothing else before.
    #[inline]
    pub fn post(&mut self, rank: u32, receive: u32, blocking: bool) {
        let state = &mut self.ranks[rank];
        if let Some(message) = self.matcher.post(rank, &mut state.pending, receive, blocking, state.clock) {
            self.take(rank, receive, message);
        }
    }

    /// Matches the receives of `rank` for any source, which are all that it has posted and alike, with the
    /// messages that arrive before `until`, none before `floor`. Returns when the last one met its message,
    /// or `floor`. Ends when the rank is woken. O(log messages) each.
    pub fn take_alike(&mut self, rank: u32, until: Time, mut floor: Time) -> Time {
        let (runnable, mut taken) = (self.ready.len(), 0);
        let Some(pattern) = self.matcher.first_pattern(&self.ranks[rank].pending) else { return floor };
        while self.ready.len() == runnable
            && let Some((receive, message)) =
                self.matcher.take_alike(&mut self.ranks[rank].pending, &pattern, until)
        {
            taken += 1;
            let node = &mut self.matcher[message];
            floor = floor.max(node.arrival);
            node.arrival = floor;
            self.take(rank, receive, message);
        }
        self.matcher.close_wildcards(rank, &mut self.ranks[rank].pending, &pattern, taken);
        self.matcher.reorder_free();
        floor
    }

    /// Matches named receives of `rank` again after a receive for any source was decided or cancelled at
    /// `time`.
    // In the order of posting, so that the first of two alike has the message.
    pub fn rematch(&mut self, rank: u32, time: Time) {
        for receive in self.matcher.to_rematch(&self.ranks[rank].pending) {
            if let Some(message) = self.matcher.rematch(&mut self.ranks[rank].pending, receive, time) {
                self.take(rank, receive, message);
            }
        }
    }

    /// Returns `true` if an open receive of `rank` for any source could take a message of `pattern`.
    pub fn wildcard_overlaps(&self, rank: u32, pattern: &Pattern) -> bool {
        self.matcher.wildcard_overlaps(rank, &self.ranks[rank].pending, pattern)
    }
}

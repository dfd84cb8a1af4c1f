//! Arrivals of messages, posts of receives, and how the two meet.
//!
//! [`matcher`] decides which meets which. Here payloads move, times follow, and ranks are woken.

use crate::batch::{Operation, Pair};
use crate::completing::CompletionEffect;
use crate::deferred::DeferredMatch;
use crate::envelope::Envelope;
use crate::fabric::{Departure, Fabric};
use crate::faults::Fault;
use crate::flight::Flight;
use crate::messages::Messages;
use crate::moving::{Payload, Payloads};
use crate::node::{NIL, Node, State, flag};
use crate::ranks::strand::StrandId;
use crate::request::{Body, Request};
use crate::transit::Transit;
use crate::waits::Met;
use engine::Time;
use matcher::Matcher;

impl Messages {
    /// Delivers a message to rank `to`: to its posted receive, or the unexpected queue. Its payload is still
    /// where its sender has it.
    // A message is a node even where its receive is posted already. To make and free one costs a few stores,
    // and two paths to a receive cost two places in which times, flags and truncation have to agree. Out of
    // line, because a copy of many bytes costs more than the call.
    #[inline(never)]
    pub(crate) fn deliver(
        &mut self,
        to: u32,
        envelope: Envelope,
        payload: Payload,
        bytes: u64,
        transit: Transit,
    ) {
        let awaited = self.ranks[to].pending.has_posted();
        self.deliver_to(to, &envelope, payload, bytes, &transit, awaited);
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
        let message = self.matcher.alloc(transit.node(envelope, payload, bytes));
        self.watch.note_departure(message);
        if awaited && self.meets_posted(to, message) {
            return;
        }
        if !matches!(payload, Payload::Inline(_) | Payload::None) || transit.flags != 0 {
            stay_unexpected((&mut self.payloads, &mut self.fabric), &mut self.matcher, to, message);
        }
        self.matcher.append_message(to, &mut self.ranks[to].pending, message);
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

    /// Completes a receive and its message, which are together: settles times, wakes who waits.
    // On a shared network the payload is moved at the match, long before the arrival. No one may look at a
    // receive's buffer before it is complete (MPI 5.0 section 3.7.2), so nothing has to be kept for its
    // delivery.
    #[inline]
    pub fn meet(&mut self, to: u32, index: u32, posted_at: Time, bytes: u64, transit: Transit) {
        if transit.flags == 0 {
            self.completing().complete(to, index, transit.arrival);
        } else if transit.flags & flag::UNDER_WAY != 0 {
            self.matcher[index].state = State::InFlight;
            self.fabric
                .redirect(transit.flight, Flight::Received { to, receive: index, posted_at, bytes, transit });
        } else {
            let waits_too = transit.flags & flag::RENDEZVOUS != 0;
            self.watch.note_meeting(
                transit.request,
                index,
                (posted_at, to),
                posted_at > transit.arrival,
                waits_too,
            );
            // Where ranks fail all are deferred: the receiver may fail before.
            let met = transit.arrival.max(posted_at);
            let (node, clock) = (&self.matcher[index], self.ranks[to].clock);
            let defers = self.faults.is_some() || self.requests.may_take_back(&self.fabric, node, met, clock);
            // The sender's clock depends on this match once it is notified. Then the receive cannot give its
            // message back when it is cancelled, unless the match is still deferred.
            self.matcher[index].flags |= flag::TOLD;
            if waits_too && self.fabric.is_shared() {
                self.matcher[index].state = State::InFlight;
                let send = self.requests.matched_send(transit.request);
                return self.departures().clear_to_send((to, index), met, bytes, send);
            }
            let arrival = if defers {
                self.matcher.mark_dirty(to, &mut self.ranks[to].pending);
                let (node, deferred) = (&self.matcher[index], DeferredMatch { posted_at, bytes, transit });
                self.requests.defer_match(&self.fabric, to, (index, node), deferred)
            } else {
                self.handshake(to, posted_at, bytes, transit)
            };
            self.completing().complete(to, index, arrival);
        }
    }

    /// Completes the handshake of a synchronous or rendezvous message at its match. Returns the payload's
    /// arrival.
    ///
    /// A synchronous send completes at the match plus the latency of an empty message back. Above the eager
    /// limit the payload leaves when that empty message (clear to send) is back.
    pub fn handshake(&mut self, to: u32, posted_at: Time, bytes: u64, transit: Transit) -> Time {
        let met = transit.arrival.max(posted_at);
        let sender = self.requests[transit.request].owner;
        if self.fabric.is_shared() {
            self.departures().launch(
                Departure::Acknowledgement,
                to,
                sender,
                (0, met),
                Flight::Acknowledgement { request: transit.request },
            );
            return transit.arrival;
        }
        let arrival = self.fabric.payload_arrival(&self.requests, to, met, bytes, transit);
        self.finish_request(transit.request, met + self.fabric.latency(to, sender, 0));
        arrival
    }

    /// Completes a table request at `at`, and wakes its owner if it waits for it.
    pub fn finish_request(&mut self, index: u32, at: Time) {
        match self.completing().finish_request(index, at) {
            CompletionEffect::None => {}
            CompletionEffect::Gone => {
                if let Some(faults) = &mut self.faults {
                    faults.forget_send(index);
                }
            }
            CompletionEffect::Away { process, request, receive } => {
                if self.faults.is_some() && process == self.peers.own_number() {
                    return self.finish_send(request, at, receive);
                }
                self.peers.send_matched(process, request, at, receive);
            }
        }
    }

    /// Completes a send at `at`, by its request or, where ranks can fail, its ticket.
    pub fn finish_send(&mut self, request: u32, at: Time, met: Met) {
        let request = self.faults.as_mut().map_or(Some(request), |faults| faults.redeem(request));
        let Some(request) = request else { return };
        self.watch.note_met(request, met);
        self.finish_request(request, at);
    }

    /// Ends a send that waits for its match and will not have one.
    pub fn fail_send(&mut self, request: u32, fault: Fault) {
        if let Some(Request { body: Body::Away { process, request: ticket, .. }, .. }) =
            self.requests.get(request)
        {
            let (process, ticket) = (*process, *ticket);
            self.requests.remove(request);
            if process != self.peers.own_number() {
                return self.peers.send_vain(process, ticket, fault);
            }
            let request = self.faults.as_mut().and_then(|faults| faults.redeem(ticket));
            return request.into_iter().for_each(|request| self.fail_send(request, fault));
        }
        let context = self.faults.as_mut().and_then(|faults| faults.void_send(request));
        self.finish_request(request, fault.known);
        // One that no rank will ask for is gone now.
        if let (Some(faults), Some(_)) = (&mut self.faults, self.requests.get(request)) {
            faults.keep_failed_send(request, context, fault);
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
            self.ready.wake(StrandId::of(sender));
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
            self.matcher.drop_message(message);
            return self.completing().complete(to, receive, arrival);
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
        self.matcher.drop_message(message);
        self.meet(to, receive, posted_at, bytes, transit);
    }

    /// Adds a send or a receive of the mounted rank to the batch.
    #[inline(always)]
    pub(crate) fn add_to_batch(&mut self, operation: Operation) {
        if self.batch.add(&mut self.ranks, &self.matcher, operation) {
            self.flush_batch();
        }
    }

    /// Does what is in the batch. Its rank must be mounted.
    #[inline(always)]
    pub fn flush_batch(&mut self) {
        if !self.batch.is_empty() {
            self.do_batch();
        }
    }

    // First all searches, then all payloads.
    #[inline(never)]
    fn do_batch(&mut self) {
        let matched =
            self.batch.match_all(&mut self.ranks, &mut self.matcher, (&mut self.payloads, &mut self.fabric));
        for at in 0..matched.met {
            if at + 1 < matched.met {
                self.batch.pairs[at + 1].prefetch_payload(&self.matcher);
            }
            let Pair { to, receive, message } = self.batch.pairs[at];
            self.take(to, receive, message);
        }
        if matched.was_full() {
            self.matcher.reorder_free();
        }
        if self.ranks.strand_mut().counts_burst(matched.sent) {
            let receivers = self.batch.receivers();
            self.ranks.end_burst(&self.matcher, &receivers[..matched.count]);
        }
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
}

/// Secures a message that no receive has taken: its payload, and its way through a shared network.
#[inline(never)]
pub(crate) fn stay_unexpected(
    (payloads, fabric): (&mut Payloads, &mut Fabric),
    matcher: &mut Matcher,
    to: u32,
    message: u32,
) {
    let node = &mut matcher[message];
    payloads.settle(node);
    fabric.note_unexpected(node, to, message);
}

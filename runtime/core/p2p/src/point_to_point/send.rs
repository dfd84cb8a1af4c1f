//! Sends: from the program's buffer to the receiver's queue, and when their sender has to wait.

use crate::batch::{Batching, Operation};
use crate::departures::Departures;
use crate::envelope::Envelope;
use crate::error::Result;
use crate::fabric::Departure;
use crate::faults::Fault;
use crate::faults::failures::FailureNotices;
use crate::flight::Flight;
use crate::handle::{self, REQUEST_SENT};
use crate::messages::Messages;
use crate::moving::Payload;
use crate::node::{INLINE_BYTES, NIL, flag};
use crate::plain::{Stretch, plain_stretch};
use crate::point_to_point::{Buffer, Peer, SendMode, bad_tag};
use crate::reference::REFERRED;
use crate::request::{Body, PROC_NULL};
use crate::transit::Transit;
use crate::view::BufferView;
use engine::Time;
use objects::Objects;
use rank::Addr;
use rank::memory::load_short;

impl Messages {
    /// Sends: answers the request's handle, [`REQUEST_SENT`] if there is nothing to wait for.
    ///
    /// If `batching` allows it, the send joins the batch (`batch.rs`).
    // Two functions, tried in turn: what is inlined into each call is the plain one alone.
    #[inline(always)]
    pub fn start_send(
        &mut self,
        objects: &Objects,
        mode: SendMode,
        buffer: Buffer,
        to: Peer,
        batching: Batching,
    ) -> Result<usize> {
        match self.send_plain::<false>(objects, mode, buffer, to, batching) {
            Some(request) => Ok(request),
            None => {
                self.start_any_send(objects, mode, batching, buffer.0, buffer.1, buffer.2, to.0, to.1, to.2)
            }
        }
    }

    /// [`Messages::send_plain`] while a recorder subscribed to it, and where nothing else is in its way.
    // Findings and profiles are asked for with programs that send most messages plainly, too. Out of line,
    // and its arguments one by one: what is inlined into each call is the plain path alone.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn send_noted(
        &mut self,
        objects: &Objects,
        mode: SendMode,
        batching: Batching,
        buffer: Addr,
        count: i64,
        datatype: usize,
        destination: i32,
        tag: i32,
        comm: usize,
    ) -> Option<usize> {
        let is_closed = !self.watch.is_noted() || self.watch.counts_sends() || self.faults.is_some();
        if is_closed || !self.fabric.wire().is_straight() {
            return None;
        }
        let (buffer, to) = ((buffer, count, datatype), (destination, tag, comm));
        self.send_plain::<true>(objects, mode, buffer, to, batching)
    }

    /// Sends a plain message. Returns the request's handle; `None`, with nothing done, if it is not plain.
    ///
    /// With `NOTED` a recorder subscribed to it, and nothing else is in its way ([`Messages::send_noted`]).
    // Cheap questions first, and nothing is changed before the last of them: what is not plain starts over on
    // the general path, which alone has the errors.
    #[inline(always)]
    pub fn send_plain<const NOTED: bool>(
        &mut self,
        objects: &Objects,
        mode: SendMode,
        buffer: Buffer,
        (destination, tag, comm): Peer,
        batching: Batching,
    ) -> Option<usize> {
        if !NOTED && !self.fabric.sends_plainly() {
            return None;
        }
        if tag < 0 || !matches!(mode, SendMode::Standard | SendMode::Ready) {
            return None;
        }
        let Stretch { buffer: at, bytes } =
            plain_stretch(objects, buffer, NOTED || self.payloads.are_carried())?;
        let (context, source, to) = objects.comms.known_partner(comm, destination)?;
        if !self.ranks.is_local(to) {
            return None;
        }
        let envelope = Envelope::new(context, source, tag);
        let me = self.ranks.me();
        let batched = batching.holds(bytes) && !at.is_null();
        let state = &mut self.ranks[me];
        let clock = state.clock;
        // A batch counts its messages itself.
        let many = state.strand.counts_burst(u16::from(!batched));
        let arrival = clock + self.fabric.latency(me, to, bytes);
        self.ranks.profile_mut().message(bytes);
        if NOTED {
            self.watch.note_sending((me, clock), to, bytes);
            self.watch.note_sent_type(&self.ranks, objects, buffer);
        }
        if batched {
            let stays = batching == Batching::UntilComplete;
            return Some(self.batch_send::<NOTED>(to, envelope, (at, bytes), Transit::at(arrival), stays));
        }
        // What the rank started before comes before: messages of one sender must not overtake (MPI 5.0
        // section 3.5).
        self.flush_batch();
        if bytes <= INLINE_BYTES || at.is_null() {
            let payload = if at.is_null() && bytes > 0 {
                Payload::None
            } else {
                Payload::Inline(load_short(at, bytes as usize))
            };
            let pending = &mut self.ranks[to].pending;
            // None is taken out of the queue where no blocked receive takes the message.
            let awaited = pending.has_posted();
            let blocked = if !NOTED && awaited {
                self.payloads.give_blocked((&mut self.matcher, pending), &envelope, payload, bytes)
            } else {
                None
            };
            match blocked {
                Some(receive) => self.completing().complete(to, receive, arrival),
                None => self.deliver_to(to, &envelope, payload, bytes, &Transit::at(arrival), awaited),
            }
            self.ranks.mark_brief();
        } else {
            self.deliver(to, envelope, Payload::At(at), bytes, Transit::at(arrival));
        }
        if many {
            self.ranks.end_burst(&self.matcher, &[to]);
        }
        if NOTED {
            self.watch.forget_sent_type();
        }
        Some(handle::REQUEST_SENT)
    }

    /// [`Messages::start_send`] of anything.
    // The arguments one by one: for a tuple, the plain path would have to put them into memory.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn start_any_send(
        &mut self,
        objects: &Objects,
        mode: SendMode,
        batching: Batching,
        buffer: Addr,
        count: i64,
        datatype: usize,
        destination: i32,
        tag: i32,
        comm: usize,
    ) -> Result<usize> {
        let (me, buffer) = (self.ranks.me(), (buffer, count, datatype));
        if self.watch.is_noted()
            && let Some(request) =
                self.send_noted(objects, mode, batching, buffer.0, count, datatype, destination, tag, comm)
        {
            return Ok(request);
        }
        if destination == PROC_NULL {
            objects.comms.get(comm)?;
        }
        if tag < 0 {
            return Err(bad_tag(tag, false));
        }
        if destination == PROC_NULL {
            return Ok(REQUEST_SENT);
        }
        // All that can be wrong is found before anything is charged or counted: a call that fails has not
        // happened.
        let (context, source, to) = objects.comms.partner(comm, destination, "destination")?;
        let envelope = Envelope::new(context, source, tag);
        let payload = self.payloads.view(me, objects, buffer)?;
        if let Some(faults) = &self.faults
            && let Some(fault) = faults.may_send(me, context, to)?
        {
            return Ok(self.send_in_vain(context, fault));
        }
        let (mut transit, request) = self.start_transit(objects, mode, to, payload.bytes, comm)?;
        if self.faults.is_some() && transit.request != NIL {
            let mut failures = FailureNotices {
                faults: self.faults.as_deref_mut(),
                ranks: &mut self.ranks,
                matcher: &mut self.matcher,
            };
            let listed = (&mut self.requests, &self.peers);
            transit.request = failures.list_send(listed, transit.request, context, to);
        }
        self.ranks.profile_mut().message(payload.bytes);
        self.watch.note_sending((me, self.ranks.clock(me)), to, payload.bytes);
        if self.watch.is_noted() {
            self.watch.note_sent_type(&self.ranks, objects, buffer);
        }
        let local = self.ranks.is_local(to);
        let stays = payload.layout.is_none() && payload.has_memory() && batching.holds(payload.bytes);
        if stays
            && local
            && transit.flags & !flag::UNDER_WAY == 0
            && mode != SendMode::Buffered
            && self.faults.is_none()
        {
            let (content, stays) = ((payload.buffer, payload.bytes), batching == Batching::UntilComplete);
            return Ok(match self.watch.is_noted() {
                true => self.batch_send::<true>(to, envelope, content, transit, stays),
                false => self.batch_send::<false>(to, envelope, content, transit, stays),
            });
        }
        self.flush_batch();
        // What is sent before the failure is known costs its sender what any message does, whether the
        // failure is decided by then or not.
        if let Some(fault) = self.faults.as_ref().and_then(|faults| faults.fault_of_rank(to)) {
            if transit.request != NIL {
                self.fail_send(transit.request, fault);
            }
            if self.watch.is_noted() {
                self.watch.forget_sent_type();
            }
            return Ok(request);
        }
        if local {
            let bytes = payload.bytes;
            let payload = self.payloads.load(&payload, transit.flags);
            self.deliver(to, envelope, payload, bytes, transit);
            if self.ranks.strand_mut().counts_burst(1) {
                self.ranks.end_burst(&self.matcher, &[to]);
            }
        } else {
            let ticket = self.faults.as_ref().map(|faults| faults.ticket(transit.request));
            let carried = self.payloads.are_carried();
            let mut departures =
                Departures { ranks: &mut self.ranks, fabric: &mut self.fabric, peers: &mut self.peers };
            departures.send_away(&self.watch, (to, envelope), (&payload, carried), transit, ticket);
        }
        if self.watch.is_noted() {
            self.watch.forget_sent_type();
        }
        Ok(request)
    }

    /// Makes the request of a send of the mounted rank that has failed already, as it is known that its
    /// receiver has. Returns its handle.
    #[cold]
    fn send_in_vain(&mut self, context: u32, fault: Fault) -> usize {
        let (me, begun) = (self.ranks.me(), self.ranks.clock(self.ranks.me()));
        self.fabric.expect_handshakes();
        let request = self.requests.make(me, Body::Synchronous { sequence: 0 });
        if let Some(faults) = &mut self.faults {
            faults.list_vain(request, me, context, begun);
        }
        self.fail_send(request, fault);
        handle::of_cold(request)
    }

    /// Adds a send to the batch. Returns its request's handle.
    ///
    /// With `NOTED` a recorder subscribed to it. Without `stays` the buffer may change after the call, so
    /// that the payload must fit in a node.
    // The node is made at once, so that the program may end up with its handle; what it meets is found later.
    // On a shared network no request refers to it: when its payload is moved says nothing of when it has
    // left.
    #[inline(always)]
    pub(crate) fn batch_send<const NOTED: bool>(
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
        let node = self.matcher.alloc(Transit { flags, ..transit }.node(&message, payload, bytes));
        if NOTED {
            self.watch.note_departure(node);
            self.watch.forget_sent_type();
        }
        self.add_to_batch(Operation { node, to });
        if owned { handle::of_node(node) } else { REQUEST_SENT }
    }

    /// Returns how a message travels, and its sender's request.
    // A buffered send claims room and gives it back at once, because its message leaves at once. A ready send
    // never waits for the match above the eager limit: the receive is posted, as its caller vouched.
    fn start_transit(
        &mut self,
        objects: &Objects,
        mode: SendMode,
        to: u32,
        bytes: u64,
        comm: usize,
    ) -> Result<(Transit, usize)> {
        let me = self.ranks.me();
        if mode == SendMode::Buffered {
            self.requests.claim_buffer(objects, me, comm, bytes)?;
        }
        let at = self.ranks.inject(self.fabric.wire(), me);
        let mut transit = Transit::at(Time::MAX);
        let mut request = REQUEST_SENT;
        let rendezvous = mode == SendMode::Standard
            && self.fabric.wire().overheads.eager_limit.is_some_and(|limit| bytes > limit);
        // Above the eager limit what travels now is a request to send, which is empty.
        let sent = if rendezvous { 0 } else { bytes };
        // A message to another process is launched by that, when it knows of it.
        let leaves = (self.fabric.is_shared() && self.ranks.is_local(to))
            .then(|| self.fabric.next_key(me, to, at, Departure::Own));
        if rendezvous || mode == SendMode::Synchronous {
            transit.flags = if rendezvous { flag::RENDEZVOUS } else { flag::SYNCHRONOUS };
            self.fabric.expect_handshakes();
            transit.request = {
                let sequence = leaves.map_or(0, |key| key.sequence);
                self.requests.make(me, Body::Synchronous { sequence })
            };
            request = handle::of_cold(transit.request);
        }
        if self.fabric.is_shared() {
            transit.flags |= flag::UNDER_WAY;
            match leaves {
                Some(key) => {
                    transit.flight = self.departures().launch_as(key, to, sent, Flight::Leaving);
                }
                // Until the other process has launched it this is when it leaves.
                None => transit.arrival = at,
            }
        } else {
            transit.arrival = at + self.fabric.latency(me, to, sent);
        }
        Ok((transit, request))
    }
}

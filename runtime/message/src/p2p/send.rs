//! Sends: from the program's buffer to the receiver's queue, and when their sender has to wait.

use crate::batch::Batching;
use crate::envelope::Envelope;
use crate::error::Result;
use crate::fabric::Departure;
use crate::flight::Flight;
use crate::handle::{self, REQUEST_SENT};
use crate::messages::Messages;
use crate::node::{NIL, flag};
use crate::p2p::{Buffer, Peer, SendMode, bad_tag};
use crate::request::{Body, PROC_NULL};
use crate::transit::Transit;
use engine::Time;
use objects::Objects;
use rank::Addr;

impl Messages {
    /// Charges the sender's overhead and gap: when the message leaves.
    pub fn inject(&mut self, me: u32) -> Time {
        if !self.fabric.wire().has_overheads {
            return self.ranks[me].clock;
        }
        let state = &mut self.ranks[me];
        state.clock = self.fabric.wire().overheads.leave(&mut state.nic_free, state.clock);
        state.clock
    }

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
        match self.send_plain(objects, mode, buffer, to, batching) {
            Some(request) => Ok(request),
            None => {
                self.start_any_send(objects, mode, batching, buffer.0, buffer.1, buffer.2, to.0, to.1, to.2)
            }
        }
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
        let buffer = (buffer, count, datatype);
        if self.watch.is_noted()
            && let Some(request) = self.send_noted(objects, mode, buffer, (destination, tag, comm), batching)
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
        let payload = self.payload(objects, buffer)?;
        if self.faults.is_some()
            && let Some(request) = self.send_in_vain(context, to)?
        {
            return Ok(request);
        }
        let (mut transit, request) = self.start_transit(objects, mode, to, payload.bytes, comm)?;
        if self.faults.is_some() && transit.request != NIL {
            transit.request = self.list_send(transit.request, context, to);
        }
        self.ranks.profile_mut().message(payload.bytes);
        self.note_sending(to, payload.bytes);
        if self.watch.is_noted() {
            self.watch.note_sent_type(&self.ranks, objects, buffer);
        }
        let local = self.is_local(to);
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
        if self.is_lost(to, transit.request) {
            if self.watch.is_noted() {
                self.watch.forget_sent_type();
            }
            return Ok(request);
        }
        if local {
            let bytes = payload.bytes;
            let payload = self.payloads.load(&payload, transit.flags);
            self.deliver(to, &envelope, payload, bytes, &transit);
            self.count_burst(&[to], 1);
        } else {
            self.send_away(to, envelope, &payload, transit);
        }
        if self.watch.is_noted() {
            self.watch.forget_sent_type();
        }
        Ok(request)
    }

    /// Returns how a message travels, and its sender's request.
    // A buffered send claims room and gives it back at once, because its message leaves at once. A ready send
    // never waits for the match above the eager limit: the receive is posted, as its caller vouched. A shared
    // network has no eager limit (docs/limitations.md).
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
            self.claim_buffer(objects, me, comm, bytes)?;
        }
        // The receives before it may tell senders of their match, by messages that enter a shared network
        // before this one.
        if self.fabric.is_shared() && self.batch.ends_with_receive() {
            self.flush_batch();
        }
        let at = self.inject(me);
        let mut transit = Transit::at(Time::MAX);
        let mut request = REQUEST_SENT;
        let rendezvous = mode == SendMode::Standard
            && self.fabric.wire().overheads.eager_limit.is_some_and(|limit| bytes > limit)
            && !self.fabric.is_shared();
        if rendezvous || mode == SendMode::Synchronous {
            transit.flags = if rendezvous { flag::RENDEZVOUS } else { flag::SYNCHRONOUS };
            transit.request = self.make_request(me, Body::Synchronous);
            request = handle::of_cold(transit.request);
        }
        if self.fabric.is_shared() {
            transit.flags |= flag::UNDER_WAY;
            // A message to another process is launched by that, when it knows of it; until then this is when
            // it leaves.
            match self.is_local(to) {
                true => transit.flight = self.launch(Departure::Own, me, to, (bytes, at), Flight::Leaving),
                false => transit.arrival = at,
            }
        } else {
            // Above the eager limit what travels now is a request to send, which is empty.
            transit.arrival = at + self.fabric.latency(me, to, if rendezvous { 0 } else { bytes });
        }
        Ok((transit, request))
    }

    /// Returns `true` if the mounted rank's sends may have to let others run: too much waits for other
    /// processes, or it has sent many in a row.
    #[inline(always)]
    pub fn lets_others_run(&self) -> bool {
        self.peers.are_crowded() || self.ranks.is_far_ahead()
    }

    /// The mounted rank, which is to block now, goes on after others: too much waits for other processes or
    /// for its receivers.
    #[cold]
    pub fn step_back(&mut self) {
        self.flush_batch();
        let (me, clock) = (self.ranks.me(), self.clock(self.ranks.me()));
        self.ready.lag(me, clock);
    }
}

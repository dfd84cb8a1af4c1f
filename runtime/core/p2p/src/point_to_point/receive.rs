//! Receives: posting, what their message does to their buffer, and the calls that do both.

use crate::batch::{Batching, Operation};
use crate::envelope::Pattern;
use crate::error::{ErrorClass, Failure, Result};
use crate::handle::{self};
use crate::messages::Messages;
use crate::moving::Payloads;
use crate::node::{NIL, Node, State, flag};
use crate::plain::{Stretch, plain_receive, plain_wild_receive};
use crate::point_to_point::pattern;
use crate::point_to_point::{Buffer, Peer};
use crate::request::{ANY_TAG, PROC_NULL, Status};
use crate::view::BufferView;
use engine::Time;
use objects::Objects;
use objects::error::FailureScope;
use rank::Addr;
impl Messages {
    /// Begins a plain receive that the mounted rank waits for. Returns the node of a message to come; [`NIL`]
    /// if it has come, and its status is [`Requests::latest`](crate::request::Requests::latest). `None`, with
    /// nothing done, if it is not plain.
    // If the message has come, no receive is ever made: it goes from its node to the buffer. With a receive
    // for any source open, the message may be that one's: the general way finds out.
    #[inline(always)]
    pub fn receive_plain(&mut self, objects: &Objects, buffer: Buffer, from: Peer) -> Option<u32> {
        let (Stretch { buffer, bytes: room }, envelope) =
            plain_receive(objects, buffer, from, self.payloads.are_carried())?;
        let state = self.ranks.mounted();
        if state.pending.wildcards() != 0 || !self.requests.receives_plainly() {
            return None;
        }
        let Some((index, place)) = self.matcher.find_exact(&state.pending, &envelope) else {
            // Nothing has come, and what comes next is what the rank waits for.
            let stretch = Stretch { buffer, bytes: room };
            let node = self.payloads.plain_receive(&envelope, stretch, flag::WAITED, state.clock);
            let index = self.matcher.alloc(node);
            state.strand.block(1);
            self.matcher.append_receive(&mut state.pending, index);
            return Some(index);
        };
        let (arrival, bytes) = self.payloads.receive_at_once(
            (&mut self.matcher, &mut state.pending),
            (index, place),
            (buffer, room),
        )?;
        self.requests.set_latest(Status {
            source: envelope.source as i32,
            tag: envelope.tag,
            error: 0,
            bytes,
            cancelled: false,
        });
        self.completing().received(arrival, index, (bytes, envelope.tag));
        Some(NIL)
    }

    /// Ends a receive, whose status is then [`Requests::latest`](crate::request::Requests::latest), or marks
    /// that the mounted rank waits for it: answers its node then.
    #[inline(always)]
    pub fn complete_or_wait(&mut self, index: u32) -> Result<Option<u32>> {
        // The rank waits for nothing else, so that setting `waiting` needs no counting.
        if self.matcher[index].state == State::Matched {
            if let Some(faults) = &mut self.faults {
                faults.end_pending(index);
            }
            let status = self.finish_receive(index)?;
            self.requests.set_latest(status);
            return Ok(None);
        }
        self.matcher[index].flags |= flag::WAITED;
        self.ranks.strand_mut().block(1);
        Ok(Some(index))
    }

    /// Posts a receive, or holds it: answers its node.
    #[inline(always)]
    pub fn start_receive(
        &mut self,
        objects: &Objects,
        buffer: Buffer,
        from: Peer,
        batching: Batching,
    ) -> Result<u32> {
        match self.start_plain_receive::<false>(objects, buffer, from, batching) {
            Some(index) => Ok(index),
            None => self
                .start_any_receive(objects, batching, buffer.0, buffer.1, buffer.2, from.0, from.1, from.2),
        }
    }

    /// [`Messages::start_plain_receive`] while a recorder subscribed to its type, and no rank can fail.
    // As `send_noted`.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn start_noted_receive(
        &mut self,
        objects: &Objects,
        batching: Batching,
        buffer: Addr,
        count: i64,
        datatype: usize,
        source: i32,
        tag: i32,
        comm: usize,
    ) -> Option<u32> {
        if !self.watch.is_noted() || self.faults.is_some() {
            return None;
        }
        self.ranks.end_interval();
        let (buffer, from) = ((buffer, count, datatype), (source, tag, comm));
        self.start_plain_receive::<true>(objects, buffer, from, batching)
    }

    /// Posts a plain receive, or adds it to the batch. Returns its node; `None`, with nothing done, if it is
    /// not plain.
    ///
    /// With `NOTED` a recorder subscribed to its type ([`Messages::start_noted_receive`]).
    #[inline(always)]
    pub fn start_plain_receive<const NOTED: bool>(
        &mut self,
        objects: &Objects,
        buffer: Buffer,
        from: Peer,
        batching: Batching,
    ) -> Option<u32> {
        if !NOTED && !self.requests.receives_plainly() {
            return None;
        }
        let (stretch, envelope) = plain_receive(objects, buffer, from, NOTED || self.payloads.are_carried())?;
        let posted = self.ranks.mounted().clock;
        let index = self.matcher.alloc(self.payloads.plain_receive(&envelope, stretch, 0, posted));
        if NOTED {
            self.watch.note_received_type(&self.ranks, objects, index, buffer);
        }
        if batching == Batching::UntilComplete {
            self.add_to_batch(Operation::receive(index));
        } else {
            self.flush_batch();
            self.post(self.ranks.me(), index, batching == Batching::Never);
        }
        Some(index)
    }

    /// [`Messages::start_receive`] of anything.
    // The arguments one by one, as of `start_any_send`.
    // Computation ends before the receive is posted: its time of posting is seen by who waits for the match.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn start_any_receive(
        &mut self,
        objects: &Objects,
        batching: Batching,
        buffer: Addr,
        count: i64,
        datatype: usize,
        source: i32,
        tag: i32,
        comm: usize,
    ) -> Result<u32> {
        self.ranks.end_interval();
        if self.watch.is_noted()
            && let Some(index) =
                self.start_noted_receive(objects, batching, buffer, count, datatype, source, tag, comm)
        {
            return Ok(index);
        }
        let (from, carried) = ((source, tag, comm), self.payloads.are_carried());
        if self.requests.receives_plainly()
            && let Some((stretch, envelope)) =
                plain_wild_receive(objects, (buffer, count, datatype), from, carried)
        {
            // At once: whether it can take a message now depends on what is safe now.
            let (me, posted) = (self.ranks.me(), self.ranks.clock(self.ranks.me()));
            let node = self.payloads.plain_receive(&envelope, stretch, flag::WILD, posted);
            let index = self.matcher.alloc(node);
            self.flush_batch();
            self.post(me, index, batching == Batching::Never);
            return Ok(index);
        }
        let Some(pattern) = pattern(objects, (source, tag, comm))? else {
            // Complete at time zero, which moves no clock (MPI 5.0 section 3.11).
            let mut node =
                Node { state: State::Matched, source: PROC_NULL as u32, tag: ANY_TAG, ..Node::default() };
            node.arrival = Time::ZERO;
            return Ok(self.matcher.alloc(node));
        };
        let view = self.payloads.view(self.ranks.me(), objects, (buffer, count, datatype))?;
        if let Some(faults) = &self.faults {
            faults.may_communicate(self.ranks.me(), pattern.context)?;
        }
        let node = self.payloads.receive_node(&pattern, view, self.ranks.clock(self.ranks.me()));
        let index = self.matcher.alloc(node);
        if self.watch.is_noted() {
            self.watch.note_received_type(&self.ranks, objects, index, (buffer, count, datatype));
        }
        // One for any source is posted at once: whether it can take a message now depends on what is safe
        // now.
        if batching == Batching::UntilComplete && pattern.source.is_some() && self.faults.is_none() {
            self.add_to_batch(Operation::receive(index));
            return Ok(index);
        }
        self.flush_batch();
        if self.faults.is_some() {
            let (me, clock) = (self.ranks.me(), self.ranks.clock(self.ranks.me()));
            self.failures().list_receive(me, index, clock);
        }
        self.post(self.ranks.me(), index, batching == Batching::Never);
        if self.faults.is_some() {
            self.failures().look_at_posted(objects, index);
        }
        Ok(index)
    }

    /// Receives the message of a matched probe: answers the receive's node.
    // The match was made by the probe, so that the receive is never posted and order has no say (MPI 5.0
    // section 3.8.2).
    pub fn start_matched_receive(
        &mut self,
        objects: &Objects,
        buffer: Buffer,
        message: usize,
    ) -> Result<u32> {
        if message == handle::MESSAGE_NO_PROC {
            return self.start_receive(
                objects,
                buffer,
                (PROC_NULL, ANY_TAG, handle::COMM_WORLD),
                Batching::Never,
            );
        }
        let found = handle::decode(message)
            .filter(|&index| self.matcher.get(index).is_some_and(|node| node.state == State::Extracted));
        let Some(index) = found else {
            return Err(Failure::new(
                ErrorClass::REQUEST,
                format!(
                    "message handle {message:#x} does not name a message of a matched probe: it was received \
                     already or never made"
                ),
            ));
        };
        let view = self.payloads.view(self.ranks.me(), objects, buffer)?;
        let from = self.matcher[index];
        let pattern = Pattern { context: from.context, source: Some(from.source), tag: Some(from.tag) };
        let node = self.payloads.receive_node(&pattern, view, self.ranks.clock(self.ranks.me()));
        let receive = self.matcher.alloc(node);
        if self.watch.is_noted() {
            self.watch.note_received_type(&self.ranks, objects, receive, buffer);
        }
        if self.faults.is_some() {
            let (me, clock) = (self.ranks.me(), self.ranks.clock(self.ranks.me()));
            self.failures().unlist_receive(index);
            self.failures().list_receive(me, receive, clock);
        }
        self.take(self.ranks.me(), receive, index);
        if self.faults.is_some() {
            self.failures().look_at_posted(objects, receive);
        }
        Ok(receive)
    }

    /// A complete receive of the mounted rank, or its send that is its message: moves the payload, frees the
    /// node.
    // Always, so that the status need not pass through memory (see `Nodes::alloc`).
    #[inline(always)]
    pub fn finish_receive(&mut self, index: u32) -> Result<Status> {
        match self.completing().finish_plain_receive(index) {
            Some(status) => Ok(status),
            None => self.finish_receive_slow(index),
        }
    }

    /// [`Messages::finish_receive`] where more is to do than to take the status.
    // Also for what never had a message (cancelled, from `MPI_PROC_NULL`): those have no payload flags, and
    // move no clock.
    #[inline(never)]
    pub fn finish_receive_slow(&mut self, index: u32) -> Result<Status> {
        let node = self.matcher[index];
        if node.has(flag::OWNED) {
            self.payloads.disown(&mut self.matcher[index]);
            return Ok(Status::EMPTY);
        }
        if self.faults.is_some()
            && let Some(failure) = self.finish_failed(index)
        {
            return Err(failure.within(FailureScope::Context(node.context)));
        }
        if node.flags & (flag::INLINE | flag::POOLED) != 0 {
            let view = self.payloads.receive_view(&node);
            self.payloads.unload(&node, &view);
        }
        if node.has(flag::LAYOUT) {
            self.payloads.drop_layout(node.layout);
        }
        if node.has(flag::LISTED) {
            self.requests.receive_ended(self.ranks.me(), index);
            self.failures().unlist_receive(index);
        }
        self.matcher.free(index);
        if node.state == State::Cancelled {
            return Ok(Status { cancelled: true, ..Status::EMPTY });
        }
        if node.source == PROC_NULL as u32 {
            return Ok(Status::PROC_NULL);
        }
        self.completing().received(node.arrival, index, (node.bytes, node.tag));
        if node.has(flag::TRUNCATED) {
            return Err(truncated(&node));
        }
        Ok(Status {
            source: node.source as i32,
            tag: node.tag,
            error: 0,
            bytes: node.bytes,
            cancelled: false,
        })
    }

    /// Ends a receive of the mounted rank that has failed, if this is one. One for any source goes on, as its
    /// request does (MPI's fault tolerance, section 17.2 of the proposal).
    #[cold]
    fn finish_failed(&mut self, receive: u32) -> Option<Box<Failure>> {
        let me = self.ranks.me();
        let fault = self.faults.as_mut()?.take_failed_receive(me, receive)?;
        let node = self.matcher[receive];
        self.ranks.advance(me, node.arrival);
        if fault.class == ErrorClass::PROC_FAILED_PENDING {
            self.failures().resume(receive);
            self.post(me, receive, false);
        } else {
            if node.has(flag::LAYOUT) {
                self.payloads.drop_layout(node.layout);
            }
            self.failures().unlist_receive(receive);
            self.matcher.free(receive);
        }
        // The program never sees the error of a request that it has freed, whenever that is found.
        Some(if node.has(flag::ORPHAN) { fault.failure() } else { self.failures().tell_failure(fault) })
    }
}

impl Payloads {
    /// Returns the node of a receive that is posted at `posted`.
    // `arrival` is the time of posting until the match: a synchronous sender completes at the later of the
    // two.
    #[inline(always)]
    fn receive_node(&mut self, pattern: &Pattern, view: BufferView, posted: Time) -> Node {
        let mut flags = 0;
        let mut layout = NIL;
        if pattern.source.is_none() {
            flags |= flag::WILD;
        }
        if pattern.tag.is_none() {
            flags |= flag::ANY_TAG;
        }
        if let Some(shape) = view.layout {
            flags |= flag::LAYOUT;
            layout = self.keep_layout(shape);
        } else if self.are_carried() && !rank::is_addressable_unmounted(view.buffer, view.bytes as usize) {
            flags |= flag::MOUNTED_ONLY;
        }
        Node {
            context: pattern.context,
            tag: pattern.tag.unwrap_or(ANY_TAG),
            source: pattern.source.unwrap_or(u32::MAX),
            key: crate::queue::key(pattern),
            arrival: posted,
            bytes: view.bytes,
            buffer: view.buffer,
            layout,
            flags,
            state: State::Posted,
            data: [0; 2],
        }
    }
}

/// Returns the error of a receive whose message is too long.
#[cold]
fn truncated(node: &Node) -> Box<Failure> {
    Failure::new(
        ErrorClass::TRUNCATE,
        format!(
            "the message from rank {} with tag {} has {} bytes, the receive buffer only {}: receive with a \
             larger count",
            node.source as i32, node.tag, node.data[1], node.bytes
        ),
    )
    .within(FailureScope::Context(node.context))
}

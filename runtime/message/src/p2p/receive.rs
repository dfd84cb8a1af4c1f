//! Receives: posting, what their message does to their buffer, and the calls that do both.

use crate::batch::Batching;
use crate::envelope::Pattern;
use crate::error::{ErrorClass, Failure, Result};
use crate::handle::{self};
use crate::messages::Messages;
use crate::node::{NIL, Node, State, flag};
use crate::p2p::pattern;
use crate::p2p::{Buffer, Peer};
use crate::request::{ANY_TAG, PROC_NULL, Status};
use crate::view::BufferView;
use engine::Time;
use objects::Objects;
use objects::error::FailureScope;
use rank::Addr;
impl Messages {
    /// A posted receive's node, not yet in any queue.
    // `arrival` is the time of posting until the match: a synchronous sender completes at the later of the
    // two.
    #[inline(always)]
    fn receive_node_for(&mut self, pattern: &Pattern, view: BufferView) -> Node {
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
            layout = self.payloads.keep_layout(shape);
        } else if self.payloads.are_carried()
            && !rank::is_addressable_unmounted(view.buffer, view.bytes as usize)
        {
            flags |= flag::MOUNTED_ONLY;
        }
        Node {
            context: pattern.context,
            tag: pattern.tag.unwrap_or(ANY_TAG),
            source: pattern.source.unwrap_or(u32::MAX),
            key: crate::queue::key(pattern),
            arrival: self.ranks[self.ranks.me()].clock,
            bytes: view.bytes,
            buffer: view.buffer,
            layout,
            flags,
            state: State::Posted,
            data: [0; 2],
        }
    }

    /// Begins a receive that the mounted rank waits for: answers the node of a message to come; [`NIL`] if it
    /// has come, and its status is [`Requests::latest`](crate::request::Requests::latest).
    #[inline(always)]
    pub fn begin_receive(&mut self, objects: &Objects, buffer: Buffer, from: Peer) -> Result<u32> {
        match self.receive_plain(objects, buffer, from) {
            Some(expected) => Ok(expected),
            None => self.begin_any_receive(objects, buffer.0, buffer.1, buffer.2, from.0, from.1, from.2),
        }
    }

    /// [`Messages::begin_receive`] of anything.
    // The arguments one by one, as of `start_any_send`.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn begin_any_receive(
        &mut self,
        objects: &Objects,
        buffer: Addr,
        count: i64,
        datatype: usize,
        source: i32,
        tag: i32,
        comm: usize,
    ) -> Result<u32> {
        let index =
            self.start_any_receive(objects, Batching::Never, buffer, count, datatype, source, tag, comm)?;
        Ok(self.complete_or_wait(index)?.unwrap_or(NIL))
    }

    /// Ends a receive, whose status is then [`Requests::latest`](crate::request::Requests::latest), or marks
    /// that the mounted rank waits for it: answers its node then.
    #[inline(always)]
    pub fn complete_or_wait(&mut self, index: u32) -> Result<Option<u32>> {
        // The rank waits for nothing else, so that setting `waiting` needs no counting.
        if self.matcher[index].state == State::Matched {
            if self.faults.is_some() {
                self.end_pending(index);
            }
            let status = self.finish_receive(index)?;
            self.requests.set_latest(status);
            return Ok(None);
        }
        self.matcher[index].flags |= flag::WAITED;
        self.ranks.mounted().waiting = 1;
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
        match self.start_plain_receive(objects, buffer, from, batching) {
            Some(index) => Ok(index),
            None => self
                .start_any_receive(objects, batching, buffer.0, buffer.1, buffer.2, from.0, from.1, from.2),
        }
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
                self.start_noted_receive(objects, (buffer, count, datatype), (source, tag, comm), batching)
        {
            return Ok(index);
        }
        if let Some(index) =
            self.start_wild_receive(objects, (buffer, count, datatype), (source, tag, comm), batching)
        {
            return Ok(index);
        }
        let Some(pattern) = pattern(objects, (source, tag, comm))? else {
            // Complete at time zero, which moves no clock (MPI 5.0 section 3.11).
            let mut node =
                Node { state: State::Matched, source: PROC_NULL as u32, tag: ANY_TAG, ..Node::default() };
            node.arrival = Time::ZERO;
            return Ok(self.matcher.alloc(node));
        };
        let view = self.payload(objects, (buffer, count, datatype))?;
        if self.faults.is_some() {
            self.may_communicate(pattern.context)?;
        }
        let node = self.receive_node_for(&pattern, view);
        let index = self.matcher.alloc(node);
        if self.watch.is_noted() {
            self.watch.note_received_type(&self.ranks, objects, index, (buffer, count, datatype));
        }
        // One for any source is posted at once: whether it can take a message now depends on what is safe
        // now.
        if batching == Batching::UntilComplete && pattern.source.is_some() && self.faults.is_none() {
            self.batch_receive(index);
            return Ok(index);
        }
        self.flush_batch();
        if self.faults.is_some() {
            self.list_receive(self.ranks.me(), index, self.clock(self.ranks.me()));
        }
        self.post(self.ranks.me(), index, batching == Batching::Never);
        if self.faults.is_some() {
            self.look_at_posted(objects, index);
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
                    "message handle {message:#x} does not name a message of a matched probe: it was received already or never made"
                ),
            ));
        };
        let view = self.payload(objects, buffer)?;
        let from = self.matcher[index];
        let pattern = Pattern { context: from.context, source: Some(from.source), tag: Some(from.tag) };
        let node = self.receive_node_for(&pattern, view);
        let receive = self.matcher.alloc(node);
        if self.watch.is_noted() {
            self.watch.note_received_type(&self.ranks, objects, receive, buffer);
        }
        if self.faults.is_some() {
            self.unlist_receive(index);
            self.list_receive(self.ranks.me(), receive, self.clock(self.ranks.me()));
        }
        self.take(self.ranks.me(), receive, index);
        if self.faults.is_some() {
            self.look_at_posted(objects, receive);
        }
        Ok(receive)
    }

    /// Moves the mounted rank's clock to the arrival of the message in `node` and charges its overhead. `told`
    /// is what recorders learn of it: bytes and tag.
    // The receive overhead comes after the arrival and the waiting: it is the receiver's processor that works
    // then (LogGP's `o`).
    #[inline(always)]
    pub(crate) fn received(&mut self, arrival: Time, node: u32, told: (u64, i32)) {
        self.watch.note_arrival_of(self.ranks.me(), node, arrival, told);
        self.ranks.receive(arrival, self.fabric.wire().receive_overhead());
    }

    /// A complete receive of the mounted rank, or its send that is its message: moves the payload, frees the
    /// node.
    // Always, so that the status need not pass through memory (see `Nodes::alloc`).
    #[inline(always)]
    pub fn finish_receive(&mut self, index: u32) -> Result<Status> {
        match self.finish_plain_receive(index) {
            Some(status) => Ok(status),
            None => self.finish_receive_slow(index),
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

    /// [`Messages::finish_receive`] where more is to do than to take the status.
    // Also for what never had a message (cancelled, from `MPI_PROC_NULL`): those have no payload flags, and
    // move no clock.
    #[inline(never)]
    pub fn finish_receive_slow(&mut self, index: u32) -> Result<Status> {
        let node = self.matcher[index];
        if node.has(flag::OWNED) {
            self.disown(index);
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
            self.unlist_receive(index);
        }
        self.matcher.free(index);
        if node.state == State::Cancelled {
            return Ok(Status { cancelled: true, ..Status::EMPTY });
        }
        if node.source == PROC_NULL as u32 {
            return Ok(Status::PROC_NULL);
        }
        self.received(node.arrival, index, (node.bytes, node.tag));
        if node.has(flag::TRUNCATED) {
            return Err(self.truncated(&node));
        }
        Ok(Status {
            source: node.source as i32,
            tag: node.tag,
            error: 0,
            bytes: node.bytes,
            cancelled: false,
        })
    }

    #[cold]
    fn truncated(&self, node: &Node) -> Box<Failure> {
        Failure::new(
            ErrorClass::TRUNCATE,
            format!(
                "the message from rank {} with tag {} has {} bytes, the receive buffer only {}: receive with a larger count",
                node.source as i32, node.tag, node.data[1], node.bytes
            ),
        )
        .within(FailureScope::Context(node.context))
    }
}

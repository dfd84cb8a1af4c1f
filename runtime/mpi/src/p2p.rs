//! Point-to-point communication (MPI 5.0 chapter 3): sends, receives, and requests' completion.

use crate::error::{ErrorClass, Failure, Result};
use crate::flight::Flight;
use crate::handle::{self, REQUEST_NULL, REQUEST_SENT, RequestRef};
use crate::held::Row;
use crate::matching::{Envelope, Extent, Pattern, Transit};
use crate::node::{NIL, Node, State, flag};
use crate::request::{ANY_SOURCE, ANY_TAG, Body, Completion, PROC_NULL, RequestArray, Status};
use crate::world::{Mpi, World};
use engine::Time;
use rank::{Addr, memory};

/// The send modes of MPI 5.0 chapter 3.4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    /// `MPI_Send`: complete once the data is out of the buffer, which this simulator does at once.
    Standard,
    /// `MPI_Ssend`: complete once matched.
    Synchronous,
    /// `MPI_Bsend`: like standard, through the attached buffer.
    Buffered,
    /// `MPI_Rsend`: like standard; the program promises that the receive is posted.
    Ready,
}

/// Address, count and datatype handle, as MPI calls give them.
pub type Buffer = (Addr, i64, usize);
/// Rank, tag and communicator handle.
pub type Peer = (i32, i32, usize);

/// Messages that one rank may send in a row before long queues at its receivers make it step back.
const BURST: u32 = 512;
/// Unread messages at a receiver from which on its senders may have to step back.
const UNREAD: usize = 2048;

/// The greatest tag (`MPI_TAG_UB`).
pub const TAG_UB: i32 = i32::MAX;

#[cold]
fn bad_tag(tag: i32, any: bool) -> Box<Failure> {
    let what = if any { "0 to MPI_TAG_UB, or MPI_ANY_TAG" } else { "0 to MPI_TAG_UB" };
    Failure::new(ErrorClass::TAG, format!("tag {tag} is not allowed here: use {what}"))
}

impl World {
    /// Buffer, count and datatype as an extent of memory.
    #[inline(always)]
    pub(crate) fn extent(&self, (buffer, count, datatype): Buffer) -> Result<Extent> {
        let Ok(count) = u64::try_from(count) else {
            return Err(Failure::new(ErrorClass::COUNT, format!("count {count} is negative")));
        };
        let kind = self.types.usable(self.current, datatype)?;
        let bytes = kind.bytes(count)?;
        if kind.contiguous {
            return Ok(Extent { buffer, layout: None, bytes });
        }
        Ok(Extent { buffer, layout: Some((kind.clone(), count)), bytes })
    }

    /// Charges the sender's overhead and gap: when the message leaves.
    fn inject(&mut self, me: u32) -> Time {
        if !self.wire.has_overheads {
            return self.ranks[me as usize].clock;
        }
        let costs = &self.wire.overheads;
        let state = &mut self.ranks[me as usize];
        let start = state.clock.max(state.nic_free) + costs.send;
        state.clock = start;
        state.nic_free = start + costs.gap;
        start
    }

    /// Sends: answers the request's handle, [`REQUEST_SENT`] if there is nothing to wait for.
    ///
    /// What `row` allows, the send may be held (`held.rs`).
    #[inline(always)]
    pub(crate) fn start_send(&mut self, mode: SendMode, buffer: Buffer, to: Peer, row: Row) -> Result<usize> {
        match self.send_plain(mode, buffer, to, row) {
            Some(request) => Ok(request),
            None => self.start_any_send(mode, row, buffer.0, buffer.1, buffer.2, to.0, to.1, to.2),
        }
    }

    /// [`World::start_send`] of anything.
    // The arguments one by one: for a tuple, the plain path would have to put them into memory.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn start_any_send(
        &mut self,
        mode: SendMode,
        row: Row,
        buffer: Addr,
        count: i64,
        datatype: usize,
        destination: i32,
        tag: i32,
        comm: usize,
    ) -> Result<usize> {
        let buffer = (buffer, count, datatype);
        if destination == PROC_NULL {
            self.comms.get(comm)?;
        }
        if tag < 0 {
            return Err(bad_tag(tag, false));
        }
        if destination == PROC_NULL {
            return Ok(REQUEST_SENT);
        }
        let (context, source, to) = self.comms.partner(comm, destination, "destination")?;
        let envelope = Envelope { context, source, tag };
        let payload = self.extent(buffer)?;
        let (transit, request) = self.start_transit(mode, to, payload.bytes, comm)?;
        self.profile.message(payload.bytes);
        let local = self.is_local(to);
        if payload.layout.is_none() && row.holds(payload.bytes) && local && transit.flags == 0 && mode != SendMode::Buffered {
            return Ok(self.hold_send(to, envelope, (payload.buffer, payload.bytes), transit.arrival, row == Row::Request));
        }
        self.release();
        if local {
            self.deliver(to, envelope, &payload, transit);
            self.count_burst(to);
        } else {
            self.send_away(to, envelope, &payload, transit);
        }
        Ok(request)
    }

    /// How a message travels, and its sender's request.
    fn start_transit(&mut self, mode: SendMode, to: u32, bytes: u64, comm: usize) -> Result<(Transit, usize)> {
        let me = self.current;
        if mode == SendMode::Buffered {
            self.claim_buffer(me, comm, bytes)?;
        }
        let at = self.inject(me);
        let mut transit = Transit { arrival: Time::MAX, flags: 0, request: NIL, flight: NIL };
        let mut request = REQUEST_SENT;
        let rendezvous =
            mode == SendMode::Standard && self.wire.overheads.eager_limit.is_some_and(|limit| bytes > limit) && !self.by_time();
        if rendezvous || mode == SendMode::Synchronous {
            transit.flags = if rendezvous { flag::RENDEZVOUS } else { flag::SYNCHRONOUS };
            transit.request = self.make_request(me, Body::Synchronous);
            request = handle::of_cold(transit.request);
        }
        if self.by_time() {
            transit.flags |= flag::UNDER_WAY;
            transit.flight = self.launch(me, to, bytes, at, Flight::Leaving);
        } else {
            transit.arrival = at + self.wire.latency(me, to, if rendezvous { 0 } else { bytes });
        }
        Ok((transit, request))
    }

    /// Counts a message to `to`, whose queue may make its sender step back.
    #[inline(always)]
    pub(crate) fn count_burst(&mut self, to: u32) {
        let me = self.current as usize;
        self.ranks[me].burst += 1;
        if self.ranks[me].burst > BURST && self.unexpected.length(self.ranks[to as usize].unexpected) < UNREAD {
            self.ranks[me].burst = 0;
        }
    }

    /// What a receive or probe accepts; `None` from `MPI_PROC_NULL`.
    #[inline(always)]
    pub(crate) fn pattern(&self, (source, tag, comm): Peer) -> Result<Option<Pattern>> {
        if source < 0 {
            self.comms.get(comm)?;
        }
        if tag < 0 && tag != ANY_TAG {
            return Err(bad_tag(tag, true));
        }
        let tag = (tag != ANY_TAG).then_some(tag);
        match source {
            PROC_NULL => Ok(None),
            ANY_SOURCE => Ok(Some(Pattern { context: self.comms.get(comm)?.context, source: None, tag })),
            _ => {
                let context = self.comms.context_from(comm, source)?;
                Ok(Some(Pattern { context, source: Some(source as u32), tag }))
            }
        }
    }

    /// A posted receive's node, not yet in any queue.
    #[inline(always)]
    fn receive_node_for(&mut self, pattern: &Pattern, extent: Extent) -> Node {
        let mut flags = 0;
        let mut layout = NIL;
        if pattern.source.is_none() {
            flags |= flag::WILD;
        }
        if pattern.tag.is_none() {
            flags |= flag::ANY_TAG;
        }
        if let Some(shape) = extent.layout {
            flags |= flag::LAYOUT;
            layout = self.layouts.insert(shape);
        } else if !rank::is_addressable_unmounted(extent.buffer, extent.bytes as usize) {
            flags |= flag::MOUNTED_ONLY;
        }
        Node {
            context: pattern.context,
            tag: pattern.tag.unwrap_or(ANY_TAG),
            source: pattern.source.unwrap_or(u32::MAX),
            next: NIL,
            arrival: self.ranks[self.current as usize].clock,
            bytes: extent.bytes,
            buffer: extent.buffer,
            layout,
            flags,
            state: State::Posted,
            data: [0; 2],
        }
    }

    /// Begins a receive that the mounted rank waits for: answers the node of a message to come; [`NIL`] if it has come, and its status is
    /// [`World::latest`].
    #[inline(always)]
    fn begin_receive(&mut self, buffer: Buffer, from: Peer) -> Result<u32> {
        match self.receive_plain(buffer, from) {
            Some(expected) => Ok(expected),
            None => self.begin_any_receive(buffer.0, buffer.1, buffer.2, from.0, from.1, from.2),
        }
    }

    /// [`World::begin_receive`] of anything.
    // The arguments one by one, as of `start_any_send`.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn begin_any_receive(&mut self, buffer: Addr, count: i64, datatype: usize, source: i32, tag: i32, comm: usize) -> Result<u32> {
        let index = self.start_any_receive(Row::Alone, buffer, count, datatype, source, tag, comm)?;
        if self.nodes[index].state == State::Matched {
            self.latest = self.finish_receive(index)?;
            return Ok(NIL);
        }
        self.nodes[index].flags |= flag::WAITED;
        self.ranks[self.current as usize].waiting = 1;
        Ok(index)
    }

    /// Posts a receive, or holds it: answers its node.
    #[inline(always)]
    pub(crate) fn start_receive(&mut self, buffer: Buffer, from: Peer, row: Row) -> Result<u32> {
        match self.start_plain_receive(buffer, from, row) {
            Some(index) => Ok(index),
            None => self.start_any_receive(row, buffer.0, buffer.1, buffer.2, from.0, from.1, from.2),
        }
    }

    /// [`World::start_receive`] of anything.
    // The arguments one by one, as of `start_any_send`.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn start_any_receive(
        &mut self,
        row: Row,
        buffer: Addr,
        count: i64,
        datatype: usize,
        source: i32,
        tag: i32,
        comm: usize,
    ) -> Result<u32> {
        let Some(pattern) = self.pattern((source, tag, comm))? else {
            let mut node = Node { state: State::Matched, source: PROC_NULL as u32, tag: ANY_TAG, ..Node::default() };
            node.arrival = Time::ZERO;
            return Ok(self.nodes.alloc(node));
        };
        let extent = self.extent((buffer, count, datatype))?;
        let node = self.receive_node_for(&pattern, extent);
        let index = self.nodes.alloc(node);
        if row == Row::Request && pattern.source.is_some() {
            self.hold_receive(index);
            return Ok(index);
        }
        self.release();
        self.post(self.current, index, &pattern);
        Ok(index)
    }

    /// Receives the message of a matched probe: answers the receive's node.
    pub(crate) fn start_matched_receive(&mut self, buffer: Buffer, message: usize) -> Result<u32> {
        if message == handle::MESSAGE_NO_PROC {
            return self.start_receive(buffer, (PROC_NULL, ANY_TAG, handle::COMM_WORLD), Row::Alone);
        }
        let found = handle::decode(message).filter(|&index| self.nodes.get(index).is_some_and(|node| node.state == State::Extracted));
        let Some(index) = found else {
            return Err(Failure::new(
                ErrorClass::REQUEST,
                format!("message handle {message:#x} does not name a message of a matched probe: it was received already or never made"),
            ));
        };
        let extent = self.extent(buffer)?;
        let from = self.nodes[index];
        let pattern = Pattern { context: from.context, source: Some(from.source), tag: Some(from.tag) };
        let node = self.receive_node_for(&pattern, extent);
        let receive = self.nodes.alloc(node);
        self.take(self.current, receive, index);
        Ok(receive)
    }

    /// Moves a payload from a node into the mounted rank's memory.
    #[inline]
    pub(crate) fn unload(&mut self, node: &Node, extent: &Extent) {
        if node.bytes == 0 {
            return;
        }
        if node.has(flag::INLINE) {
            match &extent.layout {
                None => memory::store_short(extent.buffer, &node.data, node.bytes as usize),
                Some((datatype, count)) => {
                    let mut bytes = [0u8; 16];
                    bytes[..8].copy_from_slice(&node.data[0].to_le_bytes());
                    bytes[8..].copy_from_slice(&node.data[1].to_le_bytes());
                    datatype.unpack(extent.buffer, *count, &bytes[..node.bytes as usize]);
                }
            }
        } else if node.has(flag::REFERS) {
            self.unload_referred(node, extent);
        } else if node.has(flag::POOLED) {
            let index = node.data[0] as u32;
            let bytes = &self.pool.get(index)[..node.bytes as usize];
            match &extent.layout {
                None => memory::write(extent.buffer, bytes),
                Some((datatype, count)) => {
                    datatype.unpack(extent.buffer, *count, bytes);
                }
            }
            self.pool.free(index);
        }
    }

    /// Moves a receiver's clock to an arrival and charges its overhead.
    #[inline(always)]
    pub(crate) fn received(&mut self, me: u32, arrival: Time) {
        self.advance(me, arrival);
        if self.wire.has_overheads {
            self.ranks[me as usize].clock += self.wire.overheads.receive;
        }
    }

    /// A complete receive of the mounted rank: moves the payload, frees the node.
    // Always, so that the status need not pass through memory (see `Nodes::alloc`).
    #[inline(always)]
    pub(crate) fn finish_receive(&mut self, index: u32) -> Result<Status> {
        match self.finish_plain_receive(index) {
            Some(status) => Ok(status),
            None => self.finish_odd_receive(index),
        }
    }

    /// Completes a receive of the mounted rank whose payload is in place already; `None` if there is more to do.
    #[inline(always)]
    fn finish_plain_receive(&mut self, index: u32) -> Option<Status> {
        let node = &self.nodes[index];
        let source = node.source;
        if node.state != State::Matched
            || source == PROC_NULL as u32
            || node.flags & (flag::INLINE | flag::POOLED | flag::LAYOUT | flag::TRUNCATED) != 0
        {
            return None;
        }
        let (arrival, status) =
            (node.arrival, Status { source: source as i32, tag: node.tag, error: 0, bytes: node.bytes, cancelled: false });
        self.nodes.free(index);
        self.received(self.current, arrival);
        Some(status)
    }

    /// Completes a request that takes nothing but its status; `None` if there is more to do.
    #[inline(always)]
    fn finish_plain(&mut self, handle: usize) -> Option<Status> {
        match handle::request(handle) {
            RequestRef::Nothing | RequestRef::Sent => Some(Status::EMPTY),
            RequestRef::Node(index) if self.nodes[index].state == State::Sent => {
                self.nodes.free(index);
                Some(Status::EMPTY)
            }
            RequestRef::Node(index) => self.finish_plain_receive(index),
            _ => None,
        }
    }

    /// [`World::finish_receive`] where more is to do than to take the status.
    #[inline(never)]
    fn finish_odd_receive(&mut self, index: u32) -> Result<Status> {
        let me = self.current;
        let node = self.nodes[index];
        if node.has(flag::OWNED) {
            self.finish_owned(index);
            return Ok(Status::EMPTY);
        }
        if node.state == State::Cancelled {
            self.release_layout(&node);
            self.nodes.free(index);
            return Ok(Status { cancelled: true, ..Status::EMPTY });
        }
        if node.source == PROC_NULL as u32 {
            self.nodes.free(index);
            return Ok(Status::PROC_NULL);
        }
        if node.flags & (flag::INLINE | flag::POOLED) != 0 {
            let extent = self.receive_extent(&node);
            self.unload(&node, &extent);
        }
        self.release_layout(&node);
        self.nodes.free(index);
        self.received(me, node.arrival);
        if node.has(flag::TRUNCATED) {
            return Err(self.truncated(&node));
        }
        Ok(Status { source: node.source as i32, tag: node.tag, error: 0, bytes: node.bytes, cancelled: false })
    }

    /// Completes something of the mounted rank whose request the program gave away: its clock does not move.
    pub(crate) fn finish_unseen<T>(&mut self, finish: impl FnOnce(&mut World) -> T) -> T {
        let (me, clock) = (self.current, self.clock(self.current));
        let result = finish(self);
        self.ranks[me as usize].clock = clock;
        result
    }

    /// What a complete receive that was too short says besides its error.
    #[inline]
    pub(crate) fn truncated_status(&self, handle: usize) -> Option<Status> {
        let RequestRef::Node(index) = handle::request(self.active_part(handle)) else { return None };
        let node = &self.nodes[index];
        let status = Status { source: node.source as i32, tag: node.tag, error: 0, bytes: node.bytes, cancelled: false };
        node.has(flag::TRUNCATED).then_some(status)
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
    }

    fn release_layout(&mut self, node: &Node) {
        if node.has(flag::LAYOUT) {
            self.layouts.remove(node.layout);
        }
    }

    /// Completes a request that is known to be complete: `(status, the handle's new value)`.
    pub(crate) fn finish(&mut self, handle: usize) -> Result<(Status, usize)> {
        let me = self.current;
        match handle::request(handle) {
            RequestRef::Nothing | RequestRef::Sent => Ok((Status::EMPTY, REQUEST_NULL)),
            RequestRef::Node(index) => Ok((self.finish_receive(index)?, REQUEST_NULL)),
            RequestRef::Cold(index) => {
                let done = self.requests[index].done;
                match &mut self.requests[index].body {
                    Body::Persistent { active, .. } => {
                        let Some(active) = active.take() else { return Ok((Status::EMPTY, handle)) };
                        Ok((self.finish(active)?.0, handle))
                    }
                    Body::Synchronous => {
                        self.requests.remove(index);
                        self.advance(me, done.unwrap_or_default());
                        Ok((Status::EMPTY, REQUEST_NULL))
                    }
                    &mut Body::Collective { instance, member } => {
                        self.requests.remove(index);
                        self.advance(me, done.unwrap_or_default());
                        self.finish_collective(instance, member)?;
                        Ok((Status::EMPTY, REQUEST_NULL))
                    }
                    Body::Generalized(_) | Body::Away { .. } => Ok((Status::EMPTY, handle)),
                }
            }
            RequestRef::Invalid => self.completion(handle).map(|_| (Status::EMPTY, REQUEST_NULL)),
        }
    }
}

impl Mpi {
    /// `MPI_Send` and its modes.
    // Always: entering the call, the plain message and leaving then look at the world once.
    #[inline(always)]
    pub fn send(&self, mode: SendMode, buffer: Buffer, to: Peer) -> Result {
        let mut world = self.world();
        let row = if world.again { Row::Call } else { Row::Alone };
        let request = world.start_send(mode, buffer, to, row)?;
        if request == REQUEST_SENT && !world.crowded && world.ranks[world.current as usize].burst <= BURST {
            return Ok(());
        }
        drop(world);
        self.pause_after_send(request)
    }

    /// A sender that waits for its match, or lets its receivers run.
    #[inline(never)]
    fn pause_after_send(&self, request: usize) -> Result {
        if request != REQUEST_SENT {
            return self.wait(request).map(|_| ());
        }
        let mut world = self.world();
        if world.crowded {
            drop(world);
            self.step_back();
        } else if !world.ready.is_empty() {
            let me = world.current;
            world.ranks[me as usize].burst = 0;
            drop(world);
            self.step_back();
        }
        Ok(())
    }

    /// `MPI_Isend` and its modes: the request's handle.
    #[inline(always)]
    pub fn isend(&self, mode: SendMode, buffer: Buffer, to: Peer) -> Result<usize> {
        let mut world = self.world();
        let request = world.start_send(mode, buffer, to, Row::Request)?;
        if world.crowded {
            drop(world);
            self.step_back();
        }
        Ok(request)
    }

    /// Lets others run, because too much waits for other processes or for the rank's receivers.
    #[cold]
    fn step_back(&self) {
        let mut world = self.world();
        world.release();
        let (me, clock) = (world.current, world.clock(world.current));
        world.ready.lag(me, clock);
        drop(world);
        self.block();
    }

    /// The first half of `MPI_Recv`: what the rank has to wait for, if the message has not come; else its status is [`Mpi::latest_status`].
    #[inline(always)]
    pub fn begin_receive(&self, buffer: Buffer, from: Peer) -> Result<Option<u32>> {
        let expected = self.world().begin_receive(buffer, from)?;
        Ok((expected != NIL).then_some(expected))
    }

    /// The second half of `MPI_Recv`, once its message has come: its status is [`Mpi::latest_status`].
    #[inline(always)]
    pub fn end_receive(&self, expected: u32) -> Result {
        let mut world = self.world();
        world.latest = world.finish_receive(expected)?;
        Ok(())
    }

    /// A receive that waits for its message.
    pub fn receive(&self, buffer: Buffer, from: Peer) -> Result {
        match self.begin_receive(buffer, from)? {
            None => Ok(()),
            Some(expected) => {
                self.block();
                self.end_receive(expected)
            }
        }
    }

    /// The status of the receive that has just ended.
    #[inline]
    pub fn latest_status(&self) -> Status {
        self.world().latest
    }

    /// Ends a receive: `None` if the mounted rank has to wait for its message.
    #[inline(always)]
    fn complete_or_wait(world: &mut World, index: u32) -> Result<Option<Status>> {
        if world.nodes[index].state == State::Matched {
            return world.finish_receive(index).map(Some);
        }
        let me = world.current;
        world.nodes[index].flags |= flag::WAITED;
        world.ranks[me as usize].waiting = 1;
        Ok(None)
    }

    // Always, as for `Mpi::block`.
    #[inline(always)]
    fn complete_receive<'a>(&'a self, mut world: std::cell::RefMut<'a, World>, index: u32) -> Result<Status> {
        if let Some(status) = Self::complete_or_wait(&mut world, index)? {
            return Ok(status);
        }
        drop(world);
        self.block();
        self.world().finish_receive(index)
    }

    /// `MPI_Irecv`: the request's handle.
    #[inline(always)]
    pub fn ireceive(&self, buffer: Buffer, from: Peer) -> Result<usize> {
        Ok(handle::of_node(self.world().start_receive(buffer, from, Row::Request)?))
    }

    /// `MPI_Mrecv`.
    pub fn matched_receive(&self, buffer: Buffer, message: usize) -> Result<Status> {
        let mut world = self.world();
        let index = world.start_matched_receive(buffer, message)?;
        self.complete_receive(world, index)
    }

    /// `MPI_Imrecv`.
    pub fn matched_ireceive(&self, buffer: Buffer, message: usize) -> Result<usize> {
        Ok(handle::of_node(self.world().start_matched_receive(buffer, message)?))
    }

    /// The first half of `MPI_Sendrecv` and, with `replace` (the payload has left the buffer before the receive is posted), of
    /// `MPI_Sendrecv_replace`: what [`Mpi::end_receive`] ends; `None` if all is done, and the status is [`Mpi::latest_status`].
    pub fn begin_send_receive(&self, send: Buffer, to: Peer, receive: Buffer, from: Peer, replace: bool) -> Result<Option<u32>> {
        let mut world = self.world();
        let (index, request);
        if replace {
            request = world.start_send(SendMode::Standard, send, to, Row::Alone)?;
            index = world.start_receive(receive, from, Row::Alone)?;
        } else {
            index = world.start_receive(receive, from, Row::Alone)?;
            request = world.start_send(SendMode::Standard, send, to, Row::Alone)?;
        }
        if request == REQUEST_SENT {
            let Some(status) = Self::complete_or_wait(&mut world, index)? else { return Ok(Some(index)) };
            world.latest = status;
            return Ok(None);
        }
        let status = self.complete_receive(world, index)?;
        self.wait(request)?;
        self.world().latest = status;
        Ok(None)
    }

    /// `MPI_Isendrecv` and `MPI_Isendrecv_replace` (with `replace`, the payload leaves before the receive is posted).
    ///
    /// The send's data is out of its buffer at once, so the receive's request stands for both.
    pub fn isend_receive(&self, send: Buffer, to: Peer, receive: Buffer, from: Peer, replace: bool) -> Result<usize> {
        let mut world = self.world();
        if replace {
            world.start_send(SendMode::Ready, send, to, Row::Alone)?;
            return Ok(handle::of_node(world.start_receive(receive, from, Row::Alone)?));
        }
        let index = world.start_receive(receive, from, Row::Alone)?;
        world.start_send(SendMode::Ready, send, to, Row::Alone)?;
        Ok(handle::of_node(index))
    }

    /// Completes one request that is complete, generalized ones through their callbacks.
    pub(crate) fn finish_one(&self, handle: usize) -> Result<(Status, usize)> {
        let mut world = self.world();
        if let RequestRef::Cold(index) = handle::request(handle)
            && matches!(world.requests.get(index).map(|request| &request.body), Some(Body::Generalized(_)))
        {
            let me = world.current;
            let Some(request) = world.requests.remove(index) else { unreachable!("looked up above") };
            world.advance(me, request.done.unwrap_or_default());
            drop(world);
            let Body::Generalized(callbacks) = request.body else { unreachable!("matched above") };
            let mut status = Status::EMPTY;
            let code = (callbacks.query)(&mut status);
            let freed = (callbacks.free)();
            return match if code != 0 { code } else { freed } {
                0 => Ok((status, REQUEST_NULL)),
                code => Err(Failure::new(ErrorClass(code), "a callback of the generalized request returned an error")),
            };
        }
        world.finish(handle)
    }

    /// The first half of `MPI_Wait`: whether the mounted rank has to wait.
    #[inline(always)]
    pub fn begin_wait(&self, handle: usize) -> Result<bool> {
        let mut world = self.world();
        let waits = world.completion(handle)? == Completion::Unknown;
        if waits {
            let me = world.current;
            world.ranks[me as usize].waiting = 0;
            world.await_request(me, handle);
        }
        Ok(waits)
    }

    /// The second half of `MPI_Wait`, of a complete request: the status, and the handle's new value.
    #[inline(always)]
    pub fn end_wait(&self, handle: usize) -> Result<(Status, usize)> {
        if let RequestRef::Node(index) = handle::request(handle) {
            return Ok((self.world().finish_receive(index)?, REQUEST_NULL));
        }
        self.finish_one(handle)
    }

    /// Waits for a request: the status, and the handle's new value.
    pub(crate) fn wait(&self, handle: usize) -> Result<(Status, usize)> {
        if self.begin_wait(handle)? {
            self.block();
        }
        self.end_wait(handle)
    }

    /// The first half of `MPI_Waitall`: whether the mounted rank has to wait.
    #[inline]
    pub fn begin_wait_all(&self, requests: RequestArray) -> Result<bool> {
        self.world().await_all(requests)
    }

    /// Completes all requests of the array, which are complete: `statuses(i, status)` is told each status.
    #[inline]
    pub fn finish_all(&self, requests: RequestArray, mut statuses: impl FnMut(u32, &Status)) -> Result {
        let mut failed: Option<Box<Failure>> = None;
        let mut world = self.world();
        for handle in requests.iter() {
            if let RequestRef::Node(index) = handle::request(handle) {
                world.nodes.prefetch(index);
            }
        }
        for index in 0..requests.count {
            let handle = requests.get(index);
            if let Some(status) = world.finish_plain(handle) {
                requests.set(index, REQUEST_NULL);
                statuses(index, &status);
                continue;
            }
            drop(world);
            let truncated = self.world().truncated_status(handle);
            match self.finish_one(handle) {
                Ok((status, next)) => {
                    requests.set(index, next);
                    statuses(index, &status);
                }
                Err(failure) => {
                    requests.set(index, REQUEST_NULL);
                    statuses(index, &Status { error: failure.class.0, ..truncated.unwrap_or(Status::EMPTY) });
                    failed.get_or_insert(failure);
                }
            }
            world = self.world();
        }
        match failed {
            None => Ok(()),
            Some(first) => {
                Err(Failure::new(ErrorClass::IN_STATUS, format!("{} (its class is in the MPI_ERROR field of its status)", first.text)))
            }
        }
    }
}

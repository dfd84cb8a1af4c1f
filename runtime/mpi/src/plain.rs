//! The plain message: what most programs send most of the time, on one straight path.
//!
//! Its type is predefined and lies side by side, sender and receiver are named and in this process, and it costs nobody anything but the
//! time that it is under way. Everything here does what the general way (`p2p/`, `matching.rs`) does, which serves all that is
//! not plain, errors included.

use crate::held::Row;
use crate::matching::{Envelope, Extent, Transit};
use crate::node::{INLINE_BYTES, NIL, Node, State, flag};
use crate::p2p::{Buffer, FIRST_MEMORY, Peer, SendMode};
use crate::request::Status;
use crate::world::World;
use engine::Time;
use rank::{Addr, memory};

/// Contiguous memory.
#[derive(Clone, Copy)]
struct Stretch {
    buffer: Addr,
    bytes: u64,
}

impl World {
    #[inline(always)]
    fn plain_stretch(&self, (buffer, count, datatype): Buffer) -> Option<Stretch> {
        let count = u32::try_from(count).ok()?;
        if buffer.0 < FIRST_MEMORY {
            return None;
        }
        Some(Stretch { buffer, bytes: self.objects.types.plain_size(datatype)? * u64::from(count) })
    }

    /// Where a plain receive puts its message, and which that is; `None` if it is not plain.
    #[inline(always)]
    fn plain_receive(&self, buffer: Buffer, (source, tag, comm): Peer) -> Option<(Stretch, Envelope)> {
        let stretch = self.plain_stretch(buffer)?;
        if tag < 0 {
            return None;
        }
        let context = self.objects.comms.known_context(comm, source)?;
        Some((stretch, Envelope::new(context, source as u32, tag)))
    }

    /// Sends a plain message: the request's handle; `None`, with nothing done, if it is not plain.
    #[inline(always)]
    pub(crate) fn send_plain(&mut self, mode: SendMode, buffer: Buffer, (destination, tag, comm): Peer, row: Row) -> Option<usize> {
        if !self.messages.wire.plain || tag < 0 || !matches!(mode, SendMode::Standard | SendMode::Ready) {
            return None;
        }
        let Stretch { buffer, bytes } = self.plain_stretch(buffer)?;
        let (context, source, to) = self.objects.comms.known_partner(comm, destination)?;
        if !self.is_local(to) {
            return None;
        }
        let envelope = Envelope::new(context, source, tag);
        let me = self.messages.current;
        let arrival = self.messages.ranks[me as usize].clock + self.messages.wire.latency(me, to, bytes);
        self.messages.profile.message(bytes);
        if row.holds(bytes) {
            return Some(self.hold_send(to, envelope, (buffer, bytes), arrival, row == Row::Request));
        }
        self.release();
        if bytes <= INLINE_BYTES {
            self.deliver_short(to, envelope, memory::load_short(buffer, bytes as usize), bytes, arrival);
            self.is_brief();
        } else {
            self.deliver_plain(to, envelope, Stretch { buffer, bytes }, arrival);
        }
        self.count_burst(to);
        Some(crate::handle::REQUEST_SENT)
    }

    #[inline(never)]
    fn deliver_plain(&mut self, to: u32, envelope: Envelope, Stretch { buffer, bytes }: Stretch, arrival: Time) {
        let transit = Transit { arrival, flags: 0, request: NIL, flight: NIL };
        self.deliver(to, envelope, &Extent { buffer, layout: None, bytes }, transit);
    }

    /// A message whose payload fits in a node reaches `to`.
    #[inline(always)]
    fn deliver_short(&mut self, to: u32, envelope: Envelope, data: [u64; 2], bytes: u64, arrival: Time) {
        let receiver = &mut self.messages.ranks[to as usize];
        if !receiver.posted.is_empty() {
            if !receiver.watches()
                && let Some(index) = receiver.posted.only()
            {
                let node = &mut self.messages.nodes[index];
                if Envelope::of(node) == envelope
                    && node.flags & !(flag::MOUNTED_ONLY | flag::UNSEEN) == flag::WAITED
                    && bytes <= node.bytes
                {
                    if node.has(flag::MOUNTED_ONLY) {
                        node.data = data;
                        node.flags |= flag::INLINE;
                    } else {
                        memory::store_short(node.buffer, &data, bytes as usize);
                    }
                    node.bytes = bytes;
                    receiver.posted = crate::queue::Queue::default();
                    self.complete(to, index, arrival);
                    return;
                }
            }
            let message = self.short_message(envelope, data, bytes, arrival);
            return self.deliver_message(to, message);
        }
        let message = self.short_message(envelope, data, bytes, arrival);
        let receiver = &mut self.messages.ranks[to as usize];
        self.messages.unexpected.push(&mut receiver.unexpected, message, &self.messages.nodes);
        if receiver.watches() {
            self.noticed(to);
        }
    }

    #[inline(always)]
    fn short_message(&mut self, envelope: Envelope, data: [u64; 2], bytes: u64, arrival: Time) -> u32 {
        self.messages.nodes.alloc(Node { flags: flag::INLINE, data, ..Node::of(&envelope, arrival, bytes, State::Unexpected) })
    }

    /// [`World::begin_receive`] of a plain message; `None`, with nothing done, if it is not plain.
    #[inline(always)]
    pub(crate) fn receive_plain(&mut self, buffer: Buffer, from: Peer) -> Option<u32> {
        let (Stretch { buffer, bytes: room }, envelope) = self.plain_receive(buffer, from)?;
        let me = self.messages.current;
        let state = &mut self.messages.ranks[me as usize];
        if state.wilds != 0 {
            return None;
        }
        let Some((index, place)) = self.messages.unexpected.first_like(state.unexpected, &envelope, &self.messages.nodes) else {
            return Some(self.expect(envelope, Stretch { buffer, bytes: room }));
        };
        let node = &mut self.messages.nodes[index];
        let (arrival, bytes) = (node.arrival, node.bytes);
        // Neither under way nor waited for by its sender.
        if node.flags & !(flag::INLINE | flag::POOLED | flag::REFERS | flag::OWNED) != 0 || bytes > room {
            return None;
        }
        if node.has(flag::INLINE) {
            memory::store_short(buffer, &node.data, bytes as usize);
        } else {
            self.unload_long(index, buffer);
        }
        self.messages.latest = Status { source: envelope.source as i32, tag: envelope.tag, error: 0, bytes, cancelled: false };
        self.messages.unexpected.remove(&mut self.messages.ranks[me as usize].unexpected, place, &self.messages.nodes);
        self.drop_message(index);
        self.received(me, arrival);
        Some(NIL)
    }

    #[inline(never)]
    fn unload_long(&mut self, index: u32, buffer: Addr) {
        let node = self.messages.nodes[index];
        self.unload(&node, &Extent { buffer, layout: None, bytes: node.bytes });
    }

    /// Posts a receive for which nothing has come, and which the mounted rank waits for: answers its node.
    #[inline(always)]
    fn expect(&mut self, envelope: Envelope, stretch: Stretch) -> u32 {
        let index = self.plain_receive_node(envelope, stretch, flag::WAITED);
        let state = &mut self.messages.ranks[self.messages.current as usize];
        state.waiting = 1;
        self.messages.unexpected.searched(&mut state.unexpected, &self.messages.nodes);
        self.messages.posted.push(&mut state.posted, index, &self.messages.nodes);
        index
    }

    /// Posts a plain receive, or holds it: answers its node; `None`, with nothing done, if it is not plain.
    #[inline(always)]
    pub(crate) fn start_plain_receive(&mut self, buffer: Buffer, from: Peer, row: Row) -> Option<u32> {
        let (stretch, envelope) = self.plain_receive(buffer, from)?;
        let index = self.plain_receive_node(envelope, stretch, 0);
        if row == Row::Request {
            self.hold_receive(index);
        } else {
            self.release();
            self.post(self.messages.current, index);
        }
        Some(index)
    }

    #[inline(always)]
    fn plain_receive_node(&mut self, envelope: Envelope, Stretch { buffer, bytes }: Stretch, flags: u16) -> u32 {
        let mounted_only = if rank::is_addressable_unmounted(buffer, bytes as usize) { 0 } else { flag::MOUNTED_ONLY };
        let arrival = self.messages.ranks[self.messages.current as usize].clock;
        self.messages.nodes.alloc(Node { buffer, flags: flags | mounted_only, ..Node::of(&envelope, arrival, bytes, State::Posted) })
    }
}

//! The plain message: what most programs send most of the time, on one straight path.
//!
//! Its type is predefined and lies side by side, sender and receiver are named and in this process, and it
//! costs nobody anything but the time that it is under way. Everything here does what the general way
//! (`p2p/`, `matching.rs`) does, which serves all that is not plain, errors included.
//!
//! In a run without payloads ([`Messages::payloads`]) buffers have no address, and a message of any length is
//! what a short one is elsewhere: nothing of it has to be moved, and nothing held that would be read ahead.

use crate::batch::Batching;
use crate::envelope::{Envelope, Pattern};
use crate::handle;
use crate::messages::Messages;
use crate::moving::Payload;
use crate::node::{INLINE_BYTES, NIL, Node, State, flag};
use crate::p2p::{Buffer, FIRST_MEMORY, Peer, SendMode};
use crate::queue::Place;
use crate::request::{ANY_SOURCE, Status};
use crate::transit::Transit;
use crate::view::BufferView;
use engine::Time;
use objects::Objects;
use rank::Addr;
use rank::memory::load_short;

/// Contiguous memory.
// Two words, which go through registers; an `BufferView` with its counted layout would be built and dropped
// in memory.
#[derive(Clone, Copy)]
struct Stretch {
    buffer: Addr,
    bytes: u64,
}

impl Messages {
    /// Returns `true` if messages go the plain way, and nobody wants to know of them.
    #[inline(always)]
    pub fn sends_plainly(&self) -> bool {
        self.fabric.wire().plain
    }

    /// Returns `true` if receives are posted the plain way, and nobody wants to know of them.
    #[inline(always)]
    pub fn receives_plainly(&self) -> bool {
        self.plain_receives
    }

    /// Sends a plain message: the request's handle; `None`, with nothing done, if it is not plain.
    // Cheap questions first, and nothing is changed before the last of them: what is not plain starts over in
    // the general way, which alone knows what to say of errors.
    #[inline(always)]
    pub fn send_plain(
        &mut self,
        objects: &Objects,
        mode: SendMode,
        buffer: Buffer,
        to: Peer,
        batching: Batching,
    ) -> Option<usize> {
        if !self.fabric.wire().plain {
            return None;
        }
        self.send_straight::<false>(objects, mode, buffer, to, batching)
    }

    /// [`Messages::send_plain`] while somebody wants to know of it, and of nothing else.
    // Findings and profiles are asked for with programs that send most messages plainly, too.
    #[inline(always)]
    pub(crate) fn send_noted(
        &mut self,
        objects: &Objects,
        mode: SendMode,
        buffer: Buffer,
        to: Peer,
        batching: Batching,
    ) -> Option<usize> {
        if !self.fabric.wire().is_straight() || self.faults.is_some() || self.watch.counts_sends() {
            return None;
        }
        self.send_straight::<true>(objects, mode, buffer, to, batching)
    }

    /// `Messages::send_noted` with nothing else to try behind it.
    // Out of line, and its arguments one by one: what is inlined into each call is the plain way alone.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn send_noted_quickly(
        &mut self,
        objects: &Objects,
        batching: Batching,
        buffer: Addr,
        count: i64,
        datatype: usize,
        destination: i32,
        tag: i32,
        comm: usize,
    ) -> Option<usize> {
        if !self.watch.is_noted() {
            return None;
        }
        self.send_noted(
            objects,
            SendMode::Standard,
            (buffer, count, datatype),
            (destination, tag, comm),
            batching,
        )
    }

    #[inline(always)]
    fn send_straight<const NOTED: bool>(
        &mut self,
        objects: &Objects,
        mode: SendMode,
        buffer: Buffer,
        (destination, tag, comm): Peer,
        batching: Batching,
    ) -> Option<usize> {
        if tag < 0 || !matches!(mode, SendMode::Standard | SendMode::Ready) {
            return None;
        }
        let Stretch { buffer: at, bytes } =
            plain_stretch(objects, buffer, NOTED || self.payloads.are_carried())?;
        let (context, source, to) = objects.comms.known_partner(comm, destination)?;
        if !self.is_local(to) {
            return None;
        }
        let envelope = Envelope::new(context, source, tag);
        let me = self.ranks.me();
        let batched = batching.holds(bytes) && !at.is_null();
        let state = &mut self.ranks[me];
        let clock = state.clock;
        // A batch counts its messages itself.
        let many = state.counts_burst(u16::from(!batched));
        let arrival = clock + self.fabric.latency(me, to, bytes);
        self.ranks.profile_mut().message(bytes);
        if NOTED {
            self.note_sending(to, bytes);
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
            let awaited = !NOTED && self.ranks[to].pending.has_posted();
            if !(awaited && self.hand_over(to, &envelope, payload, bytes, arrival)) {
                self.deliver(to, &envelope, payload, bytes, &Transit::at(arrival));
            }
            self.ranks.mark_brief();
        } else {
            self.deliver_long(to, envelope, Stretch { buffer: at, bytes }, arrival);
        }
        if many {
            self.end_burst(&[to]);
        }
        if NOTED {
            self.watch.forget_sent_type();
        }
        Some(handle::REQUEST_SENT)
    }

    // Out of line, because a copy of this many bytes costs more than the call, and the short way stays short.
    #[inline(never)]
    fn deliver_long(
        &mut self,
        to: u32,
        envelope: Envelope,
        Stretch { buffer, bytes }: Stretch,
        arrival: Time,
    ) {
        self.deliver(to, &envelope, Payload::At(buffer), bytes, &Transit::at(arrival));
    }

    /// A payload that fits in a node goes straight into the receive for which `to` is blocked, if that is its
    /// only one and takes it. Answers whether it did.
    // The one case made by hand beside `deliver`: a ring or a token of short messages is nothing else, and a
    // node made, matched and freed would be a fifth of it.
    #[inline(always)]
    fn hand_over(
        &mut self,
        to: u32,
        envelope: &Envelope,
        payload: Payload,
        bytes: u64,
        arrival: Time,
    ) -> bool {
        let Some(index) = self.matcher.take_blocked(&mut self.ranks[to].pending, envelope, bytes) else {
            return false;
        };
        let node = &mut self.matcher[index];
        node.bytes = bytes;
        if node.has(flag::MOUNTED_ONLY) {
            let (flags, _, data) = payload.parts();
            node.data = data;
            node.flags |= flags;
        } else {
            let target = node.buffer;
            self.payloads.put(payload, target, bytes);
        }
        self.complete(to, index, arrival);
        true
    }

    /// [`Messages::begin_receive`] of a plain message; `None`, with nothing done, if it is not plain.
    // If the message has come, no receive is ever made: it goes from its node to the buffer. With a receive
    // for any source open, the message may be that one's: the general way finds out.
    #[inline(always)]
    pub fn receive_plain(&mut self, objects: &Objects, buffer: Buffer, from: Peer) -> Option<u32> {
        let (Stretch { buffer, bytes: room }, envelope) =
            plain_receive(objects, buffer, from, self.payloads.are_carried())?;
        let me = self.ranks.me();
        if self.ranks[me].pending.wildcards() != 0 || !self.plain_receives {
            return None;
        }
        let Some((index, place)) = self.matcher.find_exact(&self.ranks[me].pending, &envelope) else {
            // Nothing has come, and what comes next is what the rank waits for.
            let index = self.plain_receive_node(envelope, Stretch { buffer, bytes: room }, flag::WAITED);
            let state = self.ranks.mounted();
            state.waiting = 1;
            self.matcher.append_receive(&mut state.pending, index);
            return Some(index);
        };
        let (arrival, bytes) = self.receive_at_once((index, place), (buffer, room))?;
        self.requests.set_latest(Status {
            source: envelope.source as i32,
            tag: envelope.tag,
            error: 0,
            bytes,
            cancelled: false,
        });
        self.received(arrival, index, (bytes, envelope.tag));
        Some(NIL)
    }

    /// A message that lies at the mounted rank goes to where it is wanted: its arrival and length; `None`,
    /// with nothing done, if it is not as plain as the receive.
    #[inline(always)]
    pub(crate) fn receive_at_once(
        &mut self,
        (index, place): (u32, Place),
        (buffer, room): (Addr, u64),
    ) -> Option<(Time, u64)> {
        let node = &self.matcher[index];
        let (arrival, bytes) = (node.arrival, node.bytes);
        // Neither under way nor waited for by its sender.
        if node.flags & !(flag::INLINE | flag::POOLED | flag::REFERS | flag::OWNED) != 0 || bytes > room {
            return None;
        }
        if node.has(flag::INLINE) {
            self.payloads.put(Payload::Inline(node.data), buffer, bytes);
        } else if node.flags != 0 {
            self.unload_long(index, buffer);
        }
        self.matcher.remove_at(&mut self.ranks.mounted().pending, place);
        self.drop_message(index);
        Some((arrival, bytes))
    }

    // Out of line: see `deliver_long`.
    #[inline(never)]
    fn unload_long(&mut self, index: u32, buffer: Addr) {
        let node = self.matcher[index];
        self.payloads.unload(&node, &BufferView { buffer, layout: None, bytes: node.bytes });
    }

    /// Posts a plain receive, or holds it: answers its node; `None`, with nothing done, if it is not plain.
    #[inline(always)]
    pub fn start_plain_receive(
        &mut self,
        objects: &Objects,
        buffer: Buffer,
        from: Peer,
        batching: Batching,
    ) -> Option<u32> {
        if !self.plain_receives {
            return None;
        }
        self.start_straight_receive::<false>(objects, buffer, from, batching)
    }

    /// [`Messages::start_plain_receive`] while somebody wants to know its type, and no rank can fail.
    #[inline(always)]
    pub(crate) fn start_noted_receive(
        &mut self,
        objects: &Objects,
        buffer: Buffer,
        from: Peer,
        batching: Batching,
    ) -> Option<u32> {
        if self.faults.is_some() {
            return None;
        }
        self.start_straight_receive::<true>(objects, buffer, from, batching)
    }

    /// `Messages::start_noted_receive` of one that can wait for what its rank does next, with nothing else to
    /// try behind it.
    // As `send_noted_quickly`.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn start_noted_receive_quickly(
        &mut self,
        objects: &Objects,
        buffer: Addr,
        count: i64,
        datatype: usize,
        source: i32,
        tag: i32,
        comm: usize,
    ) -> Option<u32> {
        if !self.watch.is_noted() {
            return None;
        }
        self.ranks.end_interval();
        self.start_noted_receive(
            objects,
            (buffer, count, datatype),
            (source, tag, comm),
            Batching::UntilComplete,
        )
    }

    #[inline(always)]
    fn start_straight_receive<const NOTED: bool>(
        &mut self,
        objects: &Objects,
        buffer: Buffer,
        from: Peer,
        batching: Batching,
    ) -> Option<u32> {
        let (stretch, envelope) = plain_receive(objects, buffer, from, NOTED || self.payloads.are_carried())?;
        let index = self.plain_receive_node(envelope, stretch, 0);
        if NOTED {
            self.watch.note_received_type(&self.ranks, objects, index, buffer);
        }
        if batching == Batching::UntilComplete {
            self.batch_receive(index);
        } else {
            self.flush_batch();
            self.post(self.ranks.me(), index, batching == Batching::Never);
        }
        Some(index)
    }

    /// Posts a plain receive for any source: answers its node; `None`, with nothing done, if it is not plain.
    // At once: whether it can take a message now depends on what is safe now.
    pub(crate) fn start_wild_receive(
        &mut self,
        objects: &Objects,
        buffer: Buffer,
        (source, tag, comm): Peer,
        batching: Batching,
    ) -> Option<u32> {
        if !self.plain_receives || source != ANY_SOURCE || tag < 0 {
            return None;
        }
        let stretch = plain_stretch(objects, buffer, self.payloads.are_carried())?;
        let context = objects.comms.get(comm).ok()?.context;
        let pattern = Pattern { context, source: None, tag: Some(tag) };
        let envelope = Envelope { context, source: u32::MAX, tag, key: crate::queue::key(&pattern) };
        let index = self.plain_receive_node(envelope, stretch, flag::WILD);
        self.flush_batch();
        self.post(self.ranks.me(), index, batching == Batching::Never);
        Some(index)
    }

    /// [`Messages::start_plain_receive`] in a run without payloads, where the caller has seen that receives
    /// are plain: what it accepts is known, and it is held.
    #[inline(always)]
    pub fn hold_receive(&mut self, envelope: Envelope, bytes: u64) -> u32 {
        let index = self.plain_receive_node(envelope, Stretch { buffer: Addr::NULL, bytes }, 0);
        self.batch_receive(index);
        index
    }

    /// [`Messages::send_plain`] in a run without payloads, where the caller has seen that sends are plain and
    /// `to` is in this process: it is held.
    #[inline(always)]
    pub fn hold_send(&mut self, to: u32, envelope: &Envelope, bytes: u64) {
        let me = self.ranks.me();
        let arrival = self.ranks[me].clock + self.fabric.latency(me, to, bytes);
        self.ranks.profile_mut().message(bytes);
        self.batch_send::<false>(to, *envelope, (Addr::NULL, bytes), Transit::at(arrival), false);
    }

    /// The node of a receive in a run without payloads that its rank is, or will be, blocked for among
    /// others: `number` is its own among these.
    #[inline(always)]
    pub(crate) fn blocked_receive_node(&mut self, envelope: &Envelope, bytes: u64, number: u32) -> u32 {
        let index = self.plain_receive_node(
            *envelope,
            Stretch { buffer: Addr::NULL, bytes },
            flag::WAITED | flag::STATUS_IGNORED,
        );
        self.matcher[index].layout = number;
        index
    }

    // Asked when it is posted and not when its message comes: then another rank is mounted, and this one's
    // memory is not there to be asked about.
    #[inline(always)]
    fn plain_receive_node(
        &mut self,
        envelope: Envelope,
        Stretch { buffer, bytes }: Stretch,
        flags: u16,
    ) -> u32 {
        let anywhere = !self.payloads.are_carried() || rank::is_addressable_unmounted(buffer, bytes as usize);
        let mounted_only = if anywhere { 0 } else { flag::MOUNTED_ONLY };
        let arrival = self.ranks[self.ranks.me()].clock;
        self.matcher.alloc(Node {
            buffer,
            flags: flags | mounted_only,
            ..Node::of(&envelope, arrival, bytes, State::Posted)
        })
    }
}

#[inline(always)]
fn plain_stretch(objects: &Objects, (buffer, count, datatype): Buffer, payloads: bool) -> Option<Stretch> {
    let count = u32::try_from(count).ok()?;
    if buffer.0 < FIRST_MEMORY && payloads {
        return None;
    }
    Some(Stretch { buffer, bytes: objects.types.plain_size(datatype)? * u64::from(count) })
}

/// Returns where a plain receive puts its message, and which that is; `None` if it is not plain.
#[inline(always)]
fn plain_receive(
    objects: &Objects,
    buffer: Buffer,
    (source, tag, comm): Peer,
    payloads: bool,
) -> Option<(Stretch, Envelope)> {
    let stretch = plain_stretch(objects, buffer, payloads)?;
    if tag < 0 {
        return None;
    }
    let context = objects.comms.known_context(comm, source)?;
    Some((stretch, Envelope::new(context, source as u32, tag)))
}

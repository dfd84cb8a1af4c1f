//! The plain message: what most programs send most of the time, on one straight path.
//!
//! A plain message's type is predefined and lies side by side, sender and receiver are named and in this
//! process, and it costs no rank anything but the time that it is under way. Everything here does what the
//! general path (`point_to_point/`, `meeting.rs`) does, which serves all that is not plain, errors included.
//!
//! In a run without payloads ([`Payloads::are_carried`]) buffers have no address, and a message of any length
//! is what a short one is elsewhere. Nothing of it has to be moved, and nothing kept that would be read
//! ahead.

use crate::envelope::{Envelope, Pattern};
use crate::moving::{Payload, Payloads};
use crate::node::{Node, State, flag};
use crate::point_to_point::{Buffer, FIRST_MEMORY, Peer};
use crate::queue::Place;
use crate::request::ANY_SOURCE;
use crate::view::BufferView;
use engine::Time;
use matcher::{Matcher, Pending};
use objects::Objects;
use rank::Addr;

/// Contiguous memory.
// Two words, which go through registers; a `BufferView` with its counted layout would be built and dropped
// in memory.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    pub buffer: Addr,
    pub bytes: u64,
}

impl Payloads {
    /// Moves a payload that fits in a node straight into the receive for which a rank is blocked, if that is
    /// its only one and takes it. Returns the receive, which is out of its queue.
    // The one case made by hand beside `deliver_to`: a ring or a token of short messages is nothing else, and
    // a node made, matched and freed would be a fifth of it.
    #[inline(always)]
    pub(crate) fn give_blocked(
        &self,
        (matcher, pending): (&mut Matcher, &mut Pending),
        envelope: &Envelope,
        payload: Payload,
        bytes: u64,
    ) -> Option<u32> {
        let index = matcher.take_blocked(pending, envelope, bytes)?;
        let node = &mut matcher[index];
        node.bytes = bytes;
        if node.has(flag::MOUNTED_ONLY) {
            let (flags, _, data) = payload.parts();
            node.data = data;
            node.flags |= flags;
        } else {
            let target = node.buffer;
            self.put(payload, target, bytes);
        }
        Some(index)
    }

    /// Moves a message that lies at the mounted rank to where it is wanted. Returns its arrival and length;
    /// `None`, with nothing done, if it is not as plain as the receive.
    #[inline(always)]
    pub(crate) fn receive_at_once(
        &mut self,
        (matcher, pending): (&mut Matcher, &mut Pending),
        (index, place): (u32, Place),
        (buffer, room): (Addr, u64),
    ) -> Option<(Time, u64)> {
        let node = &matcher[index];
        let (arrival, bytes) = (node.arrival, node.bytes);
        // Neither under way nor waited for by its sender.
        if node.flags & !(flag::INLINE | flag::POOLED | flag::REFERS | flag::OWNED) != 0 || bytes > room {
            return None;
        }
        if node.has(flag::INLINE) {
            self.put(Payload::Inline(node.data), buffer, bytes);
        } else if node.flags != 0 {
            self.unload_long(node, buffer);
        }
        matcher.remove_at(pending, place);
        matcher.drop_message(index);
        Some((arrival, bytes))
    }

    // Out of line, because a copy of this many bytes costs more than the call, and the short path stays
    // short.
    #[inline(never)]
    fn unload_long(&mut self, node: &Node, buffer: Addr) {
        self.unload(node, &BufferView { buffer, layout: None, bytes: node.bytes });
    }

    /// Returns the node of a plain receive that is posted at `posted`.
    // Whether its buffer is reachable is looked up when it is posted and not when its message comes: then
    // another rank is mounted, and this one's memory is not there.
    #[inline(always)]
    pub(crate) fn plain_receive(
        &self,
        envelope: &Envelope,
        Stretch { buffer, bytes }: Stretch,
        flags: u16,
        posted: Time,
    ) -> Node {
        let anywhere = !self.are_carried() || rank::is_addressable_unmounted(buffer, bytes as usize);
        let mounted_only = if anywhere { 0 } else { flag::MOUNTED_ONLY };
        Node { buffer, flags: flags | mounted_only, ..Node::of(envelope, posted, bytes, State::Posted) }
    }
}

#[inline(always)]
pub(crate) fn plain_stretch(
    objects: &Objects,
    (buffer, count, datatype): Buffer,
    payloads: bool,
) -> Option<Stretch> {
    let count = u32::try_from(count).ok()?;
    if buffer.0 < FIRST_MEMORY && payloads {
        return None;
    }
    Some(Stretch { buffer, bytes: objects.types.plain_size(datatype)? * u64::from(count) })
}

/// Returns where a plain receive puts its message, and which that is; `None` if it is not plain.
#[inline(always)]
pub(crate) fn plain_receive(
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

/// Returns where a plain receive for any source puts its message, and what it accepts; `None` if it is not
/// plain.
pub(crate) fn plain_wild_receive(
    objects: &Objects,
    buffer: Buffer,
    (source, tag, comm): Peer,
    payloads: bool,
) -> Option<(Stretch, Envelope)> {
    if source != ANY_SOURCE || tag < 0 {
        return None;
    }
    let stretch = plain_stretch(objects, buffer, payloads)?;
    let context = objects.comms.get(comm).ok()?.context;
    let pattern = Pattern { context, source: None, tag: Some(tag) };
    Some((stretch, Envelope { context, source: u32::MAX, tag, key: crate::queue::key(&pattern) }))
}

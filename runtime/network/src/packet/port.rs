//! The state of an output port: its link, the credits of the buffer behind it, and who waits for it.

use super::slab::NONE;
use super::statistics::LinkUse;

/// "Never" as a time in picoseconds.
pub(crate) const NEVER: u64 = u64::MAX;

/// A packet inside the network. One cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Packet {
    /// When its message was given to the network, in picoseconds.
    pub(crate) created: u64,
    /// When its head could be routed at the router where it is.
    pub(crate) ready: u64,
    /// When its last chunk is there as well; equals `ready` with store-and-forward.
    pub(crate) tail: u64,
    /// Endpoint it comes from.
    pub source: u32,
    /// Endpoint it goes to.
    pub destination: u32,
    /// Bytes on the wire, header included.
    pub(crate) size: u32,
    /// The same for all packets of a flow: what equal-cost choices are made by.
    pub hash: u32,
    /// While it waits, the packet behind it; on its way, the port it leaves the next router by, if that is known already.
    pub(crate) next: u32,
    /// The port that sent it here, to which its credit goes back (see `UPSTREAM_REMOTE`); `NONE` in its source's interface.
    pub(crate) upstream: u32,
    /// The router it makes a detour by, if its routing makes one.
    pub via: u32,
    pub(crate) message: u32,
    /// Routers entered, the present one included.
    pub hops: u8,
    /// The virtual channel whose buffer it is in.
    pub lane: u8,
    /// For the routing to use; 0 at the source.
    pub phase: u8,
    /// Traffic class.
    pub(crate) class: u8,
    pub(crate) lanes: (u8, u8),
    pub(crate) bubble: bool,
    pub(crate) reserved: bool,
}

/// Set in `Packet::upstream` if the port that sent it is in another shard: the rest is the input port here.
pub(crate) const UPSTREAM_REMOTE: u32 = 1 << 31;

/// Credits on their way back that a lane can note.
const NOTES: usize = 4;

/// The credits of one virtual channel: the free bytes of the buffer at the other end of the link, as this end knows them.
///
/// Credits on their way back are noted with their time and counted when somebody asks, which saves an event for each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    coming_at: [u64; NOTES],
    coming: [i32; NOTES],
    /// Without what is noted; below zero if noted credits that have come are in use.
    free: i32,
    /// The least that was free: the buffer's greatest occupancy.
    low: i32,
}

impl Lane {
    pub(crate) fn new(bytes: u32) -> Lane {
        Lane { coming_at: [0; NOTES], coming: [0; NOTES], free: bytes as i32, low: bytes as i32 }
    }

    /// Free bytes at `now`.
    #[inline]
    pub(crate) fn free(&self, now: u64) -> u32 {
        let mut free = self.free;
        for slot in 0..NOTES {
            free += if self.coming_at[slot] <= now { self.coming[slot] } else { 0 };
        }
        free as u32
    }

    /// Whether `bytes` are free at `now`.
    #[inline]
    pub(crate) fn has(&self, bytes: u32, now: u64) -> bool {
        // Usually there is room without what is on its way back.
        self.free >= bytes as i32 || self.free(now) >= bytes
    }

    /// Takes `bytes`, which must be free at `now`.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u32, now: u64) {
        debug_assert!(self.has(bytes, now));
        self.free -= bytes as i32;
        if self.free < self.low {
            self.count(now);
            self.low = self.low.min(self.free);
        }
    }

    /// Counts the noted credits that have come.
    fn count(&mut self, now: u64) {
        for slot in 0..NOTES {
            if self.coming_at[slot] <= now {
                self.free += std::mem::take(&mut self.coming[slot]);
            }
        }
    }

    /// Notes that `bytes` become free at `at`; false if there is no room for the note.
    #[inline]
    pub(crate) fn note(&mut self, bytes: u32, at: u64, now: u64) -> bool {
        for slot in 0..NOTES {
            if self.coming_at[slot] <= now {
                self.free += self.coming[slot];
                self.coming_at[slot] = at;
                self.coming[slot] = bytes as i32;
                return true;
            }
        }
        false
    }

    /// Frees `bytes` now.
    #[inline]
    pub(crate) fn give(&mut self, bytes: u32) {
        self.free += bytes as i32;
    }

    /// When the next noted credit comes, after `now`.
    #[inline]
    pub(crate) fn next_credit(&self, now: u64) -> u64 {
        self.coming_at.into_iter().filter(|&at| at > now).min().unwrap_or(NEVER)
    }

    /// The least that was free.
    pub(crate) fn low(&self) -> u32 {
        self.low as u32
    }
}

/// Where a port's cable ends.
pub(crate) const TO_NOTHING: u8 = 0;
/// At a port of this shard.
pub(crate) const TO_ROUTER: u8 = 1;
/// At an endpoint, which always accepts.
pub(crate) const TO_ENDPOINT: u8 = 2;
/// At a port of another shard.
pub(crate) const TO_SHARD: u8 = 3;

/// An output port of a router or of an endpoint's interface, with its first virtual channel: a pair of cache lines, which
/// processors fetch together.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub(crate) struct Port {
    /// When the link is free.
    pub(crate) busy: u64,
    /// When the earliest `Grant` event for it happens.
    pub(crate) wake: u64,
    /// The last of the circular list of requesters (of class 0 if there are several).
    pub(crate) ring: u32,
    /// The port at the other end; with `TO_SHARD` an index into the shard's remote ports.
    pub(crate) peer: u32,
    /// Bytes of the packets that wait here.
    pub(crate) queued: u32,
    /// One of the `TO_` constants.
    pub(crate) end: u8,
    /// Index into the kinds of links.
    pub(crate) link: u8,
    pub(crate) usage: LinkUse,
    pub(crate) first_lane: Lane,
}

impl Port {
    pub(crate) fn new(end: u8, peer: u32, link: u8, buffer: u32) -> Port {
        Port { busy: 0, wake: NEVER, ring: NONE, peer, queued: 0, end, link, first_lane: Lane::new(buffer), usage: LinkUse::default() }
    }
}

/// A virtual channel of an input that has one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    /// When the next packet can ask for an output.
    pub(crate) free_at: u64,
    /// The packets behind the one that asks for an output.
    pub(crate) head: u32,
    pub(crate) tail: u32,
    /// Whether a packet asks for an output.
    pub(crate) asks: bool,
}

impl Fifo {
    pub(crate) const EMPTY: Fifo = Fifo { free_at: 0, head: NONE, tail: NONE, asks: false };
}

/// The packets of one input that wait for one output and the same virtual channels, first come first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requester {
    /// Input port, whether a ring is entered, and first lane.
    pub(crate) key: u64,
    pub(crate) head: u32,
    pub(crate) tail: u32,
    /// Next in the circular list.
    pub(crate) next: u32,
}

const _: () = assert!(size_of::<Packet>() == 64 && size_of::<Port>() == 128);

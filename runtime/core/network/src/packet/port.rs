//! The state of an output port: its link, the credits of the buffer behind it, and who waits for it.

use super::slab::NONE;
use super::usage::LinkCounters;
use bytemuck::{Pod, Zeroable};

/// "Never" as a time in picoseconds.
pub(crate) const NEVER: u64 = u64::MAX;

/// A packet inside the network. One cache line.
#[derive(Clone, Copy, Default, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
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
    /// One number for all packets of a flow: what equal-cost choices are made by.
    pub hash: u32,
    /// While it waits, the packet behind it; on its way, the port it leaves the next router by, if that is
    /// known already.
    pub(crate) next: u32,
    /// The port that sent it here, to which its credit goes back (see `UPSTREAM_REMOTE`); `NONE` in its
    /// source's interface.
    pub(crate) upstream: u32,
    /// The router it makes a detour by, if its routing makes one.
    pub via: u32,
    /// In a network of one shard its message, if the caller wants to know of the delivery. In one of several,
    /// where it came from another shard, the port there that sent it.
    pub(crate) origin: u32,
    /// Routers entered, the present one included.
    pub hops: u8,
    /// The virtual channel whose buffer it is in.
    pub lane: u8,
    /// For the routing to use; 0 at the source.
    pub phase: u8,
    /// Traffic class.
    pub(crate) class: u8,
    pub(crate) lanes: [u8; 2],
    pub(crate) bubble: Flag,
    pub(crate) reserved: Flag,
}

/// Returns what equal-cost choices are made by. A flow is a message: its packets stay together, the messages
/// of a pair spread.
#[inline]
fn flow_hash(source: u32, destination: u32, created: u64) -> u32 {
    let mut x =
        ((u64::from(source) << 32) | u64::from(destination)) ^ created.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) as u32
}

impl Packet {
    /// Returns a packet in its source's interface that can leave at `created`.
    pub(crate) fn new(source: u32, destination: u32, size: u32, created: u64, class: u8) -> Packet {
        Packet {
            created,
            ready: created,
            tail: created,
            source,
            destination,
            size,
            hash: flow_hash(source, destination, created),
            next: NONE,
            upstream: NONE,
            via: NONE,
            origin: NONE,
            hops: 0,
            lane: 0,
            phase: 0,
            class,
            lanes: [0, 1],
            bubble: Flag::CLEAR,
            reserved: Flag::CLEAR,
        }
    }
}

/// A truth value in memory that may hold anything.
#[derive(Clone, Copy, Default, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Flag(u8);

impl Flag {
    pub(crate) const CLEAR: Flag = Flag(0);

    #[inline]
    pub(crate) fn is_set(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Flag {
    #[inline]
    fn from(set: bool) -> Flag {
        Flag(u8::from(set))
    }
}

/// Set in `Packet::upstream` if the port that sent it is in another shard: the rest is the input port here.
pub(crate) const UPSTREAM_REMOTE: u32 = 1 << 31;

/// Credits on their way back that a lane can note.
const NOTES: usize = 3;

/// The credits of one virtual channel: the free bytes of the buffer at the other end of the link, as this end
/// knows them.
///
/// Credits on their way back are noted with their time, which saves an event for each. What does not fit half
/// a cache line is not noted: a fourth credit, one of another size, one that takes more than 4 ms.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct VcCredits {
    /// Time from which the notes count, in picoseconds.
    base: u64,
    /// When noted credits come, or came.
    coming: [u32; NOTES],
    /// Bytes of each noted credit.
    bytes: i32,
    /// As if all noted credits had come.
    free: i32,
    /// The least that was free: the buffer's greatest occupancy.
    low: i32,
}

impl VcCredits {
    pub(crate) fn new(bytes: u32) -> VcCredits {
        VcCredits { base: 0, coming: [0; NOTES], bytes: 0, free: bytes as i32, low: bytes as i32 }
    }

    /// Notes up to this number have come.
    #[inline]
    fn elapsed(&self, now: u64) -> u64 {
        now.saturating_sub(self.base)
    }

    #[inline]
    fn free_signed(&self, now: u64) -> i32 {
        let elapsed = self.elapsed(now);
        let away: i32 = self.coming.iter().map(|&coming| i32::from(u64::from(coming) > elapsed)).sum();
        self.free - away * self.bytes
    }

    /// Free bytes at `now`.
    #[inline]
    pub(crate) fn free(&self, now: u64) -> u32 {
        self.free_signed(now) as u32
    }

    /// Returns `true` if `bytes` are free at `now`.
    #[inline]
    pub(crate) fn has(&self, bytes: u32, now: u64) -> bool {
        // Usually there is room without what is on its way back.
        self.free - NOTES as i32 * self.bytes >= bytes as i32 || self.free_signed(now) >= bytes as i32
    }

    /// Takes `bytes`, which must be free at `now`.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u32, now: u64) {
        debug_assert!(self.has(bytes, now));
        self.free -= bytes as i32;
        // Usually it has been fuller even than with all that is noted.
        if self.free - NOTES as i32 * self.bytes < self.low {
            self.low = self.low.min(self.free_signed(now));
        }
    }

    /// Notes that `bytes` become free at `at`, which is not before `now`; false if there is no room for the
    /// note.
    #[inline]
    pub(crate) fn note(&mut self, bytes: u32, at: u64, now: u64) -> bool {
        if (at.wrapping_sub(self.base) > u64::from(u32::MAX) || bytes as i32 != self.bytes)
            && !self.begin(bytes, at, now)
        {
            return false;
        }
        let elapsed = self.elapsed(now);
        for coming in &mut self.coming {
            if u64::from(*coming) <= elapsed {
                *coming = at.wrapping_sub(self.base) as u32;
                self.free += bytes as i32;
                return true;
            }
        }
        false
    }

    /// Counts from `now` on and takes notes of `bytes`, if all earlier ones have come.
    #[cold]
    fn begin(&mut self, bytes: u32, at: u64, now: u64) -> bool {
        if self.next_credit(now) != NEVER || at - now > u64::from(u32::MAX) {
            return false;
        }
        (self.base, self.coming, self.bytes) = (now, [0; NOTES], bytes as i32);
        true
    }

    /// Frees `bytes` now.
    #[inline]
    pub(crate) fn give(&mut self, bytes: u32) {
        self.free += bytes as i32;
    }

    /// Returns when the next noted credit comes, after `now`.
    #[inline]
    pub(crate) fn next_credit(&self, now: u64) -> u64 {
        let elapsed = self.elapsed(now);
        let next = self.coming.into_iter().filter(|&coming| u64::from(coming) > elapsed).min();
        next.map_or(NEVER, |coming| self.base + u64::from(coming))
    }

    /// Returns the least that was free.
    pub(crate) fn low(&self) -> u32 {
        self.low as u32
    }
}

/// End of a port's cable: none, or one that this shard does not use.
pub(crate) const TO_NOTHING: u8 = 0;
/// At a port of this shard.
pub(crate) const TO_ROUTER: u8 = 1;
/// At an endpoint, which always accepts.
pub(crate) const TO_ENDPOINT: u8 = 2;
/// At a port of another shard, or of a router that shards share.
pub(crate) const TO_SHARD: u8 = 3;

/// An output port of a router or of an endpoint's interface, with its first virtual channel: a cache line,
/// because a packet touches two ports in each router, which lie anywhere in memory.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Port {
    /// When the link is free.
    pub(crate) busy: u64,
    pub(crate) first_lane: VcCredits,
    pub(crate) usage: LinkCounters,
    /// End of the cable: a `TO_` constant in the highest two bits, `HOLDS`, and the port there.
    cable: u32,
    /// The kind of the link in the highest bits (see `MAX_PORT_KINDS`), and who waits, among the shard's:
    /// `NOBODY` if nobody does and no `Grant` is to come.
    waiting: u32,
}

/// In `Port::cable` of an interface: messages wait in it that no packet was cut from.
const HOLDS: u32 = 1 << 29;

/// Kinds of links below this stand in their port, so that a packet loads no other line for them; of the
/// others, which only networks from files have, a table knows. Three bits are left beside who waits, since no
/// shard has more ports that can be waited for than `NOBODY`.
pub(crate) const MAX_PORT_KINDS: u8 = 7;
const KIND_SHIFT: u32 = 29;
const NOBODY: u32 = (1 << KIND_SHIFT) - 1;

impl Port {
    pub(crate) fn new(end: u8, peer: u32, kind: u8, buffer: u32) -> Port {
        debug_assert!(peer < HOLDS);
        let waiting = u32::from(kind.min(MAX_PORT_KINDS)) << KIND_SHIFT | NOBODY;
        let cable = u32::from(end) << 30 | peer;
        Port { busy: 0, first_lane: VcCredits::new(buffer), usage: LinkCounters::default(), cable, waiting }
    }

    /// Returns the kind of the link; `MAX_PORT_KINDS` if it stands in the table.
    #[inline]
    pub(crate) fn kind(&self) -> u8 {
        (self.waiting >> KIND_SHIFT) as u8
    }

    /// Returns where the shard has what waits; `NONE` if nothing does.
    #[inline]
    pub(crate) fn waits(&self) -> u32 {
        let place = self.waiting & NOBODY;
        if place == NOBODY { NONE } else { place }
    }

    /// `place` is `NONE` or below the number of ports.
    #[inline]
    pub(crate) fn set_waits(&mut self, place: u32) {
        debug_assert!(place < NOBODY || place == NONE);
        self.waiting = self.waiting & !NOBODY | place & NOBODY;
    }

    /// Returns one of the `TO_` constants.
    #[inline]
    pub(crate) fn end(&self) -> u8 {
        (self.cable >> 30) as u8
    }

    /// Returns the port at the other end.
    #[inline]
    pub(crate) fn peer(&self) -> u32 {
        self.cable & (HOLDS - 1)
    }

    /// Returns `true` if messages wait in an interface that no packet was cut from.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.cable & HOLDS != 0
    }

    #[inline]
    pub(crate) fn set_holds(&mut self, holds: bool) {
        self.cable = if holds { self.cable | HOLDS } else { self.cable & !HOLDS };
    }
}

/// State of a port at which packets wait.
#[derive(Clone, Copy, Default, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Waits {
    /// When the earliest `Grant` event for it happens.
    pub(crate) wake: u64,
    /// The last of the circular list of requesters (of class 0 if there are several).
    pub(crate) ring: u32,
    /// Bytes of the packets.
    pub(crate) queued: u32,
}

/// A virtual channel of an input that has one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    /// When the next packet can ask for an output.
    pub(crate) free_at: u64,
    /// The packets behind the one that asks for an output.
    pub(crate) head: u32,
    pub(crate) tail: u32,
    /// `true` if a packet asks for an output.
    pub(crate) asks: bool,
}

impl Fifo {
    pub(crate) const EMPTY: Fifo = Fifo { free_at: 0, head: NONE, tail: NONE, asks: false };
}

/// The packets of one input that wait for one output and the same virtual channels, first come first.
#[derive(Clone, Copy, Default, Debug, Pod, Zeroable)]
#[repr(C, align(32))]
pub(crate) struct Requester {
    /// Input port, whether a ring is entered, and first lane.
    pub(crate) key: u64,
    pub(crate) head: u32,
    pub(crate) tail: u32,
    /// Next in the circular list.
    pub(crate) next: u32,
    unused: [u32; 3],
}

impl Requester {
    /// Builds it with one packet.
    #[inline]
    pub(crate) fn new(key: u64, packet: u32, next: u32) -> Requester {
        Requester { key, head: packet, tail: packet, next, unused: [0; 3] }
    }
}

const _: () = assert!(size_of::<Packet>() == 64 && size_of::<Port>() == 64 && size_of::<VcCredits>() == 32);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Free bytes, the least of them and the next credit are those of a list of all credits on their way.
        #[test]
        fn a_lane_counts_as_a_list_of_credits_does(
            steps in prop::collection::vec(
                (
                    0u64..3000,
                    any::<bool>(),
                    0usize..4,
                    prop::sample::select(vec![1u64, 100, 2000, 1 << 31, 1 << 33]),
                ),
                1..200,
            ),
        ) {
            let (mut lane, mut free, mut low) = (VcCredits::new(5000), 5000u32, 5000u32);
            let (mut noted, mut events, mut now) = (Vec::new(), Vec::new(), 0);
            for (wait, take, size, away) in steps {
                now += wait;
                events.retain(|&(at, bytes): &(u64, u32)| {
                    if at <= now {
                        lane.give(bytes);
                        free += bytes;
                    }
                    at > now
                });
                noted.retain(|&(at, bytes): &(u64, u32)| {
                    free += if at <= now { bytes } else { 0 };
                    at > now
                });
                prop_assert_eq!(lane.free(now), free);
                prop_assert_eq!(
                    lane.next_credit(now),
                    noted.iter().map(|&(at, _)| at).min().unwrap_or(NEVER)
                );
                let bytes = [512, 512, 512, 64][size];
                prop_assert_eq!(lane.has(bytes, now), free >= bytes);
                if take && free >= bytes {
                    lane.take(bytes, now);
                    free -= bytes;
                    low = low.min(free);
                    let list = if lane.note(bytes, now + away, now) { &mut noted } else { &mut events };
                    list.push((now + away, bytes));
                }
                prop_assert_eq!(lane.low(), low);
            }
        }
    }
}

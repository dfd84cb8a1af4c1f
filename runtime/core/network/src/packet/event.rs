//! What can happen inside a shard of the network, in 16 bytes.

use engine::Timed;
use std::cmp::Ordering;

/// The kinds of events, in the order in which they happen at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EventKind {
    /// A credit comes back to port `place`: lane in the high byte of `load`, bytes in the rest.
    Credit = 0,
    /// A packet `load` can be routed; it came in at port `place`.
    Arrive = 1,
    /// The next packet of virtual channel `load` of the input at port `place` may request an output. With
    /// wormhole switching a flit arrives there.
    Head = 2,
    /// The clock of the router whose first port is `place`, or of the interface `place`, ticks.
    Cycle = 3,
    /// Port `place` may be able to send something that waits.
    Grant = 4,
    /// The first of the messages that waited for their time is handed to the interface `place`.
    Inject = 5,
    /// Message `load` is complete at the interface `place`.
    Deliver = 6,
}

const PLACE_BITS: u32 = 29;
/// Bound on the number of ports of a shard, which is less.
pub(crate) const PLACES: u64 = 1 << PLACE_BITS;

/// An event. No two of one shard share time, kind and place unless they are interchangeable: a link delivers
/// one packet at a time. So the order never depends on `load`, whose meaning differs with the number of
/// threads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PacketEvent {
    pub(crate) time: u64,
    /// Kind, place and load from the highest bit.
    rest: u64,
}

impl PacketEvent {
    #[inline]
    pub(crate) fn new(time: u64, kind: EventKind, place: u32, load: u32) -> PacketEvent {
        debug_assert!(u64::from(place) < PLACES);
        PacketEvent {
            time,
            rest: ((kind as u64) << (32 + PLACE_BITS)) | (u64::from(place) << 32) | u64::from(load),
        }
    }

    #[inline]
    pub(crate) fn kind(self) -> EventKind {
        match self.rest >> (32 + PLACE_BITS) {
            0 => EventKind::Credit,
            1 => EventKind::Arrive,
            2 => EventKind::Head,
            3 => EventKind::Cycle,
            4 => EventKind::Grant,
            5 => EventKind::Inject,
            _ => EventKind::Deliver,
        }
    }

    /// Returns `true` if `load` is a packet.
    #[inline]
    pub(crate) fn is_arrival(self) -> bool {
        self.rest >> (32 + PLACE_BITS) == EventKind::Arrive as u64
    }

    #[inline]
    pub(crate) fn place(self) -> u32 {
        (self.rest >> 32) as u32 & (PLACES as u32 - 1)
    }

    #[inline]
    pub(crate) fn load(self) -> u32 {
        self.rest as u32
    }
}

impl PacketEvent {
    /// Returns both words as one number: comparing that takes no branch.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.rest)
    }
}

impl Ord for PacketEvent {
    #[inline]
    fn cmp(&self, other: &PacketEvent) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for PacketEvent {
    #[inline]
    fn partial_cmp(&self, other: &PacketEvent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    #[inline]
    fn lt(&self, other: &PacketEvent) -> bool {
        self.key() < other.key()
    }
}

impl Timed for PacketEvent {
    #[inline]
    fn time(&self) -> u64 {
        self.time
    }

    /// Kind and place: what is left of the order is the load of events that are interchangeable.
    #[inline]
    fn rank(&self) -> u32 {
        (self.rest >> 32) as u32
    }
}

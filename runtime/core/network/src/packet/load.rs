//! What an adaptive routing sees of the ports around it.

use super::fabric::PacketFabric;
use super::port::{MAX_PORT_KINDS, Port, VcCredits, Waits};
use super::port_table::PortTable;
use super::slab::{LargePageSlab, NONE};
use std::collections::VecDeque;

/// A packet that was put on a link, for routings that count queues.
#[derive(Clone, Copy)]
pub(crate) struct QueuedPacket {
    /// When its first byte leaves, in picoseconds.
    pub(crate) start: u64,
    /// The earliest time of its credit's return: until then the buffer it takes at the other end says nothing
    /// of a queue there.
    pub(crate) back: u64,
    /// Bytes of buffer.
    pub(crate) charge: u32,
}

/// The state of a shard's ports.
pub(crate) struct Ports {
    /// Routers' ports, then interfaces' ports.
    pub(crate) ports: PortTable,
    pub(crate) waits: LargePageSlab<Waits>,
    /// Packets that each port has put on its link and has no credit for yet. Empty unless the routing counts
    /// queues.
    pub(crate) flights: Vec<VecDeque<QueuedPacket>>,
    /// Kind of link of each port; empty if the ports themselves say it all.
    pub(crate) kinds: Vec<u8>,
}

impl Ports {
    /// Returns the kind of the link behind `port`.
    #[inline]
    pub(crate) fn kind(&self, port: u32) -> u8 {
        match self.ports[port].kind() {
            MAX_PORT_KINDS => self.kinds[port as usize],
            kind => kind,
        }
    }
}

/// The ports of one router, as they are now.
pub struct PortLoads<'a> {
    pub(crate) at: &'a Ports,
    pub(crate) fabric: &'a PacketFabric,
    /// First port of the router.
    pub(crate) base: u32,
    pub(crate) now: u64,
}

impl PortLoads<'_> {
    fn lane(&self, port: u32, lane: u32) -> &VcCredits {
        self.at.ports.lane(port, lane)
    }

    #[inline]
    fn queued(&self, port: &Port) -> u32 {
        if port.waits() == NONE { 0 } else { self.at.waits[port.waits()].queued }
    }

    /// Picoseconds until the link behind `port` has sent what is before a packet that comes now.
    #[inline]
    pub fn delay(&self, port: u32) -> u64 {
        let index = self.base + port;
        let port = &self.at.ports[index];
        let waiting = match self.queued(port) {
            0 => 0,
            queued => self.fabric.links[self.at.kind(index) as usize].time(queued),
        };
        port.busy.saturating_sub(self.now) + waiting
    }

    /// Returns the bytes that wait for `port` or in the buffer behind it: not those that fly there, nor those
    /// whose credit flies back.
    pub fn occupancy(&self, port: u32) -> u64 {
        self.occupancy_of(self.base + port)
    }

    fn occupancy_of(&self, port: u32) -> u64 {
        let lanes = self.fabric.switching.lanes;
        let free: u64 = (0..lanes).map(|lane| u64::from(self.lane(port, lane).free(self.now))).sum();
        let taken = u64::from(self.fabric.switching.buffer) * u64::from(lanes) - free;
        let flies = |flight: &&QueuedPacket| flight.start <= self.now && self.now < flight.back;
        let flying: u64 =
            self.at.flights[port as usize].iter().filter(flies).map(|flight| u64::from(flight.charge)).sum();
        u64::from(self.queued(&self.at.ports[port])) + taken.saturating_sub(flying)
    }

    /// `occupancy` of another router's port; only for a routing that says it looks far, and that it counts
    /// queues.
    pub fn occupancy_at(&self, router: u32, port: u32) -> u64 {
        self.occupancy_of(router * self.fabric.stride.divisor() + port)
    }

    /// Free bytes of a virtual channel.
    pub fn free(&self, port: u32, lane: u32) -> u32 {
        self.lane(self.base + port, lane).free(self.now)
    }

    /// Returns the bytes that a packet needs there, the bubble not counted.
    pub(crate) fn need(&self, packet: &super::port::Packet) -> u32 {
        self.fabric.switching.charge(packet.size)
    }
}

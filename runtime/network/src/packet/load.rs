//! What an adaptive routing sees of the ports around it.

use super::fabric::Fabric;
use super::pages::Pages;
use super::port::{Lane, Port, Waits};
use super::slab::{NONE, Slab};

/// The state of a shard's ports.
pub(crate) struct Ports {
    /// Routers' ports, then interfaces' ports.
    pub(crate) ports: Pages<Port>,
    /// Virtual channels 1 and up of each port.
    pub(crate) more_lanes: Vec<Lane>,
    pub(crate) waits: Slab<Waits>,
    /// Kind of link of each port; empty if all are the same.
    pub(crate) kinds: Vec<u8>,
}

/// The ports of one router, as they are now.
pub struct Load<'a> {
    pub(crate) at: &'a Ports,
    pub(crate) fabric: &'a Fabric,
    /// First port of the router.
    pub(crate) base: u32,
    pub(crate) now: u64,
}

impl Load<'_> {
    fn lane(&self, port: u32, lane: u32) -> &Lane {
        match lane {
            0 => &self.at.ports[port as usize].first_lane,
            lane => &self.at.more_lanes[(port * (self.fabric.switching.lanes - 1) + lane - 1) as usize],
        }
    }

    #[inline]
    fn queued(&self, port: &Port) -> u32 {
        if port.waits == NONE { 0 } else { self.at.waits[port.waits].queued }
    }

    /// Picoseconds until the link behind `port` has sent what is before a packet that comes now.
    #[inline]
    pub fn delay(&self, port: u32) -> u64 {
        let index = (self.base + port) as usize;
        let port = &self.at.ports[index];
        let waiting = match self.queued(port) {
            0 => 0,
            queued => self.fabric.links[self.at.kinds.get(index).map_or(0, |&kind| kind as usize)].time(queued),
        };
        port.busy.saturating_sub(self.now) + waiting
    }

    /// Bytes that wait for `port` or are in the buffer behind it.
    pub fn occupancy(&self, port: u32) -> u64 {
        self.occupancy_of(self.base + port)
    }

    fn occupancy_of(&self, port: u32) -> u64 {
        let lanes = self.fabric.switching.lanes;
        let free: u64 = (0..lanes).map(|lane| u64::from(self.lane(port, lane).free(self.now))).sum();
        u64::from(self.queued(&self.at.ports[port as usize])) + u64::from(self.fabric.switching.buffer) * u64::from(lanes) - free
    }

    /// `occupancy` of another router's port; only for a routing that says it looks far.
    pub fn occupancy_at(&self, router: u32, port: u32) -> u64 {
        self.occupancy_of(router * self.fabric.stride.divisor() + port)
    }

    /// Free bytes of a virtual channel.
    pub fn free(&self, port: u32, lane: u32) -> u32 {
        self.lane(self.base + port, lane).free(self.now)
    }

    /// Bytes that a packet needs there, the bubble not counted.
    pub(crate) fn need(&self, packet: &super::port::Packet) -> u32 {
        self.fabric.switching.charge(packet.size)
    }
}

//! Any topology: a shortest path, ties by the hash of the flow.

use super::{Here, Hop, Routing, share};
use crate::packet::port::Packet;
use crate::topology::Paths;
use std::sync::Arc;

/// Shortest paths with equal-cost choices by hash. The virtual channel is the number of links passed, which
/// only grows, so no cycle of waiting can close (Günther, "Prevention of deadlocks in packet-switched data
/// transport systems", IEEE Trans. Comm. 1981).
pub(crate) struct Minimal {
    paths: Arc<dyn Paths>,
    links: u32,
}

impl Minimal {
    pub(crate) fn new(paths: Arc<dyn Paths>) -> Self {
        let links = paths.diameter().max(1);
        Minimal { paths, links }
    }
}

impl Routing for Minimal {
    fn name(&self) -> &'static str {
        "minimal"
    }
    fn looks_at_load(&self) -> bool {
        false
    }
    fn lanes_needed(&self) -> u32 {
        self.links
    }
    fn injection(&self, lanes: u32) -> (u8, u8) {
        (0, lanes as u8)
    }
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let (home, port) = self.paths.attachment(packet.destination);
        if home == here.router {
            return Hop::eject(port);
        }
        let port = self.paths.minimal_port(here.router, home, packet.hash);
        Hop::by(port, share(here.lanes, self.links, u32::from(packet.hops) - 1))
    }
}

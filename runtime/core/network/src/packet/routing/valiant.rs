//! Any topology: by a router (in a dragonfly, a group) chosen at random, which spreads any pattern evenly.

use super::{Here, Hop, Routing, share};
use crate::packet::port::Packet;
use crate::packet::slab::NONE;
use crate::topology::{Paths, pick};
use std::sync::Arc;

/// Valiant and Brebner, "Universal schemes for parallel communication" (STOC 1981). Virtual channels as in
/// [`super::minimal`].
pub(crate) struct Valiant {
    paths: Arc<dyn Paths>,
    links: u32,
}

impl Valiant {
    pub(crate) fn new(paths: Arc<dyn Paths>) -> Self {
        let links = paths.detour_links().max(1);
        Valiant { paths, links }
    }
}

/// Returns the router that a packet's detour would go by: by hash, independent of other choices made by it.
pub(crate) fn detour(paths: &dyn Paths, packet: &Packet) -> u32 {
    paths.detour(pick(packet.hash.wrapping_mul(0x9e37_79b1), 1, paths.detours()))
}

/// Returns the next port on the way to `packet.via`, or to its destination once the detour is made; `None` at
/// the destination's router.
pub(crate) fn next_port(paths: &dyn Paths, router: u32, packet: &mut Packet) -> Option<u32> {
    if packet.via != NONE && paths.detour_made(router, packet.via) {
        packet.via = NONE;
    }
    let home = paths.attachment(packet.destination).0;
    let target = if packet.via == NONE { home } else { packet.via };
    (target != router).then(|| paths.minimal_port(router, target, packet.hash))
}

impl Routing for Valiant {
    fn name(&self) -> &'static str {
        "valiant"
    }
    fn looks_at_load(&self) -> bool {
        false
    }
    fn lanes_needed(&self) -> u32 {
        self.links
    }
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let paths = &*self.paths;
        // Endpoints of one router have no path to spread.
        if packet.hops == 1 && paths.attachment(packet.destination).0 != here.router {
            packet.via = detour(paths, packet);
        }
        match next_port(paths, here.router, packet) {
            Some(port) => Hop::by(port, share(here.lanes, self.links, u32::from(packet.hops) - 1)),
            None => Hop::eject(paths.attachment(packet.destination).1),
        }
    }
}

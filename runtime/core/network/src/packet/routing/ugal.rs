//! Any topology: at the source, the shorter of the minimal path and a detour when queues are counted.

use super::valiant::{detour, next_port};
use super::{Here, Hop, Routing, share};
use crate::packet::port::Packet;
use crate::packet::slab::NONE;
use crate::topology::{Neighbor, Paths};
use std::sync::Arc;

/// Universal globally-adaptive load-balanced routing (Singh, "Load-balanced routing in interconnection
/// networks", 2005; for the dragonfly Kim et al., ISCA 2008). A packet goes minimally if `q_m h_m <= q_v
/// h_v + bias`. Here q are the bytes queued before the packet, those that only fly over a link not counted,
/// and h the links of each path. At a tie it goes minimally.
pub(crate) struct Ugal {
    paths: Arc<dyn Paths>,
    links: u32,
    /// Bytes times links.
    bias: u64,
    /// Queues along the whole path (UGAL-G) and not only at the source (UGAL-L).
    global: bool,
}

impl Ugal {
    pub(crate) fn new(paths: Arc<dyn Paths>, bias: u64, global: bool) -> Self {
        let links = paths.detour_links().max(1);
        Ugal { paths, links, bias, global }
    }
}

/// Links of the path by the detour from `router`, or of the minimal path.
fn trace(paths: &dyn Paths, router: u32, packet: &Packet, mut visit: impl FnMut(u32, u32)) -> u64 {
    let (mut packet, mut router, mut links) = (*packet, router, 0);
    while let Some(port) = next_port(paths, router, &mut packet) {
        visit(router, port);
        links += 1;
        match paths.neighbor(router, port) {
            Neighbor::Router { router: next, .. } => router = next,
            _ => break,
        }
    }
    links
}

/// Chooses between the minimal path and the detour by the queues at this router (or, if `global`, along the
/// paths).
pub(crate) fn choose(paths: &dyn Paths, here: &Here<'_>, packet: &mut Packet, bias: u64, global: bool) {
    let cost = |packet: &Packet| {
        let mut queued = 0;
        let links = trace(paths, here.router, packet, |router, port| {
            if router == here.router {
                queued += here.load.occupancy(port);
            } else if global {
                queued += here.load.occupancy_at(router, port);
            }
        });
        (queued, links)
    };
    packet.via = NONE;
    let minimal = cost(packet);
    packet.via = detour(paths, packet);
    let valiant = cost(packet);
    if minimal.0 * minimal.1 <= valiant.0 * valiant.1 + bias {
        packet.via = NONE;
    }
}

impl Routing for Ugal {
    fn name(&self) -> &'static str {
        if self.global { "ugal-g" } else { "ugal-l" }
    }
    fn lanes_needed(&self) -> u32 {
        self.links
    }
    fn counts_queues(&self) -> bool {
        true
    }
    fn looks_far(&self) -> bool {
        self.global
    }
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let paths = &*self.paths;
        let (home, eject) = paths.attachment(packet.destination);
        if packet.hops == 1 && home != here.router {
            choose(paths, here, packet, self.bias, self.global);
        }
        match next_port(paths, here.router, packet) {
            Some(port) => Hop::by(port, share(here.lanes, self.links, u32::from(packet.hops) - 1)),
            None => Hop::eject(eject),
        }
    }
}

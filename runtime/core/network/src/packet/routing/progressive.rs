//! Dragonfly: minimal, reconsidered at each router of the source's group.

use super::ugal::choose;
use super::valiant::next_port;
use super::{Here, Hop, Routing, share};
use crate::packet::port::Packet;
use crate::packet::slab::NONE;
use crate::topology::Paths;
use std::sync::Arc;

/// Progressive adaptive routing (Jiang, Kim and Dally, "Indirect adaptive routing on large scale
/// interconnection networks", ISCA 2009). A packet on the minimal path may still change to a detour while it
/// is in its source's group. Then it keeps to it.
pub(crate) struct Progressive {
    paths: Arc<dyn Paths>,
    links: u32,
    /// See [`super::ugal::Ugal`].
    bias: u64,
}

/// Phase of a packet that keeps to its choice.
const DECIDED: u8 = 1;

impl Progressive {
    pub(crate) fn new(paths: Arc<dyn Paths>, bias: u64) -> Self {
        // One local link may have been passed before the turn.
        let links = paths.detour_links() + 1;
        Progressive { paths, links, bias }
    }
}

impl Routing for Progressive {
    fn name(&self) -> &'static str {
        "par"
    }
    fn lanes_needed(&self) -> u32 {
        self.links
    }
    fn counts_queues(&self) -> bool {
        true
    }
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let paths = &*self.paths;
        let (home, eject) = paths.attachment(packet.destination);
        let group = paths.group(here.router);
        if packet.phase != DECIDED {
            let at_source = group == paths.group(paths.attachment(packet.source).0);
            if !at_source || group == paths.group(home) {
                packet.phase = DECIDED;
            } else {
                choose(paths, here, packet, self.bias, false);
                if packet.via != NONE {
                    packet.phase = DECIDED;
                }
            }
        }
        match next_port(paths, here.router, packet) {
            Some(port) => Hop::by(port, share(here.lanes, self.links, u32::from(packet.hops) - 1)),
            None => Hop::eject(eject),
        }
    }
}

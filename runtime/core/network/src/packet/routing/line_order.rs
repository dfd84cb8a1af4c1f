//! HyperX: one dimension after the other.

use super::valiant::detour;
use super::{Here, Hop, Routing, share};
use crate::packet::port::Packet;
use crate::packet::slab::NONE;
use crate::topology::{Cabling, hyperx::HyperX};
use std::sync::Arc;

/// One path for each pair of routers, by any virtual channel: BookSim2's `ran_min` and `min` on its flattened
/// butterfly.
///
/// A line is fully connected, so that a packet passes one link of it at most, and then links of later
/// dimensions only: no cycle of waiting can close, with one virtual channel.
pub(crate) struct LineOrder(pub(crate) Arc<HyperX>);

impl Routing for LineOrder {
    fn name(&self) -> &'static str {
        "dor"
    }
    fn looks_at_load(&self) -> bool {
        false
    }
    fn lanes_needed(&self) -> u32 {
        1
    }
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let (home, port) = self.0.attachment(packet.destination);
        match self.0.first_line(here.router, home) {
            Some(port) => Hop::by(port, (0, here.lanes as u8)),
            None => Hop::eject(port),
        }
    }
}

/// By a router chosen at random, in dimension order to it and from it. The lower half of the virtual channels
/// serves the way there, the upper half the way after it, each free of cycles by itself (BookSim2's `valiant`
/// on its flattened butterfly). A packet that comes by its destination's router on the way there is
/// delivered.
pub(crate) struct LineValiant(pub(crate) Arc<HyperX>);

impl Routing for LineValiant {
    fn name(&self) -> &'static str {
        "dor-valiant"
    }
    fn looks_at_load(&self) -> bool {
        false
    }
    fn lanes_needed(&self) -> u32 {
        2
    }
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let hyperx = &*self.0;
        let (home, port) = hyperx.attachment(packet.destination);
        if home == here.router {
            return Hop::eject(port);
        }
        if packet.hops == 1 {
            packet.via = detour(hyperx, packet);
        }
        if packet.via == here.router {
            packet.via = NONE;
        }
        let (target, half) = if packet.via == NONE { (home, 1) } else { (packet.via, 0) };
        Hop::by(hyperx.first_line(here.router, target).unwrap_or(port), share(here.lanes, 2, half))
    }
}

//! Fat tree: up by the hash of the flow, down by the only way.

use super::{Here, Hop, Routing};
use crate::packet::port::Packet;
use crate::topology::fat_tree::{FatTree, TreePorts};
use crate::topology::pick;
use std::sync::Arc;

/// Equal-cost multi-path (RFC 2992): the packets of a flow take one path. Up before down, so one virtual
/// channel is enough.
pub(crate) struct Ecmp(pub(crate) Arc<FatTree>);

impl Routing for Ecmp {
    fn name(&self) -> &'static str {
        "ecmp"
    }
    fn looks_at_load(&self) -> bool {
        false
    }
    fn lanes_needed(&self) -> u32 {
        1
    }
    #[inline]
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let port = match self.0.way(here.router, packet.destination) {
            TreePorts::Down(port) => port,
            TreePorts::Up { level, first, count } => first + pick(packet.hash, level, count),
        };
        Hop::by(port, (0, here.lanes as u8))
    }
}

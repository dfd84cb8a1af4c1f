//! Fat tree: up by the destination's number, so that paths to different endpoints share no way down.

use super::{Here, Hop, Routing};
use crate::packet::port::Packet;
use crate::topology::fat_tree::{FatTree, TreePorts};
use std::sync::Arc;

/// D-mod-k; see [`FatTree::parent_by_destination`].
pub(crate) struct DModK(pub(crate) Arc<FatTree>);

impl Routing for DModK {
    fn name(&self) -> &'static str {
        "dmodk"
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
            TreePorts::Up { level, first, .. } => {
                first + self.0.parent_by_destination(level, packet.destination)
            }
        };
        Hop::by(port, (0, here.lanes as u8))
    }
}

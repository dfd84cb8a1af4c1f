//! Fat tree: up by the port that is free soonest.

use super::{Here, Hop, Routing};
use crate::packet::port::Packet;
use crate::topology::fat_tree::{FatTree, TreePorts};
use crate::topology::pick;
use std::sync::Arc;

/// Adaptive on the way up, ties by hash; the way down is fixed.
pub(crate) struct AdaptiveUp(pub(crate) Arc<FatTree>);

impl Routing for AdaptiveUp {
    fn name(&self) -> &'static str {
        "adaptive"
    }
    fn lanes_needed(&self) -> u32 {
        1
    }
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let port = match self.0.way(here.router, packet.destination) {
            TreePorts::Down(port) => port,
            TreePorts::Up { level, first, count } => {
                let start = pick(packet.hash, level, count);
                let mut best = (u64::MAX, first);
                for offset in 0..count {
                    let port =
                        first + if start + offset < count { start + offset } else { start + offset - count };
                    let delay = here.load.delay(port);
                    if delay < best.0 {
                        best = (delay, port);
                    }
                    if delay == 0 {
                        break;
                    }
                }
                best.1
            }
        };
        Hop::by(port, (0, here.lanes as u8))
    }
}

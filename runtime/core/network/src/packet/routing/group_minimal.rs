//! Dragonfly: shortest paths with two sets of virtual channels.

use super::{Here, Hop, Routing, share};
use crate::packet::port::Packet;
use crate::topology::dragonfly::{Dragonfly, GLOBAL};
use crate::topology::{Cabling, Paths};
use std::sync::Arc;

/// Shortest paths as [`super::minimal`] takes them, in the lower set of virtual channels before the global
/// link, in the upper one on it and after it, as in BookSim2's `min_dragonflynew`.
///
/// Two sets are enough where `minimal` has three, one for each link of a path. A local link of the lower set
/// leads to a global link, one of the upper set to an endpoint, so that no cycle of waiting can close. A path
/// within a group has no global link and stays in the lower set.
pub(crate) struct GroupMinimal(pub(crate) Arc<Dragonfly>);

impl Routing for GroupMinimal {
    fn name(&self) -> &'static str {
        "minimal-2vc"
    }
    fn looks_at_load(&self) -> bool {
        false
    }
    fn lanes_needed(&self) -> u32 {
        2
    }
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let dragonfly = &*self.0;
        let (home, port) = dragonfly.attachment(packet.destination);
        if home == here.router {
            return Hop::eject(port);
        }
        let port = dragonfly.minimal_port(here.router, home, packet.hash);
        let source = dragonfly.attachment(packet.source).0;
        let is_upper = dragonfly.link(here.router, port) == GLOBAL
            || dragonfly.group(source) != dragonfly.group(here.router);
        Hop::by(port, share(here.lanes, 2, u32::from(is_upper)))
    }
}

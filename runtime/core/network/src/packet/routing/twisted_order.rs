//! Twisted torus: columns first, then rows, with the bubble rule.

use super::{Here, Hop, Routing};
use crate::packet::port::Packet;
use crate::topology::Cabling;
use crate::topology::twisted::plane::TwistedTorus;
use std::sync::Arc;

/// Dimension order on shortest paths. The links of one direction form rings (longer than a side where the
/// twist joins rows), on each of which the bubble rule holds as in [`super::dimension_order`].
pub(crate) struct TwistedOrder(pub(crate) Arc<TwistedTorus>);

impl Routing for TwistedOrder {
    fn name(&self) -> &'static str {
        "dor"
    }
    fn looks_at_load(&self) -> bool {
        false
    }
    fn lanes_needed(&self) -> u32 {
        1
    }
    fn uses_bubbles(&self) -> bool {
        true
    }
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let (home, eject) = self.0.attachment(packet.destination);
        let port = match self.0.steps(here.router, home) {
            (0, 0) => return Hop::eject(eject),
            (0, rows) => 2 + u32::from(rows < 0),
            (columns, _) => u32::from(columns < 0),
        };
        if here.input == port ^ 1 {
            return Hop::by(port, (packet.lane, packet.lane + 1));
        }
        Hop { port, lanes: (0, here.lanes as u8), bubble: true, reserve: false }
    }
}

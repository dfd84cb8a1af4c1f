//! Torus and mesh: one dimension after the other.

use super::{Here, Hop, Routing, share};
use crate::packet::port::Packet;
use crate::topology::torus::Torus;
use std::sync::Arc;

/// Rule that keeps the rings of a torus from filling up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RingRule {
    /// A packet enters a ring only if it leaves room for another (Carrión, Beivide, Gregorio and Vallejo, "A
    /// flow control mechanism to avoid message deadlock in k-ary n-cube networks", HiPC 1997). One virtual
    /// channel is enough.
    Bubble,
    /// Upper virtual channels for packets whose way around the ring passes the link that closes it, lower
    /// ones for the others (Dally and Seitz 1987). The channel is chosen on entering the ring as in BookSim2,
    /// so that both carry about as much. Lower ones never pass that link, and shortest ways that do never
    /// pass the one opposite to it, so that neither closes a cycle. Two are needed.
    Dateline,
}

/// Dimension order, the shorter way around each ring, ties by hash.
pub(crate) struct DimensionOrder {
    torus: Arc<Torus>,
    rule: RingRule,
    has_rings: bool,
}

impl DimensionOrder {
    pub(crate) fn new(torus: Arc<Torus>, rule: RingRule) -> Self {
        let has_rings = (0..torus.dimensions()).any(|d| torus.is_ring(d));
        DimensionOrder { torus, rule, has_rings }
    }
}

impl Routing for DimensionOrder {
    fn name(&self) -> &'static str {
        "dor"
    }
    fn looks_at_load(&self) -> bool {
        false
    }
    fn lanes_needed(&self) -> u32 {
        if self.has_rings && self.rule == RingRule::Dateline { 2 } else { 1 }
    }
    fn uses_bubbles(&self) -> bool {
        self.has_rings && self.rule == RingRule::Bubble
    }
    #[inline]
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let (home, port) = self.torus.home(packet.destination);
        if home == here.router {
            return Hop::eject(port);
        }
        // The tie is broken once: halfway around, both ways stay equally long only until the first step.
        let port = self.torus.dimension_order(here.router, home, packet.hash).unwrap_or(port);
        let all = (0, here.lanes as u8);
        if !self.torus.is_ring((port / 2) as usize) {
            return Hop::by(port, all);
        }
        let continues = here.input == port ^ 1;
        match self.rule {
            RingRule::Bubble => {
                let lanes = if continues { (packet.lane, packet.lane + 1) } else { all };
                Hop { port, lanes, bubble: !continues, reserve: false }
            }
            RingRule::Dateline => {
                // Phase: the way around this ring passes its closing link.
                let passes = if continues {
                    packet.phase == 1
                } else {
                    self.torus.passes_closing_link(here.router, home, port)
                };
                packet.phase = u8::from(passes);
                Hop::by(port, share(here.lanes, 2, u32::from(passes)))
            }
        }
    }
}

//! Torus and mesh: any shortest way that is free, else dimension order.

use super::{Here, Hop, Routing};
use crate::packet::port::Packet;
use crate::topology::torus::Torus;
use std::sync::Arc;

/// Duato's protocol with virtual channel 0 as the escape ("A new theory of deadlock-free adaptive routing in
/// wormhole networks", IEEE TPDS 1993). The escape follows dimension order, with the bubble rule on rings
/// (Puente et al., "The adaptive bubble router", JPDC 2001).
///
/// An adaptive channel is taken only with its credit in hand, so that nothing is ever waited for but the
/// escape or a link.
pub(crate) struct AdaptiveMinimal {
    torus: Arc<Torus>,
}

impl AdaptiveMinimal {
    pub(crate) fn new(torus: Arc<Torus>) -> Self {
        AdaptiveMinimal { torus }
    }
}

impl Routing for AdaptiveMinimal {
    fn name(&self) -> &'static str {
        "adaptive"
    }
    fn lanes_needed(&self) -> u32 {
        2
    }
    fn takes_credit(&self) -> bool {
        true
    }
    fn uses_bubbles(&self) -> bool {
        (0..self.torus.dimensions()).any(|d| self.torus.is_ring(d))
    }
    fn injection(&self, lanes: u32) -> (u8, u8) {
        (0, lanes as u8)
    }
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop {
        let (home, eject) = self.torus.home(packet.destination);
        if home == here.router {
            return Hop::eject(eject);
        }
        let need = here.load.need(packet);
        let mut best: Option<(u64, u32)> = None;
        self.torus.first_step::<()>(here.router, home, |dimension, up, down| {
            for port in [up.map(|_| 2 * dimension as u32), down.map(|_| 2 * dimension as u32 + 1)]
                .into_iter()
                .flatten()
            {
                let has_room = (1..here.lanes).any(|lane| here.load.free(port, lane) >= need);
                let delay = here.load.delay(port);
                if has_room && best.is_none_or(|(least, _)| delay < least) {
                    best = Some((delay, port));
                }
            }
            None
        });
        if let Some((_, port)) = best {
            return Hop { port, lanes: (1, here.lanes as u8), bubble: false, reserve: true };
        }
        let port = self.torus.dimension_order(here.router, home, packet.hash).unwrap_or(eject);
        let continues = here.input == port ^ 1 && packet.lane == 0;
        Hop {
            port,
            lanes: (0, 1),
            bubble: self.torus.is_ring((port / 2) as usize) && !continues,
            reserve: false,
        }
    }
}

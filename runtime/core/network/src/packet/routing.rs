//! Which port a packet leaves a router by: one file an algorithm, behind one trait.

pub(crate) mod adaptive_minimal;
pub(crate) mod adaptive_up;
pub(crate) mod d_mod_k;
pub(crate) mod dimension_order;
pub(crate) mod ecmp;
pub(crate) mod group_minimal;
pub(crate) mod line_order;
pub(crate) mod minimal;
pub(crate) mod progressive;
pub(crate) mod twisted_order;
pub(crate) mod ugal;
pub(crate) mod valiant;

use super::load::PortLoads;
use super::port::Packet;

/// A routing algorithm. It sees one router at a time, at the moment a packet's head can be routed there.
pub trait Routing: Send + Sync {
    /// Returns its name in a specification.
    fn name(&self) -> &'static str;
    /// Returns the fewest virtual channels with which it cannot deadlock.
    fn lanes_needed(&self) -> u32;
    /// Returns `true` if it relies on the bubble rule, for which buffers are counted in packets of full size.
    fn uses_bubbles(&self) -> bool {
        false
    }
    /// Returns `true` if it takes a packet's credit when it chooses, which only switching by whole packets
    /// can.
    fn takes_credit(&self) -> bool {
        false
    }
    /// Returns `true` if it looks at routers other than its own, which only one thread can.
    fn looks_far(&self) -> bool {
        false
    }
    /// Returns `true` if it looks at how busy ports are. One that does not can decide while a packet is still
    /// on its way.
    fn looks_at_load(&self) -> bool {
        true
    }
    /// Returns `true` if it asks for the bytes queued at and behind a port, for which what flies over its
    /// link is noted.
    fn counts_queues(&self) -> bool {
        false
    }
    /// Chooses port and virtual channels.
    fn route(&self, here: &Here<'_>, packet: &mut Packet) -> Hop;
    /// Returns which virtual channels an interface may inject into, of `lanes`.
    fn injection(&self, lanes: u32) -> (u8, u8) {
        (0, lanes as u8)
    }
}

/// The router at which a decision is made.
pub struct Here<'a> {
    /// Index of the router.
    pub router: u32,
    /// The port the packet came in by.
    pub input: u32,
    /// Virtual channels of a port.
    pub lanes: u32,
    /// Load of the router's ports.
    pub load: PortLoads<'a>,
}

/// A decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// Out by this port.
    pub port: u32,
    /// Into a virtual channel from the first to before the second.
    pub lanes: (u8, u8),
    /// Leave room for one more packet: the bubble rule for entering a ring.
    pub bubble: bool,
    /// Take the credit now, so that only the link is waited for; it must be there.
    pub reserve: bool,
}

impl Hop {
    /// Any virtual channel of the port to the destination's interface.
    pub(crate) fn eject(port: u32) -> Hop {
        Hop { port, lanes: (0, 1), bubble: false, reserve: false }
    }
    /// Returns a port and a range of virtual channels.
    pub(crate) fn by(port: u32, lanes: (u8, u8)) -> Hop {
        Hop { port, lanes, bubble: false, reserve: false }
    }
}

/// Returns the `index`-th of `count` equal shares of `lanes` virtual channels (beyond the last share, the
/// last).
#[inline]
pub(crate) fn share(lanes: u32, count: u32, index: u32) -> (u8, u8) {
    let index = index.min(count - 1);
    ((lanes * index / count) as u8, (lanes * (index + 1) / count) as u8)
}

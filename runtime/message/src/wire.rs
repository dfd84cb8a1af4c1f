//! From ranks to the network: placement, the fast way for formulas, overheads.

use engine::{Span, Time};
use network::{Analytic, Built, Endpoint, Fidelity, Network, Overheads, Placement};

/// The network as ranks see it.
pub struct Wire {
    analytic: Option<Analytic>,
    network: Option<Box<dyn Network>>,
    placement: Placement,
    /// Costs on the ranks' own time.
    pub overheads: Overheads,
    /// Whether any overhead is not zero.
    pub has_overheads: bool,
    /// Whether a message costs nobody anything but the time it is under way, which is known when it is sent.
    pub plain: bool,
    lookahead: Span,
    /// Consecutive ranks on one node of the machine, 1 where it has no such level.
    pub node: u32,
}

impl Wire {
    /// The network of a built machine; `node` consecutive ranks share a node of it.
    pub fn new(built: Built, node: u32) -> Wire {
        let overheads = built.overheads;
        let lookahead = built.network.lookahead(Endpoint(0)) + overheads.send;
        let (analytic, network) = match built.network {
            Fidelity::Analytic(analytic) => (Some(analytic), None),
            Fidelity::Packet(network) => (None, Some(network as Box<dyn Network>)),
        };
        let has_overheads = overheads != Overheads::default();
        let plain = !has_overheads && analytic.is_some();
        Wire { analytic, network, placement: built.placement, has_overheads, plain, overheads, lookahead, node }
    }
    /// Where a rank is attached.
    #[inline]
    pub fn endpoint(&self, rank: u32) -> Endpoint {
        self.placement.endpoint(rank)
    }
    /// How long `bytes` take; of a `ByTime` network a lower bound.
    #[inline(always)]
    pub fn latency(&self, from: u32, to: u32, bytes: u64) -> Span {
        match self.formula().and_then(Analytic::uniform) {
            // An endpoint holds one rank, so that it does not matter which.
            Some(uniform) => uniform.latency(from == to, bytes),
            None => self.latency_by_place(from, to, bytes),
        }
    }
    #[inline(never)]
    fn latency_by_place(&self, from: u32, to: u32, bytes: u64) -> Span {
        match &self.analytic {
            Some(analytic) => analytic.latency(self.endpoint(from), self.endpoint(to), bytes),
            None => self.lookahead,
        }
    }
    /// The formula, if it is one.
    pub fn formula(&self) -> Option<&Analytic> {
        self.analytic.as_ref()
    }
    /// A lower bound on what any message between two ranks takes.
    pub fn lookahead(&self) -> Span {
        self.lookahead
    }
    /// The `ByTime` network.
    pub fn shared(&mut self) -> Option<&mut (dyn Network + 'static)> {
        self.network.as_deref_mut()
    }
    /// Whether message times depend on other messages.
    pub fn order(&self) -> network::Order {
        self.network.as_ref().map_or(network::Order::Free, |network| network.order())
    }
    /// Why the `ByTime` network will deliver nothing more of what is under way, if so.
    pub fn stuck(&self) -> Option<String> {
        self.network.as_ref().and_then(|network| network.stuck())
    }
    /// What the packets and links of a `ByTime` network did up to `end`.
    pub fn report(&self, end: Time) -> Option<network::NetworkReport> {
        self.network.as_ref()?.report(end)
    }
    /// The next event of the `ByTime` network.
    pub fn next_event(&self) -> Option<Time> {
        self.network.as_ref().and_then(|network| network.next_event())
    }
}

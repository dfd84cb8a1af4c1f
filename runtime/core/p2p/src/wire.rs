//! From ranks to the network: placement, the fast way for formulas, overheads.

use engine::{Span, Time};
use network::{
    Built, Endpoint, Formula, Network, Overheads, Placement, Serialization, Shared, Storage, Uniform,
};

/// The network as ranks see it.
pub struct Wire {
    /// None where process 0 has it for all ([`Wire::leave_to_process_0`]).
    network: Option<Network>,
    /// The formula's, asked before the network is.
    // On the default machine all endpoints are equally far apart: one multiplication in line, where asking
    // the network would be a placement, a table and a call.
    uniform: Option<Uniform>,
    placement: Placement,
    /// Costs on the ranks' own time.
    pub overheads: Overheads,
    /// Time of the bytes of a reduction's operand, if they take time.
    reduce: Option<Serialization>,
    /// Time of a copy, and of its bytes, if copies take time.
    copy: Option<(Span, Serialization)>,
    /// `true` if a message costs its ranks anything.
    pub has_overheads: bool,
    /// `true` if messages share the network, so that times depend on other messages.
    shared: bool,
    /// `true` if a message costs nobody anything but the time it is under way, which is known when it is
    /// sent.
    straight: bool,
    /// `true` if messages may take the plain path: those that are `straight`, of which nobody wants to know
    /// and by which no rank can be missed.
    // One question for all of it, which so costs a plain message nothing.
    pub plain: bool,
    /// A lower bound on what the network takes for any message between two ranks.
    way: Span,
    /// The file system, if files take time.
    pub storage: Option<Storage>,
    /// Consecutive ranks on one node of the machine, 1 where it has no such level.
    pub node: u32,
}

impl Wire {
    /// Returns the network of a built machine; `node` consecutive ranks share a node of it.
    pub fn new(built: Built, node: u32) -> Wire {
        let Built { network, placement, overheads, storage, .. } = built;
        let way = network.lookahead(Endpoint(0));
        let has_overheads = Overheads { reduce: None, copy: None, ..overheads } != Overheads::default();
        let reduce = overheads.reduce.map(Serialization::new);
        let copy = overheads.copy.map(|cost| cost.line());
        let straight = !has_overheads && network.formula().is_some();
        let uniform = network.formula().and_then(Formula::uniform);
        let shared = network.shared().is_some();
        Wire {
            network: Some(network),
            uniform,
            placement,
            shared,
            has_overheads,
            reduce,
            copy,
            straight,
            plain: straight,
            overheads,
            way,
            storage,
            node,
        }
    }
    /// Drops this process's network if messages share it: process 0 has the only one that is used.
    pub fn leave_to_process_0(&mut self) {
        if self.shared {
            self.network = None;
        }
    }
    /// Returns `true` if another process has the network.
    #[inline]
    pub fn is_elsewhere(&self) -> bool {
        self.network.is_none()
    }
    /// Returns `true` if a message costs nobody anything but the time it is under way, which is known when it
    /// is sent, whoever wants to know of it.
    pub fn is_straight(&self) -> bool {
        self.straight
    }
    /// Returns the node of the simulated machine that a rank is on.
    pub fn node_of(&self, rank: u32) -> u32 {
        rank / self.node
    }
    /// Returns where a rank is attached.
    #[inline]
    pub fn endpoint(&self, rank: u32) -> Endpoint {
        self.placement.endpoint(rank)
    }
    /// Returns how long `bytes` take by the formula; on a shared network the lookahead, a lower bound.
    #[inline(always)]
    pub fn latency(&self, from: u32, to: u32, bytes: u64) -> Span {
        match &self.uniform {
            // An endpoint holds one rank, so that it does not matter which.
            Some(uniform) => uniform.latency(from == to, bytes),
            None => self.latency_by_place(from, to, bytes),
        }
    }
    /// Returns how long a message of the simulator's own takes from processor to processor, both overheads in
    /// it: one that no call of the program sends.
    pub fn way(&self, from: u32, to: u32, bytes: u64) -> Span {
        self.overheads.send + self.latency(from, to, bytes) + self.overheads.receive
    }
    #[inline(never)]
    fn latency_by_place(&self, from: u32, to: u32, bytes: u64) -> Span {
        match &self.network {
            Some(Network::Formula(formula)) => formula.latency(self.endpoint(from), self.endpoint(to), bytes),
            Some(Network::Shared(_)) | None => self.lookahead(),
        }
    }
    /// Returns what a receiver's processor spends on a message, if any overhead is not zero.
    #[inline(always)]
    pub fn receive_overhead(&self) -> Option<Span> {
        self.has_overheads.then_some(self.overheads.receive)
    }
    /// Returns what a rank's processor spends on combining so many bytes of an operand, if that takes time.
    #[inline]
    pub fn reduction(&self, bytes: u64) -> Option<Span> {
        self.reduce.map(|line| line.time(bytes))
    }
    /// Returns what a rank's processor spends on a copy of so many bytes inside a collective, if that takes
    /// time.
    #[inline]
    pub fn copying(&self, bytes: u64) -> Option<Span> {
        self.copy.map(|(span, line)| span + line.time(bytes))
    }
    /// Returns `true` if reductions or copies inside a collective take time.
    #[inline]
    pub fn has_local_costs(&self) -> bool {
        self.reduce.is_some() || self.copy.is_some()
    }
    /// Returns how far apart any two endpoints are, if all are equally far by a formula.
    #[inline]
    pub fn uniform(&self) -> Option<&Uniform> {
        self.uniform.as_ref()
    }
    /// A lower bound on what any message between two ranks takes.
    // The sender's processor works before the message leaves, so that its overhead is time in which nobody
    // hears of it.
    pub fn lookahead(&self) -> Span {
        self.way + self.overheads.send
    }
    /// Returns a lower bound on what an acknowledgement takes, which costs no processor anything.
    pub fn way_back(&self) -> Span {
        self.way
    }
    /// Returns `true` if messages share the network, so that times depend on other messages.
    pub fn is_shared(&self) -> bool {
        self.shared
    }
    /// Returns the shared network, where it is.
    pub fn shared(&mut self) -> Option<&mut (dyn Shared + Send)> {
        self.network.as_mut()?.shared_mut()
    }
    fn shared_here(&self) -> Option<&(dyn Shared + Send)> {
        self.network.as_ref()?.shared()
    }
    /// Returns why the shared network will deliver nothing more of what is under way, if so.
    pub fn stuck(&self) -> Option<String> {
        self.shared_here().and_then(Shared::stuck)
    }
    /// Returns what the packets and links of a shared network did up to `end`, and where each of so many
    /// ranks sits in it.
    pub fn report(&self, end: Time, ranks: u32) -> Option<network::NetworkReport> {
        Some(self.shared_here()?.report(end).with_ranks(ranks, |rank| self.endpoint(rank)))
    }
    /// Returns how busy the links of a shared network were up to `end`, if that was kept.
    pub fn link_series(&self, end: Time) -> Option<network::LinkSeries> {
        self.shared_here()?.series(end)
    }
    /// Returns the next event of the shared network.
    pub fn next_event(&self) -> Option<Time> {
        self.shared_here().and_then(Shared::next_event)
    }
}

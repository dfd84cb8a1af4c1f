//! Messages under way between ranks of a machine.

use engine::slab::Slab;
use engine::{Span, Time};
use network::{Built, Delivered, Message, Network, Overheads, Serialization};

/// Part of a communication that a message is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MessagePurpose {
    /// Payload of a send.
    Payload(u32),
    /// Request of a send above the eager limit.
    Request(u32),
    /// Answer to such a request.
    Clear(u32),
    /// Message of a collective.
    Round {
        /// The collective.
        collective: u32,
        /// Receiving member.
        to: u32,
        /// Sending member.
        from: u32,
        /// Round of the schedule.
        round: u32,
        /// Number of the message among those of the two members in the round.
        sequence: u32,
    },
}

/// A message under way on a shared network.
#[derive(Clone, Copy)]
struct ShippedMessage {
    purpose: MessagePurpose,
    from: u32,
    to: u32,
    bytes: u64,
}

/// The network of a machine, and what messages cost its ranks.
pub struct MachineMedium<'n> {
    /// Costs at the ranks.
    pub overheads: Overheads,
    /// Consecutive ranks on one node.
    pub ranks_per_node: u32,
    built: &'n mut Built,
    reduce: Option<Serialization>,
    copy: Option<(Span, Serialization)>,
    shipped: Slab<ShippedMessage>,
    delivered: Vec<Delivered>,
}

impl<'n> MachineMedium<'n> {
    /// Returns the network of a machine.
    pub fn new(built: &'n mut Built) -> MachineMedium<'n> {
        let overheads = built.overheads;
        MachineMedium {
            overheads,
            ranks_per_node: built.ranks_per_node,
            reduce: overheads.reduce.map(Serialization::new),
            copy: overheads.copy.map(|cost| cost.line()),
            built,
            shipped: Slab::default(),
            delivered: Vec::new(),
        }
    }

    /// Returns `true` if messages delay each other.
    pub fn is_shared(&self) -> bool {
        self.built.network.shared().is_some()
    }

    /// Returns how long a message takes by the formula; no time on a shared network.
    pub fn latency(&self, from: u32, to: u32, bytes: u64) -> Span {
        let [source, destination] = [from, to].map(|rank| self.built.placement.endpoint(rank));
        self.built.network.formula().map_or(Span::ZERO, |formula| formula.latency(source, destination, bytes))
    }

    /// Keeps a message that is to leave later. Returns its number.
    pub fn keep(&mut self, purpose: MessagePurpose, from: u32, to: u32, bytes: u64) -> u32 {
        self.shipped.insert(ShippedMessage { purpose, from, to, bytes })
    }

    /// Hands a kept message to the shared network. Returns its arrival and its purpose, unless
    /// [`Self::advance_to_delivery`] will.
    pub fn depart(&mut self, number: u32, now: Time) -> Option<(Time, MessagePurpose)> {
        let &ShippedMessage { from, to, bytes, .. } = self.shipped.get(number)?;
        let [source, destination] = [from, to].map(|rank| self.built.placement.endpoint(rank));
        let message = Message { source, destination, bytes, id: number.into(), class: 0 };
        let at = self.built.network.shared_mut()?.send(now, &message)?;
        self.shipped.remove(number).map(|shipped| (at, shipped.purpose))
    }

    /// Carries a shared network through its next delivery, or to `limit`. Returns what arrived.
    pub fn advance_to_delivery(&mut self, limit: Time) -> Vec<(Time, MessagePurpose)> {
        if let Network::Shared(shared) = &mut self.built.network {
            shared.advance_to_delivery(limit, &mut self.delivered);
        }
        let shipped = &mut self.shipped;
        let arrived = self.delivered.drain(..);
        arrived.filter_map(|Delivered { id, at }| Some((at, shipped.remove(id as u32)?.purpose))).collect()
    }

    /// Returns why a shared network delivers nothing more though messages are under way, if so.
    pub fn stuck(&self) -> Option<String> {
        self.built.network.shared()?.stuck()
    }

    /// Returns what a collective's reduction of bytes takes.
    pub fn reduction(&self, bytes: u64) -> Span {
        self.reduce.map_or(Span::ZERO, |line| line.time(bytes))
    }

    /// Returns what a collective's copy of bytes takes.
    pub fn copying(&self, bytes: u64) -> Span {
        self.copy.map_or(Span::ZERO, |(span, line)| span + line.time(bytes))
    }
}

//! Times of messages: the LogGOPS formula, or a simulated machine.

use crate::loggops::LogGops;
use engine::{Span, Time};
use network::{Built, Delivered, Endpoint, Message, Network, Overheads, Placement, Shared};

/// Costs of each message at its ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageCosts {
    /// Processor time at the sender.
    pub send: Span,
    /// Processor time at the receiver.
    pub receive: Span,
    /// Interface time at either, besides its bytes.
    pub gap: Span,
    /// The longest message that does not wait for its receive, in bytes.
    pub eager: u64,
}

/// The network that carries messages.
enum Medium<'n> {
    LogGops(LogGops),
    Machine(&'n mut Network, &'n Placement),
}

/// A network with the costs of messages at the ranks.
pub struct Carrier<'n> {
    /// Costs at the ranks.
    pub costs: MessageCosts,
    medium: Medium<'n>,
}

/// Returns a span of so many nanoseconds, or the longest of all.
fn nanoseconds(count: u64) -> Span {
    Span::from_ps(count.saturating_mul(1000))
}

impl<'n> Carrier<'n> {
    /// Returns the LogGOPS formula: any two ranks are equally far apart.
    pub fn loggops(model: &LogGops) -> Carrier<'static> {
        let overhead = nanoseconds(model.overhead);
        let costs = MessageCosts {
            send: overhead,
            receive: overhead,
            gap: nanoseconds(model.gap),
            eager: model.eager,
        };
        Carrier { costs, medium: Medium::LogGops(*model) }
    }

    /// Returns a machine's network, on which *L* is the time of a message of one byte and the time of further
    /// bytes is *G*. The bytes of a shared network take its links alone, not the ranks' interfaces.
    pub fn machine(built: &'n mut Built) -> Carrier<'n> {
        let Overheads { send, receive, gap, eager_limit, .. } = built.overheads;
        let costs = MessageCosts { send, receive, gap, eager: eager_limit.unwrap_or(u64::MAX) };
        Carrier { costs, medium: Medium::Machine(&mut built.network, &built.placement) }
    }

    /// Returns how long the bytes of a message but the first take either interface and the receiver's
    /// processor.
    pub fn line(&self, from: u32, to: u32, bytes: u64) -> Span {
        match &self.medium {
            Medium::LogGops(model) => {
                Span::from_ps(nanoseconds(model.gap_per_byte).as_ps().saturating_mul(bytes.saturating_sub(1)))
            }
            Medium::Machine(Network::Formula(formula), placement) => {
                let (source, destination) = (placement.endpoint(from), placement.endpoint(to));
                let time = |bytes| formula.latency(source, destination, bytes);
                if bytes > 1 { time(bytes) - time(1) } else { Span::ZERO }
            }
            Medium::Machine(Network::Shared(_), _) => Span::ZERO,
        }
    }

    /// Sends a message that leaves its processor at a time. Returns when its first byte arrives, or `None` if
    /// [`Self::advance_to_delivery`] delivers it by its number.
    pub fn send(&mut self, leaves: Time, from: u32, to: u32, bytes: u64, id: u32) -> Option<Time> {
        match &mut self.medium {
            Medium::LogGops(model) => Some(leaves.saturating_add(nanoseconds(model.latency))),
            Medium::Machine(network, placement) => {
                let [source, destination]: [Endpoint; 2] = [from, to].map(|rank| placement.endpoint(rank));
                match network {
                    Network::Formula(formula) => {
                        Some(leaves.saturating_add(formula.latency(source, destination, bytes.min(1))))
                    }
                    Network::Shared(shared) => {
                        shared.send(leaves, &Message { source, destination, bytes, id: id.into(), class: 0 })
                    }
                }
            }
        }
    }

    /// Carries a shared network through its next delivery, or to `limit`. Appends what it delivers; returns
    /// `false` if that is nothing.
    pub fn advance_to_delivery(&mut self, limit: Time, delivered: &mut Vec<Delivered>) -> bool {
        match &mut self.medium {
            Medium::Machine(Network::Shared(shared), _) => shared.advance_to_delivery(limit, delivered),
            _ => false,
        }
    }

    /// Returns why a shared network delivers nothing more though messages are under way, if so.
    pub fn stuck(&self) -> Option<String> {
        self.shared()?.stuck()
    }

    fn shared(&self) -> Option<&(dyn Shared + Send)> {
        match &self.medium {
            Medium::Machine(network, _) => network.shared(),
            Medium::LogGops(_) => None,
        }
    }
}

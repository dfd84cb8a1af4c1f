//! The interface of a network to its user: a formula, which answers for each message by itself, or shared by
//! messages, which delay each other.

use crate::bandwidth::Serialization;
use crate::message::{Delivered, Endpoint, Message};
use crate::packet::{LinkSeries, NetworkReport};
use engine::{Span, Time};

/// A network on which a message's time depends on nothing but its source, destination and size.
///
/// It has no state, so that it may be asked in any order, by any number of native processes.
pub trait Formula {
    /// Returns how many endpoints there are.
    fn endpoints(&self) -> u64;
    /// Returns a lower bound on the time that any message to `to` from another endpoint takes; may be zero.
    /// Endpoint 0 has the least of all.
    fn lookahead(&self, to: Endpoint) -> Span;
    /// Returns how long a message of `bytes` takes; both endpoints must be below `endpoints()`.
    ///
    /// Unwinds with [`engine::EndOfTime`] beyond 2^64 ps (213 days), as clocks do.
    fn latency(&self, source: Endpoint, destination: Endpoint, bytes: u64) -> Span;
    /// If every two different endpoints are equally far apart: how far. For loops over many messages.
    fn uniform(&self) -> Option<Uniform> {
        None
    }
}

/// Latency between any two endpoints of a network in which all are equally far apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Uniform {
    /// Latency of an empty message between two different endpoints.
    pub latency: Span,
    /// The further time of its bytes; also the whole time of a message from an endpoint to itself.
    pub line: Serialization,
}

impl Uniform {
    /// Returns how long a message takes; `own` says whether it goes to the endpoint it comes from.
    #[inline(always)]
    pub fn latency(&self, own: bool, bytes: u64) -> Span {
        let hops = if own { Span::ZERO } else { self.latency };
        hops + self.line.time(bytes)
    }
}

/// A network on which messages share links and buffers, so that one may delay another.
pub trait Shared {
    /// Returns how many endpoints there are.
    fn endpoints(&self) -> u64;
    /// Returns a lower bound on the time that any message to `to` from another endpoint takes; may be zero.
    fn lookahead(&self, to: Endpoint) -> Span;
    /// Gives a message to the network at `at`. Returns its arrival if the message shares nothing with any
    /// other; else [`Self::advance_to_delivery`] delivers it.
    ///
    /// Times must lie neither before the last delivery or event, nor before the last time for the source.
    fn send(&mut self, at: Time, message: &Message) -> Option<Time>;
    /// The message will be sent soon: asks for what that needs. O(1).
    fn prefetch(&self, _message: &Message) {}
    /// Returns the time of the earliest event inside it, before which nothing is delivered.
    fn next_event(&self) -> Option<Time>;
    /// Carries it through the first instant at or before `limit` at which it delivers something. Without
    /// one, carries it through all events up to then and returns `false`.
    ///
    /// Appends all deliveries of the instant, by id.
    fn advance_to_delivery(&mut self, limit: Time, delivered: &mut Vec<Delivered>) -> bool;
    /// Returns why nothing will ever be delivered again though messages are under way, as a sentence; `None`
    /// while something can happen, and where nothing is under way.
    fn stuck(&self) -> Option<String>;
    /// From now on it keeps how busy its links were when.
    fn keep_series(&mut self);
    /// Returns how busy they were up to `end`; `None` if that was not to be kept.
    fn series(&self, end: Time) -> Option<LinkSeries>;
    /// Returns what its packets and links did up to `end`.
    fn report(&self, end: Time) -> NetworkReport;
}

/// A shared network whose interfaces may serve pairs of ranks in turn, where several ranks have one
/// interface.
pub(crate) trait Interfaces: Shared {
    /// Takes a message of a pair of ranks, as [`Shared::send`] does. The message is always delivered by
    /// [`Shared::advance_to_delivery`].
    fn send_of_pair(&mut self, at: Time, message: &Message, pair: u64);
}

/// A network of one kind or the other: no caller can take one for the other.
pub enum Network {
    /// A message's time is known when it is sent.
    Formula(Box<dyn Formula + Send>),
    /// Messages must be given in order of time, and their arrivals are known later.
    Shared(Box<dyn Shared + Send>),
}

impl Network {
    /// Returns how many endpoints there are.
    pub fn endpoints(&self) -> u64 {
        match self {
            Network::Formula(network) => network.endpoints(),
            Network::Shared(network) => network.endpoints(),
        }
    }

    /// Returns a lower bound on the time that any message to `to` from another endpoint takes; may be zero.
    pub fn lookahead(&self, to: Endpoint) -> Span {
        match self {
            Network::Formula(network) => network.lookahead(to),
            Network::Shared(network) => network.lookahead(to),
        }
    }

    /// Returns the formula, if it is one.
    pub fn formula(&self) -> Option<&(dyn Formula + Send)> {
        match self {
            Network::Formula(network) => Some(&**network),
            Network::Shared(_) => None,
        }
    }

    /// Returns the network that messages share, if they do.
    pub fn shared(&self) -> Option<&(dyn Shared + Send)> {
        match self {
            Network::Formula(_) => None,
            Network::Shared(network) => Some(&**network),
        }
    }

    /// Returns the network that messages share, if they do.
    pub fn shared_mut(&mut self) -> Option<&mut (dyn Shared + Send)> {
        match self {
            Network::Formula(_) => None,
            Network::Shared(network) => Some(&mut **network),
        }
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.formula().is_some() { "Formula" } else { "Shared" };
        f.debug_struct(kind).field("endpoints", &self.endpoints()).finish_non_exhaustive()
    }
}

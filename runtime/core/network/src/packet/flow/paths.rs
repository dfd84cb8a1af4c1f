//! The contract of what gives flows their paths.

use crate::message::{Endpoint, Message};
use crate::packet::report::{LinkReport, NetworkReport};
use crate::packet::statistics::Statistics;
use engine::Span;
use flow::Capacity;

/// The properties of a path.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    /// Picoseconds that a byte takes without waiting, its time in links aside.
    pub(crate) latency: u64,
    /// Routers passed.
    pub(crate) routers: u32,
    /// Bytes that its links carry for the message.
    pub(crate) work: u64,
    /// The most that one message gets, where that is less than every link of the path has.
    pub(crate) bound: Option<Capacity>,
    /// The flow's weight where it shares a link.
    pub(crate) weight: u32,
}

/// Finds the paths of messages over numbered links.
pub(crate) trait Paths {
    /// Returns the capacity of each link; where bytes take no time, any other's.
    fn capacities(&self) -> Vec<Capacity>;
    /// Returns the number of endpoints.
    fn endpoints(&self) -> u64;
    /// Returns a lower bound on the time of any message to `to` from another endpoint.
    fn nearest_latency(&self, to: Endpoint) -> Span;
    /// Returns the time of a message that shares nothing with any other.
    fn time_alone(&self, _message: &Message) -> Option<Span> {
        None
    }
    /// Finds the path of a message that leaves at a time, in picoseconds. What follows is of this path.
    fn find(&mut self, message: &Message, at: u64) -> Route;
    /// Returns the links of the path that was found last.
    fn links(&self) -> &[u32];
    /// Returns those of its links on which bytes take time, each once.
    fn limited(&self) -> &[u32];
    /// Returns the links that its acknowledgements share on their way back.
    fn back(&self) -> &[u32] {
        &[]
    }
    /// Returns `true` if acknowledgements take capacity.
    fn has_cross_traffic(&self) -> bool {
        false
    }
    /// Returns its first and last link, where short messages queue.
    fn ends(&self) -> (u32, u32);
    /// Returns the picoseconds that a message of so many bytes takes in the narrowest part of the path.
    fn slowest_span(&self, bytes: u64) -> u64;
    /// Returns the picoseconds that so many bytes take in a link.
    fn span(&self, link: u32, bytes: u64) -> u64;
    /// Returns the picoseconds for which a short message of so many bytes keeps others from a link.
    fn occupancy(&self, link: u32, bytes: u64) -> u64 {
        self.span(link, bytes)
    }
    /// Returns what each link did that has carried so many bytes; shares are of `duration` picoseconds.
    fn each_link(&self, carried: &[u64], duration: u64) -> Vec<LinkReport>;
    /// Returns the report of a network with these links.
    fn report(&self, each_link: Vec<LinkReport>, statistics: &Statistics) -> NetworkReport;
}

//! State of dynamic processes.

use crate::ask::{Answer, Ask, Reply};
use crate::operation::Operation;
use crate::port::{OpenPort, PortName, PortWaiter};
use engine::{Span, Time};
use objects::slab::Slab;
use p2p::chapter::arrivals::Arrivals;
use p2p::faults::Fault;
use rustc_hash::FxHashMap;

/// The rank at whose process names are published and sockets' ends meet.
pub(crate) const NAMES: u32 = 0;

/// Ports of this process's ranks, names if they are here, and what is under way.
#[derive(Default)]
pub struct Dynamic {
    /// Ports that ranks of this process have open.
    pub(crate) ports: FxHashMap<PortName, OpenPort>,
    /// The number of ports that a rank of this process has opened, closed ones included.
    // A number is not used again: who knows the name of a closed port must not get to another one.
    pub(crate) opened: FxHashMap<u32, u32>,
    /// Ports by their services' names, at [`NAMES`].
    pub(crate) names: FxHashMap<Box<str>, Box<str>>,
    /// First ends of sockets, by what both ends call them, at [`NAMES`].
    pub(crate) ends: FxHashMap<Box<str>, PortWaiter>,
    /// From when ranks are spawned until they run.
    pub(crate) start_up: Span,
    pub(crate) operations: Slab<Operation>,
    /// Questions that wait to be served, or that a shared network carries.
    pub(crate) asks: Slab<Ask>,
    pub(crate) arrivals: Arrivals<u32>,
    /// Answers that a shared network carries: to which operation.
    pub(crate) answers: Slab<(u32, Answer)>,
    /// Flights that a shared network has delivered: their words and times of arrival.
    pub(crate) landed: Vec<([u32; 4], Time)>,
    /// The number of questions that each rank of this process has sent.
    pub(crate) asked: FxHashMap<u32, u32>,
    /// Operations that have ended with an error because somebody has failed or the communicator is revoked.
    pub(crate) broken: FxHashMap<u32, Fault>,
    /// The answer to the operation that completed last.
    pub(crate) reply: Reply,
}

impl Dynamic {
    /// Makes a state with nothing under way. `start_up` is how long a spawned rank takes to begin.
    pub fn new(start_up: Span) -> Dynamic {
        Dynamic { start_up, ..Dynamic::default() }
    }

    /// Returns `true` if a rank of this process has ever opened a port.
    pub fn has_ports(&self) -> bool {
        !self.opened.is_empty()
    }

    /// Returns `true` if a rank of this process has asked for anything of the chapter.
    pub fn is_used(&self) -> bool {
        !self.asked.is_empty()
    }
}

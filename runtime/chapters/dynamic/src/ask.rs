//! Requests of ranks, and the answers.

use crate::port::PortName;
use engine::Time;
use objects::error::Result;
use objects::group::Group;
use p2p::chapter::arrivals::Arrival;
use std::rc::Rc;

/// One side of an intercommunicator that is to be made.
#[derive(Clone, Debug)]
pub struct IntercommSide {
    /// The members.
    pub group: Rc<Group>,
    /// The context that it proposes: that of who accepts is taken, which both then know.
    pub context: u32,
}

/// Ranks to spawn that run alike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// The file of the program that they run; empty for the one that the run began with.
    pub program: Box<[u8]>,
    /// The directory in which they run, if each is a process; empty for this process's directory.
    pub directory: Box<[u8]>,
    /// The arguments of their `main`, the program's name first.
    pub arguments: Box<[Box<[u8]>]>,
    /// Permitted numbers of ranks, the best first.
    pub numbers: Box<[u32]>,
}

/// The action that a question asks for.
#[derive(Clone, Debug)]
pub(crate) enum PortAction {
    /// Waits at a port for somebody who connects.
    Accept(PortName, IntercommSide),
    /// Waits at a port for somebody who accepts.
    Connect(PortName, IntercommSide),
    /// Nobody connects to this port any more.
    Close(PortName),
    /// Waits for the other end of a socket, which both ends call by the same name.
    Join(Box<str>, IntercommSide),
    /// A service has a port under this name.
    Publish(Box<str>, Box<str>),
    /// It has none any more.
    Unpublish(Box<str>, Box<str>),
    /// A lookup of a service's port by the service's name.
    Look(Box<str>),
    /// Starts ranks that have not run; the second context is that of their world.
    Spawn(Box<[Command]>, IntercommSide, u32),
}

/// Bytes of a message that has no text: a port's number, a context.
const WORD: u64 = 8;

impl PortAction {
    /// Returns the bytes of the message that asks.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            PortAction::Accept(..)
            | PortAction::Connect(..)
            | PortAction::Close(_)
            | PortAction::Join(..) => WORD,
            PortAction::Publish(name, port) | PortAction::Unpublish(name, port) => {
                (name.len() + port.len()) as u64
            }
            PortAction::Look(name) => name.len() as u64,
            PortAction::Spawn(commands, ..) => {
                commands.iter().flat_map(|command| &command.arguments).map(|text| text.len() as u64).sum()
            }
        }
    }
}

/// A question on its way, or in its place.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// The rank where it is answered (world number, as all others here).
    pub(crate) place: u32,
    pub(crate) origin: u32,
    /// The time at which it is there.
    pub(crate) arrival: Time,
    /// The sequence number of the question among those of its origin.
    pub(crate) sequence: u32,
    pub(crate) action: PortAction,
    /// The number of the operation in its origin's process; [`NOBODY`] if no operation waits for the answer.
    pub(crate) operation: u32,
}

/// The operation of a question that nobody waits to be answered.
pub(crate) const NOBODY: u32 = u32::MAX;

impl Ask {
    /// Returns the arrival by which it is ordered among those that wait there, of which it is this one.
    pub(crate) fn turn(&self, index: u32) -> Arrival<u32> {
        Arrival { time: self.arrival, origin: self.origin, sequence: self.sequence, what: index }
    }
}

/// The result of a question.
#[derive(Clone, Debug, Default)]
pub enum Reply {
    /// It is done.
    #[default]
    Done,
    /// A port's name.
    Port(Box<str>),
    /// The other side that was met, with the context that both sides take.
    Met(IntercommSide),
    /// The ranks that were spawned, and their number for each command.
    Spawned(IntercommSide, Rc<[u32]>),
}

impl Reply {
    /// Returns the bytes of the message that answers.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Reply::Done => 0,
            Reply::Port(name) => name.len() as u64,
            Reply::Met(_) | Reply::Spawned(..) => WORD,
        }
    }
}

/// A reply, or why there is none.
pub(crate) type Answer = Result<Reply>;

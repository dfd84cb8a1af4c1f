//! Calls of a rank without a program.

use crate::bridge::BridgeCall;
use crate::file::{AccessEnd, FileAccess, FileAction, FileCall, TypeCall};
use crate::partitioned::PartitionedCall;
use crate::ports::PortCall;
use crate::window::{WindowAction, WindowCall};
use engine::Span;
use mpi::collective::Reducing;
use mpi::point_to_point::SendMode;
use mpi::ranks::effort::Course;
use mpi::schedule::{Blocks, Kind};
use std::rc::Rc;

/// The next step of a rank. Messages are `bytes` long. Communicators are numbered as the rank made them, from
/// [`Call::WORLD`] on, those that it got none of left out. Requests as the workload likes: a rank has room
/// for as many as the greatest of its open ones says, so that small numbers that come again are best.
#[derive(Clone, PartialEq, Debug)]
pub enum Call {
    /// `MPI_Send`, or one of its modes.
    Send(SendMode, Envelope),
    /// `MPI_Isend`, or one of its modes, with the request's number.
    Isend(SendMode, Envelope, u32),
    /// `MPI_Recv`.
    Recv(Envelope),
    /// `MPI_Irecv`, with the request's number.
    Irecv(Envelope, u32),
    /// `MPI_Sendrecv`.
    SendReceive(Box<Exchange>),
    /// `MPI_Isendrecv`, with the request's number.
    IsendReceive(Box<Exchange>, u32),
    /// `MPI_Probe`.
    Probe(Envelope),
    /// `MPI_Mprobe`, with the message's number: messages are numbered as requests are.
    Mprobe(Envelope, u32),
    /// `MPI_Mrecv` of a message with this number, into so many bytes.
    Mrecv(u32, u64),
    /// `MPI_Imrecv`, with the request's number.
    Imrecv(u32, u64, u32),
    /// Calls that wait for nothing, as one (`MPI_Startall`).
    Several(Box<[Call]>),
    /// A wait or a test.
    Complete(Wait, Requests),
    /// `MPI_Request_free` of a request with this number.
    FreeRequest(u32),
    /// A collective that waits.
    Collective(Box<Collective>),
    /// A collective that makes a request with this number.
    Icollective(Box<Collective>, u32),
    /// A collective that may be started again and again (`MPI_Barrier_init`), with the number of its request.
    PersistentCollective(Box<Collective>, u32),
    /// `MPI_Start` of such a request.
    Start(u32),
    /// `MPI_Comm_dup` of a communicator.
    Dup(u32),
    /// `MPI_Comm_idup` of a communicator, with the number of the new one, if it is used, and of the request.
    Idup(u32, Option<u32>, u32),
    /// `MPI_Comm_split` of a communicator, with color and key.
    Split(u32, i32, i32),
    /// `MPI_Comm_create_group` within a communicator, of these members (all ranks of the run counted) in this
    /// order, with a tag; without a communicator `MPI_Comm_create_from_group`.
    Group(Option<u32>, Rc<[u32]>, i32),
    /// A communicator with a process topology is made of one.
    Neighborhood(u32, Box<Neighborhood>),
    /// An intercommunicator is made or merged.
    Bridge(Box<BridgeCall>),
    /// A call about ports.
    Port(Box<PortCall>),
    /// `MPI_Comm_free` of a communicator that the rank made.
    FreeComm(u32),
    /// A call about a window.
    Window(Box<WindowCall>),
    /// A call about a file.
    File(Box<FileCall>),
    /// A call about a partitioned send or receive.
    Partitioned(Box<PartitionedCall>),
    /// A call that failed when it was recorded: it is made, and may fail.
    Failing(Box<Call>),
    /// A collective on a communicator that was refused to the rank.
    Refused(u32),
    /// A call that makes or frees a datatype, which takes no time.
    Type(Box<TypeCall>),
    /// A call that neither communicates nor takes time.
    Local,
    /// Computation.
    Compute(Span),
    /// The run cannot go on, for this reason.
    Fail(Box<str>),
    /// `MPI_Finalize`, and the end of the rank.
    End,
}

impl Call {
    /// The number of `MPI_COMM_WORLD`.
    pub const WORLD: u32 = 0;
    /// The number of `MPI_COMM_SELF`; communicators that the rank makes come behind it.
    pub const SELF: u32 = 1;

    /// Returns `true` if it may find nothing, and the rank asks again.
    #[inline]
    pub(crate) fn polls(&self) -> bool {
        match self {
            Call::Complete(wait, _) => *wait == Wait::Test,
            Call::Window(call) => call.does == WindowAction::Sync,
            _ => false,
        }
    }

    /// Returns the number of the request or message that the call makes.
    pub(crate) fn number(&self) -> Option<u32> {
        match self {
            Call::Isend(_, _, number)
            | Call::Irecv(_, number)
            | Call::IsendReceive(_, number)
            | Call::Mprobe(_, number)
            | Call::Imrecv(_, _, number)
            | Call::Icollective(_, number)
            | Call::Idup(_, _, number)
            | Call::PersistentCollective(_, number) => Some(*number),
            Call::Several(calls) => calls.iter().filter_map(Call::number).max(),
            Call::Partitioned(call) => Some(call.request),
            Call::Window(call) => match call.does {
                WindowAction::Access(_, number) => number,
                _ => None,
            },
            Call::File(call) => match &call.does {
                FileAction::Access(FileAccess { ends: AccessEnd::Request(number), .. }) => Some(*number),
                _ => None,
            },
            Call::Failing(call) => call.number(),
            _ => None,
        }
    }

    /// Returns the message that the call is the sending or receiving of, if it is nothing else.
    pub(crate) fn message(&self) -> Option<Message> {
        let (what, envelope) = match *self {
            Call::Send(mode, envelope) => (What::Send(mode), envelope),
            Call::Isend(mode, envelope, number) => (What::Isend(mode, number), envelope),
            Call::Recv(envelope) => (What::Recv, envelope),
            Call::Irecv(envelope, number) => (What::Irecv(number), envelope),
            _ => return None,
        };
        Some(Message { what, envelope })
    }
}

/// An operation on a message, with the number of its request if it has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// `MPI_Send`, or one of its modes.
    Send(SendMode),
    /// `MPI_Isend`, or one of its modes.
    Isend(SendMode, u32),
    /// `MPI_Recv`.
    Recv,
    /// `MPI_Irecv`.
    Irecv(u32),
}

/// A call that sends or receives a message, and does nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The operation on the message.
    pub what: What,
    /// The message's peer, tag, communicator and length.
    pub envelope: Envelope,
}

impl Message {
    /// Returns what the call does to those that were started in a row before it; all that are no messages end
    /// the row.
    #[inline]
    pub(crate) fn course(&self) -> Course {
        match self.what {
            What::Send(SendMode::Standard | SendMode::Ready)
            | What::Isend(SendMode::Standard | SendMode::Ready, _) => Course::Starts,
            What::Irecv(_) => Course::Posts,
            _ => Course::Ends,
        }
    }
}

/// Messages that follow one another and differ in whom they are with, in tag, length and the number of their
/// request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Series {
    /// The number of their function.
    pub function: u16,
    /// The operation of each call.
    pub starts: Starts,
    /// The communicator's number.
    pub comm: u32,
    /// The greatest number of calls.
    pub calls: u32,
}

/// The operation that all calls of a [`Series`] make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Starts {
    /// `MPI_Send`, or one that leaves at once.
    Sends,
    /// `MPI_Isend`, or one that leaves at once.
    Isends,
    /// `MPI_Irecv`.
    Irecvs,
}

/// With whom the calls of a series may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partners {
    /// The rank in the communicator, and how many that has.
    pub me: u32,
    /// See `me`.
    pub size: u32,
    /// The first of those in it that a call may be with, and how many these are.
    pub first: u32,
    /// See `first`.
    pub count: u32,
}

/// A call of a [`Series`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// The other rank in the communicator.
    pub peer: u32,
    /// The tag.
    pub tag: i32,
    /// The message's length, or the room that a receive has.
    pub bytes: u64,
    /// The number of its request, if it has one.
    pub number: u32,
}

/// Calls that follow one another: messages in one communicator that are started, and then all waited for.
/// Nothing else of the rank is open meanwhile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Volley {
    /// The messages; whom these are with is not told here ([`Workload::volley`](crate::Workload::volley)).
    pub starts: Box<[Start]>,
    /// The starts that are alike and follow one another: their function, what they do, and how many they are.
    pub rows: Box<[(u16, Starts, u32)]>,
    /// The communicator's number.
    pub comm: u32,
    /// The number of sends among the messages.
    pub sends: u16,
    /// The number of the function of the last call.
    pub function: u16,
    /// The number of requests that it waits for, whose numbers are those below; `None` where it is an
    /// `MPI_Recv`, whose message is the last one.
    pub requests: Option<u32>,
}

/// Requests of a rank that a call waits for, all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Awaited {
    /// Their numbers.
    pub numbers: Rc<[u32]>,
    /// `true` if these are 0, 1, 2, ...
    pub counts_up: bool,
}

impl From<Message> for Call {
    fn from(Message { what, envelope }: Message) -> Call {
        match what {
            What::Send(mode) => Call::Send(mode, envelope),
            What::Isend(mode, number) => Call::Isend(mode, envelope, number),
            What::Recv => Call::Recv(envelope),
            What::Irecv(number) => Call::Irecv(envelope, number),
        }
    }
}

/// The process topology of a communicator that is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Neighborhood {
    /// `MPI_Cart_create`: dimensions, and which of them wrap around.
    Cart(Box<[i32]>, Box<[bool]>),
    /// `MPI_Graph_create`: where each node's neighbours end, and the neighbours.
    Graph(Box<[i32]>, Box<[i32]>),
    /// `MPI_Dist_graph_create_adjacent`: where this rank's edges come from, and where they go.
    Adjacent(Box<[u32]>, Box<[u32]>),
    /// `MPI_Dist_graph_create`: edges from and to.
    Edges(Vec<(u32, u32)>),
    /// `MPI_Cart_sub` of a grid: which dimensions remain.
    Part(Box<[bool]>),
}

/// Both messages of an `MPI_Sendrecv`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// The message that is sent.
    pub to: Envelope,
    /// The message that is received.
    pub from: Envelope,
    /// `true` if it has one buffer (`MPI_Sendrecv_replace`), so that the payload leaves before the receive is
    /// posted.
    pub replaces: bool,
}

/// A message's, or what a receive accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// The other rank in the communicator; `MPI_ANY_SOURCE` and `MPI_PROC_NULL` as in MPI.
    pub peer: i32,
    /// The tag, or `MPI_ANY_TAG`.
    pub tag: i32,
    /// The communicator's number.
    pub comm: u32,
    /// The message's length, or the room that a receive has.
    pub bytes: u64,
}

/// The requests of a rank that a call completes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Requests {
    /// All that are open.
    All,
    /// These, by their numbers.
    These(Rc<[u32]>),
}

/// A call that completes requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// `MPI_Waitall`, of one request `MPI_Wait`.
    All,
    /// `MPI_Waitany`.
    Any,
    /// `MPI_Waitsome`.
    Some,
    /// `MPI_Testall`, of one request `MPI_Test`.
    Test,
    /// Asks again until it finds all complete: only then does the rank see to the first of them.
    Tested,
}

/// A collective; of a neighbourhood, on a communicator that has a topology.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collective {
    /// The kind.
    pub kind: Kind,
    /// The communicator's number.
    pub comm: u32,
    /// The root's rank, in an intercommunicator as MPI has it; `None` if the collective has no root.
    pub root: Option<i32>,
    /// Bytes as in [`mpi::collective::Lengths`].
    pub bytes: u64,
    /// Blocks as in [`mpi::collective::Lengths`].
    pub blocks: Option<(Blocks, Blocks)>,
    /// `true` for a v or w form, whose blocks may differ.
    pub is_irregular: bool,
    /// With what it reduces.
    pub reduction: Option<Reducing>,
}

/// The result of a rank's last call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing but that it is done.
    Done,
    /// The numbers of the requests that it completed (`MPI_Waitany`, `MPI_Waitsome`).
    Completed(Vec<u32>),
    /// `true` if all requests were complete (`MPI_Testall`).
    Tested(bool),
}

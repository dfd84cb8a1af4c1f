//! What a rank without a program calls.

use engine::Span;
use mpi::p2p::SendMode;
use mpi::schedule::Kind;

/// What a rank does next. Messages are `bytes` long; communicators are numbered as the rank made them, from [`Call::WORLD`] on.
#[derive(Clone, PartialEq, Debug)]
pub enum Call {
    /// `MPI_Send`, or one of its modes.
    Send(SendMode, Envelope),
    /// `MPI_Isend`, or one of its modes.
    Isend(SendMode, Envelope),
    /// `MPI_Recv`.
    Recv(Envelope),
    /// `MPI_Irecv`.
    Irecv(Envelope),
    /// A wait or a test. Requests are numbered as the rank made them, from 0 on.
    Complete(Wait, Requests),
    /// A collective that waits.
    Collective(Collective),
    /// A collective that makes a request.
    Icollective(Collective),
    /// `MPI_Comm_dup` of a communicator.
    Dup(u32),
    /// `MPI_Comm_split` of a communicator, with color and key.
    Split(u32, i32, i32),
    /// Computation.
    Compute(Span),
    /// `MPI_Finalize`, and the end of the rank.
    End,
}

impl Call {
    /// The number of `MPI_COMM_WORLD`.
    pub const WORLD: u32 = 0;
    /// The number of `MPI_COMM_SELF`; communicators that the rank makes come behind it.
    pub const SELF: u32 = 1;
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

/// Which of its requests a rank means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Requests {
    /// All that are open.
    All,
    /// These, by their numbers.
    These(Box<[u32]>),
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
}

/// A collective on an intracommunicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Collective {
    /// Which.
    pub kind: Kind,
    /// The communicator's number.
    pub comm: u32,
    /// Where there is one.
    pub root: Option<i32>,
    /// As in [`mpi::collective::Lengths`].
    pub bytes: u64,
    /// Handles of operation and datatype of a reduction.
    pub reduction: Option<(usize, usize)>,
}

/// What came of a rank's last call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing but that it is done.
    Done,
    /// The numbers of the requests that it completed (`MPI_Waitany`, `MPI_Waitsome`).
    Completed(Vec<u32>),
    /// Whether all requests were complete (`MPI_Testall`).
    Tested(bool),
}

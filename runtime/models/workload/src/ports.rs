//! Ports of a rank without a program.

use mpi::call::dynamic::{MeetingRequest, NameRequest};

/// A call about ports or published names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortCall {
    /// `MPI_Open_port`.
    Open,
    /// `MPI_Close_port` of the port of this name.
    Close(Box<str>),
    /// A name is published, withdrawn or looked up.
    Name(NameRequest),
    /// The members of a communicator meet another side, with this root.
    Meet(u32, i32, MeetingRequest),
}

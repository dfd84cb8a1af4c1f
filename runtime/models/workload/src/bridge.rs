//! Intercommunicators of a rank without a program.

use std::rc::Rc;

/// A call that makes an intercommunicator, or merges one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BridgeCall {
    /// `MPI_Intercomm_create`.
    Create(Bridging),
    /// `MPI_Intercomm_create_from_groups`: the members of the local group, all ranks of the run counted, and
    /// a tag in place of the string. `remote_leader` of the rest is a rank of `MPI_COMM_WORLD`.
    FromGroups(Rc<[u32]>, Bridging),
    /// `MPI_Intercomm_merge` of a communicator; `true` if its own group comes last.
    Merge(u32, bool),
}

/// Two groups that make an intercommunicator, as one side calls it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bridging {
    /// The communicator of the local group.
    pub local: u32,
    /// The local leader's rank in it.
    pub local_leader: i32,
    /// The leaders' communicator, which a leader alone uses.
    pub peer: u32,
    /// The remote leader's rank in it.
    pub remote_leader: i32,
    /// The tag of the leaders' messages.
    pub tag: i32,
}

//! State of an epoch of `MPI_Win_post`.

use crate::came::Came;

/// A rank's memory is open to a group.
pub(crate) struct Exposure {
    /// Ranks of the group that have not completed, and how many there were.
    pub(crate) left: u32,
    pub(crate) size: u32,
    /// The latest arrival of the others.
    // A number and a maximum tell the end of the epoch, whoever completes last: no list of the group is kept.
    pub(crate) latest: Came,
    /// The request that `MPI_Win_wait` waits for and `MPI_Win_test` tests.
    pub(crate) request: u32,
}

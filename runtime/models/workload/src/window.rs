//! One-sided communication of a rank without a program.

use mpi::rma::{AccessKind, Flush};
use mpi::win::Flavor;
use std::rc::Rc;

/// A call about a window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowCall {
    /// The window's number, as the workload likes: a rank has at most one window of a number.
    pub win: u32,
    /// The action.
    pub does: WindowAction,
}

/// An action on a window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WindowAction {
    /// Makes it: flavor, size in bytes, displacement unit and the communicator's number.
    Make(Flavor, i64, i64, u32),
    /// `MPI_Win_free`.
    Free,
    /// An access, with the number of its request if it has one.
    Access(WindowAccess, Option<u32>),
    /// `MPI_Win_fence`, with its assertion.
    Fence(i32),
    /// `MPI_Win_post` to these ranks (all ranks of the run counted), with its assertion.
    Post(Rc<[u32]>, i32),
    /// `MPI_Win_start` to these ranks (all ranks of the run counted), with its assertion.
    Start(Rc<[u32]>, i32),
    /// `MPI_Win_complete`.
    Complete,
    /// `MPI_Win_wait`, or an `MPI_Win_test` that finds the epoch over.
    Wait,
    /// `MPI_Win_lock`: type, rank and assertion.
    Lock(i32, i32, i32),
    /// `MPI_Win_lock_all`, with its assertion.
    LockAll(i32),
    /// `MPI_Win_unlock` of this rank.
    Unlock(i32),
    /// `MPI_Win_unlock_all`.
    UnlockAll,
    /// `MPI_Win_flush` and its kin; `true` if only the origin's buffers have to be free.
    Flush(Flush, bool),
    /// `MPI_Win_sync`.
    Sync,
}

/// An access to a window, without data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowAccess {
    /// The operation.
    pub kind: AccessKind,
    /// The target in the window's group.
    pub rank: i32,
    /// In the target's displacement units.
    pub displacement: i64,
    /// Bytes of data at the target.
    pub bytes: u64,
    /// Bytes from the displacement on that have to be in the window; 0 where that is not known.
    pub extent: u64,
}

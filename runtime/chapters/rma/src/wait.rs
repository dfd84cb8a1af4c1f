//! Waits of blocked ranks: for so many events, the last of which lets the rank go on.

use crate::came::Came;

/// Type of the index in the first word of a request's token; the token's second word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum WaitToken {
    /// A [`Wait`].
    Wait,
    /// A reply of a request-based access.
    Reply,
    /// An exposure epoch, by window; its rank is the request's.
    Exposure,
    /// A look whether memory has changed.
    Sync,
}

impl WaitToken {
    pub(crate) fn of(word: u32) -> WaitToken {
        [WaitToken::Wait, WaitToken::Reply, WaitToken::Exposure, WaitToken::Sync][word as usize]
    }
}

/// The operation that ends when the wait does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Accesses complete, the epoch goes on.
    Flush,
    /// A lock is granted, of this target (world rank).
    Lock(u32),
    /// The epoch of the lock of this target ends.
    Unlock(u32),
    /// So does that of all.
    UnlockAll,
    /// A fence.
    Fence,
    /// The ranks of `MPI_Win_start` call `MPI_Win_post`.
    Start,
    /// The epoch of `MPI_Win_start` ends.
    Complete,
}

/// A blocked rank.
// A count and a maximum, whatever is waited for: locks, answers and posts come in any order, and the last by
// time decides.
pub(crate) struct Wait {
    pub(crate) win: u32,
    /// World rank.
    pub(crate) rank: u32,
    pub(crate) purpose: Purpose,
    /// Number of events that the wait still needs.
    pub(crate) count: u32,
    /// The time at which the latest of the others came.
    pub(crate) latest: Came,
    /// The request that completes when the wait ends.
    pub(crate) request: u32,
}

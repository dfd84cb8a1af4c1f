//! Handles of objects that programs make: index and kind in a pointer-sized integer.
//!
//! Values below 0x1000 are the standard ABI's predefined handles. Made ones fit in 31 bits as long
//! as there are fewer than 2^27 of a kind, so that Fortran's INTEGER handles are the same numbers.

use crate::abi;

/// The null request.
pub const REQUEST_NULL: usize = abi::MPI_REQUEST_NULL;
/// A send request that was complete when it was made: there is nothing to keep.
pub const REQUEST_SENT: usize = 0x1a1;
/// MPI_COMM_NULL.
pub const COMM_NULL: usize = abi::MPI_COMM_NULL;
/// MPI_COMM_WORLD.
pub const COMM_WORLD: usize = abi::MPI_COMM_WORLD;
/// MPI_COMM_SELF.
pub const COMM_SELF: usize = abi::MPI_COMM_SELF;
/// MPI_MESSAGE_NULL.
pub const MESSAGE_NULL: usize = abi::MPI_MESSAGE_NULL;
/// MPI_MESSAGE_NO_PROC.
pub const MESSAGE_NO_PROC: usize = abi::MPI_MESSAGE_NO_PROC;

/// The first handle of an object that a program made.
pub const FIRST: usize = 0x1000;

/// What a request handle names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestRef {
    /// Nothing: null, or a send that was complete at once.
    Nothing,
    /// A completed send.
    Sent,
    /// A receive in the node arena.
    Node(u32),
    /// A receive in the node arena whose owner is blocked for it (`flag::UNSEEN`): nobody but that call comes across it.
    Unseen(u32),
    /// Any other request, in the request table.
    Cold(u32),
    /// Not a request handle.
    Invalid,
}

/// The handle of object `index`.
#[inline]
pub fn encode(index: u32) -> usize {
    FIRST + ((index as usize) << 4)
}

/// The index in a handle made by [`encode`], if it can be one.
#[inline]
pub fn decode(handle: usize) -> Option<u32> {
    (handle >= FIRST && handle & 15 == 0).then(|| ((handle - FIRST) >> 4) as u32)
}

/// The handle of receive node `index`.
#[inline]
pub fn of_node(index: u32) -> usize {
    encode(index)
}

/// The handle of table request `index`.
#[inline]
pub fn of_cold(index: u32) -> usize {
    encode(index) | 8
}

/// The handle of receive node `index` while its owner is blocked for it.
#[inline]
pub fn of_unseen(index: u32) -> usize {
    encode(index) | 4
}

/// What a request handle names.
#[inline]
pub fn request(handle: usize) -> RequestRef {
    match handle {
        REQUEST_NULL => RequestRef::Nothing,
        REQUEST_SENT => RequestRef::Sent,
        _ if handle >= FIRST && handle & 15 == 0 => RequestRef::Node(((handle - FIRST) >> 4) as u32),
        _ if handle >= FIRST && handle & 15 == 4 => RequestRef::Unseen(((handle - FIRST) >> 4) as u32),
        _ if handle >= FIRST && handle & 15 == 8 => RequestRef::Cold(((handle - FIRST) >> 4) as u32),
        _ => RequestRef::Invalid,
    }
}

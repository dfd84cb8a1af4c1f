//! Handles of objects that programs make: index and kind in a pointer-sized integer.
//!
//! Values below 0x1000 are the standard ABI's predefined handles. Made ones fit in 31 bits as long
//! as there are fewer than 2^27 of a kind, so that Fortran's INTEGER handles are the same numbers.

use crate::abi;

/// The null request.
pub const REQUEST_NULL: usize = abi::MPI_REQUEST_NULL;
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

/// The handle of object `index`.
// Four bits stay free: requests say in them of which kind they are, and no look-up is needed to tell.
#[inline]
pub fn encode(index: u32) -> usize {
    FIRST + ((index as usize) << 4)
}

/// Returns the index in a handle made by [`encode`], if it can be one.
#[inline]
pub fn decode(handle: usize) -> Option<u32> {
    (handle >= FIRST && handle & 15 == 0).then(|| ((handle - FIRST) >> 4) as u32)
}

//! Stacks of ranks.
//!
//! A suspended rank is nothing but a stack and the distance from its top to the stack pointer. The stack holds, below the top:
//!
//! ```text
//!   top  ->  +---------------------------+
//!            | argv: strings, pointers   |
//!   base ->  +---------------------------+
//!            | main ... MPI call ...     |
//!            | suspend: errno, registers |
//!   pointer->+---------------------------+   saved live part: pointer..top
//!            | free                      |
//!   limit -> +---------------------------+
//!            | guard page                |
//!            +---------------------------+
//! ```

pub(crate) mod own;
pub(crate) mod shared;
pub(crate) mod switch;

use crate::now;

/// Whether a fault at `address` with this stack pointer is an overflow of the stack in place: just
/// below its end, where the guard is, or with the stack pointer itself beyond the end.
pub(crate) fn overflowed(address: usize, pointer: usize) -> bool {
    let (limit, base) = now::bounds();
    let below = |at: usize| at < limit && limit - at <= (base - limit).max(1 << 20);
    let guard = address < limit && limit - address <= 4096;
    guard || below(pointer) && below(address)
}

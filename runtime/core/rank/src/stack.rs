//! Stacks of ranks.
//!
//! A suspended rank is nothing but a stack and the distance from its top to the stack pointer. The stack
//! holds, below the top:
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
//!            | gap without memory        |
//!            +---------------------------+
//! ```

pub(crate) mod own;
pub(crate) mod shared;
pub(crate) mod switch;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::now;

/// The addresses of stacks, and what an overflow is told from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackRegion {
    /// All stacks and their gaps lie between these.
    pub(crate) low: usize,
    pub(crate) high: usize,
    /// Bytes without memory below each stack.
    pub(crate) gap: usize,
    /// Bytes of a stack.
    pub(crate) bytes: usize,
}

static LOW: AtomicUsize = AtomicUsize::new(0);
static HIGH: AtomicUsize = AtomicUsize::new(0);
static GAP: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// Sets where stacks are, for [`overflowed`].
pub(crate) fn describe(region: StackRegion) {
    LOW.store(region.low, Relaxed);
    HIGH.store(region.high, Relaxed);
    GAP.store(region.gap, Relaxed);
    BYTES.store(region.bytes, Relaxed);
}

/// Returns how many bytes a stack has.
pub(crate) fn bytes() -> usize {
    BYTES.load(Relaxed)
}

/// Returns `true` if a fault at `address` with this stack pointer is an overflow of the stack in place.
///
/// The address lies in the gap below the stack, or the stack pointer has left it.
pub(crate) fn overflowed(address: usize, pointer: usize) -> bool {
    let (limit, _) = now::bounds();
    address < limit && limit - address <= GAP.load(Relaxed) || has_left(pointer)
}

/// Returns `true` if a stack pointer has left the stack in place for a gap or the stack of another rank.
pub(crate) fn has_left(pointer: usize) -> bool {
    let (limit, _) = now::bounds();
    let is_within = pointer.wrapping_sub(limit) < bytes();
    (LOW.load(Relaxed)..HIGH.load(Relaxed)).contains(&pointer) && !is_within
}

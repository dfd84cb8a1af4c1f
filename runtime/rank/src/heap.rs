//! Fresh heap memory of a rank: all zeros, as the operating system gives it to a process of its own.
//!
//! Ranks share one heap, so memory that one has freed comes to another with its contents. A correct
//! program cannot tell; one that reads memory before it writes it gets zeros in a process of its own, nearly
//! always, and what another rank left there without this.

use crate::memory::Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static CLEARED: AtomicBool = AtomicBool::new(false);

/// Whether memory that ranks allocate from now on is cleared.
pub(crate) fn clear(cleared: bool) {
    CLEARED.store(cleared, Relaxed);
}

/// Whether memory allocated now must be cleared: a rank asks for it.
#[inline]
pub fn must_clear() -> bool {
    CLEARED.load(Relaxed) && crate::now::current().is_some()
}

/// Memory of the heap that all ranks reach at any time, all zeros; none if there is not so much. The C library's `free` takes it back.
pub fn allocate(bytes: usize) -> Option<Addr> {
    // SAFETY: any size may be asked of calloc; a null answer is checked.
    let at = unsafe { libc::calloc(bytes.max(1), 1) };
    (!at.is_null()).then_some(Addr(at as usize))
}

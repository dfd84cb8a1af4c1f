//! Fresh heap memory of a rank: all zeros, as the operating system gives it to a process of its own.
//!
//! Ranks share one heap, so memory that one has freed comes to another with its contents. A correct
//! program cannot tell; one that reads memory before it writes it gets zeros in a process of its own, nearly
//! always, and what another rank left there without this.

pub mod presence;

use std::ffi::c_void;

use crate::memory::Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static CLEARED: AtomicBool = AtomicBool::new(false);

/// Sets whether memory that ranks allocate later is cleared.
pub(crate) fn clear(cleared: bool) {
    CLEARED.store(cleared, Relaxed);
}

/// Returns `true` if memory allocated now must be cleared: a rank asks for it.
#[inline]
pub fn must_clear() -> bool {
    CLEARED.load(Relaxed) && crate::now::current().is_some()
}

unsafe extern "C" {
    // The C library's own heap, whichever allocator the program has.
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// Returns memory of the heap that all ranks reach at any time, all zeros; `None` if there is not so much.
/// [`release`] takes it back.
pub fn allocate(bytes: usize) -> Option<Addr> {
    // SAFETY: any size may be asked of calloc; a null answer is checked.
    let at = unsafe { __libc_calloc(bytes.max(1), 1) };
    (!at.is_null()).then_some(Addr(at as usize))
}

/// Takes back what [`allocate`] returned.
///
/// # Safety
/// `at` is null, or came from [`allocate`] and has not been released since.
pub unsafe fn release(at: Addr) {
    // SAFETY: the caller's contract.
    unsafe { __libc_free(at.0 as *mut c_void) };
}

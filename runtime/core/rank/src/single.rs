//! Statics of the one thread that runs all ranks.
//!
//! Interposed libc functions, signal handlers and `suspend` are called without any context, so
//! the state that they share with the scheduler is static.

use std::cell::UnsafeCell;

/// A static that only the simulating thread touches, one borrow at a time.
pub(crate) struct Single<T>(UnsafeCell<T>);

// SAFETY: `with` is the only way in, and its contract (below) keeps every use on the one thread
// that runs the ranks.
unsafe impl<T> Sync for Single<T> {}

impl<T> Single<T> {
    pub(crate) const fn new(value: T) -> Single<T> {
        Single(UnsafeCell::new(value))
    }

    /// Runs `f` on the value.
    ///
    /// # Safety
    /// Only on the simulating thread, and `f` must neither suspend the rank, run code of the
    /// program, nor come back to the same static.
    #[inline]
    pub(crate) unsafe fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: one thread, and no second borrow while `f` runs (the caller's contract).
        f(unsafe { &mut *self.0.get() })
    }
}

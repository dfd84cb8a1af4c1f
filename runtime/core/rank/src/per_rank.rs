//! Values that few ranks have, by rank.

use std::collections::HashMap;

use crate::now;
use crate::single::Single;

/// A table with a value for each rank that has one.
pub(crate) struct PerRank<T>(Single<Option<HashMap<u32, T>>>);

impl<T> PerRank<T> {
    pub(crate) const fn new() -> PerRank<T> {
        PerRank(Single::new(None))
    }

    /// Runs `f` on the rank's value, if it has one.
    ///
    /// `f` reads and writes the value, and what the C library and the kernel keep for the process; it runs no
    /// code of the program.
    #[inline]
    pub(crate) fn with<R>(&self, rank: u32, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        // SAFETY: the simulating thread, which every caller is on; `f` does not come back here.
        unsafe { self.0.with(|table| table.as_mut().and_then(|table| table.get_mut(&rank)).map(f)) }
    }

    /// Gives the rank a value in place of the one that it had, which is returned.
    pub(crate) fn put(&self, rank: u32, value: T) -> Option<T> {
        // SAFETY: as in `with`.
        unsafe { self.0.with(|table| table.get_or_insert_default().insert(rank, value)) }
    }

    /// Behaves as `put`, for a value that is exchanged at each switch from then on.
    pub(crate) fn put_exchanged(&self, rank: u32, value: T) -> Option<T> {
        now::mark_private();
        self.put(rank, value)
    }

    /// Removes the rank's value.
    pub(crate) fn remove(&self, rank: u32) -> Option<T> {
        // SAFETY: as in `with`.
        unsafe { self.0.with(|table| table.as_mut().and_then(|table| table.remove(&rank))) }
    }
}

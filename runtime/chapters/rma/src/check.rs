//! Checks of a call's arguments: each error with MPI's class, and the way out.

use objects::abi::{
    MPI_MODE_NOCHECK, MPI_MODE_NOPRECEDE, MPI_MODE_NOPUT, MPI_MODE_NOSTORE, MPI_MODE_NOSUCCEED,
};
use objects::error::{ErrorClass, Failure, Result};

/// Returns the failure of a call for which the window is not synchronized.
#[cold]
pub(crate) fn unsynchronized(what: impl Into<String>) -> Box<Failure> {
    Failure::new(ErrorClass::RMA_SYNC, what)
}

/// Checks that an assertion has these bits alone.
pub(crate) fn assertion(assert: i32, allowed: i32, names: &str) -> Result {
    if assert & !allowed != 0 {
        return Err(Failure::new(
            ErrorClass::ASSERT,
            format!("assert {assert} is not allowed here: use 0, or {names} together"),
        ));
    }
    Ok(())
}

/// The assertions of `MPI_Win_fence`.
pub(crate) const FENCE: (i32, &str) = (
    MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED,
    "MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED",
);
/// The assertions of `MPI_Win_post`.
pub(crate) const POST: (i32, &str) = (
    MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
    "MPI_MODE_NOCHECK, MPI_MODE_NOSTORE and MPI_MODE_NOPUT",
);
/// The assertions of `MPI_Win_start`, `MPI_Win_lock` and `MPI_Win_lock_all`.
pub(crate) const ACCESS: (i32, &str) = (MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK");

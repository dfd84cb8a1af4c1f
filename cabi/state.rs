//! The one simulated MPI of this process.

use mpi::Mpi;
use std::cell::UnsafeCell;

struct MpiCell(UnsafeCell<Option<Mpi>>);

// SAFETY: all MPI calls of a process are made by one thread, the one that runs the ranks
// (docs/limitations.md); it alone installs and reads. With one rank a process `threads` lets one thread in at
// a time.
unsafe impl Sync for MpiCell {}

static MPI: MpiCell = MpiCell(UnsafeCell::new(None));

/// Returns the simulated MPI, if there is one.
#[inline]
pub fn installed() -> Option<&'static Mpi> {
    // SAFETY: see `MpiCell`; once installed the value is never replaced, so the reference stays valid.
    unsafe { &*MPI.0.get() }.as_ref()
}

/// Makes `mpi` the one of this process.
pub fn install(mpi: Mpi) -> &'static Mpi {
    // SAFETY: see `MpiCell`; called once, before any reference was given out.
    unsafe {
        let place = MPI.0.get();
        assert!((*place).is_none(), "one simulation a process");
        (*place).insert(mpi)
    }
}

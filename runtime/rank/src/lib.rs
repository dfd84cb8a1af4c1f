//! A virtual rank as a thing that runs: coroutine, stacks, private globals, host-time
//! measurement, the checked way to a rank's memory, crash reports. Knows nothing of MPI.

pub mod memory;

pub use memory::Addr;

//! Functions of the C library that the library answers itself while a rank runs.
//!
//! They live here and nowhere else: any crate that exports them would take over every binary it is
//! linked into. Each is a thin shim; what it does is in `runtime/core/rank`. Calls made by
//! the simulator itself, outside any rank, go on to the C library.

mod epoll;
mod exit;
pub mod fortran;
pub mod heap;
mod kill;
mod libc_state;
mod library;
mod printing;
mod process;
mod start;
mod stdio;
mod threads;
mod time;
mod timers;
pub mod waits;

//! Functions of the C library that the library answers itself while a rank runs.
//!
//! They live here and nowhere else: any crate that exports them would take over every binary it is
//! linked into. Each is a thin shim; what it does is in `runtime/core/rank`. Calls made by
//! the simulator itself, outside any rank, go on to the C library.

#[path = "interpose/exit.rs"]
mod exit;
#[path = "interpose/fortran.rs"]
pub mod fortran;
#[path = "interpose/heap.rs"]
pub mod heap;
#[path = "interpose/kill.rs"]
mod kill;
#[path = "interpose/libc_state.rs"]
mod libc_state;
#[path = "interpose/library.rs"]
mod library;
#[path = "interpose/printing.rs"]
mod printing;
#[path = "interpose/process.rs"]
mod process;
#[path = "interpose/start.rs"]
mod start;
#[path = "interpose/stdio.rs"]
mod stdio;
#[path = "interpose/threads.rs"]
mod threads;
#[path = "interpose/time.rs"]
mod time;
#[path = "interpose/timers.rs"]
mod timers;
#[path = "interpose/waits.rs"]
pub mod waits;

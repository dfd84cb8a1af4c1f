//! A virtual rank as a thing that runs: stacks, private globals, host-time
//! measurement, the checked way to a rank's memory, crash reports. Knows nothing of MPI.
//!
//! The scheduler owns [`Ranks`] and calls [`Ranks::resume`]; the rank's own code reaches back
//! through the free functions here ([`suspend`], [`current`], [`exit_current`]...), because an
//! MPI call made by a C program carries no context. One thread runs all ranks of a process.

pub mod another;
mod arena;
mod arguments;
mod caller;
pub mod clock;
mod config;
mod crash;
pub mod debug;
mod delta;
pub mod descriptors;
pub mod exception;
mod executable;
pub mod fortran_random;
pub mod fortran_units;
mod globals;
pub mod growing;
mod handlers;
pub mod heap;
mod helpers;
pub mod hooks;
pub mod host;
mod host_timer;
mod image;
pub mod libc_state;
pub mod lifecycle;
mod lines;
pub mod loaded;
pub mod memory;
pub mod next;
mod now;
pub mod output;
pub mod own_streams;
mod per_rank;
mod prefetch;
pub mod process_state;
pub mod program;
mod programs;
pub mod random;
mod ranks;
mod reserve;
mod running;
mod sanitizer;
mod shape;
pub mod signals;
mod single;
pub mod spawned;
mod stack;
pub mod stdio;
pub mod stop;
mod symbols;
mod teams;
mod templates;
mod text;
pub mod threads;
pub mod timers;
mod watchdog;

pub use config::{Config, GlobalsMode, StackMode};
pub use crash::{set_last_words, take_signals};
pub use globals::clone::{FoundObject, find_object, original};
pub use globals::late::open as open_library;
pub use globals::streams::are_private as are_streams_private;
pub use helpers::caller;
pub use image::is_any_called;
pub use lifecycle::exit_current;
pub use memory::Addr;
pub use now::{bounds as stack_bounds, current, last_call, note_call};
pub use program::Program;
pub use ranks::{Ranks, ResumeResult, is_addressable_unmounted};
pub use running::{FUNNELED, suspend};
pub use stack::switch::Suspended;

//! Hooks that the interposed libc functions need from the layers above, set once by the C boundary.

use std::ffi::OsString;
use std::sync::OnceLock;

use engine::{Span, Time};

use crate::Program;

/// The table. Every function but `declines` and `start` is called on the stack of the rank that
/// [`crate::current`] names.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// The program was started with these arguments: whether it runs as it is, without ranks. What is not
    /// meant for it is taken out then.
    pub declines: fn(&mut Vec<OsString>) -> bool,
    /// The program was started: assemble and run the simulation. Returns the process's exit status.
    pub start: fn(Program) -> i32,
    /// The running rank begins: its own code runs from here.
    pub entered: fn(),
    /// The running rank's virtual time. A reading is free, but may advance a polling rank.
    pub now: fn() -> Time,
    /// The running rank sleeps for this long.
    pub advance: fn(Span),
    /// The running rank has left `main` or called `exit`, its handlers have run, and it will not
    /// be resumed again. Called for every rank, finalized or not.
    pub exited: fn(status: i32),
    /// The running rank starts a thread.
    pub helped: fn(),
    /// The running rank sends itself a signal that kills it: ends it, or the run. May return where the
    /// process is to be killed.
    pub killed: fn(signal: i32),
    /// The running rank uses a timer for the first time.
    pub timed: fn(),
    /// The running rank has computed for long: lets the others run and returns, if any can.
    pub held: fn(),
}

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Sets the table. A second call changes nothing.
pub fn set(hooks: Hooks) {
    let _ = HOOKS.set(hooks);
}

/// Returns the table, if it was set.
#[inline]
pub fn get() -> Option<&'static Hooks> {
    HOOKS.get()
}

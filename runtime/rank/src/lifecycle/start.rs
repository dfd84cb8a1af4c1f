//! From the program's entry point to the simulation.

use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::globals::early;
use crate::hooks;
use crate::program::{Constructor, Main, Program};
use crate::single::Single;

static CAPTURED: Single<Option<Program>> = Single::new(None);

static BEGUN: AtomicBool = AtomicBool::new(false);

/// Whether the libraries are loaded and the program's entry point has been reached.
pub fn has_begun() -> bool {
    BEGUN.load(Relaxed)
}

/// To be called when this library is loaded, before other libraries' constructors as far as possible.
pub fn loaded() {
    early::capture();
}

/// To be called by the program's entry point.
pub fn begin() {
    BEGUN.store(true, Relaxed);
}

/// The program is not taken over after all: what its libraries left for the end is the process's.
pub fn decline() {
    early::settle(&[]);
}

/// Captures the program before any of its code has run.
///
/// # Safety
/// As [`Program::capture`].
pub unsafe fn capture(main: Main, argc: i32, argv: *mut *mut c_char, init: Option<Constructor>) {
    // SAFETY: the caller's contract; this is the process's only thread.
    unsafe {
        let program = Program::capture(main, argc, argv, init);
        CAPTURED.with(|captured| *captured = Some(program));
    }
}

/// Runs the simulation of the captured program; returns the process's exit status.
///
/// # Safety
/// In place of the program's `main`, with its arguments, once.
pub unsafe fn run(_argc: i32, _argv: *mut *mut c_char, environment: *mut *mut c_char) -> i32 {
    // SAFETY: the process's only thread so far; the closure only takes the value out.
    let program = unsafe { CAPTURED.with(Option::take) };
    let (Some(mut program), Some(hooks)) = (program, hooks::get()) else { return 70 };
    program.environment = environment;
    let image = program.image.clone();
    let status = (hooks.start)(program);
    // Ranks ran the program's destructors; the libraries' own still follow.
    image.forget_destructors();
    crate::stdio::finish();
    status
}

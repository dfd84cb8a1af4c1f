//! From the program's entry point to the simulation.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;

use crate::globals::{early, late};
use crate::hooks;
use crate::program::{Constructor, Main, Program};
use crate::single::Single;

pub use crate::globals::early::has_begun;

static CAPTURED: Single<Option<Program>> = Single::new(None);

/// Captures early handlers. To be called when this library is loaded, before other libraries' constructors as
/// far as possible.
pub fn loaded() {
    early::capture();
}

/// Notes that the program begins. To be called by the program's entry point.
pub fn begin() {
    early::begin();
}

/// Returns the number of arguments left for the program, which are moved up, if ranks do not take it over;
/// else `None`. If so, handlers that its libraries registered for the end belong to the process.
///
/// # Safety
/// `argv` has `argc` C strings and a null pointer behind them, which nobody else uses.
pub unsafe fn declined(argc: i32, argv: *mut *mut c_char) -> Option<i32> {
    // SAFETY: the caller's contract.
    let words = unsafe { std::slice::from_raw_parts_mut(argv, argc.max(0) as usize + 1) };
    let text = |word: *mut c_char| {
        // SAFETY: a C string of the program's arguments, which stay.
        OsStr::from_bytes(unsafe { CStr::from_ptr(word) }.to_bytes()).to_owned()
    };
    let (_, given) = words.split_last()?;
    let mut left: Vec<_> = given.iter().map(|&word| text(word)).collect();
    if !(hooks::get()?.declines)(&mut left) {
        return None;
    }
    // Some are gone, the rest is in its order.
    let mut kept = 0;
    for at in 0..words.len() - 1 {
        if left.get(kept).is_some_and(|next| *next == text(words[at])) {
            words[kept] = words[at];
            kept += 1;
        }
    }
    words[kept] = std::ptr::null_mut();
    early::settle(&[]);
    Some(kept as i32)
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
    late::finish();
    status
}

//! Sentences on standard error, for which nothing panics where it takes no more.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Writes to standard error. What that does not take is lost, and remembered.
pub fn print(text: fmt::Arguments<'_>) {
    if write!(std::io::stderr().lock(), "{text}").is_err() {
        IS_LOST.store(true, Relaxed);
    }
}

/// Writes a line to standard error, as [`print()`].
pub fn line(text: fmt::Arguments<'_>) {
    print(format_args!("{text}\n"));
}

/// Returns `true` if standard error did not take all that was written here.
pub fn is_lost() -> bool {
    IS_LOST.load(Relaxed)
}

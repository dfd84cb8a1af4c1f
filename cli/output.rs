//! Printing by the command.
//!
//! All of it goes through here. Standard output is written at once, so that a full disk is a failure with a
//! sentence, and a reader that has closed the pipe ends the command as it ends other tools.

use crate::failure::Failure;
use std::fmt;
use std::io::{self, Write};

/// Prints a line to standard output, and leaves the function with a [`Failure`] if that takes no more.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*))? };
}

/// Prints a line to standard error.
macro_rules! note {
    ($($text:tt)*) => { $crate::output::remark(format_args!($($text)*)) };
}

pub(crate) use {note, say};

/// Prints a line to standard output.
pub fn line(text: fmt::Arguments<'_>) -> Result<(), Failure> {
    self::text(format_args!("{text}\n"))
}

/// Prints to standard output what has its line ends.
pub fn text(text: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    write!(out, "{text}").and_then(|()| out.flush()).map_err(failure)
}

/// Prints a line to standard error. What cannot be written there has no reader, and changes no status.
pub fn remark(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints a part of a line to standard error, as [`remark`].
pub fn progress(text: fmt::Arguments<'_>) {
    let _ = write!(io::stderr().lock(), "{text}");
}

/// Prints results to standard error, with their line ends.
pub fn results(text: impl fmt::Display) -> Result<(), Failure> {
    write!(io::stderr().lock(), "{text}").map_err(|why| match why.kind() {
        io::ErrorKind::BrokenPipe => Failure::pipe_closed(),
        _ => Failure::new(format!("standard error cannot be written: {why}")),
    })
}

/// Returns why the command ends where standard output could not be written.
pub fn failure(why: io::Error) -> Failure {
    match why.kind() {
        io::ErrorKind::BrokenPipe => Failure::pipe_closed(),
        _ => Failure::new(format!("standard output cannot be written: {why}")),
    }
}

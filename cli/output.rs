//! Printing by the command.
//!
//! All of it goes through here. Standard output is written at once, so that a full disk is a failure with a
//! sentence, and a reader that has closed the pipe ends the command as it ends other tools.
//!
//! Every command that has results as data takes `--json[=FILE]` and `--csv FILE`, where `-` is standard
//! output.

use crate::failure::Failure;
use clap::{Arg, ArgMatches};
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The name of a file that means standard output.
const STANDARD_OUTPUT: &str = "-";

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

/// Returns the argument `--json[=FILE]`. The file stands behind `=`, as the next word may be a positional
/// argument.
pub fn json_argument() -> Arg {
    file_argument("json", "Results as JSON: to standard output, or to a file")
        .num_args(0..=1)
        .require_equals(true)
        .default_missing_value(STANDARD_OUTPUT)
}

/// Returns the argument `--csv FILE`.
pub fn csv_argument(help: &'static str) -> Arg {
    file_argument("csv", help)
}

/// Returns an argument that names a file for results, or `-` for standard output.
pub fn file_argument(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("FILE").value_parser(clap::value_parser!(PathBuf)).help(help)
}

/// Writes results to the file of an argument, if it was given. Returns `true` if standard output got them.
pub fn results_to(
    matches: &ArgMatches,
    argument: &str,
    results: impl FnOnce() -> String,
) -> Result<bool, Failure> {
    match matches.get_one::<PathBuf>(argument) {
        Some(path) => file(path, &results()).map(|()| is_standard_output(path)),
        None => Ok(false),
    }
}

/// Makes a directory for several files, if it is not there.
///
/// # Errors
/// A sentence with its name, if it cannot be made or something else is there.
pub fn make_directory(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|why| {
        let is_other = path.symlink_metadata().is_ok() && !path.is_dir();
        let why = if is_other {
            "it is no directory, and a directory is wanted: name another".to_owned()
        } else {
            why.to_string()
        };
        Failure::new(format!("'{}' cannot be made: {why}", path.display()))
    })
}

/// Writes results to a file, or to standard output if its name is `-`.
pub fn file(path: &Path, results: &str) -> Result<(), Failure> {
    if is_standard_output(path) {
        return text(results);
    }
    std::fs::write(path, results)
        .map_err(|why| Failure::new(format!("'{}' cannot be written: {why}", path.display())))
}

/// Returns `true` if a path means standard output.
pub fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == STANDARD_OUTPUT
}

/// A colour of a terminal, by its number among the escape sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TerminalColor {
    /// Failures.
    Red = 31,
    /// Components that work.
    Green = 32,
    /// Components that are missing.
    Yellow = 33,
}

/// Returns text in a colour if a stream is a terminal with colours and the variable NO_COLOR is not set
/// (<https://no-color.org>).
pub fn colored(stream: &impl IsTerminal, color: TerminalColor, text: &str) -> String {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|name| name == "dumb");
    if is_set("NO_COLOR") || is_dumb || !stream.is_terminal() {
        return text.to_owned();
    }
    format!("\x1b[{}m{text}\x1b[0m", color as u8)
}

/// Returns text in a colour if standard output is a terminal with colours.
pub fn colored_output(color: TerminalColor, text: &str) -> String {
    colored(&io::stdout(), color, text)
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

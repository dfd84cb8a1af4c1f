//! Reasons why the command ends without success.

use std::fmt;

/// A sentence for the user and an exit status.
#[derive(Debug)]
pub struct Failure {
    /// 2 for a wrong command line, 126 and 127 as shells use them, else 1.
    pub status: u8,
    text: String,
}

/// The command line is wrong.
pub const USAGE: u8 = 2;
/// The reader of standard output closed the pipe: 128 and SIGPIPE, as of tools that the signal ends.
const PIPE_CLOSED: u8 = 141;
/// The program is there and cannot be run.
pub const NOT_RUNNABLE: u8 = 126;
/// The program is not there.
pub const NOT_FOUND: u8 = 127;

impl Failure {
    /// Returns a failure with status 1.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure::with(1, text)
    }

    /// Returns a failure with a status of its own.
    pub fn with(status: u8, text: impl Into<String>) -> Failure {
        Failure { status, text: text.into() }
    }

    /// Returns the end of a command whose reader has seen enough, without a sentence.
    pub fn pipe_closed() -> Failure {
        Failure::with(PIPE_CLOSED, "")
    }

    /// Returns `true` if there is nothing to say.
    pub fn is_quiet(&self) -> bool {
        self.text.is_empty()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

//! Which way data goes.

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To the program's memory.
    Read,
    /// To the file.
    Write,
}

//! Direction of data.

/// Direction of the data in an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To the program's memory.
    Read,
    /// To the file.
    Write,
}

//! What ranks attach.

use rank::Addr;

/// A buffer that a rank attached.
///
/// Messages leave it when they enter the network, which is at once: the buffer only has to
/// be large enough for one message, and detaching never waits.
#[derive(Clone, Copy, Debug)]
pub struct Attached {
    /// Where; `MPI_BUFFER_AUTOMATIC` is told by `size`.
    pub at: Addr,
    /// Bytes; `u64::MAX` for `MPI_BUFFER_AUTOMATIC`.
    pub size: u64,
}

/// Scope of an attached buffer: the communicators whose buffered sends use it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Use {
    /// Whatever has none of its own (`MPI_Buffer_attach`).
    All,
    /// A communicator, by its handle.
    Comm(usize),
    /// The communicators that come from a session, by its handle.
    Session(usize),
}

//! What ranks attach.

use rank::Addr;

/// A buffer that a rank attached, for all its communicators or for one.
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

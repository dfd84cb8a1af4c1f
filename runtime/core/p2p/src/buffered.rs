//! Attached buffers of buffered sends (MPI 5.0 chapter 3.6).

mod attached;

pub use attached::{Attached, Use};

use crate::error::{ErrorClass, Failure, Result};
use crate::request::Requests;
use objects::Objects;

/// `MPI_BSEND_OVERHEAD`.
// The value of the standard ABI (MPI 5.0 chapter 20): programs have it compiled in. Nothing here needs that
// room.
pub const BSEND_OVERHEAD: u64 = 512;

impl Requests {
    /// Checks that the buffer which `me` attached for `comm`, or else for the session that it comes from, or
    /// else for all communicators, has room for a message of `bytes`.
    ///
    /// # Errors
    /// `MPI_ERR_BUFFER` if none is attached, or it is too small.
    // Checked and not kept: MPI lets an implementation fail here only if the program's own sum does not fit
    // one message.
    pub fn claim_buffer(&self, objects: &Objects, me: u32, comm: usize, bytes: u64) -> Result {
        let session =
            || objects.sessions.of_comm(me, comm).and_then(|session| self.buffer(me, Use::Session(session)));
        let buffer = self.buffer(me, Use::Comm(comm)).or_else(session).or_else(|| self.buffer(me, Use::All));
        let need = bytes.saturating_add(BSEND_OVERHEAD);
        match buffer {
            Some(buffer) if buffer.size >= need => Ok(()),
            Some(buffer) => Err(Failure::new(
                ErrorClass::BUFFER,
                format!(
                    "a buffered send of {bytes} bytes needs {need} bytes of attached buffer, and {} are \
                     attached: attach a larger one",
                    buffer.size
                ),
            )),
            None => Err(Failure::new(
                ErrorClass::BUFFER,
                format!(
                    "a buffered send of {bytes} bytes needs an attached buffer: call MPI_Buffer_attach first"
                ),
            )),
        }
    }
}

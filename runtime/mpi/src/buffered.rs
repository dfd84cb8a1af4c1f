//! Attached buffers of buffered sends (MPI 5.0 chapter 3.6).

use crate::error::{ErrorClass, Failure, Result};
use crate::handle::COMM_NULL;
use crate::messages::Messages;
use crate::world::Mpi;
use rank::Addr;

/// `MPI_BSEND_OVERHEAD`.
pub const BSEND_OVERHEAD: u64 = 512;

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

impl Messages {
    pub(crate) fn claim_buffer(&self, me: u32, comm: usize, bytes: u64) -> Result {
        let buffer = self.buffers.get(&(me, comm)).or_else(|| self.buffers.get(&(me, COMM_NULL)));
        let need = bytes.saturating_add(BSEND_OVERHEAD);
        match buffer {
            Some(buffer) if buffer.size >= need => Ok(()),
            Some(buffer) => Err(Failure::new(
                ErrorClass::BUFFER,
                format!(
                    "a buffered send of {bytes} bytes needs {need} bytes of attached buffer, and {} are attached: attach a larger one",
                    buffer.size
                ),
            )),
            None => Err(Failure::new(
                ErrorClass::BUFFER,
                format!("a buffered send of {bytes} bytes needs an attached buffer: call MPI_Buffer_attach first"),
            )),
        }
    }
}

impl Mpi {
    /// `MPI_Buffer_attach` (`comm` = `MPI_COMM_NULL`) and `MPI_Comm_attach_buffer`.
    pub fn attach_buffer(&self, comm: usize, buffer: Attached) -> Result {
        let mut world = self.world();
        let key = (world.messages.current, comm);
        if world.messages.buffers.contains_key(&key) {
            return Err(Failure::new(ErrorClass::BUFFER, "a buffer is attached already: detach it first"));
        }
        world.messages.buffers.insert(key, buffer);
        Ok(())
    }
    /// `MPI_Buffer_detach` and `MPI_Comm_detach_buffer`.
    pub fn detach_buffer(&self, comm: usize) -> Result<Attached> {
        let mut world = self.world();
        let key = (world.messages.current, comm);
        world.messages.buffers.remove(&key).ok_or_else(|| Failure::new(ErrorClass::BUFFER, "no buffer is attached"))
    }
}

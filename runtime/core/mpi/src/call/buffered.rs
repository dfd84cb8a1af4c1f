//! Attached buffers of buffered sends (MPI 5.0 chapter 3.6).

use crate::error::{ErrorClass, Failure, Result};
use crate::world::Mpi;
use p2p::buffered::{Attached, Use};

impl Mpi {
    /// Implements `MPI_Buffer_attach`, `MPI_Comm_attach_buffer` and `MPI_Session_attach_buffer`.
    pub fn attach_buffer(&self, of: Use, buffer: Attached) -> Result {
        let mut world = self.world();
        let key = (world.messages.me(), of);
        if world.messages.requests().buffer(key.0, key.1).is_some() {
            return Err(Failure::new(ErrorClass::BUFFER, "a buffer is attached already: detach it first"));
        }
        world.messages.requests_mut().attach(key.0, key.1, buffer);
        Ok(())
    }
    /// Implements `MPI_Buffer_detach`, `MPI_Comm_detach_buffer` and `MPI_Session_detach_buffer`.
    pub fn detach_buffer(&self, of: Use) -> Result<Attached> {
        let mut world = self.world();
        let key = (world.messages.me(), of);
        world
            .messages
            .requests_mut()
            .detach(key.0, key.1)
            .ok_or_else(|| Failure::new(ErrorClass::BUFFER, "no buffer is attached"))
    }
}

//! Attached buffers of buffered sends (MPI 5.0 chapter 3.6).

use crate::error::{ErrorClass, Failure, Result};
use crate::world::Mpi;
use message::buffered::Attached;

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

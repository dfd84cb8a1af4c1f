//! Communicators made and freed: what concerns more than the table of them.

pub mod make;

pub use objects::comm::{Comm, Comms};

use crate::error::Result;
use crate::world::World;

impl World {
    /// `MPI_Comm_free`, `MPI_Comm_disconnect`: the mounted rank gives its share back.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`, see [`Comms::release`].
    pub fn release_comm(&mut self, handle: usize) -> Result {
        for index in self.objects.comms.release(handle)? {
            self.collectives.forget_calls(index);
        }
        Ok(())
    }
}

//! Communicators made and freed: what concerns more than the table of them.

pub mod make;

pub use objects::comm::{Comm, Comms};

use crate::collective::instance::Collectives;
use crate::error::Result;
use objects::Objects;

impl Collectives {
    /// `MPI_Comm_free`, `MPI_Comm_disconnect`: the mounted rank gives its share back.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`, see [`Comms::release`].
    pub fn release_comm(&mut self, objects: &mut Objects, handle: usize) -> Result {
        for index in objects.comms.release(handle)? {
            self.forget_calls(index);
        }
        Ok(())
    }
}

impl crate::world::Mpi {
    /// Lets go of a communicator, see [`Collectives::release_comm`].
    ///
    /// # Errors
    /// `MPI_ERR_COMM`.
    pub fn release_comm(&self, handle: usize) -> Result {
        let crate::world::World { objects, collectives, .. } = &mut *self.world();
        collectives.release_comm(objects, handle)
    }
}

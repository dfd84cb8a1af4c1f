//! Communicators made and freed: what concerns more than the table of them.

pub mod make;

pub use objects::comm::{Comm, Comms, Consecutive};

use crate::error::Result;

impl crate::world::Mpi {
    /// `MPI_Comm_free`, `MPI_Comm_disconnect`: the mounted rank gives its share back.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`, see [`Comms::release`].
    pub fn release_comm(&self, handle: usize) -> Result {
        let crate::world::World { objects, chapters, .. } = &mut *self.world();
        for index in objects.comms.release(handle)? {
            chapters.forget_comm(index);
        }
        Ok(())
    }
}

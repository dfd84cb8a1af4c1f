//! Communicators made and freed: what concerns more than the table of them.

pub mod bridge;
pub mod make;

pub use objects::comm::{Comm, Comms, Consecutive};

use crate::error::Result;

impl crate::world::Mpi {
    /// Implements `MPI_Comm_free` and `MPI_Comm_disconnect`: the mounted rank gives its share back.
    ///
    /// # Errors
    /// `MPI_ERR_COMM`, see [`Comms::release`].
    pub fn release_comm(&self, handle: usize) -> Result {
        let mut world = self.world();
        world.objects.comms.release(handle)?;
        world.forget_freed();
        Ok(())
    }
}

impl crate::world::World {
    /// Forgets the communicators that all members of this process have freed and nothing under way needs.
    pub(crate) fn forget_freed(&mut self) {
        let crate::world::World { objects, messages, chapters, .. } = self;
        let faults = messages.faults();
        for index in objects.comms.remove_freed(|index, comm| {
            chapters.need_comm(index)
                || faults.is_some_and(|faults| faults.needs_context(messages.matcher(), comm.context))
        }) {
            chapters.forget_comm(index);
        }
    }
}

//! The calls of partitioned communication (MPI 5.0 chapter 4). What a call means is the crate `partitioned`.

use crate::error::Result;
use crate::world::{Mpi, World};
use objects::Objects;
use p2p::Messages;
use partitioned::{CHAPTER, Init, Partitioned};

impl Mpi {
    /// Returns what a call goes through, while nothing else has the world.
    fn partitioned<T>(&self, call: impl FnOnce(&mut Partitioned, &mut Messages, &Objects) -> T) -> T {
        let World { objects, messages, chapters, .. } = &mut *self.world();
        call(&mut chapters.partitioned, messages, objects)
    }

    /// Makes a call on a request. A failure goes to the error handler of the request's communicator.
    fn of_request<T>(
        &self,
        request: usize,
        call: impl FnOnce(&mut Partitioned, &mut Messages) -> Result<T>,
    ) -> Result<T> {
        self.partitioned(|partitioned, messages, _| {
            call(partitioned, messages)
                .map_err(|failure| failure.within(partitioned.scope_of_request(messages, request)))
        })
    }

    /// Makes the persistent request of an end.
    fn persistent_end(&self, comm: usize, number: u32) -> usize {
        self.persistent_of(comm, CHAPTER, number, move |mpi| {
            Ok(mpi.partitioned(|partitioned, messages, objects| partitioned.start(messages, objects, number)))
        })
    }

    /// Implements `MPI_Psend_init`. Returns the request's handle.
    ///
    /// # Errors
    /// As [`Partitioned::init_send`].
    pub fn init_partitioned_send(&self, init: Init) -> Result<usize> {
        let comm = init.peer.2;
        let number = self
            .partitioned(|partitioned, messages, objects| partitioned.init_send(messages, objects, init))?;
        Ok(self.persistent_end(comm, number))
    }

    /// Implements `MPI_Precv_init`. Returns the request's handle.
    ///
    /// # Errors
    /// As [`Partitioned::init_receive`].
    pub fn init_partitioned_receive(&self, init: Init) -> Result<usize> {
        let comm = init.peer.2;
        let number = self.partitioned(|partitioned, messages, objects| {
            partitioned.init_receive(messages, objects, init)
        })?;
        Ok(self.persistent_end(comm, number))
    }

    /// Implements `MPI_Pready` and its kin: all of the partitions leave, or none.
    ///
    /// # Errors
    /// As [`Partitioned::ready`].
    pub fn partitions_ready(&self, request: usize, partitions: impl Iterator<Item = i32> + Clone) -> Result {
        self.begin_partitions_ready(request, partitions)?;
        if self.world().messages.peers().are_crowded() {
            self.step_back();
        }
        Ok(())
    }

    /// Makes partitions ready, as [`Mpi::partitions_ready`] for a rank that has no stack to step back on.
    ///
    /// # Errors
    /// As [`Partitioned::ready`].
    pub fn begin_partitions_ready(
        &self,
        request: usize,
        partitions: impl Iterator<Item = i32> + Clone,
    ) -> Result {
        self.of_request(request, |partitioned, messages| partitioned.ready(messages, request, partitions))
    }

    /// Begins to wait for a partition, for an `MPI_Parrived` that finds it. Returns the request for it, and
    /// whether the rank has to wait; `None` if nothing is missing.
    ///
    /// # Errors
    /// As [`Partitioned::ask`].
    pub fn begin_arrived(&self, request: usize, partition: i32) -> Result<Option<(usize, bool)>> {
        let look =
            self.of_request(request, |partitioned, messages| partitioned.ask(messages, request, partition))?;
        look.map(|look| Ok((look, self.begin_wait(look)?))).transpose()
    }

    /// Implements `MPI_Parrived`. Returns `true` if the partition has come by the rank's clock.
    ///
    /// # Errors
    /// As [`Partitioned::ask`].
    pub fn has_partition_arrived(&self, request: usize, partition: i32) -> Result<bool> {
        let look =
            self.of_request(request, |partitioned, messages| partitioned.ask(messages, request, partition))?;
        let arrived = look.map_or(Ok(true), |look| self.ask_for(look))?;
        if !arrived {
            self.of_request(request, |partitioned, messages| partitioned.goes_on(messages, request))?;
        }
        Ok(arrived)
    }
}

//! The calls that receive (MPI 5.0 section 3.2.4, 3.7, 3.8, 3.10).

use crate::batch::Batching;
use crate::error::Result;
use crate::handle::{self, REQUEST_SENT};
use crate::node::NIL;
use crate::point_to_point::{Buffer, Peer, SendMode};
use crate::request::Status;
use crate::world::{Mpi, World};

impl World {
    /// Ends a receive of the mounted rank, whose status is then [`Mpi::latest_status`], or arranges that the
    /// rank is woken: answers its node then.
    #[inline(always)]
    fn complete_or_wait(&mut self, index: u32) -> Result<Option<u32>> {
        if self.messages.faults().is_none() {
            return self.messages.complete_or_wait(index);
        }
        if self.begin_wait_in_order(handle::of_node(index))? {
            return Ok(Some(index));
        }
        if let Some(faults) = self.messages.faults_mut() {
            faults.end_pending(index);
        }
        let status = self.messages.finish_receive(index)?;
        self.messages.requests_mut().set_latest(status);
        Ok(None)
    }
}

impl Mpi {
    /// Begins `MPI_Recv`; returns what the rank has to wait for, if the message has not come. Else its status
    /// is [`Mpi::latest_status`].
    pub fn begin_receive(&self, buffer: Buffer, from: Peer) -> Result<Option<u32>> {
        let expected = {
            let world = &mut *self.world();
            world.messages.receive_plain(&world.objects, buffer, from)
        };
        match expected {
            Some(expected) => Ok((expected != NIL).then_some(expected)),
            None => self.begin_any_receive(buffer, from),
        }
    }

    /// Begins as [`Mpi::begin_receive`] does a receive that is not plain: `World::receive_quickly` was tried.
    #[inline(always)]
    pub fn begin_any_receive(
        &self,
        (buffer, count, datatype): Buffer,
        (source, tag, comm): Peer,
    ) -> Result<Option<u32>> {
        let world = &mut *self.world();
        let index = world.messages.start_any_receive(
            &world.objects,
            Batching::Never,
            buffer,
            count,
            datatype,
            source,
            tag,
            comm,
        )?;
        world.complete_or_wait(index)
    }

    /// Ends an `MPI_Recv`, once its message has come: its status is [`Mpi::latest_status`].
    #[inline(always)]
    pub fn end_receive(&self, expected: u32) -> Result {
        let mut world = self.world();
        if let Some(faults) = world.messages.faults_mut() {
            faults.end_pending(expected);
        }
        let status = world.messages.finish_receive(expected)?;
        world.messages.requests_mut().set_latest(status);
        Ok(())
    }

    /// Receives a message, and waits for it.
    pub fn receive(&self, buffer: Buffer, from: Peer) -> Result {
        match self.begin_receive(buffer, from)? {
            None => Ok(()),
            Some(expected) => {
                self.block();
                self.end_receive(expected)
            }
        }
    }

    /// Returns the status of the receive that has just ended.
    #[inline]
    pub fn latest_status(&self) -> Status {
        self.world().messages.requests().latest()
    }

    // Always, as for `Mpi::block`.
    #[inline(always)]
    pub(crate) fn complete_receive<'a>(
        &'a self,
        mut world: std::cell::RefMut<'a, World>,
        index: u32,
    ) -> Result<Status> {
        if world.complete_or_wait(index)?.is_some() {
            drop(world);
            self.block();
            self.end_receive(index)?;
            world = self.world();
        }
        Ok(world.messages.requests().latest())
    }

    /// Starts an `MPI_Irecv` that is not plain: `World::ireceive_quickly` was tried.
    #[inline(always)]
    pub fn any_ireceive(
        &self,
        (buffer, count, datatype): Buffer,
        (source, tag, comm): Peer,
    ) -> Result<usize> {
        Ok(handle::of_node({
            let world = &mut *self.world();
            world.messages.start_any_receive(
                &world.objects,
                Batching::UntilComplete,
                buffer,
                count,
                datatype,
                source,
                tag,
                comm,
            )
        }?))
    }

    /// Implements `MPI_Irecv`. Returns the request's handle.
    pub fn ireceive(&self, buffer: Buffer, from: Peer) -> Result<usize> {
        Ok(handle::of_node({
            let world = &mut *self.world();
            world.messages.start_receive(&world.objects, buffer, from, Batching::UntilComplete)
        }?))
    }

    /// Begins `MPI_Mrecv`; [`Mpi::end_receive`] ends it. `None` if all is done, and the status is
    /// [`Mpi::latest_status`].
    pub fn begin_matched_receive(&self, buffer: Buffer, message: usize) -> Result<Option<u32>> {
        let mut guard = self.world();
        let world = &mut *guard;
        let index = world.messages.start_matched_receive(&world.objects, buffer, message)?;
        world.complete_or_wait(index)
    }

    /// Implements `MPI_Imrecv`.
    pub fn matched_ireceive(&self, buffer: Buffer, message: usize) -> Result<usize> {
        Ok(handle::of_node({
            let world = &mut *self.world();
            world.messages.start_matched_receive(&world.objects, buffer, message)
        }?))
    }

    /// The first half of `MPI_Sendrecv` and, with `replace` (the payload has left the buffer before the
    /// receive is posted), of `MPI_Sendrecv_replace`: what [`Mpi::end_receive`] ends; `None` if all is done,
    /// and the status is [`Mpi::latest_status`].
    // The receive first, so that a message to the rank itself finds it; the payload first where both share a
    // buffer.
    pub fn begin_send_receive(
        &self,
        send: Buffer,
        to: Peer,
        receive: Buffer,
        from: Peer,
        replace: bool,
    ) -> Result<Option<u32>> {
        let mut guard = self.world();
        let world = &mut *guard;
        let (index, request);
        if replace {
            request =
                world.messages.start_send(&world.objects, SendMode::Standard, send, to, Batching::Never)?;
            index = world.messages.start_receive(&world.objects, receive, from, Batching::Never)?;
        } else {
            index = world.messages.start_receive(&world.objects, receive, from, Batching::Never)?;
            request =
                world.messages.start_send(&world.objects, SendMode::Standard, send, to, Batching::Never)?;
        }
        if request == REQUEST_SENT {
            return world.complete_or_wait(index);
        }
        // A sender that waits for its match: the two waits one after the other, since the later of the two
        // ends the call anyway. Who is told that there is nothing to receive does not wait for the other,
        // either.
        let status = match self.complete_receive(guard, index) {
            Ok(status) => status,
            Err(failure) => return self.free_request(request).and(Err(failure)),
        };
        self.wait(request)?;
        self.world().messages.requests_mut().set_latest(status);
        Ok(None)
    }

    /// Implements `MPI_Isendrecv` and `MPI_Isendrecv_replace` (with `replace`, the payload leaves before the
    /// receive is posted).
    ///
    /// The send's data is out of its buffer at once, so the receive's request stands for both.
    pub fn isend_receive(
        &self,
        send: Buffer,
        to: Peer,
        receive: Buffer,
        from: Peer,
        replace: bool,
    ) -> Result<usize> {
        let mut guard = self.world();
        let world = &mut *guard;
        if replace {
            world.messages.start_send(&world.objects, SendMode::Ready, send, to, Batching::Never)?;
            return Ok(handle::of_node(world.messages.start_receive(
                &world.objects,
                receive,
                from,
                Batching::UntilComplete,
            )?));
        }
        let index = world.messages.start_receive(&world.objects, receive, from, Batching::UntilComplete)?;
        world.messages.start_send(&world.objects, SendMode::Ready, send, to, Batching::Never)?;
        Ok(handle::of_node(index))
    }
}

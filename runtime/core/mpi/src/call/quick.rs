//! Calls that are mostly over at once, within the borrow that charges their entry. If there is more to do
//! than with a plain message or a short access to a window or a file, nothing is done and `None` returned.
//! Then [`crate::call::send`], [`crate::call::receive`], [`crate::call::rma`] and [`crate::call::file`] see
//! to them.

use crate::batch::Batching;
use crate::call::file::SHORT_WRITE;
use crate::call::send::MIN_LONG_ELEMENTS;
use crate::handle;
use crate::point_to_point::{Buffer, Peer, SendMode};
use crate::world::World;
use p2p::departures::let_others_run;
use rma::RmaArguments;

impl World {
    /// Sends as `MPI_Send` a plain message, if its sender need not let others run. Returns `None`, with
    /// nothing done, otherwise.
    #[inline(always)]
    pub fn send_quickly(&mut self, buffer: Buffer, to: Peer) -> Option<()> {
        if !(0..MIN_LONG_ELEMENTS).contains(&buffer.1)
            || let_others_run(self.messages.ranks(), self.messages.peers())
        {
            return None;
        }
        // A sender that waits for a receive blocks.
        if !self.messages.fabric().sends_plainly() && self.checks_sends() {
            return None;
        }
        let batching = Batching::of_send(self.messages.ranks().is_same_call_again());
        self.start_quickly(buffer, to, batching).map(|_| ())
    }

    /// Starts an `MPI_Isend` of a plain message. Returns the request's handle; `None` if there is more to do.
    #[inline(always)]
    pub fn isend_quickly(&mut self, buffer: Buffer, to: Peer) -> Option<usize> {
        if buffer.1 < 0 || self.messages.peers().are_crowded() {
            return None;
        }
        self.start_quickly(buffer, to, Batching::UntilComplete)
    }

    #[inline(always)]
    fn start_quickly(&mut self, buffer: Buffer, to: Peer, batching: Batching) -> Option<usize> {
        if self.messages.fabric().sends_plainly() {
            return self.messages.send_plain::<false>(
                &self.objects,
                SendMode::Standard,
                buffer,
                to,
                batching,
            );
        }
        self.messages.send_noted(
            &self.objects,
            SendMode::Standard,
            batching,
            buffer.0,
            buffer.1,
            buffer.2,
            to.0,
            to.1,
            to.2,
        )
    }

    /// Starts an `MPI_Recv` of a plain message. Returns its node, if it is still to come, or
    /// [`crate::node::NIL`]; `None` if there is more to do.
    #[inline(always)]
    pub fn receive_quickly(&mut self, buffer: Buffer, from: Peer) -> Option<u32> {
        if buffer.1 < 0 { None } else { self.messages.receive_plain(&self.objects, buffer, from) }
    }

    /// Starts an `MPI_Irecv` of a plain message. Returns the request's handle; `None` if there is more to do.
    #[inline(always)]
    pub fn ireceive_quickly(&mut self, buffer: Buffer, from: Peer) -> Option<usize> {
        if buffer.1 < 0 {
            return None;
        }
        let node = if self.messages.requests().receives_plainly() {
            self.messages.start_plain_receive::<false>(&self.objects, buffer, from, Batching::UntilComplete)
        } else {
            self.messages.start_noted_receive(
                &self.objects,
                Batching::UntilComplete,
                buffer.0,
                buffer.1,
                buffer.2,
                from.0,
                from.1,
                from.2,
            )
        };
        node.map(handle::of_node)
    }

    /// Issues `MPI_Put`, `MPI_Get` or `MPI_Accumulate` of a few bytes. Returns `None`, with nothing done, if
    /// there is more to do.
    #[inline(always)]
    pub fn access_quickly(&mut self, asked: &RmaArguments) -> Option<()> {
        self.chapters.rma.issue_short(&mut self.messages, &self.objects, asked)
    }
    /// Begins `MPI_File_write_shared` of a few bytes. Returns the word for its second half,
    /// [`crate::world::Mpi::end_access`]; `None` if there is more to do.
    #[inline(always)]
    pub fn write_shared_quickly(&mut self, file: usize, buffer: Buffer) -> Option<u64> {
        let index = self.chapters.files.begin_short(&mut self.messages, &self.objects, file, buffer)?;
        Some(SHORT_WRITE | u64::from(index))
    }
}

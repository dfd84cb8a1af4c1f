//! Neighbourhood collectives (MPI 5.0 chapter 8.6).

use crate::area::BufferArgument;
use crate::arguments::{Beside, CallArguments, CallMemory};
use crate::entrance::{EnteredCall, Entrance};
use crate::membership::CallMembership;
use crate::mode::Mode;
use objects::error::{ErrorClass, Failure, Result};
use objects::topology::Topology;
use schedule::{Blocks, Kind, NOBODY};
use std::rc::Rc;

// A topology's lists go into schedules as they are.
const _: () = assert!(NOBODY == objects::topology::NOBODY);

impl Entrance<'_> {
    /// Returns how many neighbours send to the mounted rank, and how many it sends to.
    pub fn neighbor_counts(&mut self, comm: usize) -> Result<(usize, usize)> {
        let communicator = self.objects.comms.get(comm)?;
        let me = communicator.rank(self.messages.me());
        Ok(communicator.topology.as_ref().map_or((0, 0), |topology| topology.degrees(me)))
    }

    /// Returns the mounted rank's part in a neighbourhood collective, and the topology of its communicator.
    fn topology(&self, comm: usize) -> Result<(CallMembership, Rc<Topology>)> {
        let place = CallMembership::of(self.objects, comm)?;
        let topology = self.objects.comms.at(place.comm).topology.clone().ok_or_else(|| {
            Failure::new(
                ErrorClass::TOPOLOGY,
                "the communicator has no process topology: make one with MPI_Cart_create, MPI_Graph_create \
                 or MPI_Dist_graph_create",
            )
        })?;
        Ok((place, topology))
    }

    /// Behaves as [`Entrance::join_neighbor`] in a run without payloads.
    pub(super) fn join_neighbor_lengths(
        &mut self,
        comm: usize,
        (send, receive): (Blocks, Blocks),
        mode: Mode,
    ) -> Result<EnteredCall> {
        let (place, topology) = self.topology(comm)?;
        let (sources, destinations) = topology.degrees(place.rank);
        for (blocks, should) in [(&send, destinations), (&receive, sources)] {
            if let Blocks::Each(begins) = blocks
                && begins.len() != should + 1
            {
                let there = begins.len() - 1;
                return Err(Failure::new(
                    ErrorClass::COUNT,
                    format!("the call has {there} blocks for {should} neighbours"),
                ));
            }
        }
        let sides = (CallMemory::lengths(send), CallMemory::lengths(receive));
        let mut call = CallArguments::of(Kind::Neighbor, mode, place, sides);
        call.brief.irregular = call.send.is_irregular() || call.receive.is_irregular();
        (call.beside, call.gathers) = (Beside::Neighbors { topology, each: true }, false);
        self.make(&mut call)
    }

    /// Lets the mounted rank enter a neighbourhood collective. With `each`, every neighbour gets a block of
    /// its own (alltoall forms).
    ///
    /// # Errors
    /// What is wrong with the arguments (MPI 5.0 section 6.2), or that members call something else.
    #[inline(never)]
    pub fn join_neighbor(
        &mut self,
        send: BufferArgument,
        receive: BufferArgument,
        each: bool,
        comm: usize,
        mode: Mode,
    ) -> Result<EnteredCall> {
        let (place, topology) = self.topology(comm)?;
        let (sources, destinations) = topology.degrees(place.rank);
        let given = if each { destinations } else { 1 };
        let source = CallMemory::list(self.messages, self.objects, &send, given)?;
        let target = CallMemory::list(self.messages, self.objects, &receive, sources)?;
        let mut call = CallArguments::of(Kind::Neighbor, mode, place, (source, target));
        call.brief.irregular = send.is_irregular() || receive.is_irregular();
        call.gathers = call.send.as_list().is_some()
            && call.receive.as_list().is_some_and(|list| {
                // Of a nonblocking one, what is received must lie side by side.
                call.halved || mode == Mode::Nonblocking && list.side_by_side().is_some()
            });
        call.beside = Beside::Neighbors { topology, each };
        self.make(&mut call)
    }
}

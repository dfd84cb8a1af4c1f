//! Neighbourhood collectives (MPI 5.0 chapter 8.6).

use super::{Call, Mode, Part};
use crate::collective::Delivery;
use crate::collective::agent::pack;
use crate::collective::area::Side;
use crate::collective::area::area;
use crate::collective::blocks::block_list;
use crate::collective::gathering::{Brief, Bring};
use crate::collective::schedule::{Blocks, Kind, NOBODY};
use crate::error::{ErrorClass, Failure, Result};
use crate::view::Extent;
use crate::world::Mpi;

// A topology's lists go into schedules as they are.
const _: () = assert!(NOBODY == crate::topology::NOBODY);

impl Mpi {
    /// How many neighbours send to the mounted rank, and how many it sends to.
    pub fn neighbor_counts(&self, comm: usize) -> Result<(usize, usize)> {
        let world = self.world();
        let communicator = world.objects.comms.get(comm)?;
        let me = communicator.rank(world.messages.current);
        Ok(communicator.topology.as_ref().map_or((0, 0), |topology| topology.degrees(me)))
    }

    /// The neighbourhood collectives (MPI 5.0 chapter 8.6). With `each`, every neighbour gets a block of its own (alltoall forms).
    #[inline(always)]
    pub fn neighbor(&self, send: Side, receive: Side, each: bool, comm: usize, mode: Mode) -> Result<Option<usize>> {
        let sources = || Ok((receive, self.neighbor_counts(comm)?.0));
        self.in_mode(mode, || self.join_neighbor(send, receive, each, comm, mode), sources)
    }

    /// Enters, if the call may gather. Of a nonblocking one, what is received must lie side by side.
    fn gather_neighbors(&self, send: &Side, receive: &Side, each: bool, comm: usize, mode: Mode) -> Result<Option<Part>> {
        let (sources, destinations) = self.neighbor_counts(comm)?;
        let irregular = send.is_irregular() || receive.is_irregular();
        let (send, receive) = {
            let world = self.world();
            (
                block_list(&world.messages, &world.objects, send, if each { destinations } else { 1 })?,
                block_list(&world.messages, &world.objects, receive, sources)?,
            )
        };
        let (Some(send), Some(receive)) = (send, receive) else { return Ok(None) };
        let target = match (mode, receive.side_by_side()) {
            (Mode::Entering, _) => Extent::none(),
            (Mode::Nonblocking, Some(buffer)) => Extent { buffer, layout: None, bytes: receive.bytes },
            _ => return Ok(None),
        };
        let brief = Brief { kind: Kind::Neighbor, mode: mode.whole(), comm, root: None, irregular, bytes: 0, reduction: None };
        self.try_gathering(&brief, &Extent::none(), target, &mut Bring::Lists(&send, &receive, each))
    }

    #[inline(never)]
    fn join_neighbor(&self, send: Side, receive: Side, each: bool, comm: usize, mode: Mode) -> Result<Part> {
        let world = self.world();
        let communicator = world.objects.comms.get(comm)?;
        let me = communicator.rank(world.messages.current);
        let Some(topology) = communicator.topology.clone() else {
            return Err(Failure::new(
                ErrorClass::TOPOLOGY,
                "the communicator has no process topology: make one with MPI_Cart_create, MPI_Graph_create or MPI_Dist_graph_create",
            ));
        };
        drop(world);
        if self.may_gather()
            && let Some(part) = self.gather_neighbors(&send, &receive, each, comm, mode)?
        {
            return Ok(part);
        }
        let world = self.world();
        let (sources, destinations, cartesian) = topology.neighbors(me);
        let target = area(&world.objects, &receive, sources.len() as u32)?;
        let delivery = if mode != Mode::Entering && sources.contains(&NOBODY) {
            let blocks =
                (0..sources.len() as u32).map(|index| target.block(&world.objects, &receive, index)).collect::<Result<Vec<_>>>()?;
            Delivery::From(blocks.into_iter().flatten().collect(), sources.clone())
        } else {
            mode.delivery(&target)
        };
        let mut source = area(&world.objects, &send, if each { destinations.len() as u32 } else { 1 })?;
        drop(world);
        let mut input = pack(&source.extents);
        if !each {
            // Every neighbour gets the same block: the schedule sees one block a neighbour.
            let block = std::mem::take(&mut input);
            for _ in 0..destinations.len() {
                input.extend_from_slice(&block);
            }
            source.blocks = Blocks::Uniform(block.len() as u64);
        }
        let irregular = source.is_irregular() || target.is_irregular();
        let call = Call { kind: Kind::Neighbor, comm, root: None, irregular, bytes: 0, reduction: None, mode: mode.whole() };
        self.run(call, source, input, target, delivery, (sources, destinations), cartesian)
    }
}

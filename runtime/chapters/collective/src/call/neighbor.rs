//! Neighbourhood collectives (MPI 5.0 chapter 8.6).

use super::lengths::lengths;
use super::{Beside, NeighborLists};
use crate::area::BufferArgument;
use crate::area::area;
use crate::blocks::block_list;
use crate::brief::{Brief, Bring};
use crate::delivery::Delivery;
use crate::entrance::{EnteredCall, Entrance};
use crate::mode::Mode;
use objects::error::{ErrorClass, Failure, Result};
use objects::topology::Topology;
use p2p::view::BufferView;
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

    /// Enters, if the call may gather. Of a nonblocking one, what is received must lie side by side.
    fn gather_neighbors(
        &mut self,
        send: &BufferArgument,
        receive: &BufferArgument,
        each: bool,
        comm: usize,
        mode: Mode,
    ) -> Result<Option<EnteredCall>> {
        let (sources, destinations) = self.neighbor_counts(comm)?;
        let irregular = send.is_irregular() || receive.is_irregular();
        let send = block_list(self.messages, self.objects, send, if each { destinations } else { 1 })?;
        let receive = block_list(self.messages, self.objects, receive, sources)?;
        let (Some(send), Some(receive)) = (send, receive) else { return Ok(None) };
        let target = match (mode, receive.side_by_side()) {
            (Mode::Entering, _) => BufferView::none(),
            (Mode::Nonblocking, Some(buffer)) => BufferView { buffer, layout: None, bytes: receive.bytes },
            _ => return Ok(None),
        };
        let brief = Brief { irregular, ..Brief::of(Kind::Neighbor, mode.whole(), comm) };
        self.try_gathering(&brief, &BufferView::none(), target, &mut Bring::Lists(&send, &receive, each))
    }

    /// Returns the mounted rank's number in a communicator, and the topology of that.
    fn topology(&self, comm: usize) -> Result<(u32, Rc<Topology>)> {
        let communicator = self.objects.comms.get(comm)?;
        let topology = communicator.topology.clone().ok_or_else(|| {
            Failure::new(
                ErrorClass::TOPOLOGY,
                "the communicator has no process topology: make one with MPI_Cart_create, MPI_Graph_create \
                 or MPI_Dist_graph_create",
            )
        })?;
        Ok((communicator.rank(self.messages.me()), topology))
    }

    /// Behaves as [`Entrance::join_neighbor`] in a run without payloads.
    pub(super) fn join_neighbor_lengths(
        &mut self,
        comm: usize,
        (send, receive): (Blocks, Blocks),
        mode: Mode,
    ) -> Result<EnteredCall> {
        let (me, topology) = self.topology(comm)?;
        let (sources, destinations, cartesian) = topology.neighbors(me);
        for (blocks, neighbors) in [(&send, &destinations), (&receive, &sources)] {
            if let Blocks::Each(begins) = blocks
                && begins.len() != neighbors.len() + 1
            {
                let (there, should) = (begins.len() - 1, neighbors.len());
                return Err(Failure::new(
                    ErrorClass::COUNT,
                    format!("the call has {there} blocks for {should} neighbours"),
                ));
            }
        }
        let (source, target) = (lengths(send), lengths(receive));
        let brief = Brief {
            irregular: source.is_irregular() || target.is_irregular(),
            ..Brief::of(Kind::Neighbor, mode, comm)
        };
        self.general(
            &brief,
            Beside::Neighbors(NeighborLists { sources, destinations, cartesian }),
            source,
            target,
        )
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
        let (me, topology) = self.topology(comm)?;
        if self.may_gather()
            && let Some(part) = self.gather_neighbors(&send, &receive, each, comm, mode)?
        {
            return Ok(part);
        }
        let (sources, destinations, cartesian) = topology.neighbors(me);
        let target = area(self.objects, &receive, sources.len() as u32)?;
        // Beyond the edge of a grid there is nobody, and the block of nobody keeps what it had (MPI 5.0
        // section 8.6).
        let delivery = if mode != Mode::Entering && sources.contains(&NOBODY) {
            let blocks = (0..sources.len() as u32)
                .map(|index| target.block(self.objects, &receive, index))
                .collect::<Result<Vec<_>>>()?;
            Delivery::From(blocks.into_iter().flatten().collect(), sources.clone())
        } else {
            mode.delivery(&target)
        };
        let mut source = area(self.objects, &send, if each { destinations.len() as u32 } else { 1 })?;
        if !each {
            // Every neighbour gets the same block: the schedule sees one block a neighbour.
            source.views = std::iter::repeat_n(source.views, destinations.len()).flatten().collect();
            source.blocks = Blocks::Uniform(source.bytes);
        }
        let irregular = source.is_irregular() || target.is_irregular();
        let brief = Brief { irregular, ..Brief::of(Kind::Neighbor, mode, comm) };
        let neighbors = NeighborLists { sources, destinations, cartesian };
        self.deliver(&brief, Beside::Neighbors(neighbors), source, target, delivery)
    }
}

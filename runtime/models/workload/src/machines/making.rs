//! Communicators of ranks without a program: making and freeing them.

use super::{Begun, Blocked, DONE, Machines};
use crate::call::{Answer, Neighborhood};
use crate::workload::Workload;
use mpi::collective::agreement::Contribution;
use mpi::error::{ErrorClass, Failure, Result};
use mpi::group::Group;
use mpi::handle::COMM_NULL;
use mpi::topology::{Cart, DistGraph, Graph, Topology};
use rank::Addr;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A handle of none: the number is the next made communicator's.
const UNMADE: usize = usize::MAX;
/// A handle of none: the number is that of a communicator which `MPI_Comm_idup` makes.
const COPIED: usize = usize::MAX - 1;

/// A communicator that is copied without waiting.
struct UnfinishedCopy {
    /// The rank's number for it, if that is used.
    number: Option<u32>,
    /// The place where MPI stores its handle, in a box that stays where it is.
    handle: Box<usize>,
}

/// Communicators that ranks copy without waiting.
#[derive(Default)]
pub(super) struct Copies {
    /// Copies that are not complete, by rank.
    unfinished: FxHashMap<u32, Vec<UnfinishedCopy>>,
    /// Numbers of all ranks that are [`UNMADE`]. Without one, no list of numbers is searched.
    gaps: usize,
}

impl Copies {
    /// Gives a communicator the least number that none has.
    fn number(&mut self, made: &mut Vec<usize>, comm: usize) {
        if self.gaps != 0
            && let Some(gap) = made.iter_mut().find(|known| **known == UNMADE)
        {
            *gap = comm;
            self.gaps -= 1;
        } else {
            made.push(comm);
        }
    }
}

impl<W: Workload> Machines<'_, W> {
    /// Begins `MPI_Comm_idup`. A trace has numbered the new communicator when the rank first used it, and
    /// others that were made meanwhile before it.
    pub(super) fn begin_idup(
        &mut self,
        rank: u32,
        comm: u32,
        copy: Option<u32>,
        request: u32,
    ) -> Result<Begun> {
        let mut handle = Box::new(COMM_NULL);
        let made = self.mpi.comm_idup(self.comm(rank, comm), Addr(&raw mut *handle as usize))?;
        if let Some(copy) = copy {
            let (known, place) =
                (self.machines[rank as usize].comms.get_or_insert_default(), copy as usize - 2);
            if known.len() <= place {
                self.copies.gaps += place + 1 - known.len();
                known.resize(place + 1, UNMADE);
            }
            if std::mem::replace(&mut known[place], COPIED) == UNMADE {
                self.copies.gaps -= 1;
            }
        }
        self.copies.unfinished.entry(rank).or_default().push(UnfinishedCopy { number: copy, handle });
        self.open(rank, request, made)
    }

    /// Notes the communicators of a rank's copies that are complete. Returns `true` if others are under way.
    #[inline(always)]
    pub(super) fn end_copies(&mut self, rank: u32) -> bool {
        !self.copies.unfinished.is_empty() && self.end_own_copies(rank)
    }

    #[cold]
    fn end_own_copies(&mut self, rank: u32) -> bool {
        let Some(copies) = self.copies.unfinished.get_mut(&rank) else { return false };
        let known = self.machines[rank as usize].comms.get_or_insert_default();
        copies.retain(|UnfinishedCopy { number, handle }| {
            let is_made = **handle != COMM_NULL;
            if is_made && let Some(number) = number {
                known[*number as usize - 2] = **handle;
            }
            !is_made
        });
        let is_copying = !copies.is_empty();
        if !is_copying {
            self.copies.unfinished.remove(&rank);
        }
        is_copying
    }

    pub(super) fn begin_dup(&mut self, rank: u32, comm: u32) -> Result<Begun> {
        let made = self.mpi.begin_comm_dup(self.comm(rank, comm))?;
        self.making(rank, made)
    }

    pub(super) fn begin_split(&mut self, rank: u32, comm: u32, color: i32, key: i32) -> Result<Begun> {
        let made = self.mpi.begin_comm_split(self.comm(rank, comm), color, key)?;
        self.making(rank, made)
    }

    pub(super) fn begin_group(
        &mut self,
        rank: u32,
        comm: Option<u32>,
        members: &[u32],
        tag: i32,
    ) -> Result<Begun> {
        let comm = comm.map(|comm| self.comm(rank, comm));
        let made = self.mpi.begin_comm_create_group(comm, Group::from_ranks(members.to_vec()), tag)?;
        self.making(rank, made)
    }

    pub(super) fn begin_neighborhood(
        &mut self,
        rank: u32,
        comm: u32,
        neighborhood: Neighborhood,
    ) -> Result<Begun> {
        let handle = self.comm(rank, comm);
        let size = self.mpi.world().objects.comms.get(handle)?.size();
        let topology = match neighborhood {
            Neighborhood::Cart(dims, periods) => Topology::Cart(Cart::new(&dims, &periods, size)?),
            Neighborhood::Graph(index, edges) => Topology::Graph(Graph::new(&index, &edges, size)?),
            Neighborhood::Adjacent(sources, destinations) => {
                let own = DistGraph { sources, destinations, weights: None };
                let made = self.mpi.begin_comm_with_edges(handle, Contribution::Adjacent(Rc::new(own)))?;
                return self.making(rank, made);
            }
            Neighborhood::Edges(edges) => {
                let edges = edges.into_iter().map(|(source, destination)| (source, destination, 0)).collect();
                let made = self.mpi.begin_comm_with_edges(handle, Contribution::Edges(edges, false))?;
                return self.making(rank, made);
            }
            Neighborhood::Part(remain) => return self.begin_part(rank, handle, &remain),
        };
        let ranks = match &topology {
            Topology::Cart(cart) => cart.size(),
            Topology::Graph(graph) => graph.size(),
            Topology::DistGraph(_) => size,
        };
        let made = self.mpi.begin_comm_with_topology(handle, topology, ranks)?;
        self.making(rank, made)
    }

    /// Begins `MPI_Cart_sub`.
    fn begin_part(&mut self, rank: u32, handle: usize, remain: &[bool]) -> Result<Begun> {
        let found = {
            let world = self.mpi.world();
            let comm = world.objects.comms.get(handle)?;
            match comm.topology.as_deref() {
                Some(Topology::Cart(cart)) if cart.ndims() == remain.len() => {
                    Some(cart.sub(comm.rank(rank), remain))
                }
                _ => None,
            }
        };
        let Some((part, color, key)) = found else {
            return Err(Failure::new(
                ErrorClass::TOPOLOGY,
                "the communicator has no grid of so many dimensions",
            ));
        };
        // Kept until there is a communicator to give it to.
        self.list(rank).part = Some(part);
        let made = self.mpi.begin_comm_split(handle, color as i32, key as i32)?;
        self.making(rank, made)
    }

    pub(super) fn free_comm(&mut self, rank: u32, comm: u32) -> Result<Begun> {
        self.mpi.release_comm(self.comm(rank, comm))?;
        if let Some(made) =
            self.machines[rank as usize].comms.as_mut().and_then(|made| made.get_mut(comm as usize - 2))
        {
            *made = COMM_NULL;
        }
        DONE
    }

    pub(super) fn making(&mut self, rank: u32, (word, waits): (usize, bool)) -> Result<Begun> {
        if waits { Ok(Begun::Blocks(Blocked::Making, word)) } else { self.made(rank, word).map(Begun::Done) }
    }

    pub(super) fn made(&mut self, rank: u32, word: usize) -> Result<Answer> {
        let comm = self.mpi.end_comm(word)?;
        if comm != COMM_NULL {
            self.copies.number(self.machines[rank as usize].comms.get_or_insert_default(), comm);
        }
        if self.machines[rank as usize].list != crate::requests::NONE
            && let Some(part) = self.list(rank).part.take()
        {
            self.mpi.set_topology(comm, Topology::Cart(part))?;
            self.release(rank);
        }
        Ok(Answer::Done)
    }
}

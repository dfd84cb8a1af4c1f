//! Process topologies (MPI 5.0 chapter 8) as data: who is where, and whose neighbour.
//!
//! A topology is shared by all ranks of its communicator. Cartesian ones are a few words;
//! graphs are flat arrays, of a size that the edges determine.

mod cart;
mod dims;
mod graph;
#[cfg(test)]
mod tests;

pub use cart::Cart;
pub use dims::{balanced, dims_create};
pub use graph::{DistGraph, Edges, Graph, GraphContribution};

use crate::abi;
use std::rc::Rc;

/// No rank: a neighbour beyond the edge of a grid.
pub const NOBODY: u32 = u32::MAX;

/// The topology of a communicator, in its own ranks.
// Whole on every process: a neighbourhood collective then knows all members' neighbours without asking
// anybody.
#[derive(Debug)]
pub enum Topology {
    /// `MPI_CART`
    Cart(Cart),
    /// `MPI_GRAPH`
    Graph(Graph),
    /// `MPI_DIST_GRAPH`
    DistGraph(Edges),
}

impl Topology {
    /// Returns the result of `MPI_Topo_test`, with the standard ABI's value.
    pub fn kind(&self) -> i32 {
        match self {
            Topology::Cart(_) => abi::MPI_CART,
            Topology::Graph(_) => abi::MPI_GRAPH,
            Topology::DistGraph(_) => abi::MPI_DIST_GRAPH,
        }
    }

    /// Sources and destinations of neighbourhood collectives at rank `me`, in the order of MPI
    /// 5.0 section 8.6, with [`NOBODY`] where there is none; and whether it is Cartesian.
    pub fn neighbors(&self, me: u32) -> (Rc<[u32]>, Rc<[u32]>, bool) {
        match self {
            Topology::Cart(cart) => {
                let both: Rc<[u32]> = cart.neighbors(me).into();
                (both.clone(), both, true)
            }
            Topology::Graph(graph) => {
                let both: Rc<[u32]> = graph.neighbors(me).into();
                (both.clone(), both, false)
            }
            Topology::DistGraph(edges) => (edges.sources(me).into(), edges.destinations(me).into(), false),
        }
    }

    /// Returns how many sources and destinations.
    pub fn degrees(&self, me: u32) -> (usize, usize) {
        match self {
            Topology::Cart(cart) => (2 * cart.ndims(), 2 * cart.ndims()),
            Topology::Graph(graph) => (graph.neighbors(me).len(), graph.neighbors(me).len()),
            Topology::DistGraph(edges) => (edges.sources(me).len(), edges.destinations(me).len()),
        }
    }

    /// The sources alone, in place of what `list` has.
    // Into the caller's list: the time plane asks once for each member, and an allocation each would be most
    // of its work.
    pub fn sources(&self, me: u32, list: &mut Vec<u32>) {
        list.clear();
        match self {
            Topology::Cart(cart) => cart.append_neighbors(me, list),
            Topology::Graph(graph) => list.extend_from_slice(graph.neighbors(me)),
            Topology::DistGraph(edges) => list.extend_from_slice(edges.sources(me)),
        }
    }

    /// Lists the destinations alone.
    pub fn destinations(&self, me: u32, list: &mut Vec<u32>) {
        match self {
            Topology::DistGraph(edges) => {
                list.clear();
                list.extend_from_slice(edges.destinations(me));
            }
            _ => self.sources(me, list),
        }
    }

    /// Makes the topology of a distributed graph over `size` ranks, from what each of them gave.
    ///
    /// # Errors
    /// `MPI_ERR_RANK` for an edge to a rank that is not in the communicator, `MPI_ERR_ARG` where
    /// some ranks gave weights and others did not.
    pub fn distributed<P: Into<GraphContribution>>(
        size: u32,
        parts: impl Iterator<Item = (u32, P)>,
    ) -> crate::error::Result<Topology> {
        Edges::new(size, parts.map(|(rank, part)| (rank, part.into()))).map(Topology::DistGraph)
    }
}

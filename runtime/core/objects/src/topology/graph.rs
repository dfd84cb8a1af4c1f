//! Graph and distributed graph topologies (MPI 5.0 sections 8.5.3 and 8.5.4).

use crate::error::{ErrorClass, Failure, Result};
use std::rc::Rc;

/// A graph that every rank knows whole, as `MPI_Graph_create` gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// For each node the end of its neighbours in `edges`.
    pub index: Box<[u32]>,
    /// The neighbours of node 0, of node 1, ...
    pub edges: Box<[u32]>,
}

impl Graph {
    /// Checks and takes the arguments of `MPI_Graph_create` on a communicator of `size` ranks.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for more nodes than ranks, a descending index, and an edge to no node.
    pub fn new(index: &[i32], edges: &[i32], size: u32) -> Result<Graph> {
        let wrong = |text: String| Err(Failure::new(ErrorClass::ARG, text));
        if index.len() as u64 > u64::from(size) {
            return wrong(format!("the graph has {} nodes, the communicator only {size} ranks", index.len()));
        }
        let mut last = 0;
        for (node, &end) in index.iter().enumerate() {
            if end < last {
                return wrong(format!(
                    "index[{node}] is {end}; the index counts all edges so far, so it is at least {last}"
                ));
            }
            last = end;
        }
        if let Some(at) = edges.iter().position(|&edge| edge < 0 || edge as usize >= index.len()) {
            return wrong(format!(
                "edges[{at}] is {}; it must be a node, 0 to {}",
                edges[at],
                index.len() - 1
            ));
        }
        Ok(Graph {
            index: index.iter().map(|&end| end as u32).collect(),
            edges: edges.iter().map(|&edge| edge as u32).collect(),
        })
    }

    /// Returns the number of nodes.
    pub fn size(&self) -> u32 {
        self.index.len() as u32
    }

    /// Returns the neighbours of a node.
    pub fn neighbors(&self, node: u32) -> &[u32] {
        let begin = if node == 0 { 0 } else { self.index[node as usize - 1] };
        &self.edges[begin as usize..self.index[node as usize] as usize]
    }
}

/// One rank's edges of a distributed graph, as `MPI_Dist_graph_create_adjacent` gets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistGraph {
    /// Sources of the edges in.
    pub sources: Box<[u32]>,
    /// Destinations of the edges out.
    pub destinations: Box<[u32]>,
    /// Weights of the edges in and of those out, if the program gave any.
    pub weights: Option<[Box<[i32]>; 2]>,
}

/// One rank's contribution to a distributed graph.
#[derive(Clone, Debug)]
pub enum GraphContribution {
    /// No edges.
    Nothing,
    /// Any edges, as (source, destination, weight), and whether weights were given.
    Edges(Vec<(u32, u32, i32)>, bool),
    /// Own edges of a rank.
    Adjacent(Rc<DistGraph>),
}

/// The edges at every rank of a distributed graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edges {
    incoming: EdgeEnds,
    outgoing: EdgeEnds,
    /// `true` if the program gave weights.
    pub weighted: bool,
}

/// One end of all edges: flat lists, and where each rank's part of them ends.
// Three arrays for all ranks together: lists of their own would cost an allocation a rank and side.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct EdgeEnds {
    ends: Box<[u32]>,
    ranks: Box<[u32]>,
    weights: Box<[i32]>,
}

impl EdgeEnds {
    /// From (rank, other end, weight), a rank's edges in the order in which they come.
    // A counting sort, O(ranks + edges), and stable: a rank's edges stay in the order in which they were
    // given, which MPI asks for where it gave them itself (MPI 5.0 section 8.5.4).
    fn new(size: u32, edges: &[(u32, u32, i32)], weighted: bool) -> EdgeEnds {
        let mut ends = vec![0u32; size as usize];
        for edge in edges {
            ends[edge.0 as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            let count = *end;
            *end = sum;
            sum += count;
        }
        let mut ranks = vec![0; edges.len()];
        let mut weights = vec![0; if weighted { edges.len() } else { 0 }];
        for &(rank, other, weight) in edges {
            let at = &mut ends[rank as usize];
            ranks[*at as usize] = other;
            if weighted {
                weights[*at as usize] = weight;
            }
            *at += 1;
        }
        EdgeEnds { ends: ends.into(), ranks: ranks.into(), weights: weights.into() }
    }

    fn range(&self, rank: u32) -> std::ops::Range<usize> {
        let begin = if rank == 0 { 0 } else { self.ends[rank as usize - 1] };
        begin as usize..self.ends[rank as usize] as usize
    }
}

impl Edges {
    /// Collects what the ranks gave; see [`super::Topology::distributed`].
    pub(super) fn new(size: u32, parts: impl Iterator<Item = (u32, GraphContribution)>) -> Result<Edges> {
        let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
        // A rank without edges has no say in whether there are weights, unless nobody has any.
        let (mut kinds, mut silent) = ([None; 2], false);
        let weight = |list: &Option<&[i32]>, at: usize| list.map_or(0, |list| list[at]);
        for (rank, part) in parts {
            let before = (incoming.len(), outgoing.len());
            let weighted = match part {
                GraphContribution::Nothing => continue,
                GraphContribution::Edges(edges, weighted) => {
                    for (source, destination, weight) in edges {
                        check(source, size)?;
                        check(destination, size)?;
                        outgoing.push((source, destination, weight));
                        incoming.push((destination, source, weight));
                    }
                    weighted
                }
                GraphContribution::Adjacent(own) => {
                    let (ins, outs) =
                        (own.weights.as_ref().map(|w| &*w[0]), own.weights.as_ref().map(|w| &*w[1]));
                    for (at, &source) in own.sources.iter().enumerate() {
                        check(source, size)?;
                        incoming.push((rank, source, weight(&ins, at)));
                    }
                    for (at, &destination) in own.destinations.iter().enumerate() {
                        check(destination, size)?;
                        outgoing.push((rank, destination, weight(&outs, at)));
                    }
                    own.weights.is_some()
                }
            };
            if before == (incoming.len(), outgoing.len()) {
                silent |= weighted;
            } else {
                kinds[usize::from(weighted)].get_or_insert(rank);
            }
        }
        // The first of each kind, so that the sentence names two ranks whose calls can be compared.
        if let [Some(without), Some(with)] = kinds {
            return Err(Failure::new(
                ErrorClass::ARG,
                format!(
                    "rank {with} gave edge weights, but rank {without} passed MPI_UNWEIGHTED; all ranks or \
                     none must give weights"
                ),
            ));
        }
        let weighted = kinds[1].is_some() || (kinds[0].is_none() && silent);
        Ok(Edges {
            incoming: EdgeEnds::new(size, &incoming, weighted),
            outgoing: EdgeEnds::new(size, &outgoing, weighted),
            weighted,
        })
    }

    /// Returns where the edges into `rank` come from.
    pub fn sources(&self, rank: u32) -> &[u32] {
        &self.incoming.ranks[self.incoming.range(rank)]
    }

    /// Returns where the edges out of `rank` go.
    pub fn destinations(&self, rank: u32) -> &[u32] {
        &self.outgoing.ranks[self.outgoing.range(rank)]
    }

    /// Weights of the edges into `rank`; empty where there are none.
    pub fn source_weights(&self, rank: u32) -> &[i32] {
        if self.weighted { &self.incoming.weights[self.incoming.range(rank)] } else { &[] }
    }

    /// Weights of the edges out of `rank`; empty where there are none.
    pub fn destination_weights(&self, rank: u32) -> &[i32] {
        if self.weighted { &self.outgoing.weights[self.outgoing.range(rank)] } else { &[] }
    }
}

fn check(rank: u32, size: u32) -> Result {
    if rank >= size {
        return Err(Failure::new(
            ErrorClass::RANK,
            format!("an edge names rank {}; the communicator has ranks 0 to {}", rank as i32, size - 1),
        ));
    }
    Ok(())
}

//! Process topologies (MPI 5.0 chapter 8).

use crate::args::{Flags, Handle, Ints, Out, Weights};
use crate::call::Call;
use crate::constants::{MPI_ERR_ARG, MPI_ERR_TOPOLOGY, MPI_PROC_NULL, MPI_UNDEFINED};
use mpi::collective::agreement::Contribution;
use mpi::error::Result;
use mpi::handle::COMM_NULL;
use mpi::topology::{self, Cart, DistGraph, Edges, Graph, NOBODY, Topology};
use std::rc::Rc;

/// Size of a communicator and the caller's rank in it.
fn size_and_rank(c: &Call, comm: Handle) -> Result<(u32, u32)> {
    let world = c.mpi.world();
    let comm = world.objects.comms.get(comm.0)?;
    Ok((comm.size(), comm.rank(world.messages.me())))
}

/// Returns what `use_it` finds in the topology of a communicator, seen as one kind, with the caller's rank.
fn with<T>(
    c: &Call,
    comm: Handle,
    wanted: &str,
    use_it: impl FnOnce(&Topology, u32) -> Option<T>,
) -> Result<T> {
    let (topology, rank) = {
        let world = c.mpi.world();
        let comm = world.objects.comms.get(comm.0)?;
        (comm.topology.clone(), comm.rank(world.messages.me()))
    };
    let found = topology.as_deref().and_then(|topology| use_it(topology, rank));
    found.ok_or_else(|| {
        c.wrong(
            0,
            MPI_ERR_TOPOLOGY,
            format_args!("the communicator has no {wanted} topology; make one with {}", maker(wanted)),
        )
    })
}

fn maker(wanted: &str) -> &'static str {
    match wanted {
        "Cartesian" => "MPI_Cart_create",
        "graph" => "MPI_Graph_create",
        _ => "MPI_Dist_graph_create",
    }
}

fn cart<T>(c: &Call, comm: Handle, use_it: impl FnOnce(&Cart, u32) -> T) -> Result<T> {
    with(c, comm, "Cartesian", |topology, rank| {
        if let Topology::Cart(cart) = topology { Some(use_it(cart, rank)) } else { None }
    })
}

fn graph<T>(c: &Call, comm: Handle, use_it: impl FnOnce(&Graph) -> T) -> Result<T> {
    with(
        c,
        comm,
        "graph",
        |topology, _| if let Topology::Graph(graph) = topology { Some(use_it(graph)) } else { None },
    )
}

fn edges<T>(c: &Call, comm: Handle, use_it: impl FnOnce(&Edges, u32) -> T) -> Result<T> {
    with(c, comm, "distributed graph", |topology, rank| {
        if let Topology::DistGraph(edges) = topology { Some(use_it(edges, rank)) } else { None }
    })
}

fn or_null(rank: u32) -> i32 {
    if rank == NOBODY { MPI_PROC_NULL } else { rank as i32 }
}

/// Gives a new communicator to the program; it inherits the error handler.
fn give(c: &Call, parent: Handle, out: Out<Handle>, made: usize) {
    out.set(Handle(made));
    super::comm::inherit(c, parent.0, made);
}

/// `MPI_Topo_test`.
pub fn topo_test(c: &Call, comm: Handle, status: Out<i32>) -> Result {
    status.set(
        c.mpi
            .world()
            .objects
            .comms
            .get(comm.0)?
            .topology
            .as_ref()
            .map_or(MPI_UNDEFINED, |topology| topology.kind()),
    );
    Ok(())
}

/// `MPI_Dims_create`.
pub fn dims_create(c: &Call, nnodes: i32, ndims: i32, dims: Ints) -> Result {
    let ndims = natural(c, 1, ndims)?;
    let mut values = dims.to_vec(ndims);
    topology::dims_create(nnodes, &mut values)?;
    values.iter().enumerate().for_each(|(i, &value)| dims.set(i, value));
    Ok(())
}

fn natural(c: &Call, index: usize, value: i32) -> Result<usize> {
    usize::try_from(value)
        .map_err(|_| c.wrong(index, MPI_ERR_ARG, format_args!("it is {value}, and must not be negative")))
}

fn grid(c: &Call, comm: Handle, ndims: i32, dims: Ints, periods: Flags) -> Result<(Cart, u32)> {
    let (size, rank) = size_and_rank(c, comm)?;
    let ndims = natural(c, 1, ndims)?;
    Ok((Cart::new(&dims.to_vec(ndims), &periods.to_vec(ndims), size)?, rank))
}

/// `MPI_Cart_create`: ranks keep their order, which `reorder` allows.
pub fn cart_create(
    c: &Call,
    comm_old: Handle,
    ndims: i32,
    dims: Ints,
    periods: Flags,
    _reorder: bool,
    comm_cart: Out<Handle>,
) -> Result {
    comm_cart.set(Handle(COMM_NULL));
    let (cart, _) = grid(c, comm_old, ndims, dims, periods)?;
    let size = cart.size();
    let made = c.mpi.comm_with_topology(comm_old.0, Topology::Cart(cart), size)?;
    give(c, comm_old, comm_cart, made);
    Ok(())
}

/// `MPI_Cart_map`.
pub fn cart_map(c: &Call, comm: Handle, ndims: i32, dims: Ints, periods: Flags, newrank: Out<i32>) -> Result {
    let (cart, rank) = grid(c, comm, ndims, dims, periods)?;
    newrank.set(if rank < cart.size() { rank as i32 } else { MPI_UNDEFINED });
    Ok(())
}

/// `MPI_Cartdim_get`.
pub fn cartdim_get(c: &Call, comm: Handle, ndims: Out<i32>) -> Result {
    ndims.set(cart(c, comm, |cart, _| cart.ndims() as i32)?);
    Ok(())
}

/// `MPI_Cart_get`.
pub fn cart_get(c: &Call, comm: Handle, maxdims: i32, dims: Ints, periods: Flags, coords: Ints) -> Result {
    cart(c, comm, |cart, rank| {
        let here = cart.coords(rank);
        for (i, &coordinate) in here.iter().enumerate().take(maxdims as usize) {
            dims.set(i, cart.dims[i] as i32);
            periods.set(i, cart.periods[i]);
            coords.set(i, coordinate as i32);
        }
    })
}

/// `MPI_Cart_rank`.
pub fn cart_rank(c: &Call, comm: Handle, coords: Ints, rank: Out<i32>) -> Result {
    rank.set(cart(c, comm, |cart, _| cart.rank(&coords.to_vec(cart.ndims())))?? as i32);
    Ok(())
}

/// `MPI_Cart_coords`.
pub fn cart_coords(c: &Call, comm: Handle, rank: i32, maxdims: i32, coords: Ints) -> Result {
    let size = cart(c, comm, |cart, _| cart.size())?;
    let rank = member(c, 1, rank, size)?;
    cart(c, comm, |cart, _| {
        cart.coords(rank)
            .iter()
            .take(maxdims as usize)
            .enumerate()
            .for_each(|(i, &coord)| coords.set(i, coord as i32));
    })
}

fn member(c: &Call, index: usize, rank: i32, size: u32) -> Result<u32> {
    u32::try_from(rank).ok().filter(|&rank| rank < size).ok_or_else(|| {
        let text =
            format_args!("rank {rank} is not in the topology, which has ranks 0 to {}", i64::from(size) - 1);
        c.wrong(index, crate::constants::MPI_ERR_RANK, text)
    })
}

/// `MPI_Cart_shift`.
pub fn cart_shift(
    c: &Call,
    comm: Handle,
    direction: i32,
    disp: i32,
    rank_source: Out<i32>,
    rank_dest: Out<i32>,
) -> Result {
    let (source, destination) = cart(c, comm, |cart, rank| cart.shift(rank, direction, disp))??;
    rank_source.set(or_null(source));
    rank_dest.set(or_null(destination));
    Ok(())
}

/// `MPI_Cart_sub`.
pub fn cart_sub(c: &Call, comm: Handle, remain_dims: Flags, newcomm: Out<Handle>) -> Result {
    let (part, color, key) = cart(c, comm, |cart, rank| cart.sub(rank, &remain_dims.to_vec(cart.ndims())))?;
    let made = c.mpi.comm_split_with_topology(comm.0, color as i32, key as i32, Topology::Cart(part))?;
    give(c, comm, newcomm, made);
    Ok(())
}

fn whole_graph(c: &Call, comm: Handle, nnodes: i32, index: Ints, edges: Ints) -> Result<(Graph, u32)> {
    let (size, rank) = size_and_rank(c, comm)?;
    let nodes = natural(c, 1, nnodes)?;
    let index = index.to_vec(nodes);
    let count = natural(c, 2, index.last().copied().unwrap_or(0))?;
    Ok((Graph::new(&index, &edges.to_vec(count), size)?, rank))
}

/// `MPI_Graph_create`.
pub fn graph_create(
    c: &Call,
    comm_old: Handle,
    nnodes: i32,
    index: Ints,
    edges: Ints,
    _reorder: bool,
    comm_graph: Out<Handle>,
) -> Result {
    comm_graph.set(Handle(COMM_NULL));
    let (graph, _) = whole_graph(c, comm_old, nnodes, index, edges)?;
    let size = graph.size();
    if size == 0 {
        return Ok(());
    }
    let made = c.mpi.comm_with_topology(comm_old.0, Topology::Graph(graph), size)?;
    give(c, comm_old, comm_graph, made);
    Ok(())
}

/// `MPI_Graph_map`.
pub fn graph_map(c: &Call, comm: Handle, nnodes: i32, index: Ints, edges: Ints, newrank: Out<i32>) -> Result {
    let (graph, rank) = whole_graph(c, comm, nnodes, index, edges)?;
    newrank.set(if rank < graph.size() { rank as i32 } else { MPI_UNDEFINED });
    Ok(())
}

/// `MPI_Graphdims_get`.
pub fn graphdims_get(c: &Call, comm: Handle, nnodes: Out<i32>, nedges: Out<i32>) -> Result {
    graph(c, comm, |graph| {
        nnodes.set(graph.index.len() as i32);
        nedges.set(graph.edges.len() as i32);
    })
}

/// `MPI_Graph_get`.
pub fn graph_get(c: &Call, comm: Handle, maxindex: i32, maxedges: i32, index: Ints, edges: Ints) -> Result {
    graph(c, comm, |graph| {
        graph
            .index
            .iter()
            .take(maxindex as usize)
            .enumerate()
            .for_each(|(i, &value)| index.set(i, value as i32));
        graph
            .edges
            .iter()
            .take(maxedges as usize)
            .enumerate()
            .for_each(|(i, &value)| edges.set(i, value as i32));
    })
}

/// `MPI_Graph_neighbors_count`.
pub fn graph_neighbors_count(c: &Call, comm: Handle, rank: i32, nneighbors: Out<i32>) -> Result {
    let rank = member(c, 1, rank, graph(c, comm, Graph::size)?)?;
    nneighbors.set(graph(c, comm, |graph| graph.neighbors(rank).len() as i32)?);
    Ok(())
}

/// `MPI_Graph_neighbors`.
pub fn graph_neighbors(c: &Call, comm: Handle, rank: i32, maxneighbors: i32, neighbors: Ints) -> Result {
    let rank = member(c, 1, rank, graph(c, comm, Graph::size)?)?;
    graph(c, comm, |graph| {
        graph
            .neighbors(rank)
            .iter()
            .take(maxneighbors as usize)
            .enumerate()
            .for_each(|(i, &value)| neighbors.set(i, value as i32));
    })
}

/// `MPI_Dist_graph_create`.
pub fn dist_graph_create(
    c: &Call,
    comm_old: Handle,
    n: i32,
    sources: Ints,
    degrees: Ints,
    destinations: Ints,
    weights: Weights,
    _info: Handle,
    _reorder: bool,
    comm_dist_graph: Out<Handle>,
) -> Result {
    let mut list = Vec::new();
    let given = weights.given();
    for i in 0..n as usize {
        for _ in 0..natural(c, 3, degrees.get(i))? {
            let at = list.len();
            list.push((
                sources.get(i) as u32,
                destinations.get(at) as u32,
                given.map_or(0, |weights| weights.get(at)),
            ));
        }
    }
    let made = c.mpi.comm_with_edges(comm_old.0, Contribution::Edges(list, given.is_some()))?;
    give(c, comm_old, comm_dist_graph, made);
    Ok(())
}

/// `MPI_Dist_graph_create_adjacent`.
pub fn dist_graph_create_adjacent(
    c: &Call,
    comm_old: Handle,
    indegree: i32,
    sources: Ints,
    sourceweights: Weights,
    outdegree: i32,
    destinations: Ints,
    destweights: Weights,
    _info: Handle,
    _reorder: bool,
    comm_dist_graph: Out<Handle>,
) -> Result {
    let (ins, outs) = (natural(c, 1, indegree)?, natural(c, 4, outdegree)?);
    let ranks = |list: Ints, count: usize| {
        list.to_vec(count).into_iter().map(|rank| rank as u32).collect::<Box<[u32]>>()
    };
    let weights = |weights: Weights, count: usize| weights.given().map(|list| Box::from(list.to_vec(count)));
    let weights: Option<[Box<[i32]>; 2]> = match (weights(sourceweights, ins), weights(destweights, outs)) {
        (None, None) => None,
        (Some(own), None) if outs == 0 => Some([own, Box::default()]),
        (None, Some(own)) if ins == 0 => Some([Box::default(), own]),
        (Some(incoming), Some(outgoing)) => Some([incoming, outgoing]),
        _ => {
            return Err(c.wrong(
                3,
                MPI_ERR_ARG,
                "one of sourceweights and destweights is MPI_UNWEIGHTED, the other not; pass both or none",
            ));
        }
    };
    let own = DistGraph { sources: ranks(sources, ins), destinations: ranks(destinations, outs), weights };
    let made = c.mpi.comm_with_edges(comm_old.0, Contribution::Adjacent(Rc::new(own)))?;
    give(c, comm_old, comm_dist_graph, made);
    Ok(())
}

/// `MPI_Dist_graph_neighbors_count`.
pub fn dist_graph_neighbors_count(
    c: &Call,
    comm: Handle,
    indegree: Out<i32>,
    outdegree: Out<i32>,
    weighted: Out<bool>,
) -> Result {
    edges(c, comm, |edges, rank| {
        indegree.set(edges.sources(rank).len() as i32);
        outdegree.set(edges.destinations(rank).len() as i32);
        weighted.set(edges.weighted);
    })
}

/// `MPI_Dist_graph_neighbors`.
pub fn dist_graph_neighbors(
    c: &Call,
    comm: Handle,
    maxindegree: i32,
    sources: Ints,
    sourceweights: Weights,
    maxoutdegree: i32,
    destinations: Ints,
    destweights: Weights,
) -> Result {
    let fill = |ranks: &[u32], weights: &[i32], max: i32, to: Ints, to_weights: Weights| {
        ranks.iter().take(max as usize).enumerate().for_each(|(i, &rank)| to.set(i, rank as i32));
        if let Some(to) = to_weights.given() {
            weights.iter().take(max as usize).enumerate().for_each(|(i, &weight)| to.set(i, weight));
        }
    };
    edges(c, comm, |edges, rank| {
        fill(edges.sources(rank), edges.source_weights(rank), maxindegree, sources, sourceweights);
        fill(
            edges.destinations(rank),
            edges.destination_weights(rank),
            maxoutdegree,
            destinations,
            destweights,
        );
    })
}

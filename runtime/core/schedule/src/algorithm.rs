//! The collective algorithms, one row each in [`ALL`].
//!
//! To add one: write a file with a [`Schedule`] and a function that builds it, and register it here with a
//! row. The tests below run every row on every small size, root and block layout against the plain meaning of
//! the collective.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
pub(crate) mod by_size;
mod combined;
mod gather;
mod halving;
mod han;
mod inter;
mod levels;
mod local;
mod neighbor;
mod parameters;
mod parts;
mod pipelined;
mod reduce;
mod reduce_scatter;
mod scan;
mod smp;
mod staged;
mod trees;
mod two_level;

use std::rc::Rc;

use crate::{Kind, Schedule, Shape};

pub use parameters::Parameters;

/// An algorithm as the table registers it.
// A row and not a type with a registration of its own: the options, their errors and the tests read one
// table.
pub struct Algorithm {
    /// For which collective.
    pub kind: Kind,
    /// The name in `-xsim-coll`.
    pub name: &'static str,
    /// A function that returns `true` if the algorithm is right for a shape of one communicator with more
    /// than one member.
    pub supports: fn(&Shape) -> bool,
    build: fn(&Shape, &Parameters) -> Rc<dyn Schedule>,
}

impl Algorithm {
    /// Returns the schedule of this algorithm for `shape`, which it must support. A collective of one member,
    /// with an empty message, or of an intercommunicator has a schedule of its own whatever the algorithm.
    pub fn schedule(&self, shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
        if is_empty(shape) {
            local::empty()
        } else if shape.size == 1 && shape.kind != Kind::Neighbor {
            local::single(shape)
        } else if shape.sides.is_some() {
            inter::schedule(shape, parameters)
        } else {
            (self.build)(shape, parameters)
        }
    }
}

/// Returns `true` if all members know that nothing is to be sent: MPI libraries then return at once.
// Only where every member knows it: a v form may be empty for one and not for another.
fn is_empty(shape: &Shape) -> bool {
    let one_size = match shape.kind {
        Kind::Barrier | Kind::Neighbor | Kind::Agree => false,
        Kind::Bcast | Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => true,
        _ => shape.sides.is_none() && !shape.irregular,
    };
    one_size && shape.bytes == 0
}

/// Returns the algorithm `name` for `kind`.
pub fn find(kind: Kind, name: &str) -> Option<&'static Algorithm> {
    of(kind).find(|algorithm| algorithm.name == name)
}

/// Returns all algorithms for `kind`, in the table's order; the first works for every shape.
pub fn of(kind: Kind) -> impl Iterator<Item = &'static Algorithm> {
    ALL.iter().filter(move |algorithm| algorithm.kind == kind)
}

const fn row(
    kind: Kind,
    name: &'static str,
    supports: fn(&Shape) -> bool,
    build: fn(&Shape, &Parameters) -> Rc<dyn Schedule>,
) -> Algorithm {
    Algorithm { kind, name, supports, build }
}

fn any(_: &Shape) -> bool {
    true
}

fn uniform(shape: &Shape) -> bool {
    !shape.irregular
}

fn commutative(shape: &Shape) -> bool {
    shape.commutative
}

/// Every algorithm. The first row of each kind works for every shape.
pub static ALL: &[Algorithm] = &[
    row(Kind::Barrier, "dissemination", any, barrier::dissemination),
    row(Kind::Barrier, "recursive-doubling", any, barrier::recursive_doubling),
    row(Kind::Barrier, "linear", any, barrier::linear),
    row(Kind::Barrier, "tree", any, barrier::tree),
    row(Kind::Barrier, "two-level", two_level::supported, two_level::two_level_barrier),
    row(Kind::Barrier, "han", two_level::supported, han::han_barrier),
    row(Kind::Bcast, "binomial", any, bcast::binomial),
    row(Kind::Bcast, "linear", any, bcast::linear),
    row(Kind::Bcast, "chain", any, bcast::chain),
    row(Kind::Bcast, "pipeline", any, bcast::pipeline),
    row(Kind::Bcast, "binary", any, bcast::binary),
    row(Kind::Bcast, "split-binary", any, bcast::split_binary),
    row(Kind::Bcast, "knomial", any, bcast::knomial),
    row(Kind::Bcast, "scatter-ring-allgather", any, bcast::scatter_ring),
    row(Kind::Bcast, "scatter-recursive-doubling-allgather", any, bcast::scatter_doubling),
    row(Kind::Bcast, "two-level", two_level::supported, two_level::two_level_bcast),
    row(Kind::Bcast, "smp", two_level::supported, smp::leader_first_bcast),
    row(Kind::Bcast, "smp-node-first", two_level::supported, smp::node_first_bcast),
    row(Kind::Bcast, "smp-pieces", two_level::supported, smp::pieces_bcast),
    row(Kind::Bcast, "han", han::supported_balanced, han::han_bcast),
    row(Kind::Gather, "linear", any, gather::linear_gather),
    row(Kind::Gather, "binomial", uniform, gather::binomial_gather),
    row(Kind::Gather, "two-level", two_level::supported_evenly, two_level::two_level_gather),
    row(Kind::Scatter, "linear", any, gather::linear_scatter),
    row(Kind::Scatter, "binomial", uniform, gather::binomial_scatter),
    row(Kind::Scatter, "two-level", two_level::supported_evenly, two_level::two_level_scatter),
    row(Kind::Allgather, "ring", any, allgather::ring_schedule),
    row(Kind::Allgather, "recursive-doubling", any, allgather::recursive_doubling),
    row(Kind::Allgather, "bruck", any, allgather::bruck),
    row(Kind::Allgather, "neighbor-exchange", any, allgather::neighbor_exchange),
    row(Kind::Allgather, "linear", any, allgather::linear),
    row(Kind::Allgather, "two-level", two_level::supported_evenly, two_level::two_level_allgather),
    row(Kind::Allgather, "han", two_level::supported_evenly, han::han_allgather),
    row(Kind::Alltoall, "scattered", any, alltoall::scattered),
    row(Kind::Alltoall, "linear", any, alltoall::linear),
    row(Kind::Alltoall, "pairwise", any, alltoall::pairwise),
    row(Kind::Alltoall, "bruck", uniform, alltoall::bruck),
    row(Kind::Reduce, "binomial", any, reduce::binomial),
    row(Kind::Reduce, "linear", any, reduce::linear),
    row(Kind::Reduce, "rabenseifner", any, reduce::rabenseifner),
    row(Kind::Reduce, "chain", commutative, reduce::chain),
    row(Kind::Reduce, "pipeline", commutative, reduce::pipeline),
    row(Kind::Reduce, "binary", commutative, reduce::binary),
    row(Kind::Reduce, "knomial", commutative, reduce::knomial),
    row(Kind::Reduce, "in-order-binary", any, reduce::in_order_binary),
    row(Kind::Reduce, "two-level", two_level::supported, two_level::two_level_reduce),
    row(Kind::Reduce, "smp", two_level::supported_commutative, smp::root_node_last_reduce),
    row(Kind::Reduce, "smp-via-first", two_level::supported_commutative, smp::via_first_reduce),
    row(Kind::Reduce, "han", han::supported_balanced, han::han_reduce),
    row(Kind::Allreduce, "recursive-doubling", any, allreduce::recursive_doubling),
    row(Kind::Allreduce, "linear", any, combined::linear_allreduce),
    row(Kind::Allreduce, "reduce-bcast", any, combined::tree_allreduce),
    row(Kind::Allreduce, "rabenseifner", any, allreduce::rabenseifner),
    row(Kind::Allreduce, "ring", commutative, allreduce::ring_schedule),
    row(Kind::Allreduce, "two-level", two_level::supported, two_level::two_level_allreduce),
    row(Kind::Allreduce, "smp", two_level::supported_commutative, smp::smp_allreduce),
    row(Kind::Allreduce, "smp-recursive-doubling", two_level::supported_commutative, smp::doubling_allreduce),
    row(Kind::Allreduce, "han", two_level::supported_commutative, han::han_allreduce),
    row(Kind::ReduceScatter, "recursive-doubling", any, reduce_scatter::recursive_doubling),
    row(Kind::ReduceScatter, "linear", any, combined::linear_reduce_scatter),
    row(Kind::ReduceScatter, "reduce-scatterv", any, combined::tree_reduce_scatter),
    row(Kind::ReduceScatter, "recursive-halving", commutative, reduce_scatter::recursive_halving),
    row(Kind::ReduceScatter, "pairwise", commutative, reduce_scatter::pairwise),
    row(Kind::ReduceScatter, "ring", commutative, reduce_scatter::ring_schedule),
    row(Kind::ReduceScatter, "butterfly", any, reduce_scatter::butterfly),
    row(Kind::Scan, "recursive-doubling", any, scan::doubling_scan),
    row(Kind::Scan, "linear", any, scan::linear_scan),
    row(Kind::Scan, "two-level", two_level::supported, two_level::two_level_scan),
    row(Kind::Exscan, "recursive-doubling", any, scan::doubling_exscan),
    row(Kind::Exscan, "linear", any, scan::linear_exscan),
    row(Kind::Neighbor, "direct", any, neighbor::direct),
    row(Kind::Agree, "dissemination", any, barrier::dissemination),
    row(Kind::Agree, "recursive-doubling", any, barrier::recursive_doubling),
];

#[cfg(test)]
mod tests;

//! Open MPI's decisions by tables: its tuned component's fixed ones, and the basic component where tuned has
//! none. Its two-process variants are the pairwise, ring and recursive doubling algorithms of two members;
//! its `linear_sync` and `linear_nb` are the linear ones, since the order in which a member waits changes
//! nothing here.

mod tables;

use crate::{Kind, Shape};
use tables::Table;

// O(rows), a dozen comparisons: once a call of all members together.
fn look_up(table: Table, size: u32, bytes: u64) -> &'static str {
    let row = table.iter().find(|row| size < row.0).expect("the last row is for all");
    row.1.iter().find(|entry| bytes < entry.0).expect("the last entry is for the rest").1
}

fn reduce_scatter(shape: &Shape) -> &'static str {
    if !shape.commutative {
        return "reduce-scatterv";
    }
    if shape.irregular {
        return look_up(tables::REDUCE_SCATTER, shape.size, shape.bytes);
    }
    look_up(tables::REDUCE_SCATTER_BLOCK, shape.size, shape.bytes / u64::from(shape.size))
}

fn allreduce(shape: &Shape) -> &'static str {
    let table = if shape.commutative { tables::ALLREDUCE } else { tables::ALLREDUCE_ORDERED };
    match look_up(table, shape.size, shape.bytes) {
        // The ring falls back where a member has no element of its own.
        "ring" if shape.elements() < u64::from(shape.size) => "recursive-doubling",
        name => name,
    }
}

fn reduce(shape: &Shape) -> &'static str {
    let table = if shape.commutative { tables::REDUCE } else { tables::REDUCE_ORDERED };
    match look_up(table, shape.size, shape.bytes) {
        // The fallback is Open MPI's own, inside its algorithm and not in its tables.
        "rabenseifner" if shape.elements() < 1 << shape.size.ilog2() => "linear",
        name => name,
    }
}

fn bcast(shape: &Shape) -> &'static str {
    match look_up(tables::BCAST, shape.size, shape.bytes) {
        "scatter-recursive-doubling-allgather" if shape.bytes < u64::from(shape.size) => "linear",
        name => name,
    }
}

/// Returns an algorithm's name and its fanout, 0 for its own; a reduction by chains has `chains` of them.
pub(crate) fn decide(shape: &Shape, chains: u32) -> (&'static str, u32) {
    let by_bytes = |table| look_up(table, shape.size, shape.bytes);
    let name = match shape.kind {
        Kind::Barrier => by_bytes(tables::BARRIER),
        Kind::Bcast => bcast(shape),
        Kind::Gather | Kind::Scatter if shape.irregular => "linear",
        Kind::Gather => by_bytes(tables::GATHER),
        Kind::Scatter => by_bytes(tables::SCATTER),
        Kind::Allgather if shape.irregular => {
            look_up(tables::ALLGATHERV, shape.size, shape.bytes / u64::from(shape.size))
        }
        Kind::Allgather => by_bytes(tables::ALLGATHER),
        Kind::Alltoall if shape.irregular => by_bytes(tables::ALLTOALLV),
        Kind::Alltoall => by_bytes(tables::ALLTOALL),
        Kind::Reduce => reduce(shape),
        Kind::Allreduce => allreduce(shape),
        Kind::ReduceScatter => reduce_scatter(shape),
        Kind::Scan | Kind::Exscan => "linear",
        Kind::Neighbor => "direct",
        Kind::Agree => "dissemination",
    };
    // The fixed tables pass no segment size, and a broadcast's chain gets one chain.
    let fanout = match (shape.kind, name) {
        (Kind::Bcast, "chain") => 1,
        (Kind::Reduce, "chain") => chains,
        _ => 0,
    };
    (name, fanout)
}

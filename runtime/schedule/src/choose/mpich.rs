//! MPICH's decisions, as of its main branch (5.1.0a1, commit 6a79bf65, maint/tuning/coll/mpir/generic.json),
//! for the blocking forms. Its limits for the two-level broadcast, reduction and allreduce are 0 bytes: off.

use super::pick::Pick;
use crate::{Kind, Shape};

/// Elements of the message.
fn count(shape: &Shape) -> u64 {
    shape.bytes / shape.element.max(1)
}

/// Returns `true` if recursive halving pays: at least an element for each of a power of two, and an operation
/// of MPI's own.
// Halving cuts the message into so many pieces: with fewer elements some would be empty, and MPICH goes
// another way.
fn long_reduction(shape: &Shape) -> bool {
    shape.predefined && count(shape) >= 1 << shape.size.ilog2()
}

fn bcast(shape: &Shape) -> &'static str {
    if shape.size < 8 || shape.bytes <= 12_288 {
        "binomial"
    } else if shape.size.is_power_of_two() && shape.bytes <= 524_288 {
        "scatter-recursive-doubling-allgather"
    } else {
        "scatter-ring-allgather"
    }
}

fn allgather(shape: &Shape) -> &'static str {
    // The v form's bytes are the total already, as all members know all blocks.
    let total = if shape.irregular { shape.bytes } else { shape.bytes * u64::from(shape.size) };
    match shape.size.is_power_of_two() {
        true if total < 524_288 => "recursive-doubling",
        false if total < 81_920 => "bruck",
        _ => "ring",
    }
}

fn alltoall(shape: &Shape) -> &'static str {
    match shape.bytes {
        // No member knows a size that all share, so that a table by size cannot apply.
        _ if shape.irregular => "scattered",
        0..=256 if shape.size >= 8 => "bruck",
        0..=32_768 => "scattered",
        _ => "pairwise",
    }
}

fn reduce_scatter(shape: &Shape) -> &'static str {
    match (shape.commutative, shape.irregular) {
        (true, _) if shape.bytes < 524_288 => "recursive-halving",
        (true, _) => "pairwise",
        // MPICH's noncommutative algorithm is the butterfly of equal blocks and a power of two.
        (false, false) if shape.size.is_power_of_two() => "butterfly",
        (false, _) => "recursive-doubling",
    }
}

/// The algorithm for `shape`.
pub(super) fn pick(shape: &Shape) -> Pick {
    // One node alone has no second level.
    let nodes = shape.node > 1 && shape.size > shape.node;
    match shape.kind {
        Kind::Barrier if nodes => "two-level",
        Kind::Barrier | Kind::Agree => "dissemination",
        Kind::Bcast => bcast(shape),
        Kind::Gather | Kind::Scatter if shape.irregular => "linear",
        Kind::Gather | Kind::Scatter => "binomial",
        Kind::Allgather => allgather(shape),
        Kind::Alltoall => alltoall(shape),
        Kind::Reduce if shape.bytes > 2_048 && long_reduction(shape) => "rabenseifner",
        Kind::Reduce => "binomial",
        Kind::Allreduce if shape.bytes > 8 && long_reduction(shape) => "rabenseifner",
        Kind::Allreduce => "recursive-doubling",
        Kind::ReduceScatter => reduce_scatter(shape),
        Kind::Scan if nodes => "two-level",
        Kind::Scan | Kind::Exscan => "recursive-doubling",
        Kind::Neighbor => "direct",
    }
    .into()
}

//! MPICH's decisions, as of its main branch (5.1.0a1, commit 6a79bf65, maint/tuning/coll/mpir/generic.json),
//! for the blocking forms. Its limits for the two-level broadcast, reduction and allreduce are 0 bytes: off.

mod levels;

use super::pick::Pick;
use crate::algorithm::by_size;
use crate::{Kind, Shape};

pub(super) use levels::{device, smp_3_2, smp_3_3};

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

/// Returns the algorithm for `shape`.
pub(super) fn pick(shape: &Shape) -> Pick {
    let nodes = shape.spans_nodes();
    match shape.kind {
        Kind::Barrier if nodes => "two-level",
        Kind::Barrier | Kind::Agree => "dissemination",
        Kind::Bcast => by_size::bcast_name(shape, shape.bytes),
        Kind::Gather | Kind::Scatter if shape.irregular => "linear",
        Kind::Gather | Kind::Scatter => "binomial",
        Kind::Allgather => allgather(shape),
        Kind::Alltoall => alltoall(shape),
        Kind::Reduce => by_size::reduce_name(shape),
        Kind::Allreduce => by_size::allreduce_name(shape),
        Kind::ReduceScatter => reduce_scatter(shape),
        Kind::Scan if nodes => "two-level",
        Kind::Scan | Kind::Exscan => "recursive-doubling",
        Kind::Neighbor => "direct",
    }
    .into()
}

//! Open MPI's decisions before 4.1, which are formulas rather than tables: the same in 3.0, 3.1 and 4.0
//! (3.1.6 and 4.0.7, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, the `*_intra_dec_fixed` functions).
//! A segmented ring is the ring.

use super::super::pick::Pick;
use crate::algorithm::Parameters;
use crate::{Kind, Shape};

const KIB: u64 = 1024;

fn segmented(name: &'static str, segment: u64, fanout: u32) -> Pick {
    Pick { name, parameters: Parameters { segment, fanout } }
}

/// Returns `true` if `size` is less than `slope` times `bytes` plus `offset`.
// In floating point as there, where one multiplication and one addition have the same result on every host.
fn below(size: u32, slope: f64, bytes: u64, offset: f64) -> bool {
    f64::from(size) < slope * bytes as f64 + offset
}

fn bcast(shape: &Shape) -> Pick {
    let Shape { size, bytes, .. } = *shape;
    match bytes {
        0..2048 => "binomial".into(),
        2048..370_728 => segmented("split-binary", KIB, 0),
        _ if below(size, 1.6134e-6, bytes, 2.1102) => segmented("pipeline", 128 * KIB, 0),
        _ if size < 13 => segmented("split-binary", 8 * KIB, 0),
        _ if below(size, 2.3679e-6, bytes, 1.1787) => segmented("pipeline", 64 * KIB, 0),
        _ if below(size, 3.2118e-6, bytes, 8.7936) => segmented("pipeline", 16 * KIB, 0),
        _ => segmented("pipeline", 8 * KIB, 0),
    }
}

fn reduce(shape: &Shape) -> Pick {
    let Shape { size, bytes, .. } = *shape;
    if !shape.commutative {
        return if size < 12 && bytes < 2048 { "linear" } else { "in-order-binary" }.into();
    }
    let above = |slope, offset| f64::from(size) > slope / 1024.0 * bytes as f64 + offset;
    match bytes {
        0..512 if size < 8 => "linear".into(),
        0..20_480 if size < 8 => "binomial".into(),
        0..2048 => "binomial".into(),
        _ if shape.elements() <= 1 => "binomial".into(),
        _ if above(0.6016, 1.3496) => segmented("knomial", KIB, 2),
        _ if above(0.0410, 9.7128) => segmented("pipeline", KIB, 0),
        _ if above(0.0422, 1.1614) => segmented("binary", 32 * KIB, 0),
        _ if above(0.0033, 1.6761) => segmented("pipeline", 32 * KIB, 0),
        _ => segmented("pipeline", 64 * KIB, 0),
    }
}

fn allreduce(shape: &Shape) -> &'static str {
    if shape.bytes < 10_000 {
        "recursive-doubling"
    } else if shape.commutative && shape.elements() > u64::from(shape.size) {
        "ring"
    } else {
        "reduce-bcast"
    }
}

fn reduce_scatter(shape: &Shape) -> &'static str {
    let Shape { size, bytes, .. } = *shape;
    // Blocks of one size are reduced to member 0 and scattered.
    if !shape.commutative || !shape.irregular {
        return "reduce-scatterv";
    }
    let short = bytes <= 12 * KIB || bytes <= 256 * KIB && size.is_power_of_two();
    if short || !below(size, 0.0012, bytes, 8.0) { "recursive-halving" } else { "ring" }
}

fn allgather(shape: &Shape) -> &'static str {
    let total = if shape.irregular { shape.bytes } else { shape.bytes * u64::from(shape.size) };
    match shape.size {
        2 => "ring",
        size if total < 50_000 && size.is_power_of_two() && !shape.irregular => "recursive-doubling",
        _ if total < 50_000 => "bruck",
        size if size % 2 == 1 => "ring",
        _ => "neighbor-exchange",
    }
}

fn alltoall(shape: &Shape) -> &'static str {
    match shape.bytes {
        _ if shape.size == 2 || shape.irregular => "pairwise",
        0..200 if shape.size > 12 => "bruck",
        0..3000 => "linear",
        _ => "pairwise",
    }
}

fn gather(shape: &Shape) -> &'static str {
    let Shape { size, bytes, .. } = *shape;
    let tree = !shape.irregular && bytes <= 6000 && (size > 60 || size > 10 && bytes < 1024);
    if tree { "binomial" } else { "linear" }
}

/// Returns the algorithm for `shape`.
pub(in super::super) fn pick(shape: &Shape) -> Pick {
    match shape.kind {
        Kind::Bcast => return bcast(shape),
        Kind::Reduce => return reduce(shape),
        Kind::Barrier if shape.size.is_power_of_two() => "recursive-doubling",
        Kind::Barrier | Kind::Agree => "dissemination",
        Kind::Gather => gather(shape),
        Kind::Scatter if !shape.irregular && shape.size > 10 && shape.bytes < 300 => "binomial",
        Kind::Scatter => "linear",
        Kind::Allgather => allgather(shape),
        Kind::Alltoall => alltoall(shape),
        Kind::Allreduce => allreduce(shape),
        Kind::ReduceScatter => reduce_scatter(shape),
        Kind::Scan | Kind::Exscan => "linear",
        Kind::Neighbor => "direct",
    }
    .into()
}

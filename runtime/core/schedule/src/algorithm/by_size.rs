//! MPICH's choice by size for groups whose members share no nodes, as of its main branch (5.1.0a1, commit
//! 6a79bf65, maint/tuning/coll/mpir/generic.json). The stages of its two-level compositions follow it as
//! well.

use std::rc::Rc;

use super::parameters::Parameters;
use super::{allreduce, bcast, reduce};
use crate::{Schedule, Shape};

/// Returns `true` if recursive halving pays: at least an element for each of a power of two, and an operation
/// of MPI's own.
// Halving cuts the message into so many pieces: with fewer elements some would be empty, and MPICH goes
// another way.
fn long_reduction(shape: &Shape) -> bool {
    shape.predefined && shape.elements() >= 1 << shape.size.ilog2()
}

/// Returns the name of the broadcast for messages of `bytes` bytes.
pub(crate) fn bcast_name(shape: &Shape, bytes: u64) -> &'static str {
    if shape.size < 8 || bytes <= 12_288 {
        "binomial"
    } else if shape.size.is_power_of_two() && bytes <= 524_288 {
        "scatter-recursive-doubling-allgather"
    } else {
        "scatter-ring-allgather"
    }
}

/// Returns the name of the reduction.
pub(crate) fn reduce_name(shape: &Shape) -> &'static str {
    if shape.bytes > 2048 && long_reduction(shape) { "rabenseifner" } else { "binomial" }
}

/// Returns the name of the allreduce.
pub(crate) fn allreduce_name(shape: &Shape) -> &'static str {
    if shape.bytes > 8 && long_reduction(shape) { "rabenseifner" } else { "recursive-doubling" }
}

/// Builds the broadcast of that name.
pub(super) fn bcast(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    match bcast_name(shape, shape.bytes) {
        "binomial" => bcast::binomial(shape, parameters),
        "scatter-ring-allgather" => bcast::scatter_ring(shape, parameters),
        _ => bcast::scatter_doubling(shape, parameters),
    }
}

/// Builds the reduction of that name.
pub(super) fn reduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    match reduce_name(shape) {
        "binomial" => reduce::binomial(shape, parameters),
        _ => reduce::rabenseifner(shape, parameters),
    }
}

/// Builds the allreduce of that name.
pub(super) fn allreduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    match allreduce_name(shape) {
        "rabenseifner" => allreduce::rabenseifner(shape, parameters),
        _ => allreduce::recursive_doubling(shape, parameters),
    }
}

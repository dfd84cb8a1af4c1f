//! MPICH's decisions on nodes of several ranks before it looks at sizes alone. They are those of the ch3
//! device of 3.2 (3.2.1, src/mpi/coll) and 3.3 (3.3.2, the `*_intra_auto` functions), and of the ch4 device
//! from 3.4 on. That has the same rules in 3.4, 4.0, 4.1, 4.2, 4.3 and 5.0
//! (maint/tuning/coll/ch4/generic.json).
//!
//! Inside a node ch4 copies through shared memory after the first calls. Here a node's stage takes the
//! messages of the first ones.

use super::super::pick::Pick;
use super::{by_size, pick};
use crate::{Kind, Shape};

/// Returns the choice of the ch4 device.
pub(in super::super) fn device(shape: &Shape) -> Pick {
    if !shape.spans_nodes() {
        return pick(shape);
    }
    match shape.kind {
        Kind::Bcast => match shape.bytes {
            _ if shape.size < 8 => "smp".into(),
            0..12_288 => "smp".into(),
            0..524_288 if shape.size.is_power_of_two() => "smp-node-first".into(),
            _ => pick(shape),
        },
        Kind::Allreduce if shape.commutative => "smp".into(),
        Kind::Reduce if shape.commutative => if shape.bytes <= 2048 { "smp" } else { "smp-via-first" }.into(),
        _ => pick(shape),
    }
}

/// Returns the choice of both ch3 devices, but for the allreduce and for the broadcast named `medium`.
fn smp(shape: &Shape, medium: &'static str) -> Pick {
    match shape.kind {
        // Its limits are below 12 KiB and below 512 KiB: a byte less than today's.
        Kind::Bcast if !shape.spans_nodes() => by_size::bcast_name(shape, shape.bytes + 1).into(),
        Kind::Bcast => match shape.bytes {
            _ if shape.size < 8 => "smp",
            0..12_288 => "smp",
            0..524_288 if shape.size.is_power_of_two() => medium,
            _ => "scatter-ring-allgather",
        }
        .into(),
        Kind::Reduce if shape.spans_nodes() && shape.commutative => "smp".into(),
        _ => pick(shape),
    }
}

/// Returns the choice of MPICH 3.2.
pub(in super::super) fn smp_3_2(shape: &Shape) -> Pick {
    match shape.kind {
        Kind::Allreduce if shape.spans_nodes() && shape.commutative => "smp".into(),
        _ => smp(shape, "smp-pieces"),
    }
}

/// Returns the choice of MPICH 3.3.
// It compares its limit for short allreduces with a size that it sets to 0 unless a limit for nodes is
// given, which by default none is.
pub(in super::super) fn smp_3_3(shape: &Shape) -> Pick {
    match shape.kind {
        Kind::Allreduce if shape.spans_nodes() && shape.commutative => "smp-recursive-doubling".into(),
        Kind::Allreduce => "recursive-doubling".into(),
        _ => smp(shape, "smp-node-first"),
    }
}

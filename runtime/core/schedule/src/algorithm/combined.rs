//! Reduce and broadcast, reduce and scatter.

use std::rc::Rc;

use super::parameters::Parameters;
use super::staged::{GroupSchedule, StageBlocks, StageMembers, Staged};
use super::{bcast, gather, reduce};
use crate::{Buffer, Kind, Schedule, Shape};

type Build = fn(&Shape, &Parameters) -> Rc<dyn Schedule>;

/// Another collective of these members, with member 0 as root.
// `irregular` for the scatter, whose blocks are the reduction's and may differ.
pub(super) fn as_kind(shape: &Shape, kind: Kind) -> Shape {
    Shape { kind, root: 0, irregular: kind == Kind::Scatter, sides: None, ..shape.clone() }
}

// Over member 0 whoever it is: the libraries' own choice, and the order of operands is kept from there.
fn reduce_bcast(
    name: &'static str,
    up: Build,
    down: Build,
    shape: &Shape,
    parameters: &Parameters,
) -> Rc<dyn Schedule> {
    let group = StageMembers::Range { first: 0, count: shape.size };
    let data = StageBlocks::Block(shape.bytes);
    let (input, output) = ((Buffer::Input, 0), (Buffer::Output, 0));
    let up = up(&as_kind(shape, Kind::Reduce), parameters);
    let down = down(&as_kind(shape, Kind::Bcast), parameters);
    Staged::new(name, shape.size, 0)
        .then(vec![GroupSchedule { group, schedule: up, data, input, output }])
        .then(vec![GroupSchedule { group, schedule: down, data, input: output, output }])
        .finish()
}

/// Builds a schedule in which all send to member 0, which sends to all: 2 (n - 1) messages.
pub(super) fn linear_allreduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    reduce_bcast("linear", reduce::linear, bcast::linear, shape, parameters)
}

/// Builds an allreduce up and down binomial trees (Open MPI calls it nonoverlapping).
pub(super) fn tree_allreduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    reduce_bcast("reduce-bcast", reduce::binomial, bcast::binomial, shape, parameters)
}

fn reduce_scatter(name: &'static str, up: Build, shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let group = StageMembers::Range { first: 0, count: shape.size };
    let whole = (Buffer::Scratch, 0);
    let up = up(&as_kind(shape, Kind::Reduce), parameters);
    let down = gather::linear_scatter(&as_kind(shape, Kind::Scatter), parameters);
    let data = StageBlocks::Block(shape.bytes);
    Staged::new(name, shape.size, shape.bytes)
        .then(vec![GroupSchedule { group, schedule: up, data, input: (Buffer::Input, 0), output: whole }])
        .then(vec![GroupSchedule {
            group,
            schedule: down,
            data: StageBlocks::Contributed,
            input: whole,
            output: (Buffer::Output, 0),
        }])
        .finish()
}

/// Builds a schedule in which all send to member 0, which sends each its block.
pub(super) fn linear_reduce_scatter(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    reduce_scatter("linear", reduce::linear, shape, parameters)
}

/// Builds a reduce-scatter up a binomial tree to member 0, which sends each its block (Open MPI calls it
/// non-overlapping).
pub(super) fn tree_reduce_scatter(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    reduce_scatter("reduce-scatterv", reduce::binomial, shape, parameters)
}

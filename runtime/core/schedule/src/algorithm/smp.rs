//! MPICH's compositions on nodes of several ranks: its `smp` algorithms (3.2, 3.3) and the compositions of
//! its ch4 device (3.4 to 5.0).

use std::rc::Rc;

use super::levels::{Build, INPUT, NodeLevels, OUTPUT, SCRATCH, StagePlan};
use super::parameters::Parameters;
use super::staged::Staged;
use super::{allreduce, bcast, by_size};
use crate::{Buffer, Kind, Schedule, Shape};

/// Builds a broadcast from the root to its node's leader, from there to the leaders, and from them to their
/// nodes.
pub(super) fn leader_first_bcast(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let levels = NodeLevels::new(shape, parameters);
    let at_leader = levels.leader == shape.root;
    let source = if at_leader { INPUT } else { OUTPUT };
    let stage = StagePlan { kind: Kind::Bcast, build: by_size::bcast, root: levels.home };
    let inner = StagePlan { root: 0, ..stage };
    let mut staged = Staged::new("smp", shape.size, 0).with_origin(shape.root);
    if !at_leader {
        staged = staged.then(levels.message(shape.root, levels.leader, INPUT, OUTPUT));
    }
    let mut last = levels.at_home(inner, source, OUTPUT);
    last.extend(levels.elsewhere(inner, OUTPUT, OUTPUT));
    staged.then(levels.between(stage, source, OUTPUT)).then(last).finish()
}

fn node_first(name: &'static str, within: Build, between: Build, levels: &NodeLevels) -> Rc<dyn Schedule> {
    let root = levels.shape.root;
    let at_leader = levels.leader == root;
    let source = if at_leader { INPUT } else { OUTPUT };
    let inner = StagePlan { kind: Kind::Bcast, build: within, root: 0 };
    let mut staged = Staged::new(name, levels.shape.size, 0);
    if !at_leader {
        let home = StagePlan { root: root - levels.leader, ..inner };
        staged = staged.then(levels.at_home(home, INPUT, OUTPUT));
    }
    let mut last = levels.elsewhere(inner, OUTPUT, OUTPUT);
    if at_leader {
        last.extend(levels.at_home(inner, INPUT, OUTPUT));
    }
    let between = StagePlan { kind: Kind::Bcast, build: between, root: levels.home };
    staged.then(levels.between(between, source, OUTPUT)).then(last).finish()
}

/// Builds a broadcast in the root's node, to the leaders, and from them to their nodes.
pub(super) fn node_first_bcast(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    node_first("smp-node-first", by_size::bcast, by_size::bcast, &NodeLevels::new(shape, parameters))
}

/// Builds [`node_first_bcast`] by binomial trees in the nodes and in pieces between leaders (MPICH 3.2).
pub(super) fn pieces_bcast(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    fn pieces(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
        let power = shape.size.is_power_of_two();
        let build = if power { bcast::scatter_doubling } else { bcast::scatter_ring };
        build(shape, parameters)
    }
    node_first("smp-pieces", bcast::binomial, pieces, &NodeLevels::new(shape, parameters))
}

/// Builds a reduction in every node but the root's, between the leaders to the root's leader, and in the
/// root's node.
pub(super) fn root_node_last_reduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let levels = NodeLevels::new(shape, parameters);
    let stage = StagePlan { kind: Kind::Reduce, build: by_size::reduce, root: 0 };
    // The leader's part for its node is the reduction of the other nodes and its own contribution.
    let combined = (Buffer::Scratch, shape.bytes);
    let mut first = levels.elsewhere(stage, INPUT, SCRATCH);
    first.extend(levels.kept(levels.leader, 1, SCRATCH));
    first.extend(levels.kept(levels.leader + 1, levels.size_of(levels.home) - 1, combined));
    let home = StagePlan { root: shape.root - levels.leader, ..stage };
    Staged::new("smp", shape.size, 2 * shape.bytes)
        .then(first)
        .then(levels.between(StagePlan { root: levels.home, ..stage }, SCRATCH, combined))
        .then(levels.at_home(home, combined, OUTPUT))
        .finish()
}

/// Builds a reduction in every node, between the leaders to member 0, and from it to the root.
pub(super) fn via_first_reduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let levels = NodeLevels::new(shape, parameters);
    let stage = StagePlan { kind: Kind::Reduce, build: by_size::reduce, root: 0 };
    let total = if shape.root == 0 { OUTPUT } else { (Buffer::Scratch, shape.bytes) };
    let mut staged = Staged::new("smp-via-first", shape.size, 2 * shape.bytes)
        .then(levels.everywhere(stage, INPUT, SCRATCH))
        .then(levels.between(stage, SCRATCH, total));
    if shape.root != 0 {
        staged = staged.then(levels.message(0, shape.root, total, OUTPUT));
    }
    staged.finish()
}

fn composed_allreduce(name: &'static str, between: Build, levels: &NodeLevels) -> Rc<dyn Schedule> {
    let reduce = StagePlan { kind: Kind::Reduce, build: by_size::reduce, root: 0 };
    let between = StagePlan { kind: Kind::Allreduce, build: between, root: 0 };
    let bcast = StagePlan { kind: Kind::Bcast, build: by_size::bcast, root: 0 };
    Staged::new(name, levels.shape.size, levels.shape.bytes)
        .then(levels.everywhere(reduce, INPUT, SCRATCH))
        .then(levels.between(between, SCRATCH, OUTPUT))
        .then(levels.everywhere(bcast, OUTPUT, OUTPUT))
        .finish()
}

/// Builds an allreduce in every node to its leader, between the leaders, and from them to their nodes.
pub(super) fn smp_allreduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    composed_allreduce("smp", by_size::allreduce, &NodeLevels::new(shape, parameters))
}

/// Builds [`smp_allreduce`] by recursive doubling between the leaders at all sizes (MPICH 3.3).
pub(super) fn doubling_allreduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let levels = NodeLevels::new(shape, parameters);
    composed_allreduce("smp-recursive-doubling", allreduce::recursive_doubling, &levels)
}

//! Two levels: within the nodes of the machine, and between one leader of each (MPICH's smp algorithms).

use std::rc::Rc;

use super::combined::as_kind;
use super::parameters::Parameters;
use super::parts::{input, output, reduce as combine};
use super::staged::{GroupSchedule, StageBlocks, StageMembers, Staged};
use super::{allgather, allreduce, barrier, bcast, gather, local, reduce, scan};
use crate::{Buffer, Kind, Member, Schedule, Shape, Step};

type Place = (Buffer, u64);
const INPUT: Place = (Buffer::Input, 0);
const OUTPUT: Place = (Buffer::Output, 0);
const SCRATCH: Place = (Buffer::Scratch, 0);
const NOTHING: Place = (Buffer::Nothing, 0);

/// Returns `true` if the members are on more than one node, and more than one on a node.
pub(super) fn supported(shape: &Shape) -> bool {
    shape.sides.is_none() && shape.spans_nodes()
}

/// Returns `true` if besides the operation commutes.
pub(super) fn supported_commutative(shape: &Shape) -> bool {
    supported(shape) && shape.commutative
}

/// Returns `true` if there are two levels, all nodes are full and blocks equal: then each leader has as much
/// as the others.
// Else a leader's blocks would be of sizes that only its own node knows.
pub(super) fn supported_evenly(shape: &Shape) -> bool {
    supported(shape) && !shape.irregular && shape.size.is_multiple_of(shape.node)
}

/// The nodes of a collective, of which the root's has the root as its leader.
// Three kinds of nodes have schedules of their own: the root's, whose leader is the root; full ones; and a
// last one with fewer members.
struct NodeSchedules<'a> {
    shape: &'a Shape,
    parameters: &'a Parameters,
    count: u32,
    /// The root's node.
    home: u32,
}

type Build = fn(&Shape, &Parameters) -> Rc<dyn Schedule>;

impl<'a> NodeSchedules<'a> {
    fn new(shape: &'a Shape, parameters: &'a Parameters) -> NodeSchedules<'a> {
        NodeSchedules {
            shape,
            parameters,
            count: shape.size.div_ceil(shape.node),
            home: shape.root / shape.node,
        }
    }
    fn data(&self) -> StageBlocks {
        // MPICH releases the members of a node by a broadcast of one byte.
        StageBlocks::Block(if self.shape.kind == Kind::Barrier { 1 } else { self.shape.bytes })
    }
    fn size_of(&self, index: u32) -> u32 {
        self.shape.node.min(self.shape.size - index * self.shape.node)
    }
    fn part(
        &self,
        group: StageMembers,
        build: Build,
        shape: &Shape,
        input: Place,
        output: Place,
    ) -> GroupSchedule {
        let schedule = if shape.size == 1 { local::single(shape) } else { build(shape, self.parameters) };
        GroupSchedule { group, schedule, data: self.data(), input, output }
    }
    fn of_nodes(
        &self,
        (from, to): (u32, u32),
        root: u32,
        stage: (Kind, Build),
        input: Place,
        output: Place,
    ) -> GroupSchedule {
        let (node, (kind, build)) = (self.shape.node, stage);
        let except = if from == self.home && to == self.home + 1 { u32::MAX } else { self.home };
        let shape = Shape { size: self.size_of(from), root, node: 1, ..as_kind(self.shape, kind) };
        self.part(StageMembers::Nodes { node, from, to, except }, build, &shape, input, output)
    }
    /// Builds one stage in every node; the home node's leader has its data at `home_input`.
    fn within(
        &self,
        kind: Kind,
        build: Build,
        home_input: Place,
        input: Place,
        output: Place,
    ) -> Vec<GroupSchedule> {
        let stage = (kind, build);
        let last = self.count - 1;
        let full = if self.size_of(last) == self.shape.node { self.count } else { last };
        let root = self.shape.root % self.shape.node;
        let mut parts = vec![self.of_nodes((self.home, self.home + 1), root, stage, home_input, output)];
        if full > 1 || self.home != 0 {
            parts.push(self.of_nodes((0, full), 0, stage, input, output));
        }
        if full == last && self.home != last {
            parts.push(self.of_nodes((last, self.count), 0, stage, input, output));
        }
        parts
    }
    /// Builds one stage between the leaders.
    fn between(&self, kind: Kind, build: Build, input: Place, output: Place) -> Vec<GroupSchedule> {
        let shape = Shape { size: self.count, root: self.home, node: 1, ..as_kind(self.shape, kind) };
        let group =
            StageMembers::Leaders { node: self.shape.node, special: self.home, leader: self.shape.root };
        vec![self.part(group, build, &shape, input, output)]
    }
}

/// Builds a barrier in each node, one between the leaders, and the release in each node.
pub(super) fn two_level_barrier(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let nodes = NodeSchedules::new(shape, parameters);
    Staged::new("two-level", shape.size, 0)
        .then(nodes.within(Kind::Barrier, barrier::dissemination, NOTHING, NOTHING, NOTHING))
        .then(nodes.between(Kind::Barrier, barrier::dissemination, NOTHING, NOTHING))
        .then(nodes.within(Kind::Bcast, bcast::binomial, NOTHING, NOTHING, NOTHING))
        .finish()
}

/// Builds a broadcast from the root to the leaders, and from them to their nodes.
pub(super) fn two_level_bcast(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let nodes = NodeSchedules::new(shape, parameters);
    Staged::new("two-level", shape.size, 0)
        .then(nodes.between(Kind::Bcast, bcast::binomial, INPUT, OUTPUT))
        .then(nodes.within(Kind::Bcast, bcast::binomial, INPUT, OUTPUT, OUTPUT))
        .finish()
}

/// Builds a reduction in each node to its leader, and from the leaders to the root.
pub(super) fn two_level_reduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let nodes = NodeSchedules::new(shape, parameters);
    Staged::new("two-level", shape.size, shape.bytes)
        .then(nodes.within(Kind::Reduce, reduce::binomial, INPUT, INPUT, SCRATCH))
        .then(nodes.between(Kind::Reduce, reduce::binomial, SCRATCH, OUTPUT))
        .finish()
}

/// Builds an allreduce in each node to its leader, among the leaders, and from them to their nodes.
pub(super) fn two_level_allreduce(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let nodes = NodeSchedules::new(shape, parameters);
    Staged::new("two-level", shape.size, shape.bytes)
        .then(nodes.within(Kind::Reduce, reduce::binomial, INPUT, INPUT, SCRATCH))
        .then(nodes.between(Kind::Allreduce, allreduce::recursive_doubling, SCRATCH, OUTPUT))
        .then(nodes.within(Kind::Bcast, bcast::binomial, OUTPUT, OUTPUT, OUTPUT))
        .finish()
}

/// Returns a collective of these members with the blocks of a whole node.
fn node_blocks(shape: &Shape) -> Shape {
    Shape { bytes: shape.bytes * u64::from(shape.node), ..shape.clone() }
}

/// Builds a gather in each node to its leader, and from the leaders to the root.
pub(super) fn two_level_gather(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let whole = node_blocks(shape);
    let (nodes, leaders) = (NodeSchedules::new(shape, parameters), NodeSchedules::new(&whole, parameters));
    Staged::new("two-level", shape.size, whole.bytes)
        .then(nodes.within(Kind::Gather, gather::binomial_gather, INPUT, INPUT, SCRATCH))
        .then(leaders.between(Kind::Gather, gather::binomial_gather, SCRATCH, OUTPUT))
        .finish()
}

/// Builds a scatter from the root to the leaders, and from them to their nodes.
pub(super) fn two_level_scatter(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let whole = node_blocks(shape);
    let (nodes, leaders) = (NodeSchedules::new(shape, parameters), NodeSchedules::new(&whole, parameters));
    Staged::new("two-level", shape.size, whole.bytes)
        .then(leaders.between(Kind::Scatter, gather::binomial_scatter, INPUT, SCRATCH))
        .then(nodes.within(Kind::Scatter, gather::binomial_scatter, SCRATCH, SCRATCH, OUTPUT))
        .finish()
}

/// Builds an allgather in each node to its leader, among the leaders, and from them to their nodes.
pub(super) fn two_level_allgather(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let whole = node_blocks(shape);
    let all = Shape { bytes: shape.bytes * u64::from(shape.size), ..shape.clone() };
    let (nodes, leaders) = (NodeSchedules::new(shape, parameters), NodeSchedules::new(&whole, parameters));
    Staged::new("two-level", shape.size, whole.bytes)
        .then(nodes.within(Kind::Gather, gather::binomial_gather, INPUT, INPUT, SCRATCH))
        .then(leaders.between(Kind::Allgather, allgather::recursive_doubling, SCRATCH, OUTPUT))
        .then(NodeSchedules::new(&all, parameters).within(
            Kind::Bcast,
            bcast::binomial,
            OUTPUT,
            OUTPUT,
            OUTPUT,
        ))
        .finish()
}

/// Builds a scan in each node, an exclusive one of the nodes' totals between the leaders, and its result into
/// each node.
pub(super) fn two_level_scan(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let nodes = NodeSchedules::new(shape, parameters);
    let before = (Buffer::Scratch, shape.bytes);
    // The first node, whose part is the first, has nothing before it.
    // `within` puts the home node's part first, and a scan has its root at member 0.
    let release = nodes.within(Kind::Bcast, bcast::binomial, before, before, before).split_off(1);
    let behind = StageMembers::Range { first: shape.node, count: shape.size - shape.node };
    let prefix = GroupSchedule {
        group: behind,
        schedule: Rc::new(Prefix),
        data: nodes.data(),
        input: before,
        output: OUTPUT,
    };
    Staged::new("two-level", shape.size, 2 * shape.bytes)
        .then(nodes.within(Kind::Scan, scan::doubling_scan, INPUT, INPUT, OUTPUT))
        .then(nodes.within(Kind::Reduce, total, OUTPUT, OUTPUT, SCRATCH))
        .then(nodes.between(Kind::Exscan, scan::doubling_exscan, SCRATCH, before))
        .then(release)
        .then(vec![prefix])
        .finish()
}

/// The last member's prefix is the total, which the first one gets.
struct Total {
    last: u32,
}

fn total(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(Total { last: shape.size - 1 })
}

impl Schedule for Total {
    fn name(&self) -> &'static str {
        "total"
    }
    fn rounds(&self) -> u32 {
        1
    }
    fn round(&self, member: &Member, _: u32, steps: &mut Vec<Step>) {
        let bytes = member.send.bytes(0);
        if member.rank == self.last {
            steps.push(Step::Send { to: 0, from: input(0, bytes) });
        } else if member.rank == 0 {
            steps.push(Step::Receive { from: self.last, into: output(0, bytes) });
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
}

/// Every member puts `Input` before its `Output`.
struct Prefix;

impl Schedule for Prefix {
    fn name(&self) -> &'static str {
        "prefix"
    }
    fn rounds(&self) -> u32 {
        1
    }
    fn round(&self, member: &Member, _: u32, steps: &mut Vec<Step>) {
        let bytes = member.send.bytes(0);
        combine(true, input(0, bytes), output(0, bytes), steps);
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
}

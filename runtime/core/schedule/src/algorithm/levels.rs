//! Stages within the nodes of the machine and between them, of which compositions are made. Every node's
//! first member is its leader, also where the root is another one.

use std::rc::Rc;

use super::combined::as_kind;
use super::parameters::Parameters;
use super::parts::{copy, input, output};
use super::staged::{GroupSchedule, StageBlocks, StageMembers};
use super::{bcast, local};
use crate::{Buffer, Kind, Member, Schedule, Shape, Step};

pub(super) type BufferStart = (Buffer, u64);
pub(super) type Build = fn(&Shape, &Parameters) -> Rc<dyn Schedule>;
pub(super) const INPUT: BufferStart = (Buffer::Input, 0);
pub(super) const OUTPUT: BufferStart = (Buffer::Output, 0);
pub(super) const SCRATCH: BufferStart = (Buffer::Scratch, 0);
/// No node.
const NO_NODE: u32 = u32::MAX;

/// A collective, an algorithm for it, and the number of its root in the group.
#[derive(Clone, Copy)]
pub(super) struct StagePlan {
    pub(super) kind: Kind,
    pub(super) build: Build,
    pub(super) root: u32,
}

/// The nodes of a collective.
pub(super) struct NodeLevels<'a> {
    pub(super) shape: &'a Shape,
    parameters: &'a Parameters,
    pub(super) count: u32,
    /// The root's node.
    pub(super) home: u32,
    /// The first member of the root's node.
    pub(super) leader: u32,
}

impl<'a> NodeLevels<'a> {
    pub(super) fn new(shape: &'a Shape, parameters: &'a Parameters) -> NodeLevels<'a> {
        let home = shape.root / shape.node;
        let count = shape.size.div_ceil(shape.node);
        NodeLevels { shape, parameters, count, home, leader: home * shape.node }
    }
    pub(super) fn size_of(&self, node: u32) -> u32 {
        self.shape.node.min(self.shape.size - node * self.shape.node)
    }
    pub(super) fn part(
        &self,
        group: StageMembers,
        size: u32,
        stage: StagePlan,
        input: BufferStart,
        output: BufferStart,
    ) -> GroupSchedule {
        let shape = Shape { size, root: stage.root, node: 1, ..as_kind(self.shape, stage.kind) };
        let schedule = if size == 1 { local::single(&shape) } else { (stage.build)(&shape, self.parameters) };
        GroupSchedule { group, schedule, data: StageBlocks::Block(self.shape.bytes), input, output }
    }
    /// Returns one stage in each of the nodes `from..to` but `except`. Only the last node may not be full.
    fn within(
        &self,
        (from, to): (u32, u32),
        except: u32,
        stage: StagePlan,
        input: BufferStart,
        output: BufferStart,
    ) -> Vec<GroupSchedule> {
        let node = self.shape.node;
        let full = self.shape.size / node;
        let ranges = [(from, to.min(full)), (from.max(full), to)];
        let present =
            ranges.into_iter().filter(|&(from, to)| from < to && !(to - from == 1 && from == except));
        present
            .map(|(from, to)| {
                let group = StageMembers::Nodes { node, from, to, except };
                let first = if from == except { from + 1 } else { from };
                self.part(group, self.size_of(first), stage, input, output)
            })
            .collect()
    }
    /// Returns one stage in the root's node.
    pub(super) fn at_home(
        &self,
        stage: StagePlan,
        input: BufferStart,
        output: BufferStart,
    ) -> Vec<GroupSchedule> {
        self.within((self.home, self.home + 1), NO_NODE, stage, input, output)
    }
    /// Returns one stage in every node.
    pub(super) fn everywhere(
        &self,
        stage: StagePlan,
        input: BufferStart,
        output: BufferStart,
    ) -> Vec<GroupSchedule> {
        self.within((0, self.count), NO_NODE, stage, input, output)
    }
    /// Returns one stage in every node but the root's.
    pub(super) fn elsewhere(
        &self,
        stage: StagePlan,
        input: BufferStart,
        output: BufferStart,
    ) -> Vec<GroupSchedule> {
        self.within((0, self.count), self.home, stage, input, output)
    }
    /// Returns one stage between the leaders.
    pub(super) fn between(
        &self,
        stage: StagePlan,
        input: BufferStart,
        output: BufferStart,
    ) -> Vec<GroupSchedule> {
        let group = StageMembers::Leaders { node: self.shape.node, special: 0, leader: 0 };
        vec![self.part(group, self.count, stage, input, output)]
    }
    /// Returns a message from one member to another.
    pub(super) fn message(
        &self,
        first: u32,
        second: u32,
        input: BufferStart,
        output: BufferStart,
    ) -> Vec<GroupSchedule> {
        let stage = StagePlan { kind: Kind::Bcast, build: bcast::linear, root: 0 };
        vec![self.part(StageMembers::Pair { first, second }, 2, stage, input, output)]
    }
    /// Returns copies of the contributions of the members from `first` on.
    pub(super) fn kept(&self, first: u32, count: u32, output: BufferStart) -> Option<GroupSchedule> {
        let group = StageMembers::Range { first, count };
        let data = StageBlocks::Block(self.shape.bytes);
        (count > 0).then(|| GroupSchedule { group, schedule: Rc::new(KeptInput), data, input: INPUT, output })
    }
}

/// Copies every member's `Input` to its `Output`.
struct KeptInput;

impl Schedule for KeptInput {
    fn name(&self) -> &'static str {
        "kept"
    }
    fn rounds(&self) -> u32 {
        1
    }
    fn round(&self, member: &Member, _: u32, steps: &mut Vec<Step>) {
        let bytes = member.send.bytes(0);
        copy(input(0, bytes), output(0, bytes), steps);
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
}

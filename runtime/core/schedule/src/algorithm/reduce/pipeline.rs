//! Reduction up a tree, segment behind segment (Open MPI's chain, pipeline, binary, in-order binary and
//! k-nomial trees).

use std::rc::Rc;

use super::super::parameters::Parameters;
use super::super::parts::{add, input, output, part, reduce, scratch, subtract};
use super::super::trees::{Shaped, Tree};
use crate::{Active, Member, Schedule, Shape, Slice, Step};

/// A member at depth `d` of a tree of height `h` sends segment `s` in round `h - d + s`.
struct PipelinedReduce {
    name: &'static str,
    tree: Shaped,
    size: u32,
    root: u32,
    /// Rank of position 0.
    base: u32,
    /// Rank of the tree's root.
    top: u32,
    in_order: bool,
    single: bool,
    bytes: u64,
    segment: u64,
    segments: u32,
}

fn build(name: &'static str, tree: Tree, shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let (segment, segments) = parameters.segments(shape.bytes, shape.element);
    let in_order = tree == Tree::InOrder;
    let single = tree == (Tree::Chain { fanout: 1 });
    let tree = Shaped::new(tree, shape.size);
    let base = if in_order { 0 } else { shape.root };
    let top = add(base, tree.root(), shape.size);
    let (size, root, bytes) = (shape.size, shape.root, shape.bytes);
    Rc::new(PipelinedReduce { name, tree, size, root, base, top, in_order, single, bytes, segment, segments })
}

pub(in super::super) fn chain(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    build("chain", Tree::Chain { fanout: parameters.fanout(4) }, shape, parameters)
}

pub(in super::super) fn pipeline(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    build("pipeline", Tree::Chain { fanout: 1 }, shape, parameters)
}

pub(in super::super) fn binary(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    build("binary", Tree::Binary, shape, parameters)
}

pub(in super::super) fn knomial(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    build("knomial", Tree::Knomial { radix: parameters.fanout(4) }, shape, parameters)
}

/// Builds an in-order binary tree, whose root is the last member and sends the result on to the root of the
/// operation.
pub(in super::super) fn in_order_binary(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    build("in-order-binary", Tree::InOrder, shape, parameters)
}

impl PipelinedReduce {
    fn climb(&self) -> u32 {
        self.tree.height() + self.segments - 1
    }
    fn partial(&self, rank: u32) -> Slice {
        if rank == self.top && self.top == self.root { output(0, self.bytes) } else { scratch(0, self.bytes) }
    }
    fn segment(&self, whole: Slice, index: u32) -> Slice {
        let offset = u64::from(index) * self.segment;
        part(whole, offset, self.segment.min(self.bytes - offset))
    }
    fn has_children(&self, position: u32) -> bool {
        let mut any = false;
        self.tree.children(position, |_| any = true);
        any
    }
    // The last child's segment needs no room of its own: its place is the result's.
    fn receive(&self, rank: u32, position: u32, index: u32, steps: &mut Vec<Step>) {
        let partial = self.segment(self.partial(rank), index);
        let own = self.segment(input(0, self.bytes), index);
        // The last child goes straight into the partial result: in order it is the nearest to the member's
        // own.
        let mut children = 0;
        self.tree.children(position, |_| children += 1);
        let waiting = |child: u32| scratch(self.bytes + u64::from(child) * self.segment, partial.bytes);
        let mut child = 0;
        self.tree.children(position, |other| {
            let into = if child + 1 == children { partial } else { waiting(child) };
            steps.push(Step::Receive { from: add(other, self.base, self.size), into });
            child += 1;
        });
        if children > 0 {
            reduce(!self.in_order, own, partial, steps);
        }
        for child in (1..children).rev() {
            reduce(self.in_order, waiting(child - 1), partial, steps);
        }
    }
}

impl Schedule for PipelinedReduce {
    fn name(&self) -> &'static str {
        self.name
    }
    fn rounds(&self) -> u32 {
        self.climb() + u32::from(self.top != self.root)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let rank = member.rank;
        if round == self.climb() {
            if rank == self.top {
                steps.push(Step::Send { to: self.root, from: self.partial(rank) });
            } else if rank == self.root {
                steps.push(Step::Receive { from: self.top, into: output(0, self.bytes) });
            }
            return;
        }
        let position = subtract(rank, self.base, self.size);
        let (depth, parent) = self.tree.place(position);
        let sends = round.wrapping_sub(self.tree.height() - depth);
        if let Some(parent) = parent
            && sends < self.segments
        {
            let whole = if self.has_children(position) { self.partial(rank) } else { input(0, self.bytes) };
            steps
                .push(Step::Send { to: add(parent, self.base, self.size), from: self.segment(whole, sends) });
        }
        let receives = sends.wrapping_add(1);
        if receives < self.segments {
            self.receive(rank, position, receives, steps);
        }
    }
    fn scratch(&self, member: &Member) -> u64 {
        let mut children = 0;
        self.tree.children(subtract(member.rank, self.base, self.size), |_| children += 1);
        if children == 0 { 0 } else { self.bytes + (children - 1) * self.segment }
    }
    fn active(&self, round: u32) -> Option<Active> {
        if round == self.climb() {
            let first = self.top.min(self.root);
            return Some(Active { first, stride: self.top.max(self.root) - first, count: 2 });
        }
        // Of other trees the members at work in a round are not evenly spaced; `next` then lets each skip the
        // rounds that it rests in.
        if !self.single {
            return None;
        }
        // Position p sends in rounds size - 1 - p .. + segments and receives one round earlier.
        let last = (self.size - 1).min(self.size + self.segments - 2 - round);
        let first = (self.size - 1).saturating_sub(round + 1);
        Some(Active { first: add(self.base, first, self.size), stride: 1, count: last - first + 1 })
    }
    fn next(&self, rank: u32, round: u32) -> u32 {
        let (depth, _) = self.tree.place(subtract(rank, self.base, self.size));
        let sends = self.tree.height() - depth;
        if round < sends + self.segments {
            round.max(sends.max(1) - 1)
        } else if rank == self.top || rank == self.root {
            round.max(self.climb())
        } else {
            self.rounds()
        }
    }
}

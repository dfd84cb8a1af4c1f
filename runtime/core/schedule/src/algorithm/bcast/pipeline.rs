//! Broadcast down a tree, segment behind segment (Open MPI's chain, pipeline, binary tree and k-nomial tree).

use std::rc::Rc;

use super::super::parameters::Parameters;
use super::super::parts::{add, part, subtract};
use super::super::trees::{Shaped, Tree};
use super::message::message;
use crate::{Active, Member, Schedule, Shape, Step};

/// A member at depth `d` sends segment `s` to all its children in round `d + s`.
struct PipelinedBcast {
    name: &'static str,
    tree: Shaped,
    size: u32,
    root: u32,
    segment: u64,
    segments: u32,
    kind: Tree,
}

fn build(name: &'static str, tree: Tree, shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    let (segment, segments) = parameters.segments(shape.bytes, 1);
    Rc::new(PipelinedBcast {
        name,
        tree: Shaped::new(tree, shape.size),
        size: shape.size,
        root: shape.root,
        segment,
        segments,
        kind: tree,
    })
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
    if parameters.segments(shape.bytes, 1).1 == 1 {
        return super::knomial::unsegmented_knomial(shape, parameters.fanout(4).max(2));
    }
    build("knomial", Tree::Knomial { radix: parameters.fanout(4) }, shape, parameters)
}

impl Schedule for PipelinedBcast {
    fn name(&self) -> &'static str {
        self.name
    }
    fn rounds(&self) -> u32 {
        self.tree.height() + self.segments - 1
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let position = subtract(member.rank, self.root, self.size);
        let (depth, parent) = self.tree.place(position);
        let whole = message(member, self.root);
        let segment = |index: u32| {
            let offset = u64::from(index) * self.segment;
            part(whole, offset, self.segment.min(whole.bytes - offset))
        };
        let sends = round.wrapping_sub(depth);
        if sends < self.segments {
            self.tree.children(position, |child| {
                steps.push(Step::Send { to: add(child, self.root, self.size), from: segment(sends) });
            });
        }
        let receives = round.wrapping_sub(depth).wrapping_add(1);
        if let Some(parent) = parent
            && receives < self.segments
        {
            steps.push(Step::Receive { from: add(parent, self.root, self.size), into: segment(receives) });
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
    // A long chain has few members at work in a round: without this a pipeline of n members would cost n
    // squared questions.
    fn active(&self, round: u32) -> Option<Active> {
        // Depths that receive or send in this round.
        let (deepest, highest) = (round + 1, (round + 1).saturating_sub(self.segments));
        let (first, end) = match self.kind {
            Tree::Chain { fanout: 1 } => (highest, deepest + 1),
            Tree::Binary => ((1 << highest) - 1, (1 << deepest.min(30) << 1) - 1),
            _ => return None,
        };
        Some(Active { first: add(self.root, first, self.size), stride: 1, count: end.min(self.size) - first })
    }
    fn next(&self, rank: u32, round: u32) -> u32 {
        let (depth, _) = self.tree.place(subtract(rank, self.root, self.size));
        if round < depth + self.segments { round.max(depth.max(1) - 1) } else { self.rounds() }
    }
}

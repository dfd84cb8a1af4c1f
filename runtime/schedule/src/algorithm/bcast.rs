//! MPI_Bcast: linear, binomial, scatter and allgather, and pipelines down a tree.

mod pipeline;
mod scatter_allgather;
mod split_binary;

use std::rc::Rc;

use super::parts::{add, ceil_log2, input, output, subtract};
use super::{Parameters, trees};
use crate::{Active, Member, Schedule, Shape, Slice, Step};

pub(super) use pipeline::{binary, chain, knomial, pipeline};
pub(super) use scatter_allgather::{scatter_doubling, scatter_ring};
pub(super) use split_binary::split_binary;

/// The message at one member: the root reads `Input`, the others hold `Output`.
pub(super) fn message(member: &Member, root: u32) -> Slice {
    if member.rank == root { input(0, member.send.bytes(0)) } else { output(0, member.receive.bytes(0)) }
}

/// The root sends to everyone.
struct Linear {
    size: u32,
    root: u32,
}

pub(super) fn linear(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(Linear { size: shape.size, root: shape.root })
}

impl Schedule for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }
    fn rounds(&self) -> u32 {
        1
    }
    fn round(&self, member: &Member, _: u32, steps: &mut Vec<Step>) {
        let slice = message(member, self.root);
        if member.rank != self.root {
            steps.push(Step::Receive { from: self.root, into: slice });
            return;
        }
        let others = (0..self.size).filter(|&to| to != self.root);
        steps.extend(others.map(|to| Step::Send { to, from: slice }));
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
}

/// Down a k-nomial tree, the binomial tree for radix 2: each member that has the message reaches one in each of the `radix - 1`
/// further parts of its range, the largest parts first.
struct Knomial {
    name: &'static str,
    size: u32,
    root: u32,
    radix: u32,
    rounds: u32,
}

pub(super) fn binomial(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    let rounds = ceil_log2(shape.size);
    Rc::new(Knomial { name: "binomial", size: shape.size, root: shape.root, radix: 2, rounds })
}

/// Of one segment; [`pipeline`] has the segmented form.
fn unsegmented_knomial(shape: &Shape, radix: u32) -> Rc<dyn Schedule> {
    let rounds = trees::Shaped::new(trees::Tree::Knomial { radix }, shape.size).height();
    Rc::new(Knomial { name: "knomial", size: shape.size, root: shape.root, radix, rounds })
}

impl Knomial {
    /// Distance between the members that have the message after `round`.
    fn distance(&self, round: u32) -> u32 {
        self.radix.pow(self.rounds - 1 - round)
    }
}

impl Schedule for Knomial {
    fn name(&self) -> &'static str {
        self.name
    }
    fn rounds(&self) -> u32 {
        self.rounds
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let distance = self.distance(round);
        let position = subtract(member.rank, self.root, self.size);
        if !position.is_multiple_of(distance) {
            return;
        }
        let slice = message(member, self.root);
        let digit = position / distance % self.radix;
        if digit > 0 {
            let from = subtract(member.rank, digit * distance, self.size);
            steps.push(Step::Receive { from, into: slice });
            return;
        }
        let reach = (self.size - 1 - position) / distance;
        for digit in 1..self.radix.min(reach.saturating_add(1)) {
            steps.push(Step::Send { to: add(member.rank, digit * distance, self.size), from: slice });
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
    fn active(&self, round: u32) -> Option<Active> {
        let stride = self.distance(round);
        Some(Active { first: self.root, stride, count: self.size.div_ceil(stride) })
    }
}

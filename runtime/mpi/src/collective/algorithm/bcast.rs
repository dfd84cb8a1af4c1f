//! MPI_Bcast: linear, binomial, scatter and allgather, and pipelines down a tree.

mod pipeline;
mod scatter_allgather;
mod split_binary;

use std::rc::Rc;

use super::Parameters;
use super::parts::{add, ceil_log2, input, output, subtract};
use crate::collective::schedule::{Active, Member, Schedule, Shape, Slice, Step};

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

/// Down a binomial tree: the root reaches half way round first, then both halves go on.
struct Binomial {
    size: u32,
    root: u32,
}

pub(super) fn binomial(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(Binomial { size: shape.size, root: shape.root })
}

impl Binomial {
    fn mask(&self, round: u32) -> u32 {
        1 << (self.rounds() - 1 - round)
    }
}

impl Schedule for Binomial {
    fn name(&self) -> &'static str {
        "binomial"
    }
    fn rounds(&self) -> u32 {
        ceil_log2(self.size)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let mask = self.mask(round);
        let position = subtract(member.rank, self.root, self.size);
        if position & (mask - 1) != 0 {
            return;
        }
        let slice = message(member, self.root);
        if position & mask != 0 {
            steps.push(Step::Receive { from: subtract(member.rank, mask, self.size), into: slice });
        } else if mask < self.size - position {
            steps.push(Step::Send { to: add(member.rank, mask, self.size), from: slice });
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
    fn active(&self, round: u32) -> Option<Active> {
        let mask = self.mask(round);
        Some(Active { first: self.root, stride: mask, count: self.size.div_ceil(mask) })
    }
}

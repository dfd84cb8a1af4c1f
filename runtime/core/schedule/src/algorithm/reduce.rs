//! MPI_Reduce: linear, binomial, Rabenseifner, and pipelines up a tree.

mod pipeline;
mod rabenseifner;

use std::rc::Rc;

use super::parameters::Parameters;
use super::parts::{ceil_log2, input, output, reduce, scratch, subtract};
use crate::{Active, Association, Member, Schedule, Shape, Slice, Step};

pub(super) use pipeline::{binary, chain, in_order_binary, knomial, pipeline};
pub(super) use rabenseifner::rabenseifner;

/// The root takes in the members' contributions one after the other, from the last to the first: order is
/// kept.
// One sender a round though all could send at once: the root takes them in this order anyway, and a round
// costs no time of its own.
struct LinearReduce {
    size: u32,
    root: u32,
    bytes: u64,
}

pub(super) fn linear(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(LinearReduce { size: shape.size, root: shape.root, bytes: shape.bytes })
}

impl LinearReduce {
    /// Returns who sends in `round`.
    fn sender(&self, round: u32) -> u32 {
        let position = self.size - 1 - round;
        if position <= self.root { position - 1 } else { position }
    }
    fn round_of(&self, rank: u32) -> u32 {
        self.size - 1 - if rank < self.root { rank + 1 } else { rank }
    }
    fn at_root(&self, round: u32, steps: &mut Vec<Step>) {
        let (own, whole, next) = (input(0, self.bytes), output(0, self.bytes), scratch(0, self.bytes));
        let from = self.sender(round);
        let first = round == 0;
        steps.push(Step::Receive { from, into: if first { whole } else { next } });
        // The own contribution comes in right after that of the next higher member.
        let own_before = self.root == self.size - 1 && first;
        let own_after = from == self.root + 1;
        if own_before {
            reduce(false, own, whole, steps);
        } else {
            if !first {
                reduce(true, next, whole, steps);
            }
            if own_after {
                reduce(true, own, whole, steps);
            }
        }
    }
}

impl Schedule for LinearReduce {
    fn name(&self) -> &'static str {
        "linear"
    }
    fn rounds(&self) -> u32 {
        self.size - 1
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        if member.rank == self.root {
            self.at_root(round, steps);
        } else if member.rank == self.sender(round) {
            steps.push(Step::Send { to: self.root, from: input(0, self.bytes) });
        }
    }
    fn scratch(&self, member: &Member) -> u64 {
        if member.rank == self.root && self.size > 2 { self.bytes } else { 0 }
    }
    fn active(&self, round: u32) -> Option<Active> {
        let sender = self.sender(round);
        let first = sender.min(self.root);
        Some(Active { first, stride: sender.max(self.root) - first, count: 2 })
    }
    fn next(&self, rank: u32, round: u32) -> u32 {
        match self.round_of(rank) {
            _ if rank == self.root => round,
            own if round <= own => own,
            _ => self.rounds(),
        }
    }
}

/// Up a binomial tree of the ranks counted from the root; where the operation does not commute counted from
/// member 0, which then sends the result to the root (MPICH).
pub(super) struct BinomialReduce {
    size: u32,
    root: u32,
    /// Position 0 of the tree.
    top: u32,
    bytes: u64,
}

pub(super) fn binomial(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    // In order from member 0, or operands would be rotated; the result then has to travel to the root.
    let top = if shape.commutative { shape.root } else { 0 };
    Rc::new(BinomialReduce { size: shape.size, root: shape.root, top, bytes: shape.bytes })
}

impl BinomialReduce {
    /// Returns where a member that has children keeps its partial result.
    // Where no output is, in scratch: only the root has an output.
    fn partial(&self, rank: u32) -> Slice {
        if rank == self.top && self.top == self.root { output(0, self.bytes) } else { scratch(0, self.bytes) }
    }
    fn is_leaf(&self, position: u32) -> bool {
        position % 2 == 1 || position + 1 == self.size
    }
    fn deliver(&self, rank: u32, steps: &mut Vec<Step>) {
        if rank == self.top {
            steps.push(Step::Send { to: self.root, from: self.partial(rank) });
        } else if rank == self.root {
            steps.push(Step::Receive { from: self.top, into: output(0, self.bytes) });
        }
    }
}

impl Schedule for BinomialReduce {
    fn name(&self) -> &'static str {
        "binomial"
    }
    fn rounds(&self) -> u32 {
        ceil_log2(self.size) + u32::from(self.top != self.root)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        if round == ceil_log2(self.size) {
            return self.deliver(member.rank, steps);
        }
        let mask = 1 << round;
        let position = subtract(member.rank, self.top, self.size);
        if position & (mask - 1) != 0 {
            return;
        }
        let own = input(0, self.bytes);
        let partial = self.partial(member.rank);
        if position & mask != 0 {
            let from = if self.is_leaf(position) { own } else { partial };
            steps.push(Step::Send { to: subtract(member.rank, mask, self.size), from });
        } else if mask < self.size - position {
            let from = super::parts::add(member.rank, mask, self.size);
            let into = if round == 0 { partial } else { scratch(self.bytes, self.bytes) };
            steps.push(Step::Receive { from, into });
            if round == 0 {
                reduce(true, own, partial, steps);
            } else {
                reduce(false, into, partial, steps);
            }
        }
    }
    fn scratch(&self, member: &Member) -> u64 {
        let position = subtract(member.rank, self.top, self.size);
        if self.is_leaf(position) { 0 } else { 2 * self.bytes }
    }
    fn association(&self) -> Option<Association> {
        Some(Association::Rows { top: self.top })
    }
    fn active(&self, round: u32) -> Option<Active> {
        if round == ceil_log2(self.size) {
            return Some(Active { first: self.top, stride: self.root, count: 2 });
        }
        Some(Active { first: self.top, stride: 1 << round, count: self.size.div_ceil(1 << round) })
    }
}

//! MPI_Gather, MPI_Gatherv, MPI_Scatter and MPI_Scatterv: linear and binomial.

use std::rc::Rc;

use super::parameters::Parameters;
use super::parts::{add, ceil_log2, copy, input, output, scratch, subtract};
use crate::{Active, Member, Schedule, Shape, Slice, Step};

/// The root exchanges with each member in rank order.
struct LinearGather {
    size: u32,
    root: u32,
    scatter: bool,
    /// `true` if blocks may be empty: then no message is sent for them, as both ends know.
    irregular: bool,
}

pub(super) fn linear_gather(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(LinearGather { size: shape.size, root: shape.root, scatter: false, irregular: shape.irregular })
}

pub(super) fn linear_scatter(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(LinearGather { size: shape.size, root: shape.root, scatter: true, irregular: shape.irregular })
}

impl LinearGather {
    // In the order of ranks, which shows: each message costs the root its overhead, and the next one waits
    // for that.
    fn at_root(&self, member: &Member, steps: &mut Vec<Step>) {
        let blocks = if self.scatter { &member.send } else { &member.receive };
        for other in 0..self.size {
            let (offset, bytes) = (blocks.offset(other), blocks.bytes(other));
            if other == self.root || (self.irregular && bytes == 0) {
                continue;
            }
            steps.push(if self.scatter {
                Step::Send { to: other, from: input(offset, bytes) }
            } else {
                Step::Receive { from: other, into: output(offset, bytes) }
            });
        }
        let (offset, bytes) = (blocks.offset(self.root), blocks.bytes(self.root));
        if self.scatter {
            copy(input(offset, bytes), output(0, bytes), steps);
        } else {
            copy(input(0, bytes), output(offset, bytes), steps);
        }
    }
}

impl Schedule for LinearGather {
    fn name(&self) -> &'static str {
        "linear"
    }
    fn rounds(&self) -> u32 {
        1
    }
    fn round(&self, member: &Member, _: u32, steps: &mut Vec<Step>) {
        if member.rank == self.root {
            return self.at_root(member, steps);
        }
        let bytes = if self.scatter { member.receive.bytes(0) } else { member.send.bytes(0) };
        if self.irregular && bytes == 0 {
            return;
        }
        steps.push(if self.scatter {
            Step::Receive { from: self.root, into: output(0, bytes) }
        } else {
            Step::Send { to: self.root, from: input(0, bytes) }
        });
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
}

/// Equal blocks over a binomial tree, whose subtrees are ranges of positions counted from the root.
// Counted from the root, so that a subtree is a range of members that at most once goes round the end.
struct Binomial {
    size: u32,
    root: u32,
    block: u64,
}

impl Binomial {
    fn new(shape: &Shape) -> Binomial {
        Binomial { size: shape.size, root: shape.root, block: shape.bytes }
    }
    /// Returns how many blocks the subtree of `2^k` positions at `position` has.
    fn blocks(&self, position: u32, mask: u32) -> u32 {
        mask.min(self.size - position)
    }
    /// Returns the subtree at `position` in the root's buffer, `None` if it wraps around its end.
    fn in_order(&self, position: u32, blocks: u32) -> Option<(u64, u64)> {
        let first = add(position, self.root, self.size);
        (blocks <= self.size - first)
            .then_some((u64::from(first) * self.block, u64::from(blocks) * self.block))
    }
    /// Returns the two ranges of the subtree that wraps, as (offset at the root, offset in the subtree,
    /// bytes).
    fn wrapped(&self, position: u32, blocks: u32) -> [(u64, u64, u64); 2] {
        let first = add(position, self.root, self.size);
        let front = u64::from(self.size - first) * self.block;
        [(u64::from(first) * self.block, 0, front), (0, front, u64::from(blocks) * self.block - front)]
    }
    /// The child of the root whose subtree wraps.
    // At most one child's subtree crosses the end of the buffer: only for that one there is a second copy.
    fn wrapping_child(&self) -> Option<(u32, u32)> {
        let masks = (0..ceil_log2(self.size)).map(|k| 1 << k);
        masks
            .map(|mask| (mask, self.blocks(mask, mask)))
            .find(|&(child, blocks)| self.in_order(child, blocks).is_none())
    }
    fn scratch(&self, rank: u32) -> u64 {
        let position = subtract(rank, self.root, self.size);
        let blocks = if position == 0 {
            self.wrapping_child().map_or(0, |(_, blocks)| blocks)
        } else {
            match self.blocks(position, 1 << position.trailing_zeros()) {
                1 => 0,
                blocks => blocks,
            }
        };
        u64::from(blocks) * self.block
    }
    fn active(&self, mask: u32) -> Option<Active> {
        Some(Active { first: self.root, stride: mask, count: self.size.div_ceil(mask) })
    }
}

struct BinomialGather(Binomial);

pub(super) fn binomial_gather(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(BinomialGather(Binomial::new(shape)))
}

impl BinomialGather {
    fn receive(&self, position: u32, rank: u32, mask: u32, steps: &mut Vec<Step>) {
        let tree = &self.0;
        let child = position + mask;
        let blocks = tree.blocks(child, mask);
        let bytes = u64::from(blocks) * tree.block;
        let from = add(rank, mask, tree.size);
        if position > 0 {
            steps.push(Step::Receive { from, into: scratch(u64::from(mask) * tree.block, bytes) });
        } else if let Some((offset, bytes)) = tree.in_order(child, blocks) {
            steps.push(Step::Receive { from, into: output(offset, bytes) });
        } else {
            steps.push(Step::Receive { from, into: scratch(0, bytes) });
            for (at_root, in_subtree, bytes) in tree.wrapped(child, blocks) {
                copy(scratch(in_subtree, bytes), output(at_root, bytes), steps);
            }
        }
    }
    fn own(&self, position: u32, rank: u32, steps: &mut Vec<Step>) {
        let tree = &self.0;
        if position == 0 {
            copy(input(0, tree.block), output(u64::from(rank) * tree.block, tree.block), steps);
        } else if position.is_multiple_of(2) && position + 1 < tree.size {
            copy(input(0, tree.block), scratch(0, tree.block), steps);
        }
    }
}

impl Schedule for BinomialGather {
    fn name(&self) -> &'static str {
        "binomial"
    }
    fn rounds(&self) -> u32 {
        ceil_log2(self.0.size)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let tree = &self.0;
        let mask = 1 << round;
        let position = subtract(member.rank, tree.root, tree.size);
        if position & (mask - 1) != 0 {
            return;
        }
        if position & mask != 0 {
            let blocks = tree.blocks(position, mask);
            let bytes = u64::from(blocks) * tree.block;
            let from = if blocks == 1 { input(0, bytes) } else { scratch(0, bytes) };
            steps.push(Step::Send { to: subtract(member.rank, mask, tree.size), from });
        } else if mask < tree.size - position {
            self.receive(position, member.rank, mask, steps);
        }
        if round == 0 {
            self.own(position, member.rank, steps);
        }
    }
    fn scratch(&self, member: &Member) -> u64 {
        self.0.scratch(member.rank)
    }
    fn active(&self, round: u32) -> Option<Active> {
        self.0.active(1 << round)
    }
}

/// Before its first round the root puts the one subtree that wraps around into one piece.
// The root's first message must not wait for the copy in any other way than by a round before it.
struct BinomialScatter {
    tree: Binomial,
    prepare: u32,
}

pub(super) fn binomial_scatter(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    let tree = Binomial::new(shape);
    let prepare = u32::from(tree.wrapping_child().is_some());
    Rc::new(BinomialScatter { tree, prepare })
}

impl BinomialScatter {
    fn mask(&self, round: u32) -> u32 {
        1 << (self.rounds() - 1 - round)
    }
    fn send(&self, position: u32, mask: u32) -> Slice {
        let child = position + mask;
        let blocks = self.tree.blocks(child, mask);
        let bytes = u64::from(blocks) * self.tree.block;
        if position > 0 {
            scratch(u64::from(mask) * self.tree.block, bytes)
        } else if let Some((offset, bytes)) = self.tree.in_order(child, blocks) {
            input(offset, bytes)
        } else {
            scratch(0, bytes)
        }
    }
    /// Copies the root's own block.
    fn own(&self, position: u32, steps: &mut Vec<Step>) {
        if position == 0 {
            let (root, block) = (u64::from(self.tree.root), self.tree.block);
            copy(input(root * block, block), output(0, block), steps);
        }
    }
    fn receive(&self, rank: u32, position: u32, mask: u32, steps: &mut Vec<Step>) {
        let (block, blocks) = (self.tree.block, self.tree.blocks(position, mask));
        let bytes = u64::from(blocks) * block;
        let into = if blocks == 1 { output(0, bytes) } else { scratch(0, bytes) };
        steps.push(Step::Receive { from: subtract(rank, mask, self.tree.size), into });
        if blocks > 1 {
            copy(scratch(0, block), output(0, block), steps);
        }
    }
}

impl Schedule for BinomialScatter {
    fn name(&self) -> &'static str {
        "binomial"
    }
    fn rounds(&self) -> u32 {
        self.prepare + ceil_log2(self.tree.size)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let tree = &self.tree;
        let position = subtract(member.rank, tree.root, tree.size);
        if round < self.prepare {
            self.own(position, steps);
            if let (0, Some((child, blocks))) = (position, tree.wrapping_child()) {
                for (at_root, in_subtree, bytes) in tree.wrapped(child, blocks) {
                    copy(input(at_root, bytes), scratch(in_subtree, bytes), steps);
                }
            }
            return;
        }
        let mask = self.mask(round);
        if position & (mask - 1) != 0 {
            return;
        }
        if position & mask != 0 {
            self.receive(member.rank, position, mask, steps);
        } else if mask < tree.size - position {
            steps.push(Step::Send { to: add(member.rank, mask, tree.size), from: self.send(position, mask) });
        }
        if round == 0 {
            self.own(position, steps);
        }
    }
    fn scratch(&self, member: &Member) -> u64 {
        self.tree.scratch(member.rank)
    }
    fn active(&self, round: u32) -> Option<Active> {
        if round < self.prepare {
            return Some(Active { first: self.tree.root, stride: 1, count: 1 });
        }
        self.tree.active(self.mask(round))
    }
}

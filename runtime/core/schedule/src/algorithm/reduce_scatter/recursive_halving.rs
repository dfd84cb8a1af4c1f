//! Recursive halving with distance halving: blocks stay in order, operands do not (MPICH; Thakur et al. 2005,
//! section 4.2).

use std::rc::Rc;

use super::super::parameters::Parameters;
use super::super::parts::{Fold, copy, input, output, part, reduce, scratch};
use super::block::block;
use crate::{Active, Member, Schedule, Shape, Slice, Step};

/// A position of a pair collects the blocks of both.
struct RecursiveHalving {
    fold: Fold,
    size: u32,
}

pub(in super::super) fn recursive_halving(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(RecursiveHalving { fold: Fold::new(shape.size), size: shape.size })
}

impl RecursiveHalving {
    /// Returns the blocks of positions `first..first + width`, in `whole`.
    fn cut(&self, member: &Member, whole: Slice, first: u32, width: u32) -> Slice {
        let start = |position: u32| position + position.min(self.fold.folded);
        let offset = member.send.offset(start(first));
        part(whole, offset, member.send.offset(start(first + width)) - offset)
    }

    fn exchange(&self, member: &Member, position: u32, level: u32, steps: &mut Vec<Step>) {
        let total = member.send.offset(self.size);
        let (own, partial) = (input(0, total), scratch(0, total));
        // The greatest distance first: what is kept is then always one range of blocks, and the result needs
        // no reordering.
        let mask = self.fold.among >> (level + 1);
        let other = position ^ mask;
        let to = self.fold.member(other);
        let first = level == 0 && self.fold.pair(member.rank).is_none();
        let source = if first { own } else { partial };
        let keeps = position & !(mask - 1);
        let kept = self.cut(member, partial, keeps, mask);
        let into = if first { kept } else { scratch(total, kept.bytes) };
        steps.push(Step::Send { to, from: self.cut(member, source, other & !(mask - 1), mask) });
        steps.push(Step::Receive { from: to, into });
        if first {
            reduce(true, self.cut(member, own, keeps, mask), kept, steps);
        } else {
            reduce(false, into, kept, steps);
        }
        if mask == 1 {
            let (offset, bytes) = (member.send.offset(member.rank), member.send.bytes(member.rank));
            copy(scratch(offset, bytes), output(0, bytes), steps);
        }
    }

    fn fringe(&self, member: &Member, before: bool, steps: &mut Vec<Step>) {
        let Some(pair) = self.fold.pair(member.rank) else { return };
        let total = member.send.offset(self.size);
        let (own, partial) = (input(0, total), scratch(0, total));
        match (before, self.fold.position(member.rank).is_some()) {
            (true, true) => {
                steps.push(Step::Receive { from: pair, into: partial });
                reduce(member.rank < pair, own, partial, steps);
            }
            (true, false) => steps.push(Step::Send { to: pair, from: own }),
            (false, true) => {
                let (offset, bytes) = (member.send.offset(pair), member.send.bytes(pair));
                steps.push(Step::Send { to: pair, from: scratch(offset, bytes) });
            }
            (false, false) => {
                let bytes = block(member, member.rank).bytes;
                steps.push(Step::Receive { from: pair, into: output(0, bytes) });
            }
        }
    }
}

impl Schedule for RecursiveHalving {
    fn name(&self) -> &'static str {
        "recursive-halving"
    }
    fn rounds(&self) -> u32 {
        self.fold.exchanges() + 2 * self.fold.fringe()
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let level = round.wrapping_sub(self.fold.fringe());
        if level >= self.fold.exchanges() {
            self.fringe(member, round == 0, steps);
        } else if let Some(position) = self.fold.position(member.rank) {
            self.exchange(member, position, level, steps);
        }
    }
    fn scratch(&self, member: &Member) -> u64 {
        2 * member.send.offset(self.size)
    }
    fn active(&self, round: u32) -> Option<Active> {
        let level = round.wrapping_sub(self.fold.fringe());
        (level >= self.fold.exchanges()).then_some(Active {
            first: 0,
            stride: 1,
            count: 2 * self.fold.folded,
        })
    }
}

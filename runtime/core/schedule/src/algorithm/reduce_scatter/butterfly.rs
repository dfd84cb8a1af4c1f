//! Recursive halving with distance doubling, which keeps the order of the operands: Open MPI's butterfly
//! (Träff, EuroPVM/MPI
//! 2005) and, for equal blocks and a power of two, MPICH's variant that permutes the blocks first.

use std::rc::Rc;

use super::super::halving::{HalvingRanges, exchange, kept};
use super::super::parameters::Parameters;
use super::super::parts::{Fold, copy, input, output, part, reduce, scratch};
use super::block::block;
use crate::{Active, Member, Schedule, Shape, Slice, Step};

/// Position `v` ends with the piece of position `v` with its bits reversed. Either a last round sends it
/// there, or the pieces were put into reversed order before the first one.
struct Butterfly {
    fold: Fold,
    size: u32,
    permuted: bool,
}

pub(in super::super) fn butterfly(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    let permuted = shape.size.is_power_of_two() && !shape.irregular;
    Rc::new(Butterfly { fold: Fold::new(shape.size), size: shape.size, permuted })
}

impl Butterfly {
    fn reversed(&self, position: u32) -> u32 {
        kept(self.fold.among, position, self.fold.exchanges()).0
    }

    /// The blocks of positions `first..end`, which are those of members `start(first)..start(end)`.
    // A position that stands for a pair has the blocks of both: pieces are those of members, and never cut
    // one.
    fn cut(&self, member: &Member, whole: Slice, (first, end): (u32, u32)) -> Slice {
        let start = |position: u32| position + position.min(self.fold.folded);
        let offset = member.send.offset(start(first));
        part(whole, offset, member.send.offset(start(end)) - offset)
    }

    // A copy of the whole vector in each member's own memory, instead of a last round in which every block
    // crosses the network once more.
    fn permute(&self, member: &Member, steps: &mut Vec<Step>) {
        for index in 0..self.size {
            let from = block(member, self.reversed(index));
            copy(from, scratch(member.send.offset(index), from.bytes), steps);
        }
    }

    fn exchange(&self, member: &Member, position: u32, level: u32, steps: &mut Vec<Step>) {
        let total = member.send.offset(self.size);
        let first = level == 0 && self.fold.pair(member.rank).is_none() && !self.permuted;
        let data = HalvingRanges {
            own: first.then_some(input(0, total)),
            partial: scratch(0, total),
            waiting: scratch(total, total),
        };
        exchange(&self.fold, position, level, &data, |whole, pieces| self.cut(member, whole, pieces), steps);
        if self.permuted && level + 1 == self.fold.exchanges() {
            let bytes = member.send.bytes(member.rank);
            copy(scratch(member.send.offset(self.reversed(position)), bytes), output(0, bytes), steps);
        }
    }

    fn before(&self, member: &Member, steps: &mut Vec<Step>) {
        let Some(pair) = self.fold.pair(member.rank) else { return };
        let total = member.send.offset(self.size);
        let (own, partial) = (input(0, total), scratch(0, total));
        if self.fold.position(member.rank).is_none() {
            steps.push(Step::Send { to: pair, from: own });
        } else {
            steps.push(Step::Receive { from: pair, into: partial });
            reduce(member.rank < pair, own, partial, steps);
        }
    }

    /// Sends every block from where it was reduced to its member.
    fn deliver(&self, member: &Member, steps: &mut Vec<Step>) {
        let result = |rank: u32| scratch(member.send.offset(rank), member.send.bytes(rank));
        if let Some(position) = self.fold.position(member.rank) {
            let owner = self.reversed(position);
            let first = owner + owner.min(self.fold.folded);
            let count = 1 + u32::from(owner < self.fold.folded);
            for to in (first..first + count).filter(|&to| to != member.rank) {
                steps.push(Step::Send { to, from: result(to) });
            }
        }
        let owner =
            if member.rank / 2 < self.fold.folded { member.rank / 2 } else { member.rank - self.fold.folded };
        let from = self.fold.member(self.reversed(owner));
        let own = output(0, member.send.bytes(member.rank));
        if from == member.rank {
            copy(result(member.rank), own, steps);
        } else {
            steps.push(Step::Receive { from, into: own });
        }
    }
}

impl Schedule for Butterfly {
    fn name(&self) -> &'static str {
        if self.permuted { "noncommutative" } else { "butterfly" }
    }
    fn rounds(&self) -> u32 {
        1 + self.fold.exchanges() + self.fold.fringe()
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let before = u32::from(self.permuted) + self.fold.fringe();
        if round < before {
            if self.permuted { self.permute(member, steps) } else { self.before(member, steps) }
        } else if round - before == self.fold.exchanges() {
            self.deliver(member, steps);
        } else if let Some(position) = self.fold.position(member.rank) {
            self.exchange(member, position, round - before, steps);
        }
    }
    // The partial result, and what arrives to be reduced into it: both whole vectors, because a piece keeps
    // its offset through all rounds; what was given away is simply not looked at again.
    fn scratch(&self, member: &Member) -> u64 {
        2 * member.send.offset(self.size)
    }
    fn active(&self, round: u32) -> Option<Active> {
        let count = 2 * self.fold.folded;
        (round < self.fold.fringe()).then_some(Active { first: 0, stride: 1, count })
    }
}

//! MPI_Reduce_scatter and MPI_Reduce_scatter_block: pairwise, ring, recursive halving, recursive doubling,
//! and one for operations that do not commute; see [`super::combined`] for reduce and scatter.

mod block;
mod butterfly;
mod recursive_halving;

use std::rc::Rc;

use super::allgather::ring;
use super::parameters::Parameters;
use super::parts::{Fold, add, copy, input, output, reduce, scratch, subtract};
use crate::{Active, Member, RoundPattern, Schedule, Shape, Step};

use block::block;

pub(super) use butterfly::butterfly;
pub(super) use recursive_halving::recursive_halving;

/// In round `k` a member sends the block of the member `k + 1` ahead and reduces what comes from `k + 1`
/// behind. The order of the operands follows the distance, so the operation must commute.
struct PairwiseReduceScatter {
    size: u32,
    uniform: Option<u64>,
}

pub(super) fn pairwise(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(PairwiseReduceScatter { size: shape.size, uniform: uniform(shape) })
}

/// Returns the bytes of every block, if they are equal.
fn uniform(shape: &Shape) -> Option<u64> {
    (!shape.irregular).then(|| shape.bytes / u64::from(shape.size))
}

impl Schedule for PairwiseReduceScatter {
    fn name(&self) -> &'static str {
        "pairwise"
    }
    fn rounds(&self) -> u32 {
        self.size - 1
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let to = add(member.rank, round + 1, self.size);
        let own = block(member, member.rank);
        let result = output(0, own.bytes);
        let into = if round == 0 { result } else { scratch(0, own.bytes) };
        steps.push(Step::Send { to, from: block(member, to) });
        steps.push(Step::Receive { from: subtract(member.rank, round + 1, self.size), into });
        if round == 0 {
            reduce(true, own, result, steps);
        } else {
            reduce(false, into, result, steps);
        }
    }
    fn scratch(&self, member: &Member) -> u64 {
        member.send.bytes(member.rank)
    }
    fn pattern(&self, round: u32) -> Option<RoundPattern> {
        self.uniform.map(|bytes| RoundPattern::Shift { distance: round + 1, bytes })
    }
}

/// Partial blocks travel round a ring; each member adds its part. The operation must commute.
struct RingReduceScatter {
    size: u32,
    uniform: Option<u64>,
}

pub(super) fn ring_schedule(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(RingReduceScatter { size: shape.size, uniform: uniform(shape) })
}

impl Schedule for RingReduceScatter {
    fn name(&self) -> &'static str {
        "ring"
    }
    fn rounds(&self) -> u32 {
        self.size - 1
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        // A block starts at the member after its owner and ends at its owner.
        // One place back, so that after all rounds the piece that arrives last is the member's own.
        let (_, sent, _, received) = ring(subtract(member.rank, 1, self.size), self.size, round);
        let (to, _, from, _) = ring(member.rank, self.size, 0);
        let (own, bytes) = (block(member, received), member.send.bytes(sent));
        let last = round + 1 == self.rounds();
        let into = if last { output(0, own.bytes) } else { scratch(0, own.bytes) };
        steps.push(Step::Send { to, from: if round == 0 { block(member, sent) } else { scratch(0, bytes) } });
        steps.push(Step::Receive { from, into });
        reduce(false, own, into, steps);
    }
    fn scratch(&self, member: &Member) -> u64 {
        (0..self.size).map(|index| member.send.bytes(index)).max().unwrap_or(0)
    }
    fn pattern(&self, _: u32) -> Option<RoundPattern> {
        self.uniform.map(|bytes| RoundPattern::Shift { distance: 1, bytes })
    }
}

/// Recursive doubling of the whole contribution, of which each member keeps its block. Keeps order.
struct DoublingReduceScatter {
    fold: Fold,
    size: u32,
    uniform: Option<u64>,
}

pub(super) fn recursive_doubling(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(DoublingReduceScatter { fold: Fold::new(shape.size), size: shape.size, uniform: uniform(shape) })
}

impl DoublingReduceScatter {
    fn fringe(&self, member: &Member, before: bool, steps: &mut Vec<Step>) {
        let Some(pair) = self.fold.pair(member.rank) else { return };
        let total = member.send.offset(self.size);
        let (own, whole) = (input(0, total), scratch(0, total));
        let keeps = |rank: u32| (member.send.offset(rank), member.send.bytes(rank));
        match (before, self.fold.position(member.rank).is_some()) {
            (true, true) => {
                steps.push(Step::Receive { from: pair, into: whole });
                reduce(member.rank < pair, own, whole, steps);
            }
            (true, false) => steps.push(Step::Send { to: pair, from: own }),
            (false, true) => steps.push(Step::Send { to: pair, from: scratch(keeps(pair).0, keeps(pair).1) }),
            (false, false) => steps.push(Step::Receive { from: pair, into: output(0, keeps(member.rank).1) }),
        }
    }
}

impl Schedule for DoublingReduceScatter {
    fn name(&self) -> &'static str {
        "recursive-doubling"
    }
    fn rounds(&self) -> u32 {
        self.fold.exchanges() + 2 * self.fold.fringe()
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let level = round.wrapping_sub(self.fold.fringe());
        if level >= self.fold.exchanges() {
            return self.fringe(member, round == 0, steps);
        }
        let Some(position) = self.fold.position(member.rank) else { return };
        let total = member.send.offset(self.size);
        let (own, whole) = (input(0, total), scratch(0, total));
        let other = position ^ (1 << level);
        let first = level == 0 && self.fold.pair(member.rank).is_none();
        let into = if first { whole } else { scratch(total, total) };
        steps.push(Step::Send { to: self.fold.member(other), from: if first { own } else { whole } });
        steps.push(Step::Receive { from: self.fold.member(other), into });
        if first {
            reduce(position < other, own, whole, steps);
        } else {
            reduce(other < position, into, whole, steps);
        }
        // The result of all blocks is there; each keeps its own and drops the rest, which is the price of so
        // few rounds.
        if level + 1 == self.fold.exchanges() {
            let (offset, bytes) = (member.send.offset(member.rank), member.send.bytes(member.rank));
            copy(scratch(offset, bytes), output(0, bytes), steps);
        }
    }
    fn scratch(&self, member: &Member) -> u64 {
        2 * member.send.offset(self.size)
    }
    fn pattern(&self, round: u32) -> Option<RoundPattern> {
        let level = round.wrapping_sub(self.fold.fringe());
        let bytes = self.uniform? * u64::from(self.size);
        let (among, folded) = (self.fold.among, self.fold.folded);
        (level < self.fold.exchanges()).then(|| RoundPattern::Exchange {
            mask: 1 << level,
            among,
            folded,
            bytes,
        })
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

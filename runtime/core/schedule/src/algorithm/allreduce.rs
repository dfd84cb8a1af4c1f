//! MPI_Allreduce: recursive doubling, Rabenseifner, ring; see [`super::combined`] for reduce and broadcast.

use std::rc::Rc;

use super::allgather::ring;
use super::halving::{Halving, HalvingRanges};
use super::parameters::Parameters;
use super::parts::{Fold, Pieces, input, output, reduce, scratch};
use crate::{Active, Association, Member, RoundPattern, Schedule, Shape, Step};

#[derive(Clone, Copy, PartialEq, Eq)]
enum AllreduceAlgorithm {
    Doubling,
    Rabenseifner,
}

/// Both begin with a fold to a power of two and end with its undoing.
// Both are the same but for the rounds between: what stands aside beyond a power of two does so alike.
struct FoldedAllreduce {
    way: AllreduceAlgorithm,
    bytes: u64,
    halving: Halving,
}

fn build(way: AllreduceAlgorithm, shape: &Shape) -> Rc<dyn Schedule> {
    let halving = Halving::new(Fold::new(shape.size), shape.bytes, shape.element);
    Rc::new(FoldedAllreduce { way, bytes: shape.bytes, halving })
}

/// Pairs at distance 1, 2, 4, ... exchange whole messages.
pub(super) fn recursive_doubling(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    build(AllreduceAlgorithm::Doubling, shape)
}

/// Builds a reduce-scatter by recursive halving, then an allgather by recursive doubling (Rabenseifner;
/// Thakur et al. 2005).
pub(super) fn rabenseifner(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    build(AllreduceAlgorithm::Rabenseifner, shape)
}

impl FoldedAllreduce {
    fn exchanges(&self) -> u32 {
        let exchanges = self.halving.fold.exchanges();
        if self.way == AllreduceAlgorithm::Doubling { exchanges } else { 2 * exchanges }
    }

    fn double(&self, rank: u32, position: u32, level: u32, steps: &mut Vec<Step>) {
        let fold = &self.halving.fold;
        let other = position ^ (1 << level);
        let (own, whole) = (input(0, self.bytes), output(0, self.bytes));
        // Then nothing is reduced yet and the partner's message can land where the result will be: a copy of
        // the own contribution is saved.
        let first = level == 0 && fold.pair(rank).is_none();
        let into = if first { whole } else { scratch(0, self.bytes) };
        steps.push(Step::Send { to: fold.member(other), from: if first { own } else { whole } });
        steps.push(Step::Receive { from: fold.member(other), into });
        if first {
            reduce(position < other, own, whole, steps);
        } else {
            reduce(other < position, into, whole, steps);
        }
    }

    fn gather(&self, position: u32, level: u32, steps: &mut Vec<Step>) {
        let other = position ^ (1 << level);
        let whole = output(0, self.bytes);
        let to = self.halving.fold.member(other);
        steps.push(Step::Send { to, from: self.halving.kept(whole, position, level + 1) });
        steps.push(Step::Receive { from: to, into: self.halving.kept(whole, other, level + 1) });
    }

    /// Adds the steps of a pair: the even one hands over before (`before`) and gets the result after.
    fn fringe(&self, rank: u32, before: bool, steps: &mut Vec<Step>) {
        let Some(pair) = self.halving.fold.pair(rank) else { return };
        let (own, whole) = (input(0, self.bytes), output(0, self.bytes));
        let remains = self.halving.fold.position(rank).is_some();
        match (before, remains) {
            (true, true) => {
                steps.push(Step::Receive { from: pair, into: whole });
                reduce(rank < pair, own, whole, steps);
            }
            (true, false) => steps.push(Step::Send { to: pair, from: own }),
            (false, true) => steps.push(Step::Send { to: pair, from: whole }),
            (false, false) => steps.push(Step::Receive { from: pair, into: whole }),
        }
    }
}

impl Schedule for FoldedAllreduce {
    fn name(&self) -> &'static str {
        if self.way == AllreduceAlgorithm::Doubling { "recursive-doubling" } else { "rabenseifner" }
    }
    fn rounds(&self) -> u32 {
        self.exchanges() + 2 * self.halving.fold.fringe()
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let fold = &self.halving.fold;
        let exchange = round.wrapping_sub(fold.fringe());
        if exchange >= self.exchanges() {
            return self.fringe(member.rank, round == 0, steps);
        }
        let Some(position) = fold.position(member.rank) else { return };
        if self.way == AllreduceAlgorithm::Doubling {
            self.double(member.rank, position, exchange, steps);
        } else if exchange < fold.exchanges() {
            let own = self.halving.is_first(member.rank, exchange).then_some(input(0, self.bytes));
            let data = HalvingRanges { own, partial: output(0, self.bytes), waiting: scratch(0, self.bytes) };
            self.halving.exchange(position, exchange, &data, steps);
        } else {
            self.gather(position, 2 * fold.exchanges() - 1 - exchange, steps);
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        self.bytes
    }
    fn pattern(&self, round: u32) -> Option<RoundPattern> {
        let fold = &self.halving.fold;
        let exchange = round.wrapping_sub(fold.fringe());
        if exchange >= self.exchanges() {
            return Some(RoundPattern::Pairs { pairs: fold.folded, up: round == 0, bytes: self.bytes });
        }
        let (level, bytes) = if self.way == AllreduceAlgorithm::Doubling {
            (exchange, self.bytes)
        } else {
            let level =
                if exchange < fold.exchanges() { exchange } else { 2 * fold.exchanges() - 1 - exchange };
            let whole = input(0, self.bytes);
            let half = self.halving.kept(whole, 0, level + 1).bytes;
            // Pieces that differ by an element are no pattern.
            if half << (level + 1) != self.bytes {
                return None;
            }
            (level, half)
        };
        Some(RoundPattern::Exchange { mask: 1 << level, among: fold.among, folded: fold.folded, bytes })
    }
    fn association(&self) -> Option<Association> {
        let Fold { among, folded, .. } = self.halving.fold;
        (self.way == AllreduceAlgorithm::Doubling).then_some(Association::Pairs { among, folded })
    }
    fn active(&self, round: u32) -> Option<Active> {
        let fold = &self.halving.fold;
        let exchange = round.wrapping_sub(fold.fringe());
        (exchange >= self.exchanges()).then_some(Active { first: 0, stride: 1, count: 2 * fold.folded })
    }
}

/// Pieces travel round the ring twice: once to be reduced, once to be known (Patarasuk and Yuan, JPDC 2009).
/// The order of the operands follows the ring, so the operation must commute.
struct RingAllreduce {
    size: u32,
    bytes: u64,
    pieces: Pieces,
}

pub(super) fn ring_schedule(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    let pieces = Pieces::new(shape.bytes, shape.size, shape.element);
    Rc::new(RingAllreduce { size: shape.size, bytes: shape.bytes, pieces })
}

impl Schedule for RingAllreduce {
    fn name(&self) -> &'static str {
        "ring"
    }
    fn rounds(&self) -> u32 {
        2 * (self.size - 1)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let (own, whole) = (input(0, self.bytes), output(0, self.bytes));
        // The first turn leaves each piece complete at the member before the one where it began: the second
        // begins there.
        let gather = round >= self.size - 1;
        // The piece that begins at this member ends, reduced, at the one before it, where the second turn
        // begins.
        let position = if gather { super::parts::add(member.rank, 1, self.size) } else { member.rank };
        let (_, sent, _, received) =
            ring(position, self.size, if gather { round - (self.size - 1) } else { round });
        let (to, _, from, _) = ring(member.rank, self.size, 0);
        let source = if round == 0 { own } else { whole };
        let into = self.pieces.slice(whole, received, received + 1);
        steps.push(Step::Send { to, from: self.pieces.slice(source, sent, sent + 1) });
        steps.push(Step::Receive { from, into });
        if !gather {
            reduce(false, self.pieces.slice(own, received, received + 1), into, steps);
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
    fn pattern(&self, _: u32) -> Option<RoundPattern> {
        let bytes = self.pieces.bytes(0, 1);
        (bytes * u64::from(self.size) == self.bytes).then_some(RoundPattern::Shift { distance: 1, bytes })
    }
}

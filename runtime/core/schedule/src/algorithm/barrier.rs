//! MPI_Barrier, and the agreement of members that make a communicator.

use std::rc::Rc;

use super::parameters::Parameters;
use super::parts::{Fold, add, ceil_log2, nothing, subtract};
use crate::{Active, Kind, Member, RoundPattern, Schedule, Shape, Step};

/// In round `k` every member signals the one `2^k` ahead (Hensgen, Finkel and Manber, IJPP 1988).
struct Dissemination {
    size: u32,
    /// Bytes that each member contributes; 0 for a barrier. A message also carries the contributions that its
    /// sender has received.
    bytes: u64,
}

/// Returns what each member has to tell: nothing at a barrier.
fn told(shape: &Shape) -> u64 {
    if shape.kind == Kind::Agree { shape.bytes } else { 0 }
}

pub(super) fn dissemination(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(Dissemination { size: shape.size, bytes: told(shape) })
}

impl Dissemination {
    // In the last round fewer may be left to tell than the distance.
    fn message(&self, round: u32) -> u64 {
        let distance = 1 << round;
        self.bytes * u64::from(distance.min(self.size - distance))
    }
}

impl Schedule for Dissemination {
    fn name(&self) -> &'static str {
        "dissemination"
    }
    fn rounds(&self) -> u32 {
        ceil_log2(self.size)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let distance = 1 << round;
        // Without data: what an agreement decides is known where its members have entered, and a message has
        // but its size.
        let slice = nothing(self.message(round));
        steps.push(Step::Send { to: add(member.rank, distance, self.size), from: slice });
        steps.push(Step::Receive { from: subtract(member.rank, distance, self.size), into: slice });
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
    fn pattern(&self, round: u32) -> Option<RoundPattern> {
        Some(RoundPattern::Shift { distance: 1 << round, bytes: self.message(round) })
    }
}

/// Pairs at distance 1, 2, 4, ... exchange; beyond a power of two members fold.
struct RecursiveDoubling {
    fold: Fold,
    /// Bytes that each member contributes. A message also carries the contributions that its sender has
    /// received.
    bytes: u64,
    size: u32,
}

pub(super) fn recursive_doubling(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(RecursiveDoubling { fold: Fold::new(shape.size), bytes: told(shape), size: shape.size })
}

impl RecursiveDoubling {
    /// Returns what position `position` knows before the exchange at `mask`: all of the members behind `mask`
    /// positions.
    fn known(&self, position: u32, mask: u32) -> u64 {
        let first = position & !(mask - 1);
        // A position that stands for a pair tells for two.
        let pairs = self.fold.folded.clamp(first, first + mask) - first;
        self.bytes * u64::from(mask + pairs)
    }
}

impl Schedule for RecursiveDoubling {
    fn name(&self) -> &'static str {
        "recursive-doubling"
    }
    fn rounds(&self) -> u32 {
        self.fold.exchanges() + 2 * self.fold.fringe()
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let position = self.fold.position(member.rank);
        let exchange = round.wrapping_sub(self.fold.fringe());
        if exchange < self.fold.exchanges() {
            let Some(position) = position else { return };
            let mask = 1 << exchange;
            let other = self.fold.member(position ^ mask);
            steps.push(Step::Send { to: other, from: nothing(self.known(position, mask)) });
            steps.push(Step::Receive { from: other, into: nothing(self.known(position ^ mask, mask)) });
            return;
        }
        let Some(pair) = self.fold.pair(member.rank) else { return };
        let before = round == 0;
        let slice = nothing(self.bytes * if before { 1 } else { u64::from(self.size) });
        steps.push(if position.is_some() == before {
            Step::Receive { from: pair, into: slice }
        } else {
            Step::Send { to: pair, from: slice }
        });
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
    fn pattern(&self, round: u32) -> Option<RoundPattern> {
        let exchange = round.wrapping_sub(self.fold.fringe());
        // Otherwise positions tell different amounts, which no pattern can say.
        let even = self.fold.folded == 0 || self.bytes == 0;
        (exchange < self.fold.exchanges() && even).then(|| RoundPattern::Exchange {
            mask: 1 << exchange,
            among: self.fold.among,
            folded: self.fold.folded,
            bytes: self.bytes << exchange,
        })
    }
    fn active(&self, round: u32) -> Option<Active> {
        let exchange = round.wrapping_sub(self.fold.fringe());
        (exchange >= self.fold.exchanges()).then_some(Active {
            first: 0,
            stride: 1,
            count: 2 * self.fold.folded,
        })
    }
}

/// All signal member 0, which signals all.
struct LinearBarrier {
    size: u32,
}

pub(super) fn linear(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(LinearBarrier { size: shape.size })
}

impl Schedule for LinearBarrier {
    fn name(&self) -> &'static str {
        "linear"
    }
    fn rounds(&self) -> u32 {
        2
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let slice = nothing(0);
        match (member.rank, round) {
            (0, 0) => steps.extend((1..self.size).map(|from| Step::Receive { from, into: slice })),
            (0, _) => steps.extend((1..self.size).map(|to| Step::Send { to, from: slice })),
            (_, 0) => steps.push(Step::Send { to: 0, from: slice }),
            _ => steps.push(Step::Receive { from: 0, into: slice }),
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
}

/// Up a binomial tree to member 0 and down again.
struct TreeBarrier {
    size: u32,
}

pub(super) fn tree(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(TreeBarrier { size: shape.size })
}

impl TreeBarrier {
    /// Returns the distance between the partners of a round, and whether it goes up.
    fn mask(&self, round: u32) -> (u32, bool) {
        let up = ceil_log2(self.size);
        if round < up { (1 << round, true) } else { (1 << (2 * up - 1 - round), false) }
    }
}

impl Schedule for TreeBarrier {
    fn name(&self) -> &'static str {
        "tree"
    }
    fn rounds(&self) -> u32 {
        2 * ceil_log2(self.size)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let (mask, up) = self.mask(round);
        let other = member.rank ^ mask;
        if member.rank & (mask - 1) != 0 || other >= self.size {
            return;
        }
        let child = member.rank & mask != 0;
        steps.push(if child == up {
            Step::Send { to: other, from: nothing(0) }
        } else {
            Step::Receive { from: other, into: nothing(0) }
        });
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
    fn active(&self, round: u32) -> Option<Active> {
        let (mask, _) = self.mask(round);
        Some(Active { first: 0, stride: mask, count: self.size.div_ceil(mask) })
    }
}

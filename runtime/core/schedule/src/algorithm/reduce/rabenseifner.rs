//! Reduction of long messages: reduce-scatter by recursive halving, then gather (Rabenseifner; Thakur,
//! Rabenseifner and Gropp, IJHPCA 2005, section 4.4).

use std::rc::Rc;

use super::super::halving::{Halving, HalvingRanges};
use super::super::parameters::Parameters;
use super::super::parts::{Fold, input, output, reduce, scratch};
use crate::{Active, Member, Schedule, Shape, Slice, Step};

/// Rabenseifner's reduction. In the fold the root remains from its pair, so that it takes part in the gather
/// itself.
struct Rabenseifner {
    root: u32,
    bytes: u64,
    halving: Halving,
}

pub(in super::super) fn rabenseifner(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    let fold = Fold::keeping(shape.size, shape.root);
    let halving = Halving::new(fold, shape.bytes, shape.element);
    Rc::new(Rabenseifner { root: shape.root, bytes: shape.bytes, halving })
}

impl Rabenseifner {
    fn partial(&self, rank: u32) -> Slice {
        if rank == self.root { output(0, self.bytes) } else { scratch(0, self.bytes) }
    }
    /// Undoes halving `level`: later levels are undone, so the members that agree with the root in
    /// the bits above hold everything; those that agree in this bit too collect.
    // Half of those that hold something hand it over in each round: towards the root, and not to all as in an
    // allreduce.
    fn gather(&self, member: &Member, position: u32, level: u32, steps: &mut Vec<Step>) {
        let fold = &self.halving.fold;
        let root = fold.position(self.root).expect("the root remains");
        let mask = 1u32 << level;
        if (position ^ root) >> level > 1 {
            return;
        }
        let other = position ^ mask;
        let partial = self.partial(member.rank);
        if (position ^ root) & mask == 0 {
            let into = self.halving.kept(partial, other, level + 1);
            steps.push(Step::Receive { from: fold.member(other), into });
        } else {
            let from = self.halving.kept(partial, position, level + 1);
            steps.push(Step::Send { to: fold.member(other), from });
        }
    }
}

impl Schedule for Rabenseifner {
    fn name(&self) -> &'static str {
        "rabenseifner"
    }
    fn rounds(&self) -> u32 {
        let fold = &self.halving.fold;
        fold.fringe() + 2 * fold.exchanges()
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let (own, partial) = (input(0, self.bytes), self.partial(member.rank));
        let fold = &self.halving.fold;
        let position = fold.position(member.rank);
        if round < fold.fringe() {
            let Some(pair) = fold.pair(member.rank) else { return };
            if position.is_none() {
                steps.push(Step::Send { to: pair, from: own });
            } else {
                steps.push(Step::Receive { from: pair, into: partial });
                reduce(member.rank < pair, own, partial, steps);
            }
            return;
        }
        let Some(position) = position else { return };
        let level = round - fold.fringe();
        if level < fold.exchanges() {
            let own = self.halving.is_first(member.rank, level).then_some(own);
            let data = HalvingRanges { own, partial, waiting: scratch(self.bytes, self.bytes) };
            self.halving.exchange(position, level, &data, steps);
        } else {
            self.gather(member, position, 2 * fold.exchanges() - 1 - level, steps);
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        2 * self.bytes
    }
    fn active(&self, round: u32) -> Option<Active> {
        let fold = &self.halving.fold;
        (round < fold.fringe()).then_some(Active { first: 0, stride: 1, count: 2 * fold.folded })
    }
}

//! Broadcasts down a k-nomial tree in one segment.

use std::rc::Rc;

use super::super::parameters::Parameters;
use super::super::parts::{add, ceil_log2, subtract};
use super::super::trees::{Shaped, Tree};
use super::message::message;
use crate::{Active, Member, Schedule, Shape, Step};

/// Down a k-nomial tree, the binomial tree for radix 2: each member that has the message reaches one in each
/// of the `radix - 1` further parts of its range, the largest parts first.
struct Knomial {
    name: &'static str,
    size: u32,
    root: u32,
    radix: u32,
    rounds: u32,
}

pub(in super::super) fn binomial(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    let rounds = ceil_log2(shape.size);
    Rc::new(Knomial { name: "binomial", size: shape.size, root: shape.root, radix: 2, rounds })
}

/// Returns the k-nomial broadcast of a message in one segment; [`pipeline`](super::pipeline) has the
/// segmented form.
pub(super) fn unsegmented_knomial(shape: &Shape, radix: u32) -> Rc<dyn Schedule> {
    let rounds = Shaped::new(Tree::Knomial { radix }, shape.size).height();
    Rc::new(Knomial { name: "knomial", size: shape.size, root: shape.root, radix, rounds })
}

impl Knomial {
    /// Distance between the members that have the message after `round`.
    // The largest parts first: they have the longest way to go.
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

//! Linear broadcast.

use std::rc::Rc;

use super::super::parameters::Parameters;
use super::message::message;
use crate::{Member, Schedule, Shape, Step};

/// The root sends to everyone.
// All in one round, in rank order: with overheads the last member waits for all sends before its own.
struct LinearBcast {
    size: u32,
    root: u32,
}

pub(in super::super) fn linear(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(LinearBcast { size: shape.size, root: shape.root })
}

impl Schedule for LinearBcast {
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

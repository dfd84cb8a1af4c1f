//! A collective of one member, and one that moves no data: nothing to send.

use std::rc::Rc;

use super::parts::{copy, input, output};
use crate::{Kind, Member, Schedule, Shape, Step};

struct Local {
    /// One round in which a single member copies its contribution, or none.
    rounds: u32,
}

/// Returns what a collective of one member does. (Neighbourhood collectives with oneself as neighbour are not
/// this.)
pub(super) fn single(shape: &Shape) -> Rc<dyn Schedule> {
    let copies = !matches!(shape.kind, Kind::Barrier | Kind::Bcast | Kind::Exscan | Kind::Agree);
    Rc::new(Local { rounds: u32::from(copies) })
}

/// A collective whose message is empty: libraries return at once.
// No rounds, so that members that enter at different times leave at different times: nobody waits for
// nothing.
pub(super) fn empty() -> Rc<dyn Schedule> {
    Rc::new(Local { rounds: 0 })
}

impl Schedule for Local {
    fn name(&self) -> &'static str {
        "local"
    }
    fn rounds(&self) -> u32 {
        self.rounds
    }
    fn round(&self, member: &Member, _: u32, steps: &mut Vec<Step>) {
        let bytes = member.receive.bytes(0);
        copy(input(0, bytes), output(0, bytes), steps);
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
}

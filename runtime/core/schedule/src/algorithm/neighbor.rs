//! Neighbourhood collectives: everything in one round, straight to the neighbours (MPI 5.0, section 8.6).

use std::rc::Rc;

use super::parameters::Parameters;
use super::parts::{input, output};
use crate::{Direct, Member, NOBODY, Schedule, Shape, Step};

/// Messages between one pair match in the order of the neighbour lists; on a Cartesian topology what was sent
/// in one direction arrives from the other.
struct ToNeighbors {
    cartesian: bool,
}

pub(super) fn direct(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(ToNeighbors { cartesian: shape.cartesian })
}

impl Schedule for ToNeighbors {
    fn name(&self) -> &'static str {
        "direct"
    }
    fn rounds(&self) -> u32 {
        1
    }
    fn round(&self, member: &Member, _: u32, steps: &mut Vec<Step>) {
        for (index, &to) in (0..).zip(member.destinations.iter()) {
            if to != NOBODY {
                steps.push(Step::Send {
                    to,
                    from: input(member.send.offset(index), member.send.bytes(index)),
                });
            }
        }
        for index in 0..member.sources.len() as u32 {
            // Received in the order in which the other direction's messages were sent, so that two messages
            // between one pair on a ring of two do not change places.
            let index = if self.cartesian { index ^ 1 } else { index };
            let from = member.sources[index as usize];
            if from != NOBODY {
                steps.push(Step::Receive {
                    from,
                    into: output(member.receive.offset(index), member.receive.bytes(index)),
                });
            }
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
    fn direct(&self, _: u32) -> Option<Direct> {
        Some(Direct::Neighbors)
    }
}

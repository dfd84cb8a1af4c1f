//! Broadcast of long messages: scatter pieces down a binomial tree, then allgather them (van de Geijn, IPPS
//! 1994; Barnett et al., Supercomputing 1994).

use std::rc::Rc;

use super::super::allgather::{Bruck, doubling, ring};
use super::super::parameters::Parameters;
use super::super::parts::{Pieces, add, ceil_log2, copy, input, nothing, output, scratch, subtract};
use crate::{Active, Member, RoundPattern, Schedule, Shape, Slice, Step};

#[derive(Clone, Copy, PartialEq, Eq)]
enum AllgatherPhase {
    Ring,
    Doubling,
    /// In place of recursive doubling where the size is not a power of two.
    Bruck,
}

struct ScatterAllgather {
    size: u32,
    root: u32,
    bytes: u64,
    pieces: Pieces,
    allgather: AllgatherPhase,
}

fn build(shape: &Shape, allgather: AllgatherPhase) -> Rc<dyn Schedule> {
    let pieces = Pieces::new(shape.bytes, shape.size, 1);
    Rc::new(ScatterAllgather { size: shape.size, root: shape.root, bytes: shape.bytes, pieces, allgather })
}

pub(in super::super) fn scatter_ring(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    build(shape, AllgatherPhase::Ring)
}

pub(in super::super) fn scatter_doubling(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    build(shape, if shape.size.is_power_of_two() { AllgatherPhase::Doubling } else { AllgatherPhase::Bruck })
}

impl ScatterAllgather {
    fn mask(&self, round: u32) -> u32 {
        1 << (ceil_log2(self.size) - 1 - round)
    }
    fn rank(&self, position: u32) -> u32 {
        add(position, self.root, self.size)
    }
    /// Pieces `first..end` where a member sends them from.
    fn held(&self, position: u32, first: u32, end: u32) -> Slice {
        let whole = if position == 0 { input(0, self.bytes) } else { output(0, self.bytes) };
        self.pieces.slice(whole, first, end)
    }
    /// Pieces `first..end` where a member receives them: the root has them all.
    // The root takes part in the ring as the others do, and drops what it gets: as MPICH's messages go.
    fn wanted(&self, position: u32, first: u32, end: u32) -> Slice {
        if position == 0 { nothing(self.pieces.bytes(first, end)) } else { self.held(position, first, end) }
    }
    fn scatter(&self, position: u32, round: u32, steps: &mut Vec<Step>) {
        let mask = self.mask(round);
        if position & (mask - 1) != 0 {
            return;
        }
        let range = |first: u32| (first, first.saturating_add(mask).min(self.size));
        if position & mask != 0 {
            let (first, end) = range(position);
            steps.push(Step::Receive {
                from: self.rank(position - mask),
                into: self.held(position, first, end),
            });
        } else if mask < self.size - position {
            let (first, end) = range(position + mask);
            steps.push(Step::Send { to: self.rank(first), from: self.held(position, first, end) });
        }
    }
    fn bruck(&self, position: u32, round: u32, steps: &mut Vec<Step>) {
        let bruck = Bruck::new(position, self.size, round, |index| self.pieces.offset(index));
        let at_root = position == 0;
        let from = match (at_root, round) {
            (true, _) => input(0, bruck.sends),
            (false, 0) => self.held(position, position, position + 1),
            _ => scratch(0, bruck.sends),
        };
        let (offset, bytes) = bruck.receives;
        let into = if at_root { nothing(bytes) } else { scratch(offset, bytes) };
        steps.push(Step::Send { to: self.rank(bruck.to), from });
        steps.push(Step::Receive { from: self.rank(bruck.from), into });
        if at_root {
            return;
        }
        if round == 0 {
            copy(from, scratch(0, from.bytes), steps);
        }
        if bruck.last {
            bruck.unrotate(steps);
        }
    }
}

impl Schedule for ScatterAllgather {
    fn name(&self) -> &'static str {
        if self.allgather == AllgatherPhase::Ring {
            "scatter-ring-allgather"
        } else {
            "scatter-recursive-doubling-allgather"
        }
    }
    fn rounds(&self) -> u32 {
        let logarithm = ceil_log2(self.size);
        logarithm + if self.allgather == AllgatherPhase::Ring { self.size - 1 } else { logarithm }
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let position = subtract(member.rank, self.root, self.size);
        let scatter = ceil_log2(self.size);
        if round < scatter {
            return self.scatter(position, round, steps);
        }
        let round = round - scatter;
        let (to, sent, from, received) = match self.allgather {
            AllgatherPhase::Bruck => return self.bruck(position, round, steps),
            AllgatherPhase::Ring => {
                let (to, sent, from, received) = ring(position, self.size, round);
                (to, (sent, sent + 1), from, (received, received + 1))
            }
            AllgatherPhase::Doubling => {
                let (other, sent, received) = doubling(position, round);
                (other, sent, other, received)
            }
        };
        steps.push(Step::Send { to: self.rank(to), from: self.held(position, sent.0, sent.1) });
        steps.push(Step::Receive {
            from: self.rank(from),
            into: self.wanted(position, received.0, received.1),
        });
    }
    fn scratch(&self, _: &Member) -> u64 {
        if self.allgather == AllgatherPhase::Bruck { self.bytes } else { 0 }
    }
    fn pattern(&self, round: u32) -> Option<RoundPattern> {
        let round = round.checked_sub(ceil_log2(self.size))?;
        // With a remainder the last piece is shorter, and whose message that is changes from round to round:
        // then there is no pattern, and the time plane asks every member.
        let even = self.pieces.bytes(0, 1) * u64::from(self.size) == self.bytes;
        match self.allgather {
            AllgatherPhase::Ring if even => {
                Some(RoundPattern::Shift { distance: 1, bytes: self.pieces.bytes(0, 1) })
            }
            // Positions are members only then; a rotation by another root is no xor.
            AllgatherPhase::Doubling if even && self.root == 0 => Some(RoundPattern::Exchange {
                mask: 1 << round,
                among: self.size,
                folded: 0,
                bytes: self.pieces.bytes(0, 1) << round,
            }),
            _ => None,
        }
    }
    fn active(&self, round: u32) -> Option<Active> {
        (round < ceil_log2(self.size)).then(|| {
            let mask = self.mask(round);
            Active { first: self.root, stride: mask, count: self.size.div_ceil(mask) }
        })
    }
}

//! MPI_Allgather and MPI_Allgatherv: ring, recursive doubling, Bruck, neighbour exchange, linear.

use std::rc::Rc;

use super::parameters::Parameters;
use super::parts::{add, ceil_log2, copy, input, output, scratch, subtract};
use crate::{Member, RoundPattern, Schedule, Shape, Slice, Step};

/// Returns a ring's round: to whom and which block, from whom and which block.
#[inline]
pub(super) fn ring(position: u32, size: u32, round: u32) -> (u32, u32, u32, u32) {
    let before = subtract(position, 1, size);
    (add(position, 1, size), subtract(position, round, size), before, subtract(before, round, size))
}

/// Returns a round of recursive doubling: the partner, the blocks sent and those received (first, end).
#[inline]
pub(super) fn doubling(position: u32, round: u32) -> (u32, (u32, u32), (u32, u32)) {
    let mask = 1 << round;
    let other = position ^ mask;
    let range = |position: u32| (position & !(mask - 1), (position & !(mask - 1)) + mask);
    (other, range(position), range(other))
}

/// A round of Bruck's allgather (Bruck et al., IEEE TPDS 1997): what is known, the own block first, goes
/// `2^round` back.
// Rotated, so that what a member knows always begins with its own block and grows at the end: one contiguous
// message a round.
pub(super) struct Bruck {
    /// To whom.
    pub(super) to: u32,
    /// From whom.
    pub(super) from: u32,
    /// Bytes that are sent, from the start of the rotated blocks on.
    pub(super) sends: u64,
    /// The offset of the received bytes in the rotated blocks, and their number.
    pub(super) receives: (u64, u64),
    /// `true` if this is the last round.
    pub(super) last: bool,
    /// Bytes of the blocks before the own one, and of all.
    before: u64,
    total: u64,
}

impl Bruck {
    /// Makes a round of Bruck's. `offset(i)` is where block `i` begins; `offset(size)` is the total.
    pub(super) fn new(position: u32, size: u32, round: u32, offset: impl Fn(u32) -> u64) -> Bruck {
        let distance = 1 << round;
        let count = distance.min(size - distance);
        let (before, total) = (offset(position), offset(size));
        let rotated = |index: u32| {
            let end = u64::from(position) + u64::from(index);
            if end <= u64::from(size) {
                offset(end as u32) - before
            } else {
                total - before + offset((end - u64::from(size)) as u32)
            }
        };
        Bruck {
            to: subtract(position, distance, size),
            from: add(position, distance, size),
            sends: rotated(count),
            receives: (rotated(distance), rotated(distance + count) - rotated(distance)),
            last: distance >= size.div_ceil(2),
            before,
            total,
        }
    }
    /// Copies the rotated blocks from `Scratch` to their places in `Output`.
    pub(super) fn unrotate(&self, steps: &mut Vec<Step>) {
        let behind = self.total - self.before;
        copy(scratch(0, behind), output(self.before, behind), steps);
        copy(scratch(behind, self.before), output(0, self.before), steps);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AllgatherAlgorithm {
    Ring,
    Doubling,
    Bruck,
    Neighbor,
    Linear,
}

struct Allgather {
    way: AllgatherAlgorithm,
    size: u32,
    /// Bytes of every block, if they are equal.
    uniform: Option<u64>,
}

fn build(way: AllgatherAlgorithm, shape: &Shape) -> Rc<dyn Schedule> {
    Rc::new(Allgather { way, size: shape.size, uniform: (!shape.irregular).then_some(shape.bytes) })
}

pub(super) fn ring_schedule(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    build(AllgatherAlgorithm::Ring, shape)
}

pub(super) fn bruck(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    build(AllgatherAlgorithm::Bruck, shape)
}

/// Builds recursive doubling, or Bruck's where the size is not a power of two, as in Open MPI.
pub(super) fn recursive_doubling(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    build(
        if shape.size.is_power_of_two() { AllgatherAlgorithm::Doubling } else { AllgatherAlgorithm::Bruck },
        shape,
    )
}

/// Builds a neighbour exchange; a ring where the size is odd, as in Open MPI.
pub(super) fn neighbor_exchange(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    build(
        if shape.size.is_multiple_of(2) { AllgatherAlgorithm::Neighbor } else { AllgatherAlgorithm::Ring },
        shape,
    )
}

pub(super) fn linear(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    build(AllgatherAlgorithm::Linear, shape)
}

/// Blocks `first..end` of `Output`.
fn blocks(member: &Member, first: u32, end: u32) -> Slice {
    let offset = member.receive.offset(first);
    output(offset, member.receive.offset(end) - offset)
}

fn own(member: &Member) -> Slice {
    input(0, member.receive.bytes(member.rank))
}

impl Allgather {
    fn bruck_round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let bruck = Bruck::new(member.rank, self.size, round, |index| member.receive.offset(index));
        // Sends happen before local steps: in round 0 the rotated blocks are not there yet.
        let from = if round == 0 { own(member) } else { scratch(0, bruck.sends) };
        steps.push(Step::Send { to: bruck.to, from });
        steps.push(Step::Receive { from: bruck.from, into: scratch(bruck.receives.0, bruck.receives.1) });
        if round == 0 {
            copy(from, scratch(0, from.bytes), steps);
        }
        if bruck.last {
            bruck.unrotate(steps);
        }
    }

    /// Exchanges even members with the next and the previous one alternately, two blocks at a time after the
    /// first round (Chen et al., HPC Asia 2005).
    fn neighbor_round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let (rank, size) = (member.rank, self.size);
        let forward = rank.is_multiple_of(2) == round.is_multiple_of(2);
        let other = if forward { add(rank, 1, size) } else { subtract(rank, 1, size) };
        if round == 0 {
            steps.push(Step::Send { to: other, from: own(member) });
            steps.push(Step::Receive { from: other, into: blocks(member, other, other + 1) });
            return;
        }
        let sent = Self::newest_pair(rank, round - 1, size);
        let received = Self::newest_pair(other, round - 1, size);
        steps.push(Step::Send { to: other, from: blocks(member, sent, sent + 2) });
        steps.push(Step::Receive { from: other, into: blocks(member, received, received + 2) });
    }

    /// The first of the two blocks that `rank` got in `round`. In round 0 the pair is its own; then an even
    /// member hears from behind in odd rounds and from ahead in even ones, each time one pair further away.
    // Computed and not carried along: a round must follow from member and number alone.
    fn newest_pair(rank: u32, round: u32, size: u32) -> u32 {
        let pair = rank & !1;
        if round == 0 {
            return pair;
        }
        let behind = rank.is_multiple_of(2) != round.is_multiple_of(2);
        let distance = 2 * round.div_ceil(2);
        if behind { subtract(pair, distance, size) } else { add(pair, distance, size) }
    }

    fn linear_round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let others = 1..self.size;
        let all = blocks(member, 0, self.size);
        match (member.rank, round) {
            (0, 0) => {
                steps.extend(others.map(|from| Step::Receive { from, into: blocks(member, from, from + 1) }))
            }
            (0, _) => steps.extend(others.map(|to| Step::Send { to, from: all })),
            (_, 0) => steps.push(Step::Send { to: 0, from: own(member) }),
            _ => steps.push(Step::Receive { from: 0, into: all }),
        }
    }

    fn pair_round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let (to, sent, from, received) = if self.way == AllgatherAlgorithm::Ring {
            let (to, sent, from, received) = ring(member.rank, self.size, round);
            (to, (sent, sent + 1), from, (received, received + 1))
        } else {
            let (other, sent, received) = doubling(member.rank, round);
            (other, sent, other, received)
        };
        let from_slice = if round == 0 { own(member) } else { blocks(member, sent.0, sent.1) };
        steps.push(Step::Send { to, from: from_slice });
        steps.push(Step::Receive { from, into: blocks(member, received.0, received.1) });
    }
}

impl Schedule for Allgather {
    fn name(&self) -> &'static str {
        match self.way {
            AllgatherAlgorithm::Ring => "ring",
            AllgatherAlgorithm::Doubling => "recursive-doubling",
            AllgatherAlgorithm::Bruck => "bruck",
            AllgatherAlgorithm::Neighbor => "neighbor-exchange",
            AllgatherAlgorithm::Linear => "linear",
        }
    }
    fn rounds(&self) -> u32 {
        match self.way {
            AllgatherAlgorithm::Ring => self.size - 1,
            AllgatherAlgorithm::Doubling | AllgatherAlgorithm::Bruck => ceil_log2(self.size),
            AllgatherAlgorithm::Neighbor => self.size / 2,
            AllgatherAlgorithm::Linear => 2,
        }
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        match self.way {
            AllgatherAlgorithm::Bruck => return self.bruck_round(member, round, steps),
            AllgatherAlgorithm::Neighbor => self.neighbor_round(member, round, steps),
            AllgatherAlgorithm::Linear => self.linear_round(member, round, steps),
            AllgatherAlgorithm::Ring | AllgatherAlgorithm::Doubling => self.pair_round(member, round, steps),
        }
        if round == 0 && (self.way != AllgatherAlgorithm::Linear || member.rank == 0) {
            copy(own(member), blocks(member, member.rank, member.rank + 1), steps);
        }
    }
    fn scratch(&self, member: &Member) -> u64 {
        if self.way == AllgatherAlgorithm::Bruck { member.receive.offset(self.size) } else { 0 }
    }
    fn pattern(&self, round: u32) -> Option<RoundPattern> {
        let bytes = self.uniform?;
        let distance = 1 << round.min(31);
        match self.way {
            // Equal blocks only, since a pattern has one size for all its messages.
            AllgatherAlgorithm::Ring => Some(RoundPattern::Shift { distance: 1, bytes }),
            AllgatherAlgorithm::Doubling => Some(RoundPattern::Exchange {
                mask: distance,
                among: self.size,
                folded: 0,
                bytes: bytes << round,
            }),
            AllgatherAlgorithm::Bruck => Some(RoundPattern::Shift {
                distance: self.size - distance,
                bytes: bytes * u64::from(distance.min(self.size - distance)),
            }),
            AllgatherAlgorithm::Neighbor | AllgatherAlgorithm::Linear => None,
        }
    }
}

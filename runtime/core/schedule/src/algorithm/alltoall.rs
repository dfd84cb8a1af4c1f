//! MPI_Alltoall, v and w: linear, scattered, pairwise, Bruck.

use std::rc::Rc;

use super::parameters::Parameters;
use super::parts::{add, ceil_log2, copy, input, output, scratch, subtract};
use crate::{Direct, Member, RoundPattern, Schedule, Shape, Step};

fn send(member: &Member, to: u32) -> Step {
    Step::Send { to, from: input(member.send.offset(to), member.send.bytes(to)) }
}

fn receive(member: &Member, from: u32) -> Step {
    Step::Receive { from, into: output(member.receive.offset(from), member.receive.bytes(from)) }
}

fn own(member: &Member, steps: &mut Vec<Step>) {
    let (rank, bytes) = (member.rank, member.receive.bytes(member.rank));
    copy(input(member.send.offset(rank), bytes), output(member.receive.offset(rank), bytes), steps);
}

/// Nonblocking sends and receives, `batch` of each under way at a time; empty blocks of the v and w forms are
/// not sent.
struct Scattered {
    name: &'static str,
    size: u32,
    batch: u32,
    irregular: bool,
}

pub(super) fn linear(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(Scattered { name: "linear", size: shape.size, batch: u32::MAX, irregular: shape.irregular })
}

/// Builds MPICH's batches (MPIR_CVAR_ALLTOALL_THROTTLE: 32).
pub(super) fn scattered(shape: &Shape, parameters: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(Scattered {
        name: "scattered",
        size: shape.size,
        batch: parameters.fanout(32),
        irregular: shape.irregular,
    })
}

impl Schedule for Scattered {
    fn name(&self) -> &'static str {
        self.name
    }
    fn rounds(&self) -> u32 {
        (self.size - 1).div_ceil(self.batch)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        // By distance: in each round a member sends to as many as it receives from, and no receiver is
        // everybody's first.
        let first = round * self.batch.min(self.size) + 1;
        let distances = first..first.saturating_add(self.batch).min(self.size);
        for distance in distances.clone() {
            let to = add(member.rank, distance, self.size);
            if !(self.irregular && member.send.bytes(to) == 0) {
                steps.push(send(member, to));
            }
        }
        for distance in distances {
            let from = subtract(member.rank, distance, self.size);
            if !(self.irregular && member.receive.bytes(from) == 0) {
                steps.push(receive(member, from));
            }
        }
        if round == 0 {
            own(member, steps);
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
    fn direct(&self, round: u32) -> Option<Direct> {
        let first = round * self.batch.min(self.size) + 1;
        Some(Direct::Ahead { first, count: self.batch.min(self.size), skips_empty: self.irregular })
    }
}

/// In each round every member exchanges with one other: `rank xor round` for a power of two, else it sends
/// `round` ahead and receives from `round` behind.
struct PairwiseAlltoall {
    size: u32,
    /// Bytes of every block, if they are equal.
    uniform: Option<u64>,
}

pub(super) fn pairwise(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(PairwiseAlltoall { size: shape.size, uniform: (!shape.irregular).then_some(shape.bytes) })
}

impl Schedule for PairwiseAlltoall {
    fn name(&self) -> &'static str {
        "pairwise"
    }
    fn rounds(&self) -> u32 {
        self.size - 1
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let distance = round + 1;
        let (to, from) = if self.size.is_power_of_two() {
            (member.rank ^ distance, member.rank ^ distance)
        } else {
            (add(member.rank, distance, self.size), subtract(member.rank, distance, self.size))
        };
        steps.push(send(member, to));
        steps.push(receive(member, from));
        if round == 0 {
            own(member, steps);
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        0
    }
    fn direct(&self, round: u32) -> Option<Direct> {
        Some(if self.size.is_power_of_two() {
            Direct::Across { mask: round + 1 }
        } else {
            Direct::Ahead { first: round + 1, count: 1, skips_empty: false }
        })
    }
    fn pattern(&self, round: u32) -> Option<RoundPattern> {
        let bytes = self.uniform?;
        Some(if self.size.is_power_of_two() {
            RoundPattern::Exchange { mask: round + 1, among: self.size, folded: 0, bytes }
        } else {
            RoundPattern::Shift { distance: round + 1, bytes }
        })
    }
}

/// Blocks travel to their destination by the binary digits of the distance (Bruck et al., IEEE TPDS 1997),
/// equal blocks only. `Scratch` holds the blocks by distance, then those of one round packed.
struct BruckAlltoall {
    size: u32,
    block: u64,
}

pub(super) fn bruck(shape: &Shape, _: &Parameters) -> Rc<dyn Schedule> {
    Rc::new(BruckAlltoall { size: shape.size, block: shape.bytes })
}

impl BruckAlltoall {
    /// Calls `run(distance, packed, count)` for the runs of distances whose digit `2^digit` is set.
    // Distances with a digit set come in stretches of its width: copies of stretches and not of blocks.
    fn runs(&self, digit: u32, mut run: impl FnMut(u32, u32, u32)) {
        let width = 1u32 << digit;
        let (mut distance, mut packed) = (width, 0);
        while distance < self.size {
            let count = width.min(self.size - distance);
            run(distance, packed, count);
            packed += count;
            distance = distance.saturating_add(2 * width);
        }
    }
    fn count(&self, digit: u32) -> u32 {
        let (width, period) = (1u64 << digit, 2u64 << digit);
        let size = u64::from(self.size);
        ((size / period) * width + (size % period).saturating_sub(width)) as u32
    }
    fn bytes(&self, blocks: u32) -> u64 {
        u64::from(blocks) * self.block
    }
    fn pack(&self, digit: u32, steps: &mut Vec<Step>) {
        let area = self.bytes(self.size);
        self.runs(digit, |distance, packed, count| {
            let bytes = self.bytes(count);
            copy(scratch(self.bytes(distance), bytes), scratch(area + self.bytes(packed), bytes), steps);
        });
    }
    fn unpack(&self, digit: u32, steps: &mut Vec<Step>) {
        let area = self.bytes(self.size);
        self.runs(digit, |distance, packed, count| {
            let bytes = self.bytes(count);
            copy(scratch(area + self.bytes(packed), bytes), scratch(self.bytes(distance), bytes), steps);
        });
    }
    // A round of its own without messages: local steps come after a round's sends, and the first needs its
    // blocks packed.
    fn begin(&self, rank: u32, steps: &mut Vec<Step>) {
        let (front, behind) = (self.bytes(rank), self.bytes(self.size - rank));
        copy(input(front, behind), scratch(0, behind), steps);
        copy(input(0, front), scratch(behind, front), steps);
        self.pack(0, steps);
    }
    // Block by distance d came from the member d behind: the rotation is undone in reverse order.
    fn end(&self, rank: u32, steps: &mut Vec<Step>) {
        for distance in 0..self.size {
            let source = subtract(rank, distance, self.size);
            copy(scratch(self.bytes(distance), self.block), output(self.bytes(source), self.block), steps);
        }
    }
}

impl Schedule for BruckAlltoall {
    fn name(&self) -> &'static str {
        "bruck"
    }
    fn rounds(&self) -> u32 {
        1 + ceil_log2(self.size)
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        let Some(digit) = round.checked_sub(1) else { return self.begin(member.rank, steps) };
        let packed = scratch(self.bytes(self.size), self.bytes(self.count(digit)));
        steps.push(Step::Send { to: add(member.rank, 1 << digit, self.size), from: packed });
        steps.push(Step::Receive { from: subtract(member.rank, 1 << digit, self.size), into: packed });
        self.unpack(digit, steps);
        if round + 1 < self.rounds() {
            self.pack(round, steps);
        } else {
            self.end(member.rank, steps);
        }
    }
    fn scratch(&self, _: &Member) -> u64 {
        self.bytes(self.size + self.size.div_ceil(2))
    }
    fn pattern(&self, round: u32) -> Option<RoundPattern> {
        let digit = round.checked_sub(1)?;
        Some(RoundPattern::Shift { distance: 1 << digit, bytes: self.bytes(self.count(digit)) })
    }
}

//! For tests: schedules that mean nothing, with any messages in any rounds.

use crate::{Buffer, Member, Schedule, Slice, Step};
use proptest::prelude::*;

/// Bytes of a member's block: contribution, result, and scratch memory.
pub(crate) const BYTES: u64 = 16;

/// Rounds of messages and local steps, by round and member.
#[derive(Clone, Debug)]
pub(crate) struct RandomSchedule {
    pub(crate) size: u32,
    rounds: Vec<Vec<Vec<Step>>>,
}

impl Schedule for RandomSchedule {
    fn name(&self) -> &'static str {
        "random"
    }
    fn rounds(&self) -> u32 {
        self.rounds.len() as u32
    }
    fn round(&self, member: &Member, round: u32, steps: &mut Vec<Step>) {
        steps.extend_from_slice(&self.rounds[round as usize][member.rank as usize]);
    }
    fn scratch(&self, _: &Member) -> u64 {
        BYTES
    }
}

/// Returns a part of one of the buffers, 8 bytes at most: halves do not overlap.
fn slice(buffer: u8, half: bool, bytes: u64) -> Slice {
    let buffer = [Buffer::Input, Buffer::Output, Buffer::Scratch, Buffer::Nothing][usize::from(buffer) % 4];
    Slice { buffer, offset: 8 * u64::from(half), bytes }
}

/// `(from, to, source, target, halves, bytes)`.
type Message = (u32, u32, u8, u8, (bool, bool), u64);
/// `(member, which, buffers, half)`.
type Local = (u32, u8, bool, bool);

fn steps_of(size: u32, messages: &[Message], locals: &[Local], turn: usize) -> Vec<Vec<Step>> {
    let mut steps = vec![Vec::new(); size as usize];
    for &(from, to, source, _, halves, bytes) in messages {
        steps[(from % size) as usize]
            .push(Step::Send { to: to % size, from: slice(source, halves.0, bytes) });
    }
    let mut receives = vec![Vec::new(); size as usize];
    for &(from, to, source, target, halves, bytes) in messages {
        // Data never arrives as contribution, and what carries none is not data.
        let target = if source % 4 == 3 { 3 } else { 1 + target % 3 };
        receives[(to % size) as usize]
            .push(Step::Receive { from: from % size, into: slice(target, halves.1, bytes) });
    }
    for (steps, mut receives) in steps.iter_mut().zip(receives) {
        // In an order that differs from that of the sends, but between one pair of members.
        if !receives.is_empty() {
            let mut senders: Vec<u32> = receives
                .iter()
                .map(|step| if let Step::Receive { from, .. } = step { *from } else { 0 })
                .collect();
            senders.sort_unstable();
            let first = senders[turn % senders.len()];
            receives.sort_by_key(|step| matches!(step, Step::Receive { from, .. } if *from != first));
        }
        steps.append(&mut receives);
    }
    for &(member, which, swap, half) in locals {
        let (one, other) = (slice(1, half, 8), slice(2, !half, 8));
        let (from, into) = if swap { (other, one) } else { (one, other) };
        steps[(member % size) as usize].push(match which % 3 {
            0 => Step::ReduceLeft { from, into },
            1 => Step::ReduceRight { from, into },
            _ => Step::Copy { from, into },
        });
    }
    steps
}

/// Generates any of them, of up to 16 members.
pub(crate) fn random_schedule() -> impl Strategy<Value = RandomSchedule> {
    let message = (0u32..64, 0u32..64, any::<u8>(), any::<u8>(), any::<(bool, bool)>(), 0u64..=8);
    let local = (0u32..64, any::<u8>(), any::<bool>(), any::<bool>());
    let round =
        (proptest::collection::vec(message, 0..24), proptest::collection::vec(local, 0..12), 0usize..8);
    (1u32..16, proptest::collection::vec(round, 0..6)).prop_map(|(size, rounds)| RandomSchedule {
        size,
        rounds: rounds
            .iter()
            .map(|(messages, locals, turn)| steps_of(size, messages, locals, *turn))
            .collect(),
    })
}

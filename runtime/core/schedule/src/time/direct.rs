//! Rounds whose messages are blocks that go directly to whom they are for: who sends how much is known
//! without the steps of each member.

use super::clocks::Clocks;
use super::costs::{Burden, Costs, RoundResult};
use crate::{Direct, Members};

/// Times of messages in picoseconds; of short ones, on a network that is the same everywhere, each is asked
/// for once.
struct Latencies<'a, C> {
    costs: &'a C,
    // A network's formula costs a dozen instructions; an all-to-all asks n squared times for few different
    // lengths.
    known: Vec<u64>,
}

/// Lengths of which the time is kept.
const MAX_TABULATED_BYTES: u64 = 4096;

impl<C: Costs> Latencies<'_, C> {
    #[inline]
    fn of(&mut self, from: u32, to: u32, bytes: u64) -> u64 {
        if from != to && bytes < MAX_TABULATED_BYTES {
            if let Some(&known) = self.known.get(bytes as usize)
                && known != u64::MAX
            {
                return known;
            }
            if let Some(span) = self.costs.uniform(bytes) {
                self.known.resize(MAX_TABULATED_BYTES as usize, u64::MAX);
                self.known[bytes as usize] = span;
                return span;
            }
        }
        self.costs.latency(from, to, bytes)
    }
}

/// Advances the clocks of all members by a direct round whose blocks `members` know. O(messages), without
/// looking at a step. All leave at the clocks with which the round begins.
// By receiver: its clock is a maximum over its senders, kept in a register. Times after go into a vector of
// their own, since all leave by the clocks before.
pub(super) fn direct_round(
    direct: Direct,
    members: &impl Members,
    costs: &impl Costs,
    clocks: &mut Clocks,
    said: &mut RoundResult,
) {
    let size = clocks.len();
    let mut latencies = Latencies { costs, known: Vec::new() };
    let mut after = Vec::with_capacity(size);
    let mut sources = Vec::new();
    for to in 0..size as u32 {
        let mut clock = clocks.get(to as usize);
        let mut arrives = |from: u32, bytes: u64| {
            said.messages += 1;
            said.bytes += u128::from(bytes);
            clock = clock.max(clocks.get(from as usize) + latencies.of(from, to, bytes));
        };
        match direct {
            Direct::Ahead { first, count, skips_empty } => {
                for distance in first..first.saturating_add(count).min(size as u32) {
                    let from = if to >= distance { to - distance } else { to + size as u32 - distance };
                    let bytes = members.received(to, from);
                    if bytes != 0 || !skips_empty {
                        arrives(from, bytes);
                    }
                }
            }
            Direct::Across { mask } => arrives(to ^ mask, members.received(to, to ^ mask)),
            Direct::Neighbors => {
                members.sources(to, &mut sources);
                sources.iter().for_each(|&(from, bytes)| arrives(from, bytes));
            }
        }
        after.push(clock);
    }
    clocks.replace(after);
}

/// [`direct_round`] of members that pay for their messages: each sends in the order of distances, then
/// receives in that order, as the schedule's steps do. False, and nothing has happened, among neighbours,
/// whose order is that of their lists.
// Sends first, of all: when a message leaves depends on the sender's earlier ones, when it is taken on the
// receiver's.
pub(super) fn paid_round(
    direct: Direct,
    members: &impl Members,
    costs: &impl Costs,
    clocks: &mut Clocks,
    burden: &mut Burden,
    said: &mut RoundResult,
) -> bool {
    /// No message: its block is empty.
    const NONE: u64 = u64::MAX;
    let size = clocks.len() as u32;
    let (first, count, skips_empty) = match direct {
        Direct::Ahead { first, count, skips_empty } => {
            (first, count.min(size.saturating_sub(first)), skips_empty)
        }
        Direct::Across { .. } => (0, 1, false),
        Direct::Neighbors => return false,
    };
    let receiver = |rank: u32, index: u32| match direct {
        Direct::Across { mask } => rank ^ mask,
        _ => ((u64::from(rank) + u64::from(first + index)) % u64::from(size)) as u32,
    };
    let mut latencies = Latencies { costs, known: Vec::new() };
    let mut arrivals = vec![NONE; size as usize * count as usize];
    let clocks = clocks.spread();
    for (rank, clock) in (0..size).zip(clocks.iter_mut()) {
        for index in 0..count {
            let to = receiver(rank, index);
            let bytes = members.received(to, rank);
            if bytes == 0 && skips_empty {
                continue;
            }
            said.messages += 1;
            said.bytes += u128::from(bytes);
            *clock = burden.leave(rank as usize, *clock);
            arrivals[to as usize * count as usize + index as usize] = *clock + latencies.of(rank, to, bytes);
        }
    }
    for (place, clock) in clocks.iter_mut().enumerate() {
        for &arrival in
            arrivals[place * count as usize..][..count as usize].iter().filter(|&&arrival| arrival != NONE)
        {
            *clock = burden.take(place, *clock, arrival);
        }
    }
    true
}

//! The clocks of rounds whose messages are blocks that go straight to whom they are for: who sends how much is known without the steps of each member.

use crate::collective::clocks::Clocks;
use crate::collective::exchange::Exchange;
use crate::collective::neighborhood::Neighborhood;
use crate::collective::schedule::{NOBODY, Straight};
use crate::collective::varied::Varied;
use crate::world::World;

/// How long messages take, in picoseconds; on a network that is the same everywhere, of short ones once each.
struct Latencies<'a> {
    world: &'a World,
    known: Vec<u64>,
}

/// Lengths of which the time is kept.
const SHORT: u64 = 4096;

impl<'a> Latencies<'a> {
    fn new(world: &'a World) -> Latencies<'a> {
        Latencies { world, known: Vec::new() }
    }
    fn uniform(&self) -> Option<&'a network::Uniform> {
        self.world.messages.wire.formula().and_then(|formula| formula.uniform())
    }
    #[inline]
    fn of(&mut self, from: u32, to: u32, bytes: u64) -> u64 {
        if from != to && bytes < SHORT {
            if let Some(&known) = self.known.get(bytes as usize)
                && known != u64::MAX
            {
                return known;
            }
            if let Some(uniform) = self.uniform() {
                self.known.resize(SHORT as usize, u64::MAX);
                let span = uniform.latency(false, bytes).as_ps();
                self.known[bytes as usize] = span;
                return span;
            }
        }
        self.world.messages.wire.latency(from, to, bytes).as_ps()
    }
}

impl World {
    /// Advances the clocks by a round; false if it is to be made in its steps. All leave at the clocks with which the round begins.
    pub(super) fn straight_round(
        &mut self,
        straight: Straight,
        varied: &Varied,
        rank_of: &impl Fn(u32) -> u32,
        clocks: &mut Clocks,
    ) -> bool {
        let (after, messages, payload) = match (varied, straight) {
            (Varied::Exchange(exchange), Straight::Ahead { first, count, skips_empty }) => {
                let size = clocks.len();
                let distances = first as usize..(first as usize + count as usize).min(size);
                self.exchange_round(exchange, skips_empty, rank_of, clocks, |to, run| {
                    distances.clone().for_each(|distance| run(if to >= distance { to - distance } else { to + size - distance }));
                })
            }
            (Varied::Exchange(exchange), Straight::Across { mask }) => {
                self.exchange_round(exchange, false, rank_of, clocks, |to, run| run(to ^ mask as usize))
            }
            (Varied::Neighborhood(neighborhood), Straight::Neighbors) => self.neighbor_round(neighborhood, rank_of, clocks),
            _ => return false,
        };
        clocks.replace(after);
        self.messages.profile.messages_of(messages, payload);
        true
    }

    fn exchange_round(
        &self,
        exchange: &Exchange,
        skips_empty: bool,
        rank_of: &impl Fn(u32) -> u32,
        clocks: &Clocks,
        senders: impl Fn(usize, &mut dyn FnMut(usize)),
    ) -> (Vec<u64>, u64, u128) {
        let (mut latencies, mut messages, mut payload) = (Latencies::new(self), 0, 0u128);
        let mut after = Vec::with_capacity(clocks.len());
        for to in 0..clocks.len() {
            let (mut clock, rank) = (clocks.get(to), rank_of(to as u32));
            senders(to, &mut |from| {
                let bytes = exchange.received(to, from);
                if bytes == 0 && skips_empty {
                    return;
                }
                messages += 1;
                payload += u128::from(bytes);
                clock = clock.max(clocks.get(from) + latencies.of(rank_of(from as u32), rank, bytes));
            });
            after.push(clock);
        }
        (after, messages, payload)
    }

    fn neighbor_round(&self, neighborhood: &Neighborhood, rank_of: &impl Fn(u32) -> u32, clocks: &Clocks) -> (Vec<u64>, u64, u128) {
        let (mut latencies, mut messages, mut payload) = (Latencies::new(self), 0, 0u128);
        let (mut after, mut sources) = (Vec::with_capacity(clocks.len()), Vec::new());
        for to in 0..clocks.len() {
            let (mut clock, rank) = (clocks.get(to), rank_of(to as u32));
            neighborhood.topology().sources(to as u32, &mut sources);
            for (index, &from) in sources.iter().enumerate().filter(|(_, from)| **from != NOBODY) {
                let bytes = neighborhood.received(to, index);
                messages += 1;
                payload += u128::from(bytes);
                clock = clock.max(clocks.get(from as usize) + latencies.of(rank_of(from), rank, bytes));
            }
            after.push(clock);
        }
        (after, messages, payload)
    }
}

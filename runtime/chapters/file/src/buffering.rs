//! Collective buffering in two phases (R. Thakur, W. Gropp, E. Lusk, "Data Sieving and Collective I/O in
//! ROMIO", 1999), on machines with a storage model: some members, the *aggregators*, ask the servers for all.
//!
//! The bytes that all members access together are divided among the aggregators, which go over their parts in
//! rounds of a buffer. In each round every member that may have bytes there sends them to the aggregator (or
//! asks for them). With the last of these the aggregator asks the servers for all of it at once. Their answer
//! lets it answer the members (with their bytes, of a read), who go on to the next round.
//!
//! The file's home, where all members meet first, says what each aggregator has to wait for. Only times
//! follow from it: data is where it would be without.

use crate::access::{HomeAction, HomeReply, HomeRequest};
use crate::direction::Direction;
use crate::exchange::{Division, ExchangePlan, MemberBytes, MemberExchange, RoundTransfer};
use crate::hints::When;
use crate::meet::Meet;
use crate::state::OpenFiles;
use engine::Time;
use objects::Objects;
use objects::comm::Comm;
use objects::error::Result;
use p2p::Messages;
use std::collections::BTreeMap;

/// Marks the index of a round whose aggregator the servers answer, among those of operations.
pub(crate) const ROUND: u32 = 1 << 31;

/// Returns `true` if members' bytes lie between each other's: one begins before the one with the rank below
/// ends.
fn is_interleaved(spans: &[(u64, u64)]) -> bool {
    let mut before = None;
    spans
        .iter()
        .filter(|(first, end)| first < end)
        .any(|&(first, end)| before.replace(end).is_some_and(|before| first < before))
}

/// Returns the first member on each node, in the order of nodes: who may be an aggregator.
fn first_on_nodes(messages: &Messages, comm: &Comm) -> Vec<u32> {
    let mut ranks: BTreeMap<u32, u32> = BTreeMap::new();
    for rank in comm.group.iter() {
        ranks.entry(messages.fabric().wire().node_of(rank)).or_insert(rank);
    }
    ranks.into_values().collect()
}

impl OpenFiles {
    /// Returns how many nodes the members of a file are on: the aggregators, unless hints say fewer.
    /// O(members).
    ///
    /// # Errors
    /// `MPI_ERR_FILE`.
    pub fn nodes(&self, messages: &Messages, objects: &Objects, handle: usize) -> Result<usize> {
        let file = objects.files.index(&objects.comms, handle)?;
        Ok(objects.files.comm(&objects.comms, file).map_or(0, |comm| first_on_nodes(messages, comm).len()))
    }

    /// Returns what each member learns at a meeting for a collective access, by the members' parts in the
    /// order of ranks; nothing if each asks the servers for itself.
    pub(crate) fn divide(
        &self,
        messages: &Messages,
        objects: &Objects,
        file: u32,
        meets: &[Meet],
    ) -> Vec<HomeReply> {
        let span = |meet: &Meet| if let Meet::Span(first, end, _) = *meet { (first, end) } else { (0, 0) };
        let spans: Vec<(u64, u64)> = meets.iter().map(span).collect();
        let Some(&Meet::Span(_, _, hints)) = meets.first() else { return Vec::new() };
        let some = || spans.iter().filter(|(first, end)| first < end);
        let is_wanted = match hints.when {
            When::Interleaved => is_interleaved(&spans),
            When::Always => some().next().is_some(),
            When::Never => false,
        };
        let Some(comm) = objects.files.comm(&objects.comms, file).filter(|_| is_wanted) else {
            return Vec::new();
        };
        let mut ranks = first_on_nodes(messages, comm);
        if hints.nodes != 0 {
            ranks.truncate(hints.nodes as usize);
        }
        let first = some().map(|span| span.0).min().unwrap_or(0);
        let end = some().map(|span| span.1).max().unwrap_or(0);
        let division = Division::new(first, end, ranks.len() as u32, hints.buffer);
        let places = |&(first, end): &(u64, u64)| {
            (first < end).then(|| division.aggregator(first)..division.aggregator(end - 1) + 1)
        };
        let mut members = vec![0; ranks.len()];
        for span in &spans {
            places(span).into_iter().flatten().for_each(|aggregator| members[aggregator as usize] += 1);
        }
        let plan = |span: &(u64, u64)| {
            let places = places(span).unwrap_or(0..0);
            let aggregators = places.clone().map(|at| (ranks[at as usize], members[at as usize])).collect();
            HomeReply {
                data: ExchangePlan { division, first: places.start, aggregators }.put(),
                ..HomeReply::default()
            }
        };
        spans.iter().map(plan).collect()
    }

    /// Takes an answer to a buffered collective access: of the meeting, or of an aggregator. Returns `true`
    /// if it was one, and is not to be looked at further.
    pub(crate) fn exchanged(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        answer: &HomeReply,
        at: Time,
    ) -> bool {
        let Some(operation) = self.operations.get_mut(index) else { return false };
        let Some(exchange) = &mut operation.exchange else { return false };
        if answer.failure.is_some() || exchange.plan.is_none() && answer.data.is_empty() {
            operation.exchange = None;
            return false;
        }
        exchange.done = exchange.done.max(at);
        if exchange.plan.is_none() {
            self.learn(messages, objects, index, ExchangePlan::take(&answer.data));
            let Some(MemberExchange { plan: Some(ExchangePlan { first, aggregators, .. }), .. }) =
                self.exchange(index)
            else {
                return true;
            };
            let places = *first..*first + aggregators.len() as u32;
            places.for_each(|aggregator| self.take_part(messages, objects, index, (aggregator, 0), at));
        } else {
            let (aggregator, round) = ((answer.value >> 32) as u32, answer.value as u32 + 1);
            let rounds = exchange.plan.as_ref().map_or(0, |plan| plan.division.rounds(aggregator));
            if round < rounds {
                self.take_part(messages, objects, index, (aggregator, round), at);
            } else {
                exchange.open -= 1;
            }
        }
        if let Some(&mut MemberExchange { open: 0, done, .. }) = self.exchange(index) {
            self.over(messages, index, done);
        }
        true
    }

    fn exchange(&mut self, index: u32) -> Option<&mut MemberExchange> {
        self.operations.get_mut(index)?.exchange.as_mut()
    }

    /// Learns where the operation's bytes are to go: the meeting is over.
    fn learn(&mut self, messages: &Messages, objects: &Objects, index: u32, plan: ExchangePlan) {
        let operation = &self.operations[index];
        let (file, rank) = (operation.file, operation.rank);
        let (Some(storage), Some((transfer, from))) =
            (&messages.fabric().wire().storage, &operation.transfer)
        else {
            return;
        };
        let first = self.first_server(objects, file, storage);
        let mut shares: BTreeMap<(u32, u32), MemberBytes> = BTreeMap::new();
        self.part(file, rank).view.pieces(*from, transfer.bytes, &mut |mut at, len| {
            let end = at.saturating_add(len);
            while at < end {
                let (aggregator, round, until) = plan.division.place(at);
                let share = shares.entry((aggregator, round)).or_default();
                share.loads.resize(storage.servers as usize, 0);
                let bytes = until.min(end) - at;
                share.bytes += bytes;
                storage.share(first, at, bytes, &mut share.loads);
                at += bytes;
            }
        });
        let operation = &mut self.operations[index];
        // The aggregators ask the servers.
        operation.next.clear();
        if let Some(exchange) = &mut operation.exchange {
            (exchange.open, exchange.shares, exchange.plan) =
                (plan.aggregators.len() as u32, shares, Some(plan));
        }
    }

    /// Sends the operation's part in a round to its aggregator.
    fn take_part(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        index: u32,
        (aggregator, round): (u32, u32),
        at: Time,
    ) {
        let operation = &mut self.operations[index];
        let of = (operation.file, operation.rank);
        let direction =
            operation.transfer.as_ref().map_or(Direction::Read, |(transfer, _)| transfer.direction);
        let Some(MemberExchange { meeting, plan: Some(plan), shares, .. }) = &mut operation.exchange else {
            return;
        };
        let (rank, members) = plan.aggregators[(aggregator - plan.first) as usize];
        let MemberBytes { bytes, loads } = shares.remove(&(aggregator, round)).unwrap_or_default();
        let loads = (0..).zip(loads).filter(|(_, load)| *load != 0).collect();
        let part =
            RoundTransfer { meeting: *meeting, aggregator, rank, round, members, direction, bytes, loads };
        self.ask(messages, objects, of, HomeAction::Part(Box::new(part)), index, at);
    }

    /// Takes a member's part at the aggregator, which asks the servers with the last.
    pub(crate) fn aggregate(
        &mut self,
        messages: &mut Messages,
        objects: &Objects,
        access: HomeRequest,
        part: &RoundTransfer,
        at: Time,
    ) {
        let (key, file) = (part.key(access.file), access.file);
        let parts = self.rounds.entry(key).or_default();
        parts.push(access);
        if parts.len() < part.members as usize {
            return;
        }
        let parts = self.rounds.remove(&key).unwrap_or_default();
        let mut loads: BTreeMap<u32, u64> = BTreeMap::new();
        for (server, bytes) in parts.iter().flat_map(HomeRequest::loads) {
            *loads.entry(server).or_default() += bytes;
        }
        let index = self.aggregated.insert(parts);
        if loads.is_empty() {
            return self.answer_round(messages, objects, index, at);
        }
        self.ask(
            messages,
            objects,
            (file, part.rank),
            HomeAction::Serve(loads.into_iter().collect()),
            index | ROUND,
            at,
        );
    }

    /// Answers the members of an aggregator's round: the servers have answered it.
    pub(crate) fn answer_round(&mut self, messages: &mut Messages, objects: &Objects, index: u32, at: Time) {
        for access in self.aggregated.remove(index).unwrap_or_default() {
            let HomeAction::Part(part) = &access.action else { continue };
            let answer = HomeReply::of(u64::from(part.aggregator) << 32 | u64::from(part.round));
            self.answer(messages, objects, &access, answer, at);
        }
    }
}

impl HomeRequest {
    /// Returns what a part asks of the servers.
    fn loads(&self) -> impl Iterator<Item = (u32, u64)> {
        let loads = if let HomeAction::Part(part) = &self.action { &part.loads[..] } else { &[] };
        loads.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_interleaved_if_one_begins_before_the_last_ends() {
        assert!(!is_interleaved(&[(0, 10), (10, 20), (0, 0), (20, 30)]));
        assert!(is_interleaved(&[(0, 10), (5, 12)]));
        assert!(is_interleaved(&[(10, 20), (0, 10)]));
        assert!(!is_interleaved(&[(0, 0), (5, 7), (3, 3)]));
    }
}

//! The rounds of a collective whose members are on several processes: each process has the clocks of its own members, and
//! tells the others those that their members' clocks depend on.
//!
//! In each round a process sends at most one record to each other one. Who sends to whom follows from the schedule, so
//! that both sides of a record know what it has. While all clocks of all processes are equal, and messages of one size take the
//! same time everywhere, nothing is sent.

use crate::links::{Inner, Link, links, reversed};
use crate::segments::Segments;
use crate::{Active, Blocks, Member, Pattern, Schedule, Step};
use engine::record::{Put, Take};
use std::ops::Range;
use std::rc::Rc;

/// How long messages take, in picoseconds.
pub trait Costs {
    /// A message of so many bytes, if it is the same between any two members.
    fn uniform(&self, bytes: u64) -> Option<u64>;
    /// A message from one member to another.
    fn latency(&self, from: u32, to: u32, bytes: u64) -> u64;
}

/// What a process has to say after some rounds.
#[derive(Default)]
pub struct Said {
    /// Process, round, record.
    pub records: Vec<(u32, u32, Vec<u8>)>,
    /// Messages of the schedule that its members sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u128,
}

/// Clocks that lie in one row of a link.
enum Values {
    Same(u64),
    Each(Vec<u64>),
}

/// A round that has begun: what it needs.
enum Open {
    Pattern {
        pattern: Pattern,
        inner: Range<u32>,
        /// Messages between own members: from the near end, with the clocks at which they left.
        local: Vec<(Link, Values)>,
        /// By process: messages from the far end to own members, in the order of their senders.
        expected: Vec<(u32, Vec<Link>)>,
    },
    /// `(to, from, bytes)`.
    Steps { receives: Vec<(u32, u32, u64)>, expected: Vec<u32> },
}

/// The clocks of one process's members on their way through the rounds.
pub struct Rounds {
    me: u32,
    segments: Rc<Segments>,
    own: Range<u32>,
    schedule: Rc<dyn Schedule>,
    /// Bytes of a block.
    block: u64,
    round: u32,
    /// Whether `equal` is the clock of all members everywhere.
    common: bool,
    equal: Option<u64>,
    each: Vec<u64>,
    open: Option<Open>,
    /// `(round, process, record)`
    inbox: Vec<(u32, u32, Vec<u8>)>,
}

impl Rounds {
    /// Own members with these clocks; `common` if all members everywhere have the same one.
    pub fn new(
        me: u32,
        segments: Rc<Segments>,
        schedule: Rc<dyn Schedule>,
        block: u64,
        clocks: impl Iterator<Item = u64> + Clone,
        common: bool,
    ) -> Rounds {
        let equal = equal_clock(clocks.clone());
        let each = if equal.is_some() { Vec::new() } else { clocks.collect() };
        let own = segments.of_process(me);
        Rounds { me, segments, own, schedule, block, round: 0, common, equal, each, open: None, inbox: Vec::new() }
    }
    /// The clock of one of its members.
    pub fn clock(&self, member: u32) -> u64 {
        self.equal.unwrap_or_else(|| self.each[(member - self.own.start) as usize])
    }
    /// A record from another process.
    pub fn deliver(&mut self, round: u32, process: u32, record: Vec<u8>) {
        self.inbox.push((round, process, record));
    }
    /// Goes on as far as it can; whether all rounds are over.
    pub fn advance(&mut self, costs: &impl Costs, said: &mut Said) -> bool {
        loop {
            if self.open.is_none() {
                if self.round >= self.schedule.rounds() {
                    return true;
                }
                let pattern = self.schedule.pattern(self.round);
                match pattern {
                    Some(pattern) if self.stays_common(pattern, costs, said) => {
                        self.round += 1;
                        continue;
                    }
                    Some(pattern) => self.open_pattern(pattern, said),
                    None => self.open_steps(said),
                }
            }
            let here = |process: u32| self.inbox.iter().any(|(round, from, _)| *round == self.round && *from == process);
            let complete = match self.open.as_ref().expect("opened above") {
                Open::Pattern { expected, .. } => expected.iter().all(|(process, _)| here(*process)),
                Open::Steps { expected, .. } => expected.iter().all(|process| here(*process)),
            };
            if !complete {
                return false;
            }
            match self.open.take().expect("opened above") {
                Open::Pattern { pattern, inner, local, expected } => self.close_pattern(pattern, inner, local, &expected, costs),
                Open::Steps { receives, .. } => self.close_steps(&receives, costs),
            }
            self.round += 1;
        }
    }

    /// A round after which all clocks everywhere are equal as before: nothing has to be told.
    fn stays_common(&mut self, pattern: Pattern, costs: &impl Costs, said: &mut Said) -> bool {
        let size = self.segments.size();
        let bytes = pattern.bytes();
        let all = match pattern {
            Pattern::Shift { distance, .. } => distance % size != 0,
            Pattern::Exchange { among, folded, .. } => among == size && folded == 0,
            Pattern::Pairs { .. } => false,
        };
        match (self.equal, costs.uniform(bytes)) {
            (Some(clock), Some(span)) if self.common && all => {
                self.equal = Some(clock + span);
                said.messages += self.own.len() as u64;
                said.bytes += self.own.len() as u128 * u128::from(bytes);
                true
            }
            _ => {
                self.common = false;
                false
            }
        }
    }

    fn values(&self, link: &Link) -> Values {
        match self.equal {
            Some(clock) => Values::Same(clock),
            None => Values::Each((0..link.count).map(|index| self.clock(link.near(index))).collect()),
        }
    }

    fn open_pattern(&mut self, pattern: Pattern, said: &mut Said) {
        let (me, size) = (self.me, self.segments.size());
        let (out, Inner(inner)) = links(pattern, size, &self.own);
        let bytes = pattern.bytes();
        let messages = inner.len() as u64 + out.iter().map(|link| u64::from(link.count)).sum::<u64>();
        said.messages += messages;
        said.bytes += u128::from(messages) * u128::from(bytes);
        let mut local = Vec::new();
        for (process, parts) in self.by_process(out, |link| link.near) {
            if process == me {
                local = parts.into_iter().map(|link| (link, self.values(&link))).collect();
                continue;
            }
            let mut record = Vec::new();
            record.u8(u8::from(self.equal.is_none()));
            match self.equal {
                Some(clock) => record.u64(clock),
                None => {
                    record.reserve(8 * parts.iter().map(|part| part.count as usize).sum::<usize>());
                    for part in &parts {
                        (0..part.count).for_each(|index| record.u64(self.clock(part.near(index))));
                    }
                }
            }
            said.records.push((process, self.round, record));
        }
        let (incoming, _) = links(reversed(pattern, size), size, &self.own);
        let mut expected = self.by_process(incoming, |link| link.far);
        expected.retain(|(process, _)| *process != me);
        self.open = Some(Open::Pattern { pattern, inner, local, expected });
    }

    /// Links cut into those of each process, in the order of their senders.
    fn by_process(&self, links: Vec<Link>, sender: impl Fn(&Link) -> u32) -> Vec<(u32, Vec<Link>)> {
        let mut parts: Vec<(u32, Link)> = Vec::new();
        links.into_iter().for_each(|link| link.by_process(&self.segments, |process, part| parts.push((process, part))));
        parts.sort_by_key(|(process, part)| (*process, sender(part)));
        parts.chunk_by(|one, other| one.0 == other.0).map(|chunk| (chunk[0].0, chunk.iter().map(|part| part.1).collect())).collect()
    }

    fn close_pattern(
        &mut self,
        pattern: Pattern,
        inner: Range<u32>,
        local: Vec<(Link, Values)>,
        expected: &[(u32, Vec<Link>)],
        costs: &impl Costs,
    ) {
        // Links from here on lead from the far end to an own member.
        let turned =
            |link: Link| Link { near: link.far, near_stride: link.far_stride, far: link.near, far_stride: link.near_stride, ..link };
        let mut moves: Vec<(Link, Values)> = local.into_iter().map(|(link, values)| (turned(link), values)).collect();
        for (process, parts) in expected {
            let record = self.take(*process);
            let mut record = Take(&record);
            let each = record.u8() != 0;
            let same = if each { 0 } else { record.u64() };
            for part in parts {
                let values = if each { Values::Each((0..part.count).map(|_| record.u64()).collect()) } else { Values::Same(same) };
                moves.push((*part, values));
            }
        }
        let bytes = pattern.bytes();
        let uniform = costs.uniform(bytes);
        if self.stays_equal(&inner, &moves, uniform) {
            return;
        }
        self.spread();
        let first = self.own.start;
        if let Pattern::Exchange { mask, folded, .. } = pattern {
            let member = |position: u32| if position < folded { 2 * position + 1 } else { position + folded };
            let high = 1u32 << mask.ilog2();
            for base in inner.step_by(2 * high as usize) {
                for position in base..base + high {
                    let (one, other) = (member(position), member(position ^ mask));
                    let (a, b) = (self.each[(one - first) as usize], self.each[(other - first) as usize]);
                    let (there, back) = match uniform {
                        Some(span) => (span, span),
                        None => (costs.latency(other, one, bytes), costs.latency(one, other, bytes)),
                    };
                    self.each[(one - first) as usize] = a.max(b + there);
                    self.each[(other - first) as usize] = b.max(a + back);
                }
            }
        }
        for (link, values) in moves {
            for index in 0..link.count {
                let left = match &values {
                    Values::Same(clock) => *clock,
                    Values::Each(clocks) => clocks[index as usize],
                };
                let (to, from) = (link.near(index), link.far(index));
                let arrival = left + uniform.unwrap_or_else(|| costs.latency(from, to, bytes));
                let clock = &mut self.each[(to - first) as usize];
                *clock = arrival.max(*clock);
            }
        }
    }

    /// A round after which own clocks are equal as before.
    fn stays_equal(&mut self, inner: &Range<u32>, moves: &[(Link, Values)], uniform: Option<u64>) -> bool {
        let (Some(clock), Some(span)) = (self.equal, uniform) else { return false };
        let reached = inner.len() as u64 + moves.iter().map(|(link, _)| u64::from(link.count)).sum::<u64>();
        let mut after = (!inner.is_empty()).then_some(clock + span);
        for (_, values) in moves {
            let Values::Same(left) = values else { return false };
            let arrived = clock.max(left + span);
            if *after.get_or_insert(arrived) != arrived {
                return false;
            }
        }
        let stays = match after {
            None => true,
            Some(after) => after == clock || reached == self.own.len() as u64,
        };
        if stays {
            self.equal = after.or(self.equal);
        }
        stays
    }

    fn spread(&mut self) {
        if let Some(clock) = self.equal.take() {
            self.each = vec![clock; self.own.len()];
        }
    }

    fn take(&mut self, process: u32) -> Vec<u8> {
        let at = self.inbox.iter().position(|(round, from, _)| *round == self.round && *from == process);
        self.inbox.swap_remove(at.expect("a record that is expected is there")).2
    }

    /// Any other round: who sends and receives, by the schedule's steps. All leave at the clocks with which the round begins.
    fn open_steps(&mut self, said: &mut Said) {
        self.common = false;
        let none: Rc<[u32]> = Rc::new([]);
        let blocks = Blocks::Uniform(self.block);
        let mut member = Member { rank: 0, send: blocks.clone(), receive: blocks, sources: none.clone(), destinations: none };
        let (mut steps, mut receives, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        let mut records: Vec<(u32, u32, Vec<u8>)> = Vec::new();
        for rank in active_in(self.schedule.active(self.round), self.segments.size(), &self.own) {
            member.rank = rank;
            steps.clear();
            self.schedule.round(&member, self.round, &mut steps);
            for step in &steps {
                match *step {
                    Step::Send { to, from } => {
                        said.messages += 1;
                        said.bytes += u128::from(from.bytes);
                        if self.own.contains(&to) {
                            continue;
                        }
                        let process = self.segments.process(to);
                        let at = records.iter().position(|(other, ..)| *other == process).unwrap_or_else(|| {
                            records.push((process, self.round, Vec::new()));
                            records.len() - 1
                        });
                        records[at].2.u32(rank);
                        records[at].2.u64(self.clock(rank));
                    }
                    Step::Receive { from, into } => {
                        receives.push((rank, from, into.bytes));
                        if !self.own.contains(&from) {
                            let process = self.segments.process(from);
                            if !expected.contains(&process) {
                                expected.push(process);
                            }
                        }
                    }
                    _ => break,
                }
            }
        }
        said.records.append(&mut records);
        self.open = Some(Open::Steps { receives, expected });
    }

    fn close_steps(&mut self, receives: &[(u32, u32, u64)], costs: &impl Costs) {
        // Clocks of senders elsewhere, by sender: it sends all of a round at one time.
        let mut elsewhere: Vec<(u32, u64)> = Vec::new();
        while let Some(at) = self.inbox.iter().position(|(round, ..)| *round == self.round) {
            let (.., record) = self.inbox.swap_remove(at);
            let mut record = Take(&record);
            while !record.is_empty() {
                elsewhere.push((record.u32(), record.u64()));
            }
        }
        elsewhere.sort_unstable();
        let mut moved: Vec<(u32, u64)> = Vec::new();
        for &(to, from, bytes) in receives {
            let left = if self.own.contains(&from) {
                self.clock(from)
            } else {
                let at = elsewhere.partition_point(|entry| entry.0 < from);
                elsewhere[at].1
            };
            let arrival = left + costs.latency(from, to, bytes);
            if arrival > self.clock(to) {
                moved.push((to, arrival));
            }
        }
        if moved.is_empty() {
            return;
        }
        self.spread();
        for (member, arrival) in moved {
            let clock = &mut self.each[(member - self.own.start) as usize];
            *clock = arrival.max(*clock);
        }
    }
}

/// The clock that all have, if it is one.
pub fn equal_clock(mut clocks: impl Iterator<Item = u64>) -> Option<u64> {
    let first = clocks.next()?;
    clocks.all(|clock| clock == first).then_some(first)
}

/// The members of `own` that may have steps in a round.
pub fn active_in(active: Option<Active>, size: u32, own: &Range<u32>) -> Vec<u32> {
    let Some(Active { first, stride, count }) = active else { return own.clone().collect() };
    let (first, stride, count, size) = (u64::from(first), u64::from(stride.max(1)), u64::from(count), u64::from(size));
    let mut members = Vec::new();
    // Each turn through the members is a row of its own.
    let turns = (first + stride * count.saturating_sub(1)) / size;
    for turn in 0..=turns {
        let (start, end) = (turn * size + u64::from(own.start), turn * size + u64::from(own.end));
        let from = start.saturating_sub(first).div_ceil(stride);
        let to = end.saturating_sub(first).div_ceil(stride).min(count);
        members.extend((from..to).map(|index| (first + index * stride - turn * size) as u32));
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::{Parameters, of};
    use crate::model::shape;
    use crate::{Kind, Shape};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// Latencies that differ from pair to pair, or not.
    struct Model(bool);
    impl Costs for Model {
        fn uniform(&self, bytes: u64) -> Option<u64> {
            self.0.then_some(10 + bytes)
        }
        fn latency(&self, from: u32, to: u32, bytes: u64) -> u64 {
            if self.0 { 10 + bytes } else { 10 + bytes + u64::from((from * 7 + to * 13) % 11) }
        }
    }

    /// What the documentation of schedules says about clocks; messages and bytes.
    fn plain(schedule: &dyn Schedule, shape: &Shape, mut clocks: Vec<u64>, costs: &Model) -> (Vec<u64>, u64, u128) {
        let none: Rc<[u32]> = Rc::new([]);
        let blocks = Blocks::Uniform(shape.bytes);
        let (mut messages, mut bytes) = (0, 0);
        for round in 0..schedule.rounds() {
            let before = clocks.clone();
            for rank in 0..shape.size {
                let member =
                    Member { rank, send: blocks.clone(), receive: blocks.clone(), sources: none.clone(), destinations: none.clone() };
                let mut steps = Vec::new();
                schedule.round(&member, round, &mut steps);
                for step in steps {
                    match step {
                        Step::Send { from, .. } => (messages, bytes) = (messages + 1, bytes + u128::from(from.bytes)),
                        Step::Receive { from, into } => {
                            let arrival = before[from as usize] + costs.latency(from, rank, into.bytes);
                            clocks[rank as usize] = clocks[rank as usize].max(arrival);
                        }
                        _ => {}
                    }
                }
            }
        }
        (clocks, messages, bytes)
    }

    fn spread_out(schedule: &Rc<dyn Schedule>, shape: &Shape, clocks: &[u64], costs: &Model, segments: Segments) -> (Vec<u64>, u64, u128) {
        let segments = Rc::new(segments);
        let common = equal_clock(clocks.iter().copied()).is_some();
        let processes: Vec<u32> = segments.processes().collect();
        let mut rounds: Vec<Rounds> = (processes.iter())
            .map(|&process| {
                let own = segments.of_process(process);
                let clocks = clocks[own.start as usize..own.end as usize].iter().copied();
                Rounds::new(process, segments.clone(), schedule.clone(), shape.bytes, clocks, common)
            })
            .collect();
        let (mut through, mut said, mut turns) = (vec![false; processes.len()], Said::default(), VecDeque::from_iter(0..processes.len()));
        while let Some(turn) = turns.pop_front() {
            through[turn] = rounds[turn].advance(costs, &mut said);
            for (to, round, record) in said.records.drain(..) {
                let at = processes.iter().position(|process| *process == to).unwrap();
                rounds[at].deliver(round, processes[turn], record);
                turns.push_back(at);
            }
        }
        assert!(through.iter().all(|through| *through), "a process waits for ever");
        assert!(rounds.iter().all(|rounds| rounds.inbox.is_empty()), "something was told in vain");
        let after =
            processes.iter().zip(&rounds).flat_map(|(&process, rounds)| segments.of_process(process).map(|member| rounds.clock(member)));
        (after.collect(), said.messages, said.bytes)
    }

    const KINDS: [Kind; 8] =
        [Kind::Barrier, Kind::Agree, Kind::Bcast, Kind::Gather, Kind::Scatter, Kind::Allgather, Kind::Alltoall, Kind::Allreduce];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn clocks_are_those_of_one_process(
            kind in 0usize..8, size in 2u32..70, root in 0u32..70, lanes in 0u64..3, uniform in any::<bool>(), equal in any::<bool>(),
            lengths in proptest::collection::vec(0u32..40, 1..5), seed in 0u64..1000,
        ) {
            let kind = KINDS[kind];
            let shape = Shape { root: if matches!(kind, Kind::Bcast | Kind::Gather | Kind::Scatter) { root % size } else { 0 }, ..shape(kind, size, 16 * lanes) };
            let clocks: Vec<u64> = (0..u64::from(size)).map(|i| if equal { seed } else { (i * 37 + seed) * 31 % (seed + 1) }).collect();
            // Segments of these lengths as far as members go, the rest on the last process.
            let mut left = size;
            let mut parts: Vec<u32> = lengths.iter().map(|&length| { let part = length.min(left); left -= part; part }).collect();
            *parts.last_mut().unwrap() += left;
            for algorithm in of(kind).filter(|algorithm| (algorithm.supports)(&shape)) {
                let schedule = algorithm.schedule(&shape, &Parameters::default());
                let expected = plain(&*schedule, &shape, clocks.clone(), &Model(uniform));
                let got = spread_out(&schedule, &shape, &clocks, &Model(uniform), Segments::lengths(&parts));
                prop_assert_eq!(&got, &expected, "{} of {:?} on {:?}", algorithm.name, shape, parts);
            }
        }

        #[test]
        fn active_members_are_found_by_their_process(first in 0u32..50, stride in 1u32..20, count in 0u32..30, size in 1u32..50, cut in 0u32..50) {
            let active = Active { first: first % size, stride, count };
            let all = |own: Range<u32>| {
                let mut members = active_in(Some(active), size, &own);
                members.sort_unstable();
                members
            };
            let mut plain: Vec<u32> = (0..count).map(|index| (first % size + index * stride) % size).collect();
            plain.sort_unstable();
            let cut = cut % (size + 1);
            let mut parts = all(0..cut);
            parts.extend(all(cut..size));
            prop_assert_eq!(all(0..size), plain.clone());
            parts.sort_unstable();
            prop_assert_eq!(parts, plain);
        }
    }
}

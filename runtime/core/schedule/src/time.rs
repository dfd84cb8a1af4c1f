//! The time plane: when the rounds of a schedule happen, given the clocks at which its members enter. What
//! messages carry is the data plane's.
//!
//! A process runs the rounds of its own members, and tells the others the clocks that theirs depend on; one
//! process alone has the segment that is everything and tells nobody. In each round a process sends at most
//! one record to each other one.
//!
//! The schedule says who sends to whom, so that both sides of a record know what it has. While all
//! clocks of all processes are equal, and messages of one size take the same time everywhere, nothing is
//! sent.
//!
//! A round is made in the first of these forms that it allows:
//!
//! - a regular [`RoundPattern`] (a loop over clocks, or a single addition while they are equal);
//! - a [`Direct`](crate::Direct) exchange of blocks;
//! - the steps of each member.
//!
//! Every round is made in steps where messages cost their ranks time: only steps give the order in which a
//! member pays.

mod clocks;
mod costs;
mod direct;
mod duration;
mod links;

pub use clocks::Clocks;
pub use costs::{Burden, Costs, MessageOverheads, RoundResult};
pub use duration::{Duration, duration};

use crate::segments::{ProcessSegment, Segments};
use crate::{Members, RoundPattern, Schedule, Step};
use direct::{direct_round, paid_round};
use engine::record::{Put, Take};
use links::{Inner, LinkRow, links, reversed};
use std::ops::Range;
use std::rc::Rc;

/// Clocks that lie in one row of a link.
enum RowClocks {
    Same(u64),
    Each(Vec<u64>),
}

/// A round that has begun and needs to be told something: what it needs.
// What must be remembered of a round that waits for another process, and no more: clocks stay as they were
// when it began.
enum OpenRound {
    Pattern {
        pattern: RoundPattern,
        inner: Range<u32>,
        /// Messages between own members: from the near end, with the clocks at which they left.
        local: Vec<(LinkRow, RowClocks)>,
        /// By process: messages from the far end to own members, in the order of their senders.
        expected: Vec<(u32, Vec<LinkRow>)>,
    },
    Steps {
        /// `(to, from, bytes)` of the messages whose arrival is not known yet.
        receives: Vec<(u32, u32, u64)>,
        /// Members whose clocks change, by what is known already.
        moved: Vec<(u32, u64)>,
        /// Members that reduce or copy after their receives, and for how long.
        work: Vec<(u32, u64)>,
        expected: Vec<u32>,
    },
}

/// The clocks of one process's members on their way through the rounds.
pub struct TimePlane {
    segment: ProcessSegment,
    schedule: Rc<dyn Schedule>,
    round: u32,
    /// `true` if the members of all processes have one clock.
    // Known by all without a word: they were told so at the start, and every round that keeps it is the same
    // for all.
    common: bool,
    clocks: Clocks,
    burden: Option<Box<Burden>>,
    open: Option<OpenRound>,
    /// `(round, process, record)`
    inbox: Vec<(u32, u32, Vec<u8>)>,
}

impl TimePlane {
    /// Makes the time plane of own members with these clocks; `common` if all members everywhere have the
    /// same one.
    pub fn new(
        segment: ProcessSegment,
        schedule: Rc<dyn Schedule>,
        clocks: Clocks,
        common: bool,
    ) -> TimePlane {
        let common = common && clocks.equal().is_some();
        TimePlane { segment, schedule, round: 0, common, clocks, burden: None, open: None, inbox: Vec::new() }
    }
    /// Makes the members pay for their messages.
    pub fn with_burden(self, burden: Option<Burden>) -> TimePlane {
        TimePlane { burden: burden.map(Box::new), ..self }
    }
    /// Returns the clock of one of its members, once all rounds are over.
    #[inline]
    pub fn clock(&self, member: u32) -> u64 {
        self.clocks.get(self.segment.place(member))
    }
    /// Returns what members that pay for their messages carry out of the rounds.
    pub fn burden(&self) -> Option<&Burden> {
        self.burden.as_deref()
    }
    /// Delivers a record from another process.
    pub fn deliver(&mut self, round: u32, process: u32, record: Vec<u8>) {
        self.inbox.push((round, process, record));
    }
    /// Goes on as far as it can; whether all rounds are over. O(messages) at most, O(rounds) while clocks are
    /// equal on a network that is the same everywhere.
    // A round's record may be there before the round begins here: it waits in the inbox under its number.
    pub fn advance(&mut self, members: &impl Members, costs: &impl Costs, said: &mut RoundResult) -> bool {
        while self.round < self.schedule.rounds() {
            if !self.advance_round(members, costs, said) {
                return false;
            }
        }
        self.clocks.end_exchanges();
        true
    }

    /// Goes on to the end of a round; whether it is over.
    fn advance_round(&mut self, members: &impl Members, costs: &impl Costs, said: &mut RoundResult) -> bool {
        if self.open.is_none() && self.open_round(members, costs, said) {
            self.round += 1;
            return true;
        }
        let here =
            |process: u32| self.inbox.iter().any(|(round, from, _)| *round == self.round && *from == process);
        let complete = match self.open.as_ref().expect("opened above") {
            OpenRound::Pattern { expected, .. } => expected.iter().all(|(process, _)| here(*process)),
            OpenRound::Steps { expected, .. } => expected.iter().all(|process| here(*process)),
        };
        if !complete {
            return false;
        }
        match self.open.take().expect("opened above") {
            OpenRound::Pattern { pattern, inner, local, expected } => {
                self.close_pattern(pattern, inner, local, &expected, costs)
            }
            OpenRound::Steps { receives, moved, work, .. } => {
                self.close_steps(&receives, moved, &work, costs)
            }
        }
        self.round += 1;
        true
    }

    /// Begins a round; true if it is over at once.
    // From the cheapest way to the one that always works. All give the same clocks, which the tests compare.
    fn open_round(&mut self, members: &impl Members, costs: &impl Costs, said: &mut RoundResult) -> bool {
        let direct = || {
            self.schedule
                .direct(self.round)
                .filter(|&direct| self.segment.is_whole() && members.knows(direct))
        };
        if let Some(burden) = &mut self.burden {
            // A direct round has messages alone, and its steps may have copies.
            let is_free = costs.copying(1 << 30) == 0;
            let over = direct()
                .filter(|_| is_free)
                .is_some_and(|direct| paid_round(direct, members, costs, &mut self.clocks, burden, said));
            if !over {
                self.open_steps(members, costs, said);
            }
            return over;
        }
        if let Some(pattern) = self.schedule.pattern(self.round) {
            if self.segment.is_whole() {
                self.whole_pattern(pattern, costs, said);
                return true;
            }
            if self.stays_common(pattern, costs, said) {
                return true;
            }
            self.open_pattern(pattern, said);
            return false;
        }
        self.clocks.end_exchanges();
        if let Some(direct) = direct() {
            direct_round(direct, members, costs, &mut self.clocks, said);
            return true;
        }
        self.open_steps(members, costs, said);
        false
    }

    /// A round in a regular pattern of members that are all here: neighbouring clocks lie side by side.
    // Distances that are the same for all make loops without an index; what is uniform has one addition and
    // one comparison a member.
    fn whole_pattern(&mut self, pattern: RoundPattern, costs: &impl Costs, said: &mut RoundResult) {
        let (clocks, size) = (&mut self.clocks, self.segment.size());
        let (bytes, uniform) = (pattern.bytes(), costs.uniform(pattern.bytes()));
        let latency = |from: usize, to: usize| costs.latency(from as u32, to as u32, bytes);
        if !matches!(pattern, RoundPattern::Exchange { .. }) {
            clocks.end_exchanges();
        }
        let messages = match pattern {
            RoundPattern::Shift { distance, .. } => {
                let distance = distance as usize % (size as usize).max(1);
                match uniform.filter(|_| distance != 0) {
                    Some(span) => clocks.shift(distance, span),
                    None => clocks.shift_by(distance, latency),
                }
                size
            }
            RoundPattern::Exchange { mask, among, folded, .. } => {
                let (mask, counts) = (mask as usize, (among as usize, folded as usize));
                match uniform {
                    Some(span) => clocks.exchange(mask, counts.0, counts.1, |_, _| span, true),
                    None => clocks.exchange(mask, counts.0, counts.1, latency, false),
                }
                among
            }
            RoundPattern::Pairs { pairs, up, .. } => {
                match uniform {
                    Some(span) => clocks.pairs(pairs as usize, up, |_, _| span),
                    None => clocks.pairs(pairs as usize, up, latency),
                }
                pairs
            }
        };
        said.messages += u64::from(messages);
        said.bytes += u128::from(messages) * u128::from(bytes);
    }

    /// Tries a round after which all clocks everywhere are equal as before; then nothing has to be exchanged.
    fn stays_common(&mut self, pattern: RoundPattern, costs: &impl Costs, said: &mut RoundResult) -> bool {
        let (size, own) = (self.segment.size(), self.clocks.len());
        let bytes = pattern.bytes();
        let all = match pattern {
            RoundPattern::Shift { distance, .. } => distance % size != 0,
            // Every member receives: those that rest would keep their clocks, and clocks were equal no more.
            RoundPattern::Exchange { among, folded, .. } => among == size && folded == 0,
            RoundPattern::Pairs { .. } => false,
        };
        match (self.clocks.equal(), costs.uniform(bytes)) {
            (Some(clock), Some(span)) if self.common && all => {
                self.clocks.advance(clocks::later(clock, span));
                said.messages += own as u64;
                said.bytes += own as u128 * u128::from(bytes);
                true
            }
            _ => {
                self.common = false;
                false
            }
        }
    }

    fn values(&self, link: &LinkRow) -> RowClocks {
        match self.clocks.equal() {
            Some(clock) => RowClocks::Same(clock),
            None => RowClocks::Each((0..link.count).map(|index| self.clock(link.near(index))).collect()),
        }
    }

    // Each process computes both ends of every link by itself: records carry clocks alone, in an order that
    // both know.
    fn open_pattern(&mut self, pattern: RoundPattern, said: &mut RoundResult) {
        let size = self.segment.size();
        let (out, Inner(inner)) = links(pattern, size, &self.segment.own());
        let bytes = pattern.bytes();
        let messages = inner.len() as u64 + out.iter().map(|link| u64::from(link.count)).sum::<u64>();
        said.messages += messages;
        said.bytes += u128::from(messages) * u128::from(bytes);
        let (me, segments) = self.segment.others();
        let mut local = Vec::new();
        for (process, parts) in by_process(&segments, out, |link| link.near) {
            if process == me {
                local = parts.into_iter().map(|link| (link, self.values(&link))).collect();
                continue;
            }
            let mut record = Vec::new();
            record.u8(u8::from(self.clocks.equal().is_none()));
            match self.clocks.equal() {
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
        // Who sends to us follows from whom we would send to if all messages turned round.
        let (incoming, _) = links(reversed(pattern, size), size, &self.segment.own());
        let mut expected = by_process(&segments, incoming, |link| link.far);
        expected.retain(|(process, _)| *process != me);
        self.open = Some(OpenRound::Pattern { pattern, inner, local, expected });
    }

    fn close_pattern(
        &mut self,
        pattern: RoundPattern,
        inner: Range<u32>,
        local: Vec<(LinkRow, RowClocks)>,
        expected: &[(u32, Vec<LinkRow>)],
        costs: &impl Costs,
    ) {
        // Links from here on lead from the far end to an own member.
        let turned = |link: LinkRow| LinkRow {
            near: link.far,
            near_stride: link.far_stride,
            far: link.near,
            far_stride: link.near_stride,
            ..link
        };
        let mut moves: Vec<(LinkRow, RowClocks)> =
            local.into_iter().map(|(link, values)| (turned(link), values)).collect();
        for (process, parts) in expected {
            let record = self.take(*process);
            let mut record = Take(&record);
            let each = record.u8() != 0;
            let same = if each { 0 } else { record.u64() };
            for part in parts {
                let values = if each {
                    RowClocks::Each((0..part.count).map(|_| record.u64()).collect())
                } else {
                    RowClocks::Same(same)
                };
                moves.push((*part, values));
            }
        }
        let bytes = pattern.bytes();
        let uniform = costs.uniform(bytes);
        if self.stays_equal(&inner, &moves, uniform) {
            return;
        }
        let first = self.segment.own().start;
        let each = self.clocks.spread();
        if let RoundPattern::Exchange { mask, folded, .. } = pattern {
            let member = |position: u32| if position < folded { 2 * position + 1 } else { position + folded };
            let high = 1u32 << mask.ilog2();
            for base in inner.step_by(2 * high as usize) {
                for position in base..base + high {
                    let (one, other) = (member(position), member(position ^ mask));
                    let (a, b) = (each[(one - first) as usize], each[(other - first) as usize]);
                    let (there, back) = match uniform {
                        Some(span) => (span, span),
                        None => (costs.latency(other, one, bytes), costs.latency(one, other, bytes)),
                    };
                    each[(one - first) as usize] = a.max(b + there);
                    each[(other - first) as usize] = b.max(a + back);
                }
            }
        }
        for (link, values) in moves {
            for index in 0..link.count {
                let left = match &values {
                    RowClocks::Same(clock) => *clock,
                    RowClocks::Each(clocks) => clocks[index as usize],
                };
                let (to, from) = (link.near(index), link.far(index));
                let arrival = left + uniform.unwrap_or_else(|| costs.latency(from, to, bytes));
                let clock = &mut each[(to - first) as usize];
                *clock = arrival.max(*clock);
            }
        }
    }

    /// A round after which own clocks are equal as before.
    // Own clocks are one number before and after: then the next round is one addition here though the others
    // may differ.
    fn stays_equal(
        &mut self,
        inner: &Range<u32>,
        moves: &[(LinkRow, RowClocks)],
        uniform: Option<u64>,
    ) -> bool {
        let (Some(clock), Some(span)) = (self.clocks.equal(), uniform) else { return false };
        let reached = inner.len() as u64 + moves.iter().map(|(link, _)| u64::from(link.count)).sum::<u64>();
        let mut after = (!inner.is_empty()).then_some(clock + span);
        for (_, values) in moves {
            let RowClocks::Same(left) = values else { return false };
            let arrived = clock.max(left + span);
            if *after.get_or_insert(arrived) != arrived {
                return false;
            }
        }
        let stays = match after {
            None => true,
            Some(after) => after == clock || reached == self.clocks.len() as u64,
        };
        if let Some(after) = after.filter(|_| stays) {
            self.clocks.advance(after);
        }
        stays
    }

    fn take(&mut self, process: u32) -> Vec<u8> {
        let at = self.inbox.iter().position(|(round, from, _)| *round == self.round && *from == process);
        self.inbox.swap_remove(at.expect("a record that is expected is there")).2
    }

    /// Any other round: who sends and receives, by the schedule's steps. Where messages cost nothing, all
    /// leave at the clocks with which the round begins, so that a receive from an own member needs nothing
    /// but that. Else the cost of a member's message delays its next.
    // Receives come after sends in a member's steps, so that its first local step ends what matters to time
    // where messages, reductions and copies cost nothing.
    fn open_steps(&mut self, members: &impl Members, costs: &impl Costs, said: &mut RoundResult) {
        self.common = false;
        let mut member = members.prototype();
        let (mut steps, mut receives, mut moved, mut expected) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut work = Vec::new();
        let mut records = RoundRecords { round: self.round, records: Vec::new() };
        let mut burden = self.burden.take();
        if let Some(burden) = &mut burden {
            burden.arrivals.clear();
        }
        for rank in self.segment.active(self.schedule.active(self.round)) {
            member.rank = rank;
            members.describe(&mut member);
            steps.clear();
            self.schedule.round(&member, self.round, &mut steps);
            let place = self.segment.place(rank);
            let before = self.clocks.get(place);
            let (mut after, mut worked) = (before, 0);
            for step in &steps {
                match *step {
                    Step::Send { to, from } => {
                        said.messages += 1;
                        said.bytes += u128::from(from.bytes);
                        let here = self.segment.has(to);
                        let mut value = before;
                        if let Some(burden) = &mut burden {
                            after = burden.leave(place, after);
                            value = after + costs.latency(rank, to, from.bytes);
                            if here {
                                burden.arrivals.push(self.segment.place(to) as u32, rank, value);
                            }
                        }
                        if !here {
                            records.put(self.segment.process(to), to, rank, value);
                        }
                    }
                    Step::Receive { from, into } => {
                        let here = self.segment.has(from);
                        if here && burden.is_none() {
                            let left = self.clocks.get(self.segment.place(from));
                            after = after.max(left + costs.latency(from, rank, into.bytes));
                            continue;
                        }
                        receives.push((rank, from, into.bytes));
                        if !here {
                            let process = self.segment.process(from);
                            if !expected.contains(&process) {
                                expected.push(process);
                            }
                        }
                    }
                    _ if burden.is_none() => break,
                    Step::ReduceLeft { into, .. } | Step::ReduceRight { into, .. } => {
                        worked += costs.reduction(into.bytes);
                    }
                    Step::Copy { into, .. } => worked += costs.copying(into.bytes),
                }
            }
            if worked != 0 {
                work.push((rank, worked));
            }
            if after != before {
                moved.push((rank, after));
            }
        }
        self.burden = burden;
        said.records.append(&mut records.records);
        self.open = Some(OpenRound::Steps { receives, moved, work, expected });
    }

    fn close_steps(
        &mut self,
        receives: &[(u32, u32, u64)],
        mut moved: Vec<(u32, u64)>,
        work: &[(u32, u64)],
        costs: &impl Costs,
    ) {
        let mut told: Vec<(u32, u32, u64)> = Vec::new();
        while let Some(at) = self.inbox.iter().position(|(round, ..)| *round == self.round) {
            let (.., record) = self.inbox.swap_remove(at);
            let mut record = Take(&record);
            while !record.is_empty() {
                told.push((record.u32(), record.u32(), record.u64()));
            }
        }
        let segment = &self.segment;
        if let Some(burden) = &mut self.burden {
            told.into_iter().for_each(|(to, from, arrival)| {
                burden.arrivals.push(segment.place(to) as u32, from, arrival)
            });
            let clocks = self.clocks.spread();
            moved.into_iter().for_each(|(member, clock)| clocks[segment.place(member)] = clock);
            for &(to, from, _) in receives {
                let place = segment.place(to);
                // Counts that contradict each other may leave a receive without a message: the data plane
                // tells who is wrong.
                if let Some(arrival) = burden.arrivals.take(place as u32, from) {
                    clocks[place] = burden.take(place, clocks[place], arrival);
                }
            }
            for &(member, span) in work {
                let clock = &mut clocks[segment.place(member)];
                *clock = clocks::later(*clock, span);
            }
            return;
        }
        // A member sends all of a round at one time: by sender.
        // Several messages of one sender tell the same clock: any of them will do, and unstable order does no
        // harm.
        told.sort_unstable_by_key(|&(_, from, _)| from);
        for &(to, from, bytes) in receives {
            let at = told.partition_point(|&(_, sender, _)| sender < from);
            let Some(&(.., left)) = told.get(at).filter(|&&(_, sender, _)| sender == from) else { continue };
            let arrival = left + costs.latency(from, to, bytes);
            if arrival > self.clocks.get(segment.place(to)) {
                moved.push((to, arrival));
            }
        }
        // Clocks that nobody moved stay one number.
        if !moved.is_empty() {
            let clocks = self.clocks.spread();
            for (member, arrival) in moved {
                let clock = &mut clocks[segment.place(member)];
                *clock = arrival.max(*clock);
            }
        }
    }
}

/// Links cut into those of each process, in the order of their senders.
fn by_process(
    segments: &Segments,
    links: Vec<LinkRow>,
    sender: impl Fn(&LinkRow) -> u32,
) -> Vec<(u32, Vec<LinkRow>)> {
    let mut parts: Vec<(u32, LinkRow)> = Vec::new();
    links.into_iter().for_each(|link| link.by_process(segments, |process, part| parts.push((process, part))));
    parts.sort_by_key(|(process, part)| (*process, sender(part)));
    parts
        .chunk_by(|one, other| one.0 == other.0)
        .map(|chunk| (chunk[0].0, chunk.iter().map(|part| part.1).collect()))
        .collect()
}

/// The records of one round.
struct RoundRecords {
    round: u32,
    records: Vec<(u32, u32, Vec<u8>)>,
}

impl RoundRecords {
    fn put(&mut self, process: u32, to: u32, from: u32, value: u64) {
        let at = self.records.iter().position(|(other, ..)| *other == process).unwrap_or_else(|| {
            self.records.push((process, self.round, Vec::new()));
            self.records.len() - 1
        });
        let record = &mut self.records[at].2;
        record.u32(to);
        record.u32(from);
        record.u64(value);
    }
}

#[cfg(test)]
mod tests;

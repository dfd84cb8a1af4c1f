//! The times of a collective alone, all members at once: what its messages carry is known otherwise.

use crate::collective::instance::Place;
use crate::collective::pending::Pending;
use crate::collective::schedule::{Blocks, Member, Pattern, Schedule, Shape, Step};
use crate::collective::varied::Varied;
use crate::group::Group;
use crate::world::World;
use engine::{EndOfTime, Span, Time};
use std::rc::Rc;

/// How large the members' blocks are.
#[derive(Clone, Copy)]
pub(crate) enum Sizes<'a> {
    /// All so many bytes.
    Same(u64),
    /// As they say.
    Varied(&'a Varied),
}

/// The members' clocks in picoseconds: one number while they are equal.
pub(crate) struct Clocks {
    equal: Option<u64>,
    each: Vec<u64>,
    /// The next round's clocks are made here.
    spare: Vec<u64>,
    /// Between exchanges: the clocks of those that take part, by position, and how many pairs are folded.
    exchanging: Option<(Vec<u64>, usize)>,
    size: usize,
}

fn later(clock: u64, span: u64) -> u64 {
    (Time::from_ps(clock) + Span::from_ps(span)).as_ps()
}

/// The clock with which a member leaves.
///
/// The loops over clocks add without looking. No clock goes back in them, so that one which has passed half of all time stays there, and what
/// was added to it later may be wrong, but is not taken for right.
#[inline]
fn in_time(clock: u64) -> u64 {
    if clock >= 1 << 63 {
        EndOfTime::reached(
            "virtual time passed 2^63 picoseconds (106 days) in a collective; reduce link latencies, message sizes or compute factors",
        );
    }
    clock
}

impl Clocks {
    pub(crate) fn new(clocks: impl Iterator<Item = u64>) -> Clocks {
        let mut all = Clocks { equal: None, each: Vec::new(), spare: Vec::new(), exchanging: None, size: 0 };
        for clock in clocks {
            match all.equal {
                Some(equal) if equal == clock => {}
                None if all.size == 0 => all.equal = Some(clock),
                _ => {
                    all.spread();
                    all.each.push(clock);
                }
            }
            all.size += 1;
        }
        all
    }
    /// The same for `size` members.
    fn same(clock: u64, size: usize) -> Clocks {
        Clocks { equal: Some(clock), each: Vec::new(), spare: Vec::new(), exchanging: None, size }
    }
    /// By member, after the last round or between rounds of steps.
    #[inline]
    pub(crate) fn get(&self, member: usize) -> u64 {
        debug_assert!(self.exchanging.is_none(), "exchanges are over");
        self.equal.unwrap_or_else(|| self.each[member])
    }
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.size
    }
    /// The clocks after a round, by member.
    pub(super) fn replace(&mut self, clocks: Vec<u64>) {
        debug_assert!(self.exchanging.is_none() && clocks.len() == self.size, "a clock for each member");
        (self.equal, self.each) = (None, clocks);
    }
    fn spread(&mut self) -> &mut [u64] {
        if let Some(clock) = self.equal.take() {
            self.each = vec![clock; self.size];
        }
        &mut self.each
    }

    /// Every member receives from the one `distance` before it.
    fn shift(&mut self, distance: usize, span: u64) {
        if let Some(clock) = &mut self.equal {
            *clock = later(*clock, span);
            return;
        }
        let size = self.size;
        self.spare.resize(size, 0);
        let (before, after) = (&self.each, &mut self.spare);
        let arrive = |after: &mut [u64], own: &[u64], sent: &[u64]| {
            for ((after, &own), &sent) in after.iter_mut().zip(own).zip(sent) {
                *after = own.max(sent + span);
            }
        };
        arrive(&mut after[distance..], &before[distance..], &before[..size - distance]);
        arrive(&mut after[..distance], &before[..distance], &before[size - distance..]);
        std::mem::swap(&mut self.each, &mut self.spare);
    }

    /// Brings the clocks of those that exchange side by side, in order of their positions.
    fn line_up(&mut self, among: usize, folded: usize) -> &mut [u64] {
        if self.exchanging.as_ref().is_some_and(|(clocks, pairs)| (clocks.len(), *pairs) != (among, folded)) {
            self.end_exchanges();
        }
        if self.exchanging.is_none() {
            let each = self.spread();
            let mut clocks = Vec::with_capacity(among);
            clocks.extend(each[..2 * folded].chunks_exact(2).map(|pair| pair[1]));
            clocks.extend_from_slice(&each[2 * folded..folded + among]);
            self.exchanging = Some((clocks, folded));
        }
        &mut self.exchanging.as_mut().expect("made above").0
    }
    /// Takes them back.
    fn end_exchanges(&mut self) {
        let Some((clocks, folded)) = self.exchanging.take() else { return };
        for (pair, &clock) in self.each[..2 * folded].chunks_exact_mut(2).zip(&clocks) {
            pair[1] = clock;
        }
        self.each[2 * folded..folded + clocks.len()].copy_from_slice(&clocks[folded..]);
    }

    /// Pairs exchange; see [`Pattern::Exchange`].
    fn exchange(&mut self, mask: usize, among: usize, folded: usize, span: impl Fn(usize, usize) -> u64, constant: bool) {
        if let Some(clock) = &mut self.equal
            && constant
            && folded == 0
            && among == self.size
        {
            *clock = later(*clock, span(0, mask));
            return;
        }
        let clocks = self.line_up(among, folded);
        // The lower one of each pair has the mask's highest bit clear.
        let high = 1usize << mask.ilog2();
        if constant && mask == high {
            return exchange_halves(clocks, high, span(0, mask));
        }
        let member = |position: usize| if position < folded { 2 * position + 1 } else { position + folded };
        for base in (0..among).step_by(2 * high) {
            for one in base..base + high {
                let other = one ^ mask;
                let (a, b) = (clocks[one], clocks[other]);
                clocks[one] = a.max(b + span(member(other), member(one)));
                clocks[other] = b.max(a + span(member(one), member(other)));
            }
        }
    }
}

/// In each stretch of `2 * half` clocks, those of the first half exchange with those of the second.
fn exchange_halves(clocks: &mut [u64], half: usize, span: u64) {
    let exchange = |one: &mut u64, other: &mut u64| (*one, *other) = ((*one).max(*other + span), (*other).max(*one + span));
    if half == 1 {
        // Too short a loop to be one.
        for pair in clocks.chunks_exact_mut(2) {
            let (one, other) = pair.split_at_mut(1);
            exchange(&mut one[0], &mut other[0]);
        }
        return;
    }
    for stretch in clocks.chunks_exact_mut(2 * half) {
        let (first, second) = stretch.split_at_mut(half);
        for (one, other) in first.iter_mut().zip(second) {
            exchange(one, other);
        }
    }
}

impl World {
    /// All rounds of a collective of blocked members, without data: their clocks move, and they wake. `same` is the clock of all of
    /// them, if it is known to be one.
    pub(crate) fn run_clocks(&mut self, place: &Place, size: u32, schedule: &dyn Schedule, sizes: Sizes, same: Option<Time>) {
        let group = self.group_of(place);
        let clock_of = |member: u32| self.messages.ranks[group.world_rank(member) as usize].clock.as_ps();
        debug_assert!(
            same.is_none_or(|same| (0..size).all(|member| clock_of(member) == same.as_ps())),
            "nobody's clock moves while it is held"
        );
        let mut clocks = match same {
            Some(same) => Clocks::same(same.as_ps(), size as usize),
            None => Clocks::new((0..size).map(clock_of)),
        };
        self.pass_rounds(&group, schedule, sizes, &mut clocks);
        // Last to first, so that they run in the order of ranks.
        for member in (0..size).rev() {
            self.release_member(group.world_rank(member), clocks.get(member as usize));
        }
    }

    /// The same of members that have gone on: their requests complete.
    pub(crate) fn run_pending(&mut self, place: &Place, size: u32, schedule: &dyn Schedule, sizes: Sizes, pending: &Pending) {
        let group = self.group_of(place);
        let mut clocks = Clocks::new((0..size).map(|member| pending.clock(member).as_ps()));
        self.pass_rounds(&group, schedule, sizes, &mut clocks);
        for member in (0..size).rev() {
            self.finish_request(pending.request(member), Time::from_ps(in_time(clocks.get(member as usize))));
        }
    }

    pub(super) fn group_of(&self, place: &Place) -> Rc<Group> {
        match place {
            Place::Comm(comm) => self.objects.comms.at(*comm).group.clone(),
            Place::Group(_, group) => group.clone(),
        }
    }

    fn pass_rounds(&mut self, group: &Group, schedule: &dyn Schedule, sizes: Sizes, clocks: &mut Clocks) {
        let rank_of = |member: u32| group.world_rank(member);
        for round in 0..schedule.rounds() {
            if let Sizes::Varied(varied) = sizes
                && let Some(straight) = schedule.straight(round)
                && self.straight_round(straight, varied, &rank_of, clocks)
            {
                continue;
            }
            match schedule.pattern(round) {
                Some(pattern) => self.pattern_round(pattern, &rank_of, clocks),
                None => self.step_round(schedule, round, sizes, &rank_of, clocks),
            }
        }
        clocks.end_exchanges();
    }

    /// A blocked member of a collective is through at `clock`.
    #[inline]
    pub(crate) fn release_member(&mut self, rank: u32, clock: u64) {
        let clock = in_time(clock);
        let state = &mut self.messages.ranks[rank as usize];
        let waited = clock - state.clock.as_ps();
        if waited != 0 {
            state.clock = Time::from_ps(clock);
            state.spins = 0;
            self.messages.profile.wait(rank, Span::from_ps(waited));
        }
        if state.waiting != 0 {
            state.waiting = 0;
            self.messages.ready.wake(rank);
        }
    }

    /// All ranks of the world go through a collective of `MPI_COMM_WORLD` now, in time alone: nothing is sent, nobody waits for it.
    pub fn time_collective(&mut self, schedule: &dyn Schedule, shape: &Shape) {
        self.run_clocks(&Place::Comm(0), shape.size, schedule, Sizes::Same(shape.bytes), None);
    }

    /// A round in a regular pattern.
    pub(crate) fn pattern_round(&mut self, pattern: Pattern, rank_of: &impl Fn(u32) -> u32, clocks: &mut Clocks) {
        let uniform = |bytes: u64| {
            self.messages.wire.formula().and_then(|formula| formula.uniform()).map(|uniform| uniform.latency(false, bytes).as_ps())
        };
        let latency =
            |from: usize, to: usize, bytes: u64| self.messages.wire.latency(rank_of(from as u32), rank_of(to as u32), bytes).as_ps();
        let size = clocks.size;
        if !matches!(pattern, Pattern::Exchange { .. }) {
            clocks.end_exchanges();
        }
        let (messages, bytes) = match pattern {
            Pattern::Shift { distance, bytes } => {
                let distance = distance as usize % size.max(1);
                match uniform(bytes).filter(|_| distance != 0) {
                    Some(span) => clocks.shift(distance, span),
                    None => {
                        clocks.spread();
                        let after = |to: usize| {
                            let from = (to + size - distance) % size;
                            clocks.each[to].max(clocks.each[from] + latency(from, to, bytes))
                        };
                        clocks.spare = (0..size).map(after).collect();
                        std::mem::swap(&mut clocks.each, &mut clocks.spare);
                    }
                }
                (size as u64, bytes)
            }
            Pattern::Exchange { mask, among, folded, bytes } => {
                let (mask, counts) = (mask as usize, (among as usize, folded as usize));
                match uniform(bytes) {
                    Some(span) => clocks.exchange(mask, counts.0, counts.1, |_, _| span, true),
                    None => clocks.exchange(mask, counts.0, counts.1, |from, to| latency(from, to, bytes), false),
                }
                (u64::from(among), bytes)
            }
            Pattern::Pairs { pairs, up, bytes } => {
                let constant = uniform(bytes);
                let clocks = clocks.spread();
                for pair in 0..pairs as usize {
                    let (from, to) = if up { (2 * pair, 2 * pair + 1) } else { (2 * pair + 1, 2 * pair) };
                    let span = constant.unwrap_or_else(|| latency(from, to, bytes));
                    clocks[to] = clocks[to].max(clocks[from] + span);
                }
                (u64::from(pairs), bytes)
            }
        };
        self.count_messages(messages, bytes);
    }

    /// Any other round: who receives, by the schedule's steps. All leave at the clocks with which the round begins.
    fn step_round(&mut self, schedule: &dyn Schedule, round: u32, sizes: Sizes, rank_of: &impl Fn(u32) -> u32, clocks: &mut Clocks) {
        let none: Rc<[u32]> = Rc::new([]);
        clocks.end_exchanges();
        let size = clocks.size as u32;
        let blocks = Blocks::Uniform(if let Sizes::Same(block) = sizes { block } else { 0 });
        let mut member = Member { rank: 0, send: blocks.clone(), receive: blocks, sources: none.clone(), destinations: none };
        let (mut steps, mut moved): (Vec<Step>, Vec<(u32, u64)>) = (Vec::new(), Vec::new());
        let (mut messages, mut payload) = (0u64, 0u128);
        for rank in super::batch::members(schedule.active(round), size) {
            member.rank = rank;
            if let Sizes::Varied(varied) = sizes {
                (member.send, member.receive) = varied.blocks(rank);
                if let Some((sources, destinations)) = varied.neighbors(rank) {
                    (member.sources, member.destinations) = (sources, destinations);
                }
            }
            steps.clear();
            schedule.round(&member, round, &mut steps);
            let before = clocks.get(rank as usize);
            let mut after = before;
            for step in &steps {
                match *step {
                    Step::Send { from, .. } => {
                        messages += 1;
                        payload += u128::from(from.bytes);
                    }
                    Step::Receive { from, into } => {
                        let span = self.messages.wire.latency(rank_of(from), rank_of(rank), into.bytes);
                        after = after.max(clocks.get(from as usize) + span.as_ps());
                    }
                    _ => break,
                }
            }
            if after != before {
                moved.push((rank, after));
            }
        }
        let each = clocks.spread();
        for (member, clock) in moved {
            each[member as usize] = clock;
        }
        self.messages.profile.messages_of(messages, payload);
    }

    pub(crate) fn count_messages(&mut self, messages: u64, bytes: u64) {
        self.messages.profile.messages_of(messages, u128::from(messages) * u128::from(bytes));
    }
}

//! The order rules (`src/decisions.rs`), taken literally, in two ways: every message and every receive is
//! looked at each time, and one thing is decided at a time. Slow, and without lookahead, queues or processes.

use super::program::{Op, Outcome, Program, Seen, Step};

/// Latency of a message: a function from source, destination and bytes to picoseconds.
pub type Latency<'a> = &'a dyn Fn(u32, u32, u64) -> u64;

/// Order in which ranks go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Time goes from event to event, and nobody runs ahead: what a machine does on which every message takes
    /// time.
    Together,
    /// Every rank as far as it comes without a decision; then the first of all that is open is decided.
    Ahead,
}

struct Message {
    source: u32,
    to: u32,
    tag: i32,
    arrival: u64,
    taken: bool,
    /// `true` if its sender waits for the match.
    synchronous: bool,
}

struct Receive {
    from: Option<u32>,
    tag: Option<i32>,
    posted: u64,
    /// The time at which it completed, and what it got.
    done: Option<(u64, u32, i32)>,
    /// `true` if the program has seen that, or never will ask.
    reaped: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Runs,
    /// For this receive.
    Waits(usize),
    /// For the match of its message.
    Sends,
    /// In a call that only an ordered decision answers.
    Asks,
}

struct Rank {
    next: usize,
    clock: u64,
    state: State,
    receives: Vec<Receive>,
    /// The time at which a receive of the rank for any source was last decided.
    floor: u64,
}

/// Something to decide, in the order of (time, rank, source).
type Item = ((u64, u32, u32), Decision);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    Match { receive: usize, message: usize },
    Answer,
}

struct Model<'a> {
    program: &'a Program,
    latency: Latency<'a>,
    ranks: Vec<Rank>,
    messages: Vec<Message>,
    outcome: Outcome,
    pace: Pace,
    /// Up to when things happen; the end of time for ranks that run ahead.
    now: u64,
}

/// Returns what happens. Of ranks that may run at one time, those nearer to the end of `first` run first: the
/// outcome must not depend on it.
pub fn run(program: &Program, latency: Latency, pace: Pace, first: &[u32]) -> Outcome {
    let rank = |_: &Vec<Op>| Rank { next: 0, clock: 0, state: State::Runs, receives: Vec::new(), floor: 0 };
    let ranks = program.iter().map(rank).collect();
    let now = if pace == Pace::Ahead { u64::MAX } else { 0 };
    let mut model = Model {
        program,
        latency,
        ranks,
        messages: Vec::new(),
        outcome: vec![Vec::new(); program.len()],
        pace,
        now,
    };
    loop {
        while model.run_one(first) || model.match_named() || model.wake() || model.settle() || model.decide()
        {
        }
        match model.next_event() {
            Some(time) => model.now = time,
            None => return model.outcome,
        }
    }
}

fn accepts(from: Option<u32>, tag: Option<i32>, message: &Message) -> bool {
    from.is_none_or(|from| from == message.source) && tag.is_none_or(|tag| tag == message.tag)
}

impl Model<'_> {
    /// Runs one call of a rank whose time it is.
    fn run_one(&mut self, first: &[u32]) -> bool {
        let may = |rank: &&u32| {
            let state = &self.ranks[**rank as usize];
            state.state == State::Runs
                && state.clock <= self.now
                && state.next < self.program[**rank as usize].len()
        };
        let Some(&me) = first.iter().rev().find(may) else { return false };
        let op = self.program[me as usize][self.ranks[me as usize].next];
        match op {
            Op::Compute(time) => {
                self.ranks[me as usize].clock += time;
                self.done(me, None, None);
            }
            Op::Send { to, tag, bytes, synchronous } => {
                let arrival = self.ranks[me as usize].clock + (self.latency)(me, to, bytes);
                self.messages.push(Message { source: me, to, tag, arrival, taken: false, synchronous });
                if synchronous {
                    self.ranks[me as usize].state = State::Sends;
                } else {
                    self.done(me, None, None);
                }
            }
            Op::Receive { from, tag } => {
                let rank = &mut self.ranks[me as usize];
                rank.state = State::Waits(rank.receives.len());
                // Waits for any do not count it.
                rank.receives.push(Receive { from, tag, posted: rank.clock, done: None, reaped: true });
            }
            Op::Post { from, tag } => {
                let rank = &mut self.ranks[me as usize];
                rank.receives.push(Receive { from, tag, posted: rank.clock, done: None, reaped: false });
                self.done(me, None, None);
            }
            Op::WaitAny(_) | Op::TestAny(_)
                if self.ranks[me as usize].receives.iter().all(|receive| receive.reaped) =>
            {
                self.done(me, None, None)
            }
            Op::WaitAny(_) | Op::TestAny(_) | Op::Probe { .. } | Op::Iprobe { .. } => {
                self.ranks[me as usize].state = State::Asks
            }
        }
        true
    }

    /// Ends the call of `rank`.
    fn done(&mut self, rank: u32, index: Option<usize>, seen: Seen) {
        let state = &mut self.ranks[rank as usize];
        self.outcome[rank as usize].push(Step { call: state.next, index, seen, clock: state.clock });
        state.next += 1;
        state.state = State::Runs;
    }

    /// Returns the first message of `source` for `rank` in the order of sending that is accepted.
    fn head(&self, rank: u32, source: u32, (from, tag): (Option<u32>, Option<i32>)) -> Option<usize> {
        let is = |message: &Message| {
            message.to == rank && message.source == source && !message.taken && accepts(from, tag, message)
        };
        self.messages.iter().position(is)
    }

    /// Returns what a receive may take: the first message of its source that it accepts, if it is itself the
    /// first that accepts that.
    fn pairs(&self, rank: u32, receive: usize) -> Vec<usize> {
        let receives = &self.ranks[rank as usize].receives;
        let Receive { from, tag, done: None, .. } = receives[receive] else { return Vec::new() };
        let heads = (0..self.ranks.len() as u32).filter_map(|source| self.head(rank, source, (from, tag)));
        let first_for = |message: usize| {
            receives.iter().position(|other| {
                other.done.is_none() && accepts(other.from, other.tag, &self.messages[message])
            })
        };
        heads.filter(|&message| first_for(message) == Some(receive)).collect()
    }

    /// Matches a receive with a message, no earlier than `time` or than the receive was posted.
    fn take(&mut self, rank: u32, receive: usize, message: usize, time: u64) {
        let Message { source, tag, arrival, synchronous, .. } = self.messages[message];
        let met = arrival.max(self.ranks[rank as usize].receives[receive].posted).max(time);
        self.messages[message].taken = true;
        self.ranks[rank as usize].receives[receive].done = Some((met, source, tag));
        if synchronous {
            let back = (self.latency)(rank, source, 0);
            let sender = &mut self.ranks[source as usize];
            sender.clock = sender.clock.max(met + back);
            self.done(source, None, None);
        }
    }

    /// Gives a receive from a named source its message, whenever that arrives: no other receive can take it.
    /// Returns `false` if there is none.
    fn match_named(&mut self) -> bool {
        for rank in 0..self.ranks.len() as u32 {
            for receive in 0..self.ranks[rank as usize].receives.len() {
                if self.ranks[rank as usize].receives[receive].from.is_some()
                    && let Some(&message) = self.pairs(rank, receive).first()
                {
                    // If it had to wait for the decision about another receive, they meet no earlier than
                    // that.
                    self.take(rank, receive, message, self.ranks[rank as usize].floor);
                    return true;
                }
            }
        }
        false
    }

    /// Wakes a rank whose receive is complete. Returns `false` if there is none.
    fn wake(&mut self) -> bool {
        for rank in 0..self.ranks.len() {
            if let State::Waits(receive) = self.ranks[rank].state
                && let Some((time, source, tag)) = self.ranks[rank].receives[receive].done
            {
                self.ranks[rank].clock = self.ranks[rank].clock.max(time);
                self.done(rank as u32, None, Some((source, tag)));
                return true;
            }
        }
        false
    }

    /// Returns the message that a probe sees at `time`.
    fn visible(&self, rank: u32, pattern: (Option<u32>, Option<i32>), time: u64) -> Option<usize> {
        let heads = (0..self.ranks.len() as u32).filter_map(|source| self.head(rank, source, pattern));
        let there = heads.filter(|&message| self.messages[message].arrival <= time);
        there.min_by_key(|&message| (self.messages[message].arrival, self.messages[message].source))
    }

    /// Returns the posted receives that the rank asks about, of those that it has not seen completed: number,
    /// and when that is.
    fn requests(&self, rank: u32) -> impl Iterator<Item = (usize, Option<u64>)> {
        let state = &self.ranks[rank as usize];
        let (Op::WaitAny(many) | Op::TestAny(many)) = self.program[rank as usize][state.next] else {
            unreachable!("only these ask about receives")
        };
        let receives = state.receives.iter().enumerate().filter(|(_, receive)| !receive.reaped).take(many);
        receives.map(|(index, receive)| (index, receive.done.map(|(time, ..)| time)))
    }

    /// Answers what rests on nothing but what has happened by then, and cannot change any more.
    fn settle(&mut self) -> bool {
        let settled = (0..self.ranks.len() as u32)
            .find(|&rank| self.ranks[rank as usize].state == State::Asks && self.is_settled(rank));
        if let Some(rank) = settled {
            self.answer(rank);
        }
        settled.is_some()
    }

    // What is known ahead of its time does not count: it depends on who ran first.
    fn is_settled(&self, rank: u32) -> bool {
        let state = &self.ranks[rank as usize];
        let done_by = |time: u64, done: Option<u64>| done.is_some_and(|done| done <= time);
        match self.program[rank as usize][state.next] {
            // The first of all is complete, or all are at the instant at which one is.
            Op::WaitAny(_) | Op::TestAny(_) => {
                let first = self.requests(rank).filter_map(|(_, done)| done).min().unwrap_or(u64::MAX);
                let waits = self.program[rank as usize][state.next].waits();
                let until = if waits { state.clock.max(first) } else { state.clock };
                let first_of_all =
                    self.requests(rank).next().is_some_and(|(_, done)| done_by(state.clock, done));
                until <= self.now
                    && (first_of_all || self.requests(rank).all(|(_, done)| done_by(until, done)))
            }
            // Nobody else's message, and no earlier receive that might take it.
            Op::Probe { from, tag } | Op::Iprobe { from, tag } => {
                let overlaps = |receive: &Receive| {
                    receive.done.is_none()
                        && receive.from.is_none()
                        && (receive.tag.is_none() || tag.is_none() || receive.tag == tag)
                };
                let until =
                    if self.program[rank as usize][state.next].waits() { self.now } else { state.clock };
                let is_there = |source| {
                    self.head(rank, source, (from, tag))
                        .is_some_and(|message| self.messages[message].arrival <= until)
                };
                from.is_some_and(is_there) && !state.receives.iter().any(overlaps)
            }
            _ => unreachable!("these ask"),
        }
    }

    /// Appends to `items` the decisions that can be made for `rank` at this time.
    fn items(&self, rank: u32, items: &mut Vec<Item>) {
        let state = &self.ranks[rank as usize];
        for (receive, Receive { from, .. }) in state.receives.iter().enumerate() {
            let there = self
                .pairs(rank, receive)
                .into_iter()
                .filter(|&message| self.messages[message].arrival <= self.now);
            if from.is_none()
                && let Some(message) = there
                    .min_by_key(|&message| (self.messages[message].arrival, self.messages[message].source))
            {
                let Message { arrival, source, .. } = self.messages[message];
                items.push(((arrival, rank, source), Decision::Match { receive, message }));
            }
        }
        if state.state != State::Asks {
            return;
        }
        let time = match self.program[rank as usize][state.next] {
            Op::TestAny(_) | Op::Iprobe { .. } => Some(state.clock),
            Op::WaitAny(_) => {
                let first =
                    self.requests(rank).filter_map(|(_, done)| done).min().map(|time| time.max(state.clock));
                first.filter(|&time| time <= self.now)
            }
            Op::Probe { from, tag } => {
                self.visible(rank, (from, tag), self.now).map(|message| self.messages[message].arrival)
            }
            _ => unreachable!("these ask"),
        };
        items.extend(time.map(|time| ((time, rank, u32::MAX), Decision::Answer)));
    }

    /// Decides the first of all that can be decided now.
    fn decide(&mut self) -> bool {
        let mut items = Vec::new();
        (0..self.ranks.len() as u32).for_each(|rank| self.items(rank, &mut items));
        let Some(&((time, rank, _), decision)) = items.iter().min() else { return false };
        match decision {
            Decision::Match { receive, message } => {
                let time = time.max(self.ranks[rank as usize].floor);
                self.take(rank, receive, message, time);
                let rank = &mut self.ranks[rank as usize];
                rank.floor = time;
                if rank.state == State::Asks {
                    // Had it seen anything before, that would have been decided before.
                    rank.clock = rank.clock.max(time);
                }
            }
            Decision::Answer => self.answer(rank),
        }
        true
    }

    /// Answers a rank's question, at its clock if it does not wait.
    fn answer(&mut self, rank: u32) {
        let (mut index, mut seen) = (None, None);
        let mut clock = self.ranks[rank as usize].clock;
        let op = self.program[rank as usize][self.ranks[rank as usize].next];
        match op {
            Op::TestAny(_) | Op::WaitAny(_) => {
                if op.waits() {
                    clock = clock.max(self.requests(rank).filter_map(|(_, done)| done).min().unwrap_or(0));
                }
                let done =
                    |&(_, (_, time)): &(usize, (usize, Option<u64>))| time.is_some_and(|time| time <= clock);
                let found = self.requests(rank).enumerate().find(done);
                if let Some((at, (request, _))) = found {
                    let receive = &mut self.ranks[rank as usize].receives[request];
                    receive.reaped = true;
                    (index, seen) = (Some(at), receive.done.map(|(_, source, tag)| (source, tag)));
                }
            }
            Op::Probe { from, tag } | Op::Iprobe { from, tag } => {
                let until = if op.waits() { self.now } else { clock };
                if let Some(message) = self.visible(rank, (from, tag), until) {
                    let Message { source, tag, arrival, .. } = self.messages[message];
                    (seen, clock) = (Some((source, tag)), clock.max(arrival));
                }
            }
            _ => unreachable!("these ask"),
        }
        self.ranks[rank as usize].clock = clock;
        self.done(rank, index, seen);
    }

    /// Returns the next time at which anything can happen.
    fn next_event(&self) -> Option<u64> {
        if self.pace == Pace::Ahead {
            return None;
        }
        let runs = |(rank, state): (usize, &Rank)| {
            (state.state == State::Runs && state.next < self.program[rank].len()).then_some(state.clock)
        };
        let clocks = self.ranks.iter().enumerate().filter_map(runs);
        let arrivals = self.messages.iter().map(|message| message.arrival);
        let completions = self
            .ranks
            .iter()
            .flat_map(|rank| rank.receives.iter().filter_map(|receive| receive.done.map(|(time, ..)| time)));
        clocks.chain(arrivals).chain(completions).filter(|&time| time > self.now).min()
    }
}

//! What must wait for safe time: receives for any source, probes, tests, waits for any or some.
//!
//! A rank that must wait asks a [`Question`]; `agenda.rs` decides when it is answered.

mod calls;

use crate::matching::Pattern;
use crate::node::{State, flag};
use crate::request::{Completion, RequestArray};
use crate::world::World;
pub use calls::Found;
use engine::{Span, Time};
use rank::Addr;
use std::rc::Rc;

/// Free polls in a row before each costs time.
const FREE_SPINS: u32 = 64;
/// Polls in a row after which a rank jumps to the next instant at which its poll can succeed.
const JUMP_SPINS: u32 = 1_000;

/// Releases of polling ranks in a row, without a message between, after which they are taken to poll for ever.
pub(crate) const FRUITLESS_RELEASES: u32 = 10_000;

/// A question that only safe time can answer.
#[derive(Clone, Debug)]
pub enum Question {
    /// Are all of these complete?
    TestAll(RequestArray),
    /// Which is the first of these that is complete?
    TestAny(RequestArray),
    /// Which of these are complete?
    TestSome(RequestArray),
    /// Wait for the first.
    WaitAny(RequestArray),
    /// Wait for at least one.
    WaitSome(RequestArray),
    /// Is there such a message?
    Iprobe(Pattern),
    /// Wait for such a message.
    Probe(Pattern),
    /// Has no message arrived for this receive, so that it can be cancelled?
    Cancel,
}

/// A rank blocked in a question.
#[derive(Clone, Debug)]
pub struct Poll {
    /// What it asks.
    pub question: Question,
    /// Whether it may only go on with a "yes" (it has polled in vain too often).
    pub jump: bool,
    /// The request handles that it asks about: those in the program can be read only while the rank is mounted.
    kept: Option<Rc<[usize]>>,
}

impl Poll {
    /// Copies the handles, so that others can look at them.
    fn keep(&mut self) {
        let requests = match &mut self.question {
            Question::TestAll(requests)
            | Question::TestAny(requests)
            | Question::TestSome(requests)
            | Question::WaitAny(requests)
            | Question::WaitSome(requests) => requests,
            Question::Iprobe(_) | Question::Probe(_) | Question::Cancel => return,
        };
        let kept: Rc<[usize]> = requests.iter().collect();
        *requests = RequestArray { at: Addr(kept.as_ptr() as usize), count: requests.count, wide: true };
        self.kept = Some(kept);
    }
}

/// When a question can be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Open {
    /// Now.
    Final,
    /// Once safe time has passed this.
    At(Time),
    /// Not before something else happens.
    Never,
}

impl World {
    /// Whether the mounted rank's question must block; if not, it can be answered from what is known.
    pub(crate) fn open(&self, rank: u32, poll: &Poll) -> Open {
        let clock = self.clock(rank);
        let known = |handle: usize| self.completion(handle).unwrap_or(Completion::Null);
        let blocked = |requests: &RequestArray| {
            let (mut least, mut unknown) = (Time::MAX, false);
            for handle in requests.iter() {
                match known(handle) {
                    Completion::At(time) => least = least.min(time),
                    Completion::Unknown => unknown = true,
                    Completion::Null => {}
                }
            }
            match (unknown, least) {
                (false, _) => Open::Final,
                (true, Time::MAX) => Open::Never,
                (true, least) => Open::At(least.max(clock)),
            }
        };
        match &poll.question {
            Question::TestAll(requests) => {
                let (mut unknown, mut late, mut latest) = (false, false, clock);
                for handle in requests.iter() {
                    match known(handle) {
                        Completion::At(time) => (late, latest) = (late || time > clock, latest.max(time)),
                        Completion::Unknown => unknown = true,
                        Completion::Null => {}
                    }
                }
                match (poll.jump, late, unknown) {
                    (false, true, _) | (_, _, false) => Open::Final,
                    (false, false, true) => Open::At(clock),
                    (true, _, true) => Open::Never,
                }
            }
            Question::TestAny(requests) if !poll.jump => {
                for handle in requests.iter() {
                    match known(handle) {
                        Completion::Unknown => return Open::At(clock),
                        Completion::At(time) if time <= clock => return Open::Final,
                        _ => {}
                    }
                }
                Open::Final
            }
            Question::TestSome(requests) if !poll.jump => {
                if requests.iter().any(|handle| known(handle) == Completion::Unknown) {
                    Open::At(clock)
                } else {
                    Open::Final
                }
            }
            Question::WaitAny(requests) => {
                for handle in requests.iter() {
                    match known(handle) {
                        Completion::Unknown => break,
                        Completion::At(time) if time <= clock => return Open::Final,
                        _ => {}
                    }
                }
                blocked(requests)
            }
            Question::TestAny(requests) | Question::TestSome(requests) | Question::WaitSome(requests) => blocked(requests),
            Question::Iprobe(pattern) if !poll.jump => match (pattern.source, self.head(rank, pattern)) {
                (Some(_), Some(_)) if !self.wild_overlaps(rank, pattern) => Open::Final,
                _ => Open::At(clock),
            },
            Question::Probe(pattern) | Question::Iprobe(pattern) => match (pattern.source, self.head(rank, pattern)) {
                (Some(_), Some(_)) if !self.wild_overlaps(rank, pattern) => Open::Final,
                (_, Some((_, time))) => Open::At(time),
                (_, None) => Open::Never,
            },
            Question::Cancel => Open::At(clock),
        }
    }

    /// The best message for a probe: of the heads of all sources the least by (arrival, source).
    pub(crate) fn head(&self, rank: u32, pattern: &Pattern) -> Option<(u32, Time)> {
        if pattern.source.is_some() {
            let (index, _) = self.find_unexpected(rank, pattern)?;
            let node = &self.nodes[index];
            return (!node.has(flag::UNDER_WAY)).then_some((index, node.arrival));
        }
        self.unexpected
            .best(self.ranks[rank as usize].unexpected, pattern, &[], &self.nodes)
            .map(|(index, _)| (index, self.nodes[index].arrival))
    }

    /// A blocked poll may be answerable now: wakes its rank if so.
    pub(crate) fn settle_poll(&mut self, rank: u32) {
        let Some(poll) = self.polls.get(&rank) else { return };
        if self.open(rank, poll) == Open::Final {
            self.answer(rank);
        }
    }

    /// Wakes a rank that is blocked in a poll; once, though both a decision about it and one about another rank's
    /// receive may answer it.
    pub(crate) fn answer(&mut self, rank: u32) {
        if self.polls.remove(&rank).is_none() {
            return;
        }
        self.reconsider(rank);
        self.ranks[rank as usize].polling = false;
        self.ready.wake(rank);
    }

    /// The clock and number of the polling rank that may be sent on first.
    pub(crate) fn least_poller(&self) -> Option<(Time, u32)> {
        self.polls.iter().filter(|(_, poll)| poll.jump).map(|(&rank, _)| (self.clock(rank), rank)).min()
    }

    /// Answers "no" to a polling rank that jumped ahead.
    pub(crate) fn send_poller_on(&mut self, rank: u32) {
        self.forget_safe();
        self.ranks[rank as usize].spins = 0;
        self.answer(rank);
    }

    /// Nothing can happen unless a rank that jumped ahead of its polls goes on polling: it may compute
    /// between them and send in the end. Answers "no" to the one with the least clock; false if there is none, or
    /// this has been in vain for too long.
    pub(crate) fn release_poller(&mut self) -> bool {
        let messages = self.profile.messages();
        if self.released.0 != messages {
            self.released = (messages, 0);
        }
        self.released.1 += 1;
        let Some((_, rank)) = self.least_poller().filter(|_| self.released.1 <= FRUITLESS_RELEASES) else { return false };
        self.send_poller_on(rank);
        true
    }

    /// Counts a poll that found nothing, or a reading of a clock: after many in a row each costs time.
    pub(crate) fn spin(&mut self, rank: u32) {
        let spins = self.ranks[rank as usize].spins + 1;
        if spins > FREE_SPINS {
            self.ranks[rank as usize].clock += Span::from_ps(1_000.max(u64::from(spins) * 1_000 / 128));
        }
        self.ranks[rank as usize].spins = spins;
    }

    fn withdraw(&mut self, rank: u32, index: u32) {
        self.unlink_posted(rank, index);
        let clock = self.clock(rank);
        let node = &mut self.nodes[index];
        if node.has(flag::WILD) {
            self.ranks[rank as usize].wilds -= 1;
        }
        let node = &mut self.nodes[index];
        node.state = State::Cancelled;
        node.arrival = clock;
        self.rematch(rank);
        self.reconsider(rank);
    }
}

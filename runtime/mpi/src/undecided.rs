//! What must wait for safe time: receives for any source, probes, tests, waits for any or some.
//!
//! A rank that must wait asks a [`Question`]; `agenda.rs` decides when it is answered.

mod calls;
mod row;

use crate::matching::Pattern;
use crate::node::{State, flag};
use crate::request::{Completion, RequestArray};
use crate::world::World;
pub use calls::Found;
use engine::Time;
use rank::Addr;
pub(crate) use row::{Fruitless, Row};
use std::rc::Rc;

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

impl Question {
    /// Whether it is one of a call that does not wait.
    fn is_poll(&self) -> bool {
        matches!(self, Question::TestAll(_) | Question::TestAny(_) | Question::TestSome(_) | Question::Iprobe(_))
    }
    /// The requests that it asks about.
    fn requests(&self) -> Option<RequestArray> {
        match self {
            Question::TestAll(requests)
            | Question::TestAny(requests)
            | Question::TestSome(requests)
            | Question::WaitAny(requests)
            | Question::WaitSome(requests) => Some(*requests),
            Question::Iprobe(_) | Question::Probe(_) | Question::Cancel => None,
        }
    }
}

/// A question with the request handles that it asks about: those in the program can be read only while the rank is mounted.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What is asked.
    pub question: Question,
    // What the question's array points to.
    _kept: Option<Rc<[usize]>>,
}

impl Asked {
    /// Copies the handles, so that others can look at them.
    fn keep(question: &Question) -> Asked {
        let mut question = question.clone();
        let requests = match &mut question {
            Question::TestAll(requests)
            | Question::TestAny(requests)
            | Question::TestSome(requests)
            | Question::WaitAny(requests)
            | Question::WaitSome(requests) => requests,
            Question::Iprobe(_) | Question::Probe(_) | Question::Cancel => return Asked { question, _kept: None },
        };
        let kept: Rc<[usize]> = requests.iter().collect();
        *requests = RequestArray { at: Addr(kept.as_ptr() as usize), count: requests.count, wide: true };
        Asked { question, _kept: Some(kept) }
    }
}

/// What a rank is blocked for.
#[derive(Clone, Debug)]
pub enum Poll {
    /// The answer to this.
    Once(Asked),
    /// It has asked these in turn, always in vain, and is parked until one of them can be answered with "yes". Never empty.
    Parked(Vec<Asked>),
}

impl Poll {
    /// The question of the call that blocks.
    pub(crate) fn question(&self) -> &Question {
        match self {
            Poll::Once(asked) => &asked.question,
            Poll::Parked(cycle) => &cycle[0].question,
        }
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
    /// When a blocked rank's poll can be answered from what is known.
    pub(crate) fn open(&self, rank: u32, poll: &Poll) -> Open {
        match poll {
            Poll::Once(asked) => self.open_once(rank, &asked.question),
            Poll::Parked(cycle) => self.open_cycle(rank, cycle),
        }
    }

    /// When one question of `rank` can be answered from what is known.
    fn open_once(&self, rank: u32, question: &Question) -> Open {
        let clock = self.messages.clock(rank);
        let known = |handle: usize| self.messages.completion(handle).unwrap_or(Completion::Null);
        match question {
            Question::TestAll(requests) => {
                let (mut unknown, mut late) = (false, false);
                for handle in requests.iter() {
                    match known(handle) {
                        Completion::At(time) => late = late || time > clock,
                        Completion::Unknown => unknown = true,
                        Completion::Null => {}
                    }
                }
                if late || !unknown { Open::Final } else { Open::At(clock) }
            }
            Question::TestAny(requests) => {
                for handle in requests.iter() {
                    match known(handle) {
                        Completion::Unknown => return Open::At(clock),
                        Completion::At(time) if time <= clock => return Open::Final,
                        _ => {}
                    }
                }
                Open::Final
            }
            Question::TestSome(requests) => {
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
                self.first_of(requests).open(clock)
            }
            Question::WaitSome(requests) => self.first_of(requests).open(clock),
            Question::Iprobe(pattern) => match (pattern.source, self.head(rank, pattern)) {
                (Some(_), Some(_)) if !self.messages.wild_overlaps(rank, pattern) => Open::Final,
                _ => Open::At(clock),
            },
            Question::Probe(pattern) => match (pattern.source, self.head(rank, pattern)) {
                (Some(_), Some(_)) if !self.messages.wild_overlaps(rank, pattern) => Open::Final,
                (_, Some((_, time))) => Open::At(time),
                (_, None) => Open::Never,
            },
            Question::Cancel => Open::At(clock),
        }
    }

    /// The best message for a probe: of the heads of all sources the least by (arrival, source).
    pub(crate) fn head(&self, rank: u32, pattern: &Pattern) -> Option<(u32, Time)> {
        if pattern.source.is_some() {
            let (index, _) = self.messages.find_unexpected(rank, pattern)?;
            let node = &self.messages.nodes[index];
            return (!node.has(flag::UNDER_WAY)).then_some((index, node.arrival));
        }
        self.messages
            .unexpected
            .best(self.messages.ranks[rank as usize].unexpected, pattern, &[], &self.messages.nodes)
            .map(|(index, _)| (index, self.messages.nodes[index].arrival))
    }

    /// A blocked poll may be answerable now: wakes its rank if so.
    pub(crate) fn settle_poll(&mut self, rank: u32) {
        let Some(poll) = self.order.polls.get(&rank) else { return };
        if self.open(rank, poll) == Open::Final {
            self.answer(rank);
        }
    }

    /// Wakes a rank that is blocked in a poll; once, though both a decision about it and one about another rank's
    /// receive may answer it.
    pub(crate) fn answer(&mut self, rank: u32) {
        let Some(poll) = self.order.polls.remove(&rank) else { return };
        if let Poll::Parked(cycle) = &poll {
            self.unpark(rank, cycle);
        }
        self.messages.mark_dirty(rank);
        self.messages.ranks[rank as usize].polling = false;
        self.messages.ready.wake(rank);
    }

    fn withdraw(&mut self, rank: u32, index: u32) {
        self.messages.unlink_posted(rank, index);
        let clock = self.messages.clock(rank);
        let node = &mut self.messages.nodes[index];
        if node.has(flag::WILD) {
            self.messages.ranks[rank as usize].wilds -= 1;
        }
        let node = &mut self.messages.nodes[index];
        node.state = State::Cancelled;
        node.arrival = clock;
        self.messages.rematch(rank);
        self.messages.mark_dirty(rank);
    }
}

//! Questions of ranks that only safe time can answer, and those that found nothing.

use crate::envelope::Pattern;
use crate::request::{RequestArray, Round};
use engine::Time;
use rank::Addr;
use std::rc::Rc;

/// A question that only safe time can answer.
#[derive(Clone, Debug)]
pub enum Question {
    /// Are all of these complete?
    TestAll(RequestArray),
    /// The first of these that is complete.
    TestAny(Round),
    /// All of these that are complete.
    TestSome(RequestArray),
    /// Wait for all of these, of a rank that may be told of a failure before they are complete
    /// ([`p2p::faults`]).
    WaitAll(RequestArray),
    /// Wait for the first.
    WaitAny(Round),
    /// Wait for at least one.
    WaitSome(RequestArray),
    /// Is there such a message?
    Iprobe(Pattern),
    /// Wait for such a message.
    Probe(Pattern),
    /// The events up to the rank's clock, such as failures.
    Instant,
    /// Can nothing happen any more before now? Of a call that asks nothing itself.
    Now,
    /// Has no message arrived for the receive of this node, so that it can be cancelled?
    Cancel(u32),
}

impl Question {
    /// Returns `true` if it is one of a call that does not wait.
    pub(crate) fn is_poll(&self) -> bool {
        matches!(
            self,
            Question::TestAll(_)
                | Question::TestAny(_)
                | Question::TestSome(_)
                | Question::Iprobe(_)
                | Question::Instant
        )
    }
    /// Returns `true` if it is one of a call that waits until another rank does something.
    pub(crate) fn waits_for_others(&self) -> bool {
        matches!(
            self,
            Question::WaitAll(_) | Question::WaitAny(_) | Question::WaitSome(_) | Question::Probe(_)
        )
    }
    /// Returns the requests of which it asks for any or some.
    pub(crate) fn requests_for_any(&self) -> Option<RequestArray> {
        match self {
            Question::TestAny(_) | Question::TestSome(_) | Question::WaitAny(_) | Question::WaitSome(_) => {
                self.requests()
            }
            _ => None,
        }
    }
    /// Returns the requests that it asks about.
    pub(crate) fn requests(&self) -> Option<RequestArray> {
        match self {
            Question::TestAny(round) | Question::WaitAny(round) => Some(round.requests),
            Question::TestAll(requests)
            | Question::TestSome(requests)
            | Question::WaitAll(requests)
            | Question::WaitSome(requests) => Some(*requests),
            Question::Iprobe(_)
            | Question::Probe(_)
            | Question::Instant
            | Question::Now
            | Question::Cancel(_) => None,
        }
    }
}

/// A question with the request handles that it asks about: those in the program can be read only while the
/// rank is mounted.
// The copy is made only by a rank that steps back: a question answered at once reads the program's own array.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The question, which refers to the copied handles.
    pub question: Question,
    // What the question's array points to.
    // Shared, since parking puts one question into a cycle and into the poll.
    _kept: Option<KeptHandles>,
}

/// Handles that stay as they are while others may look at them.
#[derive(Clone, Debug)]
enum KeptHandles {
    Copied { _handles: Rc<[usize]> },
    Watched { _bytes: Rc<[u8]> },
}

impl Asked {
    /// Copies the handles, so that others can look at them.
    pub(crate) fn keep(question: &Question) -> Asked {
        let mut question = question.clone();
        let kept: Rc<[usize]> = match &mut question {
            Question::TestAll(requests)
            | Question::TestSome(requests)
            | Question::WaitAll(requests)
            | Question::WaitSome(requests) => {
                let kept = requests.iter().collect();
                *requests = array_of(&kept);
                kept
            }
            Question::TestAny(round) | Question::WaitAny(round) => {
                let kept = round.active().map(|(_, handle)| handle).collect();
                *round = Round { requests: array_of(&kept), from: 0 };
                kept
            }
            Question::Iprobe(_)
            | Question::Probe(_)
            | Question::Instant
            | Question::Now
            | Question::Cancel(_) => {
                return Asked { question, _kept: None };
            }
        };
        Asked { question, _kept: Some(KeptHandles::Copied { _handles: kept }) }
    }
}

impl Asked {
    /// Shares the handles that are kept of the question's array.
    pub(crate) fn of_kept(question: &Question, (array, bytes): (RequestArray, Rc<[u8]>)) -> Asked {
        let mut question = question.clone();
        match &mut question {
            Question::TestSome(requests) | Question::WaitSome(requests) => *requests = array,
            Question::TestAny(round) | Question::WaitAny(round) => round.requests = array,
            _ => unreachable!("no others are watched"),
        }
        Asked { question, _kept: Some(KeptHandles::Watched { _bytes: bytes }) }
    }
}

fn array_of(handles: &Rc<[usize]>) -> RequestArray {
    RequestArray { at: Addr(handles.as_ptr() as usize), count: handles.len() as u32, wide: true }
}

/// Reason why a rank is blocked in a question.
#[derive(Clone, Debug)]
pub enum Poll {
    /// The answer to this.
    Once(Asked),
    /// It has asked these in a cycle, without success, and is parked until one of them can be answered with
    /// "yes". Never empty.
    Parked(Vec<Asked>),
    /// The needs of its threads ([`crate::order::threads`]).
    Threads,
}

impl Poll {
    /// Returns `true` if its rank does nothing else.
    pub(crate) fn is_parked(&self) -> bool {
        matches!(self, Poll::Parked(_))
    }
    /// Returns the question of the call that blocks, if the rank is blocked in one call.
    pub(crate) fn question(&self) -> Option<&Question> {
        match self {
            Poll::Once(asked) => Some(&asked.question),
            // The one that comes round again: the call in which the rank is blocked.
            Poll::Parked(cycle) => Some(&cycle[0].question),
            Poll::Threads => None,
        }
    }
}

/// The time at which a question can be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Open {
    /// Now.
    Final,
    /// Once safe time has passed this.
    At(Time),
    /// Not before something else happens.
    Never,
}

impl Asked {
    /// Returns `true` if `question`, of the mounted rank, asks the same.
    // By the handles and not by the array's address: a loop may ask about the same requests from a copy, and
    // about others in the same memory.
    pub(crate) fn is(&self, question: &Question) -> bool {
        match (&self.question, question) {
            (Question::Iprobe(one), Question::Iprobe(other)) => one == other,
            (Question::TestAll(one), Question::TestAll(other))
            | (Question::TestSome(one), Question::TestSome(other)) => one.iter().eq(other.iter()),
            (Question::TestAny(one), Question::TestAny(other)) => {
                one.active().map(|(_, handle)| handle).eq(other.active().map(|(_, handle)| handle))
            }
            (Question::Instant, Question::Instant) => true,
            _ => false,
        }
    }
}

/// Failed polls of a rank since it last did anything else.
#[derive(Default)]
pub(crate) struct PollHistory {
    pub(crate) asked: Vec<Asked>,
    /// The count of failed polls at its next poll, if nothing comes between.
    pub(crate) next: u32,
    /// Number of times in a row that it was parked and then sent on with the answer "no".
    pub(crate) released: u32,
}

//! Failed polls in a row: a rank that asks the same over and over, and does nothing else, is parked until
//! something that it asks for is there.

use crate::handle::{self, RequestRef};
use crate::order::poller::Poller;
use crate::order::question::{Asked, Open, Poll, Question};
use crate::ranks::FREE_POLLS;
use crate::request::{Body, Completion, Request, RequestArray};
use crate::world::World;
use engine::Time;

/// Failed polls of a rank that was sent on from where it was parked, because it may compute between its
/// polls. Twice as many each time that these failed again, but for so many times.
const PATIENT_POLLS: u32 = 1_000;
const DOUBLINGS: u32 = 4;
/// Polls after which a rank is parked that does other things between them.
// Long enough that a program which measures something between its polls is not disturbed, short enough to
// notice one that will not end.
const TIRED_POLLS: u32 = 100_000;
/// The longest cycle of questions that is seen as one.
// A loop over more requests than that one by one is not told from one that never repeats.
const LONGEST_CYCLE: usize = 1_024;

/// The time at which the first of several questions can be answered with "yes".
// Two numbers for a whole set of questions: folding them is associative, so that a cycle is looked at in any
// order.
#[derive(Clone, Copy)]
pub(crate) struct First {
    /// The least time that is known; [`Time::MAX`] if none is.
    time: Time,
    /// The greatest.
    latest: Time,
    /// `true` if an earlier one may become known.
    pub(super) unknown: bool,
}

impl First {
    pub(super) const NONE: First = First { time: Time::MAX, latest: Time::ZERO, unknown: false };
    const UNKNOWN: First = First { unknown: true, ..First::NONE };

    fn at(time: Time) -> First {
        First { time, latest: time, unknown: false }
    }

    pub(super) fn of(completion: Completion) -> First {
        match completion {
            Completion::At(time) => First::at(time),
            Completion::Unknown => First::UNKNOWN,
            Completion::Null => First::NONE,
        }
    }

    /// Returns `true` if one of them is known to come after `clock`.
    pub(super) fn is_late(&self, clock: Time) -> bool {
        self.latest > clock
    }

    pub(super) fn or(self, other: First) -> First {
        First {
            time: self.time.min(other.time),
            latest: self.latest.max(other.latest),
            unknown: self.unknown || other.unknown,
        }
    }

    /// Returns how the question is open to a rank that may be notified of a failure before.
    pub(super) fn open_in_order(self, clock: Time) -> Open {
        match (self.unknown, self.time) {
            (false, Time::MAX) => Open::Final,
            (true, Time::MAX) => Open::Never,
            (_, time) => Open::At(time.max(clock)),
        }
    }

    /// Returns how the question is open to a rank that waits for it, `in_turn` if it may not make use of what
    /// is known ahead of its time ([`World::open_once`]).
    pub(super) fn open(self, clock: Time, in_turn: bool) -> Open {
        let foreknown = in_turn && self.latest > self.time.max(clock);
        match (self.unknown || foreknown, self.time) {
            (false, _) => Open::Final,
            (true, Time::MAX) => Open::Never,
            (true, time) => Open::At(time.max(clock)),
        }
    }
}

/// Returns how often a rank polls that was sent on so often before.
fn patience(released: u32) -> u32 {
    PATIENT_POLLS << released.min(DOUBLINGS)
}

impl World {
    /// Returns when the first of these requests is complete.
    pub(super) fn first_of(&self, rank: u32, requests: &RequestArray) -> First {
        let known = |handle| self.completion(handle).unwrap_or(Completion::Null);
        if let Some(array) = self.watched(rank, requests) {
            return array.extremes(known).map(First::of).fold(First::NONE, First::or);
        }
        requests.active().fold(First::NONE, |first, (_, handle)| first.or(First::of(known(handle))))
    }

    /// Returns when a poll of `rank` succeeds.
    fn success(&self, rank: u32, question: &Question) -> First {
        match question {
            Question::TestAll(requests) => {
                let mut latest = self.messages.clock(rank);
                for handle in requests.iter() {
                    match self.completion(handle) {
                        Ok(Completion::At(time)) => latest = latest.max(time),
                        Ok(Completion::Unknown) => return First::UNKNOWN,
                        Ok(Completion::Null) | Err(_) => {}
                    }
                }
                First::at(latest)
            }
            Question::TestAny(round) => self.first_of(rank, &round.requests),
            Question::TestSome(requests) => self.first_of(rank, requests),
            Question::Iprobe(pattern) => match self.head(rank, pattern) {
                None => First::UNKNOWN,
                Some((_, time)) => {
                    let unknown = pattern.source.is_none() || self.wildcard_overlaps(rank, pattern);
                    First { unknown, ..First::at(time) }
                }
            },
            Question::Instant | Question::Now => First::UNKNOWN,
            Question::WaitAll(_)
            | Question::WaitAny(_)
            | Question::WaitSome(_)
            | Question::Probe(_)
            | Question::Cancel(_) => First::NONE,
        }
    }

    fn first_success(&self, rank: u32, cycle: &[Asked]) -> First {
        cycle.iter().map(|asked| self.success(rank, &asked.question)).fold(First::NONE, First::or)
    }

    pub(super) fn open_cycle(&self, rank: u32, cycle: &[Asked]) -> Open {
        self.open_first(rank, self.first_success(rank, cycle))
    }

    /// A parked rank goes on, at the instant at which the first of its polls succeeds.
    // The clock jumps over all polls that would have failed: their cost is nothing by then, as no
    // computation is charged.
    pub(super) fn unpark(&mut self, rank: u32, cycle: &[Asked]) {
        let First { time, .. } = self.first_success(rank, cycle);
        if time != Time::MAX {
            self.messages.ranks_mut().advance(rank, time);
            self.order.histories.remove(&rank);
        }
    }

    /// Parks the mounted rank, which asks `question`, if that is due. Returns all that it has asked without
    /// success since it asked it last; `None` if it is not parked.
    #[inline]
    pub(super) fn park(&mut self, question: &Question) -> Option<Vec<Asked>> {
        if self.messages.ranks().strand().failed_polls() < FREE_POLLS {
            None
        } else {
            self.park_idle(question)
        }
    }

    // A cycle is seen when its first question comes again with nothing else between: `next` is the count that
    // an unbroken history must have.
    #[inline(never)]
    fn park_idle(&mut self, question: &Question) -> Option<Vec<Asked>> {
        // What it polls for may be what another thread is about to do.
        if self.order.threads.several() {
            return None;
        }
        let failed_polls = self.messages.ranks().strand().failed_polls();
        let alone = || (failed_polls >= TIRED_POLLS).then(|| vec![Asked::keep(question)]);
        if !self.messages.ranks().polls_again() {
            if let Some(history) = self.order.histories.get_mut(&self.messages.me()) {
                history.asked.clear();
            }
            return alone();
        }
        let history = self.order.histories.entry(self.messages.me()).or_default();
        // What was asked before something else may name requests that are no more.
        if history.next != failed_polls {
            history.asked.clear();
        }
        history.next = failed_polls + 1;
        if history.released != 0 && failed_polls < patience(history.released - 1) {
            return None;
        }
        if history.asked.first().is_some_and(|first| first.is(question)) {
            return Some(std::mem::take(&mut history.asked));
        }
        if history.asked.len() == LONGEST_CYCLE {
            history.asked.clear();
            return alone();
        }
        history.asked.push(Asked::keep(question));
        None
    }

    /// Returns `true` if the mounted rank's question, which others could not answer yet when they all waited
    /// last, can be answered now: no message comes any more that would change it.
    // Each receive for any source that was decided for the answer may change it: asked again until it is open
    // no more.
    pub(super) fn is_settled(&mut self, question: &Question, cycle: Option<&[Asked]>) -> bool {
        let me = self.messages.me();
        loop {
            let open = match cycle {
                Some(cycle) => self.open_cycle(me, cycle),
                None => self.open_once(me, question),
            };
            match open {
                Open::Final => return true,
                Open::At(time) if self.has_news(me, time) || self.has_accesses(me, time) => return false,
                Open::At(time) if self.is_safe(time) => {
                    if !self.decide_own(time) {
                        return !match cycle {
                            Some(cycle) => cycle.iter().any(|asked| self.asks_for_a_match(&asked.question)),
                            None => self.asks_for_a_match(question),
                        };
                    }
                    if cycle.is_none() {
                        self.watch_now(question);
                    }
                }
                Open::At(time) => return cycle.is_none() && question.is_poll() && self.has_turn(time),
                Open::Never => return false,
            }
        }
    }

    /// Returns `true` if a rank is to be told of a failure or a revocation first, or another of a match with
    /// it.
    // What it asks may end with an error then.
    fn has_news(&self, rank: u32, until: Time) -> bool {
        let messages = &self.messages;
        let Some(faults) = messages.faults() else { return false };
        faults.first_alarm(rank).is_some_and(|at| at <= until)
            || messages.requests().deferred().first(rank).is_some_and(|(met, ..)| met <= until)
    }

    /// Returns `true` if something of a chapter waits for its decision at a rank, until `until` or then: an
    /// access to its memory for one.
    // Safe time promises that nothing more comes. What has come is decided when all ranks wait, and may be
    // what the rank asks for.
    fn has_accesses(&self, rank: u32, until: Time) -> bool {
        self.chapters.first_open(rank).is_some_and(|(_, at, _)| at <= until)
    }

    /// Returns `true` if a request that is asked about completes when somebody receives: when that is may be
    /// an open decision of that rank.
    // Safe time promises that no message comes; what a receiver that is not mounted posts later is no
    // message.
    fn asks_for_a_match(&self, question: &Question) -> bool {
        let Some(requests) = question.requests() else { return false };
        let waits = |handle| match handle::request(self.messages.requests().active_part(handle)) {
            RequestRef::Cold(index) => {
                matches!(
                    self.messages.requests().get(index),
                    Some(Request { body: Body::Synchronous { .. }, done: None, .. })
                )
            }
            _ => false,
        };
        match self.watched(self.messages.me(), &requests) {
            Some(array) => array.waits_for_match(waits),
            None => requests.iter().any(waits),
        }
    }

    /// The parked rank that may be sent on first.
    // The least clock: of all that may act again it can have an effect first. O(parked ranks), when nothing
    // else can happen.
    pub(crate) fn least_poller(&self) -> Option<Poller> {
        let parked = self.order.polls.iter().filter(|(_, poll)| matches!(poll, Poll::Parked(_)));
        let (clock, rank) = parked.map(|(&rank, _)| (self.messages.clock(rank), rank)).min()?;
        Some(Poller {
            clock,
            rank,
            polls: patience(self.order.histories.get(&rank).map_or(0, |history| history.released)),
        })
    }

    /// Answers "no" to a parked rank.
    pub(crate) fn send_poller_on(&mut self, rank: u32) {
        self.forget_safe();
        self.messages.ranks_mut()[rank].strand.set_failed_polls(0);
        self.answer(rank);
        self.order.histories.entry(rank).or_default().released += 1;
    }

    /// Releases the parked rank with the least clock, to which it answers "no": nothing can happen unless it
    /// goes on polling, for it may compute between its polls and send in the end. Returns `false` if there is
    /// none, or too many polls have failed.
    pub(crate) fn release_poller(&mut self) -> bool {
        let messages = self.messages.ranks().profile().messages();
        let Some(Poller { rank, polls, .. }) = self.least_poller() else { return false };
        let goes_on = self.order.fruitless.has_hope(messages, polls) || self.order.threads.outside();
        if goes_on {
            self.send_poller_on(rank);
        }
        goes_on
    }
}

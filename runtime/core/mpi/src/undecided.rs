//! Questions that must wait for safe time: receives for any source, probes, tests, waits for any or some;
//! where ranks can fail, all waits.
//!
//! A rank that must wait asks a [`Question`]; `decisions.rs` decides when it is answered.
//!
//! A question about an instant that is safe already is answered at once (`parking.rs`), and so is the next
//! poll at an instant whose decision was made alone. Only what is neither makes its rank step back: so most
//! failed polls cost no switch. What asks for the completion of a synchronous send always steps back where
//! there is lookahead, because when that is may be an open decision of its receiver.
//!
//! # Failed polls
//!
//! While no computation is charged a rank pays nothing for 64 failed polls or readings of a clock in a row,
//! and then a little for each. If it has done nothing else by then, no other call and no reading of a clock,
//! it is parked once its questions repeat. It goes on at the instant at which the first of all its questions
//! since can be answered with yes.
//!
//! If nothing else can happen, the parked rank with the least clock goes on polling instead, because it may
//! compute between its polls and send in the end. It polls 1,000 times, and twice as often after each failure
//! (up to 16,000). After ten million such polls without a message all are taken to poll for ever.
//!
//! A rank that does other things between its polls is parked after 100,000, and then for its present question
//! alone. Where computation is charged, time passes at each poll, all of them are made, and no rank is
//! parked.

mod calls;
mod parking;
mod probes;
mod threads;
mod watching;

use crate::envelope::{Envelope, Pattern};
use crate::node::{Node, State, flag};
use crate::order::question::{Open, Poll, Question};
use crate::request::{Completion, PROC_NULL, RequestsBefore};
use crate::transit::Transit;
use crate::view::BufferView;
use crate::world::World;
pub use calls::Found;
use engine::{Span, Time};
use p2p::moving::Payload;
use p2p::ranks::strand::StrandId;
use parking::First;

impl World {
    /// Returns when a blocked rank's poll can be answered from what is known.
    pub(crate) fn open(&self, rank: u32, poll: &Poll) -> Open {
        match poll {
            Poll::Once(asked) => self.open_once(rank, &asked.question),
            Poll::Parked(cycle) => self.open_cycle(rank, cycle),
            Poll::Threads => self.open_threads(rank),
        }
    }

    /// Returns when one question of `rank` can be answered from what is known.
    ///
    /// What can be known ahead of its time is the host's to say: who ran first, and on which process. So an
    /// answer that rests on it, as "not yet" does for what arrives later, is given in its turn where
    /// [`World::sees_turns`] says that this is seen. One that rests only on what has happened by then is
    /// given at once everywhere: it is known to all before anything of its instant is decided.
    // A question with several answers that could still change is open at the asking rank's clock: what
    // arrives later does not change them. Where ranks fail no answer is final before its time.
    pub(crate) fn open_once(&self, rank: u32, question: &Question) -> Open {
        match self.open_at_once(rank, question) {
            Open::Final if self.messages.faults().is_some() => Open::At(self.messages.clock(rank)),
            open => open,
        }
    }

    fn open_at_once(&self, rank: u32, question: &Question) -> Open {
        let clock = self.messages.clock(rank);
        let known = |handle: usize| self.completion(handle).unwrap_or(Completion::Null);
        let foreknown = || if self.sees_turns(rank) { Open::At(clock) } else { Open::Final };
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
                match (late, unknown) {
                    (true, _) => foreknown(),
                    (false, true) => Open::At(clock),
                    (false, false) => Open::Final,
                }
            }
            Question::TestAny(round) if let Some(array) = self.watched(rank, &round.requests) => {
                match array.before_first(round.from, known) {
                    RequestsBefore { unknown: true, .. } => Open::At(clock),
                    RequestsBefore { late: true, .. } => foreknown(),
                    _ => Open::Final,
                }
            }
            Question::TestAny(round) => {
                let mut late = false;
                for (_, handle) in round.active() {
                    match known(handle) {
                        Completion::Unknown => return Open::At(clock),
                        Completion::At(time) if time > clock => late = true,
                        Completion::At(_) => break,
                        Completion::Null => {}
                    }
                }
                if late { foreknown() } else { Open::Final }
            }
            Question::TestSome(requests) if let Some(array) = self.watched(rank, requests) => {
                let first = array.extremes(known).map(First::of).fold(First::NONE, First::or);
                match (first.unknown, first.is_late(clock)) {
                    (true, _) => Open::At(clock),
                    (false, true) => foreknown(),
                    (false, false) => Open::Final,
                }
            }
            Question::TestSome(requests) => {
                let mut late = false;
                for handle in requests.iter() {
                    match known(handle) {
                        Completion::Unknown => return Open::At(clock),
                        Completion::At(time) => late = late || time > clock,
                        Completion::Null => {}
                    }
                }
                if late { foreknown() } else { Open::Final }
            }
            Question::WaitAny(round) if let Some(array) = self.watched(rank, &round.requests) => {
                match array.before_first(round.from, known) {
                    RequestsBefore { ends: true, unknown: false, late: true } => foreknown(),
                    RequestsBefore { ends: true, unknown: false, late: false } => Open::Final,
                    _ => self.open_first(rank, self.first_of(rank, &round.requests)),
                }
            }
            Question::WaitAny(round) => {
                // However many are asked about, the first tell most often.
                let mut first = First::NONE;
                for (_, handle) in round.active() {
                    let completion = known(handle);
                    if !first.unknown && matches!(completion, Completion::At(time) if time <= clock) {
                        return if first.is_late(clock) { foreknown() } else { Open::Final };
                    }
                    first = first.or(First::of(completion));
                }
                self.open_first(rank, first)
            }
            Question::WaitSome(requests) => self.open_first(rank, self.first_of(rank, requests)),
            Question::WaitAll(requests) => {
                let mut latest = clock;
                for handle in requests.iter() {
                    match known(handle) {
                        Completion::At(time) => latest = latest.max(time),
                        Completion::Unknown => return Open::Never,
                        Completion::Null => {}
                    }
                }
                Open::At(latest)
            }
            Question::Iprobe(pattern) => match (pattern.source, self.head(rank, pattern)) {
                (Some(_), Some(_)) if self.wildcard_overlaps(rank, pattern) => Open::At(clock),
                (Some(_), Some((_, time))) if time > clock => foreknown(),
                (Some(_), Some(_)) => Open::Final,
                _ => Open::At(clock),
            },
            Question::Probe(pattern) if self.messages.faults().is_some() => {
                let head = self.head(rank, pattern).map(|(_, time)| time);
                let faults = self.messages.faults();
                let fault = faults
                    .and_then(|faults| faults.fault_of_probe(&self.objects, (rank, clock), pattern, head));
                fault.map(|fault| fault.known).or(head).map_or(Open::Never, |time| Open::At(time.max(clock)))
            }
            Question::Probe(pattern) => match (pattern.source, self.head(rank, pattern)) {
                (Some(_), Some(_)) if !self.wildcard_overlaps(rank, pattern) => Open::Final,
                (_, Some((_, time))) => Open::At(time),
                (_, None) => Open::Never,
            },
            Question::Instant | Question::Now => Open::At(clock),
            // Once it has one, no other can come before that.
            Question::Cancel(receive) => match self.messages.matcher()[*receive] {
                Node { state: State::Posted | State::InFlight, .. } => Open::At(clock),
                Node { arrival, .. } if arrival > clock => foreknown(),
                _ => Open::Final,
            },
        }
    }

    /// Returns when a rank that waits for the first of several can go on.
    pub(crate) fn open_first(&self, rank: u32, first: First) -> Open {
        let clock = self.messages.clock(rank);
        if self.messages.faults().is_some() {
            first.open_in_order(clock)
        } else {
            first.open(clock, self.sees_turns(rank))
        }
    }

    /// Returns `true` if it is seen when within an instant a rank goes on: before or after what else is open
    /// there is decided.
    // Where nothing takes time, all others see it. Else what it does at that instant reaches nobody but
    // itself: its receives for any source, its window and its part of a file, which messages of its own may
    // reach before or after those of others.
    fn sees_turns(&self, rank: u32) -> bool {
        self.messages.ranks()[rank].pending.wildcards() != 0
            || self.messages.fabric().lookahead(true) == Span::ZERO
            || self.objects.have_targets()
            || self.chapters.dynamic.is_used()
    }

    /// Returns the message that a probe of `rank` sees, with its arrival.
    pub(crate) fn head(&self, rank: u32, pattern: &Pattern) -> Option<(u32, Time)> {
        self.messages.matcher().probe(&self.messages.ranks()[rank].pending, pattern)
    }

    /// A blocked poll may be answerable now: wakes its rank if so.
    // Asked each time something happens to the rank; most of what happens does not answer it.
    pub(crate) fn settle_poll(&mut self, rank: u32) {
        let Some(poll) = self.order.polls.get(&rank) else { return };
        if self.open(rank, poll) == Open::Final {
            self.answer(rank);
        }
    }

    /// Wakes a rank that is blocked in a poll; once, though both a decision about it and one about another
    /// rank's receive may answer it.
    pub(crate) fn answer(&mut self, rank: u32) {
        let Some(poll) = self.order.polls.remove(&rank) else { return };
        match &poll {
            Poll::Once(_) => {}
            Poll::Parked(cycle) => self.unpark(rank, cycle),
            Poll::Threads => self.answer_threads(rank),
        }
        self.mark_dirty(rank);
        self.messages.ranks_mut()[rank].pending.set_polling(false);
        self.messages.ready_mut().wake(StrandId::of(rank));
    }

    /// Cancels a posted receive of the mounted rank; what had to wait for it meets its message now or later.
    // A receive leaves its queue and the messages behind it look for another: the ones that it kept waiting
    // meet theirs at the rank's clock.
    fn withdraw(&mut self, rank: u32, index: u32) {
        let clock = self.messages.clock(rank);
        let (matcher, pending) = self.messages.matching(rank);
        let posted = matcher.cancel(rank, pending, index, clock);
        if posted {
            self.decided_until(rank, clock);
        } else {
            // Nothing had to wait for a receive that had its message: what arrived before may still be
            // decided as of then.
            self.rematch(rank, clock);
        }
        self.mark_dirty(rank);
    }

    /// Takes the message back from a receive of the mounted rank if it arrives only after the rank's clock,
    /// because its sender ran ahead. It is unexpected again, before those that its sender sent later. Returns
    /// `false` if there is no such message, or it cannot be undone: the sender was notified of the match, or
    /// part of the message is gone.
    ///
    /// O(messages that wait for the rank).
    // Ranks run ahead of each other, so that a receive may have a message that lies in its rank's future: as
    // the program sees it, none had come.
    fn give_back(&mut self, rank: u32, receive: u32) -> bool {
        let Node { context, source, tag, arrival, bytes, buffer, flags, state, .. } =
            self.messages.matcher()[receive];
        // On a shared network it arrives later for sure: all that was delivered by now is here.
        let clock = self.messages.clock(rank);
        let under_way =
            if state == State::InFlight { self.messages.fabric().transit_of(receive) } else { None };
        let held = self
            .messages
            .requests_mut()
            .deferred_mut()
            .take_back(rank, receive, clock)
            .map(|held| held.transit)
            .or(under_way);
        let kept = flags & flag::TRUNCATED == 0 && (held.is_some() || flags & flag::TOLD == 0);
        let transit = held.unwrap_or(Transit::at(arrival));
        let arrival = transit.arrival;
        let has_it = state == State::Matched || under_way.is_some();
        if !has_it || arrival <= clock || source == PROC_NULL as u32 || !kept {
            return false;
        }
        let payload = match Payload::of(&self.messages.matcher()[receive]) {
            Payload::None => {
                self.messages.payloads_mut().load(&BufferView { buffer, layout: None, bytes }, transit.flags)
            }
            payload => payload,
        };
        let mut node = transit.node(&Envelope::new(context, source, tag), payload, bytes);
        let message = self.messages.matcher_mut().alloc(node);
        self.messages.fabric_mut().note_unexpected(&node, rank, message);
        self.messages.watch_mut().note_taken(message, receive);
        self.messages.watch_mut().forget_type_of(message);
        self.messages.matcher_mut()[receive].flags &= !(flag::INLINE | flag::POOLED);
        self.messages.payloads_mut().settle(&mut node);
        let (matcher, pending) = self.messages.matching(rank);
        matcher[message] = node;
        matcher.put_back(pending, message);
        true
    }
}

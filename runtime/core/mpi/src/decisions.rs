//! In which order what is open is decided: receives for any source, polls, and what other chapters keep open.
//!
//! When no rank of the process can run, everything still open is a decision with a time; the decisions
//! before safe time are decided in the order (time, rank, source). With no lookahead the single
//! least decision is made.
//!
//! The result does not depend on the order in which ranks ran. A receive may take a message if the message is
//! the first of its source that the receive accepts, and the receive the first posted that accepts the
//! message. That orders receives for any source and named ones among each other.
//!
//! A receive that had to wait for the decision about an earlier receive meets its message no earlier than
//! that one. So nothing that follows from a decision (an acknowledgement to a sender, say) lies before it,
//! and a probe sees none earlier. Cancelling gives a message that arrives later back.
//!
//! Open decisions are kept from one to the next: only those of ranks to which something happened are found
//! anew, so that a decision costs what changed and not what waits. And what was safe stays so: a receive that
//! is posted later and has a message from before then need not wait to be decided.

use crate::order::decision::{Decision, What};
use crate::order::key::Key;
use crate::order::question::Open;
use crate::world::{Phase, World};
use engine::{SafeTime, Time};
use p2p::chapter::id::ChapterId;

impl World {
    /// The poll in which `rank` is blocked, if it can be answered at some time.
    // What can be answered already is a decision of time zero, before all others: its rank may act, and so
    // comes first.
    fn poll_decision_of(&self, rank: u32) -> Option<Decision> {
        let poll = self.order.polls.get(&rank)?;
        match self.open(rank, poll) {
            Open::Final => Some(Decision { time: Time::ZERO, rank, source: 0, what: What::Poll }),
            Open::At(time) => Some(Decision { time, rank, source: u32::MAX, what: What::Poll }),
            Open::Never => None,
        }
    }

    /// Finds the decisions of a rank anew; those that it had are void.
    // At most one of each kind: O(1) decisions a rank, each found in its own part.
    fn renew(&mut self, rank: u32) {
        let pending = self.messages.ranks()[rank].pending;
        let receive = if pending.wildcards() != 0 { self.wild_decision_of(rank) } else { None };
        let poll = if pending.is_polling() { self.poll_decision_of(rank) } else { None };
        let chapter = self.chapters.first_open(rank).map(|(id, time, source)| Decision {
            time,
            rank,
            source,
            what: What::Chapter(id.0),
        });
        let held = self.messages.requests().deferred().first(rank).map(|(time, source, receive)| Decision {
            time,
            rank,
            source,
            what: What::Told(receive),
        });
        let alarm = self.messages.faults().and_then(|faults| faults.first_alarm(rank));
        let alarm = alarm.map(|time| Decision { time, rank, source: rank, what: What::Alarm });
        self.order.decisions.queue.replace(rank, [receive, held, poll, chapter, alarm].into_iter().flatten());
    }

    /// Looks at all ranks to which something happened: answers polls that can be answered now, and finds
    /// their decisions anew.
    // Polls first: an answered rank runs again, and its decisions are found when it waits once more.
    pub(crate) fn refresh(&mut self) {
        if !self.messages.matcher().has_dirty() {
            return;
        }
        self.order.decisions.quiet = None;
        self.have_owners();
        while let Some(rank) = self.messages.matcher_mut().next_dirty() {
            self.messages.ranks_mut()[rank].pending.set_clean();
            if self.messages.ranks()[rank].pending.is_polling() {
                self.settle_poll(rank);
            }
            self.renew(rank);
        }
        self.order.decisions.queue.tidy();
    }

    /// Returns what the other processes must know of this one's open decisions: the first, and the least time
    /// at which a rank can act because one of them was decided.
    pub(crate) fn first_and_effect(&mut self) -> (Option<Decision>, Option<Time>) {
        self.refresh();
        let effect = self.order.decisions.queue.iter().map(|decision| self.acts(&decision)).min();
        (self.order.decisions.queue.first(), effect)
    }

    /// After a receive of `rank` for any source was decided and the rank still waits: those that follow from
    /// it are decided before `until`, where nothing can come between.
    // What else is open in this process acts no earlier than it is decided, and is seen here a lookahead
    // later. Of the rank itself nothing else may be open, which would be decided between them, and no sender
    // may be told of a match.
    fn decide_alike(&mut self, rank: u32, until: Time) {
        let messages = &self.messages;
        if !messages.matcher().all_alike(rank, &messages.ranks()[rank].pending)
            || messages.ranks()[rank].pending.is_polling()
            || messages.fabric().has_handshakes()
            || messages.faults().is_some()
            || messages.requests().deferred().first(rank).is_some()
            || self.chapters.first_open(rank).is_some()
        {
            return;
        }
        let lookahead = messages.fabric().lookahead(false);
        // Its own are void by now, and found anew behind the last that is decided here.
        self.order.decisions.queue.void(rank);
        let other = self.order.decisions.queue.first();
        let until = other.map_or(until, |other| until.min(other.time.saturating_add(lookahead)));
        let place = (rank - self.messages.ranks().first()) as usize;
        let floor = self.order.decisions.floors[place];
        self.order.decisions.floors[place] = self.take_alike(rank, until, floor);
    }

    /// Makes open decisions that were safe to decide before; false if there are none.
    // A rank that waits in a held collective goes on at its own clock, which may be before its decisions:
    // that no message comes before these does not make them the next thing that happens to it.
    pub(crate) fn decide_safe(&mut self) -> bool {
        let mut decided = self.notify_passed();
        // For good: what was sent is known to all, and answered, when they agree again.
        let safe = self.messages.matcher().safe().min(self.first_answer());
        self.messages.matcher_mut().set_safe(safe);
        if self.chapters.holds() {
            return decided;
        }
        self.refresh();
        while let Some(decision) = self
            .order
            .decisions
            .queue
            .first()
            .filter(|decision| decision.time < self.messages.matcher().safe())
        {
            // The mounted rank itself may be in the call that asks for this.
            if self.may_come_first(&decision, !decided && decision.rank != self.messages.me()) {
                break;
            }
            self.apply(&decision, self.messages.matcher().safe());
            decided = true;
        }
        decided
    }

    /// Makes open decisions that no rank of another process can interfere with, all of which act at `other`
    /// or later; false if there are none.
    pub(crate) fn decide_before_others(&mut self, other: Time) -> bool {
        let (decided, bound) = self.decide_below(other, false);
        self.raise_safe(bound);
        decided != 0
    }

    /// Makes open decisions below a bound: what acts at `other` or later, and ranks because of what was
    /// decided, may change the rest. With `anyway` the first decision is made wherever it is. Answers how
    /// many were, and before what time no message will come any more.
    ///
    /// With no lookahead, decisions of one instant whose ranks act then are made one at a time, each when all
    /// ranks wait once more.
    // The bound shrinks as decisions are made: a rank that one of them wakes may send at its own time, and
    // what arrives from that comes a lookahead later (conservative synchronization: Chandy and Misra 1979,
    // Bryant 1977). The first decision is covered by the others alone.
    fn decide_below(&mut self, other: Time, anyway: bool) -> (u32, Time) {
        self.refresh();
        let lookahead = self.messages.fabric().lookahead(self.messages.fabric().has_handshakes());
        let mut safe = SafeTime::new(other, lookahead);
        let mut decided = 0;
        while let Some(decision) = self.order.decisions.queue.first() {
            let mut own = safe;
            own.acts(self.acts(&decision));
            let alone = decided == 0;
            let covered = if alone { safe } else { own }.covers(decision.time)
                && !self.may_come_first(&decision, alone);
            safe = own;
            if !(covered || alone && anyway) {
                break;
            }
            self.apply(&decision, safe.bound());
            decided += 1;
        }
        (decided, safe.bound())
    }

    /// Returns `true` if the rank of a decision can run, and may reach itself before that. Such a rank is a
    /// sender that lags or waits for a receive (`-xsim-check`), or was woken by an earlier decision of this
    /// pass. It may also be one that will be woken once memory that only it reaches has been touched.
    // What a rank does to itself takes less than a lookahead.
    #[inline]
    fn may_come_first(&self, decision: &Decision, is_first: bool) -> bool {
        let rank = decision.rank;
        let can_run =
            (!is_first || self.messages.ready().has_lagging()) && self.messages.ranks()[rank].is_runnable();
        (can_run || self.unmatched_send(rank).is_some() || self.chapters.rma.holds_back(rank))
            && self.messages.ranks()[rank].phase != Phase::Ended
            && decision.time >= self.messages.clock(rank)
    }

    /// Makes the first open decision if it comes before `until`; false if not.
    // Without lookahead nothing after the decision itself is promised; `apply` is told its own time.
    pub(crate) fn decide_first_before(&mut self, until: Key) -> bool {
        self.refresh();
        let first = self.order.decisions.queue.first().filter(|decision| decision.key() < until);
        if let Some(decision) = first {
            self.apply(&decision, decision.time);
            self.give_turn(&decision);
        }
        first.is_some()
    }

    // Only after a decision that stood alone: of several at one instant another's might come between.
    fn give_turn(&mut self, decision: &Decision) {
        self.order.decisions.turn = (decision.what == What::Poll).then_some((decision.rank, decision.time));
    }

    /// Makes open decisions before safe time; false if there is nothing to decide.
    ///
    /// `other` is the least time at which anything else of the process can act (lagging senders,
    /// the network): decisions at or after it stay open unless nothing else exists.
    // With nothing else in the process that could act, the least decision must be made wherever it is, or
    // nothing would ever go on.
    pub(crate) fn decide(&mut self, other: Time) -> bool {
        if self.notify_passed() {
            return true;
        }
        self.refresh();
        let first = self.order.decisions.queue.first();
        let (decided, bound) = self.decide_below(other, other == Time::MAX);
        if decided != 0 {
            self.raise_safe(bound);
        }
        if let (Some(decision), 1) = (first, decided) {
            self.give_turn(&decision);
        }
        decided != 0
    }

    /// Returns a time before which the rank of a decision does nothing because that is made.
    fn acts(&self, decision: &Decision) -> Time {
        let clock = self.messages.ranks()[decision.rank].clock;
        match decision.what {
            What::Poll => return decision.time.max(clock),
            // Who is told of it is another rank, whatever this one does meanwhile.
            What::Chapter(_) | What::Told(_) | What::Alarm => return decision.time,
            What::Receive(..) => {}
        }
        let meets = self.meets(decision);
        // A match may be told to a sender, whatever the rank does meanwhile; those that follow from it are no
        // earlier. A rank whose clock is beyond the match acts no earlier than its clock, unless the match
        // itself is news for another.
        if self.messages.fabric().has_handshakes() { meets } else { meets.max(clock) }
    }

    /// Makes the first decision, before which nothing can come any more, as nothing new can before `until`.
    ///
    /// A rank that it wakes may have other plans: what else is open there is looked at again when all wait
    /// once more.
    fn apply(&mut self, decision: &Decision, until: Time) {
        self.order.decisions.queue.decided();
        let runnable = self.messages.ready().len();
        match decision.what {
            What::Poll => self.answer(decision.rank),
            What::Receive(..) => {
                self.decide_receive(decision);
                if self.messages.ready().len() == runnable {
                    self.decide_alike(decision.rank, until);
                }
            }
            What::Told(receive) => {
                self.notify_deferred(decision.rank, decision.time, decision.source, receive)
            }
            What::Alarm => self.ring(decision.rank, decision.time),
            What::Chapter(id) => {
                // What a blocked rank asks is answered in its turn.
                let until = if self.messages.ranks()[decision.rank].pending.is_polling() {
                    decision.time
                } else {
                    until
                };
                self.chapters.of(ChapterId(id)).decide(
                    &mut self.messages,
                    &mut self.objects,
                    decision.rank,
                    until,
                );
            }
        }
        // Nobody woke: its decisions follow from what is known now. Else they are void until the rank waits
        // again, whatever it plans to do.
        if self.messages.ready().len() == runnable {
            self.renew(decision.rank);
        } else {
            self.order.decisions.queue.void(decision.rank);
            self.mark_dirty(decision.rank);
        }
    }
}

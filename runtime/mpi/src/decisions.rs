//! In which order what is open is decided: receives for any source, polls, and what other chapters keep open.
//!
//! When no rank of the process can run, everything still open is a decision with a time; the decisions
//! before safe time are decided in the order (time, rank, source). With no lookahead the single
//! least decision is made.
//!
//! The result does not depend on the order in which ranks ran. A receive may take a message if the message is the first of its source that the
//! receive accepts, and the receive the first posted that accepts the message: that orders receives for any source and named ones among each
//! other. A receive that had to wait for the decision about one before it meets its message no earlier than that one did, so that nothing that
//! follows from a decision, an acknowledgement to a sender for one, lies before it, and a probe sees none earlier. Cancelling gives a message that
//! arrives later back.
//!
//! Open decisions are kept from one to the next: only those of ranks to which something happened are found anew, so
//! that a decision costs what changed and not what waits. And what was safe stays so: a receive that is posted later and has
//! a message from before then need not wait to be decided.

use crate::envelope::{Envelope, Pattern};
use crate::node::{Node, flag};
use crate::order::decision::{Decision, What};
use crate::order::key::Key;
use crate::order::question::Open;
use crate::world::World;
use engine::{DecisionQueue, SafeTime, Time};
use message::chapter::id::ChapterId;
use smallvec::SmallVec;

impl World {
    /// The first of `rank`'s receives for any source that would take a message, by (time, source, order of posting).
    ///
    /// A receive may take a message if that is the first of its source that the receive accepts, and the receive the first posted that
    /// accepts the message: of a source whose first message an earlier receive may take, it waits until that is decided. The others of
    /// the rank are decisions once this one is made; none meets its message before the one before. O(log messages) where all accept the same,
    /// O(receives * messages) at worst.
    // Only the first decision of a rank is found. What its others are depends on how this one is made: one
    // message less, and perhaps a named receive that has its own now.
    fn wild_decision_of(&self, rank: u32) -> Option<Decision> {
        let state = &self.messages.ranks[rank as usize];
        let mut asked: SmallVec<[Pattern; 4]> = SmallVec::new();
        let mut least: Option<Decision> = None;
        let kinds = self.messages.wild_kinds(rank);
        for receive in self.messages.posted.iter(state.posted) {
            let node = &self.messages.nodes[receive];
            if !node.has(flag::WILD) {
                continue;
            }
            let pattern = Pattern::of(node);
            if !asked.contains(&pattern) {
                let best = match asked.is_empty() {
                    true => {
                        self.messages.unexpected.best(state.unexpected, &pattern, &[], &self.messages.nodes).map(|(message, _)| message)
                    }
                    false => self.best_left(rank, receive, &pattern),
                };
                if let Some(message) = best {
                    let Node { arrival: time, source, .. } = self.messages.nodes[message];
                    if least.is_none_or(|least| (time, source) < (least.time, least.source)) {
                        least = Some(Decision { time, rank, source, what: What::Receive(receive, message) });
                    }
                }
                asked.push(pattern);
                // However many are alike, only the first of them is looked at.
                if asked.len() == kinds {
                    break;
                }
            }
        }
        least
    }

    /// The best message for a receive for any source with others before it, without the sources whose first message one of those accepts.
    fn best_left(&self, rank: u32, receive: u32, pattern: &Pattern) -> Option<u32> {
        let (state, nodes) = (&self.messages.ranks[rank as usize], &self.messages.nodes);
        let mut left_out: SmallVec<[u32; 8]> = SmallVec::new();
        loop {
            let (message, _) = self.messages.unexpected.best(state.unexpected, pattern, &left_out, nodes)?;
            let envelope = Envelope::of(&nodes[message]);
            if self.messages.posted.first_for(state.posted, &envelope, nodes).is_some_and(|(first, _)| first == receive) {
                return Some(message);
            }
            let from = |other: &u32| nodes[*other].source == envelope.source && nodes[*other].context == envelope.context;
            // All messages of that source in that context: none of them may be taken before the first of them
            // is (MPI 5.0 section 3.5).
            left_out.extend(self.messages.unexpected.iter(state.unexpected).filter(from));
        }
    }

    /// The poll in which `rank` is blocked, if it can be answered at some time.
    // What can be answered already is a decision of time zero, before all others: its rank may act, and so comes
    // first.
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
        let state = &self.messages.ranks[rank as usize];
        let receive = if state.wilds != 0 { self.wild_decision_of(rank) } else { None };
        let poll = if state.polling { self.poll_decision_of(rank) } else { None };
        let chapter = self.chapters.first_open(rank).map(|(id, time, source)| Decision { time, rank, source, what: What::Chapter(id.0) });
        let held = self.messages.first_held(rank).map(|(time, source, receive)| Decision { time, rank, source, what: What::Told(receive) });
        let alarm = self.messages.faults.as_ref().and_then(|faults| faults.first_alarm(rank));
        let alarm = alarm.map(|time| Decision { time, rank, source: rank, what: What::Alarm });
        self.order.decisions.queue.replace(rank, [receive, held, poll, chapter, alarm].into_iter().flatten());
    }

    /// Looks at all ranks to which something happened: answers polls that can be answered now, and finds their decisions anew.
    // Polls first: an answered rank runs again, and its decisions are found when it waits once more.
    pub(crate) fn refresh(&mut self) {
        if self.messages.dirty.is_empty() {
            return;
        }
        self.order.decisions.quiet = None;
        self.have_owners();
        while let Some(rank) = self.messages.dirty.pop() {
            self.messages.ranks[rank as usize].dirty = false;
            if self.messages.ranks[rank as usize].polling {
                self.settle_poll(rank);
            }
            self.renew(rank);
        }
        self.order.decisions.queue.tidy();
    }

    // Programs without such receives and polls never pay for a table of all ranks.
    #[inline]
    fn have_owners(&mut self) {
        if self.order.decisions.queue.has_no_owners() {
            let local = self.messages.local as usize;
            self.order.decisions.queue = DecisionQueue::of(self.messages.first, local);
            self.order.decisions.floors = vec![Time::ZERO; local];
        }
    }

    /// What the other processes must know of this one's open decisions: the first, and the least time at which a rank can act
    /// because one of them was decided.
    pub(crate) fn first_and_effect(&mut self) -> (Option<Decision>, Option<Time>) {
        self.refresh();
        let effect = self.order.decisions.queue.iter().map(|decision| self.acts(&decision)).min();
        (self.order.decisions.queue.first(), effect)
    }

    /// Whether no message that arrives at `time` or before will come any more.
    // Something of a chapter that can go on may send at the least clock there is: what was safe holds, but it
    // has not arrived yet.
    #[inline]
    pub(crate) fn is_safe(&self, time: Time) -> bool {
        time < self.messages.safe && !self.messages.by_time() && !self.chapters.has_work() && time < self.first_answer()
    }

    /// When another process may answer what this one has sent to it, if ranks can fail; the end of time if none does.
    // Some answers take no time on the way: of who agrees last, makes a communicator last, or sends to a rank that has failed. One process answers on the spot, and the rank goes on.
    // While the answer is on its way the rank must not be told of what comes later, its own failure for one.
    fn first_answer(&self) -> Time {
        match (&self.messages.faults, &self.messages.remote) {
            (Some(_), Some(remote)) => remote.streams.soonest(),
            _ => Time::MAX,
        }
    }

    /// Whether the mounted rank's poll at `time` is the first of all open decisions, because its poll before was and nothing happened since.
    #[inline]
    pub(crate) fn has_turn(&self, time: Time) -> bool {
        self.order.decisions.turn == Some((self.messages.current, time)) && self.messages.polls_again && !self.chapters.has_work()
    }

    /// The mounted rank steps back: others may come first.
    pub(crate) fn end_turn(&mut self) {
        self.order.decisions.turn = None;
    }

    /// Decides the first of the mounted rank's receives for any source whose message arrives at `time` or before, which is safe;
    /// false if there is none.
    #[inline]
    pub(crate) fn decide_own(&mut self, time: Time) -> bool {
        let state = &self.messages.ranks[self.messages.current as usize];
        state.wilds != 0 && !state.unexpected.is_empty() && !self.is_quiet(time) && self.decide_own_receive(time)
    }

    #[inline]
    fn is_quiet(&self, time: Time) -> bool {
        self.order.decisions.quiet.is_some_and(|(rank, until)| rank == self.messages.current && time < until)
            && !self.messages.ranks[self.messages.current as usize].dirty
    }

    // Found anew and not taken from the queue: the mounted rank has posted and received since its decisions were
    // made.
    #[inline(never)]
    fn decide_own_receive(&mut self, time: Time) -> bool {
        let first = self.wild_decision_of(self.messages.current);
        let Some(decision) = first.filter(|decision| decision.time <= time) else {
            self.order.decisions.quiet = Some((self.messages.current, first.map_or(Time::MAX, |decision| decision.time)));
            return false;
        };
        self.decide_receive(&decision);
        self.messages.mark_dirty(decision.rank);
        true
    }

    /// A receive for any source takes its message.
    fn decide_receive(&mut self, decision: &Decision) {
        let What::Receive(receive, message) = decision.what else { return };
        self.messages.close_wild(decision.rank, receive);
        self.messages.unlink_posted(decision.rank, receive);
        self.messages.unlink_message(decision.rank, message);
        let meets = self.meets(decision);
        // The floor is kept in the message, so that whoever asks later, a probe or a status, sees one and the
        // same time.
        self.messages.nodes[message].arrival = meets;
        self.messages.take(decision.rank, receive, message);
        self.decided_until(decision.rank, meets);
    }

    /// After a receive of `rank` for any source was decided and the rank still waits: those that follow from it are decided before `until`, where
    /// nothing can come between.
    // What else is open in this process acts no earlier than it is decided, and is seen here a lookahead later. Of the rank itself nothing else may be
    // open, which would be decided between them, and no sender may be told of a match.
    fn decide_alike(&mut self, rank: u32, until: Time) {
        let messages = &self.messages;
        if !messages.posts_alike(rank)
            || messages.ranks[rank as usize].polling
            || messages.handshakes
            || messages.faults.is_some()
            || messages.first_held(rank).is_some()
            || self.chapters.first_open(rank).is_some()
        {
            return;
        }
        let lookahead = messages.lookahead(false);
        // Its own are void by now, and found anew behind the last that is decided here.
        self.order.decisions.queue.void(rank);
        let other = self.order.decisions.queue.first();
        let until = other.map_or(until, |other| until.min(other.time.saturating_add(lookahead)));
        let floor = &mut self.order.decisions.floors[(rank - self.messages.first) as usize];
        *floor = self.messages.take_alike(rank, until, *floor);
    }

    /// A receive of `rank` for any source was decided or cancelled at `time`: what had to wait for that meets its message then or later, and a
    /// blocked rank sees no message earlier, for else that would have been decided before.
    pub(crate) fn decided_until(&mut self, rank: u32, time: Time) {
        self.have_owners();
        let floor = &mut self.order.decisions.floors[(rank - self.messages.first) as usize];
        *floor = time.max(*floor);
        self.messages.rematch(rank, time);
        self.messages.look_behind(rank, time);
        if self.messages.ranks[rank as usize].polling {
            self.messages.advance(rank, time);
        }
    }

    /// A rank goes on that nobody reckoned with: what was safe may be no more.
    // Answers "no" may make the rank act now, before what was taken for safe when it seemed to wait for ever.
    pub(crate) fn forget_safe(&mut self) {
        self.messages.safe = Time::ZERO;
    }

    /// Makes open decisions that were safe to decide before; false if there are none.
    // A rank that waits in a held collective goes on at its own clock, which may be before its decisions: that no
    // message comes before these does not make them the next thing that happens to it.
    pub(crate) fn decide_safe(&mut self) -> bool {
        let mut decided = self.messages.tell_passed();
        // For good: what was sent is known to all, and answered, when they agree again.
        self.messages.safe = self.messages.safe.min(self.first_answer());
        if self.chapters.holds() {
            return decided;
        }
        self.refresh();
        while let Some(decision) = self.order.decisions.queue.first().filter(|decision| decision.time < self.messages.safe) {
            self.apply(&decision, self.messages.safe);
            decided = true;
        }
        decided
    }

    /// Makes open decisions that no rank of another process can interfere with, all of which act at `other` or later; false if there are none.
    pub(crate) fn decide_before_others(&mut self, other: Time) -> bool {
        let (decided, bound) = self.decide_below(other, false);
        self.messages.safe = self.messages.safe.max(bound);
        decided != 0
    }

    /// Makes open decisions below a bound: what acts at `other` or later, and ranks because of what was decided, may change the rest. With `anyway`
    /// the first decision is made wherever it is. Answers how many were, and before what time no message will come any more.
    ///
    /// With no lookahead, decisions of one instant whose ranks act then are made one at a time, each when all ranks wait once more.
    // The bound shrinks as decisions are made: a rank that one of them wakes may send at its own time, and what
    // arrives from that comes a lookahead later (conservative synchronization: Chandy and Misra 1979, Bryant
    // 1977). The first decision is covered by the others alone.
    fn decide_below(&mut self, other: Time, anyway: bool) -> (u32, Time) {
        self.refresh();
        let lookahead = self.messages.lookahead(self.messages.handshakes);
        let mut safe = SafeTime::new(other, lookahead);
        let mut decided = 0;
        while let Some(decision) = self.order.decisions.queue.first() {
            let mut own = safe;
            own.acts(self.acts(&decision));
            let alone = decided == 0;
            let covered = if alone { safe } else { own }.covers(decision.time);
            safe = own;
            if !(covered || alone && anyway) {
                break;
            }
            self.apply(&decision, safe.bound());
            decided += 1;
        }
        (decided, safe.bound())
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
        if self.messages.tell_passed() {
            return true;
        }
        self.refresh();
        let first = self.order.decisions.queue.first();
        let (decided, bound) = self.decide_below(other, other == Time::MAX);
        if decided != 0 {
            self.messages.safe = self.messages.safe.max(bound);
        }
        if let (Some(decision), 1) = (first, decided) {
            self.give_turn(&decision);
        }
        decided != 0
    }

    /// When a receive meets its message: not before the receive for any source that was decided before it, for which it may have had to wait.
    fn meets(&self, decision: &Decision) -> Time {
        decision.time.max(self.order.decisions.floors.get((decision.rank - self.messages.first) as usize).copied().unwrap_or_default())
    }

    /// A time before which the rank of a decision does nothing because that is made.
    fn acts(&self, decision: &Decision) -> Time {
        let clock = self.messages.ranks[decision.rank as usize].clock;
        match decision.what {
            What::Poll => return decision.time.max(clock),
            // Who is told of it is another rank, whatever this one does meanwhile.
            What::Chapter(_) | What::Told(_) | What::Alarm => return decision.time,
            What::Receive(..) => {}
        }
        let meets = self.meets(decision);
        // A match may be told to a sender, whatever the rank does meanwhile; those that follow from it are no earlier.
        // A rank whose clock is beyond the match acts no earlier than its clock, unless the match itself is
        // news for another.
        if self.messages.handshakes { meets } else { meets.max(clock) }
    }

    /// Makes the first decision, before which nothing can come any more, as nothing new can before `until`.
    ///
    /// A rank that it wakes may have other plans: what else is open there is looked at again when all wait once more.
    fn apply(&mut self, decision: &Decision, until: Time) {
        self.order.decisions.queue.decided();
        let runnable = self.messages.ready.len();
        match decision.what {
            What::Poll => self.answer(decision.rank),
            What::Receive(..) => {
                self.decide_receive(decision);
                if self.messages.ready.len() == runnable {
                    self.decide_alike(decision.rank, until);
                }
            }
            What::Told(receive) => self.messages.tell_held(decision.rank, decision.time, decision.source, receive),
            What::Alarm => self.ring(decision.rank, decision.time),
            What::Chapter(id) => {
                // What a blocked rank asks is answered in its turn.
                let until = if self.messages.ranks[decision.rank as usize].polling { decision.time } else { until };
                self.chapters.of(ChapterId(id)).decide(&mut self.messages, &mut self.objects, decision.rank, until);
            }
        }
        // Nobody woke: its decisions follow from what is known now. Else they are void until the rank waits again,
        // whatever it plans to do.
        if self.messages.ready.len() == runnable {
            self.renew(decision.rank);
        } else {
            self.order.decisions.queue.void(decision.rank);
            self.messages.mark_dirty(decision.rank);
        }
    }
}

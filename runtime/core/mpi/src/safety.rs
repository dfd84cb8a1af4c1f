//! Safe time, and what follows when a receive for any source is decided or cancelled.

use crate::order::decision::{Decision, What};
use crate::world::World;
use engine::{DecisionQueue, Time};
use matcher::Choice;

impl World {
    /// Returns the first receive of `rank` for any source that would take a message.
    pub(crate) fn wild_decision_of(&self, rank: u32) -> Option<Decision> {
        let messages = &self.messages;
        let Choice { time, source, receive, message } =
            messages.matcher().first_choice(rank, &messages.ranks()[rank].pending)?;
        Some(Decision { time, rank, source, what: What::Receive(receive, message) })
    }

    // Programs without such receives and polls never pay for a table of all ranks.
    #[inline]
    pub(crate) fn have_owners(&mut self) {
        if self.order.decisions.queue.has_no_owners() {
            let local = self.messages.ranks().local() as usize;
            self.order.decisions.queue = DecisionQueue::of(self.messages.ranks().first(), local);
            self.order.decisions.floors = vec![Time::ZERO; local];
        }
    }

    /// Returns `true` if no message that arrives at `time` or before will come any more.
    // Something of a chapter that can go on may send at the least clock there is: what was safe holds, but it
    // has not arrived yet.
    #[inline]
    pub(crate) fn is_safe(&self, time: Time) -> bool {
        time < self.messages.matcher().safe()
            && !self.messages.fabric().is_shared()
            && !self.chapters.has_work()
            && time < self.first_answer()
    }

    /// Returns when another process may answer what this one has sent to it, if ranks can fail; the end of
    /// time if none does.
    // Some answers take no time on the way: of who agrees last, makes a communicator last, or sends to a rank
    // that has failed. One process answers on the spot, and the rank goes on. While the answer is on its way
    // the rank must not be told of what comes later, its own failure for one.
    pub(crate) fn first_answer(&self) -> Time {
        match (self.messages.faults(), self.messages.peers().remote()) {
            (Some(_), Some(remote)) => remote.streams.soonest(),
            _ => Time::MAX,
        }
    }

    /// Returns `true` if the mounted rank's poll at `time` is the first of all open decisions, because its
    /// poll before was and nothing happened since.
    #[inline]
    pub(crate) fn has_turn(&self, time: Time) -> bool {
        self.order.decisions.turn == Some((self.messages.me(), time))
            && self.messages.ranks().polls_again()
            && !self.chapters.has_work()
    }

    /// Lets others come first, as the mounted rank steps back.
    pub(crate) fn end_turn(&mut self) {
        self.order.decisions.turn = None;
    }

    /// Decides the first of the mounted rank's receives for any source whose message arrives at `time` or
    /// before, which is safe; false if there is none.
    #[inline]
    pub(crate) fn decide_own(&mut self, time: Time) -> bool {
        let state = &self.messages.ranks()[self.messages.me()];
        state.pending.wildcards() != 0
            && state.pending.has_unexpected()
            && !self.is_quiet(time)
            && self.decide_own_receive(time)
    }

    #[inline]
    fn is_quiet(&self, time: Time) -> bool {
        self.order.decisions.quiet.is_some_and(|(rank, until)| rank == self.messages.me() && time < until)
            && !self.messages.ranks()[self.messages.me()].pending.is_dirty()
    }

    // Found anew and not taken from the queue: the mounted rank has posted and received since its decisions
    // were made.
    #[inline(never)]
    fn decide_own_receive(&mut self, time: Time) -> bool {
        let first = self.wild_decision_of(self.messages.me());
        let Some(decision) = first.filter(|decision| decision.time <= time) else {
            self.order.decisions.quiet =
                Some((self.messages.me(), first.map_or(Time::MAX, |decision| decision.time)));
            return false;
        };
        self.decide_receive(&decision);
        self.mark_dirty(decision.rank);
        true
    }

    /// Gives a receive for any source its message.
    pub(crate) fn decide_receive(&mut self, decision: &Decision) {
        let What::Receive(receive, message) = decision.what else { return };
        let meets = self.meets(decision);
        let (matcher, pending) = self.messages.matching(decision.rank);
        matcher.decide(decision.rank, pending, (receive, message), meets);
        self.messages.take(decision.rank, receive, message);
        self.decided_until(decision.rank, meets);
    }

    /// Records that a receive of `rank` for any source was decided or cancelled at `time`. A receive that had
    /// to wait for that meets its message then or later. A blocked rank sees no message earlier, for else
    /// that would have been decided before.
    pub(crate) fn decided_until(&mut self, rank: u32, time: Time) {
        self.have_owners();
        let floor = &mut self.order.decisions.floors[(rank - self.messages.ranks().first()) as usize];
        *floor = time.max(*floor);
        self.rematch(rank, time);
        self.messages.failures().look_behind(rank, time);
        if self.messages.ranks()[rank].pending.is_polling() {
            self.messages.ranks_mut().advance(rank, time);
            let clock = self.messages.clock(rank);
            self.messages.requests_mut().pass_watched(rank, clock);
        }
    }

    /// A rank goes on that nobody reckoned with: what was safe may be no more.
    // Answers "no" may make the rank act now, before what was taken for safe when it seemed to wait for ever.
    pub(crate) fn forget_safe(&mut self) {
        self.messages.matcher_mut().set_safe(Time::ZERO);
    }

    /// Notes that no message that arrives before `bound` will come any more.
    pub(crate) fn raise_safe(&mut self, bound: Time) {
        let safe = self.messages.matcher().safe().max(bound);
        self.messages.matcher_mut().set_safe(safe);
    }

    /// Returns when a receive meets its message: not before the receive for any source that was decided
    /// before it, for which it may have had to wait.
    pub(crate) fn meets(&self, decision: &Decision) -> Time {
        decision.time.max(
            self.order
                .decisions
                .floors
                .get((decision.rank - self.messages.ranks().first()) as usize)
                .copied()
                .unwrap_or_default(),
        )
    }
}

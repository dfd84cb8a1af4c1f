//! Questions about long arrays that are waited for piece by piece: their requests are not looked at one by
//! one in each call ([`p2p::request::WatchedArray`]).

use super::calls::{Found, MAX_SCANNED_FROM_FIRST};
use crate::order::question::{Asked, Question};
use crate::request::{Completion, FirstComplete, RequestArray, Round, WatchedArray};
use crate::world::World;

impl World {
    /// Copies the handles that the mounted rank asks about, or shares those that are kept of its array.
    pub(super) fn keep(&mut self, question: &Question) -> Asked {
        self.watch_now(question);
        let requests = question.requests_for_any();
        let watched = requests.and_then(|requests| self.watched(self.messages.me(), &requests));
        match watched {
            Some(array) => Asked::of_kept(question, array.kept()),
            None => Asked::keep(question),
        }
    }

    /// Returns what is known of these requests without a look at each, at the rank's clock.
    pub(super) fn watched(&self, rank: u32, requests: &RequestArray) -> Option<&WatchedArray> {
        let array = self.messages.requests().watched(rank, requests)?;
        array.is_at(self.messages.clock(rank)).then_some(array)
    }

    /// Prepares the mounted rank's question, which will be asked again in this call.
    // Each message for a blocked rank asks anew: even a single call is worth an array that is kept.
    #[inline]
    pub(super) fn watch_now(&mut self, question: &Question) {
        let Some(requests) = question.requests_for_any().filter(|requests| self.may_watch(requests)) else {
            return;
        };
        if self.watched(self.messages.me(), &requests).is_none() {
            // From the second time on.
            self.watch(requests);
            self.watch(requests);
        }
    }

    /// Prepares the mounted rank's question about any of many requests, where the first few do not answer it.
    pub(super) fn watch_any(&mut self, round: &Round) {
        if self.may_watch(&round.requests) {
            let (me, clock) = (self.messages.me(), self.messages.clock(self.messages.me()));
            let known = |handle| self.completion(handle).unwrap_or(Completion::Unknown);
            let first = round.active().take(MAX_SCANNED_FROM_FIRST as usize);
            let end = first.map(|(_, handle)| known(handle)).find(|known| match known {
                Completion::At(time) => *time <= clock,
                Completion::Unknown => true,
                Completion::Null => false,
            });
            if let Some(Completion::At(_)) = end {
                self.messages.requests_mut().watch_not(me);
            } else {
                self.watch(round.requests);
            }
        }
    }

    /// Prepares the mounted rank's question about some of many requests. Returns `false` if they are looked
    /// at one by one.
    pub(super) fn watch_some(&mut self, requests: &RequestArray) -> bool {
        let may = self.may_watch(requests);
        if may {
            self.watch(*requests);
        }
        may
    }

    // Failures complete requests of their own, and threads each other's.
    #[inline]
    fn may_watch(&mut self, requests: &RequestArray) -> bool {
        let is_long = requests.count > MAX_SCANNED_FROM_FIRST;
        let may = self.messages.faults().is_none() && !self.order.threads.several();
        if is_long && !may {
            let me = self.messages.me();
            self.messages.requests_mut().forget_watched(me);
        }
        is_long && may
    }

    fn watch(&mut self, requests: RequestArray) {
        let (me, clock) = (self.messages.me(), self.messages.clock(self.messages.me()));
        self.messages.completing().watch_requests(me, requests, clock);
    }

    /// Moves the mounted rank's clock to the first completion if it may wait for that. Returns what is found.
    #[inline]
    pub(super) fn found(&mut self, first: FirstComplete, wait: bool) -> (Found, Option<u32>) {
        let me = self.messages.me();
        match first {
            FirstComplete::Index(index) => (Found::Some, Some(index)),
            FirstComplete::NoneActive => (Found::NoneActive, None),
            FirstComplete::Later(Some((time, index))) if wait => {
                self.messages.ranks_mut().advance(me, time);
                (Found::Some, Some(index))
            }
            FirstComplete::Later(_) => {
                self.messages.ranks_mut().fail_poll();
                (Found::Nothing, None)
            }
        }
    }

    /// Moves the clock of the mounted rank to which its watched requests are looked at.
    pub(super) fn pass_watched(&mut self) {
        let (me, clock) = (self.messages.me(), self.messages.clock(self.messages.me()));
        self.messages.requests_mut().pass_watched(me, clock);
    }
}

//! Completion in one module: a request completes at a time that is known, and its rank is woken if it waits
//! for nothing else. What waits mark and take is in `point_to_point/waiting.rs` and `complete.rs` there.

use crate::fabric::Fabric;
use crate::node::{State, flag};
use crate::ranks::Ranks;
use crate::ready::Ready;
use crate::request::{Body, RequestArray, Requests};
use crate::waits::Met;
use crate::watch::Watch;
use engine::Time;
use matcher::Matcher;

/// Marks of receives that their ranks have to see when they are complete.
const HAS_TO_BE_SEEN: u16 = flag::INLINE | flag::POOLED | flag::TRUNCATED | flag::LISTED;

/// Requests with the ranks that wait for them.
pub struct Completing<'a> {
    pub(crate) ranks: &'a mut Ranks,
    pub(crate) ready: &'a mut Ready,
    pub(crate) matcher: &'a mut Matcher,
    pub(crate) requests: &'a mut Requests,
    pub(crate) fabric: &'a Fabric,
    pub(crate) watch: &'a mut Watch,
}

/// The effect of a completed request beyond its rank.
pub(crate) enum CompletionEffect {
    /// None.
    None,
    /// No rank will ask for the request, which is gone.
    Gone,
    /// The request stood for one of another process, or for a ticket of this one.
    Away {
        /// The other process.
        process: u32,
        /// The request there, or the ticket.
        request: u32,
        /// The receive that its message has met.
        receive: Met,
    },
}

impl Completing<'_> {
    /// Completes a receive of `to`, whose message arrives at `arrival`.
    #[inline(always)]
    pub fn complete(&mut self, to: u32, index: u32, arrival: Time) {
        let node = &mut self.matcher[index];
        // Its owner is blocked, and all that it needs is when. The node is free before its rank runs again.
        // The handles that the program has name it in a way that only the wait knows which the rank is
        // blocked in (`handle::of_ignored`).
        if node.flags & (flag::WAITED | flag::STATUS_IGNORED | HAS_TO_BE_SEEN)
            == flag::WAITED | flag::STATUS_IGNORED
        {
            self.matcher.free(index);
            let state = &mut self.ranks[to];
            state.strand.note_arrival(arrival);
            return self.ranks.count_down(self.ready, to);
        }
        node.arrival = arrival;
        node.state = State::Matched;
        match node.flags & (flag::WAITED | flag::ORPHAN | flag::LISTED | flag::STATUS_IGNORED) {
            0 => {}
            flag::WAITED => self.ranks.count_down(self.ready, to),
            _ => complete_noted(self.ranks, self.ready, self.requests, node.flags, (to, index, arrival)),
        }
        if self.ranks[to].pending.is_polling() {
            self.matcher.mark_dirty(to, &mut self.ranks[to].pending);
        }
    }

    /// Prepares a question of the mounted rank about a long array ([`Requests::watch`]).
    pub fn watch_requests(&mut self, rank: u32, requests: RequestArray, clock: Time) {
        self.requests.watch(self.matcher, rank, requests, clock);
    }

    /// Completes a table request at `at`, and wakes its owner if it waits for it. Returns what else follows.
    // A request that no one will ask for goes at once. A subsystem's stays, since its operation may still be
    // at work.
    pub(crate) fn finish_request(&mut self, index: u32, at: Time) -> CompletionEffect {
        let Some(request) = self.requests.get_mut(index) else { return CompletionEffect::None };
        if let Body::Away { process, request, .. } = request.body {
            self.requests.remove(index);
            return CompletionEffect::Away { process, request, receive: self.watch.receive_of(index) };
        }
        request.done = Some(at);
        let owner = request.owner;
        if request.watched {
            self.requests.kept_completed(owner, index, at);
        }
        let request = &mut self.requests[index];
        let mut effect = CompletionEffect::None;
        if request.orphan && !matches!(request.body, Body::Chapter { .. }) {
            self.requests.remove(index);
            self.watch.receive_of(index);
            effect = CompletionEffect::Gone;
        } else if std::mem::take(&mut request.waited) {
            self.ranks.count_down(self.ready, owner);
        }
        let pending = &mut self.ranks[owner].pending;
        if pending.is_polling() {
            self.matcher.mark_dirty(owner, pending);
        }
        effect
    }
}

/// Completes a receive of which more is to be noted down than that.
// With what it needs and not with all of `Completing`, which no plain receive has in memory for it.
#[cold]
#[inline(never)]
fn complete_noted(
    ranks: &mut Ranks,
    ready: &mut Ready,
    requests: &mut Requests,
    flags: u16,
    (to, index, arrival): (u32, u32, Time),
) {
    if flags & flag::LISTED != 0 {
        requests.receive_completed(to, index, arrival);
    }
    if flags & flag::ORPHAN != 0 {
        // The main loop completes it, with its rank mounted: its payload may be for memory that only this
        // rank reaches.
        requests.add_orphan(to, index);
    } else if flags & flag::WAITED != 0 {
        if flags & flag::STATUS_IGNORED != 0 {
            requests.add_unsettled(index, to);
        }
        ranks.count_down(ready, to);
    }
}

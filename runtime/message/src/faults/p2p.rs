//! Messages of and to those that have failed.

use super::{FailedReceive, FailedSend, Fault};
use crate::Messages;
use crate::envelope::Pattern;
use crate::handle;
use crate::node::{NIL, Node, State, flag};
use crate::request::Body;
use engine::Time;
use objects::Objects;
use objects::error::{ErrorClass, Failure, FailureScope, Result};

impl Messages {
    /// Why nothing that this pattern accepts will come to `rank` any more, unless it is on its way.
    pub fn fault_of(&self, objects: &Objects, rank: u32, pattern: &Pattern) -> Option<Fault> {
        let faults = self.faults.as_ref()?;
        if let Some(revoked) = faults.revocation(rank, pattern.context) {
            return Some(revoked);
        }
        if faults.failed.is_empty() {
            return None;
        }
        let comm = objects.comms.by_context(pattern.context, rank)?;
        let sources = comm.remote.as_ref().unwrap_or(&comm.group);
        match pattern.source {
            _ if comm.is_self => None,
            Some(source) => {
                let place = faults.places.get(&sources.world_rank(source))?;
                Some(faults.fault(ErrorClass::PROC_FAILED, &faults.failed[*place as usize]))
            }
            None => {
                let failed = faults.first_unacknowledged(rank, pattern.context, sources)?;
                Some(faults.fault(ErrorClass::PROC_FAILED_PENDING, &failed))
            }
        }
    }

    /// Returns why a probe of `rank` finds nothing any more, if no message comes before that is known: of
    /// those that it accepts the first arrives at `head`.
    pub fn fault_of_probe(
        &self,
        objects: &Objects,
        rank: u32,
        pattern: &Pattern,
        head: Option<Time>,
    ) -> Option<Fault> {
        let (fault, clock) = (self.fault_of(objects, rank, pattern)?, self.clock(rank));
        let finds = match fault.class {
            ErrorClass::PROC_FAILED => head.is_some(),
            _ => head.is_some_and(|head| head.max(clock) <= fault.known.max(clock)),
        };
        (!finds).then_some(fault)
    }

    /// Checks that the mounted rank may communicate in a context.
    ///
    /// # Errors
    /// `MPIX_ERR_REVOKED`.
    pub(crate) fn may_communicate(&self, context: u32) -> Result {
        let me = self.ranks.me();
        match &self.faults {
            Some(faults) if faults.knows_revoked(me, context) => {
                Err(Fault { class: ErrorClass::REVOKED, known: Time::ZERO, rank: me }.failure())
            }
            _ => Ok(()),
        }
    }

    /// The mounted rank sends to a rank that may have failed: the request of a send that is not to be made,
    /// as it is known that it has.
    ///
    /// # Errors
    /// `MPIX_ERR_REVOKED`.
    #[cold]
    pub(crate) fn send_in_vain(&mut self, context: u32, to: u32) -> Result<Option<usize>> {
        let me = self.ranks.me();
        self.may_communicate(context)?;
        let Some(faults) = &self.faults else { return Ok(None) };
        let Some(&place) = faults.places.get(&to) else { return Ok(None) };
        let failed = &faults.failed[place as usize];
        if !faults.knows(me, failed) {
            return Ok(None);
        }
        let fault = faults.fault(ErrorClass::PROC_FAILED, failed);
        let request = self.make_request(me, Body::Synchronous);
        let begun = self.clock(me);
        if let Some(faults) = &mut self.faults {
            faults.under_way.list_vain(request, me, context, begun);
        }
        self.fail_send(request, fault);
        Ok(Some(handle::of_cold(request)))
    }

    /// Why nothing reaches a rank, if it has failed.
    fn fault_of_rank(&self, rank: u32) -> Option<Fault> {
        let faults = self.faults.as_ref()?;
        let place = *faults.places.get(&rank)?;
        Some(faults.fault(ErrorClass::PROC_FAILED, &faults.failed[place as usize]))
    }

    /// Returns `true` if a message to `to` is lost, as that has failed. A send that waits for the match with
    /// this request is told.
    // What is sent before the failure is known costs its sender what any message does, whether the failure is
    // decided by then or not.
    #[inline]
    pub(crate) fn is_lost(&mut self, to: u32, request: u32) -> bool {
        if self.faults.is_none() {
            return false;
        }
        let fault = self.fault_of_rank(to);
        if let Some(fault) = fault
            && request != NIL
        {
            self.fail_send(request, fault);
        }
        fault.is_some()
    }

    /// A send that waits for its match will not have one.
    pub fn fail_send(&mut self, request: u32, fault: Fault) {
        if let Some(Body::Away { process, request: ticket }) =
            self.requests.get(request).map(|request| &request.body)
        {
            let (process, ticket) = (*process, *ticket);
            self.requests.remove(request);
            return self.tell_vain(process, ticket, fault);
        }
        let context = self.faults.as_ref().and_then(|faults| faults.under_way.context_of_send(request));
        if let Some(faults) = &mut self.faults {
            faults.void_ticket(request);
        }
        self.finish_request(request, fault.known);
        // One that nobody will ask for is gone now.
        if let (Some(faults), Some(_)) = (&mut self.faults, self.requests.get(request)) {
            faults.sends.insert(request, FailedSend { context, fault });
        }
    }

    /// Why a complete send of the mounted rank has failed.
    pub fn take_send_fault(&mut self, request: u32) -> Option<Box<Failure>> {
        let failed = self.faults.as_mut()?.sends.remove(&request);
        if let Some(faults) = &mut self.faults {
            faults.forget_send(request);
        }
        failed.map(|FailedSend { context, fault }| {
            self.tell_failure(fault).within(context.map(FailureScope::Context))
        })
    }

    /// The mounted rank is told that one of its operations has failed.
    pub fn tell_failure(&mut self, fault: Fault) -> Box<Failure> {
        if let Some(faults) = &mut self.faults {
            faults.falls_behind(self.ranks.me());
        }
        fault.failure()
    }

    /// The mounted rank has posted a receive for which nothing may come: it ends when that is decided.
    #[cold]
    pub(crate) fn look_at_posted(&mut self, objects: &Objects, receive: u32) {
        let me = self.ranks.me();
        let node = &self.matcher[receive];
        let Some(fault) = self.fault_of(objects, me, &Pattern::of(node)) else { return };
        if node.state == State::Posted || fault.class == ErrorClass::REVOKED {
            self.alarm(me, fault.known.max(self.clock(me)));
        }
    }

    /// A receive of `rank` for any source was decided or cancelled at `time`: it may have taken what was the
    /// last message for one behind it.
    pub fn look_behind(&mut self, rank: u32, time: Time) {
        if self.faults.as_ref().is_some_and(|faults| !faults.failed.is_empty())
            && self.matcher.has_named_receives(&self.ranks[rank].pending)
        {
            self.alarm(rank, time);
        }
    }

    /// Returns `true` if no message lies there that this posted receive accepts: one may, that a receive
    /// before it may take.
    fn gets_nothing(&self, rank: u32, receive: u32) -> bool {
        self.matcher.find(&self.ranks[rank].pending, &Pattern::of(&self.matcher[receive])).is_none()
    }

    /// Receives of `rank` that get nothing any more, as is known at `now`, end with an error.
    // O(receives), each with a search: once a failure and rank. What a rank that has run ahead has posted
    // later ends then: by that time it may have been told of more.
    pub fn fail_receives(&mut self, objects: &Objects, rank: u32, now: Time) {
        let posted: Vec<u32> = self.matcher.receives(&self.ranks[rank].pending).collect();
        let mut wild = false;
        for receive in posted {
            let pattern = Pattern::of(&self.matcher[receive]);
            if let Some(fault) = self.fault_of(objects, rank, &pattern)
                && fault.known <= now
                && !self.is_posted_later(rank, receive, now)
                && (fault.class != ErrorClass::PROC_FAILED || self.gets_nothing(rank, receive))
            {
                wild |= pattern.source.is_none();
                self.fail_receive(rank, receive, Fault { known: now, ..fault });
            }
        }
        if wild {
            self.rematch(rank, now);
        }
        let listed =
            self.faults.as_ref().map(|faults| faults.under_way.receives_of(rank)).unwrap_or_default();
        for (receive, posted) in listed {
            self.take_from(rank, receive, posted, now);
        }
    }

    /// A receive that has its message, and is of a revoked communicator, loses it if it arrives after `now`.
    fn take_from(&mut self, rank: u32, receive: u32, posted: Time, now: Time) {
        let node = self.matcher[receive];
        let Some(fault) = self.faults.as_ref().and_then(|faults| faults.revocation(rank, node.context))
        else {
            return;
        };
        if node.state != State::Matched || node.has(flag::ORPHAN) || node.arrival <= now.max(posted) {
            return;
        }
        if posted > now {
            return self.alarm(rank, posted);
        }
        if node.has(flag::POOLED) {
            self.payloads.discard(node.data[0] as u32);
        }
        if let Some(held) = self.deferred.drop_of(rank, receive) {
            // Its sender is told of the revocation by itself.
            self.requests.remove(held.transit.request);
        }
        let node = &mut self.matcher[receive];
        node.flags = node.flags & !(flag::INLINE | flag::POOLED) | flag::TRUNCATED;
        node.arrival = now;
        if let Some(faults) = &mut self.faults {
            faults.end_receive(receive, rank, Fault { known: now, ..fault });
        }
        self.mark_dirty(rank);
    }

    /// Returns `true` if a receive was posted after `now`: then it is looked at when it was.
    fn is_posted_later(&mut self, rank: u32, receive: u32, now: Time) -> bool {
        let posted = self.matcher[receive].arrival;
        if posted > now {
            self.alarm(rank, posted);
        }
        posted > now
    }

    /// A posted receive ends with an error, when that is known or when it was posted, whichever is later.
    fn fail_receive(&mut self, rank: u32, receive: u32, fault: Fault) {
        self.matcher.remove_receive(&mut self.ranks[rank].pending, receive);
        let node = &mut self.matcher[receive];
        let at = fault.known.max(node.arrival);
        // A request that the program has freed waits until its rank acknowledges the failure: nobody asks for
        // its error.
        let waits_unasked = node.has(flag::ORPHAN) && fault.class == ErrorClass::PROC_FAILED_PENDING;
        // Marked as a message that was too long: off all plain paths, to where its error is made.
        node.flags |= flag::TRUNCATED;
        if node.has(flag::WILD) {
            self.matcher.close_wildcard(rank, &mut self.ranks[rank].pending, receive);
        }
        if let Some(faults) = &mut self.faults {
            faults.end_receive(receive, rank, fault);
        }
        if waits_unasked {
            let node = &mut self.matcher[receive];
            (node.state, node.arrival) = (State::Matched, at);
        } else {
            self.complete(rank, receive, at);
        }
        self.mark_dirty(rank);
    }

    /// The rank that ends this receive has no request for it: it cannot go on waiting.
    #[cold]
    pub fn end_pending(&mut self, receive: u32) {
        if let Some(failed) = self.faults.as_mut().and_then(|faults| faults.receives.get_mut(&receive)) {
            failed.fault = failed.fault.without_request();
        }
    }

    /// The mounted rank ends a receive that has failed, if this is one. One for any source goes on, as its
    /// request does (MPI's fault tolerance, section 17.2 of the proposal).
    #[cold]
    pub(crate) fn finish_failed(&mut self, receive: u32) -> Option<Box<Failure>> {
        let FailedReceive { owner, fault, .. } = self.faults.as_mut()?.receives.remove(&receive)?;
        debug_assert_eq!(owner, self.ranks.me(), "receive {receive} is completed by its owner");
        let (me, node) = (self.ranks.me(), self.matcher[receive]);
        self.advance(me, node.arrival);
        if fault.class == ErrorClass::PROC_FAILED_PENDING {
            self.post_again(receive);
        } else {
            if node.has(flag::LAYOUT) {
                self.payloads.drop_layout(node.layout);
            }
            self.unlist_receive(receive);
            self.matcher.free(receive);
        }
        // The program never sees the error of a request that it has freed, whenever that is found.
        Some(if node.has(flag::ORPHAN) { fault.failure() } else { self.tell_failure(fault) })
    }

    /// A receive for any source that had ended, of the mounted rank, waits again.
    fn post_again(&mut self, receive: u32) {
        let (me, clock) = (self.ranks.me(), self.clock(self.ranks.me()));
        let node = &mut self.matcher[receive];
        node.flags &= !(flag::TRUNCATED | flag::WAITED | flag::STATUS_IGNORED);
        (node.state, node.arrival) = (State::Posted, clock);
        self.list_receive(me, receive, clock);
        self.post(me, receive, false);
        self.alarm(me, clock);
    }

    /// Reposts the mounted rank's receives for any source that had ended in a communicator, whose failures
    /// the rank has acknowledged.
    // In the order in which they have ended, which is that of posting where a failure has ended several.
    // Nodes are numbered as the host pleases.
    pub fn resume_pending(&mut self, context: u32) {
        let Some(faults) = &mut self.faults else { return };
        let me = self.ranks.me();
        let is_pending = |(receive, failed): (&u32, &FailedReceive)| {
            let pending = failed.owner == me && failed.fault.class == ErrorClass::PROC_FAILED_PENDING;
            (pending && self.matcher[*receive].context == context).then_some((failed.number, *receive))
        };
        let mut pending: Vec<(u64, u32)> = faults.receives.iter().filter_map(is_pending).collect();
        pending.sort_unstable();
        for (_, receive) in pending {
            if let Some(faults) = &mut self.faults {
                faults.receives.remove(&receive);
            }
            self.post_again(receive);
        }
    }

    /// A rank has failed at a time: nothing that it has posted gets a message any more, who waits for it to
    /// take a message is told, and nobody wakes it.
    pub fn bury(&mut self, rank: u32, at: Time) {
        let posted: Vec<u32> = self.matcher.receives(&self.ranks[rank].pending).collect();
        for receive in posted {
            self.matcher.remove_receive(&mut self.ranks[rank].pending, receive);
            if self.matcher[receive].has(flag::WILD) {
                self.matcher.close_wildcard(rank, &mut self.ranks[rank].pending, receive);
            }
            self.matcher.free(receive);
        }
        if let Some(faults) = &mut self.faults {
            faults.receives.retain(|_, failed| failed.owner != rank);
        }
        let known = self.faults.as_ref().map_or(at, |faults| at + faults.delay);
        let fault = Fault { class: ErrorClass::PROC_FAILED, known, rank };
        let waiting =
            |node: &Node| node.has(flag::SYNCHRONOUS | flag::RENDEZVOUS).then_some(node.data[1] as u32);
        let lying: Vec<u32> = self.matcher.messages(&self.ranks[rank].pending).collect();
        for message in lying {
            if let Some(request) = waiting(&self.matcher[message]) {
                self.matcher.remove_message(&mut self.ranks[rank].pending, message);
                self.drop_message(message);
                self.fail_send(request, fault);
            }
        }
        let held = std::iter::from_fn(|| self.deferred.drop_first(rank)).collect::<Vec<_>>();
        held.into_iter().for_each(|held| self.fail_send(held.transit.request, fault));
        for (message, _) in self.faults.as_mut().map(|faults| faults.under_way.bury(rank)).unwrap_or_default()
        {
            if self.matcher[message].state == State::Extracted
                && let Some(request) = waiting(&self.matcher[message])
            {
                self.fail_send(request, fault);
            }
        }
        self.requests.abandon(rank);
        let state = &mut self.ranks[rank];
        // A rank that waits in a collective keeps the clock at which it has entered that: others may still
        // need it.
        (state.clock, state.waiting) = (at.min(state.clock), 0);
        state.pending.set_polling(false);
    }

    /// Sends of `rank` that are not over by `now` end with an error where it has been told that their
    /// communicator is revoked. Their messages may still be received until the receivers are told, too.
    // O(sends under way).
    pub fn fail_sends(&mut self, rank: u32, now: Time) {
        let sends = self.faults.as_ref().map(|faults| faults.under_way.sends_of(rank)).unwrap_or_default();
        for (request, context, begun) in sends {
            let Some(fault) = self.faults.as_ref().and_then(|faults| faults.revocation(rank, context)) else {
                continue;
            };
            let Some(state) = self
                .requests
                .get_mut(request)
                .filter(|state| !state.orphan && state.done.is_none_or(|done| done > now))
            else {
                continue;
            };
            if begun > now {
                self.alarm(rank, begun);
                continue;
            }
            // That its match will be told, or the failure of its receiver, is known already, and later.
            state.done = None;
            self.fail_send(request, Fault { known: now, ..fault });
        }
    }
}

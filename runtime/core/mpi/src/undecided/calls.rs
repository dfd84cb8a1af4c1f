//! The calls that ask: tests, waits for any or some, cancelling; `probes.rs` has probes.

use crate::error::Result;
use crate::handle;
use crate::node::{State, flag};
use crate::order::question::{Poll, Question};
use crate::request::{Completion, FirstComplete, RequestArray, Round, Status, UNDEFINED, stands_twice};
use crate::world::{Mpi, World};
use engine::Time;
use rank::Addr;

/// Requests up to which the first that is complete is looked for from the first of all on.
// So many handles are read in less time than the rest of a call takes, and programs may be used to the first
// coming first, as with MPICH and Open MPI.
pub(super) const MAX_SCANNED_FROM_FIRST: u32 = 64;

/// Result of a test or a wait for several requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// No request of the array is active.
    NoneActive,
    /// None is complete.
    Nothing,
    /// Something.
    Some,
}

impl World {
    /// Returns `true` if the mounted rank's question can be answered from what is known, at the clock that it
    /// has then; if not, the rank is to block.
    // Three ways to be answered, the cheapest first: it was settled before; it has its turn again; the rank
    // waits for the decision. In the last the handles are copied, since others will look at them.
    fn is_answered(&mut self, question: &Question) -> bool {
        // Who waits for all lets collectives begin as ever.
        if let Some(requests) = question.requests().filter(|_| !matches!(question, Question::WaitAll(_))) {
            self.chapters.asked(&mut self.messages, &self.objects, requests);
        }
        let me = self.messages.me();
        let parked = if question.is_poll() { self.park(question) } else { None };
        if self.is_settled(question, parked.as_deref()) {
            if let Some(cycle) = &parked {
                self.unpark(me, cycle);
            }
            return true;
        }
        let poll = match parked {
            Some(cycle) => Poll::Parked(cycle),
            None => Poll::Once(self.keep(question)),
        };
        self.end_turn();
        self.order.polls.insert(me, poll);
        let (matcher, pending) = self.messages.matching(me);
        matcher.will_search(pending);
        pending.set_polling(true);
        matcher.mark_dirty(me, pending);
        false
    }
}

impl World {
    /// Cancels a receive of the mounted rank for any source that a failure has ended. Returns `false` for
    /// another one.
    fn cancel_pending(&mut self, receive: u32) -> bool {
        let clock = self.messages.clock(self.messages.me());
        let is_pending = self.messages.faults_mut().is_some_and(|faults| faults.take_pending(receive));
        if is_pending {
            let node = &mut self.messages.matcher_mut()[receive];
            node.flags &= !flag::TRUNCATED;
            (node.state, node.arrival) = (State::Cancelled, clock);
        }
        is_pending
    }
}

impl World {
    /// Waits for a request of the mounted rank that may be told of a failure before it is complete: whether
    /// it has to block.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`.
    #[cold]
    pub(crate) fn begin_wait_in_order(&mut self, handle: usize) -> Result<bool> {
        self.completion(handle)?;
        // Of what is blocked for there is a copy.
        let one = RequestArray { at: Addr(std::ptr::from_ref(&handle) as usize), count: 1, wide: true };
        Ok(!self.is_answered(&Question::WaitAll(one)))
    }

    /// Begins [`World::begin_wait_in_order`] for all of these. Returns `true` if the rank has to block.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`, also for one that stands there twice.
    #[cold]
    pub(crate) fn begin_wait_all_in_order(&mut self, requests: RequestArray) -> Result<bool> {
        let mut open = Vec::new();
        for (_, handle) in requests.active() {
            if self.completion(handle)? == Completion::Unknown {
                open.push(handle);
            }
        }
        open.sort_unstable();
        match open.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(stands_twice(pair[0])),
            None => Ok(!self.is_answered(&Question::WaitAll(requests))),
        }
    }

    /// The requests of the mounted rank's call behind the null handles that the array begins with.
    // Most of a long array that is waited for piece by piece is null in the end. Each call passes over them
    // once, and not for each thing that it wants to know: the second half of a call knows it of the first,
    // unless others ran between them that passed over their own.
    fn behind_nulls(&mut self, requests: RequestArray) -> RequestArray {
        let nulls = requests.nulls();
        self.order.nulls = (self.messages.me(), requests.at, nulls);
        requests.behind(nulls)
    }

    /// Returns how many null handles the array begins with, in the second half of a call.
    fn known_nulls(&self, requests: RequestArray) -> u32 {
        let (rank, at, nulls) = self.order.nulls;
        if (rank, at) == (self.messages.me(), requests.at) { nulls } else { requests.nulls() }
    }

    /// Returns where the mounted rank looks for any one of these requests that is complete: from the first
    /// on, and where they are many, from behind the place at which it found one last.
    // A program that waits for each of many would read their square otherwise, most of it null handles: it
    // may put a request into any place between two calls, so that none can be taken for null that was not
    // read. MPI leaves the choice among the complete ones (MPI 5.0 section 3.7.5). What is kept is a place
    // and not an array: where arrays lie is the host's to say, and this must not be.
    fn round(&self, requests: RequestArray) -> Round {
        let behind =
            || self.order.found.get(&self.messages.me()).copied().filter(|&behind| behind < requests.count);
        Round {
            requests,
            from: if requests.count > MAX_SCANNED_FROM_FIRST { behind().unwrap_or(0) } else { 0 },
        }
    }
}

impl Mpi {
    /// Asks a question about requests, for the mounted rank: whether it has to wait until that can be
    /// answered.
    fn begin_ask_about(
        &self,
        requests: RequestArray,
        question: impl FnOnce(RequestArray) -> Question,
    ) -> bool {
        let mut world = self.world();
        let behind = world.behind_nulls(requests);
        let asked = if world.watch_some(&requests) { requests } else { behind };
        !world.is_answered(&question(asked))
    }

    /// Asks for any one of these requests.
    fn begin_ask_any(&self, requests: RequestArray, question: impl FnOnce(Round) -> Question) -> bool {
        let mut world = self.world();
        let round = world.round(requests);
        if requests.count > MAX_SCANNED_FROM_FIRST {
            world.watch_any(&round);
        }
        !world.is_answered(&question(round))
    }

    /// Asks a question for the mounted rank: whether it has to wait until that can be answered.
    pub(super) fn begin_ask(&self, question: Question) -> bool {
        !self.world().is_answered(&question)
    }

    /// Blocks the mounted rank until its question can be answered.
    pub(crate) fn ask(&self, question: Question) {
        if self.begin_ask(question) {
            self.block();
        }
    }

    /// After [`Mpi::ask`]: moves the clock to the earliest completion if none is complete at the clock and
    /// the rank may wait.
    // Three passes over an array at most (`open`, `reach`, the completion): O(requests) a call, whatever is
    // complete. All that are complete are answered, so that all are looked at.
    fn reach(&self, requests: RequestArray, wait: bool) -> Result<Found> {
        let mut world = self.world();
        let me = world.messages.me();
        world.pass_watched();
        if let Some(array) = world.watched(me, &requests) {
            let first = array.first_complete(0, |handle| world.completion(handle))?;
            let found = world.found(first, wait).0;
            // It may have a clock that it is looked at anew.
            world.pass_watched();
            return Ok(found);
        }
        let clock = world.messages.clock(me);
        let (mut active, mut least) = (false, Time::MAX);
        for (_, handle) in requests.active() {
            match world.completion(handle)? {
                Completion::At(time) => (active, least) = (true, least.min(time)),
                Completion::Unknown => active = true,
                Completion::Null => {}
            }
        }
        if !active {
            return Ok(Found::NoneActive);
        }
        if least <= clock {
            return Ok(Found::Some);
        }
        if least != Time::MAX && wait {
            world.messages.ranks_mut().advance(me, least);
            return Ok(Found::Some);
        }
        world.messages.ranks_mut().fail_poll();
        Ok(Found::Nothing)
    }

    /// The first request of the round that is complete at the clock. If there is none and the rank may wait,
    /// the first of those that are complete at the time of the earliest, to which its clock moves then.
    ///
    /// One pass over those that are not complete: O(1) on average where each of many is waited for and they
    /// are complete in the order of the array.
    // The first in the array and not in time: MPI leaves the choice.
    fn seek(&self, round: Round, wait: bool) -> Result<(Found, Option<u32>)> {
        let mut world = self.world();
        let me = world.messages.me();
        if round.requests.count > MAX_SCANNED_FROM_FIRST {
            world.pass_watched();
            if let Some(array) = world.watched(me, &round.requests) {
                let first = array.first_complete(round.from, |handle| world.completion(handle))?;
                return Ok(world.found(first, wait));
            }
        }
        let clock = world.messages.clock(me);
        let (mut active, mut least) = (false, None);
        for (index, handle) in round.active() {
            match world.completion(handle)? {
                Completion::At(time) if time <= clock => return Ok((Found::Some, Some(index))),
                Completion::At(time) => {
                    active = true;
                    if least.is_none_or(|(least, _)| time < least) {
                        least = Some((time, index));
                    }
                }
                Completion::Unknown => active = true,
                Completion::Null => {}
            }
        }
        let first = if active { FirstComplete::Later(least) } else { FirstComplete::NoneActive };
        Ok(world.found(first, wait))
    }

    /// Completes any one request, as [`Mpi::seek`] finds it.
    fn any(&self, requests: RequestArray, wait: bool, chosen: &mut i32) -> Result<(Found, i32, Status)> {
        let round = self.world().round(requests);
        let (found, index) = self.seek(round, wait)?;
        let Some(index) = index else { return Ok((found, UNDEFINED, Status::EMPTY)) };
        if requests.count > MAX_SCANNED_FROM_FIRST {
            let mut world = self.world();
            let me = world.messages.me();
            world.order.found.insert(me, index + 1);
        }
        *chosen = index as i32;
        let handle = requests.get(index);
        let finished = self.finish_one(handle);
        requests.set(
            index,
            finished.as_ref().map_or_else(|failure| self.after_failure(handle, failure), |(_, next)| *next),
        );
        Ok((Found::Some, index as i32, finished?.0))
    }

    /// Begins `MPI_Waitany`; returns `true` if the mounted rank has to wait.
    pub fn begin_wait_any(&self, requests: RequestArray) -> bool {
        self.begin_ask_any(requests, Question::WaitAny)
    }

    /// Ends `MPI_Waitany`; returns `(index or MPI_UNDEFINED, status)`.
    pub fn end_wait_any(&self, requests: RequestArray) -> Result<(i32, Status)> {
        let mut chosen = UNDEFINED;
        let status = self.end_wait_any_at(requests, &mut chosen)?;
        Ok((chosen, status))
    }

    /// Ends as [`Mpi::end_wait_any`] does. Returns the status. `chosen` is the index, also of a request that
    /// fails; `MPI_UNDEFINED` if there is none.
    pub fn end_wait_any_at(&self, requests: RequestArray, chosen: &mut i32) -> Result<Status> {
        *chosen = UNDEFINED;
        Ok(self.any(requests, true, chosen)?.2)
    }

    /// Begins a test for all of the requests; returns `true` if the mounted rank has to wait until the answer
    /// is known, which [`Mpi::end_test_all`] then has.
    pub fn begin_test_all(&self, requests: RequestArray) -> bool {
        self.begin_ask(Question::TestAll(requests))
    }

    /// Ends `MPI_Testall`; returns `true` if all are complete; then they are completed, and their statuses
    /// left out.
    pub fn end_test_all(&self, requests: RequestArray) -> Result<bool> {
        let complete = self.are_complete(requests)?;
        if complete {
            self.finish_all(requests, |_, _| {})?;
        }
        Ok(complete)
    }

    /// Implements `MPI_Testany`. Returns flag and status. `chosen` is the index, also of a request that
    /// fails; `MPI_UNDEFINED` if there is none.
    pub fn test_any(&self, requests: RequestArray, chosen: &mut i32) -> Result<(bool, Status)> {
        if self.begin_test_any(requests) {
            self.block();
        }
        *chosen = UNDEFINED;
        let (found, _, status) = self.any(requests, false, chosen)?;
        Ok((found != Found::Nothing, status))
    }

    /// Begins `MPI_Testany`; returns `true` if the mounted rank has to wait until it may be answered.
    pub fn begin_test_any(&self, requests: RequestArray) -> bool {
        self.begin_ask_any(requests, Question::TestAny)
    }

    /// Ends `MPI_Testany`.
    pub fn end_test_any(&self, requests: RequestArray) -> Result<(bool, i32, Status)> {
        let (found, index, status) = self.any(requests, false, &mut { UNDEFINED })?;
        Ok((found != Found::Nothing, index, status))
    }

    fn has_watched(&self, requests: &RequestArray) -> bool {
        let world = self.world();
        world.messages.requests().watched(world.messages.me(), requests).is_some()
    }

    /// Returns the next request from `from` on that may be complete.
    fn next_candidate(&self, requests: &RequestArray, from: u32) -> Option<u32> {
        let world = self.world();
        match world.watched(world.messages.me(), requests) {
            Some(array) => array.next_candidate(from),
            None => requests.next_active(from),
        }
    }

    // Each failed receive ends with its own status; the call fails once, at the end (MPI 5.0 section 3.7.5).
    fn some(
        &self,
        requests: RequestArray,
        wait: bool,
        found: &mut dyn FnMut(u32, u32, &Status),
    ) -> Result<Option<u32>> {
        let is_watched = self.has_watched(&requests);
        let nulls = if is_watched { 0 } else { self.world().known_nulls(requests) };
        let requests = requests.behind(nulls);
        match self.reach(requests, wait)? {
            Found::NoneActive => return Ok(None),
            Found::Nothing => return Ok(Some(0)),
            Found::Some => {}
        }
        let mut count = 0;
        let clock = {
            let world = self.world();
            world.messages.clock(world.messages.me())
        };
        let mut failed = None;
        let mut next = 0;
        while let Some(index) = self.next_candidate(&requests, next) {
            next = index + 1;
            let handle = requests.get(index);
            if !matches!(self.world().completion(handle)?, Completion::At(time) if time <= clock) {
                continue;
            }
            let truncated = self.world().truncated_status(handle);
            match self.finish_one(handle) {
                Ok((status, next)) => {
                    requests.set(index, next);
                    found(count, nulls + index, &status);
                }
                Err(failure) => {
                    requests.set(index, self.after_failure(handle, &failure));
                    found(
                        count,
                        nulls + index,
                        &Status { error: failure.class.0, ..truncated.unwrap_or(Status::EMPTY) },
                    );
                    failed.get_or_insert(failure);
                }
            }
            count += 1;
        }
        match failed {
            Some(first) => {
                let failure = crate::error::Failure::new(crate::error::ErrorClass::IN_STATUS, first.text);
                Err(failure.within(first.scope))
            }
            None => Ok(Some(count)),
        }
    }

    /// Begins `MPI_Waitsome`; returns `true` if the mounted rank has to wait.
    pub fn begin_wait_some(&self, requests: RequestArray) -> bool {
        self.begin_ask_about(requests, Question::WaitSome)
    }

    /// Ends `MPI_Waitsome`; returns how many are complete (`None` if no request is active). Calls `found(k,
    /// index, status)` for each.
    pub fn end_wait_some(
        &self,
        requests: RequestArray,
        found: &mut dyn FnMut(u32, u32, &Status),
    ) -> Result<Option<u32>> {
        self.some(requests, true, found)
    }

    /// Implements `MPI_Testsome`.
    pub fn test_some(
        &self,
        requests: RequestArray,
        found: &mut dyn FnMut(u32, u32, &Status),
    ) -> Result<Option<u32>> {
        if self.begin_ask_about(requests, Question::TestSome) {
            self.block();
        }
        self.some(requests, false, found)
    }

    /// Returns `true` if all requests are complete at the clock.
    pub fn all_complete(&self, requests: RequestArray) -> Result<bool> {
        self.ask(Question::TestAll(requests));
        self.are_complete(requests)
    }

    /// After its question was answered: whether all requests are complete at the clock.
    // Null requests count as complete, so that an array of them is (MPI 5.0 section 3.7.5).
    fn are_complete(&self, requests: RequestArray) -> Result<bool> {
        let mut world = self.world();
        let me = world.messages.me();
        let mut latest = Time::ZERO;
        for handle in requests.iter() {
            match world.completion(handle)? {
                Completion::At(time) => latest = latest.max(time),
                Completion::Unknown => latest = Time::MAX,
                Completion::Null => {}
            }
        }
        if latest <= world.messages.clock(me) {
            return Ok(true);
        }
        world.messages.ranks_mut().fail_poll();
        Ok(false)
    }

    /// Implements `MPI_Testall`: `statuses(i, status)` is called with each status if all are complete.
    pub fn test_all(&self, requests: RequestArray, statuses: &mut dyn FnMut(u32, &Status)) -> Result<bool> {
        if !self.all_complete(requests)? {
            return Ok(false);
        }
        self.finish_all(requests, statuses)?;
        Ok(true)
    }

    /// Implements `MPI_Test` on the one handle of `request`. Returns its status; `None` if it is not
    /// complete.
    pub fn test(&self, request: RequestArray) -> Result<Option<Status>> {
        if !self.all_complete(request)? {
            return Ok(None);
        }
        let finished = self.finish_one(request.get(0));
        request.set(
            0,
            finished
                .as_ref()
                .map_or_else(|failure| self.after_failure(request.get(0), failure), |(_, next)| *next),
        );
        Ok(Some(finished?.0))
    }

    /// Completes a request that the program has no handle of if it is complete at the rank's clock: whether
    /// it was.
    pub(crate) fn ask_for(&self, request: usize) -> Result<bool> {
        let mut handle = request;
        let array = RequestArray { at: Addr(std::ptr::from_mut(&mut handle) as usize), count: 1, wide: true };
        Ok(self.test(array)?.is_some())
    }

    /// `MPI_Cancel`: succeeds for a receive whose message has not arrived by the rank's clock; a send's
    /// cancelling always fails.
    ///
    /// A message that arrives later goes back, unless its sender was told of the match or it was too long.
    // The rank waits until its clock is safe: whether a message had arrived by then is a question about that
    // instant.
    pub fn cancel(&self, handle: usize) -> Result {
        let part = {
            let mut world = self.world();
            let me = world.messages.me();
            world.messages.requests_mut().forget_watched(me);
            if world.completion(handle)? == Completion::Null {
                return Err(crate::error::Failure::new(
                    crate::error::ErrorClass::REQUEST,
                    "the request is null or inactive: there is nothing to cancel",
                ));
            }
            world.messages.requests().active_part(handle)
        };
        match handle::request(part) {
            handle::RequestRef::Node(index) => {
                self.ask(Question::Cancel(index));
                let mut world = self.world();
                let me = world.messages.me();
                if world.cancel_pending(index) {
                    return Ok(());
                }
                if world.messages.matcher()[index].state == State::Posted || world.give_back(me, index) {
                    world.withdraw(me, index);
                }
                Ok(())
            }
            handle::RequestRef::Cold(index) => {
                let call = {
                    let world = self.world();
                    match world
                        .messages
                        .requests()
                        .get(index)
                        .map(|request| (&request.body, request.done.is_some()))
                    {
                        Some((crate::request::Body::Generalized(callbacks), done)) => {
                            Some((callbacks.cancel.clone(), done))
                        }
                        _ => None,
                    }
                };
                match call.map(|(cancel, done)| cancel(done)) {
                    None | Some(0) => Ok(()),
                    Some(code) => Err(crate::error::Failure::new(
                        crate::error::ErrorClass(code),
                        "the cancel callback of the generalized request returned an error",
                    )),
                }
            }
            _ => Ok(()),
        }
    }
}

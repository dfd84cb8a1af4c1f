//! The calls that complete requests (MPI 5.0 section 3.7): each kind is finished by the part that it is of.

use crate::error::{ErrorClass, Failure, Result};
use crate::handle::{self, REQUEST_NULL, RequestRef};
use crate::request::{Awaited, Body, Generalized, Request, RequestArray, Status};
use crate::world::{Mpi, World};

impl World {
    /// Completes something of the mounted rank whose request the program gave away: its clock does not move.
    // A freed request completes when the system likes (MPI 5.0 section 3.7.3): no clock of the program can
    // tell when.
    pub(crate) fn reap<T>(&mut self, finish: impl FnOnce(&mut World) -> T) -> T {
        let (me, clock) = (self.messages.me(), self.messages.clock(self.messages.me()));
        let result = finish(self);
        self.messages.ranks_mut()[me].clock = clock;
        result
    }

    /// [`Mpi::begin_wait_all`], where the world is looked at already.
    // Letting others run is worth it only if nothing is waited for anyway: else they run meanwhile.
    #[inline]
    pub fn begin_wait_all(&mut self, requests: RequestArray, wanted: bool) -> Result<Awaited> {
        if self.messages.faults().is_some() {
            return Ok(Awaited {
                waits: self.begin_wait_all_in_order(requests)?,
                all_ignored: false,
                unread: 0,
            });
        }
        let mut awaited = self.messages.completing().await_all(requests, wanted)?;
        if !awaited.waits && self.messages.ready().should_linger(awaited.unread) {
            self.step_back();
            awaited.waits = true;
        }
        Ok(awaited)
    }

    /// Finishes as [`Mpi::finish_ignored`] does, but for the handles: the caller forgets them. Returns
    /// `false`, with nothing done, if not all requests are settled.
    #[inline]
    pub fn settle_all_ignored(&mut self) -> bool {
        let settled = self.messages.requests().all_settled();
        if settled {
            self.messages.completing().settle_arrived();
        }
        settled
    }

    /// Completes a request that is known to be complete.
    pub(crate) fn finish(&mut self, handle: usize) -> Result<Finished> {
        match handle::request(handle) {
            RequestRef::Nothing | RequestRef::Sent => Ok(Finished::ended(Status::EMPTY)),
            RequestRef::Node(index) => Ok(Finished::ended(self.messages.finish_receive(index)?)),
            RequestRef::Cold(index) => {
                if let Body::Persistent { active, .. } = &mut self.messages.requests_mut()[index].body {
                    let Some(operation) = active.take() else {
                        return Ok(Finished { next: handle, ..Finished::ended(Status::EMPTY) });
                    };
                    let finished = self.finish(operation);
                    // One that waits for a source still is active.
                    if finished
                        .as_ref()
                        .is_err_and(|failure| failure.class == ErrorClass::PROC_FAILED_PENDING)
                        && let Body::Persistent { active, .. } = &mut self.messages.requests_mut()[index].body
                    {
                        *active = Some(operation);
                    }
                    return Ok(Finished { next: handle, ..finished? });
                }
                self.finish_in_table(index)
            }
            RequestRef::Ignored(_) | RequestRef::Invalid => {
                self.completion(handle).map(|_| Finished::ended(Status::EMPTY))
            }
        }
    }

    /// [`World::finish`] of a request in the table that ends with that.
    // The clock moves before the chapter or the program's functions hear of it: what they do is done at the
    // completion.
    fn finish_in_table(&mut self, index: u32) -> Result<Finished> {
        let me = self.messages.me();
        let Some(Request { done, body, .. }) = self.messages.requests_mut().remove(index) else {
            unreachable!("it is known to be complete")
        };
        let done = done.unwrap_or_default();
        if let Some(failure) = self.messages.faults_mut().and_then(|faults| faults.take_send_fault(me, index))
        {
            self.messages.ranks_mut().advance(me, done);
            return Err(failure);
        }
        match body {
            Body::Chapter { chapter, token } => {
                let chapter = self.chapters.of(chapter);
                chapter.reach(&mut self.messages, token, done);
                return Ok(Finished::ended(chapter.finish(&mut self.messages, &self.objects, token)?));
            }
            Body::Generalized(callbacks) => {
                self.messages.ranks_mut().advance(me, done);
                return Ok(Finished { callbacks: Some(callbacks), ..Finished::ended(Status::EMPTY) });
            }
            Body::Synchronous { .. } | Body::Persistent { .. } | Body::Away { .. } => {}
        }
        let me = self.messages.me();
        self.messages.watch_mut().note_match_of(me, index, done);
        self.messages.ranks_mut().advance(me, done);
        Ok(Finished::ended(Status::EMPTY))
    }
}

/// Result of completing a request.
pub(crate) struct Finished {
    /// The status, unless functions of the program fill it.
    status: Status,
    /// The handle's new value.
    next: usize,
    /// Callbacks of a generalized request, which run once the world is no longer borrowed: they may call MPI.
    callbacks: Option<Box<Generalized>>,
}

impl Finished {
    /// Returns the result for a request that ceases to exist: its handle becomes `MPI_REQUEST_NULL`.
    fn ended(status: Status) -> Finished {
        Finished { status, next: REQUEST_NULL, callbacks: None }
    }
}

impl Mpi {
    /// Completes one request that is complete, generalized ones through their callbacks.
    pub(crate) fn finish_one(&self, handle: usize) -> Result<(Status, usize)> {
        let finished = self.world().finish(handle)?;
        let Some(callbacks) = finished.callbacks else { return Ok((finished.status, finished.next)) };
        let mut status = Status::EMPTY;
        let code = (callbacks.query)(&mut status);
        let freed = (callbacks.free)();
        match if code != 0 { code } else { freed } {
            0 => Ok((status, finished.next)),
            code => {
                Err(Failure::new(ErrorClass(code), "a callback of the generalized request returned an error"))
            }
        }
    }

    /// Returns the new value of a request's handle whose completion has failed: itself where the request is
    /// still active, or persistent.
    pub(crate) fn after_failure(&self, handle: usize, failure: &Failure) -> usize {
        let stays = failure.class == ErrorClass::PROC_FAILED_PENDING
            || self.world().messages.requests().is_persistent(handle);
        if stays { handle } else { REQUEST_NULL }
    }

    /// Begins `MPI_Wait`; returns `true` if the mounted rank has to wait, for the request or for others to
    /// take a long message first.
    #[inline(always)]
    pub fn begin_wait(&self, handle: usize) -> Result<bool> {
        self.wait_for_receives();
        let mut world = self.world();
        if world.messages.faults().is_some() {
            return world.begin_wait_in_order(handle);
        }
        let waits = world.messages.completing().await_one(handle)?;
        if !waits
            && let RequestRef::Node(index) = handle::request(handle)
            && world.messages.ready().should_linger(world.messages.matcher()[index].unread())
        {
            world.step_back();
            return Ok(true);
        }
        Ok(waits)
    }

    /// Ends `MPI_Wait` of a complete request; returns the status, and the handle's new value.
    #[inline(always)]
    pub fn end_wait(&self, handle: usize) -> Result<(Status, usize)> {
        if let RequestRef::Node(index) = handle::request(handle) {
            let mut world = self.world();
            if let Some(status) = world.messages.completing().finish_plain_receive(index) {
                world.messages.ranks_mut().mark_brief();
                return Ok((status, REQUEST_NULL));
            }
            return Ok((world.messages.finish_receive_slow(index)?, REQUEST_NULL));
        }
        self.finish_one(handle)
    }

    /// Blocks until receives have met the messages that the call waits for, where sends are checked
    /// (`-xsim-check`).
    #[inline]
    fn wait_for_receives(&self) {
        if self.checks_sends() {
            self.wait_for_each_receive();
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_for_each_receive(&self) {
        let mut guard = self.world();
        guard.messages.flush_batch();
        let awaited = guard.messages.watch_mut().take_awaited_receives();
        let me = (guard.messages.me(), guard.messages.clock(guard.messages.me()));
        drop(guard);
        for (message, to) in awaited {
            let waits = self.world().messages.watch_mut().wait_for_receive(message, to, me);
            if waits {
                self.block();
            }
        }
    }

    /// Waits for a request: the status, and the handle's new value.
    pub(crate) fn wait(&self, handle: usize) -> Result<(Status, usize)> {
        if self.begin_wait(handle)? {
            self.block();
        }
        self.end_wait(handle)
    }

    /// Begins `MPI_Waitall`. Statuses may be `wanted` in [`Mpi::finish_all`].
    #[inline]
    pub fn begin_wait_all(&self, requests: RequestArray, wanted: bool) -> Result<Awaited> {
        self.wait_for_receives();
        self.world().begin_wait_all(requests, wanted)
    }

    /// Completes all requests of the array, whose statuses are ignored and which are complete: false, with
    /// nothing done, if some are not settled yet.
    #[inline]
    pub fn finish_ignored(&self, requests: RequestArray) -> bool {
        let finished = self.world().settle_all_ignored();
        if finished {
            requests.fill(REQUEST_NULL);
        }
        finished
    }

    /// Completes all requests of the array, which are complete: `statuses(i, status)` is told each status.
    #[inline]
    pub fn finish_all(&self, requests: RequestArray, mut statuses: impl FnMut(u32, &Status)) -> Result {
        let mut failed: Option<Box<Failure>> = None;
        let mut world = self.world();
        world.messages.completing().settle_ignored(requests);
        // All nodes are asked for before the first is looked at; among few ranks they are in the cache.
        if world.messages.ranks().exceed_cache() {
            for handle in requests.iter() {
                if let RequestRef::Node(index) = handle::request(handle) {
                    world.messages.matcher().prefetch(index);
                }
            }
        }
        for index in 0..requests.count {
            let handle = requests.get(index);
            if let Some(status) = world.messages.completing().finish_plain(handle) {
                requests.set(index, REQUEST_NULL);
                statuses(index, &status);
                continue;
            }
            drop(world);
            let truncated = self.world().truncated_status(handle);
            match self.finish_one(handle) {
                Ok((status, next)) => {
                    requests.set(index, next);
                    statuses(index, &status);
                }
                Err(failure) => {
                    requests.set(index, self.after_failure(handle, &failure));
                    statuses(index, &Status { error: failure.class.0, ..truncated.unwrap_or(Status::EMPTY) });
                    failed.get_or_insert(failure);
                }
            }
            world = self.world();
        }
        match failed {
            None => Ok(()),
            Some(first) => {
                let text = format!("{} (its class is in the MPI_ERROR field of its status)", first.text);
                Err(Failure::new(ErrorClass::IN_STATUS, text).within(first.scope))
            }
        }
    }
}

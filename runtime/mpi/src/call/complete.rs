//! The calls that complete requests (MPI 5.0 section 3.7): each kind is finished by the part that it is of.

use crate::error::{ErrorClass, Failure, Result};
use crate::handle::{self, REQUEST_NULL, RequestRef};
use crate::request::{Awaited, Body, Completion, RequestArray, Status};
use crate::world::{Mpi, World};

impl World {
    /// Completes something of the mounted rank whose request the program gave away: its clock does not move.
    // A freed request completes when the system likes (MPI 5.0 section 3.7.3): no clock of the program can tell
    // when.
    pub(crate) fn finish_unseen<T>(&mut self, finish: impl FnOnce(&mut World) -> T) -> T {
        let (me, clock) = (self.messages.current, self.messages.clock(self.messages.current));
        let result = finish(self);
        self.messages.ranks[me as usize].clock = clock;
        result
    }

    /// Completes a request that is known to be complete: `(status, the handle's new value)`.
    pub(crate) fn finish(&mut self, handle: usize) -> Result<(Status, usize)> {
        let me = self.messages.current;
        match handle::request(handle) {
            RequestRef::Nothing | RequestRef::Sent => Ok((Status::EMPTY, REQUEST_NULL)),
            RequestRef::Node(index) => Ok((self.messages.finish_receive(index)?, REQUEST_NULL)),
            RequestRef::Cold(index) => {
                let done = self.messages.requests[index].done;
                match &mut self.messages.requests[index].body {
                    Body::Persistent { active, .. } => {
                        let Some(active) = active.take() else { return Ok((Status::EMPTY, handle)) };
                        Ok((self.finish(active)?.0, handle))
                    }
                    Body::Synchronous => {
                        self.messages.requests.remove(index);
                        self.messages.note_match_of(index, done.unwrap_or_default());
                        self.messages.advance(me, done.unwrap_or_default());
                        Ok((Status::EMPTY, REQUEST_NULL))
                    }
                    &mut Body::Chapter { chapter, token } => {
                        self.messages.requests.remove(index);
                        let chapter = self.chapters.of(chapter);
                        chapter.reach(&mut self.messages, token, done.unwrap_or_default());
                        Ok((chapter.finish(&mut self.messages, &self.objects, token)?, REQUEST_NULL))
                    }
                    Body::Generalized(_) | Body::Away { .. } => Ok((Status::EMPTY, handle)),
                }
            }
            RequestRef::Unseen(_) | RequestRef::Invalid => self.messages.completion(handle).map(|_| (Status::EMPTY, REQUEST_NULL)),
        }
    }
}

impl Mpi {
    /// Completes one request that is complete, generalized ones through their callbacks.
    pub(crate) fn finish_one(&self, handle: usize) -> Result<(Status, usize)> {
        let mut world = self.world();
        if let RequestRef::Cold(index) = handle::request(handle)
            && matches!(world.messages.requests.get(index).map(|request| &request.body), Some(Body::Generalized(_)))
        {
            let me = world.messages.current;
            let Some(request) = world.messages.requests.remove(index) else { unreachable!("looked up above") };
            world.messages.advance(me, request.done.unwrap_or_default());
            drop(world);
            let Body::Generalized(callbacks) = request.body else { unreachable!("matched above") };
            let mut status = Status::EMPTY;
            let code = (callbacks.query)(&mut status);
            let freed = (callbacks.free)();
            return match if code != 0 { code } else { freed } {
                0 => Ok((status, REQUEST_NULL)),
                code => Err(Failure::new(ErrorClass(code), "a callback of the generalized request returned an error")),
            };
        }
        world.finish(handle)
    }

    /// The first half of `MPI_Wait`: whether the mounted rank has to wait, for the request or for others to take a long message first.
    #[inline(always)]
    pub fn begin_wait(&self, handle: usize) -> Result<bool> {
        let mut world = self.world();
        let waits = world.messages.completion(handle)? == Completion::Unknown;
        if waits {
            let me = world.messages.current;
            world.messages.ranks[me as usize].waiting = 0;
            world.messages.await_request(me, handle);
        } else if let RequestRef::Node(index) = handle::request(handle)
            && world.messages.should_linger(world.messages.unread(index))
        {
            world.messages.step_back();
            return Ok(true);
        }
        Ok(waits)
    }

    /// The second half of `MPI_Wait`, of a complete request: the status, and the handle's new value.
    #[inline(always)]
    pub fn end_wait(&self, handle: usize) -> Result<(Status, usize)> {
        if let RequestRef::Node(index) = handle::request(handle) {
            let mut world = self.world();
            if let Some(status) = world.messages.finish_plain_receive(index) {
                world.messages.is_brief();
                return Ok((status, REQUEST_NULL));
            }
            return Ok((world.messages.finish_odd_receive(index)?, REQUEST_NULL));
        }
        self.finish_one(handle)
    }

    /// Waits for a request: the status, and the handle's new value.
    pub(crate) fn wait(&self, handle: usize) -> Result<(Status, usize)> {
        if self.begin_wait(handle)? {
            self.block();
        }
        self.end_wait(handle)
    }

    /// The first half of `MPI_Waitall`. Statuses may be `wanted` in [`Mpi::finish_all`].
    // Letting others run is worth it only if nothing is waited for anyway: else they run meanwhile.
    #[inline]
    pub fn begin_wait_all(&self, requests: RequestArray, wanted: bool) -> Result<Awaited> {
        let mut world = self.world();
        let mut awaited = world.messages.await_all(requests, wanted)?;
        if !awaited.waits && world.messages.should_linger(awaited.unread) {
            world.messages.step_back();
            awaited.waits = true;
        }
        Ok(awaited)
    }

    /// Completes all requests of the array, which were all completed unseen: false, with nothing done, if some have to be seen.
    #[inline]
    pub fn finish_unseen_all(&self, requests: RequestArray) -> bool {
        let mut world = self.world();
        if !world.messages.seen.is_empty() {
            return false;
        }
        world.messages.see_unseen(requests);
        requests.fill(REQUEST_NULL);
        true
    }

    /// Completes all requests of the array, which are complete: `statuses(i, status)` is told each status.
    #[inline]
    pub fn finish_all(&self, requests: RequestArray, mut statuses: impl FnMut(u32, &Status)) -> Result {
        let mut failed: Option<Box<Failure>> = None;
        let mut world = self.world();
        world.messages.see_unseen(requests);
        // All nodes are asked for before the first is looked at; among few ranks they are in the cache.
        if world.messages.sweeps {
            for handle in requests.iter() {
                if let RequestRef::Node(index) = handle::request(handle) {
                    world.messages.nodes.prefetch(index);
                }
            }
        }
        for index in 0..requests.count {
            let handle = requests.get(index);
            if let Some(status) = world.messages.finish_plain(handle) {
                requests.set(index, REQUEST_NULL);
                statuses(index, &status);
                continue;
            }
            drop(world);
            let truncated = self.world().messages.truncated_status(handle);
            match self.finish_one(handle) {
                Ok((status, next)) => {
                    requests.set(index, next);
                    statuses(index, &status);
                }
                Err(failure) => {
                    requests.set(index, REQUEST_NULL);
                    statuses(index, &Status { error: failure.class.0, ..truncated.unwrap_or(Status::EMPTY) });
                    failed.get_or_insert(failure);
                }
            }
            world = self.world();
        }
        match failed {
            None => Ok(()),
            Some(first) => {
                Err(Failure::new(ErrorClass::IN_STATUS, format!("{} (its class is in the MPI_ERROR field of its status)", first.text)))
            }
        }
    }
}

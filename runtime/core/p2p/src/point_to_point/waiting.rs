//! Completion of a request, as far as it is known, and waiting for it (MPI 5.0 section 3.7).

use crate::completing::Completing;
use crate::error::Result;
use crate::handle::{self, RequestRef};
use crate::node::{State, flag};
use crate::request::{Awaited, Body, Completion, Request, RequestArray, Requests, invalid, stands_twice};
use engine::Time;
use matcher::Matcher;

/// Requests of a call beyond which what it will look at is asked for ahead, and how far.
const MIN_PREFETCHED: u32 = 64;
const AHEAD: u32 = 8;

impl Requests {
    /// Returns what is known of the completion of `handle`.
    // A send that is complete is so since time zero: whatever clock asks has passed it.
    #[inline]
    pub fn completion(&self, matcher: &Matcher, handle: usize) -> Result<Completion> {
        match handle::request(handle) {
            RequestRef::Nothing => Ok(Completion::Null),
            RequestRef::Sent => Ok(Completion::At(Time::ZERO)),
            RequestRef::Node(index) => {
                let node = matcher.get_request(index).ok_or_else(|| invalid(handle))?;
                Ok(match node.state {
                    State::Matched | State::Cancelled => Completion::At(node.arrival),
                    State::Unexpected | State::Extracted | State::Sent => Completion::At(Time::ZERO),
                    _ => Completion::Unknown,
                })
            }
            RequestRef::Cold(index) => match self.get(index) {
                Some(Request { body: Body::Persistent { active, .. }, .. }) => match active {
                    Some(active) => self.completion(matcher, *active),
                    None => Ok(Completion::Null),
                },
                Some(request) if !request.orphan => {
                    Ok(request.done.map_or(Completion::Unknown, Completion::At))
                }
                _ => Err(invalid(handle)),
            },
            RequestRef::Ignored(_) | RequestRef::Invalid => Err(invalid(handle)),
        }
    }
}

impl Completing<'_> {
    /// Returns `true` if the mounted rank has to wait for a request, which then is marked so.
    ///
    /// # Errors
    /// `MPI_ERR_REQUEST`.
    #[inline(always)]
    pub fn await_one(&mut self, handle: usize) -> Result<bool> {
        let waits = self.requests.completion(self.matcher, handle)? == Completion::Unknown;
        if waits {
            self.ranks.strand_mut().block(0);
            self.await_request(handle);
        }
        Ok(waits)
    }

    /// Marks an incomplete request as waited for by the mounted rank.
    #[inline]
    fn await_request(&mut self, handle: usize) {
        match handle::request(self.requests.active_part(handle)) {
            RequestRef::Node(index) => self.matcher[index].flags |= flag::WAITED,
            RequestRef::Cold(index) => self.requests[index].waited = true,
            _ => return,
        }
        self.ranks.strand_mut().block_further(1);
    }

    /// Marks all incomplete requests of an array as waited for by the mounted rank.
    ///
    /// Where no status is `wanted`, plain receives are completed here, or when their messages come
    /// ([`flag::STATUS_IGNORED`]), and not looked at again: by then their nodes may have left the cache. An
    /// error leaves none marked.
    // Not where receiving costs the rank time (each completion would have to be charged in its order) or a
    // recorder wants to know whom it waited for (without a look at it). Then all are completed one by one, in
    // the order of the array.
    pub fn await_all(&mut self, requests: RequestArray, wanted: bool) -> Result<Awaited> {
        let ignored = !wanted && self.requests.are_unseen();
        let mut awaited = Awaited { waits: false, unread: 0, all_ignored: ignored };
        self.ranks.strand_mut().block(0);
        let mut receives = 0;
        // Of a long array the nodes are in no cache near.
        let ahead = if requests.count > MIN_PREFETCHED { AHEAD } else { requests.count };
        for index in 0..requests.count {
            let handle = requests.get(index);
            if index + ahead < requests.count
                && let RequestRef::Node(later) = handle::request(requests.get(index + ahead))
            {
                self.matcher.prefetch(later);
            }
            // By its value, before anything is looked up: half of a stencil's requests.
            if handle == handle::REQUEST_SENT {
                continue;
            }
            if let RequestRef::Node(at) = handle::request(handle)
                && let Some(node) = self.matcher.get_mut(at)
            {
                let state = node.state;
                if state == State::Posted && !node.has(flag::WAITED) {
                    node.flags |= flag::WAITED;
                    if ignored && !node.has(flag::LAYOUT | flag::MOUNTED_ONLY) {
                        node.flags |= flag::STATUS_IGNORED;
                        requests.set(index, handle::of_ignored(at));
                    } else {
                        awaited.all_ignored = false;
                    }
                    receives += 1;
                    continue;
                }
                if state == State::Matched || state == State::Sent {
                    if ignored && self.finish_plain(handle).is_some() {
                        requests.set(index, handle::REQUEST_NULL);
                    } else {
                        awaited.all_ignored = false;
                    }
                    continue;
                }
                if state == State::Unexpected && node.has(flag::OWNED) {
                    awaited.unread += self.matcher[at].unread();
                    awaited.all_ignored = false;
                    continue;
                }
            }
            if handle::request(handle) == RequestRef::Sent {
                continue;
            }
            awaited.all_ignored &= handle == handle::REQUEST_NULL;
            let failure = match self.requests.completion(self.matcher, handle) {
                Ok(Completion::Unknown) if self.is_awaited(handle) => stands_twice(handle),
                Ok(Completion::Unknown) => {
                    self.await_request(handle);
                    continue;
                }
                Ok(_) => continue,
                Err(failure) => failure,
            };
            // As before the call: the program may go on (`MPI_ERRORS_RETURN`) and use the other requests.
            for marked in 0..index {
                if let RequestRef::Ignored(at) = handle::request(requests.get(marked)) {
                    requests.set(marked, handle::of_node(at));
                }
                self.forget_request(requests.get(marked));
            }
            self.ranks.strand_mut().block(0);
            return Err(failure);
        }
        if requests.count > MIN_PREFETCHED {
            self.matcher.reorder_free();
        }
        let strand = self.ranks.strand_mut();
        strand.block_further(receives);
        awaited.waits = strand.is_blocked();
        Ok(awaited)
    }

    fn is_awaited(&self, handle: usize) -> bool {
        match handle::request(self.requests.active_part(handle)) {
            RequestRef::Node(index) => self.matcher[index].has(flag::WAITED),
            RequestRef::Cold(index) => self.requests[index].waited,
            _ => false,
        }
    }

    /// Takes back what [`Completing::await_request`] did.
    fn forget_request(&mut self, handle: usize) {
        match handle::request(self.requests.active_part(handle)) {
            RequestRef::Node(index) => self.matcher[index].flags &= !(flag::WAITED | flag::STATUS_IGNORED),
            RequestRef::Cold(index) => self.requests[index].waited = false,
            _ => {}
        }
    }

    /// Returns what `rank` is blocked for, as handles, is awaited no more: whoever asks for it looks at each
    /// again. None is completed unseen (without a look at it). O(nodes + requests that there ever were).
    // Found and not kept: only ranks of which several threads are blocked ask, and all others would pay for a
    // list.
    pub fn take_awaited(&mut self, rank: u32) -> Vec<usize> {
        let mut awaited = Vec::new();
        for index in 0..self.matcher.node_count() {
            let node = &mut self.matcher[index];
            if node.state == State::Free || !node.has(flag::WAITED) {
                continue;
            }
            node.flags &= !flag::WAITED;
            awaited.push(handle::of_node(index));
        }
        awaited.extend(self.requests.take_waited(rank).into_iter().map(handle::of_cold));
        awaited
    }
}

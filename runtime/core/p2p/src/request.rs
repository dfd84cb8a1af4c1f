//! Requests other than plain receives, and what is known of a request's completion.

pub mod persistent;

pub use persistent::{Starter, Template};

mod kinds;
mod watched;

pub use kinds::{
    ANY_SOURCE, ANY_TAG, Awaited, Body, Completion, Generalized, PROC_NULL, ROOT, Request, RequestArray,
    Round, Status, UNDEFINED,
};

pub use watched::{FirstComplete, RequestsBefore, WatchedArray};

use crate::buffered::{self, Attached};
use crate::deferred::DeferredMatches;
use crate::error::{ErrorClass, Failure};
use crate::handle::{self, RequestRef};
use engine::Time;
use objects::slab::Slab;
use rustc_hash::FxHashMap;
use std::ops::{Index, IndexMut};
use watched::WatchedArrays;

/// Returns the failure of a call that was given a handle which is no active request.
#[cold]
pub fn invalid(handle: usize) -> Box<Failure> {
    Failure::new(
        ErrorClass::REQUEST,
        format!(
            "request handle {handle:#x} is not an active request: it was waited for, freed, or never made; a \
             completed request becomes MPI_REQUEST_NULL only in the variable given to the wait"
        ),
    )
}

/// Returns the failure of a call that was given a request twice.
#[cold]
pub fn stands_twice(handle: usize) -> Box<Failure> {
    let text = format!(
        "request handle {handle:#x} stands twice in the array: each request is completed once, so give it \
         once"
    );
    Failure::new(ErrorClass::REQUEST, text)
}

/// Requests that are more than a node, and what else is kept of requests.
pub struct Requests {
    table: Slab<Request>,
    /// The status of the receive that has just ended.
    // Kept here, because a status is more than a call returns in registers, and most programs ignore it.
    latest: Status,
    /// Receives that were freed while active and have their message now: rank and node. Their payload goes
    /// into memory that only their rank reaches.
    orphans: Vec<(u32, u32)>,
    /// Receives with `flag::STATUS_IGNORED` that their ranks have to see all the same, and whose they are.
    // Nearly always empty, so that ending a wait asks once whether it is: longer messages than their
    // receives, and payloads that only the rank itself can move.
    unsettled: FxHashMap<u32, u32>,
    /// Buffers that ranks attached.
    buffers: FxHashMap<(u32, buffered::Use), Attached>,
    /// Matches of which the senders are not notified.
    deferred: DeferredMatches,
    /// Handles of their own that complete sends have been given ([`handle::of_sent`]).
    distinct: u32,
    /// `true` if receives may take the plain path: no recorder subscribed to their types, and no rank can
    /// fail.
    // One question for both, so that neither costs a plain receive anything.
    plain_receives: bool,
    /// `true` if receives that a rank is blocked for may be completed without it looking at them again
    /// ([`Messages::await_all`](crate::Messages::await_all)).
    unseen: bool,
    /// Long arrays that ranks wait for piece by piece.
    watched: WatchedArrays,
}

impl Requests {
    /// Returns a table without requests. With `unseen`, receives that a rank is blocked for may be completed
    /// without it looking at them again.
    pub fn new(unseen: bool) -> Requests {
        Requests {
            table: Slab::default(),
            latest: Status::EMPTY,
            orphans: Vec::new(),
            unsettled: FxHashMap::default(),
            buffers: FxHashMap::default(),
            deferred: DeferredMatches::default(),
            distinct: 0,
            plain_receives: true,
            unseen,
            watched: WatchedArrays::default(),
        }
    }

    /// Returns `true` if receives may take the plain path.
    #[inline(always)]
    pub fn receives_plainly(&self) -> bool {
        self.plain_receives
    }
    /// Posts no receive on the plain path from now on.
    pub(crate) fn leave_plain_receives(&mut self) {
        self.plain_receives = false;
    }
    /// Returns `true` if receives that a rank is blocked for may be completed without it looking at them
    /// again.
    #[inline(always)]
    pub fn are_unseen(&self) -> bool {
        self.unseen
    }
    /// Completes no receive any more without its rank looking at it again.
    // A handle of what is gone could come to name what another thread receives.
    pub fn complete_in_sight(&mut self) {
        self.unseen = false;
    }

    /// Returns a table request.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&Request> {
        self.table.get(index)
    }
    /// Returns a table request, to change.
    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut Request> {
        self.table.get_mut(index)
    }
    /// Takes a table request out.
    pub fn remove(&mut self, index: u32) -> Option<Request> {
        if let Some(&Request { watched: true, owner, .. }) = self.table.get(index) {
            self.watched.ended(owner, handle::of_cold(index));
        }
        self.table.remove(index)
    }
    /// Returns all table requests with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Request)> {
        self.table.iter()
    }
    /// Makes a table request.
    pub fn make(&mut self, owner: u32, body: Body) -> u32 {
        self.table.insert(Request { owner, done: None, waited: false, watched: false, orphan: false, body })
    }
    /// Frees all requests of a rank that will not ask for them any more.
    pub(crate) fn abandon(&mut self, owner: u32) {
        self.watched.forget(owner);
        for request in self.table.iter_mut().filter(|request| request.owner == owner) {
            (request.waited, request.orphan) = (false, true);
        }
    }
    /// Takes the marks of waiting off all requests of a rank. Returns those that had it.
    pub(crate) fn take_waited(&mut self, owner: u32) -> Vec<u32> {
        let waited = self.table.iter().filter(|(_, request)| request.owner == owner && request.waited);
        let waited: Vec<u32> = waited.map(|(index, _)| index).collect();
        waited.iter().for_each(|&index| self.table[index].waited = false);
        waited
    }

    /// Notes that a receive of `rank` completes at `at`, if its array is watched.
    #[cold]
    pub(crate) fn receive_completed(&mut self, rank: u32, receive: u32, at: Time) {
        self.watched.completed(rank, handle::of_node(receive), at);
    }
    /// Notes that a receive of `rank` is over, if its array is watched.
    #[cold]
    pub(crate) fn receive_ended(&mut self, rank: u32, receive: u32) {
        self.watched.ended(rank, handle::of_node(receive));
    }
    /// Notes that a request of the table completes at `at`, if its array is watched.
    #[cold]
    pub(crate) fn kept_completed(&mut self, rank: u32, index: u32, at: Time) {
        self.watched.completed(rank, handle::of_cold(index), at);
    }
    /// Starts a persistent request as `operation`.
    pub fn started(&mut self, index: u32, operation: usize) {
        let request = &mut self.table[index];
        if let Body::Persistent { active, .. } = &mut request.body {
            *active = Some(operation);
        }
        if request.watched {
            self.watched.ended(request.owner, handle::of_cold(index));
        }
    }

    /// Returns the status of the receive that has just ended.
    #[inline(always)]
    pub fn latest(&self) -> Status {
        self.latest
    }
    /// Keeps the status of the receive that has just ended.
    #[inline(always)]
    pub fn set_latest(&mut self, status: Status) {
        self.latest = status;
    }

    /// Returns the matches of which the senders are not notified.
    #[inline(always)]
    pub fn deferred(&self) -> &DeferredMatches {
        &self.deferred
    }
    /// Returns the matches of which the senders are not notified, to change.
    #[inline(always)]
    pub fn deferred_mut(&mut self) -> &mut DeferredMatches {
        &mut self.deferred
    }

    /// Returns another handle of a send that was complete when it was made.
    #[inline]
    pub fn distinct_sent(&mut self) -> usize {
        self.distinct = self.distinct.wrapping_add(1);
        handle::of_sent(self.distinct)
    }
    /// Returns the request inside a persistent one, or `handle` itself.
    pub fn active_part(&self, handle: usize) -> usize {
        match handle::request(handle) {
            RequestRef::Cold(index) => match self.table.get(index) {
                Some(Request { body: Body::Persistent { active: Some(active), .. }, .. }) => *active,
                _ => handle,
            },
            _ => handle,
        }
    }
    /// Returns `true` if a handle names a persistent request.
    pub fn is_persistent(&self, handle: usize) -> bool {
        let RequestRef::Cold(index) = handle::request(handle) else { return false };
        matches!(self.table.get(index), Some(Request { body: Body::Persistent { .. }, .. }))
    }

    /// Notes that a receive of `rank` that was freed while active has its message.
    pub(crate) fn add_orphan(&mut self, rank: u32, receive: u32) {
        self.orphans.push((rank, receive));
    }
    /// Returns `true` if a freed receive has its message.
    #[inline]
    pub fn has_orphans(&self) -> bool {
        !self.orphans.is_empty()
    }
    /// Takes a freed receive that has its message: its rank and node.
    pub fn next_orphan(&mut self) -> Option<(u32, u32)> {
        self.orphans.pop()
    }

    /// Notes that `rank` has to see a receive whose status it ignores.
    pub(crate) fn add_unsettled(&mut self, receive: u32, rank: u32) {
        self.unsettled.insert(receive, rank);
    }
    /// Returns `true` if no rank has to see a receive whose status it ignores.
    #[inline(always)]
    pub fn all_settled(&self) -> bool {
        self.unsettled.is_empty()
    }
    /// Returns `true` if `rank` has to see this receive, which then is taken off the list.
    pub(crate) fn take_unsettled(&mut self, receive: u32, rank: u32) -> bool {
        let is_own = self.unsettled.get(&receive) == Some(&rank);
        if is_own {
            self.unsettled.remove(&receive);
        }
        is_own
    }
    /// Takes all receives off the list that `rank` has to see.
    pub(crate) fn take_all_unsettled(&mut self, rank: u32) -> Vec<u32> {
        let own: Vec<u32> =
            self.unsettled.iter().filter(|(_, owner)| **owner == rank).map(|(&node, _)| node).collect();
        own.iter().for_each(|node| {
            self.unsettled.remove(node);
        });
        own
    }

    /// Returns the buffer that a rank attached for this.
    pub fn buffer(&self, rank: u32, for_: buffered::Use) -> Option<&Attached> {
        self.buffers.get(&(rank, for_))
    }
    /// Attaches a buffer.
    pub fn attach(&mut self, rank: u32, for_: buffered::Use, buffer: Attached) {
        self.buffers.insert((rank, for_), buffer);
    }
    /// Detaches a buffer.
    pub fn detach(&mut self, rank: u32, for_: buffered::Use) -> Option<Attached> {
        self.buffers.remove(&(rank, for_))
    }
}

impl Index<u32> for Requests {
    type Output = Request;
    #[inline]
    fn index(&self, index: u32) -> &Request {
        &self.table[index]
    }
}

impl IndexMut<u32> for Requests {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Request {
        &mut self.table[index]
    }
}

//! A long array of requests that its rank waits for piece by piece: which of them are complete is kept from
//! one call to the next, so that a call costs what has changed.
//!
//! The program may put anything at any index between its calls. So each call compares its array with the last
//! one, by bytes, and looks at the handles that differ. All others are as they were, but for the events that
//! are reported here: a completion, and the end of a request whose handle may come again.

mod bits;

use super::Requests;
use super::kinds::{Body, Completion, Request, RequestArray};
use crate::error::Result;
use crate::handle::{self, RequestRef};
use crate::node::{State, flag};
use bits::IndexSet;
use engine::Time;
use matcher::Matcher;
use objects::slab::Slab;
use rank::{Addr, memory};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Bytes of an array that are compared at a time.
const COMPARED_BYTES: usize = 4096;

/// The arrays that ranks wait for piece by piece, by rank.
#[derive(Default)]
pub(crate) struct WatchedArrays(FxHashMap<u32, Box<WatchedArray>>);

/// The array of the last call of a rank that asked for any or some of many requests.
pub struct WatchedArray {
    requests: RequestArray,
    /// The handles as they lie in the program; none after the first call with this array.
    // Only an array that comes again is worth the work.
    handles: Rc<[u8]>,
    /// `true` in a call that has compared its array with the handles.
    is_compared: bool,
    /// The clock of the rank that parts complete requests from late ones.
    clock: Time,
    /// Requests that are complete at the clock.
    complete: IndexSet,
    /// Requests that are complete later, and when.
    late: IndexSet,
    times: BTreeSet<(Time, u32)>,
    /// The time of each late request.
    time_of: Vec<Time>,
    /// Active requests whose completion is not known.
    unknown: IndexSet,
    /// Active sends whose completion is not known: their receivers' decisions may complete them.
    sends: IndexSet,
    /// Requests of which no event is reported here: each call looks at them.
    others: IndexSet,
    /// Indices whose request is gone or was started again, though its handle may be the same.
    ended: Vec<u32>,
    /// Index of each request of which events are reported, by its handle and by that of its active part.
    index_of: FxHashMap<usize, u32>,
    /// Handle of the active part of a persistent request, by index; else null.
    parts: Vec<usize>,
}

/// The requests that a pass comes across before the first that is complete at the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequestsBefore {
    /// `true` if one is complete at the clock; else the pass comes across all.
    pub ends: bool,
    /// `true` if one comes before whose completion is not known.
    pub unknown: bool,
    /// `true` if one comes before that completes after the clock.
    pub late: bool,
}

/// Result of looking for the first complete request of a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstComplete {
    /// The index of the first that is complete at the clock.
    Index(u32),
    /// None is: the least time at which one is complete, with the first index that has it. `None` if no time
    /// is known.
    Later(Option<(Time, u32)>),
    /// No request is active.
    NoneActive,
}

impl WatchedArrays {
    /// Notes that a request of `rank` completes at `at`.
    pub(crate) fn completed(&mut self, rank: u32, request: usize, at: Time) {
        if let Some(array) = self.0.get_mut(&rank)
            && let Some(&index) = array.index_of.get(&request)
        {
            array.settle(index, Completion::At(at));
        }
    }

    /// Notes that a request of `rank` is gone or starts again.
    pub(crate) fn ended(&mut self, rank: u32, request: usize) {
        if let Some(array) = self.0.get_mut(&rank)
            && let Some(&index) = array.index_of.get(&request)
        {
            array.remove(index);
            array.ended.push(index);
        }
    }

    /// Keeps nothing of `rank` any more.
    pub(crate) fn forget(&mut self, rank: u32) {
        self.0.remove(&rank);
    }
}

impl Requests {
    /// Compares the array of the mounted rank's call with that of its last one. From the second call with the
    /// same array on, what is complete is known without looking at each request.
    ///
    /// O(bytes of the array), and O(log requests) for each handle that differs.
    // A node is only marked here: its completion and its end take the ways of all that are out of the
    // ordinary, and no plain receive pays for it.
    pub fn watch(&mut self, matcher: &mut Matcher, rank: u32, requests: RequestArray, clock: Time) {
        let Requests { table, watched, .. } = self;
        let array = match watched.0.get_mut(&rank) {
            Some(array) if array.is_of(&requests) => array,
            _ => {
                watched.0.insert(rank, Box::new(WatchedArray::new(requests)));
                return;
            }
        };
        array.compare(table, matcher);
        array.pass_to(clock);
        array.is_compared = true;
    }

    /// Looks at each request in the mounted rank's call: it has not compared its array.
    pub fn watch_not(&mut self, rank: u32) {
        if let Some(array) = self.watched.0.get_mut(&rank) {
            array.is_compared = false;
        }
    }

    /// Keeps nothing of the array of a rank.
    pub fn forget_watched(&mut self, rank: u32) {
        self.watched.forget(rank);
    }

    /// Returns what is known of these requests of `rank`, if its call has compared them: the array of the
    /// program, or the handles that are kept of it.
    pub fn watched(&self, rank: u32, requests: &RequestArray) -> Option<&WatchedArray> {
        self.watched.0.get(&rank).map(|array| &**array).filter(|array| array.has(requests))
    }

    /// Moves the clock of the rank at which its watched requests are looked at.
    pub fn pass_watched(&mut self, rank: u32, clock: Time) {
        if let Some(array) = self.watched.0.get_mut(&rank) {
            array.pass_to(clock);
        }
    }
}

impl WatchedArray {
    fn new(requests: RequestArray) -> WatchedArray {
        WatchedArray {
            requests,
            handles: Rc::new([]),
            is_compared: false,
            clock: Time::ZERO,
            complete: IndexSet::default(),
            late: IndexSet::default(),
            times: BTreeSet::new(),
            time_of: Vec::new(),
            unknown: IndexSet::default(),
            sends: IndexSet::default(),
            others: IndexSet::default(),
            ended: Vec::new(),
            index_of: FxHashMap::default(),
            parts: Vec::new(),
        }
    }

    fn is_of(&self, &RequestArray { at, count, wide }: &RequestArray) -> bool {
        (self.requests.at, self.requests.count, self.requests.wide) == (at, count, wide)
    }

    fn has(&self, &RequestArray { at, count, .. }: &RequestArray) -> bool {
        self.is_compared && count == self.requests.count && (at == self.requests.at || at == self.kept_at())
    }

    fn kept_at(&self) -> Addr {
        Addr(self.handles.as_ptr() as usize)
    }

    /// Returns the handles that are kept, which can be read while the rank is not mounted.
    pub fn kept(&self) -> (RequestArray, Rc<[u8]>) {
        (RequestArray { at: self.kept_at(), ..self.requests }, self.handles.clone())
    }

    /// Takes the program's handles over and looks at those that are new.
    fn compare(&mut self, table: &mut Slab<Request>, matcher: &mut Matcher) {
        let count = self.requests.count;
        let width = if self.requests.wide { 8 } else { 4 };
        let mut changed = std::mem::take(&mut self.ended);
        if self.handles.is_empty() {
            self.time_of = vec![Time::ZERO; count as usize];
            self.parts = vec![handle::REQUEST_NULL; count as usize];
            for set in
                [&mut self.complete, &mut self.late, &mut self.unknown, &mut self.sends, &mut self.others]
            {
                *set = IndexSet::below(count);
            }
            changed = (0..count).collect();
        } else {
            let kept = self.kept().0;
            for (chunk, bytes) in self.handles.chunks(COMPARED_BYTES).enumerate() {
                let first = (chunk * COMPARED_BYTES / width) as u32;
                if !memory::holds(self.requests.at.offset((chunk * COMPARED_BYTES) as i64), bytes) {
                    let indices = first..first + (bytes.len() / width) as u32;
                    changed.extend(indices.filter(|&index| self.requests.get(index) != kept.get(index)));
                }
            }
            changed.sort_unstable();
            changed.dedup();
            // All that differ go before one comes: two indices may have changed their handles.
            changed.iter().for_each(|&index| self.remove(index));
        }
        if changed.is_empty() {
            return;
        }
        let bytes = count as usize * width;
        match Rc::get_mut(&mut self.handles) {
            Some(handles) if !handles.is_empty() => changed.iter().for_each(|&index| {
                let at = index as usize * width;
                memory::read(self.requests.at.offset(at as i64), &mut handles[at..at + width]);
            }),
            _ => {
                let mut handles = Vec::with_capacity(bytes);
                memory::append(self.requests.at, bytes, &mut handles);
                self.handles = handles.into();
            }
        }
        for index in changed {
            self.insert(index, table, matcher);
        }
    }

    /// Sorts the handle of an index in, which is in no set.
    fn insert(&mut self, index: u32, table: &mut Slab<Request>, matcher: &mut Matcher) {
        let request = self.requests.get(index);
        match handle::request(request) {
            RequestRef::Nothing => {}
            RequestRef::Sent => {
                self.complete.insert(index);
            }
            // The second of two that are the same is looked at.
            _ if self.index_of.contains_key(&request) => self.others.insert(index),
            RequestRef::Node(node) => match watch_receive(matcher, node) {
                Some(completion) => {
                    self.index_of.insert(request, index);
                    self.settle(index, completion);
                }
                None => self.others.insert(index),
            },
            RequestRef::Cold(cold) => match table.get_mut(cold) {
                Some(kept) if !kept.orphan => self.insert_kept(index, request, kept, matcher),
                _ => self.others.insert(index),
            },
            RequestRef::Ignored(_) | RequestRef::Invalid => self.others.insert(index),
        }
    }

    /// Sorts in what is more than a node.
    fn insert_kept(&mut self, index: u32, request: usize, kept: &mut Request, matcher: &mut Matcher) {
        match kept.body {
            Body::Synchronous { .. } => {
                self.settle(index, kept.done.map_or(Completion::Unknown, Completion::At));
                if kept.done.is_none() {
                    self.sends.insert(index);
                }
            }
            Body::Persistent { active: None, .. } => {}
            Body::Persistent { active: Some(part), .. } => {
                let receive = match handle::request(part) {
                    RequestRef::Node(node) if !self.index_of.contains_key(&part) => {
                        watch_receive(matcher, node)
                    }
                    _ => None,
                };
                let Some(completion) = receive else { return self.others.insert(index) };
                self.index_of.insert(part, index);
                self.parts[index as usize] = part;
                self.settle(index, completion);
            }
            _ => return self.others.insert(index),
        }
        kept.watched = true;
        self.index_of.insert(request, index);
    }

    /// Takes an index out of all sets.
    fn remove(&mut self, index: u32) {
        let kept = self.kept().0.get(index);
        for request in [kept, std::mem::replace(&mut self.parts[index as usize], handle::REQUEST_NULL)] {
            if self.index_of.get(&request) == Some(&index) {
                self.index_of.remove(&request);
            }
        }
        self.unsettle(index);
        self.others.remove(index);
    }

    fn unsettle(&mut self, index: u32) {
        self.complete.remove(index);
        self.unknown.remove(index);
        self.sends.remove(index);
        if self.late.remove(index) {
            self.times.remove(&(self.time_of[index as usize], index));
        }
    }

    /// Notes what is known of the completion of a request.
    fn settle(&mut self, index: u32, completion: Completion) {
        self.unsettle(index);
        match completion {
            Completion::Null => {}
            Completion::Unknown => self.unknown.insert(index),
            Completion::At(time) if time <= self.clock => self.complete.insert(index),
            Completion::At(time) => {
                self.late.insert(index);
                self.time_of[index as usize] = time;
                self.times.insert((time, index));
            }
        }
    }

    fn pass_to(&mut self, clock: Time) {
        self.clock = clock;
        while let Some(&(time, index)) = self.times.first()
            && time <= clock
        {
            self.settle(index, Completion::At(time));
        }
    }
}

/// Questions of calls. `look` returns the completion of a request of which no event is reported.
impl WatchedArray {
    /// Returns `true` if this is known for the rank's clock.
    pub fn is_at(&self, clock: Time) -> bool {
        self.clock == clock
    }

    /// Returns how far an index is from `from` in a pass from there on and then from the beginning.
    fn distance(&self, index: u32, from: u32) -> u32 {
        if index >= from { index - from } else { index + self.requests.count - from }
    }

    /// Returns the others that such a pass comes across before an index, or all, with their handles.
    fn others_before(&self, from: u32, end: Option<u32>) -> impl Iterator<Item = (u32, usize)> + '_ {
        let end = end.map_or(u32::MAX, |index| self.distance(index, from));
        let (kept, before) = (self.kept().0, move |&index: &u32| self.distance(index, from) < end);
        self.others.round(from).take_while(before).map(move |index| (index, kept.get(index)))
    }

    /// Returns what a pass from `from` on comes across before the first complete request.
    pub fn before_first(&self, from: u32, look: impl Fn(usize) -> Completion) -> RequestsBefore {
        let mut first = self.complete.next_in_round(from);
        let mut before = RequestsBefore { ends: first.is_some(), ..RequestsBefore::default() };
        for (index, request) in self.others_before(from, first) {
            match look(request) {
                Completion::At(time) if time <= self.clock => {
                    (first, before.ends) = (Some(index), true);
                    break;
                }
                Completion::At(_) => before.late = true,
                Completion::Unknown => before.unknown = true,
                Completion::Null => {}
            }
        }
        let has_before = |set: &IndexSet| match (set.next_in_round(from), first) {
            (Some(index), Some(first)) => self.distance(index, from) < self.distance(first, from),
            (index, None) => index.is_some(),
            (None, _) => false,
        };
        before.unknown |= has_before(&self.unknown);
        before.late |= has_before(&self.late);
        before
    }

    /// Returns completions that have the least and the greatest time of all, and one that is not known if
    /// there is such a one. Times up to the clock are zero.
    pub fn extremes(&self, look: impl Fn(usize) -> Completion) -> impl Iterator<Item = Completion> {
        let complete = (!self.complete.is_empty()).then_some(Completion::At(Time::ZERO));
        let unknown = (!self.unknown.is_empty()).then_some(Completion::Unknown);
        let late = [self.times.first(), self.times.last()];
        let late = late.map(|late| late.map(|&(time, _)| Completion::At(time)));
        let others = self.others_before(0, None).map(move |(_, request)| look(request));
        [complete, unknown].into_iter().chain(late).flatten().chain(others)
    }

    /// Returns the first complete request of a pass from `from` on, at the clock, or the one that is first to
    /// be complete then.
    ///
    /// # Errors
    /// The error of a handle that the pass comes across.
    pub fn first_complete(
        &self,
        from: u32,
        look: impl Fn(usize) -> Result<Completion>,
    ) -> Result<FirstComplete> {
        let first = self.complete.next_in_round(from);
        let mut active = !(self.times.is_empty() && self.unknown.is_empty());
        let mut least = self.least_late(from);
        for (index, request) in self.others_before(from, first) {
            match look(request)? {
                Completion::At(time) if time <= self.clock => return Ok(FirstComplete::Index(index)),
                Completion::At(time) => {
                    active = true;
                    let comes_first =
                        |(least, at)| (time, self.distance(index, from)) < (least, self.distance(at, from));
                    if least.is_none_or(comes_first) {
                        least = Some((time, index));
                    }
                }
                Completion::Unknown => active = true,
                Completion::Null => {}
            }
        }
        Ok(match first {
            Some(index) => FirstComplete::Index(index),
            None if active => FirstComplete::Later(least),
            None => FirstComplete::NoneActive,
        })
    }

    /// Returns the least time at which a late request is complete, and the first index from `from` on of
    /// those that are then.
    fn least_late(&self, from: u32) -> Option<(Time, u32)> {
        let &(time, first) = self.times.first()?;
        let behind = self.times.range((time, from)..=(time, u32::MAX)).next();
        Some((time, behind.map_or(first, |&(_, index)| index)))
    }

    /// Returns the first index from `from` on whose request is complete at the clock or has to be looked at.
    pub fn next_candidate(&self, from: u32) -> Option<u32> {
        let (complete, other) = (self.complete.next(from), self.others.next(from));
        complete.into_iter().chain(other).min()
    }

    /// Returns `true` if a send waits for its match, or one of the others does.
    pub fn waits_for_match(&self, look: impl Fn(usize) -> bool) -> bool {
        !self.sends.is_empty() || self.others_before(0, None).any(|(_, request)| look(request))
    }
}

/// Marks a receive so that its completion and its end are reported. Returns what is known of its completion;
/// `None` if the node is no receive.
fn watch_receive(matcher: &mut Matcher, index: u32) -> Option<Completion> {
    matcher.get_request(index)?;
    let node = &mut matcher[index];
    let completion = match node.state {
        State::Posted | State::InFlight => Completion::Unknown,
        State::Matched | State::Cancelled => Completion::At(node.arrival),
        State::Free | State::Unexpected | State::Extracted | State::Sent => return None,
    };
    node.flags |= flag::LISTED;
    Some(completion)
}

//! Arrivals that wait at ranks until nothing can come before them: accesses to a rank's memory, to what a
//! rank's process keeps of a file. A chapter answers [`Chapter::first_open`](super::Chapter::first_open) and
//! [`Chapter::decide`](super::Chapter::decide) with it.

use crate::Messages;
use crate::ranks::Phase;
use engine::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Something that waits; what comes first is first by time, then by the rank that it is of, then by what that
/// rank asked for first. So no two are alike, and the order does not depend on which of them was known first.
// What waits is the chapter's index or pointer of it: a queue moves its entries around, and an access has its
// payload in it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<T> {
    /// When it is there.
    pub time: Time,
    /// Whose it is (world rank).
    pub origin: u32,
    /// Sequence number among all that this rank has asked for.
    pub sequence: u32,
    /// The chapter's identifier of the arrival.
    pub what: T,
}

impl<T> Arrival<T> {
    // One number, which two instructions compare.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.time.as_ps()) << 64 | u128::from(self.origin) << 32 | u128::from(self.sequence)
    }
}

impl<T> PartialEq for Arrival<T> {
    fn eq(&self, other: &Arrival<T>) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Arrival<T> {}

impl<T> PartialOrd for Arrival<T> {
    #[inline]
    fn partial_cmp(&self, other: &Arrival<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    #[inline]
    fn lt(&self, other: &Arrival<T>) -> bool {
        self.key() < other.key()
    }
    #[inline]
    fn le(&self, other: &Arrival<T>) -> bool {
        self.key() <= other.key()
    }
}

impl<T> Ord for Arrival<T> {
    #[inline]
    fn cmp(&self, other: &Arrival<T>) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Arrivals that wait at one rank.
// What comes is only noted, and what waited when the first of it is taken sorted into a row: most comes
// before anything is taken, and much of it in order or in the opposite one, which sorting finds out. Where
// something is to be taken that came while a row was there, all that came since goes into a heap: at worst
// each has its step into the heap, out of it and into a row, O(log waiting).
struct Queue<T> {
    /// The first last.
    row: Vec<Arrival<T>>,
    heap: BinaryHeap<Reverse<Arrival<T>>>,
    /// Arrivals since the last sort or search, in no order, and the index of the first of them.
    noted: Vec<Arrival<T>>,
    least: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue { row: Vec::new(), heap: BinaryHeap::new(), noted: Vec::new(), least: 0 }
    }
}

impl<T> Queue<T> {
    #[inline]
    fn push(&mut self, arrival: Arrival<T>) {
        if self.noted.get(self.least).is_some_and(|least| arrival < *least) {
            self.least = self.noted.len();
        }
        self.noted.push(arrival);
    }

    #[inline]
    fn first(&self) -> Option<&Arrival<T>> {
        let kept = match (self.row.last(), self.heap.peek()) {
            (Some(one), Some(Reverse(other))) => Some(one.min(other)),
            (one, other) => one.or(other.map(|Reverse(other)| other)),
        };
        match (kept, self.noted.get(self.least)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    #[inline]
    fn take(&mut self) -> Option<Arrival<T>> {
        if self.row.is_empty() || !self.noted.is_empty() {
            self.order();
        }
        match (self.row.last(), self.heap.peek()) {
            (Some(one), Some(Reverse(other))) if other < one => self.heap.pop().map(|Reverse(first)| first),
            _ => self.row.pop(),
        }
    }

    /// Puts the first in the row or the heap.
    fn order(&mut self) {
        if self.row.is_empty() {
            std::mem::swap(&mut self.row, &mut self.noted);
            self.row.extend(self.heap.drain().map(|Reverse(arrival)| arrival));
            self.row.sort_unstable_by(|one, other| other.cmp(one));
        } else if self
            .noted
            .get(self.least)
            .is_some_and(|least| self.row.last().is_some_and(|first| least < first))
        {
            self.heap.extend(self.noted.drain(..).map(Reverse));
        }
        if self.noted.is_empty() {
            self.least = 0;
        }
    }

    fn is_empty(&self) -> bool {
        self.row.is_empty() && self.heap.is_empty() && self.noted.is_empty()
    }
}

/// Waiting arrivals, by the rank (world number) at which they wait.
pub struct Arrivals<T> {
    /// This process's first rank.
    first: u32,
    /// The number of the queue of each rank of this process, and one more: 0 for none. Empty until something
    /// waits.
    // Four bytes a rank, where a hash table would be searched for each that comes.
    places: Vec<u32>,
    queues: Vec<Queue<T>>,
    /// Queues in which nothing waits, for the next ranks.
    // The one that was emptied last is in the cache.
    free: Vec<u32>,
}

impl<T> Default for Arrivals<T> {
    fn default() -> Self {
        Arrivals { first: 0, places: Vec::new(), queues: Vec::new(), free: Vec::new() }
    }
}

impl<T> Arrivals<T> {
    #[inline]
    fn place(&self, rank: u32) -> Option<u32> {
        self.places.get(rank.wrapping_sub(self.first) as usize)?.checked_sub(1)
    }

    /// Something more waits at a rank. O(log waiting).
    pub fn push(&mut self, messages: &mut Messages, rank: u32, arrival: Arrival<T>) {
        if self.places.is_empty() {
            (self.first, self.places) = (messages.ranks.first(), vec![0; messages.ranks.local() as usize]);
        }
        let place = match self.place(rank) {
            Some(place) => place,
            None => self.open(rank),
        };
        self.queues[place as usize].push(arrival);
        let (matcher, pending) = messages.matching(rank);
        matcher.mark_dirty(rank, pending);
    }

    /// Opens a queue for a rank that has none and returns its index.
    fn open(&mut self, rank: u32) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.queues.push(Queue::default());
            self.queues.len() as u32 - 1
        });
        self.places[(rank - self.first) as usize] = place + 1;
        place
    }

    /// The first that waits at a rank: when, and because of which rank. O(1).
    // Empty in most programs: asked at each renewal of any rank's decisions.
    #[inline]
    pub fn first(&self, rank: u32) -> Option<(Time, u32)> {
        let first = self.queues[self.place(rank)? as usize].first()?;
        Some((first.time, first.origin))
    }

    /// The first that waits at a rank has its turn. O(log waiting).
    #[inline]
    pub fn take(&mut self, rank: u32) -> Option<Arrival<T>> {
        self.take_if(rank, |_| true)
    }

    /// Takes what follows at a rank before `until`, before which no rank reaches it, itself included.
    #[inline]
    pub fn take_before(&mut self, rank: u32, until: Time) -> Option<Arrival<T>> {
        self.take_if(rank, |first| first.time < until)
    }

    /// Takes what follows at a rank before `until`, before which no other rank reaches it; where the rank
    /// itself can go on, only what is before its clock.
    // What a rank does to itself takes less than a lookahead: what it does next may come before what waits.
    #[inline]
    pub fn take_next(&mut self, messages: &Messages, rank: u32, until: Time) -> Option<Arrival<T>> {
        let goes_on = messages.ranks()[rank].is_runnable() && messages.ranks()[rank].phase != Phase::Ended;
        let until = if goes_on { until.min(messages.clock(rank)) } else { until };
        self.take_if(rank, |first| first.time < until)
    }

    #[inline]
    fn take_if(&mut self, rank: u32, wanted: impl Fn(&Arrival<T>) -> bool) -> Option<Arrival<T>> {
        let place = self.place(rank)?;
        let queue = &mut self.queues[place as usize];
        // All that waits is in the row, and more than the one that may be taken.
        if let [_, .., first] = &queue.row[..]
            && queue.noted.is_empty()
            && queue.heap.is_empty()
        {
            return if wanted(first) { queue.row.pop() } else { None };
        }
        if !queue.first().is_some_and(wanted) {
            return None;
        }
        let first = queue.take();
        if queue.is_empty() {
            self.free.push(place);
            self.places[(rank - self.first) as usize] = 0;
        }
        first
    }

    /// Does something to all that waits, wherever it does, in no order. O(all).
    pub fn for_each(&mut self, mut does: impl FnMut(&mut T)) {
        for queue in &mut self.queues {
            queue.row.iter_mut().chain(&mut queue.noted).for_each(|arrival| does(&mut arrival.what));
            let mut heap = std::mem::take(&mut queue.heap).into_vec();
            heap.iter_mut().for_each(|Reverse(arrival)| does(&mut arrival.what));
            queue.heap = heap.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_waits_is_taken_in_its_order(
            steps in proptest::collection::vec((0u64..40, 0u32..3, 0u32..4), 0..200),
        ) {
            let (mut queue, mut model) = (Queue::default(), std::collections::BTreeSet::new());
            for (sequence, (time, origin, takes)) in (0..).zip(steps) {
                let time = Time::from_ps(time);
                queue.push(Arrival { time, origin, sequence, what: (time, origin, sequence) });
                model.insert((time, origin, sequence));
                for _ in 0..takes.saturating_sub(1) {
                    prop_assert_eq!(queue.first().map(|first| first.what), model.first().copied());
                    prop_assert_eq!(queue.take().map(|first| first.what), model.pop_first());
                    prop_assert_eq!(queue.is_empty(), model.is_empty());
                }
            }
        }
    }
}

//! What waits at ranks until nothing can come before it: accesses to a rank's memory, to what a rank's process keeps of a file. A chapter answers
//! [`Chapter::first_open`](super::Chapter::first_open) and [`Chapter::decide`](super::Chapter::decide) with it.

use crate::Messages;
use engine::Time;
use rustc_hash::FxHashMap;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Something that waits; what comes first is first by time, then by the rank that it is of, then by what that rank asked for first. So no two are alike, and the order
/// does not depend on which of them was known first.
// Kept apart from what it is of: a heap moves its entries around, and an access has its payload in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// When it is there.
    pub time: Time,
    /// Whose it is (world rank).
    pub origin: u32,
    /// Of all that this rank has asked for.
    pub sequence: u32,
    /// What its chapter knows it by.
    pub index: u32,
}

impl Arrival {
    fn key(&self) -> (Time, u32, u32) {
        (self.time, self.origin, self.sequence)
    }
}

impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Arrival) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Arrival {
    fn cmp(&self, other: &Arrival) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// What waits, by the rank (world number) at which it does.
#[derive(Default)]
pub struct Arrivals {
    heaps: FxHashMap<u32, BinaryHeap<Reverse<Arrival>>>,
}

impl Arrivals {
    /// Something more waits at a rank. O(log waiting).
    pub fn push(&mut self, messages: &mut Messages, rank: u32, arrival: Arrival) {
        self.heaps.entry(rank).or_default().push(Reverse(arrival));
        messages.mark_dirty(rank);
    }

    /// The first that waits at a rank: when, and because of which rank. O(1).
    // Empty in most programs: asked at each renewal of any rank's decisions.
    #[inline]
    pub fn first(&self, rank: u32) -> Option<(Time, u32)> {
        if self.heaps.is_empty() {
            return None;
        }
        let Reverse(first) = self.heaps.get(&rank)?.peek()?;
        Some((first.time, first.origin))
    }

    /// The first that waits at a rank has its turn. O(log waiting).
    pub fn take(&mut self, rank: u32) -> Option<Arrival> {
        self.take_if(rank, |_| true)
    }

    /// As [`Arrivals::take`], if that is earlier than `until`.
    pub fn take_before(&mut self, rank: u32, until: Time) -> Option<Arrival> {
        self.take_if(rank, |first| first.time < until)
    }

    fn take_if(&mut self, rank: u32, wanted: impl Fn(&Arrival) -> bool) -> Option<Arrival> {
        let heap = self.heaps.get_mut(&rank)?;
        let first = heap.peek().map(|Reverse(first)| *first).filter(wanted)?;
        heap.pop();
        if heap.is_empty() {
            self.heaps.remove(&rank);
        }
        Some(first)
    }
}

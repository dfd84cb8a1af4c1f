//! Future events in deterministic order.

use crate::{Time, Timed, crowd};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The total order of events: time, then who caused it, then that source's own count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EventKey {
    /// The time.
    pub time: Time,
    /// Source of the event (a rank, a router, a node).
    pub source: u32,
    /// The how-manieth event of that source.
    pub sequence: u64,
}

#[derive(Clone, Copy)]
struct Entry<T>(EventKey, T);
impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<T> Eq for Entry<T> {}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl<T: Copy> Timed for Entry<T> {
    fn time(&self) -> u64 {
        self.0.time.as_ps()
    }
    fn rank(&self) -> u32 {
        self.0.source
    }
}

/// So many events that came since the last look go into the heap; more of them are sorted.
const MAX_HEAPED_EVENTS: usize = 96;

/// A queue of events by `(time, source, sequence)`: the same order on every host.
///
/// A push is O(1), a pop O(log n) on average. Two events with an equal key are an error of the
/// caller; their order is then unspecified.
// Events come in crowds: all ranks that were woken at one instant send before anything is taken. A heap of
// hundreds of thousands costs each of them a line of memory for every level, twice; sorting them together
// goes through memory in a row. What comes between two pops is few, and goes into a
// heap beside the sorted ones.
pub struct EventQueue<T> {
    /// Events pushed since the last `peek` or `pop`, in any order.
    fresh: Vec<Entry<T>>,
    /// The greatest first.
    sorted: Vec<Entry<T>>,
    heap: BinaryHeap<Reverse<Entry<T>>>,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        EventQueue { fresh: Vec::new(), sorted: Vec::new(), heap: BinaryHeap::new() }
    }
}

impl<T: Copy> EventQueue<T> {
    /// Returns an empty queue.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, key: EventKey, event: T) {
        self.fresh.push(Entry(key, event));
    }
    /// Returns the least key, if there is an event.
    #[inline]
    pub fn peek(&mut self) -> Option<EventKey> {
        if !self.fresh.is_empty() {
            self.settle();
        }
        match (self.sorted.last(), self.heap.peek()) {
            (Some(a), Some(Reverse(b))) => Some(a.0.min(b.0)),
            (Some(a), None) => Some(a.0),
            (None, Some(Reverse(b))) => Some(b.0),
            (None, None) => None,
        }
    }
    /// Takes the event with the least key.
    #[inline]
    pub fn pop(&mut self) -> Option<(EventKey, T)> {
        if !self.fresh.is_empty() {
            self.settle();
        }
        let is_in_heap = match (self.sorted.last(), self.heap.peek()) {
            (Some(a), Some(Reverse(b))) => b < a,
            (None, _) => true,
            (Some(_), None) => false,
        };
        let entry = if is_in_heap { self.heap.pop().map(|Reverse(entry)| entry) } else { self.sorted.pop() };
        entry.map(|Entry(key, event)| (key, event))
    }
    /// Returns an event that is about `ahead` places behind the next one, if it is known: a hint for loading
    /// its data early.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<&T> {
        self.sorted.len().checked_sub(ahead + 1).map(|place| &self.sorted[place].1)
    }
    /// Returns how many events wait.
    pub fn len(&self) -> usize {
        self.fresh.len() + self.sorted.len() + self.heap.len()
    }
    /// Returns `true` if none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts what has come in order with the rest.
    // Sorted only where there is more of it than of what is sorted, so that an event is sorted a few times at
    // most.
    #[inline(never)]
    fn settle(&mut self) {
        if self.fresh.len() + self.heap.len() > MAX_HEAPED_EVENTS.max(self.sorted.len()) {
            self.sorted.append(&mut self.fresh);
            self.sorted.extend(self.heap.drain().map(|Reverse(entry)| entry));
            // The memory of what came is free for the sorting.
            self.fresh.clone_from(&self.sorted);
            crowd::sort(&mut self.sorted, &mut self.fresh);
            self.fresh.clear();
        } else {
            self.heap.extend(self.fresh.drain(..).map(Reverse));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_by_source_then_sequence() {
        let mut queue = EventQueue::new();
        let key = |time, source, sequence| EventKey { time: Time::from_ps(time), source, sequence };
        for (i, k) in [key(5, 2, 0), key(5, 1, 9), key(4, 7, 7), key(5, 1, 3)].into_iter().enumerate() {
            queue.push(k, i);
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|e| e.1).collect();
        assert_eq!(order, [2, 3, 1, 0]);
    }
    proptest! {
        /// Crowds and single events, while few or many wait, come out as from a heap.
        #[test]
        fn crowds_come_out_in_the_order_of_a_heap(
            batches in prop::collection::vec(
                (prop::collection::vec((0u64..50, 0u32..9), 0..700), 0usize..700, any::<bool>()),
                1..12,
            ),
        ) {
            let (mut queue, mut heap, mut sequence) = (EventQueue::new(), BinaryHeap::new(), 0);
            for (events, pops, looks) in batches {
                for (time, source) in events {
                    sequence += 1;
                    let key = EventKey { time: Time::from_ps(time), source, sequence };
                    queue.push(key, sequence);
                    heap.push(Reverse(key));
                    if looks {
                        prop_assert_eq!(queue.peek(), heap.peek().map(|key| key.0));
                    }
                }
                for _ in 0..pops {
                    let expected = heap.pop().map(|Reverse(key)| (key, key.sequence));
                    prop_assert_eq!(queue.pop(), expected);
                }
                prop_assert_eq!(queue.len(), heap.len());
            }
        }
    }
}

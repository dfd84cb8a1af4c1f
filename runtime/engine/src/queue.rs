//! Future events in deterministic order.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The total order of events: time, then who caused it, then that source's own count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EventKey {
    /// When.
    pub time: Time,
    /// Who caused it (a rank, a router, a node).
    pub source: u32,
    /// The how-manieth event of that source.
    pub sequence: u64,
}

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

/// A queue of events by `(time, source, sequence)`: the same order on every host.
///
/// Push and pop are O(log n). Two events with an equal key are an error of the
/// caller; their order is then unspecified.
pub struct EventQueue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        EventQueue { heap: BinaryHeap::new() }
    }
}

impl<T> EventQueue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds an event.
    pub fn push(&mut self, key: EventKey, event: T) {
        self.heap.push(Reverse(Entry(key, event)));
    }
    /// The least key, if there is an event.
    pub fn peek(&self) -> Option<EventKey> {
        self.heap.peek().map(|e| e.0.0)
    }
    /// Takes the event with the least key.
    pub fn pop(&mut self) -> Option<(EventKey, T)> {
        self.heap.pop().map(|Reverse(Entry(key, event))| (key, event))
    }
    /// How many events wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }
    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

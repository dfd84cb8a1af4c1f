//! Who runs next: last woken first, after a sweep in rank order, lagging senders last.

use engine::{EventKey, EventQueue, Time};

/// The runnable ranks of a process.
///
/// Wake-ups are last in, first out: what a rank is woken for is still in cache, queues stay
/// short, and early ranks finish before late ones start. A sender that ran far ahead of its
/// receivers is taken only when nobody else can run, the one with the least clock first.
#[derive(Default)]
pub struct Ready {
    stack: Vec<u32>,
    lagging: EventQueue<u32>,
}

impl Ready {
    /// All of `count` ranks, number 0 first.
    pub fn all(count: u32) -> Ready {
        Ready { stack: (0..count).rev().collect(), lagging: EventQueue::new() }
    }
    /// A rank can run.
    #[inline]
    pub fn wake(&mut self, rank: u32) {
        self.stack.push(rank);
    }
    /// A rank can run but should not, because its receivers lag behind.
    pub fn lag(&mut self, rank: u32, clock: Time) {
        self.lagging.push(EventKey { time: clock, source: rank, sequence: 0 }, rank);
    }
    /// The next rank that is not lagging.
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        self.stack.pop()
    }
    /// Whether somebody other than lagging senders can run.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }
    /// The least clock among lagging senders.
    pub fn least_lagging(&self) -> Option<Time> {
        self.lagging.peek().map(|key| key.time)
    }
    /// The lagging sender with the least clock.
    pub fn next_lagging(&mut self) -> Option<u32> {
        self.lagging.pop().map(|(_, rank)| rank)
    }
}

impl Ready {
    /// How many ranks other than lagging senders can run.
    #[inline]
    pub fn len(&self) -> usize {
        self.stack.len()
    }
}

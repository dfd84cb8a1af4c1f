//! Who runs next: last woken first, after a sweep in rank order, lagging senders last.

use engine::{EventKey, EventQueue, Time};

/// The runnable ranks of a process.
///
/// Wake-ups are last in, first out: what a rank is woken for is still in cache, queues stay
/// short, and early ranks finish before late ones start. A sender that ran far ahead of its
/// receivers is taken only when nobody else can run, the one with the least clock first.
#[derive(Default)]
pub struct Ready {
    /// Ranks in a row are one entry, so that a sweep over all ranks is a few words.
    stack: Vec<Row>,
    count: usize,
    lagging: EventQueue<u32>,
}

/// `count` ranks from `first` on, taken in this order.
#[derive(Clone, Copy)]
struct Row {
    first: u32,
    count: u32,
}

impl Ready {
    /// All of `count` ranks from `first` on, the first one first.
    pub fn all(first: u32, count: u32) -> Ready {
        let stack = if count == 0 { Vec::new() } else { vec![Row { first, count }] };
        Ready { stack, count: count as usize, lagging: EventQueue::new() }
    }
    /// A rank can run.
    #[inline]
    pub fn wake(&mut self, rank: u32) {
        self.count += 1;
        match self.stack.last_mut() {
            Some(row) if row.first == rank.wrapping_add(1) => {
                row.first = rank;
                row.count += 1;
            }
            _ => self.stack.push(Row { first: rank, count: 1 }),
        }
    }
    /// A rank can run but should not, because its receivers lag behind.
    pub fn lag(&mut self, rank: u32, clock: Time) {
        self.lagging.push(EventKey { time: clock, source: rank, sequence: 0 }, rank);
    }
    /// The next rank that is not lagging.
    #[inline]
    pub fn next(&mut self) -> Option<u32> {
        let row = self.stack.last_mut()?;
        let rank = row.first;
        row.first += 1;
        row.count -= 1;
        if row.count == 0 {
            self.stack.pop();
        }
        self.count -= 1;
        Some(rank)
    }
    /// A rank that runs soon, if nobody is woken before: about `places` behind the next.
    #[inline]
    pub fn ahead(&self, places: u32) -> Option<u32> {
        let row = self.stack.last()?;
        if row.count > places {
            return Some(row.first + places);
        }
        let below = self.stack.len().checked_sub(1 + places as usize)?;
        Some(self.stack[below].first)
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
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_come_last_woken_first(ranks in proptest::collection::vec((0..6u32, any::<bool>()), 0..60)) {
            let (mut ready, mut model) = (Ready::all(0, 3), vec![2, 1, 0]);
            for (rank, wakes) in ranks {
                if wakes {
                    ready.wake(rank);
                    model.push(rank);
                } else {
                    prop_assert_eq!(ready.next(), model.pop());
                }
                prop_assert_eq!(ready.len(), model.len());
                prop_assert_eq!(ready.is_empty(), model.is_empty());
                prop_assert_eq!(ready.ahead(0), model.last().copied());
            }
        }
    }
}

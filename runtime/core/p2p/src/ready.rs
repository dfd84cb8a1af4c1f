//! Who runs next: last woken first, after a sweep in rank order, lagging senders last.

use crate::ranks::strand::StrandId;
use engine::{EventKey, EventQueue, Time};

/// Ranks that wait their turn where many ranks share the cache: what one of them will touch has so many
/// switches to arrive.
const UPCOMING: usize = 3;

/// The runnable strands of a process.
///
/// Wake-ups are last in, first out: what a rank is woken for is still in cache, queues stay
/// short, and early ranks finish before late ones start. A sender that ran far ahead of its
/// receivers is taken only when nobody else can run, the one with the least clock first.
///
/// With very many ranks, the data of a rank is in memory rather than in cache, above all what it needs of
/// itself. Then the last woken do not run at once but after the few that are [upcoming](Ready::upcoming), so
/// that there is time to fetch it.
#[derive(Default)]
pub struct Ready {
    /// Ranks in a row are one entry, so that a sweep over all ranks is a few words.
    stack: Vec<Stretch>,
    count: usize,
    /// The strands that run next, in their order.
    upcoming: [StrandId; UPCOMING],
    coming: usize,
    /// Maximum length of `upcoming`; 0 without looking ahead.
    depth: usize,
    lagging: EventQueue<StrandId>,
}

/// `count` strands from the number `first` on, taken in this order.
#[derive(Clone, Copy)]
struct Stretch {
    first: u32,
    count: u32,
}

impl Ready {
    /// Returns all of `count` ranks from `first` on, the first one first.
    pub fn all(first: u32, count: u32) -> Ready {
        let stack = if count == 0 { Vec::new() } else { vec![Stretch { first, count }] };
        Ready { stack, count: count as usize, ..Ready::default() }
    }
    /// Returns these ranks, where a rank's turn is known some switches ahead.
    pub fn looking_ahead(self) -> Ready {
        Ready { depth: UPCOMING, ..self }
    }
    /// A strand can run.
    // Whoever wakes many at once does so from the last to the first: then they are one entry, and run in the
    // order of ranks.
    #[inline]
    pub fn wake(&mut self, strand: StrandId) {
        let number = strand.number();
        self.count += 1;
        match self.stack.last_mut() {
            Some(stretch) if stretch.first == number.wrapping_add(1) => {
                stretch.first = number;
                stretch.count += 1;
            }
            _ => self.stack.push(Stretch { first: number, count: 1 }),
        }
    }
    /// A strand can run but should not, because its receivers lag behind.
    // By clock, because the one that is behind all others in virtual time is the most likely to be waited
    // for.
    pub fn lag(&mut self, strand: StrandId, clock: Time) {
        self.lagging.push(EventKey { time: clock, source: strand.number(), sequence: 0 }, strand);
    }
    /// Takes the next strand that is not lagging.
    #[inline]
    pub fn next_strand(&mut self) -> Option<StrandId> {
        if self.depth == 0 {
            return self.pop();
        }
        if self.coming == UPCOMING
            && let Some(strand) = self.pop()
        {
            let [next, second, third] = self.upcoming;
            self.upcoming = [second, third, strand];
            return Some(next);
        }
        self.next_of_few()
    }
    /// Takes the next strand where the list of the next is not full, or nobody is left to join it.
    #[inline(never)]
    fn next_of_few(&mut self) -> Option<StrandId> {
        if self.coming == 0 {
            self.upcoming[0] = self.pop()?;
            self.coming = 1;
        }
        let [next, second, third] = self.upcoming;
        self.upcoming = [second, third, StrandId::default()];
        self.coming -= 1;
        while self.coming < self.depth
            && let Some(strand) = self.pop()
        {
            self.upcoming[self.coming] = strand;
            self.coming += 1;
        }
        Some(next)
    }
    #[inline(always)]
    fn pop(&mut self) -> Option<StrandId> {
        let stretch = self.stack.last_mut()?;
        let strand = StrandId::numbered(stretch.first);
        stretch.first += 1;
        stretch.count -= 1;
        if stretch.count == 0 {
            self.stack.pop();
        }
        self.count -= 1;
        Some(strand)
    }
    /// Returns who runs after the strand that [`Ready::next_strand`] returned last, the first one first, as
    /// far as that is settled.
    #[inline]
    pub fn upcoming(&self) -> &[StrandId] {
        &self.upcoming[..self.coming]
    }
    /// Returns `true` if somebody other than lagging senders can run.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.coming == 0
    }
    /// Returns `true` if senders lag.
    #[inline]
    pub fn has_lagging(&self) -> bool {
        !self.lagging.is_empty()
    }
    /// Returns the least clock among lagging senders.
    pub fn least_lagging(&mut self) -> Option<Time> {
        self.lagging.peek().map(|key| key.time)
    }
    /// Takes the lagging sender with the least clock.
    pub fn next_lagging(&mut self) -> Option<StrandId> {
        self.lagging.pop().map(|(_, strand)| strand)
    }
}

impl Ready {
    /// Returns how many strands other than lagging senders can run.
    #[inline]
    pub fn len(&self) -> usize {
        self.count + self.coming
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn strands(ranks: &[u32]) -> Vec<StrandId> {
        ranks.iter().map(|&rank| StrandId::of(rank)).collect()
    }

    proptest! {
        #[test]
        fn ranks_come_last_woken_first(ranks in proptest::collection::vec((0..6u32, any::<bool>()), 0..60)) {
            let (mut ready, mut model) = (Ready::all(0, 3), strands(&[2, 1, 0]));
            for (rank, wakes) in ranks {
                if wakes {
                    ready.wake(StrandId::of(rank));
                    model.push(StrandId::of(rank));
                } else {
                    prop_assert_eq!(ready.next_strand(), model.pop());
                }
                prop_assert_eq!(ready.len(), model.len());
                prop_assert_eq!(ready.is_empty(), model.is_empty());
            }
        }

        #[test]
        fn with_a_deck_they_come_as_they_got_on_it(
            ranks in proptest::collection::vec((0..9u32, any::<bool>()), 0..80),
        ) {
            let (mut ready, mut model, mut upcoming) =
                (Ready::all(0, 6).looking_ahead(), strands(&[5, 4, 3, 2, 1, 0]), VecDeque::new());
            for (rank, wakes) in ranks {
                if wakes {
                    ready.wake(StrandId::of(rank));
                    model.push(StrandId::of(rank));
                } else {
                    let next = upcoming.pop_front().or_else(|| model.pop());
                    while let Some(rank) =
                        (next.is_some() && upcoming.len() < UPCOMING).then(|| model.pop()).flatten()
                    {
                        upcoming.push_back(rank);
                    }
                    prop_assert_eq!(ready.next_strand(), next);
                    prop_assert_eq!(ready.upcoming(), &*upcoming.make_contiguous());
                }
                prop_assert_eq!(ready.len(), model.len() + upcoming.len());
                prop_assert_eq!(ready.is_empty(), model.is_empty() && upcoming.is_empty());
            }
        }
    }
}

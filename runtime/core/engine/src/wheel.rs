//! A timing wheel: the future events of a dense simulation, in deterministic order.

use crate::crowd;
use prefetch_index::prefetch_index;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event of a [`TimingWheel`]: small, copied, ordered by time first.
///
/// `Ord` must agree with `time`, and events that compare equal must be interchangeable.
pub trait Timed: Copy + Ord {
    /// Returns when, in picoseconds.
    fn time(&self) -> u64;
    /// Returns what crowds of one time are sorted by first: `Ord` must agree with it, and those of one rank
    /// should be few.
    fn rank(&self) -> u32;
}

const NONE: u32 = u32::MAX;
/// Events of a block.
const BLOCK: usize = 16;
/// Blocks of a bucket between loading one and its turn, and events between two loads in it: those of a cache
/// line, if they have 16 bytes.
const BLOCKS_AHEAD: usize = 4;
const EVENTS_APART: usize = 4;
/// Buckets of more events are spread over parts of the bucket before they are sorted; more that come into an
/// open one are sorted into it.
const MAX_UNDIVIDED_EVENTS: usize = 96;
/// log2 of the number of parts.
const PARTS: u32 = 6;

/// Future events by `Ord`, for simulations with many events close together.
///
/// Time is cut into buckets of `2^shift` picoseconds. A bucket is sorted when time reaches it, so that a push
/// costs O(1) and a pop O(log b) for b events in a bucket. Events beyond the wheel's horizon wait in a heap,
/// as do events that fall into the bucket now open.
pub struct TimingWheel<E> {
    shift: u32,
    mask: u64,
    /// The place of each bucket's last event in `events`, or `NONE`; the last bucket is that of events set
    /// aside. All blocks of a bucket but the last are full, so that filing an event reads nothing that only
    /// memory holds.
    cursors: Vec<u32>,
    occupied: Vec<u64>,
    /// Blocks of the events of one bucket. They return to a free list, so memory follows the number of
    /// waiting events and not the busiest moment of every bucket.
    events: Vec<E>,
    /// The block before each of the same bucket, or the next that is free.
    links: Vec<u32>,
    free: u32,
    in_wheel: usize,
    slot: u64,
    open: Vec<E>,
    /// Empty between calls.
    spare: Vec<E>,
    /// Events taken from a bucket, before they are sorted.
    unsorted: Vec<E>,
    late: BinaryHeap<Reverse<E>>,
    far: BinaryHeap<Reverse<E>>,
}

impl<E: Timed> TimingWheel<E> {
    /// Returns an empty wheel of `2^buckets` buckets (at least 64) of `2^shift` picoseconds.
    pub fn new(shift: u32, buckets: u32) -> Self {
        let count = 1usize << buckets.clamp(6, 24);
        TimingWheel {
            shift,
            mask: count as u64 - 1,
            cursors: vec![NONE; count + 1],
            occupied: vec![0; count / 64 + 1],
            events: Vec::new(),
            links: Vec::new(),
            free: NONE,
            in_wheel: 0,
            slot: 0,
            open: Vec::new(),
            spare: Vec::new(),
            unsorted: Vec::new(),
            late: BinaryHeap::new(),
            far: BinaryHeap::new(),
        }
    }

    /// Returns how many events wait, those set aside not counted.
    pub fn len(&self) -> usize {
        self.in_wheel + self.open.len() + self.late.len() + self.far.len()
    }

    /// Returns `true` if none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event. It may lie before events already seen by `peek`, never before one already popped.
    #[inline(always)]
    pub fn push(&mut self, event: E) {
        let slot = event.time() >> self.shift;
        if slot <= self.slot {
            self.late.push(Reverse(event));
        } else if slot - self.slot <= self.mask {
            self.file(slot, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// Pushes as `push` does, but if `aside` the event is only kept for `take_aside`. Without a branch, for a
    /// condition that cannot be foreseen.
    #[inline(always)]
    pub fn push_unless(&mut self, event: E, aside: bool) {
        let slot = event.time() >> self.shift;
        if slot.wrapping_sub(self.slot).wrapping_sub(1) < self.mask {
            let bucket = if aside { self.mask + 1 } else { slot & self.mask };
            self.in_wheel += usize::from(!aside);
            self.file_in(bucket as usize, event);
        } else if aside {
            self.file_in(self.mask as usize + 1, event);
        } else {
            self.push(event);
        }
    }

    /// Appends the events set aside, in any order.
    pub fn take_aside(&mut self, events: &mut Vec<E>) {
        let bucket = self.mask as usize + 1;
        if self.cursors[bucket] != NONE {
            self.empty(bucket);
            events.append(&mut self.unsorted);
        }
    }

    /// Returns the least event.
    #[inline]
    pub fn peek(&mut self) -> Option<E> {
        if self.open.is_empty() && self.late.is_empty() && !self.open_next() {
            return None;
        }
        match (self.open.last(), self.late.peek()) {
            (Some(&a), Some(&Reverse(b))) => Some(a.min(b)),
            (Some(&a), None) => Some(a),
            (None, Some(&Reverse(b))) => Some(b),
            (None, None) => None,
        }
    }

    /// Takes the least event if its time is at most `until`.
    #[inline]
    pub fn pop_until(&mut self, until: u64) -> Option<E> {
        if self.late.is_empty() {
            if let Some(&first) = self.open.last() {
                return (first.time() <= until).then(|| {
                    self.open.pop();
                    first
                });
            }
            if !self.open_next() {
                return None;
            }
        }
        self.pop_late(until)
    }

    /// Behaves as `pop_until`, where events have come into the open bucket since it was sorted, or it was
    /// just opened.
    fn pop_late(&mut self, until: u64) -> Option<E> {
        if self.late.len() > MAX_UNDIVIDED_EVENTS.max(self.open.len()) {
            self.sort_late();
        }
        if let Some(&Reverse(event)) = self.late.peek()
            && self.open.last().is_none_or(|&first| event < first)
        {
            return (event.time() <= until).then(|| {
                self.late.pop();
                event
            });
        }
        let first = *self.open.last()?;
        (first.time() <= until).then(|| {
            self.open.pop();
            first
        })
    }

    /// Puts what has come into the open bucket in order with the rest of it. Of hundreds of thousands, which
    /// all ranks of a program send at one instant, each would cost the heap a line of memory for every level.
    /// There are more of them than of the rest, so that each is sorted a few times at most.
    #[cold]
    fn sort_late(&mut self) {
        let mut late = std::mem::take(&mut self.late).into_vec();
        self.open.extend(late.drain(..).map(|Reverse(event)| event));
        self.unsorted.clone_from(&self.open);
        crowd::sort(&mut self.open, &mut self.unsorted);
        // Empty, with its memory.
        self.late = late.into();
    }

    /// Opens buckets until `count` events can be seen by `upcoming`, or no bucket is left. Worth it where
    /// buckets have many events: those that come into an open bucket cost more.
    #[inline]
    pub fn look_ahead(&mut self, count: usize) {
        while self.open.len() < count && self.in_wheel > 0 {
            std::mem::swap(&mut self.open, &mut self.spare);
            self.open_next();
            self.open.append(&mut self.spare);
        }
    }

    /// Returns the event `ahead` places behind the next one, if it lies in an open bucket: a hint for loading
    /// its data early.
    #[inline]
    pub fn upcoming(&self, ahead: usize) -> Option<E> {
        self.open.len().checked_sub(ahead + 1).map(|i| self.open[i])
    }

    fn file(&mut self, slot: u64, event: E) {
        self.in_wheel += 1;
        self.file_in((slot & self.mask) as usize, event);
    }

    #[inline(never)]
    fn file_in(&mut self, bucket: usize, event: E) {
        let cursor = self.cursors[bucket];
        // Neither the end of a block nor `NONE`.
        if cursor as usize % BLOCK != BLOCK - 1 {
            self.events[cursor as usize + 1] = event;
            self.cursors[bucket] = cursor + 1;
        } else {
            self.begin_block(bucket, cursor, event);
        }
    }

    fn begin_block(&mut self, bucket: usize, cursor: u32, event: E) {
        if cursor == NONE {
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
        }
        let before = if cursor == NONE { NONE } else { cursor / BLOCK as u32 };
        let fresh = self.free;
        if fresh != NONE {
            self.free = std::mem::replace(&mut self.links[fresh as usize], before);
            self.events[fresh as usize * BLOCK] = event;
            self.cursors[bucket] = fresh * BLOCK as u32;
        } else {
            assert!(
                self.events.len() < NONE as usize - BLOCK,
                "fewer than 2^32 waiting events fit into memory"
            );
            self.cursors[bucket] = self.events.len() as u32;
            self.events.extend([event; BLOCK]);
            self.links.push(before);
        }
    }

    /// Takes all events of a bucket into `unsorted`.
    fn empty(&mut self, bucket: usize) {
        self.unsorted.clear();
        let cursor = std::mem::replace(&mut self.cursors[bucket], NONE);
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        let (mut at, mut count) = (cursor / BLOCK as u32, cursor as usize % BLOCK + 1);
        let mut ahead = at;
        for _ in 0..BLOCKS_AHEAD {
            ahead = self.links.get(ahead as usize).copied().unwrap_or(NONE);
            if ahead == NONE {
                break;
            }
            self.prefetch_block(ahead);
        }
        while at != NONE {
            ahead = self.links.get(ahead as usize).copied().unwrap_or(NONE);
            self.prefetch_block(ahead);
            let events = &self.events[at as usize * BLOCK..][..count];
            // Copying a few by a call of memcpy takes longer than they do.
            if count < 4 {
                events.iter().for_each(|&event| self.unsorted.push(event))
            } else {
                self.unsorted.extend_from_slice(events)
            }
            let next = std::mem::replace(&mut self.links[at as usize], self.free);
            self.free = at;
            (at, count) = (next, BLOCK);
        }
    }

    /// Starts loading a block; any number will do.
    #[inline]
    fn prefetch_block(&self, block: u32) {
        if block != NONE {
            (0..BLOCK)
                .step_by(EVENTS_APART)
                .for_each(|event| prefetch_index(&self.events, block as usize * BLOCK + event));
        }
    }

    /// Returns the distance from the current slot to the next occupied one.
    fn distance(&self) -> u64 {
        let start = ((self.slot + 1) & self.mask) as usize;
        let words = self.occupied.len() - 1;
        let first = self.occupied[start / 64] & (!0u64 << (start % 64));
        if first != 0 {
            return (start / 64 * 64 + first.trailing_zeros() as usize - start) as u64 + 1;
        }
        for k in 1..=words {
            let word = (start / 64 + k) % words;
            if self.occupied[word] != 0 {
                let bucket = (word * 64) as u64 + u64::from(self.occupied[word].trailing_zeros());
                return (bucket.wrapping_sub(start as u64) & self.mask) + 1;
            }
        }
        unreachable!("a bucket is occupied whenever in_wheel is not zero")
    }

    #[cold]
    fn pull_far(&mut self) {
        while let Some(&Reverse(event)) = self.far.peek() {
            let slot = event.time() >> self.shift;
            if slot.saturating_sub(self.slot) > self.mask {
                break;
            }
            self.far.pop();
            if slot <= self.slot { self.late.push(Reverse(event)) } else { self.file(slot, event) }
        }
    }

    /// Moves to the next bucket that has events; false if none has.
    fn open_next(&mut self) -> bool {
        if self.in_wheel == 0 {
            let Some(&Reverse(event)) = self.far.peek() else { return false };
            self.slot = (event.time() >> self.shift) - 1;
        } else {
            self.slot += self.distance() - 1;
        }
        if !self.far.is_empty() {
            self.pull_far();
        }
        self.slot += self.distance();
        self.empty((self.slot & self.mask) as usize);
        self.in_wheel -= self.unsorted.len();
        if self.unsorted.len() > MAX_UNDIVIDED_EVENTS && self.shift >= PARTS {
            self.spread();
            return true;
        }
        std::mem::swap(&mut self.open, &mut self.unsorted);
        match self.open.as_mut_slice() {
            [] | [_] => {}
            [a, b] => {
                if *a < *b {
                    std::mem::swap(a, b);
                }
            }
            events => crowd::compare(events),
        }
        true
    }

    /// Sorts `unsorted`, which are many, into `open`: by parts of the bucket's time first, which no
    /// comparison takes.
    fn spread(&mut self) {
        const COUNT: usize = 1 << PARTS;
        let shift = self.shift - PARTS;
        let part = |event: &E| COUNT - 1 - (event.time() >> shift) as usize % COUNT;
        let mut places = [0usize; COUNT];
        self.unsorted.iter().for_each(|event| places[part(event)] += 1);
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        self.open.clone_from(&self.unsorted);
        for event in &self.unsorted {
            let place = &mut places[part(event)];
            self.open[*place] = *event;
            *place += 1;
        }
        // Each place is now the end of its part.
        let mut start = 0;
        for end in places {
            crowd::sort(&mut self.open[start..end], &mut self.unsorted[start..end]);
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    struct TestEvent(u64, u32);
    impl Timed for TestEvent {
        fn time(&self) -> u64 {
            self.0
        }
        /// Returns the rank. Some of one rank differ.
        fn rank(&self) -> u32 {
            self.1 / 2
        }
    }

    proptest! {
        /// Thousands of events at a few instants, whose ranks differ in few bits or many, come out sorted.
        #[test]
        fn crowds_of_one_instant_come_out_sorted(
            numbers in prop::collection::vec((0u64..3, any::<u32>()), 100..4000),
            mask in prop_oneof![Just(0xffu32), Just(0x1ff_8003), Just(u32::MAX)],
            shift in 6u32..20,
        ) {
            let mut wheel = TimingWheel::new(shift, 6);
            let event = |(time, number)| TestEvent(777 + 1000 * time, number & mask);
            let mut events: Vec<TestEvent> = numbers.into_iter().map(event).collect();
            events.iter().for_each(|&event| wheel.push(event));
            events.sort_unstable();
            for event in events {
                prop_assert_eq!(wheel.pop_until(u64::MAX), Some(event));
            }
        }

        /// Sorts as below, with many events in a bucket and some at one instant.
        #[test]
        fn crowded_buckets_come_out_sorted(
            times in prop::collection::vec(0u64..5000, 200..2000),
            shift in 4u32..14,
        ) {
            let mut wheel = TimingWheel::new(shift, 6);
            let event = |(i, time)| TestEvent(time, (i % 7) as u32);
            let mut events: Vec<TestEvent> = times.into_iter().enumerate().map(event).collect();
            events.iter().for_each(|&event| wheel.push(event));
            events.sort_unstable();
            for event in events {
                prop_assert_eq!(wheel.pop_until(u64::MAX), Some(event));
            }
            prop_assert!(wheel.is_empty());
        }

        /// Many events that come into the open bucket, while it has none, few or many, come out in order.
        #[test]
        fn crowds_in_the_open_bucket_come_out_sorted(
            batches in prop::collection::vec((prop::collection::vec(0u64..3000, 0..400), 0usize..500), 1..6),
        ) {
            let (mut wheel, mut heap, mut now, mut number) =
                (TimingWheel::new(12, 6), BinaryHeap::new(), 0, 0);
            for (times, pops) in batches {
                for time in times {
                    let event = TestEvent(now + time, number % 5);
                    number += 1;
                    wheel.push(event);
                    heap.push(Reverse(event));
                }
                for _ in 0..pops {
                    let expected = heap.pop().map(|e| e.0);
                    prop_assert_eq!(wheel.pop_until(u64::MAX), expected);
                    now = expected.map_or(now, |event| event.0);
                }
                prop_assert_eq!(wheel.len(), heap.len());
            }
        }

        /// Events set aside come out once, at any time, and do not disturb the others.
        #[test]
        fn what_is_set_aside_stays_apart(
            steps in prop::collection::vec((0u64..40_000, any::<bool>(), 0u32..8), 1..800),
            shift in 4u32..9,
        ) {
            let (mut wheel, mut queued, mut aside, mut now) =
                (TimingWheel::new(shift, 6), Vec::new(), Vec::new(), 0);
            for (i, (away, apart, then)) in steps.into_iter().enumerate() {
                let event = TestEvent(now + away, i as u32);
                wheel.push_unless(event, apart);
                if apart {
                    aside.push(event)
                } else {
                    queued.push(event)
                }
                if then == 0 {
                    let mut taken = Vec::new();
                    wheel.take_aside(&mut taken);
                    taken.sort_unstable();
                    aside.sort_unstable();
                    prop_assert_eq!(&taken, &aside);
                    aside.clear();
                } else if then < 4 {
                    queued.sort_unstable_by(|a, b| b.cmp(a));
                    let next = wheel.pop_until(u64::MAX);
                    prop_assert_eq!(next, queued.pop());
                    now = next.map_or(now, |event| event.0);
                }
                prop_assert_eq!(wheel.len(), queued.len());
            }
        }

        /// Pushes at or after the last pop, over gaps from one picosecond to far beyond the horizon, come out
        /// as from a binary heap.
        #[test]
        fn pops_in_the_order_of_a_heap(
            steps in prop::collection::vec(
                (0u32..44, any::<u64>(), any::<bool>(), any::<bool>(), any::<bool>()),
                1..600,
            ),
            shift in 0u32..12,
        ) {
            let (mut wheel, mut heap, mut now) = (TimingWheel::new(shift, 6), BinaryHeap::new(), 0u64);
            for (i, (magnitude, random, pop, peek, look_ahead)) in steps.into_iter().enumerate() {
                let event = TestEvent(now + (random & ((1 << magnitude) - 1)), i as u32);
                wheel.push(event);
                heap.push(Reverse(event));
                if look_ahead {
                    wheel.look_ahead(4);
                    prop_assert!(wheel.upcoming(3).is_some() || wheel.in_wheel == 0);
                }
                if peek {
                    prop_assert_eq!(wheel.peek(), heap.peek().map(|e| e.0));
                }
                if pop {
                    let expected = heap.pop().map(|e| e.0).unwrap();
                    now = expected.0;
                    if now > 0 {
                        prop_assert_eq!(wheel.pop_until(now - 1), None);
                    }
                    prop_assert_eq!(wheel.pop_until(now), Some(expected));
                }
                prop_assert_eq!(wheel.len(), heap.len());
            }
            while let Some(Reverse(expected)) = heap.pop() {
                prop_assert_eq!(wheel.pop_until(u64::MAX), Some(expected));
            }
            prop_assert!(wheel.is_empty());
        }
    }
}

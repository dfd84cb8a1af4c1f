//! Decisions in the order of time, and how far they are safe.
//!
//! A decision with a time settles which of several things that may happen comes first, where that matters:
//! which message a receive for any source takes, who gets a lock. Decisions are made in order, once nothing
//! earlier can appear any more.
//!
//! A decision is made, its owner acts, and the effect reaches others no earlier than the lookahead after
//! that. So all decisions before the least such time are safe to make together (the conservative window of
//! Chandy and Misra, 1979, and of YAWNS, Nicol 1993). Without lookahead it is one decision at a time.

use crate::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A decision to make. Decisions are made in their order, which begins with the time.
pub trait Decidable: Copy + Ord {
    /// Returns its owner: all decisions of one owner are found anew together.
    fn owner(&self) -> u32;
}

/// A decision, and how often its owner's decisions had been found when it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry<T> {
    decision: T,
    version: u32,
}

/// Open decisions of a row of owners, the least first; of equal ones, either.
///
/// Open decisions, kept from one to the next, so that each costs what changed and not what waits. Void ones
/// stay in the heap until they come to the top, or until they are most of it.
#[derive(Debug)]
pub struct DecisionQueue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    /// `true` if the top of the heap is made: the next decision takes its place.
    // Most decisions lead to one new one, and to put that on top and sift it down costs half of taking the
    // old one out and putting the new one in.
    vacant: bool,
    versions: Versions,
}

/// Versions of each owner's decisions; a decision of an older version is invalid.
#[derive(Debug)]
struct Versions {
    /// The first owner.
    first: u32,
    counts: Vec<u32>,
}

impl Versions {
    /// Begins and returns the next version of the decisions of `owner`.
    fn renew(&mut self, owner: u32) -> u32 {
        let version = &mut self.counts[(owner - self.first) as usize];
        *version = version.wrapping_add(1);
        *version
    }

    #[inline]
    fn is_valid<T: Decidable>(&self, entry: &Entry<T>) -> bool {
        self.counts[(entry.decision.owner() - self.first) as usize] == entry.version
    }
}

impl<T: Decidable> Default for DecisionQueue<T> {
    fn default() -> Self {
        DecisionQueue::of(0, 0)
    }
}

impl<T: Decidable> DecisionQueue<T> {
    /// Makes a queue in which nothing is open, of `count` owners from `first` on. O(count) memory, four bytes
    /// each.
    pub fn of(first: u32, count: usize) -> DecisionQueue<T> {
        DecisionQueue {
            heap: BinaryHeap::new(),
            vacant: false,
            versions: Versions { first, counts: vec![0; count] },
        }
    }

    /// Returns `true` if it has no owners: nothing can be open.
    #[inline]
    pub fn has_no_owners(&self) -> bool {
        self.versions.counts.is_empty()
    }

    /// Makes the decisions of `owner` void. O(1).
    pub fn void(&mut self, owner: u32) {
        self.versions.renew(owner);
    }

    /// Replaces the decisions of `owner` by these. O(log n) for each.
    pub fn replace(&mut self, owner: u32, decisions: impl IntoIterator<Item = T>) {
        let version = self.versions.renew(owner);
        // One by one: `extend` may rebuild the heap.
        for decision in decisions {
            debug_assert_eq!(decision.owner(), owner);
            let entry = Reverse(Entry { decision, version });
            if std::mem::take(&mut self.vacant)
                && let Some(mut top) = self.heap.peek_mut()
            {
                *top = entry;
            } else {
                self.heap.push(entry);
            }
        }
    }

    /// Makes the top of the heap a decision once more.
    #[inline]
    fn fill(&mut self) {
        if std::mem::take(&mut self.vacant) {
            self.heap.pop();
        }
    }

    /// Returns the least open decision. O(log n) for each void one that lies before it.
    pub fn first(&mut self) -> Option<T> {
        self.fill();
        while let Some(Reverse(entry)) = self.heap.peek() {
            if self.versions.is_valid(entry) {
                return Some(entry.decision);
            }
            self.heap.pop();
        }
        None
    }

    /// Removes the decision that [`DecisionQueue::first`] returned, which is made. O(log n).
    pub fn decided(&mut self) {
        self.fill();
        self.vacant = !self.heap.is_empty();
    }

    /// Returns all open decisions, in any order. O(n), with the void ones.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        // The top is the first of the heap's entries.
        let entries = self.heap.iter().skip(usize::from(self.vacant));
        entries.filter(|Reverse(entry)| self.versions.is_valid(entry)).map(|Reverse(entry)| entry.decision)
    }

    /// Forgets void decisions, should they be most of the queue: there is about one an owner.
    pub fn tidy(&mut self) {
        if self.heap.len() > 64 + 4 * self.versions.counts.len() {
            self.fill();
            let versions = &self.versions;
            self.heap.retain(|Reverse(entry)| versions.is_valid(entry));
        }
    }
}

/// Until when decisions are safe to make, while they are made.
#[derive(Clone, Copy, Debug)]
pub struct SafeTime {
    bound: Time,
    lookahead: Span,
}

impl SafeTime {
    /// Makes a safe time: all else acts at `other` or later ([`Time::MAX`]: never), and reaches no rank
    /// before `lookahead` after that.
    pub fn new(other: Time, lookahead: Span) -> SafeTime {
        SafeTime { bound: other.saturating_add(lookahead), lookahead }
    }

    /// Returns `true` if nothing that comes before `time`, or then, can appear any more.
    #[inline]
    pub fn covers(&self, time: Time) -> bool {
        time < self.bound
    }

    /// Notes a decision because of which its owner acts at `time`, or later.
    #[inline]
    pub fn acts(&mut self, time: Time) {
        self.bound = self.bound.min(time.saturating_add(self.lookahead));
    }

    /// Returns the first instant that is not safe.
    pub fn bound(&self) -> Time {
        self.bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Time, owner, source.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    struct TestDecision(Time, u32, u32);

    impl Decidable for TestDecision {
        fn owner(&self) -> u32 {
            self.1
        }
    }

    const OWNERS: u32 = 4;
    const FIRST: u32 = 3;

    proptest! {
        #[test]
        fn a_queue_is_the_least_of_what_its_owners_have_open(
            steps in proptest::collection::vec(
                (0..OWNERS, proptest::collection::vec((0u64..20, 0u32..3), 0..3), 0u32..4),
                0..80,
            ),
        ) {
            let mut queue = DecisionQueue::of(FIRST, OWNERS as usize);
            let mut model: Vec<Vec<TestDecision>> = vec![Vec::new(); OWNERS as usize];
            for (owner, decisions, what) in steps {
                let decision = |(time, source)| TestDecision(Time::from_ps(time), FIRST + owner, source);
                let decisions: Vec<TestDecision> = decisions.into_iter().map(decision).collect();
                let least = model.iter().flatten().min().copied();
                prop_assert_eq!(queue.first(), least);
                match (what, least) {
                    (0, _) => {
                        queue.void(FIRST + owner);
                        model[owner as usize].clear();
                    }
                    (1, Some(least)) => {
                        queue.decided();
                        let list = &mut model[(least.1 - FIRST) as usize];
                        let place = list.iter().position(|decision| *decision == least).unwrap();
                        list.remove(place);
                    }
                    _ => {
                        queue.replace(FIRST + owner, decisions.iter().copied());
                        model[owner as usize] = decisions;
                    }
                }
                queue.tidy();
                let mut open: Vec<TestDecision> = queue.iter().collect();
                let mut expected: Vec<TestDecision> = model.iter().flatten().copied().collect();
                open.sort();
                expected.sort();
                prop_assert_eq!(open, expected);
            }
        }
    }

    /// The time that a rank computes, to whom it sends then, and how much longer than the lookahead each
    /// message takes.
    type Step = (u64, Vec<(u32, u64)>);

    /// A program of ranks that wait for decisions: at each that it gets, a rank computes and sends messages,
    /// which are decisions of others.
    #[derive(Clone, Debug)]
    struct TestProgram {
        /// Decisions that are there from the beginning.
        decisions: Vec<TestDecision>,
        /// Steps of each rank, one for each of its decisions in turn.
        steps: Vec<Vec<Step>>,
        lookahead: u64,
    }

    impl TestProgram {
        /// Returns what a rank does because of its decision number `count`, at `time`: when it acts, and the
        /// decisions that follow.
        fn react(&self, decision: TestDecision, count: usize) -> (Time, Vec<TestDecision>) {
            let TestDecision(time, rank, _) = decision;
            let Some((compute, sends)) = self.steps[(rank - FIRST) as usize].get(count) else {
                return (time, Vec::new());
            };
            let acts = time + Span::from_ps(*compute);
            let arrival = |late: u64| acts + Span::from_ps(self.lookahead + late);
            (acts, sends.iter().map(|&(to, late)| TestDecision(arrival(late), FIRST + to, rank)).collect())
        }

        /// Makes one decision at a time, each with all that follows.
        fn one_by_one(&self) -> Vec<TestDecision> {
            let (mut open, mut counts, mut order) =
                (self.decisions.clone(), [0; OWNERS as usize], Vec::new());
            while let Some(place) = (0..open.len()).min_by_key(|&place| open[place]) {
                let decision = open.swap_remove(place);
                order.push(decision);
                open.extend(self.react(decision, counts[(decision.1 - FIRST) as usize]).1);
                counts[(decision.1 - FIRST) as usize] += 1;
            }
            order
        }

        /// Decides all that is safe, and lets the ranks act only then.
        fn in_windows(&self) -> Vec<TestDecision> {
            let mut queue = DecisionQueue::of(FIRST, OWNERS as usize);
            let (mut open, mut counts, mut order) =
                (self.decisions.clone(), [0; OWNERS as usize], Vec::new());
            loop {
                for owner in FIRST..FIRST + OWNERS {
                    queue.replace(owner, open.iter().copied().filter(|decision| decision.1 == owner));
                }
                let mut safe = SafeTime::new(Time::MAX, Span::from_ps(self.lookahead));
                let (mut decided, mut later) = (0, Vec::new());
                while let Some(decision) = queue.first() {
                    // The least decision is safe whatever the lookahead is.
                    if !safe.covers(decision.0) && decided != 0 {
                        break;
                    }
                    queue.decided();
                    let place = open.iter().position(|open| *open == decision).unwrap();
                    open.swap_remove(place);
                    let (acts, follow) = self.react(decision, counts[(decision.1 - FIRST) as usize]);
                    counts[(decision.1 - FIRST) as usize] += 1;
                    safe.acts(acts);
                    later.extend(follow);
                    order.push(decision);
                    decided += 1;
                }
                if decided == 0 {
                    return order;
                }
                open.extend(later);
            }
        }
    }

    fn programs() -> impl Strategy<Value = TestProgram> {
        let decisions = proptest::collection::vec((0u64..30, 0..OWNERS, 0u32..3), 0..8);
        let sends = proptest::collection::vec((0..OWNERS, 0u64..10), 0..3);
        let steps =
            proptest::collection::vec(proptest::collection::vec((0u64..6, sends), 0..5), OWNERS as usize);
        (decisions, steps, 0u64..12).prop_map(|(decisions, steps, lookahead)| TestProgram {
            decisions: decisions
                .into_iter()
                .map(|(time, rank, source)| TestDecision(Time::from_ps(time), FIRST + rank, source))
                .collect(),
            steps,
            lookahead,
        })
    }

    proptest! {
        // Ranks that act only when all that is safe is decided, as they do, and ranks that act at once.
        #[test]
        fn windows_decide_in_the_order_of_one_by_one(program in programs()) {
            let (expected, order) = (program.one_by_one(), program.in_windows());
            prop_assert_eq!(order, expected);
        }
    }
}

//! The first messages of the sources that a pattern accepts, the least by their precedence at hand.

use crate::node::NIL;
use crate::precedence::Precedence;
use smallvec::SmallVec;
use std::cell::Cell;

/// The first message of a chain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Head {
    pub(super) precedence: Precedence,
    pub(super) chain: u32,
}

/// Index in the heap of each chain's head; [`NIL`] without one.
// Behind cells, like the heaps: asking for the least head makes a heap, and changes nothing that anybody
// sees.
pub(super) type Places = [Cell<u32>];

/// A binary heap in which each head's place is known.
// A head that leaves is replaced by the next of its source in one sift. A set in order would take two
// searches and two moves for that, and a heap with void entries could not say what is behind a message that
// is taken.
#[derive(Default)]
pub(super) struct Heads {
    heap: Vec<Head>,
}

impl Heads {
    /// Sets the first message of `chain`, which arrives at `arrival`, whenever the one before did. O(log
    /// heads).
    pub(super) fn set(&mut self, head: Head, places: &Places) {
        let at = match places[head.chain as usize].get() {
            NIL => {
                self.heap.push(head);
                self.heap.len() - 1
            }
            // Of a source that sends many at one time the next one mostly arrives with it.
            at if self.heap[at as usize] == head => return,
            at => at as usize,
        };
        self.settle(at, head, places);
    }

    /// Removes `chain`, which has no first message any more. O(log heads).
    pub(super) fn remove(&mut self, chain: u32, places: &Places) {
        let at = places[chain as usize].replace(NIL);
        if at == NIL {
            return;
        }
        let last = self.heap.pop().expect("a heap with a head in it");
        if last.chain != chain {
            self.settle(at as usize, last, places);
        }
    }

    /// Puts a head where it belongs, from the place `at` on, which is free.
    fn settle(&mut self, mut at: usize, head: Head, places: &Places) {
        let put = |heap: &mut Vec<Head>, at: usize, head: Head| {
            heap[at] = head;
            places[head.chain as usize].set(at as u32);
        };
        while at > 0 && head < self.heap[(at - 1) / 2] {
            let above = (at - 1) / 2;
            let higher = self.heap[above];
            put(&mut self.heap, at, higher);
            at = above;
        }
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let Some(&one) = self.heap.get(left) else { break };
            let (below, least) = match self.heap.get(right) {
                Some(&other) if other < one => (right, other),
                _ => (left, one),
            };
            if head < least {
                break;
            }
            put(&mut self.heap, at, least);
            at = below;
        }
        put(&mut self.heap, at, head);
    }

    /// Returns the least head.
    #[inline]
    pub(super) fn top(&self) -> Option<Head> {
        self.heap.first().copied()
    }

    /// The least head that `stands`. O(those that do not).
    // Below a head that stands, no other can be less.
    pub(super) fn least(&self, stands: impl Fn(Head) -> bool) -> Option<Head> {
        let top = self.top()?;
        if stands(top) {
            return Some(top);
        }
        let mut ahead: SmallVec<[usize; 16]> = SmallVec::from_slice(&[1, 2]);
        let mut least: Option<Head> = None;
        while let Some(at) = ahead.pop() {
            let Some(&head) = self.heap.get(at) else { continue };
            if !stands(head) {
                ahead.extend([2 * at + 1, 2 * at + 2]);
            } else if least.is_none_or(|least| head < least) {
                least = Some(head);
            }
        }
        least
    }
}

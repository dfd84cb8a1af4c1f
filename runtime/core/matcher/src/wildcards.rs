//! The number of kinds of a rank's open receives for any source, where it has several: all of one kind wait
//! for the first of them.

use crate::envelope::Pattern;
use crate::matching::Matcher;
use crate::node::flag;
use crate::pending::Pending;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::Cell;

/// Patterns of the open receives of one rank, each with the number of receives that have it.
type Kinds = SmallVec<[(Pattern, u32); 1]>;

/// The patterns that open receives for any source accept, and how many accept each, for each rank that has
/// more than one.
// Beside the ranks and not in them: few programs have such receives, and none leaves many ranks with them.
#[derive(Default)]
pub struct Wildcards {
    slots: FxHashMap<u32, u32>,
    kinds: Vec<Kinds>,
    free: Vec<u32>,
    /// The rank that was asked about last, and its slot: the next to be asked about is mostly the same.
    last: Cell<Option<(u32, u32)>>,
}

impl Wildcards {
    #[inline]
    fn slot(&self, rank: u32) -> Option<usize> {
        if let Some((_, slot)) = self.last.get().filter(|last| last.0 == rank) {
            return Some(slot as usize);
        }
        let slot = *self.slots.get(&rank)?;
        self.last.set(Some((rank, slot)));
        Some(slot as usize)
    }
    #[cold]
    fn make(&mut self, rank: u32) -> usize {
        let slot = self.free.pop().unwrap_or(self.kinds.len() as u32);
        if slot as usize == self.kinds.len() {
            self.kinds.push(Kinds::new());
        }
        self.slots.insert(rank, slot);
        slot as usize
    }
    /// Counts one more receive of `rank` that accepts this. O(kinds).
    pub fn open(&mut self, rank: u32, pattern: &Pattern) {
        let slot = self.slot(rank).unwrap_or_else(|| self.make(rank));
        let kinds = &mut self.kinds[slot];
        match kinds.iter_mut().find(|(kind, _)| kind == pattern) {
            Some((_, count)) => *count += 1,
            None => kinds.push((*pattern, 1)),
        }
    }
    /// Counts so many fewer. O(kinds).
    pub fn close(&mut self, rank: u32, pattern: &Pattern, count: u32) {
        let Some(slot) = self.slot(rank) else { return };
        let kinds = &mut self.kinds[slot];
        if let Some(at) = kinds.iter().position(|(kind, _)| kind == pattern) {
            kinds[at].1 -= count;
            if kinds[at].1 == 0 {
                kinds.swap_remove(at);
            }
        }
    }
    /// Removes the counts of `rank`, which has no receive, or one alone, which is not counted here.
    pub fn forget(&mut self, rank: u32) {
        self.last.set(None);
        if let Some(slot) = self.slots.remove(&rank) {
            self.kinds[slot as usize].clear();
            self.free.push(slot);
        }
    }
    /// Returns `true` if this holds of what a receive of `rank` accepts.
    pub fn any(&self, rank: u32, holds: impl Fn(&Pattern) -> bool) -> bool {
        self.slot(rank).is_some_and(|slot| self.kinds[slot].iter().any(|(kind, _)| holds(kind)))
    }
    /// Returns how many different patterns the receives of `rank` have.
    pub fn kinds(&self, rank: u32) -> usize {
        self.slot(rank).map_or(0, |slot| self.kinds[slot].len())
    }
}

impl Matcher {
    /// Counts a receive of `rank` for any source, which is the last posted, as open.
    // A single one is told by the queue: most programs that have any have no more.
    pub(crate) fn open_wildcard(&mut self, rank: u32, at: &mut Pending, pattern: &Pattern) {
        at.wildcards += 1;
        if at.wildcards == 2
            && let Some(first) =
                self.posted.iter(at.posted).find(|&receive| self.nodes[receive].has(flag::WILD))
        {
            self.wildcards.open(rank, &Pattern::of(&self.nodes[first]));
        }
        if at.wildcards > 1 {
            self.wildcards.open(rank, pattern);
        }
    }

    /// Counts a receive of `rank` for any source as decided or cancelled.
    pub fn close_wildcard(&mut self, rank: u32, at: &mut Pending, receive: u32) {
        let pattern = Pattern::of(&self.nodes[receive]);
        self.close_wildcards(rank, at, &pattern, 1);
    }

    /// Counts receives of `rank` for any source that accept `pattern` as decided or cancelled.
    pub fn close_wildcards(&mut self, rank: u32, at: &mut Pending, pattern: &Pattern, count: u32) {
        let before = at.wildcards;
        at.wildcards -= count;
        if at.wildcards > 1 {
            self.wildcards.close(rank, pattern, count);
        } else if before > 1 {
            self.wildcards.forget(rank);
        }
    }

    /// Returns the number of different patterns of the open receives of `rank` for any source.
    pub fn wildcard_kinds(&self, rank: u32, at: &Pending) -> usize {
        match at.wildcards {
            count @ 0..=1 => count as usize,
            _ => self.wildcards.kinds(rank),
        }
    }

    /// Returns `true` if an open receive of `rank` for any source could take a message of `pattern`.
    // With one such receive the queue is looked through: O(posted). Several of one kind may be thousands, so
    // their kinds are counted as they come and go: O(kinds).
    pub fn wildcard_overlaps(&self, rank: u32, at: &Pending, pattern: &Pattern) -> bool {
        match at.wildcards {
            0 => false,
            1 => (self.posted.iter(at.posted))
                .map(|receive| &self.nodes[receive])
                .any(|node| node.has(flag::WILD) && Pattern::of(node).overlaps(pattern)),
            _ => self.wildcards.any(rank, |kind| kind.overlaps(pattern)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn pattern(tag: Option<i32>) -> Pattern {
        Pattern { context: 0, source: None, tag }
    }

    proptest! {
        #[test]
        fn kinds_are_those_of_a_plain_count(
            steps in
                proptest::collection::vec((0..3u32, proptest::option::of(0..3i32), any::<bool>()), 0..60),
        ) {
            let (mut wildcards, mut model) =
                (Wildcards::default(), BTreeMap::<(u32, Option<i32>), u32>::new());
            for (rank, tag, opens) in steps {
                if opens {
                    wildcards.open(rank, &pattern(tag));
                    *model.entry((rank, tag)).or_default() += 1;
                } else if let Some(count) = model.get_mut(&(rank, tag)) {
                    wildcards.close(rank, &pattern(tag), 1);
                    *count -= 1;
                    model.retain(|_, count| *count != 0);
                }
                if model.keys().all(|(of, _)| *of != rank) {
                    wildcards.forget(rank);
                }
                for rank in 0..3 {
                    prop_assert_eq!(
                        wildcards.kinds(rank),
                        model.keys().filter(|(of, _)| *of == rank).count()
                    );
                }
            }
        }
    }
}

//! Of how many kinds a rank's open receives for any source are, where it has several: all of one kind wait for the first of them.

use crate::envelope::Pattern;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What the open receives for any source accept, and how many accept it, for each rank that has more than one.
// Beside the ranks and not in them: few programs have such receives, and none leaves many ranks with them.
#[derive(Default)]
pub struct Wilds {
    kinds: FxHashMap<u32, SmallVec<[(Pattern, u32); 1]>>,
}

impl Wilds {
    /// One more receive of `rank` accepts this. O(kinds).
    pub fn open(&mut self, rank: u32, pattern: &Pattern) {
        let kinds = self.kinds.entry(rank).or_default();
        match kinds.iter_mut().find(|(kind, _)| kind == pattern) {
            Some((_, count)) => *count += 1,
            None => kinds.push((*pattern, 1)),
        }
    }
    /// One less. O(kinds).
    pub fn close(&mut self, rank: u32, pattern: &Pattern) {
        let Some(kinds) = self.kinds.get_mut(&rank) else { return };
        if let Some(at) = kinds.iter().position(|(kind, _)| kind == pattern) {
            kinds[at].1 -= 1;
            if kinds[at].1 == 0 {
                kinds.swap_remove(at);
            }
        }
    }
    /// No receive of `rank`, or one alone, which is not counted here.
    pub fn forget(&mut self, rank: u32) {
        self.kinds.remove(&rank);
    }
    /// Whether this holds of what a receive of `rank` accepts.
    pub fn any(&self, rank: u32, holds: impl Fn(&Pattern) -> bool) -> bool {
        self.kinds.get(&rank).is_some_and(|kinds| kinds.iter().any(|(kind, _)| holds(kind)))
    }
    /// How many different patterns the receives of `rank` have.
    pub fn kinds(&self, rank: u32) -> usize {
        self.kinds.get(&rank).map_or(0, SmallVec::len)
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
        fn kinds_are_those_of_a_plain_count(steps in proptest::collection::vec((0..3u32, proptest::option::of(0..3i32), any::<bool>()), 0..60)) {
            let (mut wilds, mut model) = (Wilds::default(), BTreeMap::<(u32, Option<i32>), u32>::new());
            for (rank, tag, opens) in steps {
                if opens {
                    wilds.open(rank, &pattern(tag));
                    *model.entry((rank, tag)).or_default() += 1;
                } else if let Some(count) = model.get_mut(&(rank, tag)) {
                    wilds.close(rank, &pattern(tag));
                    *count -= 1;
                    model.retain(|_, count| *count != 0);
                }
                for rank in 0..3 {
                    prop_assert_eq!(wilds.kinds(rank), model.keys().filter(|(of, _)| *of == rank).count());
                }
            }
        }
    }
}

//! Sets of ranks of which neighbours mostly are in together.

use rustc_hash::FxHashMap;

/// A set of ranks: one word per 64 neighbouring members.
#[derive(Default, Debug)]
pub struct RankSet {
    // By word: a set of all ranks costs about two bits a rank, one of a few ranks a few words, and neither
    // has to be chosen ahead.
    words: FxHashMap<u32, u64>,
    len: u32,
}

impl RankSet {
    /// Returns `true` if nobody is in.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Returns how many ranks are in.
    pub fn len(&self) -> u32 {
        self.len
    }
    /// Returns `true` if `rank` is in; O(1).
    #[inline]
    pub fn contains(&self, rank: u32) -> bool {
        self.len != 0 && self.words.get(&(rank >> 6)).is_some_and(|word| word & (1 << (rank & 63)) != 0)
    }
    /// Adds `rank`; false if it was in.
    pub fn insert(&mut self, rank: u32) -> bool {
        let word = self.words.entry(rank >> 6).or_default();
        let fresh = *word & (1 << (rank & 63)) == 0;
        *word |= 1 << (rank & 63);
        self.len += u32::from(fresh);
        fresh
    }
    /// Takes `rank` out; false if it was not in.
    pub fn remove(&mut self, rank: u32) -> bool {
        let Some(word) = self.words.get_mut(&(rank >> 6)) else { return false };
        if *word & (1 << (rank & 63)) == 0 {
            return false;
        }
        *word &= !(1 << (rank & 63));
        if *word == 0 {
            self.words.remove(&(rank >> 6));
        }
        self.len -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranks_are_in_from_insertion_to_removal(
            steps in prop::collection::vec((0u32..140, any::<bool>()), 0..200),
        ) {
            let (mut set, mut plain) = (RankSet::default(), BTreeSet::new());
            for (rank, adds) in steps {
                match adds {
                    true => prop_assert_eq!(set.insert(rank), plain.insert(rank)),
                    false => prop_assert_eq!(set.remove(rank), plain.remove(&rank)),
                }
                prop_assert_eq!((set.len() as usize, set.is_empty()), (plain.len(), plain.is_empty()));
                prop_assert!((0..140).all(|rank| set.contains(rank) == plain.contains(&rank)));
            }
        }
    }
}

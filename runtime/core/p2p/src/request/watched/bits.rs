//! A set of indices of an array.

/// Indices below a bound, a bit each.
#[derive(Default)]
pub(super) struct IndexSet {
    words: Vec<u64>,
}

impl IndexSet {
    /// Returns an empty set of indices below `bound`.
    pub(super) fn below(bound: u32) -> IndexSet {
        IndexSet { words: vec![0; bound.div_ceil(64) as usize] }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    pub(super) fn insert(&mut self, index: u32) {
        self.words[index as usize / 64] |= 1 << (index % 64);
    }

    /// Takes an index out. Returns `true` if it was there.
    pub(super) fn remove(&mut self, index: u32) -> bool {
        let (word, bit) = (&mut self.words[index as usize / 64], 1 << (index % 64));
        let was_there = *word & bit != 0;
        *word &= !bit;
        was_there
    }

    /// Returns the first index from `from` on. O(bound / 64).
    pub(super) fn next(&self, from: u32) -> Option<u32> {
        let at = from as usize / 64;
        if at >= self.words.len() {
            return None;
        }
        let rest = self.words[at] & (u64::MAX << (from % 64));
        let (word, bits) = if rest != 0 {
            (at, rest)
        } else {
            let behind = self.words[at + 1..].iter().position(|&word| word != 0)?;
            (at + 1 + behind, self.words[at + 1 + behind])
        };
        Some(word as u32 * 64 + bits.trailing_zeros())
    }

    /// Returns the first index from `from` on, or else the first of all.
    pub(super) fn next_in_round(&self, from: u32) -> Option<u32> {
        self.next(from).or_else(|| self.next(0))
    }

    /// Returns all indices from `from` on, and then those before it.
    pub(super) fn round(&self, from: u32) -> impl Iterator<Item = u32> + '_ {
        self.iter(from).chain(self.iter(0).take_while(move |&index| index < from))
    }

    /// Returns the indices from `from` on.
    pub(super) fn iter(&self, from: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.next(from), |&index| self.next(index + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_set_of_indices_is_read_in_order_from_any_of_them_on(
            bound in 1..500_u32,
            steps in proptest::collection::vec((any::<bool>(), 0..500_u32), 0..200),
            from in 0..501_u32,
        ) {
            let (mut set, mut model) = (IndexSet::below(bound), BTreeSet::new());
            for (adds, index) in steps {
                let index = index % bound;
                if adds {
                    set.insert(index);
                    model.insert(index);
                } else {
                    prop_assert_eq!(set.remove(index), model.remove(&index));
                }
            }
            let from = from.min(bound);
            prop_assert_eq!(set.is_empty(), model.is_empty());
            prop_assert_eq!(set.next(from), model.range(from..).next().copied());
            let round: Vec<u32> = model.range(from..).chain(model.range(..from)).copied().collect();
            prop_assert_eq!(set.next_in_round(from), round.first().copied());
            prop_assert_eq!(set.round(from).collect::<Vec<_>>(), round);
        }
    }
}

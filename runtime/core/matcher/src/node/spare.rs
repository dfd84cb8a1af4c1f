//! Free nodes by where they lie: those that are given out one after the other lie side by side.

/// Nodes that are kept together: a page of memory.
const TOGETHER: u32 = 64;

/// Sets of nodes that are free, page by page.
// A bit for a node. Whole pages are given out before those of which some nodes are used: who posts a thousand
// receives gets nodes that lie in order, however scattered those were that were freed last.
#[derive(Default)]
pub(super) struct Spare {
    /// The free ones of each page.
    pages: Vec<u64>,
    /// Pages that are all free.
    whole: Least,
    /// Pages of which some are free, and some are not.
    some: Least,
}

impl Spare {
    /// Records that a node is free. O(1); O(log pages) for the first and the last of a page.
    #[inline(always)]
    pub(super) fn put(&mut self, node: u32) {
        let page = node / TOGETHER;
        let Some(free) = self.pages.get_mut(page as usize) else { return self.put_beyond(node) };
        let before = *free;
        *free |= 1 << (node % TOGETHER);
        if before == 0 || *free == u64::MAX {
            self.list(page);
        }
    }

    /// Puts the first of a page that has never had any ([`Spare::put`]).
    #[cold]
    #[inline(never)]
    fn put_beyond(&mut self, node: u32) {
        self.pages.resize((node / TOGETHER) as usize + 1, 0);
        self.put(node);
    }

    /// Records that the first or the last node of a page is free.
    #[inline(never)]
    fn list(&mut self, page: u32) {
        if self.pages[page as usize] == u64::MAX {
            self.some.remove(page);
            self.whole.insert(page);
        } else {
            self.some.insert(page);
        }
    }

    /// Takes all free nodes of a page, the least of those that are whole if there is one: tells each, the
    /// last one first. O(log pages) besides.
    #[inline]
    pub(super) fn take(&mut self, mut tell: impl FnMut(u32)) {
        let (from, page) = match (self.whole.least(), self.some.least()) {
            (Some(page), _) => (&mut self.whole, page),
            (None, Some(page)) => (&mut self.some, page),
            (None, None) => return,
        };
        from.remove(page);
        let mut free = std::mem::take(&mut self.pages[page as usize]);
        while let Some(last) = free.checked_ilog2() {
            free &= !(1 << last);
            tell(page * TOGETHER + last);
        }
    }
}

/// A set of numbers of which the least is found.
// Levels of words, each bit of which says whether the word below it has one: six bits of a number a level.
#[derive(Default)]
struct Least {
    /// The numbers themselves first, a single word last.
    levels: Vec<Vec<u64>>,
}

impl Least {
    /// Inserts a number. O(log of the largest number).
    fn insert(&mut self, number: u32) {
        while self.levels.is_empty() || u64::from(number) >> (6 * self.levels.len()) != 0 {
            // What there is hangs on the first bit of the new word.
            let any = self.levels.last().is_some_and(|top| top[0] != 0);
            self.levels.push(vec![u64::from(any)]);
        }
        let mut at = number;
        for level in &mut self.levels {
            let (word, bit) = (at as usize / 64, at % 64);
            if word >= level.len() {
                level.resize(word + 1, 0);
            }
            level[word] |= 1 << bit;
            at /= 64;
        }
    }

    /// Removes a number. O(log of the largest number).
    fn remove(&mut self, number: u32) {
        let mut at = number;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(at as usize / 64) else { return };
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// Returns the least number; `None` if there is none. O(log of the largest number).
    fn least(&self) -> Option<u32> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = *level.get(at as usize)?;
            if word == 0 {
                return None;
            }
            at = at * 64 + word.trailing_zeros();
        }
        (!self.levels.is_empty()).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn taken(spare: &mut Spare) -> Vec<u32> {
        let mut nodes = Vec::new();
        spare.take(|node| nodes.push(node));
        nodes.reverse();
        nodes
    }

    proptest! {
        #[test]
        fn each_free_node_is_given_out_once_and_whole_pages_first(
            steps in proptest::collection::vec((any::<bool>(), 0..500_000u32, 1..200u32), 1..60),
        ) {
            let (mut spare, mut free) = (Spare::default(), BTreeSet::new());
            for (takes, first, count) in steps {
                if takes {
                    let pages: Vec<u32> = free.iter().map(|node| node / TOGETHER).collect();
                    let whole = pages.chunk_by(|a, b| a == b).find(|page| page.len() == TOGETHER as usize);
                    let expected = whole.map(|page| page[0]).or(pages.first().copied());
                    let nodes: Vec<u32> =
                        free.iter().copied().filter(|node| Some(node / TOGETHER) == expected).collect();
                    prop_assert_eq!(&taken(&mut spare), &nodes);
                    nodes.iter().for_each(|node| assert!(free.remove(node)));
                } else {
                    for node in first..first + count {
                        if free.insert(node) {
                            spare.put(node);
                        }
                    }
                }
            }
        }
    }
}

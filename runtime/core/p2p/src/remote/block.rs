//! A vector of one process's ranks, indexed by world rank.

use std::ops::{Index, IndexMut};

/// Items of the ranks from `first` on.
pub struct Block<T> {
    first: usize,
    items: Vec<T>,
}

impl<T: Clone + Default> Block<T> {
    /// Default items for `count` ranks from `first` on.
    pub fn new(first: u32, count: u32) -> Block<T> {
        Block { first: first as usize, items: rank::memory::table(T::default(), count as usize) }
    }
    /// Returns the items in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }
}

impl<T> Index<usize> for Block<T> {
    type Output = T;
    #[inline]
    fn index(&self, rank: usize) -> &T {
        // A rank below the first wraps to an index beyond the end.
        &self.items[rank.wrapping_sub(self.first)]
    }
}

impl<T> IndexMut<usize> for Block<T> {
    #[inline]
    fn index_mut(&mut self, rank: usize) -> &mut T {
        &mut self.items[rank.wrapping_sub(self.first)]
    }
}

//! Numbered storage that reuses freed places.

use std::ops::{Index, IndexMut};

/// "No index": the end of a list, no packet, no message.
pub(crate) const NONE: u32 = u32::MAX;

/// Values at stable 32-bit indices; the place freed last is used first, while it is still in the cache.
pub(crate) struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Slab { items: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(index) = self.free.pop() {
            self.items[index as usize] = value;
            return index;
        }
        assert!(self.items.len() < NONE as usize, "more than 2^32 packets are inside the network at once");
        self.items.push(value);
        self.items.len() as u32 - 1
    }

    /// The caller must not use `index` again.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Starts loading a value that is needed soon; any number will do.
    #[inline]
    pub(crate) fn prefetch(&self, index: u32) {
        prefetch_index::prefetch_index(&self.items, index as usize);
    }

    /// The value at `index`, if that was ever in use.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.items.get(index as usize)
    }

    /// How many are in use.
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.items[index as usize]
    }
}
impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.items[index as usize]
    }
}

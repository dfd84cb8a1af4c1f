//! Numbered storage that reuses freed places.

use super::pages::Pages;
use bytemuck::Pod;
use std::ops::{Index, IndexMut};

/// "No index": the end of a list, no packet, no message.
pub(crate) const NONE: u32 = u32::MAX;

/// Values at stable 32-bit indices; the place freed last is used first, while it is still in the cache.
///
/// On large pages: with small ones three in four accesses to gigabytes of packets and messages would wait for
/// the place of a page first.
pub(crate) struct LargePageSlab<T: Pod> {
    items: Pages<T>,
    free: Vec<u32>,
}

impl<T: Pod + Default> LargePageSlab<T> {
    pub(crate) fn new() -> Self {
        LargePageSlab::with_capacity(0)
    }

    /// Builds it with memory for about so many.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        LargePageSlab { items: Pages::with_capacity(capacity), free: Vec::new() }
    }

    /// Always inlined, so that a value is made where it stays: what was just written in parts cannot be
    /// copied at once, and the copying would wait for everything written before it.
    #[inline(always)]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.append(),
        };
        self.items[index as usize] = value;
        index
    }

    /// Appends a new entry and returns its index.
    #[cold]
    fn append(&mut self) -> u32 {
        let index = self.items.as_slice().len();
        assert!(index < NONE as usize, "more than 2^32 packets are inside the network at once");
        self.items.push(T::default());
        index as u32
    }

    /// The caller must not use `index` again.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Starts loading the place that the insertion after `insertions` others takes: after many of them in a
    /// row places have left the cache.
    #[inline]
    pub(crate) fn prefetch_place(&self, insertions: usize) {
        if let Some(&place) = self.free.get(self.free.len().wrapping_sub(insertions + 1)) {
            self.prefetch(place);
        }
    }

    /// Starts loading a value that is needed soon; any number will do.
    #[inline]
    pub(crate) fn prefetch(&self, index: u32) {
        self.items.prefetch(index as usize);
    }

    /// Returns the value at `index`, if that was ever in use.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.items.as_slice().get(index as usize)
    }

    /// Returns how many are in use.
    pub(crate) fn len(&self) -> usize {
        self.items.as_slice().len() - self.free.len()
    }
}

impl<T: Pod> Index<u32> for LargePageSlab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.items[index as usize]
    }
}
impl<T: Pod> IndexMut<u32> for LargePageSlab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.items[index as usize]
    }
}

//! Numbered storage that reuses freed places.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// "No index": the end of a list, no packet, no message.
pub(crate) const NONE: u32 = u32::MAX;

/// Values at stable 32-bit indices; the place freed last is used first, while it is still in the cache.
pub(crate) struct Slab<T, S: Store<T> = Vec<T>> {
    items: S,
    free: Vec<u32>,
    values: PhantomData<T>,
}

/// What a slab keeps its values in.
pub(crate) trait Store<T>: IndexMut<usize, Output = T> {
    /// Without values, with memory for about so many.
    fn with_capacity(capacity: usize) -> Self;
    fn push(&mut self, value: T);
    fn as_slice(&self) -> &[T];
}

impl<T> Store<T> for Vec<T> {
    fn with_capacity(capacity: usize) -> Self {
        Vec::with_capacity(capacity)
    }
    fn push(&mut self, value: T) {
        Vec::push(self, value)
    }
    #[inline]
    fn as_slice(&self) -> &[T] {
        self
    }
}

impl<T: Copy + Default> Slab<T> {
    pub(crate) fn new() -> Self {
        Slab::with_capacity(0)
    }
}

impl<T: Copy + Default, S: Store<T>> Slab<T, S> {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Slab { items: S::with_capacity(capacity), free: Vec::new(), values: PhantomData }
    }

    /// Always inlined, so that a value is made where it stays: what was just written in parts cannot be copied at once, and the copying
    /// would wait for everything written before it.
    #[inline(always)]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let index = match self.free.pop() {
            Some(index) => index,
            None => self.append(),
        };
        self.items[index as usize] = value;
        index
    }

    /// A new place.
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

    /// Starts loading the place that the insertion after `insertions` others takes: after many of them in a row places have left the
    /// cache.
    #[inline]
    pub(crate) fn prefetch_place(&self, insertions: usize) {
        if let Some(&place) = self.free.get(self.free.len().wrapping_sub(insertions + 1)) {
            self.prefetch(place);
        }
    }

    /// Starts loading a value that is needed soon; any number will do.
    #[inline]
    pub(crate) fn prefetch(&self, index: u32) {
        prefetch_index::prefetch_index(self.items.as_slice(), index as usize);
    }

    /// The value at `index`, if that was ever in use.
    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        self.items.as_slice().get(index as usize)
    }

    /// How many are in use.
    pub(crate) fn len(&self) -> usize {
        self.items.as_slice().len() - self.free.len()
    }
}

impl<T, S: Store<T>> Index<u32> for Slab<T, S> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.items[index as usize]
    }
}
impl<T, S: Store<T>> IndexMut<u32> for Slab<T, S> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.items[index as usize]
    }
}

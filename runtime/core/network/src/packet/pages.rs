//! Large arrays on large pages.

use bytemuck::Pod;
use memmap2::{Advice, MmapMut};
use std::ops::{Index, IndexMut};
use std::sync::Mutex;

/// Values in memory for which the system is asked for large pages. Each access may be to another part of
/// hundreds of megabytes: then finding out where a small page is takes as long as loading the value.
///
/// The memory that a dropped one leaves serves a later one of about its size, and goes back to the system
/// with the process.
pub(crate) struct Pages<T: Pod> {
    /// All that fit into the memory.
    values: &'static mut [T],
    len: usize,
}

/// Memory of dropped arrays, kept for later ones.
static SPARE: Mutex<Vec<&'static mut [u8]>> = Mutex::new(Vec::new());
/// Sizes are multiples of this, and of any value's size.
const GRAIN: usize = 64 << 10;

impl<T: Pod> Pages<T> {
    /// Stores the values of an iterator that has `len` of them.
    pub(crate) fn new(len: usize, values: impl Iterator<Item = T>) -> Pages<T> {
        let mut this = Pages::with_capacity(len);
        this.len = len;
        let mut written = 0;
        for (place, value) in this.values[..len].iter_mut().zip(values) {
            *place = value;
            written += 1;
        }
        assert_eq!(written, len, "as many values as were announced");
        this
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.values[..self.len]
    }

    /// Starts loading a value; any number will do.
    // Outside of it the first, which is in the cache: looking for a page that is not there keeps others
    // waiting.
    #[inline]
    pub(crate) fn prefetch(&self, index: usize) {
        prefetch_index::prefetch_index(&*self.values, if index < self.values.len() { index } else { 0 });
    }

    /// Without values, with memory for about so many.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        const { assert!(GRAIN.is_multiple_of(size_of::<T>())) };
        let bytes = capacity
            .max(1)
            .checked_mul(size_of::<T>())
            .and_then(|bytes| bytes.checked_next_multiple_of(GRAIN));
        let bytes = bytes.expect("the specification's check bounds the memory");
        Pages { values: bytemuck::cast_slice_mut(take_spare(bytes).unwrap_or_else(|| map(bytes))), len: 0 }
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.len == self.values.len() {
            let mut larger = Pages::with_capacity(2 * self.len);
            larger.values[..self.len].copy_from_slice(self.values);
            larger.len = self.len;
            *self = larger;
        }
        self.values[self.len] = value;
        self.len += 1;
    }
}

/// Takes the smallest spare memory of at least `bytes`, if it is not much larger.
fn take_spare(bytes: usize) -> Option<&'static mut [u8]> {
    let mut spare = SPARE.lock().unwrap_or_else(|e| e.into_inner());
    let fitting = spare.iter().enumerate().filter(|(_, memory)| (bytes..=2 * bytes).contains(&memory.len()));
    let (index, _) = fitting.min_by_key(|(_, memory)| memory.len())?;
    Some(spare.swap_remove(index))
}

fn map(bytes: usize) -> &'static mut [u8] {
    let map = MmapMut::map_anon(bytes)
        .unwrap_or_else(|error| panic!("{bytes} bytes for the network cannot be had: {error}"));
    // Systems without large pages do without.
    let _ = map.advise(Advice::HugePage);
    let map: &'static mut MmapMut = Box::leak(Box::new(map));
    &mut map[..]
}

impl<T: Pod> Drop for Pages<T> {
    fn drop(&mut self) {
        let memory = bytemuck::cast_slice_mut(std::mem::take(&mut self.values));
        SPARE.lock().unwrap_or_else(|e| e.into_inner()).push(memory);
    }
}

impl<T: Pod> Index<usize> for Pages<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: usize) -> &T {
        &self.values[index]
    }
}

impl<T: Pod> IndexMut<usize> for Pages<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.values[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_serves_the_next() {
        let place = |pages: &Pages<u64>| pages.as_slice().as_ptr() as usize;
        // A size that no other test uses.
        let len = 30_000_000 / 8;
        let first = Pages::new(len, (0..len as u64).map(|i| i * 3));
        assert!(first.as_slice().iter().enumerate().all(|(i, &value)| value == i as u64 * 3));
        let second = Pages::new(len, std::iter::repeat_n(1, len));
        let (at, other) = (place(&first), place(&second));
        assert_ne!(at, other);
        drop(first);
        let third = Pages::new(len - 5000, std::iter::repeat_n(7, len));
        assert_eq!(place(&third), at);
        assert_eq!(third.as_slice().len(), len - 5000);
        assert!(third.as_slice().iter().all(|&value| value == 7) && second[len - 1] == 1);
    }
}

//! A table that grows in its place, on large pages.
//!
//! A vector that doubles copies what it has, holds both copies for a while, and lies on small pages. With
//! millions of entries, looking up the page of an entry costs more than the entry.
//!
//! Its pages are made present as it grows, on time that no rank is charged for: entries are written within
//! calls that are too brief to be measured.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::reserve::{LARGE_PAGE, make_present, reserve_up_to};

/// Bytes at the beginning that lie on small pages, all that a small run needs.
const SMALL: usize = 64 << 10;
/// Entries are named by 32 bits.
const MAX_ENTRIES: usize = 1 << 32;

/// A vector whose entries never move.
pub struct StableVec<T: Copy> {
    first: NonNull<T>,
    length: usize,
    /// Entries whose pages are present, and entries that fit.
    room: usize,
    capacity: usize,
    /// Address and bytes of the reserved mapping.
    mapping: (usize, usize),
}

impl<T: Copy> StableVec<T> {
    /// Makes an empty vector.
    pub const fn new() -> StableVec<T> {
        const { assert!(size_of::<T>() > 0 && SMALL.is_multiple_of(align_of::<T>())) };
        StableVec { first: NonNull::dangling(), length: 0, room: 0, capacity: 0, mapping: (0, 0) }
    }

    /// Appends one.
    ///
    /// # Panics
    /// If the address space has no room for more.
    #[inline]
    pub fn push(&mut self, entry: T) {
        if self.length == self.room {
            self.make_room();
        }
        // SAFETY: below `room`, all of which is mapped.
        unsafe { self.first.add(self.length).write(entry) };
        self.length += 1;
    }

    /// Appends so many of the same.
    ///
    /// # Panics
    /// As [`StableVec::push`].
    pub fn extend(&mut self, count: usize, entry: T) {
        for _ in 0..count {
            self.push(entry);
        }
    }

    /// Makes the next entries' pages present: the small ones at the beginning, and one large page after the
    /// other.
    #[cold]
    fn make_room(&mut self) {
        if self.capacity == 0 {
            self.reserve();
            self.room = self.capacity.min(SMALL / size_of::<T>()).max(1);
            return;
        }
        assert!(
            self.room < self.capacity,
            "a table has {} entries, and there is no room for more",
            self.length
        );
        let (first, end) = (self.first.as_ptr() as usize, self.mapping.0 + self.mapping.1);
        let from = (first + self.room * size_of::<T>()) / LARGE_PAGE * LARGE_PAGE;
        let to = (first + (self.room + 1) * size_of::<T>()).next_multiple_of(LARGE_PAGE).min(end);
        // A refusal leaves the pages to whoever touches them first.
        make_present(from.max(first)..to);
        self.room = self.capacity.min((to - first) / size_of::<T>());
    }

    /// Reserves memory, which takes none before it is written.
    fn reserve(&mut self) {
        let Ok((base, bytes)) =
            reserve_up_to(MAX_ENTRIES * size_of::<T>() + 2 * LARGE_PAGE, SMALL * size_of::<T>())
        else {
            panic!("memory for tables of messages cannot be reserved: {}", std::io::Error::last_os_error())
        };
        let large = (base + SMALL).next_multiple_of(LARGE_PAGE);
        // SAFETY: advice on memory of our own, to its end; a refusal only costs speed.
        unsafe { libc::madvise(large as *mut libc::c_void, base + bytes - large, libc::MADV_HUGEPAGE) };
        self.first = NonNull::new((large - SMALL) as *mut T).expect("a mapping is not at null");
        self.mapping = (base, bytes);
        self.capacity = MAX_ENTRIES.min((base + bytes - (large - SMALL)) / size_of::<T>());
    }
}

impl<T: Copy> Default for StableVec<T> {
    fn default() -> StableVec<T> {
        StableVec::new()
    }
}

impl<T: Copy> Deref for StableVec<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `length` entries were written.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

impl<T: Copy> DerefMut for StableVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the first `length` entries were written.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.length) }
    }
}

impl<T: Copy> Drop for StableVec<T> {
    fn drop(&mut self) {
        if self.capacity != 0 {
            // SAFETY: what `reserve` mapped, to which no reference is left.
            unsafe { libc::munmap(self.mapping.0 as *mut libc::c_void, self.mapping.1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_where_they_are_and_what_they_are() {
        let mut table: StableVec<[u32; 5]> = StableVec::new();
        assert!(table.is_empty());
        table.push([7; 5]);
        let first = table.as_ptr();
        for k in 1..300_000u32 {
            table.push([k; 5]);
        }
        table[0][4] = 1;
        table.extend(3, [9; 5]);
        assert_eq!((table.as_ptr(), table.len(), table[0]), (first, 300_003, [7, 7, 7, 7, 1]));
        assert!(table[1..300_000].iter().zip(1..).all(|(entry, k)| *entry == [k; 5]));
        assert_eq!(table[300_000..], [[9; 5]; 3]);
    }
}

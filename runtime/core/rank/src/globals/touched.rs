//! Pages of large data that the program has touched so far.
//!
//! Asked of the kernel rather than caught by protecting pages: a system call that writes to a
//! protected page (`read` into a global array) would fail instead of faulting.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

pub(crate) const PAGE: usize = 4096;
/// An entry of /proc/self/pagemap (the kernel's admin-guide/mm/pagemap).
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
/// Still the file's page, not a private copy.
const OF_FILE: u64 = 1 << 61;

/// Page ranges not touched yet.
pub(crate) struct Untouched {
    pagemap: Option<File>,
    ranges: Vec<Range<usize>>,
    entries: Vec<u8>,
}

impl Untouched {
    /// Watches page-aligned ranges. Without /proc, every page counts as touched.
    pub(crate) fn new(ranges: Vec<Range<usize>>) -> Untouched {
        Untouched { pagemap: File::open("/proc/self/pagemap").ok(), ranges, entries: Vec::new() }
    }

    /// Calls `found` for each page touched since the last call.
    pub(crate) fn take(&mut self, mut found: impl FnMut(usize)) {
        let mut left = Vec::new();
        let mut changed = false;
        for range in &self.ranges {
            let pages = range.len() / PAGE;
            self.entries.resize(pages * 8, 0);
            let known = self.pagemap.as_ref().is_some_and(|map| {
                map.read_exact_at(&mut self.entries[..pages * 8], (range.start / PAGE * 8) as u64).is_ok()
            });
            let mut clean = range.start..range.start;
            for page in 0..pages {
                let at = range.start + page * PAGE;
                let entry = self.entries[page * 8..page * 8 + 8].try_into().map_or(0, u64::from_ne_bytes);
                let touched = !known || entry & SWAPPED != 0 || entry & PRESENT != 0 && entry & OF_FILE == 0;
                if touched {
                    found(at);
                    changed = true;
                    if !clean.is_empty() {
                        left.push(clean);
                    }
                    clean = at + PAGE..at + PAGE;
                } else {
                    clean.end = at + PAGE;
                }
            }
            if !clean.is_empty() {
                left.push(clean);
            }
        }
        if changed {
            self.ranges = left;
        }
    }

    /// Returns `true` if anything is left to watch.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_touched_pages_are_found_and_each_once() {
        // SAFETY: a new anonymous mapping, and writes inside it.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                64 * PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            ) as usize
        };
        let mut untouched = Untouched::new(std::iter::once(base..base + 64 * PAGE).collect());
        let mut touch = |pages: &[usize]| {
            for p in pages {
                // SAFETY: inside the mapping.
                unsafe { *((base + p * PAGE + 5) as *mut u8) = 1 };
            }
            let mut found = Vec::new();
            untouched.take(|page| found.push((page - base) / PAGE));
            found
        };
        assert_eq!(touch(&[]), []);
        assert_eq!(touch(&[3, 4, 63]), [3, 4, 63]);
        assert_eq!(touch(&[0, 4]), [0]);
        assert_eq!(touch(&[]), []);
    }
}

//! Globals by copying: the program's data holds one rank's values at a time.
//!
//! A template is taken before any code of the program has run. When another rank is mounted, all that differs
//! from the template is saved as the last rank's (a mask for each touched page and the lines that differ).
//! Then the new rank's lines are copied in and the rest goes back to the template. Globals that nobody wrote
//! cost nothing, and resuming the same rank again costs nothing.

use std::ops::Range;

use super::touched::{PAGE, Untouched};
use super::{Private, early};
use crate::arena::Arena;
use crate::lines::{Differ, LINE, copy_line, differ};

/// Data of at most this many bytes is compared whole; for more, the kernel is asked which pages
/// were touched, which takes as long as comparing this much.
const COMPARED_WHOLE: usize = 32 << 10;

static ZEROES: [u8; PAGE] = [0; PAGE];

/// At most a page of private data.
struct Chunk {
    address: usize,
    template: *const u8,
    /// Whole lines, at most 64.
    lines: u32,
    /// Bytes behind the last whole line (the last chunk of a region).
    tail: u32,
    /// Lines that are not compared: they hold only common variables.
    ignored: u64,
}

impl Chunk {
    /// Returns the lines that differ from the template. The tail counts as one more line, so a chunk with a
    /// tail has at most 63 whole ones.
    ///
    /// # Safety
    /// The chunk's memory is mapped.
    #[inline]
    unsafe fn differing(&self, differ: Differ) -> u64 {
        // SAFETY: the chunk and its template are this long.
        let mut found = unsafe { differ(self.address as *const u8, self.template, self.lines as usize) };
        if self.tail != 0 {
            // SAFETY: as above, for the bytes behind the lines.
            let (now, then) = unsafe {
                (self.bytes(self.address, self.lines), self.bytes(self.template as usize, self.lines))
            };
            found |= u64::from(now != then) << self.lines;
        }
        found & !self.ignored
    }

    /// Returns the bytes of a line in a copy of the chunk.
    ///
    /// # Safety
    /// `base` holds a copy of this chunk.
    #[inline]
    unsafe fn bytes<'a>(&self, base: usize, line: u32) -> &'a [u8] {
        let len = if line == self.lines { self.tail as usize } else { LINE };
        // SAFETY: the caller's contract.
        unsafe { std::slice::from_raw_parts((base + line as usize * LINE) as *const u8, len) }
    }

    /// Copies one line (or the tail).
    ///
    /// # Safety
    /// `line` is one of this chunk's, and `from` and `to` have room for it.
    #[inline]
    unsafe fn copy(&self, line: u32, from: *const u8, to: *mut u8) {
        if line == self.lines {
            // SAFETY: the caller's contract; the tail is shorter than a line.
            unsafe { std::ptr::copy_nonoverlapping(from, to, self.tail as usize) }
        } else {
            // SAFETY: the caller's contract.
            unsafe { copy_line(from, to) }
        }
    }

    /// Puts a line back from `from`.
    ///
    /// # Safety
    /// This memory is in place for whoever `from` belongs to.
    #[inline]
    unsafe fn put(&self, line: u32, from: *const u8) {
        // SAFETY: `line` of this chunk is mapped and writable.
        unsafe { self.copy(line, from, (self.address + line as usize * LINE) as *mut u8) }
    }
}

/// Returns the set bits of a mask, lowest first.
fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros())?;
        mask &= mask - 1;
        Some(bit)
    })
}

/// Owner of the globals in place.
#[derive(Clone, Copy, PartialEq)]
enum InPlace {
    Rank(u32),
    /// Globals that a finished rank left.
    Leftover,
}

/// A saved rank begins with this, then a mask for each chunk known when it was saved, then lines.
#[repr(C)]
struct SavedHeader {
    class: u16,
    chunks: u32,
}

/// Private globals by copying.
pub(crate) struct Copied {
    chunks: Vec<Chunk>,
    untouched: Untouched,
    differ: Differ,
    arena: Arena,
    /// Each rank's record; 0 while its globals are as the template. Grows as ranks are parked.
    records: Vec<u32>,
    in_place: InPlace,
    /// Lines that differ from the template, as a mask for each chunk; valid inside `mount`.
    now: Vec<u64>,
    /// Common variables that share a line with private ones.
    common: Vec<(usize, usize)>,
    kept: Vec<u8>,
    all_common: Vec<Range<usize>>,
    regions: Vec<super::DataRegion>,
    /// Initialised data as the loader left it, by region.
    templates: Vec<Vec<u8>>,
}

impl Copied {
    /// Takes the template; to be called before any code of the program runs.
    pub(crate) fn new(private: Private, ranks: u32) -> Result<Copied, String> {
        let bytes = private.bytes();
        let whole = bytes <= COMPARED_WHOLE;
        let room = (bytes + bytes / 8 + 4096).saturating_mul(ranks as usize).min(1 << 38);
        let mut copied = Copied {
            chunks: Vec::new(),
            untouched: Untouched::new(Vec::new()),
            differ: differ(),
            arena: Arena::new(room, LINE)?,
            records: vec![0; ranks as usize],
            in_place: InPlace::Leftover,
            now: Vec::new(),
            common: Vec::new(),
            kept: Vec::new(),
            all_common: private.common,
            regions: private.regions,
            templates: Vec::new(),
        };
        let mut watched = Vec::new();
        for index in 0..copied.regions.len() {
            let region = copied.regions[index].clone();
            copied.templates.push(early::initial(region.range.start..region.zero));
            let pages = region.range.start.next_multiple_of(PAGE)..region.range.end & !(PAGE - 1);
            if whole || pages.is_empty() {
                copied.add_range(index, region.range.clone());
                continue;
            }
            copied.add_range(index, region.range.start..pages.start);
            copied.add_range(index, pages.end..region.range.end);
            // SAFETY: advice on the program's own pages. A huge page would count as touched as a whole.
            unsafe { libc::madvise(pages.start as *mut libc::c_void, pages.len(), libc::MADV_NOHUGEPAGE) };
            watched.push(pages);
        }
        copied.untouched = Untouched::new(watched);
        Ok(copied)
    }

    fn add_range(&mut self, region: usize, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            // To the next page border: pages are what the kernel answers for.
            let mut end = ((at / PAGE + 1) * PAGE).min(range.end);
            // A part with initial values and a zero part have different templates.
            let zero = self.regions[region].zero;
            if at < zero && zero < end {
                end = zero;
            }
            self.add_chunk(region, at..end);
            at = end;
        }
    }

    fn add_chunk(&mut self, region: usize, range: Range<usize>) {
        let (lines, tail) = (range.len() / LINE, range.len() % LINE);
        let offset = range.start - self.regions[region].range.start;
        let template = if range.start < self.regions[region].zero {
            // SAFETY: `offset` is inside the region's initialised part, which the template covers.
            unsafe { self.templates[region].as_ptr().add(offset) }
        } else {
            ZEROES.as_ptr()
        };
        let mut ignored = 0u64;
        for common in &self.all_common {
            let (start, end) = (common.start.max(range.start), common.end.min(range.end));
            if start >= end {
                continue;
            }
            for line in (start - range.start) / LINE..(end - range.start).div_ceil(LINE) {
                let (from, to) = (range.start + line * LINE, range.start + (line + 1) * LINE);
                if start <= from && to.min(range.end) <= end {
                    ignored |= 1 << line;
                } else {
                    self.common.push((start.max(from), end.min(to) - start.max(from)));
                }
            }
        }
        self.chunks.push(Chunk {
            address: range.start,
            template,
            lines: lines as u32,
            tail: tail as u32,
            ignored,
        });
    }

    /// Puts the rank's globals in place.
    #[inline]
    pub(crate) fn mount(&mut self, rank: u32) {
        if self.in_place != InPlace::Rank(rank) {
            self.exchange(rank);
        }
    }

    /// Frees the record of a rank that has ended; what it leaves in memory is nobody's.
    pub(crate) fn ended(&mut self, rank: u32) {
        if self.in_place == InPlace::Rank(rank) {
            self.in_place = InPlace::Leftover;
        }
        let record = self.records[rank as usize];
        if record != 0 {
            self.records[rank as usize] = 0;
            // SAFETY: a live record begins with its head.
            let class = unsafe { (*(self.arena.address(record) as *const SavedHeader)).class };
            self.arena.give_back(record, class);
        }
    }

    fn exchange(&mut self, rank: u32) {
        if !self.untouched.is_empty() {
            self.find_touched();
        }
        self.now.clear();
        let mut lines = 0;
        for chunk in &self.chunks {
            // SAFETY: chunks are parts of the program's data, which stays mapped.
            let mask = unsafe { chunk.differing(self.differ) };
            lines += mask.count_ones() as usize;
            self.now.push(mask);
        }
        if let InPlace::Rank(last) = self.in_place {
            self.save(last, lines);
        }
        self.kept.clear();
        for &(at, len) in &self.common {
            // SAFETY: part of a chunk.
            self.kept.extend_from_slice(unsafe { std::slice::from_raw_parts(at as *const u8, len) });
        }
        self.put(rank);
        let mut from = self.kept.as_ptr();
        for &(at, len) in &self.common {
            // SAFETY: the same parts of chunks, in the same order and length as kept above.
            unsafe {
                std::ptr::copy_nonoverlapping(from, at as *mut u8, len);
                from = from.add(len);
            }
        }
        self.in_place = InPlace::Rank(rank);
    }

    #[cold]
    fn find_touched(&mut self) {
        let mut found = Vec::new();
        self.untouched.take(|page| found.push(page));
        for page in found {
            let region = self
                .regions
                .iter()
                .position(|r| r.range.contains(&page))
                .expect("watched pages are in a region");
            self.add_range(region, page..page + PAGE);
        }
    }

    /// Saves what `now` says differs, as `rank`'s.
    fn save(&mut self, rank: u32, lines: usize) {
        let old = self.records[rank as usize];
        if lines == 0 {
            if old != 0 {
                self.records[rank as usize] = 0;
                // SAFETY: a live record begins with its head.
                let class = unsafe { (*(self.arena.address(old) as *const SavedHeader)).class };
                self.arena.give_back(old, class);
            }
            return;
        }
        let bytes = size_of::<SavedHeader>() + self.now.len() * 8 + lines * LINE;
        let had = match old {
            0 => 0,
            // SAFETY: a live record begins with its head.
            _ => unsafe { (*(self.arena.address(old) as *const SavedHeader)).class },
        };
        let class = self.arena.class(bytes);
        let record = if old != 0 && had == class {
            old
        } else {
            if old != 0 {
                self.arena.give_back(old, had);
            }
            self.arena.take(bytes)
        };
        self.records[rank as usize] = record;
        let start = self.arena.address(record);
        // SAFETY: the record has `bytes` bytes: the head, a mask for each chunk, and each
        // differing line; lines are read from the chunks' own mapped memory.
        unsafe {
            (start as *mut SavedHeader).write(SavedHeader { class, chunks: self.now.len() as u32 });
            let masks = (start + size_of::<SavedHeader>()) as *mut u64;
            std::ptr::copy_nonoverlapping(self.now.as_ptr(), masks, self.now.len());
            let mut to = masks.add(self.now.len()).cast::<u8>();
            for (chunk, &mask) in self.chunks.iter().zip(&self.now) {
                for line in bits(mask) {
                    chunk.copy(line, (chunk.address + line as usize * LINE) as *const u8, to);
                    to = to.add(LINE);
                }
            }
        }
    }

    /// Puts `rank`'s values in place of what `now` says differs from the template.
    fn put(&mut self, rank: u32) {
        let record = self.records[rank as usize];
        let start = self.arena.address(record);
        // SAFETY: a live record begins with its head.
        let known = if record == 0 { 0 } else { unsafe { (*(start as *const SavedHeader)).chunks as usize } };
        let masks = (start + size_of::<SavedHeader>()) as *const u64;
        // SAFETY: behind the masks are the lines; not read if there is no record.
        let mut from = unsafe { masks.add(known) }.cast::<u8>();
        for (k, (chunk, &now)) in self.chunks.iter().zip(&self.now).enumerate() {
            // SAFETY: the record has `known` masks.
            let mask = if k < known { unsafe { *masks.add(k) } } else { 0 };
            for line in bits(now & !mask) {
                // SAFETY: the template covers the chunk, and this data is in place for `rank`.
                unsafe { chunk.put(line, chunk.template.add(line as usize * LINE)) };
            }
            for line in bits(mask) {
                // SAFETY: the record has a line for each bit of its masks.
                unsafe {
                    chunk.put(line, from);
                    from = from.add(LINE);
                }
            }
        }
    }

    /// Brings into the cache where `prefetch` looks.
    #[inline]
    pub(crate) fn prefetch_place(&self, rank: u32) {
        if let Some(record) = self.records.get(rank as usize) {
            crate::prefetch::prefetch(std::ptr::from_ref(record) as usize);
        }
    }

    /// Brings what mounting the rank will read into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, rank: u32) {
        let record = self.records[rank as usize];
        if record != 0 {
            let at = self.arena.address(record);
            crate::prefetch::prefetch(at);
            crate::prefetch::prefetch(at + LINE);
            crate::prefetch::prefetch(at + 2 * LINE);
        }
    }

    /// Returns the bytes of saved globals.
    pub(crate) fn saved_bytes(&self) -> usize {
        self.arena.used()
    }
}

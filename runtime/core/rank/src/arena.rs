//! Compact storage for what parked ranks leave behind: saved stacks and globals.
//!
//! One reserved mapping with huge pages, cut into records of whole units, with a free list for each size.
//! Records are named by a 32-bit number of units, so a rank keeps 4 bytes. The lists are threaded through the
//! free records themselves.
//!
//! Parked records grow as ranks go on, all of them alike: each gives one back and takes a larger one.
//! So small records lie in segments, and a segment whose last record was given back serves all sizes again.
//! Large records that were given back are joined to their neighbours once they are a good part of all, and
//! serve all large sizes again.

use std::collections::BTreeSet;

use crate::delta;
use crate::reserve::{LARGE_PAGE, reserve_up_to};

/// Sizes up to this many units have a free list of their own; above, eight to each doubling.
const EXACT: u32 = 64;
/// Units of a segment.
const SEGMENT: u32 = 4096;
/// Bytes without which no arena is tried.
const MIN_ARENA_BYTES: usize = 1 << 30;
/// Larger records, in units, lie at the other end of the mapping, in no segment.
const SMALL: u32 = 256;
/// Free large records are joined when they are this part of all that large records have taken.
const JOINED: u32 = 4;

/// The storage.
pub(crate) struct Arena {
    base: usize,
    /// A unit has 2 to the power of this many bytes.
    shift: u32,
    /// The units of the open segment that nobody has had.
    open: std::ops::Range<u32>,
    segments: Vec<ArenaSegment>,
    /// Segments that nothing lies in.
    spare: Vec<u32>,
    /// Large records lie from here on.
    large: u32,
    /// Units of large records on free lists.
    idle: u32,
    /// Joined large records, as units and beginning.
    holes: BTreeSet<(u32, u32)>,
    capacity: u32,
    /// For each class the first free record; 0 is none.
    free: Vec<u32>,
}

/// A part of the mapping that is given out from its beginning.
#[derive(Clone, Copy)]
struct ArenaSegment {
    /// Records in it that are not free.
    live: u16,
    /// Units given out, free ones included.
    used: u16,
}

/// Content of a free record: its links in the free list, and its size class.
#[repr(C)]
struct FreeRecord {
    next: u32,
    before: u32,
    class: u32,
}

/// Returns the free list for a size, and the units that its records have.
#[inline]
fn class(units: u32) -> (usize, u32) {
    if units <= EXACT {
        return (units as usize, units);
    }
    let shift = units.ilog2() - 3;
    let steps = (units + (1 << shift) - 1) >> shift;
    // `steps` is 8..=16; 16 is the next doubling's 8.
    let (shift, steps) = if steps == 16 { (shift + 1, 8) } else { (shift, steps) };
    // 289 classes in all: they fit nine bits.
    (EXACT as usize + 1 + (shift as usize - 3) * 8 + (steps as usize - 8), steps << shift)
}

/// Returns the units of a class's records: the inverse of [`class`].
fn units(class: u32) -> u32 {
    match class.checked_sub(EXACT + 1) {
        None => class,
        Some(above) => (8 + above % 8) << (above / 8 + 3),
    }
}

impl Arena {
    /// Reserves (does not commit) room for records of `bytes` altogether, at most 2^32 units of `unit` bytes
    /// (a power of two, at least 16).
    pub(crate) fn new(bytes: usize, unit: usize) -> Result<Arena, String> {
        // With as much again there is a hole for the largest record between any others.
        let bytes = bytes.saturating_mul(2).clamp(1 << 20, unit << 32).next_multiple_of(LARGE_PAGE);
        // Little of it is ever used, so less will do.
        let (base, bytes) = reserve_up_to(bytes, MIN_ARENA_BYTES).map_err(|bytes| {
            format!(
                "cannot reserve {} MiB for parked ranks; run fewer ranks or raise the address-space limit",
                bytes >> 20
            )
        })?;
        // SAFETY: advice on our own mapping; a refusal only costs speed.
        unsafe { libc::madvise(base as *mut libc::c_void, bytes, libc::MADV_HUGEPAGE) };
        // What is behind the last record is read with it.
        let capacity = u32::try_from((bytes - delta::BEYOND) / unit).unwrap_or(u32::MAX);
        let mut arena = Arena {
            base,
            shift: unit.ilog2(),
            open: 0..0,
            segments: Vec::new(),
            spare: Vec::new(),
            large: capacity,
            idle: 0,
            holes: BTreeSet::new(),
            capacity,
            free: vec![0; class(u32::MAX >> 1).0 + 1],
        };
        arena.open_segment();
        // Unit 0 is never handed out: 0 means "no record".
        (arena.open.start, arena.segments[0]) = (1, ArenaSegment { live: 1, used: 1 });
        Ok(arena)
    }

    /// Units that hold `bytes`.
    #[inline]
    pub(crate) fn units(&self, bytes: usize) -> u32 {
        ((bytes + (1 << self.shift) - 1) >> self.shift) as u32
    }

    /// Returns the class of records that hold `bytes`: a small number, which the caller keeps.
    #[inline]
    pub(crate) fn class(&self, bytes: usize) -> u16 {
        class(self.units(bytes)).0 as u16
    }

    /// Takes a record of at least `bytes`; returns its number.
    ///
    /// # Panics
    /// When the reservation is used up.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> u32 {
        let (class, units) = class(self.units(bytes));
        let record = self.free[class];
        if record != 0 {
            self.unlink(record, class as u32);
        } else if units > SMALL {
            return self.take_large(units);
        } else {
            return self.cut(units);
        }
        match units {
            ..=SMALL => self.segments[(record / SEGMENT) as usize].live += 1,
            _ => self.idle -= units,
        }
        record
    }

    #[inline]
    fn cut(&mut self, units: u32) -> u32 {
        if self.open.end - self.open.start < units {
            self.open_segment();
        }
        let record = self.open.start;
        self.open.start += units;
        let segment = &mut self.segments[(record / SEGMENT) as usize];
        segment.live += 1;
        segment.used += units as u16;
        record
    }

    #[cold]
    fn open_segment(&mut self) {
        let index = self.spare.pop().unwrap_or_else(|| {
            self.segments.push(ArenaSegment { live: 0, used: 0 });
            self.segments.len() as u32 - 1
        });
        let start = u64::from(index) * u64::from(SEGMENT);
        if start + u64::from(SEGMENT) > u64::from(self.large) {
            self.exhausted();
        }
        self.segments[index as usize].used = 0;
        self.open = start as u32..start as u32 + SEGMENT;
    }

    #[cold]
    fn take_large(&mut self, units: u32) -> u32 {
        if self.idle > (self.capacity - self.large) / JOINED {
            self.join();
        }
        if let Some(record) = self.take_hole(units).or_else(|| self.extend(units)) {
            return record;
        }
        self.join();
        self.take_hole(units).or_else(|| self.extend(units)).unwrap_or_else(|| self.exhausted())
    }

    /// Takes from the smallest hole that has room.
    fn take_hole(&mut self, units: u32) -> Option<u32> {
        let &(len, start) = self.holes.range((units, 0)..).next()?;
        self.holes.remove(&(len, start));
        if len > units {
            self.holes.insert((len - units, start));
        }
        Some(start + len - units)
    }

    fn extend(&mut self, units: u32) -> Option<u32> {
        let small = self.segments.len() as u64 * u64::from(SEGMENT);
        self.large = self.large.checked_sub(units).filter(|&large| u64::from(large) >= small)?;
        Some(self.large)
    }

    /// Makes holes of all large records on free lists, each as long as it can be.
    fn join(&mut self) {
        let mut parts: Vec<(u32, u32)> =
            std::mem::take(&mut self.holes).into_iter().map(|(len, start)| (start, len)).collect();
        for class in self::class(SMALL).0 + 1..self.free.len() {
            while self.free[class] != 0 {
                let record = self.free[class];
                self.unlink(record, class as u32);
                parts.push((record, units(class as u32)));
            }
        }
        self.idle = 0;
        parts.sort_unstable();
        let joined = parts.chunk_by(|one, next| one.0 + one.1 == next.0);
        self.holes = joined.map(|parts| (parts.iter().map(|part| part.1).sum(), parts[0].0)).collect();
    }

    #[cold]
    fn exhausted(&self) -> ! {
        panic!(
            "parked ranks need more than {} MiB for their stacks and globals; run fewer ranks, or more \
             processes",
            (self.capacity as usize) << self.shift >> 20
        )
    }

    /// Gives back a record that was taken for so many units.
    #[inline]
    pub(crate) fn give_back_units(&mut self, record: u32, units: u32) {
        self.give_back(record, class(units).0 as u16);
    }

    /// Gives back a record of a class.
    #[inline]
    pub(crate) fn give_back(&mut self, record: u32, class: u16) {
        let class = u32::from(class);
        let next = std::mem::replace(&mut self.free[class as usize], record);
        // SAFETY: a free record has room for a link: units have at least 16 bytes.
        unsafe {
            self.link(record).write(FreeRecord { next, before: 0, class });
            if next != 0 {
                (*self.link(next)).before = record;
            }
        }
        let units = units(class);
        if units > SMALL {
            self.idle += units;
            return;
        }
        let index = record / SEGMENT;
        let segment = &mut self.segments[index as usize];
        segment.live -= 1;
        let is_open = !self.open.is_empty() && (self.open.end - 1) / SEGMENT == index;
        if segment.live == 0 && !is_open {
            self.dissolve(index);
        }
    }

    /// Forgets where the records of a segment begin, which are all free.
    #[cold]
    fn dissolve(&mut self, index: u32) {
        let mut record = index * SEGMENT;
        let end = record + u32::from(self.segments[index as usize].used);
        while record < end {
            // SAFETY: a free record, which holds a link.
            let class = unsafe { (*self.link(record)).class };
            self.unlink(record, class);
            record += units(class);
        }
        self.spare.push(index);
    }

    #[inline]
    fn unlink(&mut self, record: u32, class: u32) {
        // SAFETY: free records hold links, which name free records of their class.
        unsafe {
            let FreeRecord { next, before, .. } = self.link(record).read();
            match before {
                0 => self.free[class as usize] = next,
                before => (*self.link(before)).next = next,
            }
            if next != 0 {
                (*self.link(next)).before = before;
            }
        }
    }

    #[inline]
    fn link(&self, record: u32) -> *mut FreeRecord {
        self.address(record) as *mut FreeRecord
    }

    /// Returns the address of a record.
    #[inline]
    pub(crate) fn address(&self, record: u32) -> usize {
        self.base + ((record as usize) << self.shift)
    }

    /// Returns the bytes of memory that records have taken so far, free ones included.
    pub(crate) fn used(&self) -> usize {
        (self.segments.len() * SEGMENT as usize + (self.capacity - self.large) as usize) << self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_grow_and_hold_their_size() {
        let mut last = (0, 0);
        for units in 1..100_000 {
            let (class, size) = class(units);
            assert!(size >= units && size <= units + units / 8 + 1, "{units} -> {size}");
            assert!(class == last.0 && size == last.1 || class > last.0 && size > last.1, "{units}");
            assert_eq!(super::units(class as u32), size);
            last = (class, size);
        }
    }

    #[test]
    fn records_are_reused_and_never_overlap() {
        let mut arena = Arena::new(64 << 20, 16).unwrap();
        let mut live: Vec<(u32, usize)> = Vec::new();
        let mut seed = 1u64;
        for step in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bytes = (seed >> 40) as usize % 3000 + 1;
            if step % 3 == 2 {
                let (record, bytes) = live.swap_remove((seed >> 33) as usize % live.len());
                arena.give_back(record, arena.class(bytes));
            } else {
                live.push((arena.take(bytes), bytes));
            }
        }
        live.sort_unstable();
        for pair in live.windows(2) {
            assert!(arena.address(pair[0].0) + pair[0].1 <= arena.address(pair[1].0));
        }
        assert!(arena.used() < 20_000 * 1600);
    }

    #[test]
    fn large_records_that_grow_and_shrink_take_little_more_than_they_have() {
        const RECORDS: usize = 7;
        for unit in [16, 64] {
            let most = 40_000 * unit;
            let mut arena = Arena::new(RECORDS * most, unit).unwrap();
            let mut records = [(0, 0); RECORDS];
            for step in 0..4000 {
                let (record, bytes) = &mut records[step * 3 % RECORDS];
                if *record != 0 {
                    arena.give_back(*record, arena.class(*bytes));
                }
                let growth = if step < 2000 { step } else { 4000 - step };
                *bytes = (growth * most / 2000).max(1);
                *record = arena.take(*bytes);
                let mut live: Vec<_> = records.iter().filter(|r| r.0 != 0).collect();
                live.sort_unstable();
                assert!(
                    live.windows(2)
                        .all(|pair| arena.address(pair[0].0) + pair[0].1 <= arena.address(pair[1].0)),
                    "step {step}"
                );
            }
            assert!(arena.used() < RECORDS * most * 2, "{}", arena.used());
        }
    }

    #[test]
    fn records_that_all_grow_take_the_place_of_those_they_replace() {
        for (unit, sizes) in [(16, [32, 48, 80, 96, 64]), (64, [1000, 3000, 5000, 8000, 700])] {
            let mut arena = Arena::new(1 << 30, unit).unwrap();
            let mut records: Vec<u32> = (0..20_000).map(|_| arena.take(sizes[0])).collect();
            for pair in sizes.windows(2) {
                for record in &mut records {
                    arena.give_back(*record, arena.class(pair[0]));
                    *record = arena.take(pair[1]);
                }
            }
            let largest = sizes.iter().max().unwrap().next_multiple_of(unit) * records.len();
            assert!(arena.used() < largest * 9 / 8 + (1 << 20), "{} for {largest}", arena.used());
        }
    }
}

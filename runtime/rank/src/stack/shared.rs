//! One stack for all ranks: whoever is not on it keeps a copy of its live part.
//!
//! The stack can be large, since there is only one. A rank's part is saved when another rank is put in
//! place, not when it blocks: resuming the same rank again moves nothing.

use std::ptr::null_mut;

use crate::arena::Arena;
use crate::delta;
use crate::lines::{self, LINE};
use crate::ranks::{Place, prefetch};
use crate::running::NOBODY;

const PAGE: usize = 4096;
/// From this many ranks on, memory counts more than the last nanoseconds.
const DELTA_FROM: u32 = 100_000;
/// A stack of at most this: depths are kept in 23 bits of words.
pub(crate) const MOST: usize = 32 << 20;
const WORD_BITS: u32 = 23;

/// The stack and the saved parts.
pub(crate) struct SharedStack {
    limit: usize,
    top: usize,
    arena: Arena,
    pub(crate) in_place: u32,
    delta: bool,
    /// For each number of lines the first stack of that length that was saved.
    templates: Vec<Option<Box<[u64]>>>,
    scratch: Box<[u64]>,
    copy: lines::Copy,
    out: delta::Out,
    rebuild: delta::In,
}

fn words(place: Place) -> usize {
    (place.depth & ((1 << WORD_BITS) - 1)) as usize
}

fn class(place: Place) -> u16 {
    (place.depth >> WORD_BITS) as u16
}

impl SharedStack {
    /// A stack of `bytes`, for `ranks` ranks.
    pub(crate) fn new(bytes: usize, ranks: u32) -> Result<SharedStack, String> {
        if bytes > MOST {
            return Err(format!("a shared stack has at most {} MiB; for more, give each rank its own (-xsim-stack-mode own)", MOST >> 20));
        }
        let bytes = bytes.max(256 << 10).next_multiple_of(PAGE);
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a new anonymous mapping, and its lowest page made inaccessible.
        let bottom = unsafe {
            let bottom = libc::mmap(null_mut(), bytes + PAGE, protection, flags, -1, 0);
            if bottom == libc::MAP_FAILED || libc::mprotect(bottom, PAGE, libc::PROT_NONE) != 0 {
                return Err(format!("cannot reserve a stack of {} KiB", bytes >> 10));
            }
            libc::madvise(bottom, bytes + PAGE, libc::MADV_NOHUGEPAGE);
            bottom as usize
        };
        let delta = ranks >= DELTA_FROM;
        // With differences, 16-byte units: 64 GiB; without, whole lines: 256 GiB.
        let unit = if delta { 16 } else { LINE };
        let (out, rebuild) = delta::kernels();
        Ok(SharedStack {
            limit: bottom + PAGE,
            top: bottom + PAGE + bytes,
            arena: Arena::new((ranks as usize).saturating_mul(bytes).saturating_add(bytes), unit)?,
            in_place: NOBODY,
            delta,
            templates: vec![None; delta::MOST + 1],
            scratch: vec![0; (delta::bound(delta::MOST) + LINE) / 8].into(),
            copy: lines::copy(),
            out,
            rebuild,
        })
    }

    /// Lowest usable address and top.
    #[inline]
    pub(crate) fn bounds(&self) -> (usize, usize) {
        (self.limit, self.top)
    }

    /// Bytes handed out for saved parts.
    pub(crate) fn saved_bytes(&self) -> usize {
        self.arena.used()
    }

    /// The place of a rank that has just suspended at `pointer`; `place` is its old one.
    #[inline]
    pub(crate) fn suspended(&self, place: Place, pointer: usize) -> Place {
        Place { stack: place.stack, depth: place.depth & !((1 << WORD_BITS) - 1) | ((self.top - pointer) / 8) as u32 }
    }

    /// The stack pointer of a rank.
    #[inline]
    pub(crate) fn pointer(&self, place: Place) -> usize {
        self.top - words(place) * 8
    }

    /// The place of a rank that has never run.
    pub(crate) fn fresh() -> Place {
        Place { stack: 0, depth: 0 }
    }

    /// Puts `rank` in place of whoever is.
    #[inline]
    pub(crate) fn mount(&mut self, rank: u32, places: &mut [Place]) {
        if self.in_place != rank {
            self.exchange(rank, places);
        }
    }

    #[inline(never)]
    fn exchange(&mut self, rank: u32, places: &mut [Place]) {
        self.clear(places);
        self.load(places[rank as usize]);
        self.in_place = rank;
    }

    /// Saves whoever is in place; afterwards nobody is.
    #[inline]
    pub(crate) fn clear(&mut self, places: &mut [Place]) {
        if self.in_place != NOBODY {
            let place = &mut places[self.in_place as usize];
            self.save(place);
            self.in_place = NOBODY;
        }
    }

    /// The rank (in place) has ended.
    pub(crate) fn ended(&mut self, place: Place) {
        self.in_place = NOBODY;
        if place.stack != 0 {
            self.arena.give_back(place.stack, class(place));
        }
    }

    fn save(&mut self, place: &mut Place) {
        let lines = words(*place).div_ceil(LINE / 8);
        let live = self.top - lines * LINE;
        if !self.delta || lines > delta::MOST {
            self.make_room(place, lines * LINE);
            // SAFETY: whole lines below the top of the stack, and a record of that size.
            unsafe { (self.copy)(live as *const u8, self.arena.address(place.stack) as *mut u8, lines) };
            return;
        }
        let template = self.templates[lines].get_or_insert_with(|| {
            // SAFETY: the live lines, as words.
            unsafe { std::slice::from_raw_parts(live as *const u64, lines * LINE / 8) }.into()
        });
        // SAFETY: the live lines, a template of as many, and room for the longest difference and a vector.
        let bytes = unsafe { (self.out)(live as *const u64, template.as_ptr(), lines, self.scratch.as_mut_ptr().cast()) };
        self.make_room(place, bytes);
        let (mut from, mut to) = (self.scratch.as_ptr().cast::<u128>(), self.arena.address(place.stack) as *mut u128);
        for _ in 0..bytes.div_ceil(16) {
            // SAFETY: records are whole units of 16 bytes; the scratch is longer.
            unsafe {
                to.write_unaligned(from.read_unaligned());
                (from, to) = (from.add(1), to.add(1));
            }
        }
    }

    #[inline]
    fn make_room(&mut self, place: &mut Place, bytes: usize) {
        let class = self.arena.class(bytes);
        if place.stack != 0 {
            if self::class(*place) == class {
                return;
            }
            self.arena.give_back(place.stack, self::class(*place));
        }
        place.stack = self.arena.take(bytes);
        place.depth = place.depth & ((1 << WORD_BITS) - 1) | u32::from(class) << WORD_BITS;
    }

    fn load(&mut self, place: Place) {
        let lines = words(place).div_ceil(LINE / 8);
        let (from, live) = (self.arena.address(place.stack), self.top - lines * LINE);
        if !self.delta || lines > delta::MOST {
            // SAFETY: the record was saved with this depth; nobody is on the stack.
            unsafe { (self.copy)(from as *const u8, live as *mut u8, lines) };
        } else if let Some(template) = &self.templates[lines] {
            // SAFETY: the record was saved with this depth and template, which never changes.
            unsafe { (self.rebuild)(live as *mut u64, template.as_ptr(), lines, from as *const u8) };
        }
    }

    /// Brings what mounting the rank will read into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, place: Place) {
        let at = self.arena.address(place.stack);
        let lines = if self.delta { 2 } else { words(place).div_ceil(LINE / 8).min(12) };
        for line in 0..lines {
            prefetch(at + line * LINE);
        }
    }
}

//! One stack for all ranks: whoever is not on it keeps a copy of its live part.
//!
//! The stack can be large, since there is only one. A rank's part is saved when another rank is put in
//! place, not when it blocks: resuming the same rank again moves nothing.

use crate::arena::Arena;
use crate::delta;
use crate::lines::{self, LINE};
use crate::now::NOBODY;
use crate::prefetch::prefetch;
use crate::ranks::StackPosition;
use crate::reserve::reserve_inaccessible;
use crate::stack::{self, StackRegion};
use crate::templates::{DIFFERENCES_FROM, Templates};

const PAGE: usize = 4096;
/// A stack of at most this: depths are kept in 23 bits of words.
pub(crate) const MAX_STACK_BYTES: usize = 32 << 20;
/// Below the stack are addresses without memory, so that a frame larger than the stack faults.
const MAX_GAP: usize = 16 << 30;
/// Smallest gap, in bytes: where addresses are few, the gap is halved down to this.
const MIN_GAP: usize = 1 << 20;
const WORD_BITS: u32 = 23;

/// The stack and the saved parts.
pub(crate) struct SharedStack {
    limit: usize,
    top: usize,
    arena: Arena,
    pub(crate) in_place: u32,
    /// Templates, where stacks are kept as differences from them.
    templates: Option<Box<Templates>>,
    copy: lines::Copy,
}

fn words(place: StackPosition) -> usize {
    (place.depth & ((1 << WORD_BITS) - 1)) as usize
}

fn class(place: StackPosition) -> u16 {
    (place.depth >> WORD_BITS) as u16
}

impl SharedStack {
    /// Makes a stack of `bytes`, for `ranks` ranks.
    pub(crate) fn new(bytes: usize, ranks: u32) -> Result<SharedStack, String> {
        if bytes > MAX_STACK_BYTES {
            return Err(format!(
                "a shared stack has at most {} MiB; for more, give each rank its own (-xsim-stack-mode own)",
                MAX_STACK_BYTES >> 20
            ));
        }
        let bytes = bytes.max(256 << 10).next_multiple_of(PAGE);
        let too_much = || format!("cannot reserve a stack of {} KiB", bytes >> 10);
        let gaps =
            std::iter::successors(Some(MAX_GAP), |gap| Some(gap / 2)).take_while(|&gap| gap >= MIN_GAP);
        let (low, gap) = gaps
            .into_iter()
            .find_map(|gap| Some((reserve_inaccessible(gap + bytes)?, gap)))
            .ok_or_else(too_much)?;
        let limit = low + gap;
        // SAFETY: our own mapping, which nobody uses yet: all of it but the gap becomes accessible, and is
        // advised on.
        unsafe {
            if libc::mprotect(limit as *mut libc::c_void, bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return Err(too_much());
            }
            libc::madvise(limit as *mut libc::c_void, bytes, libc::MADV_NOHUGEPAGE);
        }
        stack::describe(StackRegion { low, high: limit + bytes, gap, bytes });
        let delta = ranks >= DIFFERENCES_FROM;
        // With differences, 16-byte units: 64 GiB; without, whole lines: 256 GiB.
        let unit = if delta { 16 } else { LINE };
        Ok(SharedStack {
            limit,
            top: limit + bytes,
            arena: Arena::new((ranks as usize).saturating_mul(bytes).saturating_add(bytes), unit)?,
            in_place: NOBODY,
            templates: delta.then(|| Box::new(Templates::new())),
            copy: lines::copy(),
        })
    }

    /// Returns the lowest usable address and top.
    #[inline]
    pub(crate) fn bounds(&self) -> (usize, usize) {
        (self.limit, self.top)
    }

    /// Returns the bytes handed out for saved parts.
    pub(crate) fn saved_bytes(&self) -> usize {
        self.arena.used()
    }

    /// Returns the place of a rank that has just suspended at `pointer`; `place` is its old one.
    #[inline]
    pub(crate) fn suspended(&self, place: StackPosition, pointer: usize) -> StackPosition {
        StackPosition {
            stack: place.stack,
            depth: place.depth & !((1 << WORD_BITS) - 1) | ((self.top - pointer) / 8) as u32,
        }
    }

    /// Returns the stack pointer of a rank.
    #[inline]
    pub(crate) fn pointer(&self, place: StackPosition) -> usize {
        self.top - words(place) * 8
    }

    /// Returns the place of a rank that has never run.
    pub(crate) fn fresh() -> StackPosition {
        StackPosition { stack: 0, depth: 0 }
    }

    /// Puts `rank` in place of whoever is.
    #[inline]
    pub(crate) fn mount(&mut self, rank: u32, places: &mut [StackPosition]) {
        if self.in_place != rank {
            self.exchange(rank, places);
        }
    }

    #[inline(never)]
    fn exchange(&mut self, rank: u32, places: &mut [StackPosition]) {
        self.clear(places);
        self.load(places[rank as usize]);
        self.in_place = rank;
    }

    /// Saves whoever is in place; afterwards nobody is.
    #[inline]
    pub(crate) fn clear(&mut self, places: &mut [StackPosition]) {
        if self.in_place != NOBODY {
            self.save(&mut places[self.in_place as usize]);
            self.in_place = NOBODY;
        } else if let Some(templates) = &mut self.templates {
            templates.forget();
        }
    }

    /// Gives back the stack of the mounted rank, which has ended.
    pub(crate) fn ended(&mut self, place: StackPosition) {
        self.in_place = NOBODY;
        if place.stack != 0 {
            self.arena.give_back(place.stack, class(place));
        }
    }

    #[inline]
    fn save(&mut self, place: &mut StackPosition) {
        let lines = words(*place).div_ceil(LINE / 8);
        let live = (self.top - lines * LINE) as *const u32;
        match &mut self.templates {
            Some(templates) if lines <= delta::MAX_LINES => {
                // SAFETY: the live lines.
                let bytes = unsafe { templates.find(live, lines) };
                make_room(&mut self.arena, place, bytes);
                // SAFETY: room was made for that many bytes, and nobody ran since.
                unsafe { templates.keep(live, 0, self.arena.address(place.stack) as *mut u8) };
            }
            templates => {
                if let Some(templates) = templates {
                    templates.forget();
                }
                make_room(&mut self.arena, place, lines * LINE);
                // SAFETY: whole lines below the top of the stack, and a record of that size.
                unsafe { (self.copy)(live.cast(), self.arena.address(place.stack) as *mut u8, lines) };
            }
        }
    }

    #[inline]
    fn load(&mut self, place: StackPosition) {
        let lines = words(place).div_ceil(LINE / 8);
        let (from, live) = (self.arena.address(place.stack) as *const u8, self.top - lines * LINE);
        match &mut self.templates {
            // SAFETY: the record was saved with this depth; nobody is on the stack, nor was since the last
            // save, or it was forgotten.
            Some(templates) if lines <= delta::MAX_LINES => unsafe {
                templates.load(live as *mut u32, lines, from)
            },
            // SAFETY: as above.
            _ => unsafe { (self.copy)(from, live as *mut u8, lines) },
        }
    }

    /// Brings what mounting the rank will read into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, place: StackPosition) {
        let at = self.arena.address(place.stack);
        if self.templates.is_some() {
            prefetch(at);
            prefetch(at + LINE);
            return;
        }
        for line in 0..words(place).div_ceil(LINE / 8).min(12) {
            prefetch(at + line * LINE);
        }
    }
}

/// Gives the rank a record of so many bytes, unless it has one.
#[inline]
fn make_room(arena: &mut Arena, place: &mut StackPosition, bytes: usize) {
    let class = arena.class(bytes);
    if place.stack != 0 {
        if self::class(*place) == class {
            return;
        }
        arena.give_back(place.stack, self::class(*place));
    }
    place.stack = arena.take(bytes);
    place.depth = place.depth & ((1 << WORD_BITS) - 1) | u32::from(class) << WORD_BITS;
}

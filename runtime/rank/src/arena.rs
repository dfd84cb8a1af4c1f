//! Compact storage for what parked ranks leave behind: saved stacks and globals.
//!
//! One reserved mapping with huge pages, cut into records of whole units, with a free list for
//! each size. Records are named by a 32-bit number of units, so a rank keeps 4 bytes.

use std::ptr::null_mut;

/// Sizes up to this many units have a free list of their own; above, eight to each doubling.
const EXACT: u32 = 64;

/// The storage.
pub(crate) struct Arena {
    base: usize,
    unit: usize,
    capacity: u32,
    top: u32,
    free: Vec<Vec<u32>>,
}

/// The free list for a size, and the units that its records have.
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

impl Arena {
    /// Reserves (does not commit) room for `bytes`, at most 2^32 units of `unit` bytes (a power of two, at least 16).
    pub(crate) fn new(bytes: usize, unit: usize) -> Result<Arena, String> {
        let bytes = bytes.clamp(1 << 20, unit << 32).next_multiple_of(2 << 20);
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a new anonymous mapping touches no existing memory.
        let base = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(format!("cannot reserve {} MiB for parked ranks; run fewer ranks or raise the address-space limit", bytes >> 20));
        }
        // SAFETY: advice on our own mapping; a refusal only costs speed.
        unsafe { libc::madvise(base, bytes, libc::MADV_HUGEPAGE) };
        let capacity = u32::try_from(bytes / unit).unwrap_or(u32::MAX);
        // Unit 0 is never handed out: 0 means "no record".
        Ok(Arena { base: base as usize, unit, capacity, top: 1, free: vec![Vec::new(); class(u32::MAX >> 1).0 + 1] })
    }

    /// The class of records that hold `bytes`: a small number, which the caller keeps.
    #[inline]
    pub(crate) fn class(&self, bytes: usize) -> u16 {
        class(bytes.div_ceil(self.unit) as u32).0 as u16
    }

    /// A record of at least `bytes`; returns its number.
    ///
    /// # Panics
    /// When the reservation is used up.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> u32 {
        let (class, units) = class(bytes.div_ceil(self.unit) as u32);
        if let Some(record) = self.free[class].pop() {
            return record;
        }
        let record = self.top;
        match record.checked_add(units) {
            Some(top) if top <= self.capacity => self.top = top,
            _ => self.exhausted(),
        }
        record
    }

    #[cold]
    fn exhausted(&self) -> ! {
        panic!(
            "parked ranks need more than {} GiB for their stacks and globals; run fewer ranks, or more processes",
            (self.capacity as usize * self.unit) >> 30
        )
    }

    /// Gives back a record of a class.
    #[inline]
    pub(crate) fn give_back(&mut self, record: u32, class: u16) {
        self.free[class as usize].push(record);
    }

    /// The address of a record.
    #[inline]
    pub(crate) fn address(&self, record: u32) -> usize {
        self.base + record as usize * self.unit
    }

    /// Bytes handed out so far, free records included.
    pub(crate) fn used(&self) -> usize {
        self.top as usize * self.unit
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
}

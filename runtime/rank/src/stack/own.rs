//! A stack for each rank, in slots of one reserved mapping.
//!
//! Memory is reserved, not committed: a rank costs the pages that it touched. Slots of finished
//! ranks are used again, last in first out. Tops are spread over cache lines, or all ranks'
//! hottest lines would share one set of the processor's caches (6.5 against 17 ns a switch at 1,000 ranks).

use crate::reserve::reserve;

/// Smallest slot: `printf("%Lf")` alone needs 30 KiB.
pub(crate) const LEAST_SLOT: usize = 32 << 10;
const PAGE: usize = 4096;
/// Tops are spread over this many cache lines.
const COLOURS: usize = 32;
const LINE: usize = 64;
/// Linux 6.13: makes a page fault without a mapping of its own.
const MADV_GUARD_INSTALL: i32 = 102;
/// `mprotect` guards split the mapping, and Linux allows 65,530 mappings by default.
const MOST_PROTECTED: u32 = 24_000;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Guard {
    Advice,
    Protect,
    None,
}

/// Where slots and their tops are.
pub(crate) struct Layout {
    /// Where the first slot begins.
    pub(crate) arena: usize,
    /// Bytes of a slot.
    pub(crate) slot: usize,
    /// How far apart, and how many, the places are over which tops are spread.
    pub(crate) line: usize,
    pub(crate) colours: usize,
}

/// The slots.
pub(crate) struct OwnStacks {
    arena: usize,
    slot: usize,
    count: u32,
    used: u32,
    free: Vec<u32>,
    guard: Guard,
}

impl OwnStacks {
    /// Reserves `count` slots of `slot` bytes (rounded up to pages).
    pub(crate) fn new(count: u32, slot: usize) -> Result<OwnStacks, String> {
        let slot = slot.max(LEAST_SLOT).next_multiple_of(PAGE);
        let too_much =
            || format!("cannot reserve {count} stacks of {} KiB; use smaller stacks, fewer ranks, or the shared stack mode", slot / 1024);
        let len = slot.checked_mul(count as usize).ok_or_else(too_much)?;
        let arena = reserve(len).ok_or_else(too_much)?;
        // SAFETY: advice on our own mapping. Huge pages would commit 2 MiB for each touched stack.
        unsafe { libc::madvise(arena as *mut libc::c_void, len, libc::MADV_NOHUGEPAGE) };
        let mut stacks = OwnStacks { arena, slot, count, used: 0, free: Vec::new(), guard: Guard::Advice };
        if !stacks.install_guard(0) {
            stacks.guard = if count <= MOST_PROTECTED { Guard::Protect } else { Guard::None };
        }
        Ok(stacks)
    }

    fn install_guard(&self, slot: u32) -> bool {
        let at = (self.arena + slot as usize * self.slot) as *mut libc::c_void;
        match self.guard {
            // SAFETY: the lowest page of a slot of ours, which no rank uses.
            Guard::Advice => unsafe { libc::madvise(at, PAGE, MADV_GUARD_INSTALL) == 0 },
            // SAFETY: as above.
            Guard::Protect => unsafe { libc::mprotect(at, PAGE, libc::PROT_NONE) == 0 },
            Guard::None => true,
        }
    }

    /// A slot for a new rank.
    pub(crate) fn take(&mut self) -> u32 {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        assert!(self.used < self.count, "a slot for each rank was reserved");
        self.used += 1;
        self.install_guard(self.used - 1);
        self.used - 1
    }

    /// Gives back the slot of a finished rank.
    pub(crate) fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Lowest usable address and top of a slot.
    #[inline]
    pub(crate) fn bounds(&self, slot: u32) -> (usize, usize) {
        let bottom = self.arena + slot as usize * self.slot;
        (bottom + PAGE, bottom + self.slot - (slot as usize * 7 % COLOURS) * LINE)
    }

    /// Where they are, for who is told of a slot by its number.
    pub(crate) fn layout(&self) -> Layout {
        Layout { arena: self.arena, slot: self.slot, line: LINE, colours: COLOURS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_do_not_overlap_and_are_reused_last_first() {
        let mut stacks = OwnStacks::new(100, 64 << 10).unwrap();
        let slots: Vec<u32> = (0..100).map(|_| stacks.take()).collect();
        let mut last = 0;
        for &s in &slots {
            let (limit, top) = stacks.bounds(s);
            assert!(limit > last && top > limit && top % 16 == 0);
            // SAFETY: inside the slot, above its guard.
            unsafe { *(limit as *mut u8) = 1 };
            last = top - 1;
        }
        stacks.give_back(slots[3]);
        stacks.give_back(slots[7]);
        assert_eq!([stacks.take(), stacks.take()], [slots[7], slots[3]]);
    }

    #[test]
    fn impossible_reservations_say_what_to_do() {
        let error = OwnStacks::new(u32::MAX, 1 << 40).err().unwrap();
        assert!(error.contains("fewer ranks"), "{error}");
    }
}

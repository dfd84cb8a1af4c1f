//! A stack for each rank, in slots of one reserved mapping.
//!
//! Addresses are reserved, not committed: a rank costs the pages that it touched. Slots of finished
//! ranks are used again, last in first out. Tops are spread over cache lines, or all ranks'
//! hottest lines would share one set of the processor's caches (6.5 against 17 ns a switch at 1,000 ranks).
//!
//! A slot is a gap without memory and a stack above it. A frame larger than the stack faults in the gap, also
//! where its code does not probe page by page. The gap is as large as addresses allow without slower
//! switches:
//!
//! | ranks | gap | how |
//! |---|---|---|
//! | up to 128 | 4 GiB | a mapping of its own |
//! | up to 1,024 | 120 MiB | a mapping of its own |
//! | up to 4,096 | 2 MiB | a mapping of its own |
//! | more | 68 KiB | `MADV_GUARD_INSTALL`, else a mapping of its own while Linux has mappings left |

use crate::reserve::{reserve, reserve_inaccessible};
use crate::stack::{self, StackRegion};

/// Smallest stack: `printf("%Lf")` alone needs 30 KiB.
pub(crate) const MIN_STACK: usize = 32 << 10;
/// Largest stack: depths are kept in 32 bits of words.
const MAX_STACK: usize = (32 << 30) - PAGE;
const PAGE: usize = 4096;
/// Tops are spread over this many cache lines.
const COLOURS: usize = 32;
const LINE: usize = 64;
/// Bytes of addresses that one page of the page table maps.
const TABLE: usize = 2 << 20;
/// Slots lie this much further apart than a multiple of [`TABLE`]. Entries of tops in the page table then lie
/// in different sets of the processor's caches: 0.11 against 0.17 µs a message at 1,000 ranks.
const SPREAD: usize = 17 * PAGE;
/// Linux 6.13: makes page faults without a mapping of its own.
const MADV_GUARD_INSTALL: i32 = 102;
/// Up to this many ranks gaps are mappings of their own, and slots lie in different pages of the page table.
const MAX_WIDE: u32 = 4096;
/// Gap of slots that lie close together. With it, entries of tops lie in different sets of the caches.
const NARROW_GAP: usize = SPREAD;
/// Gaps are not reduced below this where addresses are few.
const MIN_WIDE_GAP: usize = 2 << 20;
/// Below the first slot: the first rank's frames may be as large as those of the others.
const LEAD: usize = 4 << 30;
/// Mappings that are left to the program and its libraries.
const OTHER_MAPPINGS: usize = 16_384;

/// Returns the gap below each of `count` stacks where addresses are plenty.
fn wide_gap(count: u32) -> usize {
    match count {
        ..=128 => 4 << 30,
        129..=1024 => 120 << 20,
        _ => MIN_WIDE_GAP,
    }
}

/// Returns `true` if Linux lets the process have a mapping for each of `count` gaps and stacks.
fn has_mappings_for(count: u32) -> bool {
    let text = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    let most = text.trim().parse().unwrap_or(65_530usize);
    count as usize * 2 + OTHER_MAPPINGS <= most
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Guard {
    /// Slots become accessible when they are taken.
    Gap,
    /// Slots are accessible; guards are installed when they are taken.
    Advice,
    /// A gap could not be had, which has been reported.
    Refused,
}

/// Positions of slots and of their tops.
pub(crate) struct SlotLayout {
    /// Address of the first slot.
    pub(crate) arena: usize,
    /// Bytes of a slot.
    pub(crate) slot: usize,
    /// Distance between the offsets over which tops are spread, in bytes, and the number of these offsets.
    pub(crate) line: usize,
    pub(crate) colours: usize,
}

/// The slots.
pub(crate) struct OwnStacks {
    /// The first of the addresses without memory below the first slot.
    low: usize,
    arena: usize,
    /// Bytes of a slot, and of the gap at its lower end.
    slot: usize,
    gap: usize,
    count: u32,
    used: u32,
    free: Vec<u32>,
    guard: Guard,
}

impl OwnStacks {
    /// Reserves `count` stacks of `bytes` (rounded up to pages).
    ///
    /// # Errors
    /// A sentence, if there are not so many addresses, or no guards for so many stacks.
    pub(crate) fn new(count: u32, bytes: usize) -> Result<OwnStacks, String> {
        if bytes > MAX_STACK {
            return Err(format!("a rank's stack has at most 32 GiB; {} GiB were asked for", bytes >> 30));
        }
        let bytes = bytes.max(MIN_STACK).next_multiple_of(PAGE);
        let stacks = match count <= MAX_WIDE && has_mappings_for(count) {
            true => OwnStacks::wide(count, bytes),
            false => None,
        };
        let stacks = stacks.map_or_else(|| OwnStacks::narrow(count, bytes), Ok)?;
        let OwnStacks { low, arena, slot, gap, .. } = stacks;
        let high = arena + slot * count as usize;
        // SAFETY: advice on our own mapping. Huge pages would commit 2 MiB for each touched stack.
        unsafe { libc::madvise(low as *mut libc::c_void, high - low, libc::MADV_NOHUGEPAGE) };
        stack::describe(StackRegion { low, high, gap, bytes });
        Ok(stacks)
    }

    /// Reserves slots with wide gaps, which are halved where addresses are few.
    fn wide(count: u32, bytes: usize) -> Option<OwnStacks> {
        let mut gap = wide_gap(count);
        loop {
            let slot = (gap + bytes).next_multiple_of(TABLE) + SPREAD;
            // What rounding adds belongs to the gap.
            let gap_of_slot = slot - bytes;
            let lead = LEAD.min(gap_of_slot);
            let len = slot.checked_mul(count as usize).and_then(|len| len.checked_add(lead))?;
            if let Some(low) = reserve_inaccessible(len) {
                let (arena, free) = (low + lead, Vec::new());
                return Some(OwnStacks {
                    low,
                    arena,
                    slot,
                    gap: gap_of_slot,
                    count,
                    used: 0,
                    free,
                    guard: Guard::Gap,
                });
            }
            if gap <= MIN_WIDE_GAP {
                return None;
            }
            gap /= 2;
        }
    }

    /// Reserves slots that lie close together.
    fn narrow(count: u32, bytes: usize) -> Result<OwnStacks, String> {
        let too_much = || {
            format!(
                "cannot reserve {count} stacks of {} KiB; use smaller stacks, fewer ranks, or the shared \
                 stack mode",
                bytes / 1024
            )
        };
        let slot = bytes + NARROW_GAP;
        let len = slot.checked_mul(count as usize).ok_or_else(too_much)?;
        let arena = reserve(len).ok_or_else(too_much)?;
        let free = Vec::new();
        let mut stacks = OwnStacks {
            low: arena,
            arena,
            slot,
            gap: NARROW_GAP,
            count,
            used: 0,
            free,
            guard: Guard::Advice,
        };
        if stacks.protect(0) {
            return Ok(stacks);
        }
        if !has_mappings_for(count) {
            // SAFETY: reserved above, and not handed out.
            unsafe { libc::munmap(arena as *mut libc::c_void, len) };
            return Err(format!(
                "{count} stacks have no guards against an overflow: these take Linux 6.13, or \
                 vm.max_map_count of {}; use fewer ranks, or the shared stack mode",
                count as usize * 2 + OTHER_MAPPINGS
            ));
        }
        // SAFETY: the mapping of ours, which no rank uses.
        unsafe { libc::mprotect(arena as *mut libc::c_void, len, libc::PROT_NONE) };
        stacks.guard = Guard::Gap;
        Ok(stacks)
    }

    /// Makes a slot's stack accessible and its gap not. Returns `false` if Linux refuses.
    fn protect(&self, slot: u32) -> bool {
        let bottom = self.arena + slot as usize * self.slot;
        match self.guard {
            // SAFETY: the gap of a slot of ours, which no rank uses.
            Guard::Advice => unsafe {
                libc::madvise(bottom as *mut libc::c_void, self.gap, MADV_GUARD_INSTALL) == 0
            },
            Guard::Gap => {
                let (protection, stack) = (libc::PROT_READ | libc::PROT_WRITE, bottom + self.gap);
                // SAFETY: the stack of a slot of ours, which no rank uses.
                unsafe { libc::mprotect(stack as *mut libc::c_void, self.slot - self.gap, protection) == 0 }
            }
            Guard::Refused => true,
        }
    }

    /// Returns a slot for a new rank.
    pub(crate) fn take(&mut self) -> u32 {
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        assert!(self.used < self.count, "a slot for each rank was reserved");
        self.used += 1;
        if !self.protect(self.used - 1) {
            self.give_up_gaps(self.used - 1);
        }
        self.used - 1
    }

    /// Makes this slot and all later ones accessible, which takes no further mapping, and reports it.
    #[cold]
    fn give_up_gaps(&mut self, slot: u32) {
        let (bottom, protection) =
            (self.arena + slot as usize * self.slot, libc::PROT_READ | libc::PROT_WRITE);
        let end = self.arena + self.count as usize * self.slot;
        // SAFETY: slots of ours, which no rank uses.
        let given = unsafe { libc::mprotect(bottom as *mut libc::c_void, end - bottom, protection) };
        self.guard = Guard::Refused;
        let outcome = match given {
            0 => "an overflow of the stacks of further ranks is not noticed",
            _ => "further ranks have no stacks, and the run will crash",
        };
        eprintln!(
            "xsim: Linux refuses a guard below a rank's stack (the process has vm.max_map_count mappings): \
             {outcome}; raise vm.max_map_count, or use the shared stack mode"
        );
    }

    /// Gives back the slot of a finished rank.
    pub(crate) fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Returns the lowest usable address and top of a slot.
    #[inline]
    pub(crate) fn bounds(&self, slot: u32) -> (usize, usize) {
        let bottom = self.arena + slot as usize * self.slot;
        (bottom + self.gap, bottom + self.slot - (slot as usize * 7 % COLOURS) * LINE)
    }

    /// Returns where they are, for who is told of a slot by its number.
    pub(crate) fn layout(&self) -> SlotLayout {
        SlotLayout { arena: self.arena, slot: self.slot, line: LINE, colours: COLOURS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_do_not_overlap_and_are_reused_last_first() {
        for count in [100, 1000, 2000, 5000] {
            let mut stacks = OwnStacks::new(count, 64 << 10).unwrap();
            let slots: Vec<u32> = (0..100).map(|_| stacks.take()).collect();
            let mut last = 0;
            for &s in &slots {
                let (limit, top) = stacks.bounds(s);
                assert!(limit > last && top > limit && top % 16 == 0);
                // SAFETY: inside the slot, above its gap.
                unsafe { *(limit as *mut u8) = 1 };
                last = top - 1;
            }
            stacks.give_back(slots[3]);
            stacks.give_back(slots[7]);
            assert_eq!([stacks.take(), stacks.take()], [slots[7], slots[3]]);
        }
    }

    #[test]
    fn no_byte_of_a_gap_is_accessible() {
        for count in [100, 1000, 2000, 5000] {
            let mut stacks = OwnStacks::new(count, 64 << 10).unwrap();
            let slots: Vec<u32> = (0..3).map(|_| stacks.take()).collect();
            for &slot in &slots {
                let (limit, _) = stacks.bounds(slot);
                for at in [limit - 1, limit - stacks.gap / 2, limit - stacks.gap] {
                    assert!(!is_readable(at), "{count} ranks, slot {slot}, {} bytes below", limit - at);
                }
                assert!(is_readable(limit));
            }
        }
    }

    /// Asks the kernel to read a byte, which fails where a load would fault.
    fn is_readable(address: usize) -> bool {
        let mut ends = [0; 2];
        // SAFETY: a new pipe; the kernel checks the address that it reads one byte from.
        unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let wrote = libc::write(ends[1], address as *const libc::c_void, 1);
            libc::close(ends[0]);
            libc::close(ends[1]);
            wrote == 1
        }
    }

    #[test]
    fn impossible_reservations_say_what_to_do() {
        let error = OwnStacks::new(u32::MAX, 1 << 34).err().unwrap();
        assert!(error.contains("fewer ranks"), "{error}");
        let error = OwnStacks::new(1, 1 << 40).err().unwrap();
        assert!(error.contains("at most 32 GiB"), "{error}");
    }
}

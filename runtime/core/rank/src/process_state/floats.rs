//! Rounding mode, traps and flags of floating-point arithmetic.
//!
//! The register of vector arithmetic is read at every switch, since functions and instructions that set it
//! may be inside the program. Its bits for small numbers are not looked at: `-ffast-math` sets them when a
//! rank begins, in all ranks alike.

use std::arch::asm;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};

use crate::per_rank::PerRank;

/// Control registers of floating-point arithmetic.
#[derive(Clone, Copy)]
struct Control {
    /// The mode of vector instructions.
    vector: u32,
    /// The control word of the x87 unit.
    x87: u16,
}

/// Bits of the vector register that are a rank's: which exceptions trap, and the rounding mode.
const OWN_BITS: u32 = 0x7f80;

static OWN: PerRank<Control> = PerRank::new();
/// The process's own, with `OWN_BITS` alone of the first: what a process begins with.
static BASE: AtomicU32 = AtomicU32::new(0x1f80);
static BASE_X87: AtomicU16 = AtomicU16::new(0x37f);

/// Takes what is in place as the process's own.
pub(crate) fn begin() {
    let now = Control::read();
    BASE.store(now.vector & OWN_BITS, Relaxed);
    BASE_X87.store(now.x87, Relaxed);
}

#[inline(always)]
fn read_vector() -> u32 {
    let mut vector = 0u32;
    // SAFETY: stores a register to a variable.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut vector, options(nostack, preserves_flags)) };
    vector
}

/// Returns `true` if floating-point arithmetic rounds or traps otherwise than the process's.
#[inline(always)]
pub(crate) fn differ() -> bool {
    read_vector() & OWN_BITS != BASE.load(Relaxed)
}

impl Control {
    fn read() -> Control {
        let mut x87 = 0u16;
        // SAFETY: stores a register to a variable.
        unsafe { asm!("fnstcw [{}]", in(reg) &raw mut x87, options(nostack, preserves_flags)) };
        Control { vector: read_vector(), x87 }
    }

    fn put(self) {
        // SAFETY: values that `read` gave.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const self.vector, options(nostack, preserves_flags));
            asm!("fldcw [{}]", in(reg) &raw const self.x87, options(nostack, preserves_flags));
        }
    }
}

/// Keeps the rank's registers and puts the process's in place.
pub(super) fn leave(rank: u32) {
    if differ() {
        let now = Control::read();
        OWN.put_exchanged(rank, now);
        Control { vector: now.vector & !OWN_BITS | BASE.load(Relaxed), x87: BASE_X87.load(Relaxed) }.put();
    } else {
        OWN.remove(rank);
    }
}

/// Puts the rank's registers in place.
pub(super) fn enter(rank: u32) {
    OWN.with(rank, |floats| floats.put());
}

/// Forgets a rank that has ended.
pub(super) fn end(rank: u32) {
    OWN.remove(rank);
}

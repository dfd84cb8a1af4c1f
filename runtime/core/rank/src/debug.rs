//! A table in memory in which a debugger finds the ranks: its meaning does not depend on this library's debug
//! information.
//!
//! `cli/debug.py` reads it. A rank that does not run is a slot and a depth: its stack pointer is so far below
//! the slot's top. There lie the address at which it goes on and the registers that a switch
//! (`stack/switch.rs`) keeps (the address, `rbx`, `rbp`). Two instructions of one byte at that address take
//! the registers back.

use crate::now;
use crate::ranks::StackPosition;
use crate::stack::own::SlotLayout;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Version of this description. It changes whenever the meaning of a word changes.
const VERSION: u64 = 1;

/// Words that a debugger reads, all of 64 bits.
#[repr(C)]
pub struct DebuggerView {
    version: AtomicU64,
    /// The address of the running rank's number in the process (32 bits; all ones if none runs).
    running: AtomicU64,
    /// The first rank's number among those of all processes, and how many this process has.
    first: AtomicU64,
    count: AtomicU64,
    /// The address of their places, 8 bytes each: the slot (all ones: has not begun; one less: has ended),
    /// and the depth in units of 8 bytes.
    places: AtomicU64,
    /// The slots: where the first begins (zero where ranks share one stack), and how far apart they are.
    arena: AtomicU64,
    slot: AtomicU64,
    /// A slot's top is its end less so many bytes times the remainder of seven times its number by so many.
    line: AtomicU64,
    colours: AtomicU64,
}

/// All zeros until there are ranks.
#[unsafe(no_mangle)]
#[used]
pub static XSIM_DEBUG_VIEW: DebuggerView = DebuggerView {
    version: AtomicU64::new(0),
    running: AtomicU64::new(0),
    first: AtomicU64::new(0),
    count: AtomicU64::new(0),
    places: AtomicU64::new(0),
    arena: AtomicU64::new(0),
    slot: AtomicU64::new(0),
    line: AtomicU64::new(0),
    colours: AtomicU64::new(0),
};

/// Says where the ranks are; `stacks` if each has its own.
pub(crate) fn show(first: u32, places: &[StackPosition], stacks: Option<SlotLayout>) {
    let view = &XSIM_DEBUG_VIEW;
    view.running.store(now::number() as u64, Relaxed);
    view.first.store(u64::from(first), Relaxed);
    view.count.store(places.len() as u64, Relaxed);
    view.places.store(places.as_ptr() as u64, Relaxed);
    if let Some(SlotLayout { arena, slot, line, colours }) = stacks {
        view.arena.store(arena as u64, Relaxed);
        view.slot.store(slot as u64, Relaxed);
        view.line.store(line as u64, Relaxed);
        view.colours.store(colours as u64, Relaxed);
    }
    view.version.store(VERSION, Relaxed);
}

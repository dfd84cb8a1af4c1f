//! Stacks of ranks, and the coroutine that runs on whichever is in place.
//!
//! A suspended rank is nothing but a stack and the distance from its top to the stack pointer:
//! the coroutine object's other words are the same for all ranks, so one object serves all.
//! It holds, below the top:
//!
//! ```text
//!   top  ->  +---------------------------+
//!            | argv: strings, pointers   |
//!   base ->  +---------------------------+
//!            | corosensei: entry, link   |
//!            | main ... MPI call ...     |
//!            | suspend: errno, yielder   |
//!   pointer->+---------------------------+   saved live part: pointer..top
//!            | free                      |
//!   limit -> +---------------------------+
//!            | guard page                |
//!            +---------------------------+
//! ```

pub(crate) mod own;
pub(crate) mod shared;

use std::mem::ManuallyDrop;

use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, Yielder};

use crate::running::{self, NOBODY};

/// Whether a fault at `address` with this stack pointer is an overflow of the stack in place: just
/// below its end, where the guard is, or with the stack pointer itself beyond the end.
pub(crate) fn overflowed(address: usize, pointer: usize) -> bool {
    let (limit, base) = running::bounds();
    let below = |at: usize| at < limit && limit - at <= (base - limit).max(1 << 20);
    let guard = address < limit && limit - address <= 4096;
    guard || below(pointer) && below(address)
}

/// The stack in place, as corosensei sees it. Of size zero, so a coroutine is three words.
struct InPlace;

// SAFETY: `running::mount` is given memory that stays mapped while any rank lives, aligned to 16, at
// least 4 KiB long, with a guard below `limit` where the kernel offers one.
unsafe impl Stack for InPlace {
    fn base(&self) -> StackPointer {
        StackPointer::new(running::bounds().1).expect("a stack is in place")
    }
    fn limit(&self) -> StackPointer {
        StackPointer::new(running::bounds().0).expect("a stack is in place")
    }
}

type Raw = Coroutine<(), (), (), InPlace>;
const WORDS: usize = size_of::<Raw>() / size_of::<usize>();

/// The one coroutine object: holds whichever rank runs.
pub(crate) struct Switch {
    /// Never dropped: dropping would unwind a rank's frames.
    coroutine: ManuallyDrop<Raw>,
    /// Which word of the object is the suspended stack pointer.
    word: usize,
}

impl Switch {
    /// Finds the layout of corosensei's object by watching one coroutine on the given scratch stack.
    pub(crate) fn new(limit: usize, base: usize) -> Result<Switch, String> {
        running::mount(NOBODY, limit, base);
        let words = |c: &Raw| -> [usize; WORDS] {
            // SAFETY: `Raw` is WORDS initialised words (asserted by its size) without padding.
            unsafe { std::ptr::read(std::ptr::from_ref(c).cast()) }
        };
        let mut probe = ManuallyDrop::new(Raw::with_stack(InPlace, |yielder, ()| yielder.suspend(())));
        let before = words(&probe);
        probe.resume(());
        let after = words(&probe);
        probe.resume(());
        let changed: Vec<usize> = (0..WORDS).filter(|&k| before[k] != after[k]).collect();
        match changed[..] {
            [word] if (limit..base).contains(&after[word]) => Ok(Switch { coroutine: probe, word }),
            _ => Err("the coroutine library keeps its stack pointer in an unexpected way; build with corosensei 0.3".into()),
        }
    }

    /// Starts a new rank on the stack in place, running `entry` until it first suspends. Returns the
    /// stack pointer at which it did.
    pub(crate) fn start(&mut self, entry: fn(&Yielder<(), ()>)) -> usize {
        self.coroutine = ManuallyDrop::new(Raw::with_stack(InPlace, move |yielder, ()| entry(yielder)));
        self.coroutine.resume(());
        self.pointer()
    }

    /// Resumes the rank in place, suspended at `pointer`, until it suspends again; returns where.
    ///
    /// # Safety
    /// The stack in place must hold a rank suspended at exactly `pointer`.
    #[inline]
    pub(crate) unsafe fn resume(&mut self, pointer: usize) -> usize {
        // SAFETY: `word` is the object's stack pointer (found in `new`); with this word set it equals
        // the object that the rank was suspended with, for the others are constant and unused.
        unsafe { std::ptr::from_mut(&mut *self.coroutine).cast::<usize>().add(self.word).write(pointer) };
        self.coroutine.resume(());
        self.pointer()
    }

    #[inline]
    fn pointer(&self) -> usize {
        // SAFETY: `word` is inside the object (found in `new`).
        unsafe { std::ptr::from_ref(&*self.coroutine).cast::<usize>().add(self.word).read() }
    }
}

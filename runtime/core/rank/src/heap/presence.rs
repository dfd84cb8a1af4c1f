//! Makes the heap present before ranks touch it, on time that no rank is charged for (`host::exclude`).
//!
//! The heap's beginning lies on pages of 2 MiB, each with memory of many ranks, and on small ones before the
//! first of these; it is made present before a block reaches it.
//!
//! Behind it pages are small. Those of small blocks are made present as the heap grows, or ranks that
//! allocate late would pay for what others have for nothing. A large block may be left untouched, and its
//! pages are its rank's own: a real rank pays for those as well.

use crate::reserve::{LARGE_PAGE, make_present};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of a page that is not large.
const SMALL_PAGE: usize = 4096;
/// Bytes assumed for the C library's data behind a block and for rounding the block up.
const MARGIN: usize = 64 << 10;
/// Larger blocks behind the beginning are left to the rank that touches them.
const MAX_SMALL_BLOCK: usize = 128 << 10;

/// Blocks of more bytes may reach memory of the beginning that is not present: none, before [`keep`].
static SPARE: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The highest end of a block; the end of the address space while nothing is known of the heap.
static TOP: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Up to where the heap is present, but for large blocks.
static PRESENT: AtomicUsize = AtomicUsize::new(0);
/// The address at which the heap's beginning ends.
static END: AtomicUsize = AtomicUsize::new(0);
/// The thread that runs the ranks: others have heaps of their own.
static THREAD: AtomicUsize = AtomicUsize::new(0);
/// Bytes behind the beginning that may be made present, and that were.
static ALLOWED: AtomicUsize = AtomicUsize::new(0);
static MADE: AtomicUsize = AtomicUsize::new(0);

fn is_this_thread() -> bool {
    // SAFETY: has no precondition.
    THREAD.load(Relaxed) == unsafe { libc::pthread_self() as usize }
}

/// Notes where the heap's beginning lies, on large pages but for what is before the first of them, and which
/// block of it ended last. Called by the thread that runs the ranks.
pub fn prepare(beginning: Range<usize>, top: usize) {
    // Pages are made present whole. The heap's own data before the beginning share the first.
    let beginning = beginning.start / SMALL_PAGE * SMALL_PAGE..beginning.end;
    // SAFETY: has no precondition.
    THREAD.store(unsafe { libc::pthread_self() as usize }, Relaxed);
    PRESENT.store(beginning.start, Relaxed);
    END.store(beginning.end, Relaxed);
    TOP.store(top, Relaxed);
}

/// Keeps the heap present from now on, before ranks touch it: its beginning, and at most `most` bytes behind
/// that.
pub fn keep(most: usize) {
    if END.load(Relaxed) != 0 {
        ALLOWED.store(most, Relaxed);
        advance(0);
    }
}

/// Returns the bytes behind the heap's beginning that were made present, touched or not.
pub fn made() -> u64 {
    MADE.load(Relaxed) as u64
}

/// Prepares for the allocation of a block of `bytes` bytes.
#[inline(always)]
pub fn before(bytes: usize) {
    if bytes > SPARE.load(Relaxed) {
        advance(bytes);
    }
}

/// Raises the top for a block that was allocated, if it ends above.
#[inline(always)]
pub fn after(block: usize, bytes: usize) {
    if block + bytes > TOP.load(Relaxed) {
        raise(block, bytes);
    }
}

/// Makes the beginning present for a block of so many bytes, wherever it will lie.
#[cold]
fn advance(bytes: usize) {
    if !is_this_thread() {
        return;
    }
    let (top, present, end) = (TOP.load(Relaxed), PRESENT.load(Relaxed), END.load(Relaxed));
    let wanted = top.saturating_add(MARGIN).saturating_add(bytes);
    // A large block that does not fit lies behind the beginning, or in a mapping of its own; a small one may
    // fit, since the margin is an upper bound.
    let does_fit = wanted <= end || bytes <= MAX_SMALL_BLOCK && top < end;
    let next = if does_fit { wanted.next_multiple_of(LARGE_PAGE).clamp(present, end) } else { present };
    if next > present {
        if !make_present(present..next) {
            // An old kernel, or no memory: the ranks touch it.
            ALLOWED.store(0, Relaxed);
            return SPARE.store(usize::MAX, Relaxed);
        }
        PRESENT.store(next, Relaxed);
    }
    SPARE.store(if top + MARGIN >= end { usize::MAX } else { next.saturating_sub(top + MARGIN) }, Relaxed);
}

/// Notes that a block of the heap, or one elsewhere, ends higher than any of the heap.
#[cold]
fn raise(block: usize, bytes: usize) {
    if !is_this_thread() {
        return;
    }
    // SAFETY: asks where the heap ends.
    let heap_end = unsafe { libc::sbrk(0) } as usize;
    let end = block + bytes;
    if end > heap_end {
        return;
    }
    let risen = end - TOP.swap(end, Relaxed);
    let spare = SPARE.load(Relaxed);
    if spare != usize::MAX {
        SPARE.store(spare.saturating_sub(risen), Relaxed);
    }
    // A large block is passed over.
    let from = PRESENT.load(Relaxed).max(block / LARGE_PAGE * LARGE_PAGE);
    if end <= END.load(Relaxed) || bytes > MAX_SMALL_BLOCK || end <= PRESENT.load(Relaxed) {
        return;
    }
    let pages = from..heap_end.min(end.next_multiple_of(LARGE_PAGE));
    let allowed = ALLOWED.load(Relaxed);
    if pages.len() <= allowed && make_present(pages.clone()) {
        MADE.fetch_add(pages.len(), Relaxed);
        ALLOWED.store(allowed - pages.len(), Relaxed);
    } else {
        ALLOWED.store(0, Relaxed);
    }
    PRESENT.store(pages.end, Relaxed);
}

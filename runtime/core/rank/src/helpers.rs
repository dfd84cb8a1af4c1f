//! Threads that ranks started: whose they are, how many there are, and what they share.

use std::cell::{Cell, UnsafeCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use crate::host::kernel_ns;
use crate::now::{self, NOBODY};

/// Helpers that a process has at once, at most: each is a thread of the host.
pub(crate) const MAX_HELPERS: usize = 1024;

thread_local! {
    /// The rank whose helper this thread is.
    static OWNER: Cell<u32> = const { Cell::new(NOBODY) };
    /// The clock that this helper read last, in nanoseconds.
    static LAST_NS: Cell<u64> = const { Cell::new(0) };
    /// The rank that this thread looked up last, and what its helpers share.
    static FOUND: Cell<(u32, Option<&'static Helpers>)> = const { Cell::new((NOBODY, None)) };
}

/// State that the helpers of one rank share.
pub(crate) struct Helpers {
    /// Threads that the program itself started and that have not ended, without an OpenMP runtime's, which
    /// idle between regions.
    pub(crate) own: AtomicUsize,
    /// The rank's virtual clock minus the host's, in nanoseconds, when the rank last read it.
    offset_ns: AtomicI64,
    /// Held within OpenMP's unnamed critical sections, of which a runtime has one for the process.
    critical: UnsafeCell<libc::pthread_mutex_t>,
}

// SAFETY: the mutex is touched by the functions of pthreads alone; the rest is atomic.
unsafe impl Sync for Helpers {}

/// The helpers of each rank that ever had one; never freed.
static RANKS: Mutex<Option<HashMap<u32, &'static Helpers>>> = Mutex::new(None);
/// Helpers that have not ended, of all ranks.
pub(crate) static LIVE: AtomicUsize = AtomicUsize::new(0);
/// Memory that is moved away from its address when a rank blocks: [`GLOBALS`], [`STACK`].
static MOVED: AtomicU8 = AtomicU8::new(0);

/// Globals are copied out when another rank is mounted.
pub(crate) const GLOBALS: u8 = 1;
/// The stack is copied out when another rank is mounted.
pub(crate) const STACK: u8 = 2;

/// Notes that `what` ([`GLOBALS`], [`STACK`]) leaves its address when a rank blocks.
pub(crate) fn note_moved(what: u8) {
    MOVED.fetch_or(what, Relaxed);
}

/// Returns the rank whose helper the calling thread is; `None` on the ranks' thread.
#[inline]
pub fn owner() -> Option<u32> {
    if !now::has_helpers() {
        return None;
    }
    let owner = OWNER.get();
    (owner != NOBODY).then_some(owner)
}

/// Makes the calling thread a helper of `rank`.
pub(crate) fn set_owner(rank: u32) {
    OWNER.set(rank);
}

/// Returns the running rank if the calling thread runs it; `None` on a thread that a rank started.
#[inline]
pub fn caller() -> Option<u32> {
    if owner().is_some() { None } else { now::current() }
}

/// Returns what leaves its address when a rank blocks.
pub(crate) fn moved() -> u8 {
    MOVED.load(Relaxed)
}

/// Returns what the helpers of a rank share.
pub(crate) fn of(rank: u32) -> &'static Helpers {
    if let (known, Some(found)) = FOUND.get()
        && known == rank
    {
        return found;
    }
    let found = look_up(rank);
    FOUND.set((rank, Some(found)));
    found
}

fn look_up(rank: u32) -> &'static Helpers {
    let mut ranks = RANKS.lock().unwrap_or_else(PoisonError::into_inner);
    ranks.get_or_insert_default().entry(rank).or_insert_with(|| {
        Box::leak(Box::new(Helpers {
            own: AtomicUsize::new(0),
            offset_ns: AtomicI64::new(0),
            critical: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
        }))
    })
}

/// Keeps the memory of a rank that ends inside a parallel region: its team goes on until the process ends.
pub(crate) fn keep(rank: u32) {
    of(rank).own.fetch_add(1, SeqCst);
}

/// Returns `true` if threads that the rank's program started have not ended.
pub(crate) fn has_own(rank: u32) -> bool {
    now::has_helpers() && of(rank).own.load(SeqCst) != 0
}

/// Notes the running rank's virtual clock, for its helpers.
pub(crate) fn publish(ns: u64) {
    if let Some(rank) = now::current() {
        let offset = ns as i64 - kernel_ns(libc::CLOCK_MONOTONIC) as i64;
        of(rank).offset_ns.store(offset, Relaxed);
    }
}

/// Returns the clock that a helper of `rank` reads, in nanoseconds: the rank's when the rank last read it,
/// and the host's time since. Never goes back.
pub(crate) fn clock_ns(rank: u32) -> u64 {
    let offset = of(rank).offset_ns.load(Relaxed);
    let ns = (kernel_ns(libc::CLOCK_MONOTONIC) as i64).saturating_add(offset).max(0) as u64;
    let last = LAST_NS.get().max(ns);
    LAST_NS.set(last);
    last
}

/// Enters the calling rank's unnamed critical section; `false` if no rank calls.
pub fn enter_critical() -> bool {
    let Some(rank) = owner().or_else(now::current) else { return false };
    // SAFETY: a mutex of its own address for good. Each rank has its own: one that blocks in its section
    // keeps no other out.
    unsafe { libc::pthread_mutex_lock(of(rank).critical.get()) };
    true
}

/// Leaves the section that [`enter_critical`] entered; `false` if no rank calls.
pub fn leave_critical() -> bool {
    let Some(rank) = owner().or_else(now::current) else { return false };
    // SAFETY: locked by this thread.
    unsafe { libc::pthread_mutex_unlock(of(rank).critical.get()) };
    true
}

/// Returns `true` if there are so many helpers that a rank which blocks should give its idle team back.
pub(crate) fn is_crowded() -> bool {
    LIVE.load(Relaxed) >= MAX_HELPERS / 2
}

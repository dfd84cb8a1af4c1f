//! The running rank, and what a switch of ranks touches.

use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering::Relaxed};

/// The rank that is mounted while the scheduler calls one of its functions.
static SERVED: AtomicU32 = AtomicU32::new(NOBODY);

/// No rank.
pub(crate) const NOBODY: u32 = u32::MAX;

/// State that a switch touches, together in two cache lines. Its fields are atomics because safe code and
/// signal handlers read them; relaxed accesses cost the same as plain ones.
#[repr(C, align(64))]
struct Now {
    rank: AtomicU32,
    finished: AtomicU32,
    /// The stack in place: lowest usable address and base.
    limit: AtomicUsize,
    base: AtomicUsize,
    /// Stack pointer of the scheduler while a rank runs.
    home: AtomicUsize,
    /// The last MPI function: the address of its name, a `&'static &'static str`; 0 before the first.
    call: AtomicUsize,
    /// The thread's errno.
    errno: AtomicPtr<i32>,
    /// The thread's C++ exception state (16 bytes), or null without a C++ runtime.
    exceptions: AtomicPtr<[usize; 2]>,
    status: AtomicI32,
    /// The state beside errno and exceptions that a rank takes along when it blocks: [`LIBC`], [`TEAMS`],
    /// [`HELPERS`], [`PRIVATE`].
    extras: AtomicU8,
}

/// The C library's state in place differs from a fresh process's.
const LIBC: u8 = 1;
/// An OpenMP runtime is loaded.
const TEAMS: u8 = 2;
/// Ranks have started threads.
const HELPERS: u8 = 4;
/// A rank has process state of its own (`process_state`).
const PRIVATE: u8 = 8;

static NOW: Now = Now {
    rank: AtomicU32::new(NOBODY),
    finished: AtomicU32::new(0),
    limit: AtomicUsize::new(0),
    base: AtomicUsize::new(0),
    home: AtomicUsize::new(0),
    call: AtomicUsize::new(0),
    errno: AtomicPtr::new(std::ptr::null_mut()),
    exceptions: AtomicPtr::new(std::ptr::null_mut()),
    status: AtomicI32::new(0),
    extras: AtomicU8::new(0),
};

/// Returns the rank (local number) that is mounted and running its own code now, if any.
#[inline]
pub fn current() -> Option<u32> {
    let rank = NOW.rank.load(Relaxed);
    (rank != NOBODY).then_some(rank)
}

/// Returns where the number of the rank that runs is, for debuggers.
pub(crate) fn number() -> usize {
    NOW.rank.as_ptr() as usize
}

/// Returns `true` once a rank has had a stack of its own in this process.
pub(crate) fn is_any_started() -> bool {
    NOW.base.load(Relaxed) != 0
}

/// Returns the rank for which the scheduler calls a function of the program now, if any.
pub(crate) fn served() -> Option<u32> {
    let rank = SERVED.load(Relaxed);
    (rank != NOBODY).then_some(rank)
}

/// Says for whom the scheduler calls functions.
pub(crate) fn serve(rank: u32) {
    SERVED.store(rank, Relaxed);
}

/// Says who runs, and which memory is its stack.
#[inline]
pub(crate) fn mount(rank: u32, limit: usize, base: usize) {
    NOW.limit.store(limit, Relaxed);
    NOW.base.store(base, Relaxed);
    NOW.rank.store(rank, Relaxed);
}

/// Values of `finished`: the rank has ended; it has changed something that concerns its scheduler.
const ENDED: u32 = 1;
const CHANGED: u32 = 2;

/// Marks the running rank, so that the scheduler notices, when the rank gives the processor back, what it has
/// changed for it.
pub(crate) fn notice() {
    NOW.finished.store(CHANGED, Relaxed);
}

/// Records that no rank runs any more. Returns `true` if the rank that did has ended or given notice: see
/// [`take_end`].
#[inline(always)]
pub(crate) fn unmount() -> bool {
    NOW.rank.store(NOBODY, Relaxed);
    NOW.finished.load(Relaxed) != 0
}

/// Returns the exit status of the rank that ran, if it has ended.
pub(crate) fn take_end() -> Option<i32> {
    (NOW.finished.swap(0, Relaxed) == ENDED).then(|| NOW.status.load(Relaxed))
}

/// Returns `true` if the running rank has ended and only hands the processor back.
pub(crate) fn is_ending() -> bool {
    NOW.finished.load(Relaxed) != 0
}

/// Marks the rank as ended with this status.
pub(crate) fn end(status: i32) {
    NOW.status.store(status, Relaxed);
    NOW.finished.store(ENDED, Relaxed);
}

/// Returns where a switch keeps the pointer to the scheduler's stack.
#[inline(always)]
pub(crate) fn home() -> *mut usize {
    NOW.home.as_ptr()
}

/// Returns the stack in place: lowest usable address and base; nothing lies between them while no rank has a
/// stack.
#[inline]
pub fn bounds() -> (usize, usize) {
    (NOW.limit.load(Relaxed), NOW.base.load(Relaxed))
}

/// Notes the MPI function the running rank is in, for crash reports. Never cleared: after the
/// call returns it is the last call that the rank made.
#[inline]
pub fn note_call(name: &'static &'static str) {
    NOW.call.store(std::ptr::from_ref(name) as usize, Relaxed);
}

/// Set in `call`, whose addresses are even, by the watchdog; any later call or switch stores one without it.
const STALE: usize = 1;

/// Marks the current moment for [`called_since_mark`].
pub(crate) fn mark() {
    NOW.call.fetch_or(STALE, Relaxed);
}

/// Returns `true` if an MPI call or a switch between ranks happened since [`mark`].
pub(crate) fn called_since_mark() -> bool {
    NOW.call.load(Relaxed) & STALE == 0
}

/// Returns the last name given to [`note_call`] by the running rank.
pub fn last_call() -> Option<&'static str> {
    let name = (NOW.call.load(Relaxed) & !STALE) as *const &'static str;
    // SAFETY: null, or the address that `note_call` was given.
    unsafe { name.as_ref() }.copied()
}

/// Returns what [`note_call`] was given last, to be given to [`set_call`] when the rank goes on.
#[inline(always)]
pub(crate) fn call() -> usize {
    NOW.call.load(Relaxed) & !STALE
}

/// Sets the call that the running rank made last; 0 for none.
#[inline(always)]
pub(crate) fn set_call(call: usize) {
    NOW.call.store(call, Relaxed);
}

/// Returns `true` if a rank that blocks may have to take more along than errno and the state of exceptions.
#[inline(always)]
pub(crate) fn has_extras() -> bool {
    NOW.extras.load(Relaxed) != 0
}

/// Returns `true` if the C library's state in place differs from a fresh process's.
#[inline]
pub(crate) fn uses_libc_state() -> bool {
    NOW.extras.load(Relaxed) & LIBC != 0
}

/// Notes whether the C library's state in place differs from a fresh process's.
pub(crate) fn use_libc_state(used: bool) {
    if used {
        NOW.extras.fetch_or(LIBC, Relaxed);
    } else if uses_libc_state() {
        NOW.extras.fetch_and(!LIBC, Relaxed);
    }
}

/// Notes that an OpenMP runtime is loaded.
pub(crate) fn set_teams() {
    NOW.extras.fetch_or(TEAMS, Relaxed);
}

/// Returns `true` if an OpenMP runtime is loaded.
pub(crate) fn has_teams() -> bool {
    NOW.extras.load(Relaxed) & TEAMS != 0
}

/// Notes that a rank has started a thread.
pub(crate) fn set_helpers() {
    NOW.extras.fetch_or(HELPERS, Relaxed);
}

/// Returns `true` if a rank has started a thread.
#[inline]
pub(crate) fn has_helpers() -> bool {
    NOW.extras.load(Relaxed) & HELPERS != 0
}

/// Notes that a rank has process state of its own.
pub(crate) fn mark_private() {
    NOW.extras.fetch_or(PRIVATE, Relaxed);
}

/// Returns `true` if a rank has process state of its own.
#[inline]
pub(crate) fn has_private() -> bool {
    NOW.extras.load(Relaxed) & PRIVATE != 0
}

/// Sets the addresses of the thread's errno and of its C++ exception state (null without a C++ runtime).
pub(crate) fn set_thread_state(errno: *mut i32, exceptions: *mut [usize; 2]) {
    NOW.errno.store(errno, Relaxed);
    NOW.exceptions.store(exceptions, Relaxed);
}

/// Returns `true` on the thread that runs ranks.
#[inline]
pub(crate) fn is_simulating_thread() -> bool {
    // SAFETY: always returns the address of the calling thread's errno.
    NOW.errno.load(Relaxed) == unsafe { libc::__errno_location() }
}

/// Returns the thread's errno.
#[inline(always)]
pub(crate) fn errno() -> i32 {
    // SAFETY: set by `set_thread_state` before any rank runs, to an address that lives as long as the thread.
    unsafe { *NOW.errno.load(Relaxed) }
}

/// Sets the thread's errno.
#[inline(always)]
pub(crate) fn set_errno(errno: i32) {
    // SAFETY: as in `errno`.
    unsafe { *NOW.errno.load(Relaxed) = errno };
}

/// Returns the thread's C++ exception state; zeros without a C++ runtime.
#[inline]
pub(crate) fn exceptions() -> [usize; 2] {
    let exceptions = NOW.exceptions.load(Relaxed);
    // SAFETY: null or the thread's 16 bytes, set by `set_thread_state`.
    if exceptions.is_null() { [0; 2] } else { unsafe { *exceptions } }
}

#[inline]
pub(crate) fn set_exceptions(state: [usize; 2]) {
    let exceptions = NOW.exceptions.load(Relaxed);
    if !exceptions.is_null() {
        // SAFETY: as in `exceptions`.
        unsafe { *exceptions = state };
    }
}

/// Adds so many exceptions of the thread that are thrown and not caught.
pub(crate) fn count_exceptions(by: i32) {
    let [caught, uncaught] = exceptions();
    // The count is an `unsigned int`; what lies behind it stays.
    let count = (uncaught as u32).wrapping_add_signed(by);
    set_exceptions([caught, (uncaught & !0xffff_ffff) | count as usize]);
}

//! The rank that runs now, seen from its own stack.

use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering::Relaxed};

use crate::libc_state;
use crate::stack::switch;

/// The rank that is mounted while the scheduler calls one of its functions.
static SERVED: AtomicU32 = AtomicU32::new(NOBODY);

/// No rank.
pub(crate) const NOBODY: u32 = u32::MAX;

/// What a switch touches, together in two cache lines. Atomics because safe code and signal handlers
/// read them; relaxed accesses cost what plain ones do.
#[repr(C, align(64))]
struct Now {
    rank: AtomicU32,
    finished: AtomicU32,
    /// The stack in place: lowest usable address and base.
    limit: AtomicUsize,
    base: AtomicUsize,
    /// Where the scheduler's stack is while a rank runs.
    home: AtomicUsize,
    /// The last MPI function: the address of its name, a `&'static &'static str`; 0 before the first.
    call: AtomicUsize,
    /// The thread's errno.
    errno: AtomicPtr<i32>,
    /// The thread's C++ exception state (16 bytes), or null without a C++ runtime.
    exceptions: AtomicPtr<[usize; 2]>,
    status: AtomicI32,
}

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
};

/// The rank (local number) that is mounted and running its own code now, if any.
#[inline]
pub fn current() -> Option<u32> {
    let rank = NOW.rank.load(Relaxed);
    (rank != NOBODY).then_some(rank)
}

/// The rank for which the scheduler calls a function of the program now, if any.
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

/// Nobody runs any more; the exit status if the rank that did has finished.
#[inline(always)]
pub(crate) fn unmount() -> Option<i32> {
    NOW.rank.store(NOBODY, Relaxed);
    if NOW.finished.load(Relaxed) == 0 {
        return None;
    }
    NOW.finished.store(0, Relaxed);
    Some(NOW.status.load(Relaxed))
}

/// Where a switch keeps the pointer to the scheduler's stack.
#[inline(always)]
pub(crate) fn home() -> *mut usize {
    NOW.home.as_ptr()
}

/// The stack in place: lowest usable address and base.
#[inline]
pub(crate) fn bounds() -> (usize, usize) {
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

/// Whether an MPI call or a switch between ranks happened since [`mark`].
pub(crate) fn called_since_mark() -> bool {
    NOW.call.load(Relaxed) & STALE == 0
}

/// The last name given to [`note_call`] by the running rank.
pub fn last_call() -> Option<&'static str> {
    let name = (NOW.call.load(Relaxed) & !STALE) as *const &'static str;
    // SAFETY: null, or the address that `note_call` was given.
    unsafe { name.as_ref() }.copied()
}

/// Finds the thread's `errno` and C++ exception state, once, before the first rank runs.
pub(crate) fn find_thread_state() {
    libc_state::find();
    // SAFETY: always returns the address of this thread's errno, which lives as long as the thread.
    NOW.errno.store(unsafe { libc::__errno_location() }, Relaxed);
    // SAFETY: `dlsym` with a valid name; a null result means that no C++ runtime is loaded.
    let globals = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr()) };
    if !globals.is_null() {
        // SAFETY: the Itanium C++ ABI gives this symbol the type below; the result is 16 bytes
        // (caughtExceptions, uncaughtExceptions) of this thread.
        let globals: extern "C" fn() -> *mut [usize; 2] = unsafe { std::mem::transmute(globals) };
        NOW.exceptions.store(globals(), Relaxed);
    }
}

/// What libc and the C++ runtime keep in one place for the thread but belongs to a rank. It is kept on
/// the rank's own stack while the rank is suspended, so that it costs no table.
struct ThreadState {
    call: usize,
    /// What few ranks have, on the heap.
    rare: Option<Box<Rare>>,
    errno: i32,
}

/// State that most ranks leave as it was when they began.
struct Rare {
    exceptions: [usize; 2],
    libc: libc_state::State,
}

impl Rare {
    #[cold]
    #[inline(never)]
    fn save(exceptions: [usize; 2]) -> Option<Box<Rare>> {
        Some(Box::new(Rare { exceptions, libc: libc_state::State::save() }))
    }

    #[cold]
    #[inline(never)]
    fn restore(rare: Option<Box<Rare>>) {
        let rare = rare.map_or(Rare { exceptions: [0; 2], libc: libc_state::State::fresh() }, |rare| *rare);
        rare.libc.restore();
        set_exceptions(rare.exceptions);
    }
}

/// The thread's C++ exception state; zeros without a C++ runtime.
#[inline]
fn exceptions() -> [usize; 2] {
    let exceptions = NOW.exceptions.load(Relaxed);
    // SAFETY: null or the thread's 16 bytes, set by `find_thread_state`.
    if exceptions.is_null() { [0; 2] } else { unsafe { *exceptions } }
}

#[inline]
fn set_exceptions(state: [usize; 2]) {
    let exceptions = NOW.exceptions.load(Relaxed);
    if !exceptions.is_null() {
        // SAFETY: as in `exceptions`.
        unsafe { *exceptions = state };
    }
}

/// So many more exceptions of the thread are thrown and not caught.
pub(crate) fn count_exceptions(by: i32) {
    let [caught, uncaught] = exceptions();
    // The count is an `unsigned int`; what lies behind it stays.
    let count = (uncaught as u32).wrapping_add_signed(by);
    set_exceptions([caught, (uncaught & !0xffff_ffff) | count as usize]);
}

impl ThreadState {
    #[inline(always)]
    fn save() -> ThreadState {
        let exceptions = exceptions();
        let is_rare = exceptions != [0; 2] || libc_state::is_used();
        ThreadState {
            call: NOW.call.load(Relaxed) & !STALE,
            rare: if is_rare { Rare::save(exceptions) } else { None },
            // SAFETY: set by `find_thread_state` before any rank runs.
            errno: unsafe { *NOW.errno.load(Relaxed) },
        }
    }

    #[inline(always)]
    fn restore(&mut self) {
        NOW.call.store(self.call, Relaxed);
        // SAFETY: as in `save`.
        unsafe { *NOW.errno.load(Relaxed) = self.errno };
        if self.rare.is_some() || exceptions() != [0; 2] || libc_state::is_used() {
            Rare::restore(self.rare.take());
        }
    }
}

/// Blocks the running rank: returns when the scheduler resumes it.
///
/// # Panics
/// If no rank is running, or if the caller is on a stack of its own (a user-level thread of the
/// program, another thread): only the rank's own stack can be suspended.
// Always, as for `Ranks::resume`.
#[inline(always)]
pub fn suspend() {
    let here = 0u8;
    if current().is_none() || !is_on_stack(&raw const here as usize) {
        refuse();
    }
    let mut state = ThreadState::save();
    // SAFETY: a rank is running on its own stack (checked above).
    unsafe { switch::leave() };
    state.restore();
}

#[inline]
fn is_on_stack(address: usize) -> bool {
    let (limit, base) = bounds();
    address.wrapping_sub(limit) < base.wrapping_sub(limit)
}

#[cold]
#[inline(never)]
fn refuse() -> ! {
    panic!("{}", cannot_suspend().unwrap_or("a rank is suspended while nothing speaks against it"))
}

/// Why [`suspend`] would panic now, as a sentence for the user; `None` if it can suspend.
pub fn cannot_suspend() -> Option<&'static str> {
    if current().is_none() {
        return Some("a blocking call was made while no rank is running; make it from main or from what main calls");
    }
    let here = 0u8;
    if !is_on_stack(&raw const here as usize) {
        return Some(
            "a blocking call was made on a stack that is not the rank's own (another thread, or a coroutine of the program); \
             make MPI calls from the thread and stack that run main",
        );
    }
    None
}

/// First thing on a new rank's stack.
pub(crate) fn entered() {
    NOW.call.store(0, Relaxed);
    libc_state::reset();
    // SAFETY: set by `find_thread_state`; a new rank starts with no error.
    unsafe { *NOW.errno.load(Relaxed) = 0 };
    set_exceptions([0; 2]);
}

/// Ends the running rank as `exit(status)` would: its handlers, destructors and output, then it
/// is never resumed. The process and the other ranks go on.
pub fn exit_current(status: i32) -> ! {
    crate::lifecycle::leave(status, true)
}

/// Hands the processor back for the last time.
pub(crate) fn finish(status: i32) -> ! {
    NOW.status.store(status, Relaxed);
    NOW.finished.store(1, Relaxed);
    loop {
        suspend();
    }
}

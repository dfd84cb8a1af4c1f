//! The rank that runs now, seen from its own stack.

use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering::Relaxed};

use corosensei::Yielder;

use crate::{libc_state, stack};

/// No rank.
pub(crate) const NOBODY: u32 = u32::MAX;

// Atomics because safe code reads them; relaxed accesses cost what plain ones do.
static CURRENT: AtomicU32 = AtomicU32::new(NOBODY);
static YIELDER: AtomicPtr<Yielder<(), ()>> = AtomicPtr::new(std::ptr::null_mut());
static FINISHED: AtomicU32 = AtomicU32::new(0);
static STATUS: AtomicI32 = AtomicI32::new(0);
static CALL: AtomicUsize = AtomicUsize::new(0);
static CALL_LEN: AtomicUsize = AtomicUsize::new(0);
static ERRNO: AtomicPtr<i32> = AtomicPtr::new(std::ptr::null_mut());
static EXCEPTIONS: AtomicPtr<[usize; 2]> = AtomicPtr::new(std::ptr::null_mut());

/// The rank (local number) that is mounted and running its own code now, if any.
#[inline]
pub fn current() -> Option<u32> {
    let rank = CURRENT.load(Relaxed);
    (rank != NOBODY).then_some(rank)
}

#[inline]
pub(crate) fn set_current(rank: u32) {
    CURRENT.store(rank, Relaxed);
}

/// Notes the MPI function the running rank is in, for crash reports. Never cleared: after the
/// call returns it is the last call that the rank made.
#[inline]
pub fn note_call(name: &'static str) {
    CALL_LEN.store(name.len(), Relaxed);
    CALL.store(name.as_ptr() as usize, Relaxed);
}

/// Set in `CALL_LEN` by the watchdog; any later call or switch stores a length without it.
const STALE: usize = 1 << (usize::BITS - 1);

/// Marks the current moment for [`called_since_mark`].
pub(crate) fn mark() {
    CALL_LEN.fetch_or(STALE, Relaxed);
}

/// Whether an MPI call or a switch between ranks happened since [`mark`].
pub(crate) fn called_since_mark() -> bool {
    CALL_LEN.load(Relaxed) & STALE == 0
}

/// The last name given to [`note_call`] since the running rank was resumed.
pub fn last_call() -> Option<&'static str> {
    let at = CALL.load(Relaxed);
    // SAFETY: address and length were stored from one `&'static str` by `note_call`; a signal
    // between its two stores can pair a name with another's length only if the length was
    // stored first, so the pair is re-made below from the name alone if it is not valid text.
    let bytes = (at != 0).then(|| unsafe { std::slice::from_raw_parts(at as *const u8, CALL_LEN.load(Relaxed) & !STALE) })?;
    std::str::from_utf8(bytes).ok()
}

/// Finds the thread's `errno` and C++ exception state, once, before the first rank runs.
pub(crate) fn find_thread_state() {
    libc_state::find();
    // SAFETY: always returns the address of this thread's errno, which lives as long as the thread.
    ERRNO.store(unsafe { libc::__errno_location() }, Relaxed);
    // SAFETY: `dlsym` with a valid name; a null result means that no C++ runtime is loaded.
    let globals = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr()) };
    if !globals.is_null() {
        // SAFETY: the Itanium C++ ABI gives this symbol the type below; the result is 16 bytes
        // (caughtExceptions, uncaughtExceptions) of this thread.
        let globals: extern "C" fn() -> *mut [usize; 2] = unsafe { std::mem::transmute(globals) };
        EXCEPTIONS.store(globals(), Relaxed);
    }
}

/// What libc and the C++ runtime keep in one place for the thread but belongs to a rank. It is kept on
/// the rank's own stack while the rank is suspended, so that it costs no table.
struct ThreadState {
    errno: i32,
    exceptions: [usize; 2],
    yielder: *mut Yielder<(), ()>,
    call: (usize, usize),
    libc: libc_state::State,
}

impl ThreadState {
    #[inline]
    fn save() -> ThreadState {
        let exceptions = EXCEPTIONS.load(Relaxed);
        ThreadState {
            // SAFETY: set by `find_thread_state` before any rank runs.
            errno: unsafe { *ERRNO.load(Relaxed) },
            // SAFETY: null or the thread's 16 bytes, set by `find_thread_state`.
            exceptions: if exceptions.is_null() { [0; 2] } else { unsafe { *exceptions } },
            yielder: YIELDER.load(Relaxed),
            call: (CALL.load(Relaxed), CALL_LEN.load(Relaxed) & !STALE),
            libc: libc_state::State::save(),
        }
    }

    #[inline]
    fn restore(&self) {
        YIELDER.store(self.yielder, Relaxed);
        CALL.store(self.call.0, Relaxed);
        CALL_LEN.store(self.call.1, Relaxed);
        self.libc.restore();
        let exceptions = EXCEPTIONS.load(Relaxed);
        // SAFETY: as in `save`.
        unsafe {
            *ERRNO.load(Relaxed) = self.errno;
            if !exceptions.is_null() {
                *exceptions = self.exceptions;
            }
        }
    }
}

/// Blocks the running rank: returns when the scheduler resumes it.
///
/// # Panics
/// If no rank is running, or if the caller is on a stack of its own (a user-level thread of the
/// program, another thread): only the rank's own stack can be suspended.
#[inline]
pub fn suspend() {
    if let Some(why) = cannot_suspend() {
        panic!("{why}");
    }
    let state = ThreadState::save();
    // SAFETY: `cannot_suspend` found a rank running on its own stack; its coroutine stored the
    // yielder, which lives at the top of that stack as long as the coroutine.
    unsafe { (*state.yielder).suspend(()) };
    state.restore();
}

/// Why [`suspend`] would panic now, as a sentence for the user; `None` if it can suspend.
#[inline]
pub fn cannot_suspend() -> Option<&'static str> {
    if current().is_none() {
        return Some("a blocking call was made while no rank is running; make it from main or from what main calls");
    }
    let here = 0u8;
    if !stack::running_contains(&raw const here as usize) {
        return Some(
            "a blocking call was made on a stack that is not the rank's own (another thread, or a coroutine of the program); \
             make MPI calls from the thread and stack that run main",
        );
    }
    None
}

/// First thing on a new rank's stack.
pub(crate) fn entered(yielder: &Yielder<(), ()>) {
    YIELDER.store(std::ptr::from_ref(yielder).cast_mut(), Relaxed);
    CALL.store(0, Relaxed);
    CALL_LEN.store(0, Relaxed);
    libc_state::reset();
    let exceptions = EXCEPTIONS.load(Relaxed);
    // SAFETY: set by `find_thread_state`; a new rank starts with no error and no exception.
    unsafe {
        *ERRNO.load(Relaxed) = 0;
        if !exceptions.is_null() {
            *exceptions = [0; 2];
        }
    }
}

/// Ends the running rank as `exit(status)` would: its handlers, destructors and output, then it
/// is never resumed. The process and the other ranks go on.
pub fn exit_current(status: i32) -> ! {
    crate::lifecycle::leave(status, true)
}

/// Hands the processor back for the last time.
pub(crate) fn finish(status: i32) -> ! {
    STATUS.store(status, Relaxed);
    FINISHED.store(1, Relaxed);
    loop {
        suspend();
    }
}

/// Whether the rank that just handed back finished, and with what status; clears the mark.
#[inline]
pub(crate) fn take_finished() -> Option<i32> {
    if FINISHED.load(Relaxed) == 0 {
        return None;
    }
    FINISHED.store(0, Relaxed);
    Some(STATUS.load(Relaxed))
}

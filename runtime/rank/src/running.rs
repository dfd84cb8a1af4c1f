//! How the rank that runs now blocks and ends, seen from its own stack.

use crate::libc_state;
use crate::now::{self, current};
use crate::stack::switch;

/// Finds the thread's `errno` and C++ exception state, once, before the first rank runs.
pub(crate) fn find_thread_state() {
    libc_state::find();
    // SAFETY: `dlsym` with a valid name; a null result means that no C++ runtime is loaded.
    let globals = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr()) };
    let exceptions = if globals.is_null() {
        std::ptr::null_mut()
    } else {
        // SAFETY: the Itanium C++ ABI gives this symbol the type below; the result is 16 bytes
        // (caughtExceptions, uncaughtExceptions) of this thread.
        let globals: extern "C" fn() -> *mut [usize; 2] = unsafe { std::mem::transmute(globals) };
        globals()
    };
    // SAFETY: always returns the address of this thread's errno, which lives as long as the thread.
    now::set_thread_state(unsafe { libc::__errno_location() }, exceptions);
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
        now::set_exceptions(rare.exceptions);
    }
}

impl ThreadState {
    #[inline(always)]
    fn save() -> ThreadState {
        let exceptions = now::exceptions();
        let is_rare = exceptions != [0; 2] || libc_state::is_used();
        ThreadState { call: now::call(), rare: if is_rare { Rare::save(exceptions) } else { None }, errno: now::errno() }
    }

    #[inline(always)]
    fn restore(&mut self) {
        now::set_call(self.call);
        now::set_errno(self.errno);
        if self.rare.is_some() || now::exceptions() != [0; 2] || libc_state::is_used() {
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
    let (limit, base) = now::bounds();
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
    now::set_call(0);
    libc_state::reset();
    now::set_errno(0);
    now::set_exceptions([0; 2]);
}

/// Hands the processor back for the last time.
pub(crate) fn finish(status: i32) -> ! {
    now::end(status);
    loop {
        suspend();
    }
}

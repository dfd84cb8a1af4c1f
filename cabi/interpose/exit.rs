//! Ends of a rank: `exit` and its relatives end the rank, not the process.

use std::ffi::{c_int, c_void};

use rank::lifecycle::{self, Handler, HandlerPhase};
use rank::next::NextSymbol;

type Exit = unsafe extern "C" fn(c_int) -> !;
static EXIT: NextSymbol = NextSymbol::new(c"exit");
static EXIT_NOW: NextSymbol = NextSymbol::new(c"_exit");
static QUICK_EXIT: NextSymbol = NextSymbol::new(c"quick_exit");

/// Ends the running rank with its handlers; outside ranks, the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn exit(status: c_int) -> ! {
    if lifecycle::rank_calls() {
        lifecycle::leave(status, true)
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { EXIT.get::<Exit>()(status) }
}

/// Ends the running rank without handlers; outside ranks, the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    if lifecycle::rank_calls() {
        lifecycle::leave(status, false)
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { EXIT_NOW.get::<Exit>()(status) }
}

/// C's name for `_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    // SAFETY: the same contract.
    unsafe { _exit(status) }
}

/// Ends the running rank with the handlers of `at_quick_exit`; outside ranks, the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quick_exit(status: c_int) -> ! {
    if lifecycle::rank_calls() {
        lifecycle::leave_quickly(status)
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { QUICK_EXIT.get::<Exit>()(status) }
}

type Destructor = unsafe extern "C" fn(*mut c_void);
type Register = unsafe extern "C" fn(Destructor, *mut c_void, *mut c_void) -> c_int;

macro_rules! registers {
    ($(#[$doc:meta])* $name:ident, $at:expr, $symbol:expr) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(function: Destructor, object: *mut c_void, dso: *mut c_void) -> c_int {
            static REAL: NextSymbol = NextSymbol::new($symbol);
            if lifecycle::register($at, Handler::Object(function, object as usize), dso as usize) {
                return 0;
            }
            // SAFETY: the C library's function of this name and type.
            unsafe { REAL.get::<Register>()(function, object, dso) }
        }
    };
}
registers!(
    /// `atexit` and destructors of static objects.
    __cxa_atexit, HandlerPhase::Exit, c"__cxa_atexit");
registers!(
    /// Destructors of `thread_local` objects.
    __cxa_thread_atexit_impl, HandlerPhase::ThreadEnd, c"__cxa_thread_atexit_impl");

type Quick = unsafe extern "C" fn(Destructor, *mut c_void) -> c_int;
/// `at_quick_exit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cxa_at_quick_exit(function: Destructor, dso: *mut c_void) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"__cxa_at_quick_exit");
    if lifecycle::register(HandlerPhase::QuickExit, Handler::Object(function, 0), dso as usize) {
        return 0;
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<Quick>()(function, dso) }
}

type WithStatus = unsafe extern "C" fn(c_int, *mut c_void);
/// `atexit` with the exit status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn on_exit(function: WithStatus, argument: *mut c_void) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"on_exit");
    if lifecycle::register(HandlerPhase::Exit, Handler::WithStatus(function, argument as usize), 0) {
        return 0;
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(WithStatus, *mut c_void) -> c_int>()(function, argument) }
}

/// Exceptions in a clone of the program find its unwind tables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _dl_find_object(address: *mut c_void, found: *mut rank::FoundObject) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"_dl_find_object");
    // SAFETY: glibc's function of this name, with its own arguments.
    unsafe { rank::find_object(address as usize, found, REAL.get()) }
}

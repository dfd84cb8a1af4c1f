//! Threads that a rank starts are noted as its helpers.

#![allow(non_snake_case, reason = "names of GCC's OpenMP runtime")]

use std::ffi::{c_int, c_void};

use rank::next::NextSymbol;
use rank::threads::{self, Routine};

/// Starts a thread of a rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    function: Routine,
    argument: *mut c_void,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"pthread_create");
    type Create = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        Routine,
        *mut c_void,
    ) -> c_int;
    // SAFETY: the C library's function of this name and type.
    let real: Create = unsafe { REAL.get() };
    let Some(start) = threads::prepare(function, argument) else {
        // SAFETY: the caller's own arguments.
        return unsafe { real(thread, attributes, function, argument) };
    };
    let start = Box::into_raw(start);
    // SAFETY: the caller's own place and attributes; `run` takes the boxed start, once.
    unsafe {
        let status = real(thread, attributes, threads::run, start.cast());
        if status != 0 {
            drop(Box::from_raw(start));
        }
        status
    }
}

/// A thread's function, as C11 has it.
type Plain = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// Starts a thread of a rank, as C11 has it: its function returns a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(
    thread: *mut libc::pthread_t,
    function: Plain,
    argument: *mut c_void,
) -> c_int {
    const SUCCESS: c_int = 0;
    const NO_MEMORY: c_int = 3;
    const ERROR: c_int = 2;
    static REAL: NextSymbol = NextSymbol::new(c"thrd_create");
    if rank::current().is_none() {
        type Create = unsafe extern "C" fn(*mut libc::pthread_t, Plain, *mut c_void) -> c_int;
        // SAFETY: the C library's function of this name and type, with the caller's own arguments.
        return unsafe { REAL.get::<Create>()(thread, function, argument) };
    }
    // SAFETY: a `thrd_t` is a `pthread_t` in glibc, and `thrd_join` takes the low half of the result's word
    // for the number.
    let status = unsafe {
        pthread_create(thread, std::ptr::null(), std::mem::transmute::<Plain, Routine>(function), argument)
    };
    match status {
        0 => SUCCESS,
        libc::ENOMEM => NO_MEMORY,
        _ => ERROR,
    }
}

/// OpenMP's unnamed critical sections keep threads of one rank apart, and not ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_critical_start() {
    static REAL: NextSymbol = NextSymbol::new(c"GOMP_critical_start");
    if !threads::enter_critical() {
        // SAFETY: the OpenMP runtime's function of this name and type.
        unsafe { REAL.get::<unsafe extern "C" fn()>()() };
    }
}

/// Leaves the rank's own critical section, like `GOMP_critical_start` enters it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_critical_end() {
    static REAL: NextSymbol = NextSymbol::new(c"GOMP_critical_end");
    if !threads::leave_critical() {
        // SAFETY: the OpenMP runtime's function of this name and type.
        unsafe { REAL.get::<unsafe extern "C" fn()>()() };
    }
}

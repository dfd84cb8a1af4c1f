//! Clocks and sleeping: a rank lives in virtual time.

use std::ffi::{c_char, c_int, c_uint};

use rank::clock;
use rank::next::NextSymbol;

use super::stdio::fail;

/// All clocks of a rank are virtual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(which: libc::clockid_t, at: *mut libc::timespec) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"clock_gettime");
    if let Some(time) = clock::read(which) {
        // SAFETY: the caller passes a timespec.
        unsafe { at.write(time) };
        return 0;
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int>()(which, at) }
}

/// Behaves as `clock_gettime`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(at: *mut libc::timeval, zone: *mut c_char) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"gettimeofday");
    if let Some(time) = clock::read(libc::CLOCK_REALTIME) {
        if !at.is_null() {
            // SAFETY: the caller passes a timeval, or null.
            unsafe { at.write(libc::timeval { tv_sec: time.tv_sec, tv_usec: time.tv_nsec / 1000 }) };
        }
        return 0;
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(*mut libc::timeval, *mut c_char) -> c_int>()(at, zone) }
}

/// Behaves as `clock_gettime`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(at: *mut libc::time_t) -> libc::time_t {
    static REAL: NextSymbol = NextSymbol::new(c"time");
    let Some(time) = clock::read(libc::CLOCK_REALTIME) else {
        // SAFETY: the C library's function of this name and type.
        return unsafe { REAL.get::<unsafe extern "C" fn(*mut libc::time_t) -> libc::time_t>()(at) };
    };
    if !at.is_null() {
        // SAFETY: the caller passes a time_t, or null.
        unsafe { at.write(time.tv_sec) };
    }
    time.tv_sec
}

/// Behaves as `clock_gettime`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timespec_get(at: *mut libc::timespec, base: c_int) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"timespec_get");
    const TIME_UTC: c_int = 1;
    match clock::read(libc::CLOCK_REALTIME) {
        Some(time) if base == TIME_UTC => {
            // SAFETY: the caller passes a timespec.
            unsafe { at.write(time) };
            base
        }
        Some(_) => 0,
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<unsafe extern "C" fn(*mut libc::timespec, c_int) -> c_int>()(at, base) },
    }
}

/// A rank's processor time is its virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock() -> libc::clock_t {
    static REAL: NextSymbol = NextSymbol::new(c"clock");
    match clock::now_ns() {
        Some(ns) => (ns / 1000) as libc::clock_t,
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<unsafe extern "C" fn() -> libc::clock_t>()() },
    }
}

/// A rank's processor time is its virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn times(at: *mut libc::tms) -> libc::clock_t {
    static REAL: NextSymbol = NextSymbol::new(c"times");
    /// `sysconf(_SC_CLK_TCK)` is 100 on Linux.
    const NS_PER_TICK: u64 = 10_000_000;
    let Some(ns) = clock::now_ns() else {
        // SAFETY: the C library's function of this name and type.
        return unsafe { REAL.get::<unsafe extern "C" fn(*mut libc::tms) -> libc::clock_t>()(at) };
    };
    let ticks = (ns / NS_PER_TICK) as libc::clock_t;
    if !at.is_null() {
        // SAFETY: the caller passes a tms, or null.
        unsafe { at.write(libc::tms { tms_utime: ticks, tms_stime: 0, tms_cutime: 0, tms_cstime: 0 }) };
    }
    ticks
}

/// A rank's processor time is its virtual time; the rest is the process's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrusage(who: c_int, usage: *mut libc::rusage) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"getrusage");
    // SAFETY: the C library's function of this name and type.
    let result = unsafe { REAL.get::<unsafe extern "C" fn(c_int, *mut libc::rusage) -> c_int>()(who, usage) };
    if let Some(ns) = clock::now_ns()
        && result == 0
        && who != libc::RUSAGE_CHILDREN
    {
        // SAFETY: the C library just filled it.
        unsafe {
            (*usage).ru_utime = libc::timeval {
                tv_sec: (ns / 1_000_000_000) as i64,
                tv_usec: (ns / 1000 % 1_000_000) as i64,
            };
            (*usage).ru_stime = libc::timeval { tv_sec: 0, tv_usec: 0 };
        }
    }
    result
}

fn invalid() -> c_int {
    fail(libc::EINVAL)
}

/// Answers a sleep of which so many nanoseconds are left: a signal has ended it early, if any.
pub(super) fn slept(left: u64) -> c_int {
    if left == 0 { 0 } else { fail(libc::EINTR) }
}

/// Nanoseconds of a `timeval`; `None` if it is not a valid length.
pub(super) fn length(time: &libc::timeval) -> Option<u64> {
    clock::length(&libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec.checked_mul(1000)? })
}

/// Writes what a signal has left of a sleep, if anything, where the caller wants to know.
///
/// # Safety
/// `left` is null or has room for a timespec.
unsafe fn give_left(unslept: u64, left: *mut libc::timespec) {
    if unslept > 0 && !left.is_null() {
        // SAFETY: as above.
        unsafe { left.write(timespec(unslept)) };
    }
}

/// Nanoseconds as a length of time.
pub(super) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

/// A rank sleeps in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    static REAL: NextSymbol = NextSymbol::new(c"sleep");
    if let Some(left) = clock::nap(u64::from(seconds) * 1_000_000_000) {
        return left.div_ceil(1_000_000_000) as c_uint;
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(c_uint) -> c_uint>()(seconds) }
}

/// A rank sleeps in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn usleep(microseconds: c_uint) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"usleep");
    if let Some(left) = clock::nap(u64::from(microseconds) * 1000) {
        return slept(left);
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(c_uint) -> c_int>()(microseconds) }
}

/// A rank sleeps in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(length: *const libc::timespec, left: *mut libc::timespec) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"nanosleep");
    if rank::caller().is_none() || length.is_null() {
        // SAFETY: the C library's function of this name and type.
        return unsafe {
            REAL.get::<unsafe extern "C" fn(*const libc::timespec, *mut libc::timespec) -> c_int>()(
                length, left,
            )
        };
    }
    // SAFETY: the caller passes a timespec.
    let Some(ns) = clock::length(unsafe { &*length }) else { return invalid() };
    let unslept = clock::nap(ns).unwrap_or(0);
    // SAFETY: the caller passes room for a timespec, or null.
    unsafe { give_left(unslept, left) };
    slept(unslept)
}

/// A rank sleeps in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    which: libc::clockid_t,
    flags: c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"clock_nanosleep");
    type Real =
        unsafe extern "C" fn(libc::clockid_t, c_int, *const libc::timespec, *mut libc::timespec) -> c_int;
    if rank::caller().is_none() || time.is_null() {
        // SAFETY: the C library's function of this name and type.
        return unsafe { REAL.get::<Real>()(which, flags, time, left) };
    }
    // SAFETY: the caller passes a timespec.
    let time = unsafe { &*time };
    let ns = if flags & libc::TIMER_ABSTIME != 0 { clock::until(which, time) } else { clock::length(time) };
    let Some(ns) = ns else { return libc::EINVAL };
    let unslept = clock::nap(ns).unwrap_or(0);
    if flags & libc::TIMER_ABSTIME == 0 {
        // SAFETY: the caller passes room for a timespec, or null.
        unsafe { give_left(unslept, left) };
    }
    if unslept == 0 { 0 } else { libc::EINTR }
}

/// Waiting for no descriptor is sleeping. A wait for descriptors with a time limit takes host time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(
    descriptors: *mut libc::pollfd,
    count: libc::nfds_t,
    milliseconds: c_int,
) -> c_int {
    if count == 0
        && milliseconds >= 0
        && let Some(left) = clock::nap(milliseconds as u64 * 1_000_000)
    {
        return slept(left);
    }
    // SAFETY: the system call of this function, with its own arguments; it sets errno.
    unsafe { libc::syscall(libc::SYS_poll, descriptors, count, milliseconds) as c_int }
}

/// Waiting for no descriptor is sleeping. A wait for descriptors with a time limit takes host time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn select(
    count: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    limit: *mut libc::timeval,
) -> c_int {
    if rank::caller().is_some() && !limit.is_null() && read.is_null() && write.is_null() && except.is_null() {
        // SAFETY: the caller passes a timeval.
        return match length(unsafe { &*limit }) {
            Some(ns) => slept(clock::nap(ns).unwrap_or(0)),
            None => invalid(),
        };
    }
    // SAFETY: the system call of this function, with its own arguments; it sets errno.
    unsafe { libc::syscall(libc::SYS_select, count, read, write, except, limit) as c_int }
}

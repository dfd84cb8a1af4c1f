//! Timers, which send a rank signals at virtual times.

use std::ffi::{c_int, c_long, c_uint, c_void};

use rank::next::NextSymbol;
use rank::timers::{self, INTERVAL_TIMERS, TimerSetting};
use rank::{clock, signals};

use super::stdio::fail;
use super::time::{length, timespec};

/// Nanoseconds as a `timeval`: at least a microsecond, if any.
fn timeval(ns: u64) -> libc::timeval {
    let us = ns.div_ceil(1000);
    libc::timeval { tv_sec: (us / 1_000_000) as i64, tv_usec: (us % 1_000_000) as i64 }
}

/// Returns a setting: 0 is not set.
fn setting(left: u64, interval: u64) -> TimerSetting {
    TimerSetting { left: Some(left).filter(|&left| left > 0), interval }
}

fn itimerval(setting: TimerSetting) -> libc::itimerval {
    libc::itimerval { it_value: timeval(setting.left.unwrap_or(0)), it_interval: timeval(setting.interval) }
}

fn itimerspec(setting: TimerSetting) -> libc::itimerspec {
    libc::itimerspec {
        it_value: timespec(setting.left.unwrap_or(0)),
        it_interval: timespec(setting.interval),
    }
}

/// Sends the calling rank `SIGALRM` after some seconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn alarm(seconds: c_uint) -> c_uint {
    static REAL: NextSymbol = NextSymbol::new(c"alarm");
    match timers::set(0, setting(u64::from(seconds) * 1_000_000_000, 0)) {
        Some(last) => last.left.unwrap_or(0).div_ceil(1_000_000_000) as c_uint,
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<unsafe extern "C" fn(c_uint) -> c_uint>()(seconds) },
    }
}

/// Sends the calling rank `SIGALRM` after some microseconds, and then at an interval.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ualarm(first: c_uint, interval: c_uint) -> c_uint {
    static REAL: NextSymbol = NextSymbol::new(c"ualarm");
    match timers::set(0, setting(u64::from(first) * 1000, u64::from(interval) * 1000)) {
        Some(last) => last.left.unwrap_or(0).div_ceil(1000) as c_uint,
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<unsafe extern "C" fn(c_uint, c_uint) -> c_uint>()(first, interval) },
    }
}

/// Sets a timer of the calling rank. Its processor time is its virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setitimer(
    which: c_int,
    new: *const libc::itimerval,
    old: *mut libc::itimerval,
) -> c_int {
    // SAFETY: the caller passes itimervals, or null; else the system call of this function, which sets errno.
    unsafe {
        if rank::caller().is_some() && (0..INTERVAL_TIMERS.len() as c_int).contains(&which) && !new.is_null()
        {
            let (Some(left), Some(interval)) = (length(&(*new).it_value), length(&(*new).it_interval)) else {
                return fail(libc::EINVAL);
            };
            if let Some(last) = timers::set(which as usize, setting(left, interval)) {
                if !old.is_null() {
                    old.write(itimerval(last));
                }
                return 0;
            }
        }
        libc::syscall(libc::SYS_setitimer, c_long::from(which), new, old) as c_int
    }
}

/// Says what a timer of the calling rank is set to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getitimer(which: c_int, now: *mut libc::itimerval) -> c_int {
    // SAFETY: the caller passes room for an itimerval; else the system call of this function, which sets
    // errno.
    unsafe {
        if (0..INTERVAL_TIMERS.len() as c_int).contains(&which)
            && !now.is_null()
            && let Some(found) = timers::get(which as usize)
        {
            now.write(itimerval(found));
            return 0;
        }
        libc::syscall(libc::SYS_getitimer, c_long::from(which), now) as c_int
    }
}

/// Makes a timer of the calling rank that sends it a signal, or none. One that starts threads is the
/// process's, on the host's clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_create(
    which: libc::clockid_t,
    event: *mut libc::sigevent,
    timer: *mut libc::timer_t,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"timer_create");
    type Real = unsafe extern "C" fn(libc::clockid_t, *mut libc::sigevent, *mut libc::timer_t) -> c_int;
    // SAFETY: the caller passes an event, or null, and room for a timer; else the C library's function of
    // this name and type.
    unsafe {
        let signal = match event.as_ref() {
            None => Some(libc::SIGALRM),
            Some(event) if event.sigev_notify == libc::SIGEV_SIGNAL => Some(event.sigev_signo),
            Some(_) => None,
        };
        if let Some(signal) = signal
            && let Some(number) = timers::create(signal)
        {
            timer.write((FIRST_TIMER + number) as *mut c_void);
            return 0;
        }
        REAL.get::<Real>()(which, event, timer)
    }
}

/// The timer with number 0, as programs see it: no timer of the C library has such a number.
const FIRST_TIMER: usize = 0x7873_0000;

/// Returns the number of a rank's timer.
fn number(timer: libc::timer_t) -> Option<usize> {
    (timer as usize).checked_sub(FIRST_TIMER).filter(|&number| rank::caller().is_some() && number < 0x1_0000)
}

/// Sets a timer that `timer_create` has made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_settime(
    timer: libc::timer_t,
    flags: c_int,
    new: *const libc::itimerspec,
    old: *mut libc::itimerspec,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"timer_settime");
    type Real =
        unsafe extern "C" fn(libc::timer_t, c_int, *const libc::itimerspec, *mut libc::itimerspec) -> c_int;
    // SAFETY: the caller passes itimerspecs, the second or null; else the C library's function of this name
    // and type.
    unsafe {
        let Some(number) = number(timer).filter(|_| !new.is_null()) else {
            return REAL.get::<Real>()(timer, flags, new, old);
        };
        let (Some(first), Some(interval)) =
            (clock::length(&(*new).it_value), clock::length(&(*new).it_interval))
        else {
            return fail(libc::EINVAL);
        };
        let mut left = first;
        if first > 0 && flags & libc::TIMER_ABSTIME != 0 {
            let at = &(*new).it_value;
            left = clock::until(clock::of_time(at), at).unwrap_or(0).max(1);
        }
        match timers::set(number, setting(left, interval)) {
            Some(last) => {
                if !old.is_null() {
                    old.write(itimerspec(last));
                }
                0
            }
            None => fail(libc::EINVAL),
        }
    }
}

/// Says what a timer is set to that `timer_create` has made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_gettime(timer: libc::timer_t, now: *mut libc::itimerspec) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"timer_gettime");
    // SAFETY: the caller passes room for an itimerspec; else the C library's function of this name and type.
    unsafe {
        let Some(number) = number(timer) else {
            return REAL.get::<unsafe extern "C" fn(libc::timer_t, *mut libc::itimerspec) -> c_int>()(
                timer, now,
            );
        };
        match timers::get(number) {
            Some(found) => {
                now.write(itimerspec(found));
                0
            }
            None => fail(libc::EINVAL),
        }
    }
}

/// Says how many signals of a timer were merged with one that was pending. Those of ranks say 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_getoverrun(timer: libc::timer_t) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"timer_getoverrun");
    match number(timer) {
        Some(_) => 0,
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<unsafe extern "C" fn(libc::timer_t) -> c_int>()(timer) },
    }
}

/// Deletes a timer that `timer_create` has made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_delete(timer: libc::timer_t) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"timer_delete");
    match number(timer) {
        Some(number) => timers::delete(number).map_or_else(|| fail(libc::EINVAL), |()| 0),
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<unsafe extern "C" fn(libc::timer_t) -> c_int>()(timer) },
    }
}

/// Waits for a signal: of a rank's timers in virtual time, else of the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pause() -> c_int {
    if timers::pause() {
        return fail(libc::EINTR);
    }
    // SAFETY: the system call of this function; it sets errno.
    unsafe { libc::syscall(libc::SYS_pause) as c_int }
}

/// Waits for a signal while others are blocked, as `pause`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsuspend(blocked: *const libc::sigset_t) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"sigsuspend");
    // SAFETY: the caller passes a set; else the C library's function of this name and type.
    unsafe {
        if !blocked.is_null() && signals::while_blocking(&*blocked, timers::pause) {
            return fail(libc::EINTR);
        }
        REAL.get::<unsafe extern "C" fn(*const libc::sigset_t) -> c_int>()(blocked)
    }
}

//! Waits of an epoll instance: with no descriptor in it a wait is sleeping, as `poll` of none is.

use std::ffi::c_int;

use rank::clock;
use rank::next::NextSymbol;

use super::time::slept;

/// Returns `true` if an epoll instance has no descriptor that could end a wait.
// By what the kernel reports of it: descriptors leave an instance as they are closed, without a call here.
fn has_none(instance: c_int) -> bool {
    let fields = std::fs::read_to_string(format!("/proc/self/fdinfo/{instance}"));
    fields.is_ok_and(|fields| !fields.lines().any(|line| line.starts_with("tfd:")))
}

/// Sleeps for a wait of `ns` that nothing can end. Returns `None` for any other wait, which is the system's.
// What the system refuses (no instance, no room for events) does not sleep first.
fn sleep(instance: c_int, room: c_int, ns: u64) -> Option<c_int> {
    rank::current()?;
    if ns == 0 || room <= 0 || !has_none(instance) {
        return None;
    }
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: room for one event, which outlives the call; by its number, as `epoll_wait` is interposed.
    let found = unsafe {
        libc::syscall(libc::SYS_epoll_pwait, instance, &raw mut event, 1, 0, std::ptr::null::<u8>(), 8)
    };
    if found != 0 { None } else { clock::nap(ns).map(slept) }
}

fn sleep_for(instance: c_int, room: c_int, milliseconds: c_int) -> Option<c_int> {
    let ms = u64::try_from(milliseconds).ok()?;
    sleep(instance, room, ms * 1_000_000)
}

/// Waiting for no descriptor is sleeping. A wait for descriptors with a time limit takes host time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_wait(
    instance: c_int,
    events: *mut libc::epoll_event,
    room: c_int,
    milliseconds: c_int,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"epoll_wait");
    type Real = unsafe extern "C" fn(c_int, *mut libc::epoll_event, c_int, c_int) -> c_int;
    sleep_for(instance, room, milliseconds)
        // SAFETY: the C library's function of this name and type, with the caller's arguments.
        .unwrap_or_else(|| unsafe { REAL.get::<Real>()(instance, events, room, milliseconds) })
}

/// Waits in virtual time like `epoll_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait(
    instance: c_int,
    events: *mut libc::epoll_event,
    room: c_int,
    milliseconds: c_int,
    signals: *const libc::sigset_t,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"epoll_pwait");
    type Real =
        unsafe extern "C" fn(c_int, *mut libc::epoll_event, c_int, c_int, *const libc::sigset_t) -> c_int;
    sleep_for(instance, room, milliseconds)
        // SAFETY: the C library's function of this name and type, with the caller's arguments.
        .unwrap_or_else(|| unsafe { REAL.get::<Real>()(instance, events, room, milliseconds, signals) })
}

/// Waits in virtual time like `epoll_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait2(
    instance: c_int,
    events: *mut libc::epoll_event,
    room: c_int,
    limit: *const libc::timespec,
    signals: *const libc::sigset_t,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"epoll_pwait2");
    type Real = unsafe extern "C" fn(
        c_int,
        *mut libc::epoll_event,
        c_int,
        *const libc::timespec,
        *const libc::sigset_t,
    ) -> c_int;
    // SAFETY: the caller passes a timespec, or null.
    let ns = if limit.is_null() { None } else { clock::length(unsafe { &*limit }) };
    ns.and_then(|ns| sleep(instance, room, ns))
        // SAFETY: the C library's function of this name and type, with the caller's arguments.
        .unwrap_or_else(|| unsafe { REAL.get::<Real>()(instance, events, room, limit, signals) })
}

//! The program's clocks: virtual time since the start, as the C library would tell it.

use engine::{Span, Time};

use crate::{helpers, hooks, now, timers};

/// The wall clock at the simulated program's start: 2026-01-01T00:00:00Z, in seconds of Unix time.
pub const EPOCH: i64 = 1_767_225_600;
const PS_PER_NS: u64 = 1_000;
const NS_PER_S: u64 = 1_000_000_000;

/// Returns the running rank's virtual time; `None` if the call does not come from a rank.
#[inline]
pub fn now() -> Option<Time> {
    if let Some(time) = beside() {
        return Some(time);
    }
    now::current()?;
    let time = (hooks::get()?.now)();
    publish(time);
    Some(time)
}

/// Returns the clock of a thread that a rank started; `None` on the thread that runs ranks. It is the rank's
/// clock when the rank last read it, plus the host's time since.
pub fn beside() -> Option<Time> {
    helpers::owner().map(|rank| Time::from_ps(helpers::clock_ns(rank).saturating_mul(PS_PER_NS)))
}

/// Publishes the clock that the running rank has read.
#[inline]
pub fn publish(time: Time) {
    if now::has_helpers() {
        helpers::publish(time.as_ps() / PS_PER_NS);
    }
}

/// Returns the virtual time since the start as whole nanoseconds; `None` outside ranks.
pub fn now_ns() -> Option<u64> {
    now().map(|time| time.as_ps() / PS_PER_NS)
}

/// Reads a clock of `clock_gettime`: wall clocks begin at [`EPOCH`], all others (monotonic, CPU time) at
/// zero. First the rank takes the signals of its timers.
pub fn read(clock: libc::clockid_t) -> Option<libc::timespec> {
    timers::ring();
    let ns = now_ns()?;
    let epoch = match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => EPOCH,
        _ => 0,
    };
    Some(libc::timespec { tv_sec: epoch + (ns / NS_PER_S) as i64, tv_nsec: (ns % NS_PER_S) as i64 })
}

/// Lets the running rank sleep in virtual time, whatever signals its timers send meanwhile. Returns `false`
/// if the call does not come from a rank, or from a thread that it started.
pub fn sleep(mut ns: u64) -> bool {
    while let Some(left) = nap(ns) {
        if left == 0 {
            return true;
        }
        ns = left;
    }
    false
}

/// Lets the running rank sleep in virtual time, up to the next signal of its timers that it handles. Returns
/// the nanoseconds that are left; `None` as [`sleep`] returns `false`.
pub fn nap(ns: u64) -> Option<u64> {
    helpers::caller()?;
    let mut left = ns;
    loop {
        let due = timers::next().filter(|&due| due <= left);
        let slept = due.unwrap_or(left);
        if let Some(hooks) = hooks::get() {
            (hooks.advance)(Span::from_ns(slept));
        }
        left -= slept;
        if due.is_none() || timers::ring() {
            return Some(left);
        }
    }
}

/// Nanoseconds of a `timespec`; `None` if it is not a valid length.
pub fn length(time: &libc::timespec) -> Option<u64> {
    let (seconds, ns) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    (ns < NS_PER_S).then(|| seconds.saturating_mul(NS_PER_S).saturating_add(ns))
}

/// Returns the clock that an absolute time is meant on: the two begin years apart.
pub fn of_time(time: &libc::timespec) -> libc::clockid_t {
    if time.tv_sec < EPOCH / 2 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

/// Returns how long a rank that asked to sleep until an absolute time has to sleep.
pub fn until(clock: libc::clockid_t, time: &libc::timespec) -> Option<u64> {
    let now = read(clock)?;
    Some(length(time)?.saturating_sub(length(&now)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked() {
        let time = |tv_sec, tv_nsec| libc::timespec { tv_sec, tv_nsec };
        assert_eq!(length(&time(1, 5)), Some(1_000_000_005));
        assert_eq!(length(&time(-1, 0)), None);
        assert_eq!(length(&time(0, 1_000_000_000)), None);
        assert_eq!(length(&time(i64::MAX, 0)), Some(u64::MAX));
    }

    #[test]
    fn outside_ranks_no_clock_is_virtual() {
        assert!(now().is_none() && !sleep(1) && !sleep(0) && read(libc::CLOCK_REALTIME).is_none());
    }
}

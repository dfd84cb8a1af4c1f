//! Timers of the host, which interrupt the process with a signal.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::Duration;

/// A timer of the process on the host's monotonic clock, which lives as long as the process.
// By system calls: the C library's functions of these names are interposed for ranks.
pub(crate) struct HostTimer(AtomicI32);

/// The number of a timer that is not made yet.
const UNMADE: i32 = -1;

impl HostTimer {
    pub(crate) const fn new() -> HostTimer {
        HostTimer(AtomicI32::new(UNMADE))
    }

    /// Sends the process `signal` at this interval from now on. May be called in a signal handler.
    pub(crate) fn tick_each(&self, signal: i32, interval: Duration) {
        let step =
            libc::timespec { tv_sec: interval.as_secs() as i64, tv_nsec: i64::from(interval.subsec_nanos()) };
        let times = libc::itimerspec { it_interval: step, it_value: step };
        // SAFETY: an all-zero structure is valid before its fields are set; the kernel reads it, and writes
        // one number.
        unsafe {
            let mut timer = self.0.load(Relaxed);
            if timer == UNMADE {
                let mut event: libc::sigevent = std::mem::zeroed();
                event.sigev_notify = libc::SIGEV_SIGNAL;
                event.sigev_signo = signal;
                let (clock, made) = (libc::CLOCK_MONOTONIC, &raw mut timer);
                if libc::syscall(libc::SYS_timer_create, clock, &raw mut event, made) != 0 {
                    return;
                }
                self.0.store(timer, Relaxed);
            }
            libc::syscall(libc::SYS_timer_settime, timer, 0, &raw const times, 0);
        }
    }
}

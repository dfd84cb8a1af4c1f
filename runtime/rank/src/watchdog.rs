//! Names a rank that computes for long without an MPI call.
//!
//! A timer of the process, not a thread: a second thread would make the C library's locks real.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crate::crash::global;
use crate::now;
use crate::signals;
use crate::text::Text;

/// The time limit is watched in so many steps.
const STEPS: u32 = 4;

static QUIET: AtomicU32 = AtomicU32::new(0);
static SECONDS: AtomicU32 = AtomicU32::new(0);

/// Starts watching: a rank that makes no MPI call for `limit` of host time is named once on standard error.
pub(crate) fn begin(limit: Duration) {
    if limit.is_zero() {
        return;
    }
    SECONDS.store(u32::try_from(limit.as_secs()).unwrap_or(u32::MAX).max(1), Relaxed);
    let step = limit / STEPS;
    let step = libc::timespec { tv_sec: step.as_secs() as i64, tv_nsec: i64::from(step.subsec_nanos()) };
    let signal = libc::SIGRTMAX() - 2;
    // SAFETY: the handler has the signature of a plain signal handler; all-zero structures are
    // valid before their fields are set; the timer lives as long as the process.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = tick as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        signals::real_sigaction(signal, &action, std::ptr::null_mut());
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = signal;
        let mut timer = std::mem::zeroed();
        if libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) == 0 {
            let times = libc::itimerspec { it_interval: step, it_value: step };
            libc::timer_settime(timer, 0, &times, std::ptr::null_mut());
        }
    }
}

extern "C" fn tick(_: i32) {
    let quiet = if now::called_since_mark() { 0 } else { QUIET.load(Relaxed).saturating_add(1) };
    QUIET.store(quiet, Relaxed);
    now::mark();
    let Some(rank) = now::current() else { return };
    if quiet == STEPS {
        let mut text = Text::new();
        let _ = write!(
            text,
            "xsim: rank {} has run for {} s without an MPI call",
            global(rank),
            SECONDS.load(Relaxed)
        );
        if let Some(call) = now::last_call() {
            let _ = write!(text, " since {call}");
        }
        let _ = writeln!(text, "; the other ranks wait for it (-xsim-watchdog SECONDS changes this limit)");
        text.say();
    }
}

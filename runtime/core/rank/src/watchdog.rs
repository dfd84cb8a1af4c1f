//! Names a rank that computes for long without an MPI call, and lets the others run meanwhile.
//!
//! A timer of the process, not a thread: a second thread would make the C library's locks real.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crate::crash::global;
use crate::host_timer::HostTimer;
use crate::text::FixedText;
use crate::{hooks, now, signals, stop};

/// The time limit is watched in so many steps.
const STEPS: u32 = 16;
/// The longest step once the processor has been taken from a rank: there may be many like it.
const LATER_STEP: Duration = Duration::from_secs(1);

/// The least bytes of its stack that a rank has left where the processor is taken from it.
const MIN_STACK_BYTES: usize = 32 << 10;

static TIMER: HostTimer = HostTimer::new();
/// Milliseconds: without an MPI call so far, of a step, of the limit.
static QUIET: AtomicU32 = AtomicU32::new(0);
static STEP: AtomicU32 = AtomicU32::new(0);
static LIMIT: AtomicU32 = AtomicU32::new(u32::MAX);

fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX).max(1)
}

fn watch_each(step: Duration) {
    STEP.store(millis(step), Relaxed);
    TIMER.tick_each(tick_signal(), step);
}

/// Starts watching: a rank that makes no MPI call for `limit` of host time is named once on standard error.
pub(crate) fn begin(limit: Duration) {
    if limit.is_zero() {
        return;
    }
    LIMIT.store(millis(limit), Relaxed);
    // SAFETY: handlers of the type that SA_SIGINFO asks for; all-zero structures are valid before their
    // fields are set. The second runs on the rank's own stack, once the first has returned.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = tick as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaddset(&mut action.sa_mask, turn_signal());
        signals::real_sigaction(tick_signal(), &action, std::ptr::null_mut());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = let_others_run as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        signals::real_sigaction(turn_signal(), &action, std::ptr::null_mut());
    }
    watch_each(limit / STEPS);
}

/// Returns the signal of each step.
fn tick_signal() -> i32 {
    libc::SIGRTMAX() - 2
}

/// Returns the signal that takes the processor from a rank.
fn turn_signal() -> i32 {
    libc::SIGRTMAX() - 4
}

/// Takes the processor from a rank that has run for long, so that the others go on: one of them may abort the
/// run. Only where the program's own code was interrupted: elsewhere the C library may be in the middle of
/// something that the others need. Not where ranks have threads: an OpenMP region would be left half done.
unsafe extern "C" fn let_others_run(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    if now::is_simulating_thread()
        && !now::is_ending()
        // SAFETY: what the kernel gave to the handler.
        && unsafe { stop::is_in_program(context, MIN_STACK_BYTES) }
        && let Some(hooks) = hooks::get()
    {
        if STEP.load(Relaxed) > millis(LATER_STEP) {
            watch_each(LATER_STEP);
        }
        (hooks.held)();
    }
}

unsafe extern "C" fn tick(_: i32, _: *mut libc::siginfo_t, _: *mut c_void) {
    let before = QUIET.load(Relaxed);
    let quiet = if now::called_since_mark() { 0 } else { before.saturating_add(STEP.load(Relaxed)) };
    QUIET.store(quiet, Relaxed);
    now::mark();
    let Some(rank) = now::current() else { return };
    if quiet > 0 && !now::has_helpers() {
        // SAFETY: a system call without pointers. The simulating thread is the process's first.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::getpid(), turn_signal()) };
    }
    let limit = LIMIT.load(Relaxed);
    if (before..quiet).contains(&(limit - 1)) {
        let mut text = FixedText::new();
        let _ = write!(
            text,
            "xsim: rank {} has run for {} s without an MPI call",
            global(rank),
            limit.div_ceil(1000)
        );
        if let Some(call) = now::last_call() {
            let _ = write!(text, " since {call}");
        }
        let _ = writeln!(text, "; the other ranks wait for it (-xsim-watchdog SECONDS changes this limit)");
        text.say();
    }
}

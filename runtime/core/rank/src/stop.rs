//! Ends ranks that compute while the run is to end: after an abort, and when a signal asks for the end.
//!
//! Between two calls a rank has the process's only thread, so that only a signal handler gets in between. It
//! makes the rank go on in `leave_here`, on its own stack, where the program's own code was interrupted:
//! there neither the C library nor the simulator is in the middle of something. Elsewhere it looks again a
//! little later. So the main loop has the thread back, and ends the run as it ends others, with its report.

use std::ffi::c_void;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use crate::crash::{self, global};
use crate::host_timer::HostTimer;
use crate::text::FixedText;
use crate::{lifecycle, now, output, running, signals, stdio};

/// Interval between looks at a rank that computes after an abort, and after a signal.
const LOOK_AFTER_ABORT: Duration = Duration::from_millis(100);
const LOOK_AFTER_SIGNAL: Duration = Duration::from_millis(10);
/// Looks at one and the same rank after which it is ended, and after which the process is.
const RANK_ENDS: u32 = 20;
const PROCESS_ENDS: u32 = 100;
/// Looks after a signal after which the process ends without a report.
const SIGNAL_ENDS: u32 = 500;

/// The signal that has asked for the end; 0 while none has.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The exit status of an abort, plus one; 0 while there is none.
static ABORT: AtomicI32 = AtomicI32::new(0);
/// `true` if this process alone simulates the run, and so writes its report.
static IS_ONE: AtomicBool = AtomicBool::new(false);
/// The rank that the last look found, and how many looks in a row found it.
static FOUND: AtomicU32 = AtomicU32::new(now::NOBODY);
static LOOKS: AtomicU32 = AtomicU32::new(0);
/// `true` if a rank was ended after an abort: the others get no time of their own.
static IS_LATE: AtomicBool = AtomicBool::new(false);
/// The timer of the looks.
static TIMER: HostTimer = HostTimer::new();

/// The value of a signal that has the process end with the exit status in its lowest byte.
static ENDS_WITH: AtomicUsize = AtomicUsize::new(0);

/// Takes `SIGINT` and `SIGTERM`, where the process has the default for them. `is_one`: no other process takes
/// part in the run. A `SIGTERM` with the value `ends_with` has the process end with the exit status in its
/// lowest byte.
pub fn begin(is_one: bool, ends_with: usize) {
    IS_ONE.store(is_one, Relaxed);
    ENDS_WITH.store(ends_with, Relaxed);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: all-zero structures are valid before their fields are set; a handler of the type that
        // SA_SIGINFO asks for.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if signals::real_sigaction(signal, std::ptr::null(), &mut action) != 0
                || action.sa_sigaction != libc::SIG_DFL
            {
                continue;
            }
            install(signal, asked);
        }
    }
}

/// Returns the signal that has asked for the end of the run, if one has.
#[inline(always)]
pub fn requested() -> Option<i32> {
    match SIGNAL.load(Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Returns a signal's name.
pub fn name(signal: i32) -> &'static str {
    if signal == libc::SIGINT { "SIGINT" } else { "SIGTERM" }
}

/// Ends a rank that goes on for 2 s of host time after an abort with this exit status.
pub fn after_abort(status: i32) {
    if ABORT.swap(status + 1, Relaxed) == 0 && now::is_any_started() {
        look_each(LOOK_AFTER_ABORT);
    }
}

type Handler = unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void);

/// Installs a signal handler.
///
/// # Safety
/// The handler makes only calls that a signal handler may make.
unsafe fn install(signal: i32, handler: Handler) {
    // SAFETY: as above.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        signals::real_sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// Begins to look at the running rank at this interval. All of it may be done in a signal handler.
fn look_each(interval: Duration) {
    let signal = libc::SIGRTMAX() - 3;
    // SAFETY: the handler makes only such calls.
    unsafe { install(signal, look) };
    TIMER.tick_each(signal, interval);
}

/// Ends the process at once.
fn end(status: i32) -> ! {
    // SAFETY: ends the process; past any interposed `_exit`.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    unreachable!("exit_group returned")
}

/// Ends the process with what ranks have printed, and a sentence.
fn end_without_report(status: i32, text: &mut FixedText) -> ! {
    if let Some(rank) = now::current() {
        stdio::pour(rank);
    }
    output::pour_all();
    text.say();
    end(status)
}

/// Handles a signal that asks for the end of the run.
unsafe extern "C" fn asked(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the structure to a handler with SA_SIGINFO.
    let (code, value) = unsafe { ((*info).si_code, (*info).si_value().sival_ptr as usize) };
    if code == libc::SI_QUEUE && value & !0xff == ENDS_WITH.load(Relaxed) {
        end((value & 0xff) as i32);
    }
    let mut text = FixedText::new();
    if SIGNAL.swap(signal, Relaxed) != 0 {
        let _ =
            writeln!(text, "xsim: {} a second time: the run ends at once, without a report", name(signal));
        end_without_report(128 + signal, &mut text);
    }
    look_each(LOOK_AFTER_SIGNAL);
    // SAFETY: what the kernel gave.
    unsafe { divert(context) };
}

/// Looks at the running rank.
unsafe extern "C" fn look(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    let rank = now::current();
    let found = rank.unwrap_or(now::NOBODY);
    let looks = if FOUND.swap(found, Relaxed) == found { LOOKS.load(Relaxed) + 1 } else { 0 };
    LOOKS.store(looks, Relaxed);
    if rank.is_none() && now::served().is_none() {
        return;
    }
    let mut text = FixedText::new();
    let (leaves, ends, status) = match (SIGNAL.load(Relaxed), ABORT.load(Relaxed)) {
        (0, status) => (if IS_LATE.load(Relaxed) { 1 } else { RANK_ENDS }, PROCESS_ENDS, status - 1),
        (signal, _) => (0, SIGNAL_ENDS, 128 + signal),
    };
    if looks >= ends {
        let at = rank.or(now::served()).map_or(0, global);
        let _ = writeln!(text, "xsim: rank {at} does not come to an end: the process ends without a report");
        end_without_report(status, &mut text);
    }
    if looks >= leaves {
        // SAFETY: what the kernel gave.
        unsafe { divert(context) };
    }
}

/// Returns `true` if the running rank was interrupted in the program's own code, on its stack, with `room`
/// bytes of that left. Neither the C library nor the simulator is in the middle of something then.
///
/// # Safety
/// `context` is what the kernel gave to a signal handler of this thread.
pub(crate) unsafe fn is_in_program(context: *mut c_void, room: usize) -> bool {
    // SAFETY: as above.
    let (at, stack) = unsafe { crash::place(context) };
    let (limit, base) = now::bounds();
    now::current().is_some() && (limit + room..base).contains(&stack) && lifecycle::is_in_program(at)
}

/// Makes the running rank go on in `leave_here`, if it was interrupted in the program's own code.
///
/// # Safety
/// `context` is what the kernel gave to a signal handler of this thread, which returns to it.
#[cfg(target_arch = "x86_64")]
unsafe fn divert(context: *mut c_void) {
    // SAFETY: as above. The rank never goes on where it was: below the 128 bytes that its function may use
    // beyond its stack pointer there is nothing on its stack.
    unsafe {
        if !is_in_program(context, 4096) {
            return;
        }
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let stack = registers[libc::REG_RSP as usize] as usize;
        registers[libc::REG_RSP as usize] = (((stack - 128) & !15) - 8) as i64;
        registers[libc::REG_RIP as usize] = leave_here as *const () as i64;
        FOUND.store(now::NOBODY, Relaxed);
    }
}
#[cfg(not(target_arch = "x86_64"))]
unsafe fn divert(_: *mut c_void) {}

/// Ends the running rank.
extern "C" fn leave_here() -> ! {
    // Several processes agree on the end, for which each rank has to come to its own.
    match requested() {
        Some(signal) if !IS_ONE.load(Relaxed) => lifecycle::leave(128 + signal, false),
        Some(_) => {}
        None => {
            IS_LATE.store(true, Relaxed);
            lifecycle::leave(ABORT.load(Relaxed) - 1, false);
        }
    }
    loop {
        running::suspend();
    }
}

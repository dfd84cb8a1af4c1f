//! `raise` and `kill`: a rank that kills itself fails, and not the process.

use std::ffi::c_int;

use rank::hooks;
use rank::next::NextSymbol;

/// Ends the running rank, if one runs.
fn rank_killed() {
    if rank::current().is_some()
        && let Some(hooks) = hooks::get()
    {
        (hooks.killed)(libc::SIGKILL);
    }
}

/// Sends a signal to the calling thread. With `SIGKILL` the running rank fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn raise(signal: c_int) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"raise");
    if signal == libc::SIGKILL {
        rank_killed();
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(c_int) -> c_int>()(signal) }
}

/// Sends a signal to a process. With `SIGKILL` to its own process the running rank fails.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kill(process: libc::pid_t, signal: c_int) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"kill");
    if signal == libc::SIGKILL && process == std::process::id() as libc::pid_t {
        rank_killed();
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(libc::pid_t, c_int) -> c_int>()(process, signal) }
}

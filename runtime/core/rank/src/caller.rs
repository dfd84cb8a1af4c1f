//! Whose code calls an interposed function.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use crate::now;

/// The process that runs the ranks: a fork of it does not.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Notes that this process runs the ranks.
pub(crate) fn begin() {
    // SAFETY: getpid has no precondition.
    PROCESS.store(unsafe { libc::getpid() }, Relaxed);
}

/// Returns `true` if a call comes from a running rank of this process, not from a fork of it.
pub fn rank_calls() -> bool {
    // SAFETY: getpid has no precondition; the call goes past any cached number.
    now::current().is_some() && unsafe { libc::syscall(libc::SYS_getpid) } == i64::from(PROCESS.load(Relaxed))
}

/// Returns the rank whose own code calls: none in the simulator, on another thread, or in a fork of the
/// process.
pub(crate) fn caller() -> Option<u32> {
    now::current().filter(|_| now::is_simulating_thread() && rank_calls())
}

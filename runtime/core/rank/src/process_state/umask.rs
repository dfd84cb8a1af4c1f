//! The mask of file modes.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::caller::caller;
use crate::per_rank::PerRank;

/// The process's own mask, once a rank has another.
static BASE: AtomicU32 = AtomicU32::new(0);
static OWN: PerRank<u32> = PerRank::new();

fn exchange(mask: u32) -> u32 {
    // SAFETY: the system call of this name. By number, since `umask` is interposed.
    unsafe { libc::syscall(libc::SYS_umask, mask) as u32 }
}

/// Sets the calling rank's mask of file modes, or outside ranks the process's; returns the last one.
pub fn set_umask(mask: u32) -> u32 {
    let last = exchange(mask);
    if let Some(rank) = caller()
        && OWN.put_exchanged(rank, mask).is_none()
    {
        BASE.store(last, Relaxed);
    }
    last
}

/// Puts the process's mask in place of the rank's.
pub(super) fn leave(rank: u32) {
    OWN.with(rank, |_| exchange(BASE.load(Relaxed)));
}

/// Puts the rank's mask in place.
pub(super) fn enter(rank: u32) {
    OWN.with(rank, |&mut mask| exchange(mask));
}

/// Forgets a rank that has ended.
pub(super) fn end(rank: u32) {
    OWN.remove(rank);
}

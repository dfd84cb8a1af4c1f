//! Signals that a rank has blocked, and those of them that wait for it.

use std::mem::zeroed;

use crate::caller::caller;
use crate::per_rank::PerRank;
use crate::signals::{change_mask, raise};
use crate::single::Single;

/// The signals that a rank blocks.
struct Blocked {
    set: libc::sigset_t,
    /// Signals that came while they were blocked.
    pending: Vec<i32>,
}

static OWN: PerRank<Blocked> = PerRank::new();
/// The signals that the process itself blocks, once a rank blocks something else.
static BASE: Single<Option<libc::sigset_t>> = Single::new(None);

/// Returns the rank that is about to change its mask, with the process's kept; `None` outside ranks.
pub fn before_mask() -> Option<u32> {
    let rank = caller()?;
    // SAFETY: the simulating thread; a plain assignment.
    unsafe { BASE.with(|base| base.get_or_insert_with(|| change_mask(libc::SIG_BLOCK, None)).to_owned()) };
    Some(rank)
}

/// Notes that the rank has changed its mask.
pub fn after_mask(rank: u32) {
    let pending = OWN.with(rank, |blocked| std::mem::take(&mut blocked.pending)).unwrap_or_default();
    OWN.put_exchanged(rank, Blocked { set: change_mask(libc::SIG_BLOCK, None), pending });
}

/// Takes the signals that wait for the rank, and puts the process's mask in place of its own.
pub(super) fn leave(rank: u32) {
    OWN.with(rank, |blocked| {
        blocked.set = change_mask(libc::SIG_BLOCK, None);
        // SAFETY: all-zero sets are valid; the C library's functions on sets of our own; a signal that is
        // pending and blocked is taken at once.
        unsafe {
            let mut pending: libc::sigset_t = zeroed();
            libc::sigpending(&mut pending);
            let is_in = |set: &libc::sigset_t, signal| libc::sigismember(set, signal) == 1;
            for signal in (1..=64).filter(|&signal| is_in(&pending, signal) && is_in(&blocked.set, signal)) {
                let mut one: libc::sigset_t = zeroed();
                libc::sigaddset(&mut one, signal);
                let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                if libc::sigtimedwait(&one, std::ptr::null_mut(), &at_once) == signal {
                    blocked.pending.push(signal);
                }
            }
            BASE.with(|base| base.as_ref().map(|base| change_mask(libc::SIG_SETMASK, Some(base))));
        }
    });
}

/// Puts the rank's mask in place, and raises again the signals that waited for it.
pub(super) fn enter(rank: u32) {
    let pending = OWN.with(rank, |blocked| {
        change_mask(libc::SIG_SETMASK, Some(&blocked.set));
        std::mem::take(&mut blocked.pending)
    });
    pending.into_iter().flatten().for_each(raise);
}

/// Forgets a rank that has ended.
pub(super) fn end(rank: u32) {
    OWN.remove(rank);
}

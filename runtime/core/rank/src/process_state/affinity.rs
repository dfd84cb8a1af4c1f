//! Processors that a rank may use: what it last set, while its thread, which all ranks share, stays where it
//! is.

use crate::caller::caller;
use crate::per_rank::PerRank;

static OWN: PerRank<Vec<u8>> = PerRank::new();

/// More bytes than any kernel has processors for.
const MAX_BYTES: usize = 1024;

/// Returns the processors that the thread may use.
fn allowed() -> Vec<u8> {
    let mut bytes = vec![0u8; MAX_BYTES];
    // SAFETY: the system call of this name, with as many bytes as it is given. By number, since the function
    // is interposed.
    let len = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, bytes.len(), bytes.as_mut_ptr()) };
    bytes.truncate(len.max(0) as usize);
    bytes
}

/// Sets the calling rank's processors. Returns `None` outside ranks, `Some(false)` if it may use none of
/// them.
pub fn set_affinity(wanted: &[u8]) -> Option<bool> {
    let rank = caller()?;
    let own: Vec<u8> = allowed().iter().zip(wanted).map(|(allowed, wanted)| allowed & wanted).collect();
    let any = own.iter().any(|&byte| byte != 0);
    if any {
        OWN.put(rank, own);
    }
    Some(any)
}

/// Puts the processors that the calling rank has set into `answer`, which holds those of its thread. Does
/// nothing for others.
pub fn get_affinity(answer: &mut [u8]) {
    let Some(own) = caller().and_then(|rank| OWN.with(rank, |own| own.clone())) else { return };
    answer.fill(0);
    answer.iter_mut().zip(own).for_each(|(to, from)| *to = from);
}

/// Forgets a rank that has ended.
pub(super) fn end(rank: u32) {
    OWN.remove(rank);
}

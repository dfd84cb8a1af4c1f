//! The working directory.

use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

use crate::caller::caller;
use crate::now;
use crate::output;
use crate::per_rank::PerRank;

/// A descriptor of the process's own working directory, once a rank has left it.
static BASE: AtomicI32 = AtomicI32::new(-1);
/// Paths of ranks' directories.
static OWN: PerRank<CString> = PerRank::new();

/// Changes the calling rank's working directory by `change`, which returns 0 if it has changed the process's.
pub fn change_directory(change: impl FnOnce() -> i32) -> i32 {
    let rank = caller();
    if rank.is_some() && BASE.load(Relaxed) < 0 {
        // SAFETY: opens a directory by a valid path.
        BASE.store(
            unsafe { libc::open(c".".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) },
            Relaxed,
        );
    }
    let status = change();
    if let (Some(rank), 0) = (rank, status) {
        let path = std::env::current_dir()
            .ok()
            .and_then(|path| CString::new(path.into_os_string().into_encoded_bytes()).ok());
        path.map(|path| OWN.put_exchanged(rank, path));
    }
    status
}

/// Puts the process's directory in place of the rank's.
pub(super) fn leave(rank: u32) {
    // SAFETY: a descriptor of our own. By number, since `fchdir` is interposed.
    OWN.with(rank, |_| unsafe { libc::syscall(libc::SYS_fchdir, BASE.load(Relaxed)) });
}

/// Puts the rank's directory in place.
pub(super) fn enter(rank: u32) {
    OWN.with(rank, |path| put(path));
}

/// Returns the name of a file as all ranks find it: with the running rank's directory in front, if that is
/// its own and the name is relative.
pub fn resolve(name: &str) -> Cow<'_, str> {
    let own = if name.starts_with('/') { None } else { now::current() };
    match own.and_then(|rank| OWN.with(rank, |path| path.to_string_lossy().into_owned())) {
        Some(directory) => Cow::Owned(format!("{directory}/{name}")),
        None => Cow::Borrowed(name),
    }
}

fn put(path: &CStr) {
    static SAID: AtomicBool = AtomicBool::new(false);
    // SAFETY: a valid path. By number, since `chdir` is interposed.
    if unsafe { libc::syscall(libc::SYS_chdir, path.as_ptr()) } != 0 && !SAID.swap(true, Relaxed) {
        let path = path.to_string_lossy();
        let text = format!(
            "xsim: a rank's working directory {path} is gone; the rank goes on in that of the process (keep \
             a directory until no rank is in it)\n"
        );
        output::write_fully(2, text.as_bytes());
    }
}

/// Forgets a rank that has ended.
pub(super) fn end(rank: u32) {
    OWN.remove(rank);
}

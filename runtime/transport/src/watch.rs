//! Notices when another process of this host dies, and says which: launchers only tell a process number of their own.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Set once the run is over, and processes may end.
static OVER: AtomicBool = AtomicBool::new(false);

/// A process of this host, and what is said when it dies.
pub struct Watched {
    /// Its number in the system.
    pub pid: i32,
    /// The line.
    pub text: String,
}

/// How long the launcher has to end this process after another one died.
const GRACE_MS: i64 = 2_000;

/// Starts a thread that waits for the death of one of these processes, says it, and ends this one if the launcher does not.
pub fn watch(watched: Vec<Watched>) {
    let mut fds = Vec::new();
    let mut texts = Vec::new();
    for process in watched {
        // SAFETY: takes plain numbers.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process.pid, 0) };
        if fd >= 0 {
            fds.push(libc::pollfd { fd: fd as i32, events: libc::POLLIN, revents: 0 });
            texts.push(process.text + "\n");
        }
    }
    if fds.is_empty() {
        return;
    }
    // Where no thread can be had, the launcher alone notices.
    let _ = std::thread::Builder::new().name("xsim-watch".into()).stack_size(64 << 10).spawn(move || wait(fds, &texts));
}

/// The run is over: what ends from now on may end.
pub fn over() {
    OVER.store(true, Relaxed);
}

/// Calls the kernel past the C library's functions, which answer for virtual ranks.
fn wait(mut fds: Vec<libc::pollfd>, texts: &[String]) {
    loop {
        // SAFETY: the array has that many entries.
        let found = unsafe { libc::syscall(libc::SYS_poll, fds.as_mut_ptr(), fds.len(), -1i64) };
        if OVER.load(Relaxed) {
            return;
        }
        if found <= 0 {
            continue;
        }
        for (_, text) in fds.iter().zip(texts).filter(|(fd, _)| fd.revents != 0) {
            // SAFETY: the bytes are readable.
            unsafe { libc::syscall(libc::SYS_write, 2, text.as_ptr(), text.len()) };
        }
        // SAFETY: no array; waits only.
        unsafe { libc::syscall(libc::SYS_poll, std::ptr::null_mut::<libc::pollfd>(), 0, GRACE_MS) };
        // SAFETY: ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, 1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ends_after_the_run_is_not_missed() {
        let mut child = std::process::Command::new("sleep").arg("0.1").spawn().unwrap();
        watch(vec![Watched { pid: child.id() as i32, text: "not to be seen".into() }]);
        over();
        child.wait().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

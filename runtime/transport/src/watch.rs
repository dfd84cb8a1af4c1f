//! Notices when a process of this host dies, and says which: launchers only tell a process number of their own.
//!
//! A small process of its own watches, because a launcher may end all others at the instant at which one dies. It has left
//! their process group and session, and lives until the run is over.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The pipe on which the watching process hears that the run is over, and its number; 0 where there is none.
static PIPE: AtomicI32 = AtomicI32::new(0);
static WATCHER: AtomicI32 = AtomicI32::new(0);

/// A process of this host, and what is said when it dies.
pub struct Watched {
    /// Its number in the system.
    pub pid: i32,
    /// The line.
    pub text: String,
}

/// How long the launcher has to end the other processes after one died.
const GRACE_MS: i64 = 2_000;

/// The descriptor of the pipe in the watching process.
const PIPE_FD: i32 = 3;

/// Starts a process that waits for the death of one of these processes, says it, and ends the others if the launcher does not.
/// Where it cannot be had, the launcher alone notices.
pub fn watch(watched: Vec<Watched>) {
    if watched.is_empty() {
        return;
    }
    let texts: Vec<String> = watched.iter().map(|process| process.text.clone() + "\n").collect();
    let mut fds = vec![libc::pollfd { fd: PIPE_FD, events: libc::POLLIN, revents: 0 }; watched.len() + 1];
    let mut pipe = [0; 2];
    // SAFETY: the array has room for both ends.
    if unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return;
    }
    // As a fork, but past the C library, whose handlers of forks are not for this; the program's `wait` does not see it.
    // SAFETY: the new process has a copy of the stack, as after a fork, and makes system calls alone.
    let pid = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
    if pid == 0 {
        wait(pipe[0], &watched, &texts, &mut fds);
    }
    // SAFETY: this end is the other process's.
    unsafe { libc::close(pipe[0]) };
    if pid > 0 {
        PIPE.store(pipe[1], Relaxed);
        WATCHER.store(pid as i32, Relaxed);
    } else {
        // SAFETY: as above.
        unsafe { libc::close(pipe[1]) };
    }
}

/// The run is over: what ends from now on may end.
pub fn over() {
    let (pipe, pid) = (PIPE.swap(0, Relaxed), WATCHER.swap(0, Relaxed));
    if pid == 0 {
        return;
    }
    // SAFETY: one readable byte; the descriptor is ours. The process ends when it has read, and is collected.
    unsafe {
        libc::syscall(libc::SYS_write, pipe, b"o".as_ptr(), 1);
        libc::syscall(libc::SYS_close, pipe);
        libc::syscall(libc::SYS_wait4, pid, std::ptr::null_mut::<i32>(), libc::__WALL, std::ptr::null_mut::<libc::rusage>());
    }
}

/// The watching process: system calls on memory that was there before it began, nothing else.
fn wait(pipe: i32, watched: &[Watched], texts: &[String], fds: &mut [libc::pollfd]) -> ! {
    // SAFETY: plain numbers, readable text and a writable array of descriptors; the process ends here.
    unsafe {
        libc::syscall(libc::SYS_setsid);
        // Nobody must wait for the end of what this process has inherited.
        libc::syscall(libc::SYS_dup2, pipe, PIPE_FD);
        libc::syscall(libc::SYS_close_range, PIPE_FD + 1, u32::MAX, 0);
        libc::syscall(libc::SYS_close_range, 0, 1, 0);
        for (fd, process) in fds[1..].iter_mut().zip(watched) {
            // Negative where it cannot be had: such an entry is passed over.
            fd.fd = libc::syscall(libc::SYS_pidfd_open, process.pid, 0) as i32;
        }
        while libc::syscall(libc::SYS_poll, fds.as_mut_ptr(), fds.len(), -1i64) <= 0 {}
        if fds[0].revents & libc::POLLIN == 0 {
            if fds[0].revents != 0 {
                // Its own process has died, which closes the pipe a little before the system tells.
                libc::syscall(libc::SYS_poll, fds[1..].as_mut_ptr(), fds.len() - 1, GRACE_MS);
            }
            for (_, text) in fds[1..].iter().zip(texts).filter(|(fd, _)| fd.revents != 0) {
                libc::syscall(libc::SYS_write, 2, text.as_ptr(), text.len());
            }
            libc::syscall(libc::SYS_poll, std::ptr::null_mut::<libc::pollfd>(), 0, GRACE_MS);
            for fd in &fds[1..] {
                libc::syscall(libc::SYS_pidfd_send_signal, fd.fd, libc::SIGKILL, std::ptr::null::<libc::siginfo_t>(), 0);
            }
        }
        loop {
            libc::syscall(libc::SYS_exit_group, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(pid: u32) -> Vec<Watched> {
        vec![Watched { pid: pid as i32, text: "not to be seen".into() }]
    }
    fn alive(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn a_process_that_ends_after_the_run_is_not_missed() {
        let mut child = std::process::Command::new("sleep").arg("0.1").spawn().unwrap();
        watch(watched(child.id()));
        let watcher = WATCHER.load(Relaxed);
        assert!(alive(watcher));
        over();
        assert!(!alive(watcher));
        child.wait().unwrap();
    }
}

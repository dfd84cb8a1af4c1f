//! Notices when a process of this host dies, and says which: launchers only tell a process number of their
//! own.
//!
//! A small process of its own watches, because a launcher may end all others at the instant at which one
//! dies. It has left their process group and session, and lives until the run is over.
//!
//! Hydra takes a process for dead when its end of the connection to the launcher is closed. The kernel closes
//! it before it reports the death. So the watching process has all these ends as well, and closes them when
//! it has reported who died.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The pipe on which the watching process hears that the run is over, and its number; 0 where there is none.
static PIPE: AtomicI32 = AtomicI32::new(0);
static WATCHER: AtomicI32 = AtomicI32::new(0);
/// The socket under this process's name, on which the watching process is given connections; -1 where there
/// is none.
static MAILBOX: AtomicI32 = AtomicI32::new(-1);

/// A process of this host, and what is said when it dies.
pub struct WatchedProcess {
    /// The number in the system.
    pub pid: i32,
    /// The line.
    pub text: String,
}

/// Time that the launcher has to end the other processes after one died, in milliseconds.
const GRACE_MS: i64 = 2_000;

/// The time that the launcher has to collect processes that have ended.
const COLLECTING_MS: i64 = 200;

/// The descriptors of the pipe, of the socket and of the first process's own connection in the watching
/// process.
const PIPE_FD: i32 = 3;
const MAIL_FD: i32 = 4;
const OWN_FD: i32 = 5;

/// Returns the socket's address for the process with this number: a name without a file.
fn address(pid: i32) -> (libc::sockaddr_un, libc::socklen_t) {
    // SAFETY: all-zero bytes are a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let name = format!("\0xsim-watch-{pid}");
    for (place, byte) in address.sun_path.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    (address, (std::mem::offset_of!(libc::sockaddr_un, sun_path) + name.len()) as libc::socklen_t)
}

/// Returns the connection to the launcher that PMI tells in the environment.
fn connection() -> Option<i32> {
    std::env::var("PMI_FD").ok()?.parse().ok()
}

/// Prepares this process to watch, which it may have to. Called before processes know each other.
pub fn prepare() {
    if connection().is_none() {
        return;
    }
    let (address, length) = address(std::process::id() as i32);
    // SAFETY: a readable address of this length; the descriptor is ours.
    unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket >= 0 && libc::bind(socket, (&raw const address).cast(), length) == 0 {
            MAILBOX.store(socket, Relaxed);
        } else if socket >= 0 {
            libc::close(socket);
        }
    }
}

/// The address of the watching process's socket, for a process that dies.
static WATCHED_BY: OnceLock<(libc::sockaddr_un, libc::socklen_t)> = OnceLock::new();

/// The value that the watching process sends the others in a `SIGTERM` when one has died with an exit status,
/// which is the lowest byte.
pub const ENDS_WITH: usize = 0x7873_6d00;

/// Notifies the watching process that this process dies with an exit status, so that the others end with the
/// same. Makes system calls alone, for a signal handler.
pub fn dies(status: i32) {
    let Some((address, length)) = WATCHED_BY.get() else { return };
    let words = status.to_ne_bytes();
    // SAFETY: a readable address of this length and readable bytes; the descriptor is ours.
    unsafe {
        let socket = libc::syscall(libc::SYS_socket, libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket >= 0 {
            let address: *const libc::sockaddr_un = address;
            libc::syscall(
                libc::SYS_sendto,
                socket,
                words.as_ptr(),
                words.len(),
                libc::MSG_DONTWAIT,
                address,
                *length,
            );
        }
    }
}

/// Room for the one descriptor that goes with a message.
#[repr(C)]
struct Parcel {
    header: libc::cmsghdr,
    descriptor: i32,
}

/// Makes a message of one byte with room for a descriptor, into which it points.
fn message<'a>(parcel: &'a mut Parcel, part: &'a mut libc::iovec) -> libc::msghdr {
    // SAFETY: all-zero bytes are a valid message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (part, 1);
    (message.msg_control, message.msg_controllen) = ((parcel as *mut Parcel).cast(), size_of::<Parcel>());
    message
}

/// Gives the process with this number, which watches, this one's connection to the launcher.
pub fn watched_by(pid: i32) {
    let _ = WATCHED_BY.set(address(pid));
    let socket = MAILBOX.swap(-1, Relaxed);
    let Some(descriptor) = connection().filter(|_| socket >= 0) else { return };
    let (mut address, length) = address(pid);
    let mut byte = 0u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let header = libc::cmsghdr {
        cmsg_len: size_of::<libc::cmsghdr>() + size_of::<i32>(),
        cmsg_level: libc::SOL_SOCKET,
        cmsg_type: libc::SCM_RIGHTS,
    };
    let mut parcel = Parcel { header, descriptor };
    let mut message = message(&mut parcel, &mut part);
    (message.msg_name, message.msg_namelen) = ((&raw mut address).cast(), length);
    // Not for ever, should nobody take it: without it the launcher may be first to act, as it is with other
    // ones.
    let patience = libc::timeval { tv_sec: 1, tv_usec: 0 };
    // SAFETY: all that the message points to is here; the socket is ours.
    unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_SNDTIMEO,
            (&raw const patience).cast(),
            size_of::<libc::timeval>() as u32,
        );
        libc::sendmsg(socket, &message, libc::MSG_NOSIGNAL);
        libc::close(socket);
    }
}

/// Starts a process that waits for the death of one of these processes, says it, and ends the others if the
/// launcher does not. Where it cannot be had, the launcher alone notices.
pub fn watch(watched: Vec<WatchedProcess>) {
    if watched.is_empty() {
        return;
    }
    let _ = WATCHED_BY.set(address(std::process::id() as i32));
    let texts: Vec<String> = watched.iter().map(|process| process.text.clone() + "\n").collect();
    let mut fds = vec![0; watched.len()];
    let own = connection().unwrap_or(-1);
    let mut pipe = [0; 2];
    // SAFETY: the array has room for both ends.
    if unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return;
    }
    // As a fork, but past the C library, whose handlers of forks are not for this; the program's `wait` does
    // not see it. SAFETY: the new process has a copy of the stack, as after a fork, and makes system calls
    // alone.
    let pid = unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) };
    if pid == 0 {
        wait(pipe[0], &watched, &texts, &mut fds, (MAILBOX.load(Relaxed), own));
    }
    // SAFETY: these ends are the other process's; closing what is none does nothing.
    unsafe {
        libc::close(pipe[0]);
        libc::close(MAILBOX.swap(-1, Relaxed));
    }
    if pid > 0 {
        PIPE.store(pipe[1], Relaxed);
        WATCHER.store(pid as i32, Relaxed);
    } else {
        // SAFETY: as above.
        unsafe { libc::close(pipe[1]) };
    }
}

/// Declares the run over: what ends from now on may end.
pub fn over() {
    let (pipe, pid) = (PIPE.swap(0, Relaxed), WATCHER.swap(0, Relaxed));
    if pid == 0 {
        return;
    }
    // SAFETY: one readable byte; the descriptor is ours. The process ends when it has read, and is collected.
    unsafe {
        libc::syscall(libc::SYS_write, pipe, b"o".as_ptr(), 1);
        libc::syscall(libc::SYS_close, pipe);
        libc::syscall(
            libc::SYS_wait4,
            pid,
            std::ptr::null_mut::<i32>(),
            libc::__WALL,
            std::ptr::null_mut::<libc::rusage>(),
        );
    }
}

/// Takes the next event among those that are watched, waiting at most so many milliseconds (-1: for ever):
/// what it is about, and its kind. The kernel lists events as they happen, so of several deaths the one that
/// made the launcher end the others comes first.
///
/// # Safety
/// Called in the watching process alone.
unsafe fn next_event(poll: i32, patience: i64) -> Option<(u64, u32)> {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: room for one event.
    let found = unsafe { libc::syscall(libc::SYS_epoll_wait, poll, &raw mut event, 1, patience) };
    (found > 0).then_some((event.u64, event.events))
}

/// Sources of [`next_event`] that are no processes.
const OVER: u64 = u64::MAX;
const MAIL: u64 = u64::MAX - 1;

/// Keeps the descriptor that has come with a message. Returns the exit status that has come instead, if one
/// has.
///
/// # Safety
/// Called in the watching process alone.
unsafe fn keep_mail() -> Option<i32> {
    let mut bytes = [0u8; 4];
    let mut part = libc::iovec { iov_base: (&raw mut bytes).cast(), iov_len: bytes.len() };
    let header = libc::cmsghdr { cmsg_len: 0, cmsg_level: 0, cmsg_type: 0 };
    let mut parcel = Parcel { header, descriptor: -1 };
    let mut message = message(&mut parcel, &mut part);
    // SAFETY: all that the message points to is here.
    let length = unsafe { libc::syscall(libc::SYS_recvmsg, MAIL_FD, &raw mut message, libc::MSG_DONTWAIT) };
    (length == 4).then_some(i32::from_ne_bytes(bytes))
}

/// Ends these processes with an exit status.
///
/// # Safety
/// Called in the watching process alone.
unsafe fn end_with(fds: &[i32], status: i32) {
    /// The kernel's record of a signal that carries a value.
    #[repr(C)]
    struct Queued {
        signal: i32,
        errno: i32,
        code: i32,
        pad: i32,
        pid: i32,
        uid: u32,
        value: usize,
        rest: [u64; 12],
    }
    let value = ENDS_WITH | (status as usize & 0xff);
    let queued = Queued {
        signal: libc::SIGTERM,
        errno: 0,
        code: libc::SI_QUEUE,
        pad: 0,
        pid: 0,
        uid: 0,
        value,
        rest: [0; 12],
    };
    for fd in fds {
        // SAFETY: a structure of the kernel's layout and size, which it reads.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, *fd, libc::SIGTERM, &raw const queued, 0) };
    }
}

/// Runs the watching process: system calls on memory that was there before it began, nothing else.
fn wait(
    pipe: i32,
    watched: &[WatchedProcess],
    texts: &[String],
    fds: &mut [i32],
    (mailbox, own): (i32, i32),
) -> ! {
    // SAFETY: plain numbers, readable text and a writable array of descriptors; the process ends here.
    unsafe {
        libc::syscall(libc::SYS_setsid);
        // First away from where they go.
        let free = |fd: i32| libc::syscall(libc::SYS_fcntl, fd, libc::F_DUPFD, OWN_FD + 1) as i32;
        for (fd, place) in [free(pipe), free(mailbox), free(own)].into_iter().zip([PIPE_FD, MAIL_FD, OWN_FD])
        {
            libc::syscall(libc::SYS_close, place);
            libc::syscall(libc::SYS_dup2, fd, place);
        }
        // Nobody must wait for the end of what this process has inherited.
        libc::syscall(libc::SYS_close_range, OWN_FD + 1, u32::MAX, 0);
        libc::syscall(libc::SYS_close_range, 0, 1, 0);
        let poll = libc::syscall(libc::SYS_epoll_create1, 0) as i32;
        let add = |fd: i32, what: u64, kind: i32| {
            let mut event = libc::epoll_event { events: kind as u32, u64: what };
            libc::syscall(libc::SYS_epoll_ctl, poll, libc::EPOLL_CTL_ADD, fd, &raw mut event) == 0
        };
        // What happens once is told once.
        let once = libc::EPOLLIN | libc::EPOLLONESHOT;
        let mut alive = 0;
        add(PIPE_FD, OVER, once);
        add(MAIL_FD, MAIL, libc::EPOLLIN);
        let mut gone = None;
        for ((index, fd), process) in (0..).zip(fds.iter_mut()).zip(watched) {
            // Negative where it cannot be had: such an entry is passed over, unless the process is no more.
            *fd = libc::syscall(libc::SYS_pidfd_open, process.pid, 0) as i32;
            if *fd < 0 && *libc::__errno_location() == libc::ESRCH {
                gone = gone.or(Some(index));
            }
            alive += u32::from(add(*fd, index, once));
        }
        let (mut patience, mut status) = (-1, None);
        let dead = loop {
            if gone.is_some() {
                break gone;
            }
            match next_event(poll, patience) {
                None if patience < 0 => {}
                None => break None,
                Some((MAIL, _)) => status = keep_mail().or(status),
                // Its own process has died, which closes the pipe a little before the system tells.
                Some((OVER, kind)) if kind & libc::EPOLLIN as u32 == 0 => patience = GRACE_MS,
                Some((OVER, _)) => break None,
                Some((index, _)) => {
                    alive -= 1;
                    break Some(index);
                }
            }
        };
        // A process may die before its mail is read, or before it is watched. Each has sent two at most.
        for _ in 0..2 * watched.len() {
            status = keep_mail().or(status);
        }
        if let Some(text) = dead.and_then(|index| texts.get(index as usize)) {
            libc::syscall(libc::SYS_write, 2, text.as_ptr(), text.len());
            // Launchers that put statuses together bit by bit would make another of it, were the others
            // killed.
            if let Some(status) = status {
                end_with(fds, status);
                while alive > 0
                    && let Some((other, _)) = next_event(poll, GRACE_MS)
                {
                    alive -= u32::from(other < MAIL);
                }
                // Hydra takes a connection that closes before it has collected its process for the status 1.
                // It collects when it has read all that was written.
                libc::syscall(libc::SYS_close, 2);
                next_event(poll, COLLECTING_MS);
            }
            // The launcher may act now; it waits until nobody can write any more. What came by mail lies
            // behind the rest.
            let last = fds.iter().copied().fold(OWN_FD, i32::max);
            libc::syscall(libc::SYS_close_range, last + 1, u32::MAX, 0);
            for (_, place) in [(mailbox, MAIL_FD), (own, OWN_FD)].into_iter().filter(|(given, _)| *given >= 0)
            {
                libc::syscall(libc::SYS_close, place);
            }
            while alive > 0
                && let Some((other, _)) = next_event(poll, GRACE_MS)
            {
                alive -= u32::from(other < MAIL);
            }
            for fd in fds.iter() {
                libc::syscall(
                    libc::SYS_pidfd_send_signal,
                    *fd,
                    libc::SIGKILL,
                    std::ptr::null::<libc::siginfo_t>(),
                    0,
                );
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

    fn watched(pid: u32) -> Vec<WatchedProcess> {
        vec![WatchedProcess { pid: pid as i32, text: "not to be seen".into() }]
    }
    fn alive(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    /// `WATCHER` is the process's: one test at a time.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn a_process_that_died_before_it_was_watched_ends_the_run() {
        let _one = ONE.lock();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        watch(vec![WatchedProcess {
            pid: child.id() as i32,
            text: "what is said of a process that had died".into(),
        }]);
        let watcher = WATCHER.load(Relaxed);
        let start = std::time::Instant::now();
        while alive(watcher) {
            assert!(start.elapsed().as_secs() < 60, "nobody noticed");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        over();
    }

    #[test]
    fn a_process_that_ends_after_the_run_is_not_missed() {
        let _one = ONE.lock();
        let mut child = std::process::Command::new("sleep").arg("0.1").spawn().unwrap();
        watch(watched(child.id()));
        let watcher = WATCHER.load(Relaxed);
        assert!(alive(watcher));
        over();
        assert!(!alive(watcher));
        child.wait().unwrap();
    }
}

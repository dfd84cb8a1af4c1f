//! Waits with a time limit for what another thread does: a rank waits in virtual time.
//!
//! Nobody can end the wait of a rank without threads, so it takes until its limit. With threads beside the
//! ranks the wait takes as much host time as there is virtual time left, and the rank's clock moves only if
//! it ends at its limit.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rank::clock;
use rank::next::NextSymbol;

use super::time::slept;

/// Threads of the process before a rank has run: the simulator's own.
static THREADS: AtomicUsize = AtomicUsize::new(0);

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(usize::MAX, Iterator::count)
}

/// Notes which threads there are before the ranks start theirs.
pub fn note_threads() {
    THREADS.store(threads(), Relaxed);
}

/// A wait of the running rank.
struct Limit {
    /// Virtual nanoseconds up to it.
    ns: u64,
    /// The wait's end on the host's monotonic clock.
    host: libc::timespec,
}

impl Limit {
    /// Returns the limit at an absolute time on a virtual clock; `None` outside ranks and for what is no
    /// time.
    fn of(clock: libc::clockid_t, at: *const libc::timespec) -> Option<Limit> {
        if rank::current().is_none() || at.is_null() {
            return None;
        }
        // SAFETY: the caller passes a timespec.
        let ns = clock::until(clock, unsafe { &*at })?;
        let host = rank::host::now_ns().saturating_add(ns);
        Some(Limit {
            ns,
            host: libc::timespec {
                tv_sec: (host / 1_000_000_000) as i64,
                tv_nsec: (host % 1_000_000_000) as i64,
            },
        })
    }

    /// Returns the limit at an absolute time on one of two clocks that begin years apart.
    fn of_either(at: *const libc::timespec) -> Option<Limit> {
        if rank::current().is_none() || at.is_null() {
            return None;
        }
        // SAFETY: the caller passes a timespec.
        Limit::of(clock::of_time(unsafe { &*at }), at)
    }

    /// Waits: `attempt` waits up to a time of the host's monotonic clock, and answers an error number.
    /// Returns what it answers, or `ETIMEDOUT` at the limit.
    fn wait(&self, attempt: impl FnOnce(&libc::timespec) -> c_int) -> c_int {
        let code = if threads() > THREADS.load(Relaxed) { attempt(&self.host) } else { libc::ETIMEDOUT };
        // A thread of the program has no clock of its own.
        // By its number: glibc has a function for it from 2.30 on, and packages are made for 2.28.
        // SAFETY: neither has a precondition.
        let is_main = || unsafe { libc::syscall(libc::SYS_gettid) == libc::c_long::from(libc::getpid()) };
        if code == libc::ETIMEDOUT && is_main() {
            clock::sleep(self.ns);
        }
        code
    }
}

type CondWait = unsafe extern "C" fn(
    *mut libc::pthread_cond_t,
    *mut libc::pthread_mutex_t,
    *const libc::timespec,
) -> c_int;
type CondClockWait = unsafe extern "C" fn(
    *mut libc::pthread_cond_t,
    *mut libc::pthread_mutex_t,
    libc::clockid_t,
    *const libc::timespec,
) -> c_int;
static COND_CLOCK_WAIT: NextSymbol = NextSymbol::new(c"pthread_cond_clockwait");

fn wait_for_condition(
    cond: *mut libc::pthread_cond_t,
    mutex: *mut libc::pthread_mutex_t,
    limit: &Limit,
) -> c_int {
    // SAFETY: the C library's function of this name and type, with the caller's objects.
    limit.wait(|host| unsafe {
        COND_CLOCK_WAIT.get::<CondClockWait>()(cond, mutex, libc::CLOCK_MONOTONIC, host)
    })
}

/// A rank waits in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_timedwait(
    cond: *mut libc::pthread_cond_t,
    mutex: *mut libc::pthread_mutex_t,
    at: *const libc::timespec,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"pthread_cond_timedwait");
    match Limit::of_either(at) {
        Some(limit) => wait_for_condition(cond, mutex, &limit),
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<CondWait>()(cond, mutex, at) },
    }
}

/// A rank waits in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_clockwait(
    cond: *mut libc::pthread_cond_t,
    mutex: *mut libc::pthread_mutex_t,
    which: libc::clockid_t,
    at: *const libc::timespec,
) -> c_int {
    match Limit::of(which, at) {
        Some(limit) => wait_for_condition(cond, mutex, &limit),
        // SAFETY: the C library's function of this name and type.
        None => unsafe { COND_CLOCK_WAIT.get::<CondClockWait>()(cond, mutex, which, at) },
    }
}

type SemWait = unsafe extern "C" fn(*mut libc::sem_t, *const libc::timespec) -> c_int;
type SemClockWait = unsafe extern "C" fn(*mut libc::sem_t, libc::clockid_t, *const libc::timespec) -> c_int;
static SEM_CLOCK_WAIT: NextSymbol = NextSymbol::new(c"sem_clockwait");

fn wait_for_semaphore(semaphore: *mut libc::sem_t, limit: &Limit) -> c_int {
    let errno = || std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
    // SAFETY: the caller's semaphore; the C library's function of this name and type.
    unsafe {
        if libc::sem_trywait(semaphore) == 0 {
            return 0;
        }
        let code = limit.wait(|host| {
            match SEM_CLOCK_WAIT.get::<SemClockWait>()(semaphore, libc::CLOCK_MONOTONIC, host) {
                0 => 0,
                _ => errno(),
            }
        });
        if code == 0 {
            return 0;
        }
        *libc::__errno_location() = code;
    }
    -1
}

/// A rank waits in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_timedwait(semaphore: *mut libc::sem_t, at: *const libc::timespec) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"sem_timedwait");
    match Limit::of(libc::CLOCK_REALTIME, at) {
        Some(limit) => wait_for_semaphore(semaphore, &limit),
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<SemWait>()(semaphore, at) },
    }
}

/// A rank waits in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_clockwait(
    semaphore: *mut libc::sem_t,
    which: libc::clockid_t,
    at: *const libc::timespec,
) -> c_int {
    match Limit::of(which, at) {
        Some(limit) => wait_for_semaphore(semaphore, &limit),
        // SAFETY: the C library's function of this name and type.
        None => unsafe { SEM_CLOCK_WAIT.get::<SemClockWait>()(semaphore, which, at) },
    }
}

type MutexLock = unsafe extern "C" fn(*mut libc::pthread_mutex_t, *const libc::timespec) -> c_int;
type MutexClockLock =
    unsafe extern "C" fn(*mut libc::pthread_mutex_t, libc::clockid_t, *const libc::timespec) -> c_int;
static MUTEX_CLOCK_LOCK: NextSymbol = NextSymbol::new(c"pthread_mutex_clocklock");

fn wait_for_mutex(mutex: *mut libc::pthread_mutex_t, limit: &Limit) -> c_int {
    // SAFETY: the caller's mutex; the C library's function of this name and type.
    unsafe {
        match libc::pthread_mutex_trylock(mutex) {
            libc::EBUSY => limit
                .wait(|host| MUTEX_CLOCK_LOCK.get::<MutexClockLock>()(mutex, libc::CLOCK_MONOTONIC, host)),
            code => code,
        }
    }
}

/// A rank waits in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_timedlock(
    mutex: *mut libc::pthread_mutex_t,
    at: *const libc::timespec,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"pthread_mutex_timedlock");
    match Limit::of(libc::CLOCK_REALTIME, at) {
        Some(limit) => wait_for_mutex(mutex, &limit),
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<MutexLock>()(mutex, at) },
    }
}

/// A rank waits in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutex_clocklock(
    mutex: *mut libc::pthread_mutex_t,
    which: libc::clockid_t,
    at: *const libc::timespec,
) -> c_int {
    match Limit::of(which, at) {
        Some(limit) => wait_for_mutex(mutex, &limit),
        // SAFETY: the C library's function of this name and type.
        None => unsafe { MUTEX_CLOCK_LOCK.get::<MutexClockLock>()(mutex, which, at) },
    }
}

/// Returns the result for an error number, as C11's threads have it.
fn thread_code(code: c_int) -> c_int {
    match code {
        0 => 0,
        libc::ETIMEDOUT => 4,
        _ => 2,
    }
}

/// A rank waits in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_timedwait(
    cond: *mut libc::pthread_cond_t,
    mutex: *mut libc::pthread_mutex_t,
    at: *const libc::timespec,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"cnd_timedwait");
    match Limit::of(libc::CLOCK_REALTIME, at) {
        Some(limit) => thread_code(wait_for_condition(cond, mutex, &limit)),
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<CondWait>()(cond, mutex, at) },
    }
}

/// A rank waits in virtual time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mtx_timedlock(
    mutex: *mut libc::pthread_mutex_t,
    at: *const libc::timespec,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"mtx_timedlock");
    match Limit::of(libc::CLOCK_REALTIME, at) {
        Some(limit) => thread_code(wait_for_mutex(mutex, &limit)),
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<MutexLock>()(mutex, at) },
    }
}

/// Waits in virtual time where the rank has no such signal pending: none arrives at a simulated time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigtimedwait(
    signals: *const libc::sigset_t,
    info: *mut libc::siginfo_t,
    limit: *const libc::timespec,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"sigtimedwait");
    type Real =
        unsafe extern "C" fn(*const libc::sigset_t, *mut libc::siginfo_t, *const libc::timespec) -> c_int;
    // SAFETY: the caller passes a timespec, or null; the C library's function of this name and type.
    unsafe {
        let real = REAL.get::<Real>();
        let wait = if limit.is_null() { None } else { rank::current().and(clock::length(&*limit)) };
        let Some(ns) = wait.filter(|_| threads() <= THREADS.load(Relaxed)) else {
            return real(signals, info, limit);
        };
        let found = real(signals, info, &libc::timespec { tv_sec: 0, tv_nsec: 0 });
        if found == -1 && *libc::__errno_location() == libc::EAGAIN {
            clock::sleep(ns);
            *libc::__errno_location() = libc::EAGAIN;
        }
        found
    }
}

/// Waiting for no descriptor is sleeping. A wait for descriptors with a time limit takes host time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    descriptors: *mut libc::pollfd,
    count: libc::nfds_t,
    limit: *const libc::timespec,
    signals: *const libc::sigset_t,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"ppoll");
    type Real = unsafe extern "C" fn(
        *mut libc::pollfd,
        libc::nfds_t,
        *const libc::timespec,
        *const libc::sigset_t,
    ) -> c_int;
    // SAFETY: the caller passes a timespec, or null; the C library's function of this name and type.
    unsafe {
        if count == 0
            && !limit.is_null()
            && let Some(left) = clock::length(&*limit).and_then(clock::nap)
        {
            return slept(left);
        }
        REAL.get::<Real>()(descriptors, count, limit, signals)
    }
}

/// Waits in virtual time where no descriptor is named, like `ppoll`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    limit: *const libc::timespec,
    signals: *const libc::sigset_t,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"pselect");
    type Sets = *mut libc::fd_set;
    type Real =
        unsafe extern "C" fn(c_int, Sets, Sets, Sets, *const libc::timespec, *const libc::sigset_t) -> c_int;
    let waits_for_none = read.is_null() && write.is_null() && except.is_null();
    // SAFETY: the caller passes a timespec, or null; the C library's function of this name and type.
    unsafe {
        if waits_for_none
            && !limit.is_null()
            && let Some(left) = clock::length(&*limit).and_then(clock::nap)
        {
            return slept(left);
        }
        REAL.get::<Real>()(count, read, write, except, limit, signals)
    }
}

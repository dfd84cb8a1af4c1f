//! State that the kernel or the C library keeps for a process, of which each rank has its own.

use std::ffi::{CStr, c_char, c_int, c_void};

use rank::next::NextSymbol;
use rank::{process_state, signals};

use super::stdio::fail;

/// Sets a variable of the calling rank's environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"setenv");
    if !name.is_null() && !value.is_null() {
        // SAFETY: the caller passes C strings.
        let (name, value) = unsafe { (CStr::from_ptr(name), CStr::from_ptr(value)) };
        if let Some(done) = process_state::set_variable(name, value, overwrite != 0) {
            return if done { 0 } else { fail(libc::EINVAL) };
        }
    }
    // SAFETY: the C library's function of this name and type.
    unsafe {
        REAL.get::<unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> c_int>()(
            name, value, overwrite,
        )
    }
}

/// Puts a string into the calling rank's environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn putenv(text: *mut c_char) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"putenv");
    // SAFETY: the caller passes a C string that stays; else the C library's function of this name and type.
    unsafe {
        match process_state::put_variable(text) {
            Some(()) => 0,
            None => REAL.get::<unsafe extern "C" fn(*mut c_char) -> c_int>()(text),
        }
    }
}

/// Removes a variable from the calling rank's environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unsetenv(name: *const c_char) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"unsetenv");
    if !name.is_null() {
        // SAFETY: the caller passes a C string.
        if let Some(done) = process_state::unset_variable(unsafe { CStr::from_ptr(name) }.to_bytes()) {
            return if done { 0 } else { fail(libc::EINVAL) };
        }
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(*const c_char) -> c_int>()(name) }
}

/// Empties the calling rank's environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clearenv() -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"clearenv");
    match process_state::clear_environment() {
        Some(()) => 0,
        // SAFETY: the C library's function of this name and type.
        None => unsafe { REAL.get::<unsafe extern "C" fn() -> c_int>()() },
    }
}

/// Changes the calling rank's working directory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chdir(path: *const c_char) -> c_int {
    // SAFETY: the system call of this function; it sets errno.
    process_state::change_directory(|| unsafe { libc::syscall(libc::SYS_chdir, path) as c_int })
}

/// Changes the calling rank's working directory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fchdir(descriptor: c_int) -> c_int {
    // SAFETY: the system call of this function; it sets errno.
    process_state::change_directory(|| unsafe { libc::syscall(libc::SYS_fchdir, descriptor) as c_int })
}

/// Sets the calling rank's mask of file modes.
#[unsafe(no_mangle)]
pub extern "C" fn umask(mask: libc::mode_t) -> libc::mode_t {
    process_state::set_umask(mask)
}

/// Sets the calling rank's locale, or asks for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setlocale(category: c_int, name: *const c_char) -> *mut c_char {
    static REAL: NextSymbol = NextSymbol::new(c"setlocale");
    // SAFETY: the C library's function of this name and type, with its own arguments.
    unsafe { process_state::set_locale(REAL.get(), category, name) }
}

/// Returns `true` if a process or thread number means the calling thread.
fn is_caller(number: libc::pid_t) -> bool {
    // SAFETY: getpid has no precondition.
    number == 0 || number == unsafe { libc::getpid() }
}

/// Sets the processors that the calling rank may use; its thread stays where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_setaffinity(number: libc::pid_t, bytes: usize, set: *const c_void) -> c_int {
    if is_caller(number) && !set.is_null() {
        // SAFETY: the caller passes a set of that many bytes.
        let wanted = unsafe { std::slice::from_raw_parts(set.cast(), bytes) };
        if let Some(any) = process_state::set_affinity(wanted) {
            return if any { 0 } else { fail(libc::EINVAL) };
        }
    }
    // SAFETY: the system call of this function; it sets errno.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, number, bytes, set) as c_int }
}

/// Returns the processors that the calling rank may use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_getaffinity(number: libc::pid_t, bytes: usize, set: *mut c_void) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"sched_getaffinity");
    // SAFETY: the C library's function of this name and type; it fills a set of that many bytes.
    unsafe {
        let status =
            REAL.get::<unsafe extern "C" fn(libc::pid_t, usize, *mut c_void) -> c_int>()(number, bytes, set);
        if status == 0 && is_caller(number) {
            process_state::get_affinity(std::slice::from_raw_parts_mut(set.cast(), bytes));
        }
        status
    }
}

/// Does what `sched_setaffinity` does, for a thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setaffinity_np(
    thread: libc::pthread_t,
    bytes: usize,
    set: *const c_void,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"pthread_setaffinity_np");
    // SAFETY: the caller passes a set of that many bytes; else the C library's function of this name and
    // type.
    unsafe {
        if thread == libc::pthread_self()
            && !set.is_null()
            && let Some(any) = process_state::set_affinity(std::slice::from_raw_parts(set.cast(), bytes))
        {
            return if any { 0 } else { libc::EINVAL };
        }
        REAL.get::<unsafe extern "C" fn(libc::pthread_t, usize, *const c_void) -> c_int>()(thread, bytes, set)
    }
}

/// Does what `sched_getaffinity` does, for a thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getaffinity_np(
    thread: libc::pthread_t,
    bytes: usize,
    set: *mut c_void,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"pthread_getaffinity_np");
    // SAFETY: the C library's function of this name and type; it fills a set of that many bytes.
    unsafe {
        let status = REAL.get::<unsafe extern "C" fn(libc::pthread_t, usize, *mut c_void) -> c_int>()(
            thread, bytes, set,
        );
        if status == 0 && thread == libc::pthread_self() {
            process_state::get_affinity(std::slice::from_raw_parts_mut(set.cast(), bytes));
        }
        status
    }
}

/// Sets the calling rank's handler of a signal, or asks for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { signals::set_action(signal, new, old) }
}

macro_rules! handlers {
    ($($name:ident $flags:expr;)*) => { $(
        /// Sets the calling rank's handler of a signal; returns the last one.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(signal: c_int, handler: usize) -> usize {
            // SAFETY: the same contract.
            unsafe { signals::set_handler(signal, handler, $flags) }
        }
    )* };
}
handlers! {
    signal libc::SA_RESTART;
    bsd_signal libc::SA_RESTART;
    ssignal libc::SA_RESTART;
    sysv_signal libc::SA_RESETHAND | libc::SA_NODEFER;
    __sysv_signal libc::SA_RESETHAND | libc::SA_NODEFER;
}

macro_rules! masks {
    ($($name:ident $symbol:expr;)*) => { $(
        /// Changes which signals the calling rank blocks, or asks for it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t
        ) -> c_int {
            static REAL: NextSymbol = NextSymbol::new($symbol);
            let rank = if new.is_null() { None } else { process_state::before_mask() };
            // SAFETY: the C library's function of this name and type.
            let status = unsafe {
                REAL.get::<unsafe extern "C" fn(
                    c_int, *const libc::sigset_t, *mut libc::sigset_t
                ) -> c_int>()(how, new, old)
            };
            if let Some(rank) = rank {
                process_state::after_mask(rank);
            }
            status
        }
    )* };
}
masks! {
    sigprocmask c"sigprocmask";
    pthread_sigmask c"pthread_sigmask";
}

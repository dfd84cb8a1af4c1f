//! Standard streams of a rank: whole lines out, input to rank 0.

use std::ffi::{c_char, c_int, c_void};

use rank::next::NextSymbol;
use rank::stdio::{self, GlibcFile};
use rank::{descriptors, own_streams};

/// Sets errno and returns -1.
pub(super) fn fail(error: c_int) -> c_int {
    // SAFETY: this thread's errno.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Output of a rank goes to its lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, len: usize) -> isize {
    if descriptors::is_output(descriptor) && !bytes.is_null() && len <= isize::MAX as usize {
        if descriptors::is_closed(descriptor) {
            return fail(libc::EBADF) as isize;
        }
        // SAFETY: the caller of write vouches for `len` bytes.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast(), len) };
        if stdio::write(descriptor, bytes) || descriptors::write_copy(descriptor, bytes) {
            return len as isize;
        }
    }
    // SAFETY: the system call of this function, with its own arguments; it sets errno.
    unsafe { libc::syscall(libc::SYS_write, descriptor, bytes, len) as isize }
}

/// Output of a rank goes to its lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(descriptor: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    if descriptors::is_output(descriptor) && rank::current().is_some() && !parts.is_null() {
        let mut total = 0;
        for k in 0..count.max(0) as usize {
            // SAFETY: the caller of writev vouches for `count` parts and their bytes.
            let wrote = unsafe {
                let part = &*parts.add(k);
                write(descriptor, part.iov_base, part.iov_len)
            };
            if wrote < 0 {
                return if total > 0 { total } else { wrote };
            }
            total += wrote;
        }
        return total;
    }
    // SAFETY: the system call of this function, with its own arguments; it sets errno.
    unsafe { libc::syscall(libc::SYS_writev, descriptor, parts, count) as isize }
}

/// Standard input is at its end for every rank but 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(descriptor: c_int, bytes: *mut c_void, len: usize) -> isize {
    let own = if descriptor == 0 { own_streams::input() } else { None };
    if own.is_none() && stdio::input_is_empty(descriptor) {
        return 0;
    }
    let descriptor = own.unwrap_or(descriptor);
    // SAFETY: the system call of this function, with its own arguments; it sets errno.
    unsafe { libc::syscall(libc::SYS_read, descriptor, bytes, len) as isize }
}

/// Before the program starts, standard output and error count as terminals: libgfortran asks when it
/// is loaded, and would otherwise gather the lines of several ranks in one buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isatty(descriptor: c_int) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"isatty");
    if (descriptor == 1 || descriptor == 2) && !rank::lifecycle::start::has_begun() {
        return 1;
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(c_int) -> c_int>()(descriptor) }
}

/// Flushing a standard stream passes the rank's output on to its lines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fflush(file: *mut GlibcFile) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"fflush");
    if stdio::flush(file) {
        return 0;
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(*mut GlibcFile) -> c_int>()(file) }
}

/// Closes a standard stream for the calling rank alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fclose(file: *mut GlibcFile) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"fclose");
    if stdio::is_kept(file) && stdio::close(file) {
        return 0;
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(*mut GlibcFile) -> c_int>()(file) }
}

/// The standard streams' descriptors are 0, 1 and 2, whatever stands behind them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fileno(file: *mut GlibcFile) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"fileno");
    if let Some(descriptor) = stdio::descriptor(file) {
        return descriptor;
    }
    // SAFETY: the C library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(*mut GlibcFile) -> c_int>()(file) }
}

/// The buffers of the standard streams are the simulator's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setvbuf(
    file: *mut GlibcFile,
    buffer: *mut c_char,
    mode: c_int,
    len: usize,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"setvbuf");
    if stdio::is_kept(file) {
        return 0;
    }
    // SAFETY: the C library's function of this name and type.
    unsafe {
        REAL.get::<unsafe extern "C" fn(*mut GlibcFile, *mut c_char, c_int, usize) -> c_int>()(
            file, buffer, mode, len,
        )
    }
}

/// As `setvbuf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setbuf(file: *mut GlibcFile, buffer: *mut c_char) {
    let mode = if buffer.is_null() { libc::_IONBF } else { libc::_IOFBF };
    // SAFETY: what setbuf is defined as.
    unsafe { setvbuf(file, buffer, mode, libc::BUFSIZ as usize) };
}

/// As `setvbuf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setbuffer(file: *mut GlibcFile, buffer: *mut c_char, len: usize) {
    let mode = if buffer.is_null() { libc::_IONBF } else { libc::_IOFBF };
    // SAFETY: what setbuffer is defined as.
    unsafe { setvbuf(file, buffer, mode, len) };
}

/// As `setvbuf`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setlinebuf(file: *mut GlibcFile) {
    // SAFETY: what setlinebuf is defined as.
    unsafe { setvbuf(file, std::ptr::null_mut(), libc::_IOLBF, 0) };
}

/// Reopening a standard stream redirects the calling rank only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn freopen(
    path: *const c_char,
    mode: *const c_char,
    file: *mut GlibcFile,
) -> *mut GlibcFile {
    type Reopen = unsafe extern "C" fn(*const c_char, *const c_char, *mut GlibcFile) -> *mut GlibcFile;
    static REAL: NextSymbol = NextSymbol::new(c"freopen");
    if !stdio::is_kept(file) {
        // SAFETY: the C library's function of this name and type.
        return unsafe { REAL.get::<Reopen>()(path, mode, file) };
    }
    if path.is_null() || mode.is_null() {
        return file;
    }
    // SAFETY: the caller passes a C string.
    let how = match unsafe { *mode } as u8 {
        b'w' => libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC,
        b'a' => libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND,
        _ => libc::O_RDONLY,
    };
    // SAFETY: the caller passes a C string.
    let descriptor = unsafe { libc::open(path, how | libc::O_CLOEXEC, 0o666) };
    if descriptor < 0 {
        return std::ptr::null_mut();
    }
    if stdio::reopen(file, descriptor) || own_streams::set_input(descriptor) {
        return file;
    }
    // In a fork of a rank, or on another thread.
    // SAFETY: opened above.
    unsafe { libc::close(descriptor) };
    fail(libc::ENOTSUP);
    std::ptr::null_mut()
}

/// glibc's own duplicates the descriptor of `stderr`, which would pass the rank's lines by.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn perror(what: *const c_char) {
    // SAFETY: reads this thread's errno; strerror returns a C string; the caller passes one, or null.
    unsafe {
        let error = *libc::__errno_location();
        let mut text = Vec::new();
        if !what.is_null() && *what != 0 {
            text.extend_from_slice(std::ffi::CStr::from_ptr(what).to_bytes());
            text.extend_from_slice(b": ");
        }
        text.extend_from_slice(std::ffi::CStr::from_ptr(libc::strerror(error)).to_bytes());
        text.push(b'\n');
        write(2, text.as_ptr().cast(), text.len());
        *libc::__errno_location() = error;
    }
}

/// Duplicates a descriptor; a copy of a standard stream stays the rank's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup(old: c_int) -> c_int {
    // SAFETY: the system call of this function; it sets errno.
    let real = |old: c_int| unsafe { libc::syscall(libc::SYS_dup, old) as c_int };
    descriptors::duplicate(old, real).unwrap_or_else(|| real(old))
}

/// Puts a descriptor in the place of another; of a standard one, for the calling rank alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    // SAFETY: the system call of this function; it sets errno.
    let real = |old: c_int| unsafe { libc::syscall(libc::SYS_dup2, old, new) as c_int };
    descriptors::duplicate_to(old, new, real).unwrap_or_else(|| real(old))
}

/// Does what `dup2` does, with flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    // SAFETY: the system call of this function; it sets errno.
    let real = |old: c_int| unsafe { libc::syscall(libc::SYS_dup3, old, new, flags) as c_int };
    if old == new {
        return fail(libc::EINVAL);
    }
    descriptors::duplicate_to(old, new, real).unwrap_or_else(|| real(old))
}

/// Closes a descriptor; a standard one for the calling rank alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    // SAFETY: the system call of this function; it sets errno.
    descriptors::close(descriptor)
        .unwrap_or_else(|| unsafe { libc::syscall(libc::SYS_close, descriptor) as c_int })
}

/// `std::ios_base::sync_with_stdio`: C++'s streams stay synchronised with C's, since the library has one set
/// of the other buffers for all ranks. Returns what they were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _ZNSt8ios_base15sync_with_stdioEb(wanted: bool) -> bool {
    static REAL: NextSymbol = NextSymbol::new(c"_ZNSt8ios_base15sync_with_stdioEb");
    if rank::current().is_some() && rank::are_streams_private() {
        return true;
    }
    // SAFETY: the C++ library's function of this name and type.
    unsafe { REAL.get::<unsafe extern "C" fn(bool) -> bool>()(wanted) }
}

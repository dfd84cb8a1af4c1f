//! C++ exceptions that functions of the program throw while MPI calls them.
//!
//! What throws is called by code that has to leave something in order: a scheduler on its own stack, a call
//! that keeps a record for each rank. So an exception is taken at the function that threw it, goes on as a
//! value, and is thrown again where the program's own call of MPI returns. Rust's `catch_unwind` cannot: it
//! ends the process at an exception that is not Rust's.
//!
//! Source: Itanium C++ ABI, exception handling, level I (the unwinder) and section 2.2 (what a C++ exception
//! is to other languages).

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use crate::now;

/// An exception of another language that was thrown and not yet caught by the program. Dropped, it is deleted
/// as its language says.
#[derive(Debug)]
pub struct Thrown(NonNull<c_void>);

// SAFETY: the exception is memory on the heap that nobody else refers to; one thread runs all ranks.
unsafe impl Send for Thrown {}

/// The beginning of every exception: which language it is of, and how it is deleted.
#[repr(C)]
struct ExceptionHeader {
    class: u64,
    cleanup: Option<unsafe extern "C" fn(c_int, *mut c_void)>,
}

/// Rust's panics: the standard library had its letters in the one order, and then in the other.
const RUST: [u64; 2] = [u64::from_be_bytes(*b"MOZ\0RUST"), u64::from_le_bytes(*b"MOZ\0RUST")];
const CPLUSPLUS: u64 = u64::from_be_bytes(*b"GNUCC++\0");

// What the unwinder asks of a personality routine, and what that answers.
const SEARCH_PHASE: c_int = 1;
const HANDLER_FRAME: c_int = 4;
const FORCED: c_int = 8;
const HANDLER_FOUND: c_int = 6;
const INSTALL_CONTEXT: c_int = 7;
const CONTINUE_UNWIND: c_int = 8;
const FOREIGN_EXCEPTION_CAUGHT: c_int = 1;
/// The register of a function's result, in DWARF's numbers.
const RAX: c_int = 0;

unsafe extern "C" {
    fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_SetIP(context: *mut c_void, address: usize);
}
unsafe extern "C-unwind" {
    fn _Unwind_RaiseException(exception: *mut c_void) -> c_int;
}

type Personality = unsafe extern "C" fn(c_int, c_int, u64, *mut c_void, *mut c_void) -> c_int;

/// Decides for the unwinder at a frame of [`catching`]: it catches all but Rust's panics and what ends a
/// thread.
unsafe extern "C" fn personality(
    _: c_int,
    actions: c_int,
    class: u64,
    exception: *mut c_void,
    context: *mut c_void,
) -> c_int {
    if RUST.contains(&class) || actions & FORCED != 0 {
        return CONTINUE_UNWIND;
    }
    if actions & SEARCH_PHASE != 0 {
        return HANDLER_FOUND;
    }
    if actions & HANDLER_FRAME == 0 {
        return CONTINUE_UNWIND;
    }
    // SAFETY: the unwinder's context of the frame, which goes on as if what it called had returned the
    // exception.
    unsafe {
        _Unwind_SetGR(context, RAX, exception as usize);
        _Unwind_SetIP(context, _Unwind_GetIP(context));
    }
    INSTALL_CONTEXT
}

static PERSONALITY: Personality = personality;

/// Calls `call(data)`, which answers null; answers null, or the exception that it left with.
#[unsafe(naked)]
unsafe extern "C-unwind" fn catching(
    call: unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    data: *mut c_void,
) -> *mut c_void {
    naked_asm!(
        ".cfi_startproc",
        // 0x9b: where a pointer to it is, relative to here.
        ".cfi_personality 0x9b, {personality}",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        personality = sym PERSONALITY,
    )
}

/// Calls `f`: its result, or the exception that it left with. Panics of Rust pass. O(1) where nothing is
/// thrown: two calls.
///
/// # Errors
/// The exception.
pub fn catch<R>(f: impl FnOnce() -> R) -> Result<R, Thrown> {
    struct CaughtCall<F, R> {
        function: Option<F>,
        result: Option<R>,
    }
    unsafe extern "C-unwind" fn run<F: FnOnce() -> R, R>(call: *mut c_void) -> *mut c_void {
        // SAFETY: the address that is passed below.
        let call = unsafe { &mut *call.cast::<CaughtCall<F, R>>() };
        call.result = call.function.take().map(|function| function());
        std::ptr::null_mut()
    }
    fn runner<F: FnOnce() -> R, R>(
        _: &CaughtCall<F, R>,
    ) -> unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void {
        run::<F, R>
    }
    let mut call = CaughtCall { function: Some(f), result: None };
    // SAFETY: `run` is for just this type of call, which outlives it.
    let thrown = unsafe { catching(runner(&call), (&raw mut call).cast()) };
    match (NonNull::new(thrown), call.result) {
        (Some(exception), _) => {
            let thrown = Thrown(exception);
            thrown.count(-1);
            Err(thrown)
        }
        (None, Some(result)) => Ok(result),
        (None, None) => unreachable!("the function returned or threw"),
    }
}

impl Thrown {
    /// Throws it at the caller. Where nobody catches it, the program ends as C++ says.
    pub fn rethrow(self) -> ! {
        self.count(1);
        let exception = self.0.as_ptr();
        std::mem::forget(self);
        // SAFETY: an exception that nobody is handling, thrown as if anew. It returns only if no frame
        // catches it.
        unsafe {
            _Unwind_RaiseException(exception);
            terminate(exception)
        }
    }

    /// Adds `by` to the running rank's count of C++ exceptions that are thrown and not caught. An exception
    /// of another language leaves the count as it is.
    fn count(&self, by: i32) {
        // SAFETY: every exception begins so.
        let class = unsafe { (*self.0.cast::<ExceptionHeader>().as_ptr()).class };
        if class & !0xff == CPLUSPLUS {
            now::count_exceptions(by);
        }
    }
}

impl Drop for Thrown {
    fn drop(&mut self) {
        // SAFETY: every exception begins with a header, and nobody else refers to this one.
        unsafe {
            if let Some(cleanup) = (*self.0.cast::<ExceptionHeader>().as_ptr()).cleanup {
                cleanup(FOREIGN_EXCEPTION_CAUGHT, self.0.as_ptr());
            }
        }
    }
}

/// Ends the program at an exception that nobody catches, as its C++ runtime does.
unsafe fn terminate(exception: *mut c_void) -> ! {
    // SAFETY: functions of the C++ ABI, of these types, if such a runtime is loaded.
    unsafe {
        let begin = libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_begin_catch".as_ptr());
        let terminate = libc::dlsym(libc::RTLD_DEFAULT, c"_ZSt9terminatev".as_ptr());
        if !begin.is_null() && !terminate.is_null() {
            std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void) -> *mut c_void>(begin)(exception);
            std::mem::transmute::<*mut c_void, extern "C" fn()>(terminate)();
        }
        libc::abort()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::panic::catch_unwind;

    thread_local!(static DELETED: Cell<u32> = const { Cell::new(0) });

    /// An exception of no language that anybody knows, aligned as the unwinder wants it.
    #[repr(C, align(16))]
    struct Exception {
        header: ExceptionHeader,
        private: [usize; 2],
        number: u32,
    }

    unsafe extern "C" fn delete(_: c_int, exception: *mut c_void) {
        DELETED.set(DELETED.get() + 1);
        // SAFETY: `throw` made it.
        drop(unsafe { Box::from_raw(exception.cast::<Exception>()) });
    }

    fn throw(number: u32) {
        let header = ExceptionHeader { class: u64::from_be_bytes(*b"XSIMTEST"), cleanup: Some(delete) };
        let exception = Box::into_raw(Box::new(Exception { header, private: [0; 2], number }));
        // SAFETY: an exception in the form that the unwinder wants.
        unsafe { _Unwind_RaiseException(exception.cast()) };
        unreachable!("somebody catches it");
    }

    struct DropCounter<'a>(&'a Cell<u32>);
    impl Drop for DropCounter<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn an_exception_becomes_a_value_and_is_thrown_again() {
        let dropped = Cell::new(0);
        let inner = || {
            let _counts = DropCounter(&dropped);
            throw(17);
        };
        let outer = || match catch(inner) {
            Ok(()) => 0,
            Err(thrown) => thrown.rethrow(),
        };
        let thrown = catch(outer).unwrap_err();
        assert_eq!(dropped.get(), 1);
        // SAFETY: `throw` made it.
        assert_eq!(unsafe { thrown.0.cast::<Exception>().as_ref() }.number, 17);
        drop(thrown);
        assert_eq!(DELETED.get(), 1);
    }

    #[test]
    fn results_and_panics_pass() {
        assert_eq!(catch(|| "a result").unwrap(), "a result");
        let panic = catch_unwind(|| catch(|| -> u32 { std::panic::panic_any(5u8) })).unwrap_err();
        assert_eq!(panic.downcast_ref::<u8>(), Some(&5));
    }
}

//! `malloc`: what a rank allocates reads as zeros (`rank::heap`).

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rank::next::Next;

/// Up to this many bytes clearing costs less than the slower way through `calloc`, which knows what is clear already.
const SMALL: usize = 1024;

type Malloc = unsafe extern "C" fn(usize) -> *mut c_void;
type Calloc = unsafe extern "C" fn(usize, usize) -> *mut c_void;
static MALLOC: Next = Next::new(c"malloc");
static CALLOC: Next = Next::new(c"calloc");

unsafe extern "C" {
    /// The C library's `malloc` under a name that nobody interposes.
    fn __libc_malloc(bytes: usize) -> *mut c_void;
}

/// Whether `malloc` is being looked up, which may itself allocate.
static LOOKING: AtomicBool = AtomicBool::new(false);
static FOUND: AtomicBool = AtomicBool::new(false);

#[cold]
fn find() -> bool {
    if LOOKING.swap(true, Relaxed) {
        return false;
    }
    // SAFETY: the types of these symbols.
    unsafe {
        let _ = MALLOC.get::<Malloc>();
        let _ = CALLOC.get::<Calloc>();
    }
    FOUND.store(true, Relaxed);
    true
}

/// Memory for a rank, cleared unless the user wants it as it comes; memory for anybody else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    if !FOUND.load(Relaxed) && !find() {
        // SAFETY: `malloc` under another name, with the same contract.
        return unsafe { __libc_malloc(bytes) };
    }
    // SAFETY: the C library's (or another allocator's) functions of these names and types; `small` has room for `bytes`.
    unsafe {
        if !rank::heap::must_clear() {
            return MALLOC.get::<Malloc>()(bytes);
        }
        if bytes > SMALL {
            return CALLOC.get::<Calloc>()(bytes, 1);
        }
        let small = MALLOC.get::<Malloc>()(bytes);
        if !small.is_null() {
            small.write_bytes(0, bytes);
        }
        small
    }
}

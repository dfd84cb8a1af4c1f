//! `malloc` and its kin: what a rank allocates reads as zeros (`rank::heap`), and lies on pages that are
//! there (`rank::heap::presence`).
//!
//! The program may bring an allocator of its own: preloaded, linked, inside it, or AddressSanitizer's. The
//! library then leaves it alone. Its own memory comes from the C library under names that nobody interposes,
//! and goes back there. So an allocator sees no block that it did not give, and is never called while the
//! simulator's state is borrowed.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rank::heap::presence;
use rank::next::NextSymbol;

/// Up to this many bytes clearing costs less than the slower way through `calloc`, which knows what is clear
/// already.
const SMALL: usize = 1024;

type Malloc = unsafe extern "C" fn(usize) -> *mut c_void;
type Calloc = unsafe extern "C" fn(usize, usize) -> *mut c_void;
type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Aligned = unsafe extern "C" fn(usize, usize) -> *mut c_void;
static MALLOC: NextSymbol = NextSymbol::new(c"malloc");
static CALLOC: NextSymbol = NextSymbol::new(c"calloc");
static REALLOC: NextSymbol = NextSymbol::new(c"realloc");
static FREE: NextSymbol = NextSymbol::new(c"free");

unsafe extern "C" {
    // The C library's heap under names that nobody interposes.
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(block: *mut c_void);
}

/// The library's own heap: the C library's, past every interposed function.
// Its blocks are noted as the program's are: they push those up to pages that are not there yet.
struct OwnHeap;

#[global_allocator]
static OWN: OwnHeap = OwnHeap;

/// The alignment of every block of the C library.
const ALIGNED: usize = 16;

/// Returns `true` if the C library aligns a block of this layout as it should be without being told.
fn is_plain(layout: Layout) -> bool {
    layout.align() <= ALIGNED && layout.align() <= layout.size()
}

// SAFETY: the C library's functions have the contract of an allocator, and all blocks come from and go back
// to them.
unsafe impl GlobalAlloc for OwnHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size may be asked; alignments of layouts are powers of two.
        let block = unsafe {
            if is_plain(layout) {
                __libc_malloc(layout.size())
            } else {
                __libc_memalign(layout.align(), layout.size())
            }
        };
        noted(block, layout.size()).cast()
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_plain(layout) {
            // SAFETY: any size may be asked.
            return noted(unsafe { __libc_calloc(layout.size(), 1) }, layout.size()).cast();
        }
        // SAFETY: the caller's contract; the block has as many bytes.
        unsafe {
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the block came from one of these functions (the caller's contract).
        unsafe { __libc_free(block.cast()) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: `bytes`, rounded up to the alignment, does not overflow (the caller's contract).
        let new = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        if is_plain(new) {
            // SAFETY: the block came from one of these functions (the caller's contract).
            return noted(unsafe { __libc_realloc(block.cast(), bytes) }, bytes).cast();
        }
        // SAFETY: the caller's contract; both blocks have as many bytes as are copied.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(block, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

/// `true` if the next `malloc` and `calloc` are one allocator's: only then may one stand for the other.
static OF_ONE: AtomicBool = AtomicBool::new(false);

/// Returns where the library that contains an address begins; 0 if none does.
fn library_of(address: usize) -> usize {
    // SAFETY: an all-zero Dl_info is valid; dladdr only reads the loader's tables.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address as *const c_void, &mut info) == 0 { 0 } else { info.dli_fbase as usize }
    }
}

/// `true` if `malloc` is being looked up, which may itself allocate.
static LOOKING: AtomicBool = AtomicBool::new(false);
static FOUND: AtomicBool = AtomicBool::new(false);

#[cold]
fn find() -> bool {
    if LOOKING.swap(true, Relaxed) {
        return false;
    }
    // SAFETY: the types of these symbols.
    unsafe {
        let (malloc, calloc) = (MALLOC.get::<Malloc>(), CALLOC.get::<Calloc>());
        OF_ONE.store(library_of(malloc as usize) == library_of(calloc as usize), Relaxed);
        let _ = (REALLOC.get::<Realloc>(), FREE.get::<Free>());
    }
    FOUND.store(true, Relaxed);
    true
}

/// Returns whether the next allocator is known.
#[inline(always)]
fn is_found() -> bool {
    FOUND.load(Relaxed) || find()
}

/// Notes a block that was allocated, and returns it.
#[inline(always)]
fn noted(block: *mut c_void, bytes: usize) -> *mut c_void {
    if !block.is_null() {
        presence::after(block as usize, bytes);
    }
    block
}

/// Returns memory for a rank, cleared unless the user wants it as it comes; memory for anybody else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    if !is_found() {
        // SAFETY: `malloc` under another name, with the same contract.
        return unsafe { __libc_malloc(bytes) };
    }
    presence::before(bytes);
    // SAFETY: the C library's (or another allocator's) functions of these names and types; `small` has room
    // for `bytes`.
    unsafe {
        if !rank::heap::must_clear() {
            return noted(MALLOC.get::<Malloc>()(bytes), bytes);
        }
        if bytes > SMALL && OF_ONE.load(Relaxed) {
            return noted(CALLOC.get::<Calloc>()(bytes, 1), bytes);
        }
        let small = MALLOC.get::<Malloc>()(bytes);
        if !small.is_null() {
            small.write_bytes(0, bytes);
        }
        noted(small, bytes)
    }
}

/// Returns memory of the C library's function, on pages that are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn calloc(count: usize, each: usize) -> *mut c_void {
    if !is_found() {
        // SAFETY: `calloc` under another name, with the same contract.
        return unsafe { __libc_calloc(count, each) };
    }
    let bytes = count.saturating_mul(each);
    presence::before(bytes);
    // SAFETY: the function of this name and type.
    noted(unsafe { CALLOC.get::<Calloc>()(count, each) }, bytes)
}

/// Gives a block another length by the C library's function, on pages that are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    if !is_found() {
        // SAFETY: `realloc` under another name, with the same contract.
        return unsafe { __libc_realloc(block, bytes) };
    }
    freed(block);
    presence::before(bytes);
    // SAFETY: the function of this name and type.
    noted(unsafe { REALLOC.get::<Realloc>()(block, bytes) }, bytes)
}

/// The function that gets the address of each block that the program frees, a `fn(usize)`; 0 for none.
static FREED: AtomicUsize = AtomicUsize::new(0);

/// Calls a function with the address of each block that the program frees from now on, or none.
pub fn watch_freed(function: Option<fn(usize)>) {
    FREED.store(function.map_or(0, |function| function as usize), Relaxed);
}

/// Notes that a block is given back.
#[inline(always)]
fn freed(block: *mut c_void) {
    let function = FREED.load(Relaxed);
    if function != 0 && !block.is_null() {
        // SAFETY: only functions of this type are stored.
        unsafe { std::mem::transmute::<usize, fn(usize)>(function)(block as usize) }
    }
}

/// The C library's: the block may be one that an operation under way touches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    if !is_found() {
        // SAFETY: `free` under another name, with the same contract.
        return unsafe { __libc_free(block) };
    }
    freed(block);
    // SAFETY: the function of this name and type.
    unsafe { FREE.get::<Free>()(block) }
}

/// Gives memory of the C library's function, on pages that are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(at: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"posix_memalign");
    type Real = unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int;
    presence::before(bytes.saturating_add(alignment));
    // SAFETY: the function of this name and type; where it succeeds it has written the block.
    unsafe {
        let code = REAL.get::<Real>()(at, alignment, bytes);
        if code == 0 {
            noted(*at, bytes);
        }
        code
    }
}

/// Returns memory of the C library's function, on pages that are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    static REAL: NextSymbol = NextSymbol::new(c"aligned_alloc");
    presence::before(bytes.saturating_add(alignment));
    // SAFETY: the function of this name and type.
    noted(unsafe { REAL.get::<Aligned>()(alignment, bytes) }, bytes)
}

/// Returns memory of the C library's function, on pages that are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    static REAL: NextSymbol = NextSymbol::new(c"memalign");
    presence::before(bytes.saturating_add(alignment));
    // SAFETY: the function of this name and type.
    noted(unsafe { REAL.get::<Aligned>()(alignment, bytes) }, bytes)
}

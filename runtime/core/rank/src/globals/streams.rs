//! The standard streams of C++, private to each rank of the program that the process was started with.
//!
//! `std::cout` and its relatives are objects of the C++ library, or copies in the program where it is not
//! compiled with `-fPIC`. Those that the program or a library of its own refers to are kept with its
//! globals: formats, state, buffer and ties are a rank's. The library constructs them once for the process,
//! before the initial values are taken.

use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::image::Image;

/// The streams of narrow characters, then those of wide ones.
const NAMES: [&CStr; 8] = [
    c"_ZSt4cout",
    c"_ZSt4cerr",
    c"_ZSt4clog",
    c"_ZSt3cin",
    c"_ZSt5wcout",
    c"_ZSt5wcerr",
    c"_ZSt5wclog",
    c"_ZSt4wcin",
];
/// Constructs a `std::ios_base::Init`, and destroys it.
const INIT: [&CStr; 2] = [c"_ZNSt8ios_base4InitC1Ev", c"_ZNSt8ios_base4InitD1Ev"];

static ANY: AtomicBool = AtomicBool::new(false);

/// Returns `true` if streams are kept with the first program's globals.
pub fn are_private() -> bool {
    ANY.load(Relaxed)
}

/// Returns `true` for the name of a stream.
pub(super) fn is_stream(name: &CStr) -> bool {
    NAMES.contains(&name)
}

/// `RTLD_DL_SYMENT` of `dladdr1`.
const SYMBOL: i32 = 1;
unsafe extern "C" {
    fn dladdr1(address: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: i32) -> i32;
}

fn address(name: &CStr) -> usize {
    // SAFETY: looks up a symbol by a valid name.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize }
}

fn range(name: &CStr) -> Option<Range<usize>> {
    let at = address(name);
    let mut symbol: *mut c_void = std::ptr::null_mut();
    // SAFETY: an all-zero Dl_info is valid; the function only reads the loader's tables, and sets `symbol` to
    // an entry of one, or null.
    let bytes = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if at == 0 || dladdr1(at as *const c_void, &mut info, &mut symbol, SYMBOL) == 0 || symbol.is_null() {
            return None;
        }
        (*symbol.cast::<libc::Elf64_Sym>()).st_size as usize
    };
    Some(at..at + bytes)
}

/// Returns the objects of the streams to which the images refer, constructed; none for a program that is
/// spawned.
pub(super) fn of(images: &[Image]) -> Vec<Range<usize>> {
    if !images[0].is_first() {
        return Vec::new();
    }
    let used: Vec<&CStr> =
        NAMES.into_iter().filter(|name| images.iter().any(|image| image.refers_to_exactly(name))).collect();
    let found: Vec<Range<usize>> = used.iter().filter_map(|name| range(name)).collect();
    let init = INIT.map(address);
    if found.is_empty() || init.contains(&0) {
        return Vec::new();
    }
    let mut object = 0u64;
    for function in init {
        // SAFETY: a constructor or destructor of an empty class, of the C++ library, with room for an object.
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut u64)>(function)(&mut object) };
    }
    ANY.store(true, Relaxed);
    found
}

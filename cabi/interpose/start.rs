//! `__libc_start_main`: takes over the program's `main`.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

use rank::lifecycle::start;
use rank::next::Next;
use rank::program::{Constructor, Main};

type Plain = Option<unsafe extern "C" fn()>;
type Start = unsafe extern "C" fn(Main, c_int, *mut *mut c_char, Option<Constructor>, Plain, Plain, *mut c_void) -> c_int;
static START: Next = Next::new(c"__libc_start_main");

/// glibc runs a non-null `init` in place of the program's constructors; ranks run those themselves.
unsafe extern "C" fn no_constructors(_: c_int, _: *mut *mut c_char, _: *mut *mut c_char) {}

unsafe extern "C" fn main(argc: c_int, argv: *mut *mut c_char, environment: *mut *mut c_char) -> c_int {
    // SAFETY: called by glibc as the program's main, once.
    unsafe { start::run(argc, argv, environment) }
}

/// Run by the loader when this library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;
extern "C" fn loaded() {
    start::loaded();
}

/// Whether the user wants this process to be one rank: then how many arguments are left for the program, which are moved up.
///
/// # Safety
/// `argv` has `argc` C strings and a null pointer behind them, which nobody else uses.
unsafe fn one_rank(argc: c_int, argv: *mut *mut c_char) -> Option<c_int> {
    // SAFETY: the caller's contract.
    let words = unsafe { std::slice::from_raw_parts_mut(argv, argc.max(0) as usize + 1) };
    let text = |word: *mut c_char| {
        // SAFETY: a C string of the program's arguments, which stay.
        OsStr::from_bytes(unsafe { CStr::from_ptr(word) }.to_bytes()).to_owned()
    };
    let (_, given) = words.split_last()?;
    let mut left: Vec<_> = given.iter().map(|&word| text(word)).collect();
    if !crate::alone::asked(&mut left) {
        return None;
    }
    // The options are gone, the rest is in its order.
    let mut kept = 0;
    for at in 0..words.len() - 1 {
        if left.get(kept).is_some_and(|next| *next == text(words[at])) {
            words[kept] = words[at];
            kept += 1;
        }
    }
    words[kept] = std::ptr::null_mut();
    Some(kept as c_int)
}

/// Called by the program's entry point. `fini` would run the program's destructors once more for the
/// process: ranks run theirs when they end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __libc_start_main(
    program: Main,
    argc: c_int,
    argv: *mut *mut c_char,
    init: Option<Constructor>,
    fini: Plain,
    rtld_fini: Plain,
    stack_end: *mut c_void,
) -> c_int {
    // SAFETY: glibc's own signature of this symbol.
    let real: Start = unsafe { START.get() };
    rank::hooks::set(crate::hooks());
    start::begin();
    // SAFETY: the entry point's arguments.
    if let Some(argc) = unsafe { one_rank(argc, argv) } {
        start::decline();
        // SAFETY: passes on what the entry point gave, with fewer arguments.
        return unsafe { real(program, argc, argv, init, fini, rtld_fini, stack_end) };
    }
    // SAFETY: the entry point's arguments, before any code of the program has run.
    unsafe {
        start::capture(program, argc, argv, init);
        real(main, argc, argv, Some(no_constructors), None, rtld_fini, stack_end)
    }
}

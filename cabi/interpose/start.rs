//! `__libc_start_main`: takes over the program's `main`.

use std::ffi::{c_char, c_int, c_void};

use rank::lifecycle::start;
use rank::next::NextSymbol;
use rank::program::{Constructor, Main};

type Plain = Option<unsafe extern "C" fn()>;
type Start = unsafe extern "C" fn(
    Main,
    c_int,
    *mut *mut c_char,
    Option<Constructor>,
    Plain,
    Plain,
    *mut c_void,
) -> c_int;
static START: NextSymbol = NextSymbol::new(c"__libc_start_main");

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
    rank::output::hold_closed_streams();
    rank::another::begun(program, init);
    // SAFETY: glibc's own signature of this symbol.
    let real: Start = unsafe { START.get() };
    rank::hooks::set(crate::hooks());
    start::begin();
    // SAFETY: the entry point's arguments.
    if let Some(argc) = unsafe { start::declined(argc, argv) } {
        // SAFETY: passes on what the entry point gave, with fewer arguments.
        return unsafe { real(program, argc, argv, init, fini, rtld_fini, stack_end) };
    }
    // SAFETY: the entry point's arguments, before any code of the program has run.
    unsafe {
        start::capture(program, argc, argv, init);
        real(main, argc, argv, Some(no_constructors), None, rtld_fini, stack_end)
    }
}

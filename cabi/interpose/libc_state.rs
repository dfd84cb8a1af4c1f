//! Functions of the C library that keep state for the process: each rank gets its own.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

use rank::libc_state;
use rank::next::NextSymbol;
use rank::random::{self, Generators};

type Getopt = unsafe extern "C" fn(c_int, *const *mut c_char, *const c_char) -> c_int;
/// Begins anew in each rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getopt(
    count: c_int,
    arguments: *const *mut c_char,
    options: *const c_char,
) -> c_int {
    static REAL: NextSymbol = NextSymbol::new(c"getopt");
    libc_state::before_getopt();
    // SAFETY: the C library's function of this name and type.
    let option = unsafe { REAL.get::<Getopt>()(count, arguments, options) };
    libc_state::after_getopt();
    option
}

type GetoptLong =
    unsafe extern "C" fn(c_int, *const *mut c_char, *const c_char, *const c_void, *mut c_int) -> c_int;
macro_rules! getopt_long {
    ($name:ident, $symbol:expr) => {
        /// Begins anew in each rank.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            count: c_int,
            arguments: *const *mut c_char,
            options: *const c_char,
            long: *const c_void,
            index: *mut c_int,
        ) -> c_int {
            static REAL: NextSymbol = NextSymbol::new($symbol);
            libc_state::before_getopt();
            // SAFETY: the C library's function of this name and type.
            let option = unsafe { REAL.get::<GetoptLong>()(count, arguments, options, long, index) };
            libc_state::after_getopt();
            option
        }
    };
}
getopt_long!(getopt_long, c"getopt_long");
getopt_long!(getopt_long_only, c"getopt_long_only");

/// Goes on where the calling rank stopped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strtok(text: *mut c_char, delimiters: *const c_char) -> *mut c_char {
    static REAL: NextSymbol = NextSymbol::new(c"strtok");
    match libc_state::token() {
        // SAFETY: what strtok is, with a position that only this rank uses.
        Some(position) => unsafe { libc::strtok_r(text, delimiters, position) },
        // SAFETY: the C library's function of this name and type.
        None => unsafe {
            REAL.get::<unsafe extern "C" fn(*mut c_char, *const c_char) -> *mut c_char>()(text, delimiters)
        },
    }
}

unsafe extern "C" {
    fn random_r(data: *mut [u64; 6], result: *mut i32) -> c_int;
    fn srandom_r(seed: c_uint, data: *mut [u64; 6]) -> c_int;
    fn initstate_r(seed: c_uint, table: *mut c_char, bytes: usize, data: *mut [u64; 6]) -> c_int;
    fn setstate_r(table: *mut c_char, data: *mut [u64; 6]) -> c_int;
    fn drand48_r(data: *mut [u64; 3], result: *mut f64) -> c_int;
    fn lrand48_r(data: *mut [u64; 3], result: *mut c_long) -> c_int;
    fn mrand48_r(data: *mut [u64; 3], result: *mut c_long) -> c_int;
    fn srand48_r(seed: c_long, data: *mut [u64; 3]) -> c_int;
    fn lcong48_r(parameters: *mut u16, data: *mut [u64; 3]) -> c_int;
}

/// Calls one of the functions above for the running rank's generators, or else the C library's own.
macro_rules! generator {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty,
        $symbol:expr, |$g:ident| $own:expr) => {
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            static REAL: NextSymbol = NextSymbol::new($symbol);
            match random::generators() {
                // SAFETY: glibc's reentrant function on this rank's own state, which lives until the rank
                // ends.
                Some(generators) => unsafe {
                    let $g: &mut Generators = &mut *generators;
                    $own
                },
                // SAFETY: the C library's function of this name and type.
                None => unsafe { REAL.get::<unsafe extern "C" fn($($type),*) -> $result>()($($argument),*) },
            }
        }
    };
}

generator!(
/// The calling rank's own sequence.
rand() -> c_int, c"rand", |g| {
    let mut result = 0;
    random_r(&mut g.random, &mut result);
    result
});
generator!(
/// The calling rank's own sequence.
random() -> c_long, c"random", |g| {
    let mut result = 0;
    random_r(&mut g.random, &mut result);
    c_long::from(result)
});
generator!(
/// Seeds the calling rank's own sequence.
srand(seed: c_uint) -> (), c"srand", |g| {
    srandom_r(seed, &mut g.random);
});
generator!(
/// Seeds the calling rank's own sequence.
srandom(seed: c_uint) -> (), c"srandom", |g| {
    srandom_r(seed, &mut g.random);
});
generator!(
/// Gives the calling rank's own sequence a table.
initstate(seed: c_uint, table: *mut c_char, bytes: usize) -> *mut c_char, c"initstate", |g| {
    if initstate_r(seed, table, bytes, &mut g.random) == 0 {
        std::mem::replace(&mut g.state, table as usize) as *mut c_char
    } else {
        std::ptr::null_mut()
    }
});
generator!(
/// Gives the calling rank's own sequence a table used before.
setstate(table: *mut c_char) -> *mut c_char, c"setstate", |g| {
    if setstate_r(table, &mut g.random) == 0 {
        std::mem::replace(&mut g.state, table as usize) as *mut c_char
    } else {
        std::ptr::null_mut()
    }
});
generator!(
/// The calling rank's own sequence.
drand48() -> f64, c"drand48", |g| {
    let mut result = 0.0;
    drand48_r(&mut g.drand48, &mut result);
    result
});
generator!(
/// The calling rank's own sequence.
lrand48() -> c_long, c"lrand48", |g| {
    let mut result = 0;
    lrand48_r(&mut g.drand48, &mut result);
    result
});
generator!(
/// The calling rank's own sequence.
mrand48() -> c_long, c"mrand48", |g| {
    let mut result = 0;
    mrand48_r(&mut g.drand48, &mut result);
    result
});
generator!(
/// Seeds the calling rank's own sequence.
srand48(seed: c_long) -> (), c"srand48", |g| {
    srand48_r(seed, &mut g.drand48);
});
generator!(
/// Sets all parameters of the calling rank's own sequence.
lcong48(parameters: *mut u16) -> (), c"lcong48", |g| {
    lcong48_r(parameters, &mut g.drand48);
});

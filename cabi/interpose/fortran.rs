//! Entry points of libgfortran that name a unit or draw random numbers, of which each rank has its own, or
//! take crashes over.

use rank::fortran_random::{self, Opaque};
use rank::fortran_units;
use rank::next::NextSymbol;

/// The beginning of every parameter block of libgfortran's input and output (`st_parameter_common`).
#[repr(C)]
pub struct ParameterBlock {
    flags: i32,
    unit: i32,
}

/// Flags of `st_parameter_open`: a file is named; libgfortran chooses the unit's number.
const OPEN_FILE: i32 = 1 << 8;
const OPEN_NEW_UNIT: i32 = 1 << 23;
/// Flags of `st_parameter_dt` that only formatted transfer has: list-directed, with a format, of a namelist.
const FORMATTED: i32 = 1 << 7 | 1 << 12 | 1 << 15;

/// Returns `true` if an `open` statement makes a scratch file.
///
/// # Safety
/// `parameters` are of such a statement.
unsafe fn is_scratch(parameters: &ParameterBlock) -> bool {
    const HAS_STATUS: i32 = 1 << 9;
    /// The word of `st_parameter_open` with the status; behind it is its length.
    const STATUS: usize = 9;
    if parameters.flags & HAS_STATUS == 0 {
        return false;
    }
    // SAFETY: the block has these words, and the first is the address of as many characters as the second
    // says.
    let status = unsafe {
        let words = std::ptr::from_ref(parameters).cast::<usize>();
        std::slice::from_raw_parts(*words.add(STATUS) as *const u8, *words.add(STATUS + 1))
    };
    status.trim_ascii_end().eq_ignore_ascii_case(b"scratch")
}

/// Returns why a program cannot run that has libgfortran inside it: some of its calls come here, the others
/// do not.
///
/// Where the linker found libgfortran before libxsim, all of its functions are the program's own, and so are
/// each rank's units.
pub fn is_inside() -> Option<&'static str> {
    let is_called = rank::is_any_called(&STATEMENTS.map(|name| name.trim_matches('_')))
        && !NextSymbol::new(c"_gfortran_st_write").exists();
    is_called.then_some(
        "this program has parts of libgfortran inside it (-static-libgfortran), which cannot give each rank \
         units of its own; link it with xsim fc, which leaves -static-libgfortran out, or without that \
         option",
    )
}

macro_rules! statements {
    ($($name:ident $symbol:expr, |$parameters:ident| $unit:expr;)*) => {
        /// The statements, as the loader's tables name them.
        const STATEMENTS: [&str; 11] = [$(stringify!($name)),*];
        $(
        /// The statement of this name, for the calling rank's unit.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(parameters: *mut ParameterBlock) {
            static REAL: NextSymbol = NextSymbol::new($symbol);
            // SAFETY: compiled Fortran passes its parameter block, made anew for each statement.
            unsafe {
                let $parameters = &mut *parameters;
                $parameters.unit = $unit;
                REAL.get::<unsafe extern "C" fn(*mut ParameterBlock)>()(parameters)
            }
        }
    )* };
}
statements! {
    _gfortran_st_open c"_gfortran_st_open", |p| match p.flags & OPEN_NEW_UNIT {
        0 => fortran_units::open(p.unit, p.flags & OPEN_FILE != 0 || is_scratch(p)),
        _ => p.unit,
    };
    _gfortran_st_close c"_gfortran_st_close", |p| fortran_units::close(p.unit);
    _gfortran_st_read c"_gfortran_st_read",
        |p| fortran_units::transfer(p.unit, true, p.flags & FORMATTED != 0);
    _gfortran_st_write c"_gfortran_st_write",
        |p| fortran_units::transfer(p.unit, false, p.flags & FORMATTED != 0);
    _gfortran_st_inquire c"_gfortran_st_inquire", |p| fortran_units::translate(p.unit);
    _gfortran_st_rewind c"_gfortran_st_rewind", |p| fortran_units::translate(p.unit);
    _gfortran_st_backspace c"_gfortran_st_backspace", |p| fortran_units::translate(p.unit);
    _gfortran_st_endfile c"_gfortran_st_endfile", |p| fortran_units::translate(p.unit);
    _gfortran_st_flush c"_gfortran_st_flush", |p| fortran_units::translate(p.unit);
    _gfortran_st_wait c"_gfortran_st_wait", |p| fortran_units::translate(p.unit);
    _gfortran_st_wait_async c"_gfortran_st_wait_async", |p| fortran_units::translate(p.unit);
}

/// An argument of these functions: an address or a length.
type Word = usize;

macro_rules! functions {
    ($($name:ident $symbol:expr;)*) => { $(
        /// Calls the next function of this name, with the calling rank's unit.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(unit: *const i32, second: Word, third: Word, fourth: Word) -> Word {
            static REAL: NextSymbol = NextSymbol::new($symbol);
            // SAFETY: compiled Fortran passes the address of a number; libgfortran's function takes as many
            // more as it gave.
            unsafe {
                let number = fortran_units::translate(*unit);
                REAL.get::<unsafe extern "C" fn(*const i32, Word, Word, Word) -> Word>()(
                    &raw const number, second, third, fourth
                )
            }
        }
    )* };
}
functions! {
    _gfortran_fgetc c"_gfortran_fgetc";
    _gfortran_fgetc_i1_sub c"_gfortran_fgetc_i1_sub";
    _gfortran_fgetc_i2_sub c"_gfortran_fgetc_i2_sub";
    _gfortran_fgetc_i4_sub c"_gfortran_fgetc_i4_sub";
    _gfortran_fgetc_i8_sub c"_gfortran_fgetc_i8_sub";
    _gfortran_fputc c"_gfortran_fputc";
    _gfortran_fputc_i1_sub c"_gfortran_fputc_i1_sub";
    _gfortran_fputc_i2_sub c"_gfortran_fputc_i2_sub";
    _gfortran_fputc_i4_sub c"_gfortran_fputc_i4_sub";
    _gfortran_fputc_i8_sub c"_gfortran_fputc_i8_sub";
    _gfortran_fseek_sub c"_gfortran_fseek_sub";
    _gfortran_ftell c"_gfortran_ftell";
    _gfortran_ftell_i1_sub c"_gfortran_ftell_i1_sub";
    _gfortran_ftell_i2_sub c"_gfortran_ftell_i2_sub";
    _gfortran_ftell_i4_sub c"_gfortran_ftell_i4_sub";
    _gfortran_ftell_i8_sub c"_gfortran_ftell_i8_sub";
}

/// Stands in for what a Fortran main program calls first. libgfortran then takes the signals of crashes over,
/// for a backtrace of its own: taken back, so that the report names the rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_set_options(count: i32, options: *mut i32) {
    static REAL: NextSymbol = NextSymbol::new(c"_gfortran_set_options");
    // SAFETY: libgfortran's own signature, with the compiler's arguments.
    unsafe { REAL.get::<unsafe extern "C" fn(i32, *mut i32)>()(count, options) };
    if rank::current().is_some() {
        rank::take_signals();
    }
}

/// `flush(unit)`; null flushes all units.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_flush_i4(unit: *mut i32) {
    static REAL: NextSymbol = NextSymbol::new(c"_gfortran_flush_i4");
    // SAFETY: compiled Fortran passes a unit number, or null; libgfortran's own signature.
    unsafe {
        let mut number = if unit.is_null() { 0 } else { fortran_units::translate(*unit) };
        let at = if unit.is_null() { unit } else { &raw mut number };
        REAL.get::<unsafe extern "C" fn(*mut i32)>()(at)
    }
}

macro_rules! random {
    ($($name:ident $symbol:expr;)*) => { $(
        /// Numbers of the calling rank's own sequence.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(result: Opaque) {
            static REAL: NextSymbol = NextSymbol::new($symbol);
            fortran_random::mount();
            // SAFETY: libgfortran's function with the argument that compiled Fortran gave.
            unsafe { REAL.get::<unsafe extern "C" fn(Opaque)>()(result) }
        }
    )* };
}
random! {
    _gfortran_random_r4 c"_gfortran_random_r4";
    _gfortran_random_r8 c"_gfortran_random_r8";
    _gfortran_random_r10 c"_gfortran_random_r10";
    _gfortran_random_r16 c"_gfortran_random_r16";
    _gfortran_arandom_r4 c"_gfortran_arandom_r4";
    _gfortran_arandom_r8 c"_gfortran_arandom_r8";
    _gfortran_arandom_r10 c"_gfortran_arandom_r10";
    _gfortran_arandom_r16 c"_gfortran_arandom_r16";
}

macro_rules! random_seed {
    ($($name:ident $symbol:expr;)*) => { $(
        /// The state of the calling rank's own sequence.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(size: Opaque, put: Opaque, get: Opaque) {
            static REAL: NextSymbol = NextSymbol::new($symbol);
            if size.is_null() && put.is_null() && get.is_null() && fortran_random::reseed() {
                return;
            }
            fortran_random::mount();
            // SAFETY: libgfortran's function with the arguments that compiled Fortran gave.
            unsafe { REAL.get::<unsafe extern "C" fn(Opaque, Opaque, Opaque)>()(size, put, get) }
        }
    )* };
}
random_seed! {
    _gfortran_random_seed_i4 c"_gfortran_random_seed_i4";
    _gfortran_random_seed_i8 c"_gfortran_random_seed_i8";
}

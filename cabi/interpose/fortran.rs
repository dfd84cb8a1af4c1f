//! Entry points of libgfortran that name a unit or draw random numbers, of which each rank has its own, or take crashes over.

use rank::fortran_random::{self, Opaque};
use rank::fortran_units;
use rank::next::Next;

/// The beginning of every parameter block of libgfortran's input and output (`st_parameter_common`).
#[repr(C)]
pub struct Parameters {
    flags: i32,
    unit: i32,
}

macro_rules! statements {
    ($($name:ident $symbol:expr;)*) => { $(
        /// The statement of this name, for the calling rank's unit.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(parameters: *mut Parameters) {
            static REAL: Next = Next::new($symbol);
            // SAFETY: compiled Fortran passes its parameter block, made anew for each statement.
            unsafe {
                (*parameters).unit = fortran_units::translate((*parameters).unit);
                REAL.get::<unsafe extern "C" fn(*mut Parameters)>()(parameters)
            }
        }
    )* };
}
statements! {
    _gfortran_st_open c"_gfortran_st_open";
    _gfortran_st_close c"_gfortran_st_close";
    _gfortran_st_read c"_gfortran_st_read";
    _gfortran_st_write c"_gfortran_st_write";
    _gfortran_st_inquire c"_gfortran_st_inquire";
    _gfortran_st_rewind c"_gfortran_st_rewind";
    _gfortran_st_backspace c"_gfortran_st_backspace";
    _gfortran_st_endfile c"_gfortran_st_endfile";
    _gfortran_st_flush c"_gfortran_st_flush";
}

/// What a Fortran main program calls first. libgfortran then takes the signals of crashes over, for a backtrace of its own: taken back, so that
/// the report names the rank.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_set_options(count: i32, options: *mut i32) {
    static REAL: Next = Next::new(c"_gfortran_set_options");
    // SAFETY: libgfortran's own signature, with the compiler's arguments.
    unsafe { REAL.get::<unsafe extern "C" fn(i32, *mut i32)>()(count, options) };
    if rank::current().is_some() {
        rank::take_signals();
    }
}

/// `flush(unit)`; null flushes all units.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _gfortran_flush_i4(unit: *mut i32) {
    static REAL: Next = Next::new(c"_gfortran_flush_i4");
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
            static REAL: Next = Next::new($symbol);
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
            static REAL: Next = Next::new($symbol);
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

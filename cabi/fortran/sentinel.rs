//! Fortran variables whose address is what counts: `MPI_BOTTOM`, `MPI_IN_PLACE` and so on.
//! Each is a common block, of exactly the size that `mpif.h` and the modules declare, so that
//! the program's symbol and the library's are one.

use crate::constants::{MPI_BUFFER_AUTOMATIC, MPI_IN_PLACE, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY};
use rank::Addr;

macro_rules! commons {
    ($($symbol:ident $bytes:literal)*) => { $(
        /// The common block's memory; never read or written, only its address matters.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static mut $symbol: [u8; $bytes] = [0; $bytes];
    )* };
}
commons! {
    xsim_bottom_ 4
    xsim_in_place_ 4
    xsim_buffer_automatic_ 4
    xsim_status_ignore_ 32
    xsim_statuses_ignore_ 32
    xsim_errcodes_ignore_ 4
    xsim_unweighted_ 4
    xsim_weights_empty_ 4
    xsim_argv_null_ 1
    xsim_argvs_null_ 1
}

/// Whether an address in the program as loaded is that common block.
macro_rules! is {
    ($at:expr, $symbol:ident) => {
        $at.0 == (&raw const $symbol) as usize
    };
}
pub(crate) use is;

/// The address in the program as loaded: with an image for each rank, each has its own commons.
#[inline]
pub(crate) fn original(at: Addr) -> Addr {
    Addr(rank::original(at.0))
}

/// A choice buffer.
#[inline]
pub fn buffer(at: Addr) -> Addr {
    let loaded = original(at);
    if is!(loaded, xsim_bottom_) {
        Addr::NULL
    } else if is!(loaded, xsim_in_place_) {
        Addr(MPI_IN_PLACE)
    } else if is!(loaded, xsim_buffer_automatic_) {
        Addr(MPI_BUFFER_AUTOMATIC)
    } else {
        at
    }
}

/// A status, which has the same eight integers in Fortran.
#[inline]
pub fn status(at: Addr) -> Addr {
    let loaded = original(at);
    if is!(loaded, xsim_status_ignore_) || is!(loaded, xsim_statuses_ignore_) { Addr::NULL } else { at }
}

/// An array of statuses.
#[inline]
pub fn statuses(at: Addr) -> Addr {
    status(at)
}

/// The error codes of a spawn.
pub fn errcodes(at: Addr) -> Addr {
    if is!(original(at), xsim_errcodes_ignore_) { Addr::NULL } else { at }
}

/// Edge weights.
pub fn weights(at: Addr) -> Addr {
    let loaded = original(at);
    if is!(loaded, xsim_unweighted_) {
        Addr(MPI_UNWEIGHTED)
    } else if is!(loaded, xsim_weights_empty_) {
        Addr(MPI_WEIGHTS_EMPTY)
    } else {
        at
    }
}

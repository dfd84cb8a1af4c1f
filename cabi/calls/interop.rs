//! Handles as Fortran integers (MPI 5.0 section 19.3.4). Every handle of the library is
//! a number below 2^31, predefined ones by the standard ABI, so the integer is the handle.

use crate::args::Handle;
use crate::call::Call;

/// `MPI_*_toint`.
pub fn to_int(_: &Call, handle: Handle) -> i32 {
    i32::try_from(handle.0).unwrap_or(-1)
}

/// `MPI_*_fromint`; a negative integer is no handle, and stays none.
pub fn from_int(_: &Call, integer: i32) -> Handle {
    Handle(integer as usize)
}

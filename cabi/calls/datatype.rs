//! Addresses and datatypes (MPI 5.0 chapter 5).

use crate::edge::Call;

/// `MPI_Aint_add`: wraps like the address arithmetic it stands for.
pub fn aint_add(_: &Call, base: i64, disp: i64) -> i64 {
    base.wrapping_add(disp)
}

/// `MPI_Aint_diff`.
pub fn aint_diff(_: &Call, addr1: i64, addr2: i64) -> i64 {
    addr1.wrapping_sub(addr2)
}

//! Statuses between C, `INTEGER` arrays and `TYPE(MPI_Status)` (MPI 5.0 section 19.3.5).
//! These are not part of the 664 functions of the standard ABI, but programs that mix
//! languages use them. All three forms are the same eight integers.

use crate::constants::{MPI_ERR_ARG, MPI_SUCCESS};
use crate::fortran::sentinel;
use rank::{Addr, memory};

fn convert(from: Addr, to: Addr) -> i32 {
    // MPI_F_STATUS_IGNORE and its like hold nothing.
    if sentinel::status(from).is_null() || sentinel::status(to).is_null() {
        return MPI_ERR_ARG;
    }
    memory::copy(to, from, 32);
    MPI_SUCCESS
}

macro_rules! conversions {
    ($($name:ident $weak:literal $strong:literal)*) => { $(
        std::arch::global_asm!(concat!(".weak ", $weak), concat!(".set ", $weak, ", ", $strong));
        /// Copies the status; fails with `MPI_ERR_ARG` for a null pointer.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $name(from: Addr, to: Addr) -> i32 {
            convert(from, to)
        }
    )* };
}
conversions! {
    PMPI_Status_c2f "MPI_Status_c2f" "PMPI_Status_c2f"
    PMPI_Status_f2c "MPI_Status_f2c" "PMPI_Status_f2c"
    PMPI_Status_c2f08 "MPI_Status_c2f08" "PMPI_Status_c2f08"
    PMPI_Status_f082c "MPI_Status_f082c" "PMPI_Status_f082c"
    PMPI_Status_f2f08 "MPI_Status_f2f08" "PMPI_Status_f2f08"
    PMPI_Status_f082f "MPI_Status_f082f" "PMPI_Status_f082f"
}

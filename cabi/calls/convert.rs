//! Handles and statuses between C, `INTEGER`s and Fortran's types, under their older names (MPI 5.0 sections
//! 19.3.4 and 19.3.5). These are not part of the 664 functions of the standard ABI, but programs that mix
//! languages use them. All three forms of a status are the same eight integers.

use crate::args::Handle;
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

macro_rules! handles {
    ($($to:ident $weak_to:literal $strong_to:literal
        $from:ident $weak_from:literal $strong_from:literal)*) => { $(
        std::arch::global_asm!(concat!(".weak ", $weak_to), concat!(".set ", $weak_to, ", ", $strong_to));
        std::arch::global_asm!(
            concat!(".weak ", $weak_from), concat!(".set ", $weak_from, ", ", $strong_from)
        );
        /// The handle as Fortran has it, as `MPI_*_toint` gives it.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $to(handle: Handle) -> i32 {
            i32::try_from(handle.0).unwrap_or(-1)
        }
        /// The handle that Fortran has as this integer, as `MPI_*_fromint` gives it.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $from(integer: i32) -> Handle {
            Handle(integer as usize)
        }
    )* };
}
handles! {
    PMPI_Comm_c2f "MPI_Comm_c2f" "PMPI_Comm_c2f" PMPI_Comm_f2c "MPI_Comm_f2c" "PMPI_Comm_f2c"
    PMPI_Errhandler_c2f "MPI_Errhandler_c2f" "PMPI_Errhandler_c2f"
        PMPI_Errhandler_f2c "MPI_Errhandler_f2c" "PMPI_Errhandler_f2c"
    PMPI_File_c2f "MPI_File_c2f" "PMPI_File_c2f" PMPI_File_f2c "MPI_File_f2c" "PMPI_File_f2c"
    PMPI_Group_c2f "MPI_Group_c2f" "PMPI_Group_c2f" PMPI_Group_f2c "MPI_Group_f2c" "PMPI_Group_f2c"
    PMPI_Info_c2f "MPI_Info_c2f" "PMPI_Info_c2f" PMPI_Info_f2c "MPI_Info_f2c" "PMPI_Info_f2c"
    PMPI_Message_c2f "MPI_Message_c2f" "PMPI_Message_c2f"
        PMPI_Message_f2c "MPI_Message_f2c" "PMPI_Message_f2c"
    PMPI_Op_c2f "MPI_Op_c2f" "PMPI_Op_c2f" PMPI_Op_f2c "MPI_Op_f2c" "PMPI_Op_f2c"
    PMPI_Request_c2f "MPI_Request_c2f" "PMPI_Request_c2f"
        PMPI_Request_f2c "MPI_Request_f2c" "PMPI_Request_f2c"
    PMPI_Session_c2f "MPI_Session_c2f" "PMPI_Session_c2f"
        PMPI_Session_f2c "MPI_Session_f2c" "PMPI_Session_f2c"
    PMPI_Type_c2f "MPI_Type_c2f" "PMPI_Type_c2f" PMPI_Type_f2c "MPI_Type_f2c" "PMPI_Type_f2c"
    PMPI_Win_c2f "MPI_Win_c2f" "PMPI_Win_c2f" PMPI_Win_f2c "MPI_Win_f2c" "PMPI_Win_f2c"
}

//! What Fortran has beyond the function table: comparison of handles, status conversion,
//! `MPI_SIZEOF`, `MPI_F_SYNC_REG`, and the predefined attribute callbacks.

use super::{descriptor, finish, int, long};
use crate::constants::MPI_SUCCESS;
use rank::Addr;
use rank::memory::{copy, store};

include!(concat!(env!("OUT_DIR"), "/fortran_module.rs"));

macro_rules! comparisons {
    ($($equal:ident $differ:ident)*) => { $(
        /// Operator `==` of module `mpi_f08`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $equal(a: Addr, b: Addr) -> i32 {
            i32::from(int(a) == int(b))
        }
        /// Operator `/=` of module `mpi_f08`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $differ(a: Addr, b: Addr) -> i32 {
            i32::from(int(a) != int(b))
        }
    )* };
}
comparisons! {
    xsim_comm_eq_ xsim_comm_ne_
    xsim_datatype_eq_ xsim_datatype_ne_
    xsim_errhandler_eq_ xsim_errhandler_ne_
    xsim_file_eq_ xsim_file_ne_
    xsim_group_eq_ xsim_group_ne_
    xsim_info_eq_ xsim_info_ne_
    xsim_message_eq_ xsim_message_ne_
    xsim_op_eq_ xsim_op_ne_
    xsim_request_eq_ xsim_request_ne_
    xsim_session_eq_ xsim_session_ne_
    xsim_win_eq_ xsim_win_ne_
}

/// `MPI_SIZEOF`: bytes of one element.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_sizeof_(x: Addr, size: Addr, ierror: Addr) {
    store(size, descriptor::element_length(x) as i32);
    finish(ierror, MPI_SUCCESS);
}

/// `MPI_F_SYNC_REG`: the call itself makes the compiler forget what it holds in registers.
#[unsafe(no_mangle)]
pub extern "C" fn mpi_f_sync_reg_(_buf: Addr) {}

macro_rules! status_copies {
    ($($name:ident)*) => { $(
        /// A status from an array of integers into `TYPE(MPI_Status)` or back: the same integers.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(from: Addr, to: Addr, ierror: Addr) {
            copy(to, from, 32);
            finish(ierror, MPI_SUCCESS);
        }
    )* };
}
status_copies! { mpi_status_f2f08_ mpi_status_f082f_ pmpi_status_f2f08_ pmpi_status_f082f_ }

fn null_copy(flag: Addr, ierror: Addr) {
    store(flag, 0i32);
    store(ierror, MPI_SUCCESS);
}

macro_rules! predefined {
    (copy: $($null:ident $dup:ident)*; delete: $($delete:ident)*) => {
        $(
            /// Copies no attribute.
            #[unsafe(no_mangle)]
            pub extern "C" fn $null(_: Addr, _: Addr, _: Addr, _: Addr, _: Addr, flag: Addr, ierror: Addr) {
                null_copy(flag, ierror);
            }
            /// Copies the attribute's value.
            #[unsafe(no_mangle)]
            pub extern "C" fn $dup(
                _: Addr, _: Addr, _: Addr, value: Addr, out: Addr, flag: Addr, ierror: Addr
            ) {
                store(out, long(value));
                store(flag, 1i32);
                store(ierror, MPI_SUCCESS);
            }
        )*
        $(
            /// Does nothing.
            #[unsafe(no_mangle)]
            pub extern "C" fn $delete(_: Addr, _: Addr, _: Addr, _: Addr, ierror: Addr) {
                store(ierror, MPI_SUCCESS);
            }
        )*
    };
}
predefined! {
    copy: mpi_null_copy_fn_ mpi_dup_fn_ mpi_comm_null_copy_fn_ mpi_comm_dup_fn_
        mpi_type_null_copy_fn_ mpi_type_dup_fn_ mpi_win_null_copy_fn_ mpi_win_dup_fn_;
    delete: mpi_null_delete_fn_ mpi_comm_null_delete_fn_ mpi_type_null_delete_fn_ mpi_win_null_delete_fn_
}

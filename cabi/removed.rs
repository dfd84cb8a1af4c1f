//! Functions that MPI 3.0 removed (MPI 5.0 chapter 17), for the programs that still call them:
//! each is its successor under the old name (`include/mpi_removed.h`).

use crate::args::Handle;
use crate::exports as new;
use rank::Addr;
use rank::memory::store;

macro_rules! removed {
    ($($old:ident => $new:ident($($arg:ident: $type:ty),*);)*) => { $(
        #[doc = concat!("`", stringify!($old), "`, now `", stringify!($new), "`.")]
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C-unwind" fn $old($($arg: $type),*) -> i32 {
            new::$new($($arg),*)
        }
    )* };
}
removed! {
    MPI_Address => PMPI_Get_address(location: Addr, address: Addr);
    MPI_Errhandler_create => PMPI_Comm_create_errhandler(function: Addr, errhandler: Addr);
    MPI_Errhandler_get => PMPI_Comm_get_errhandler(comm: Handle, errhandler: Addr);
    MPI_Errhandler_set => PMPI_Comm_set_errhandler(comm: Handle, errhandler: Handle);
    MPI_Type_hvector => PMPI_Type_create_hvector(count: i32, blocklength: i32, stride: i64, oldtype: Handle, newtype: Addr);
    MPI_Type_hindexed => PMPI_Type_create_hindexed(count: i32, blocklengths: Addr, displacements: Addr, oldtype: Handle, newtype: Addr);
    MPI_Type_struct => PMPI_Type_create_struct(count: i32, blocklengths: Addr, displacements: Addr, types: Addr, newtype: Addr);
}

/// Stores what `of` makes of the lower bound and extent of a datatype, and answers the error code.
fn bounds(datatype: Handle, result: Addr, of: impl Fn(i64, i64) -> i64) -> i32 {
    let (mut lb, mut extent) = (0i64, 0i64);
    // A null result is refused there.
    let at = if result.0 == 0 { result } else { Addr(&raw mut extent as usize) };
    let code = new::PMPI_Type_get_extent(datatype, Addr(&raw mut lb as usize), at);
    if result.0 != 0 {
        store(result, of(lb, extent));
    }
    code
}

/// `MPI_Type_extent`, now `MPI_Type_get_extent`.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C-unwind" fn MPI_Type_extent(datatype: Handle, extent: Addr) -> i32 {
    bounds(datatype, extent, |_, extent| extent)
}

/// `MPI_Type_lb`, now `MPI_Type_get_extent`.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C-unwind" fn MPI_Type_lb(datatype: Handle, displacement: Addr) -> i32 {
    bounds(datatype, displacement, |lb, _| lb)
}

/// `MPI_Type_ub`, now `MPI_Type_get_extent`.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C-unwind" fn MPI_Type_ub(datatype: Handle, displacement: Addr) -> i32 {
    bounds(datatype, displacement, |lb, extent| lb + extent)
}

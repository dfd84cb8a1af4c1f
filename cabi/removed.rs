//! Functions that MPI 3.0 removed (MPI 5.0 chapter 17), for the programs that still call them:
//! each is its successor under the old name (`include/mpi_removed.h`).

use crate::args::Handle;
use crate::constants::MPI_SUCCESS;
use crate::exports as new;
use rank::Addr;
use rank::memory::{load, store};

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
    MPI_Type_hvector => PMPI_Type_create_hvector(
        count: i32, blocklength: i32, stride: i64, oldtype: Handle, newtype: Addr);
    MPI_Type_hindexed => PMPI_Type_create_hindexed(
        count: i32, blocklengths: Addr, displacements: Addr, oldtype: Handle, newtype: Addr);
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

/// `MPI_LB` and `MPI_UB` of mpi_removed.h: no datatypes, but where a struct has its bounds.
const LB: usize = 0x2fe;
const UB: usize = 0x2ff;

/// `MPI_Type_struct`, now `MPI_Type_create_struct`, with `MPI_LB` and `MPI_UB` among its types (MPI 1.1
/// section 3.12.3). The least displacement of a lower bound and the greatest of an upper one are the new
/// type's bounds. MPI has `MPI_Type_create_resized` for this now.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C-unwind" fn MPI_Type_struct(
    count: i32,
    blocklengths: Addr,
    displacements: Addr,
    types: Addr,
    newtype: Addr,
) -> i32 {
    let given = [blocklengths, displacements, types, newtype].iter().all(|at| at.0 != 0);
    let part = |i: i64| -> (i32, i64, usize) {
        (load(blocklengths.offset(4 * i)), load(displacements.offset(8 * i)), load(types.offset(8 * i)))
    };
    let parts: Vec<_> = (0..if given { i64::from(count) } else { 0 }).map(part).collect();
    let place = |marker: usize| parts.iter().filter(move |part| part.2 == marker).map(|part| part.1);
    let (lower, upper) = (place(LB).min(), place(UB).max());
    if (lower, upper) == (None, None) {
        return new::PMPI_Type_create_struct(count, blocklengths, displacements, types, newtype);
    }
    let data: Vec<_> = parts.iter().filter(|part| part.2 != LB && part.2 != UB).collect();
    let lengths: Vec<i32> = data.iter().map(|part| part.0).collect();
    let places: Vec<i64> = data.iter().map(|part| part.1).collect();
    let kinds: Vec<usize> = data.iter().map(|part| part.2).collect();
    let (mut inner, mut lb, mut extent) = (Handle(0), 0i64, 0i64);
    let at = |value: *const ()| Addr(value as usize);
    let made = at((&raw mut inner).cast());
    let mut code = new::PMPI_Type_create_struct(
        data.len() as i32,
        at(lengths.as_ptr().cast()),
        at(places.as_ptr().cast()),
        at(kinds.as_ptr().cast()),
        made,
    );
    if code == MPI_SUCCESS {
        code = new::PMPI_Type_get_extent(inner, at((&raw mut lb).cast()), at((&raw mut extent).cast()));
    }
    if code == MPI_SUCCESS {
        let (lower, upper) = (lower.unwrap_or(lb), upper.unwrap_or(lb + extent));
        code = new::PMPI_Type_create_resized(inner, lower, upper - lower, newtype);
        new::PMPI_Type_free(made);
    }
    code
}

//! What MPI 3.0 removed and Fortran programs of before still call (MPI 5.0 chapter 17): the functions
//! that replaced them, with displacements and extents as `INTEGER`.

use super::entries::{
    pmpi_comm_create_errhandler_, pmpi_comm_get_errhandler_, pmpi_comm_set_errhandler_,
    pmpi_type_create_hindexed_, pmpi_type_create_hvector_, pmpi_type_create_struct_,
};
use super::{finish, handle, int};
use crate::call::Object;
use crate::constants::{MPI_ERR_ARG, MPI_SUCCESS};
use crate::edge;
use crate::exports;
use crate::function::Function;
use rank::Addr;
use rank::memory::{load, store};

include!(concat!(env!("OUT_DIR"), "/fortran_removed.rs"));

fn reference<T>(value: &T) -> Addr {
    Addr(&raw const *value as usize)
}

/// Stores what fits an `INTEGER`; what does not is an error that names the successor.
fn narrow(at: Addr, value: i64, function: Function, successor: &str) -> i32 {
    match i32::try_from(value) {
        Ok(value) => {
            store(at, value);
            MPI_SUCCESS
        }
        Err(_) => edge::call(function, Object::None, |c| {
            Err(c.wrong(
                0,
                MPI_ERR_ARG,
                format_args!("the result {value} does not fit an INTEGER; call {successor}"),
            ))
        }),
    }
}

/// Integers as addresses.
fn wide(at: Addr, count: Addr) -> Vec<i64> {
    (0..i64::from(int(count).max(0))).map(|i| load::<i32>(at.offset(4 * i)).into()).collect()
}

/// `MPI_ADDRESS`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn mpi_address_(location: Addr, address: Addr, ierror: Addr) {
    let location = super::buffer(location);
    finish(ierror, narrow(address, location.0 as i64, Function::Get_address, "MPI_GET_ADDRESS"));
}

fn extents(datatype: Addr) -> Result<(i64, i64), i32> {
    let (mut lower, mut extent) = (0i64, 0i64);
    let code = exports::PMPI_Type_get_extent(
        handle(datatype),
        Addr(&raw mut lower as usize),
        Addr(&raw mut extent as usize),
    );
    if code == MPI_SUCCESS { Ok((lower, extent)) } else { Err(code) }
}

macro_rules! bounds {
    ($($name:ident $of:expr;)*) => { $(
        /// A bound or the extent of a datatype.
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name(datatype: Addr, result: Addr, ierror: Addr) {
            let of: fn((i64, i64)) -> i64 = $of;
            let code = match extents(datatype) {
                Ok(both) => narrow(result, of(both), Function::Type_get_extent, "MPI_TYPE_GET_EXTENT"),
                Err(code) => code,
            };
            finish(ierror, code);
        }
    )* };
}
bounds! {
    mpi_type_extent_ |(_, extent)| extent;
    mpi_type_lb_ |(lower, _)| lower;
    mpi_type_ub_ |(lower, extent)| lower + extent;
}

/// `MPI_TYPE_HVECTOR`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn mpi_type_hvector_(
    count: Addr,
    blocklength: Addr,
    stride: Addr,
    oldtype: Addr,
    newtype: Addr,
    ierror: Addr,
) {
    let stride = i64::from(int(stride));
    pmpi_type_create_hvector_(count, blocklength, reference(&stride), oldtype, newtype, ierror);
}

/// `MPI_TYPE_HINDEXED`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn mpi_type_hindexed_(
    count: Addr,
    lengths: Addr,
    displacements: Addr,
    oldtype: Addr,
    newtype: Addr,
    ierror: Addr,
) {
    let displacements = wide(displacements, count);
    pmpi_type_create_hindexed_(
        count,
        lengths,
        Addr(displacements.as_ptr() as usize),
        oldtype,
        newtype,
        ierror,
    );
}

/// `MPI_TYPE_STRUCT`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn mpi_type_struct_(
    count: Addr,
    lengths: Addr,
    displacements: Addr,
    types: Addr,
    newtype: Addr,
    ierror: Addr,
) {
    let displacements = wide(displacements, count);
    pmpi_type_create_struct_(count, lengths, Addr(displacements.as_ptr() as usize), types, newtype, ierror);
}

/// `MPI_ERRHANDLER_CREATE`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn mpi_errhandler_create_(function: Addr, errhandler: Addr, ierror: Addr) {
    pmpi_comm_create_errhandler_(function, errhandler, ierror);
}

/// `MPI_ERRHANDLER_GET`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn mpi_errhandler_get_(comm: Addr, errhandler: Addr, ierror: Addr) {
    pmpi_comm_get_errhandler_(comm, errhandler, ierror);
}

/// `MPI_ERRHANDLER_SET`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn mpi_errhandler_set_(comm: Addr, errhandler: Addr, ierror: Addr) {
    pmpi_comm_set_errhandler_(comm, errhandler, ierror);
}

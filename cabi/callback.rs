//! Calls of functions that the program passed by address: operations and attribute functions. Each runs while
//! the rank that passed it is mounted, and with nothing of the simulated MPI borrowed, since it may call MPI
//! again. What one throws is kept until the rank's call returns (`thrown.rs`).

use crate::alone;
use crate::args::Handle;
use crate::constants::MPI_ERR_OTHER;
use crate::thrown::keep;
use mpi::file::{Convert, Extent};
use mpi::op::UserFunction;
use rank::Addr;
use std::rc::Rc;

/// `MPI_User_function` and `MPI_User_function_c`.
type Reduce<Count> = extern "C-unwind" fn(Addr, Addr, *mut Count, *mut usize);
/// `MPI_Comm_copy_attr_function` and its like.
type Copy = extern "C-unwind" fn(Handle, i32, Addr, Addr, *mut usize, *mut i32) -> i32;
/// `MPI_Comm_delete_attr_function` and its like.
type Delete = extern "C-unwind" fn(Handle, i32, Addr, Addr) -> i32;

/// Returns the program's reduction function as the `mpi` crate calls it: invec, inoutvec, length, datatype.
pub fn user_function(function: usize, large: bool) -> UserFunction {
    Rc::new(move |input, inout, count, datatype| {
        let (input, inout, mut datatype) = (Addr(input), Addr(inout), datatype);
        if large {
            let mut count = count;
            // SAFETY: the program passed this address to MPI_Op_create_c as a function of this
            // type, and its rank is mounted (`mpi::op::User`).
            let function = unsafe { std::mem::transmute::<usize, Reduce<i64>>(function) };
            keep(alone::mpi(), (), || function(input, inout, &raw mut count, &raw mut datatype));
        } else {
            let mut count = i32::try_from(count)
                .expect("a reduction in one piece has fewer than 2^31 elements; use MPI_Op_create_c");
            // SAFETY: as above, for MPI_Op_create.
            let function = unsafe { std::mem::transmute::<usize, Reduce<i32>>(function) };
            keep(alone::mpi(), (), || function(input, inout, &raw mut count, &raw mut datatype));
        }
    })
}

/// `MPI_Datarep_conversion_function` and `MPI_Datarep_conversion_function_c`.
type Datarep<Count> = extern "C-unwind" fn(Addr, Handle, Count, Addr, i64, Addr) -> i32;
/// `MPI_Datarep_extent_function`.
type DatarepExtent = extern "C-unwind" fn(Handle, *mut i64, Addr) -> i32;

/// Returns the program's conversion function as the `file` crate calls it: elements from the first on, so
/// that the position is 0.
pub fn conversion(function: usize, state: Addr, large: bool) -> Convert {
    Rc::new(move |buffer, datatype, elements, bytes| {
        let (buffer, datatype, bytes) = (Addr(buffer), Handle(datatype), Addr(bytes));
        let Ok(count) = i64::try_from(elements) else { return MPI_ERR_OTHER };
        if large {
            // SAFETY: the program passed this address to MPI_Register_datarep_c as a function of this type,
            // and its rank is mounted: the file crate converts in its call, or as its errand.
            let function = unsafe { std::mem::transmute::<usize, Datarep<i64>>(function) };
            return keep(alone::mpi(), MPI_ERR_OTHER, || function(buffer, datatype, count, bytes, 0, state));
        }
        let Ok(count) = i32::try_from(count) else { return MPI_ERR_OTHER };
        // SAFETY: as above, for MPI_Register_datarep.
        let function = unsafe { std::mem::transmute::<usize, Datarep<i32>>(function) };
        keep(alone::mpi(), MPI_ERR_OTHER, || function(buffer, datatype, count, bytes, 0, state))
    })
}

/// Returns the program's extent function as the `file` crate calls it.
pub fn extent(function: usize, state: Addr) -> Extent {
    Rc::new(move |datatype| {
        let mut extent = 0;
        // SAFETY: as in `conversion`; it is called in calls of the rank alone.
        let function = unsafe { std::mem::transmute::<usize, DatarepExtent>(function) };
        match keep(alone::mpi(), MPI_ERR_OTHER, || function(Handle(datatype), &raw mut extent, state)) {
            0 => Ok(extent),
            code => Err(code),
        }
    })
}

/// Calls a copy function: the error code, or the new object's value if it is to have one.
pub fn copy(
    function: usize,
    object: Handle,
    key: i32,
    extra: usize,
    value: usize,
) -> Result<Option<usize>, i32> {
    let (mut copied, mut flag) = (0, 0);
    // SAFETY: the program passed this address with the key as a function of this type, and the
    // calling rank, which is mounted, holds the key.
    let function = unsafe { std::mem::transmute::<usize, Copy>(function) };
    match keep(alone::mpi(), MPI_ERR_OTHER, || {
        function(object, key, Addr(extra), Addr(value), &raw mut copied, &raw mut flag)
    }) {
        0 => Ok((flag != 0).then_some(copied)),
        code => Err(code),
    }
}

/// Calls a delete function: the error code.
pub fn delete(function: usize, object: Handle, key: i32, value: usize, extra: usize) -> i32 {
    // SAFETY: as in `copy`.
    let function = unsafe { std::mem::transmute::<usize, Delete>(function) };
    keep(alone::mpi(), MPI_ERR_OTHER, || function(object, key, Addr(value), Addr(extra)))
}

/// Calls the query function of a generalized request with the status at an address.
pub fn query(function: usize, extra: Addr, status: Addr) -> i32 {
    // SAFETY: the program passed this address to MPI_Grequest_start as a function of this type,
    // and the rank that did is mounted: only the owner of a request completes it.
    let function = unsafe { std::mem::transmute::<usize, extern "C-unwind" fn(Addr, Addr) -> i32>(function) };
    keep(alone::mpi(), MPI_ERR_OTHER, || function(extra, status))
}

/// Calls the free function of a generalized request.
pub fn free(function: usize, extra: Addr) -> i32 {
    // SAFETY: as in `query`.
    let function = unsafe { std::mem::transmute::<usize, extern "C-unwind" fn(Addr) -> i32>(function) };
    keep(alone::mpi(), MPI_ERR_OTHER, || function(extra))
}

/// Calls the cancel function of a generalized request.
pub fn cancel(function: usize, extra: Addr, complete: bool) -> i32 {
    // SAFETY: as in `query`.
    let function = unsafe { std::mem::transmute::<usize, extern "C-unwind" fn(Addr, i32) -> i32>(function) };
    keep(alone::mpi(), MPI_ERR_OTHER, || function(extra, i32::from(complete)))
}

/// Tells a function of the program of an event.
pub fn event(function: usize, instance: Handle, registration: Handle, safety: i32, user_data: Addr) {
    // SAFETY: the program passed this address to MPI_T_event_register_callback as a function of this type,
    // and the rank that did is mounted: events are raised by calls of their own rank.
    let function =
        unsafe { std::mem::transmute::<usize, extern "C-unwind" fn(Handle, Handle, i32, Addr)>(function) };
    keep(alone::mpi(), (), || function(instance, registration, safety, user_data));
}

/// Tells a function of the program that a registration of events is gone.
pub fn event_freed(function: usize, registration: Handle, safety: i32, user_data: Addr) {
    // SAFETY: the program has just passed this address to MPI_T_event_handle_free as a function of this type.
    let function = unsafe { std::mem::transmute::<usize, extern "C-unwind" fn(Handle, i32, Addr)>(function) };
    keep(alone::mpi(), (), || function(registration, safety, user_data));
}

//! Conversion of Fortran's arguments to those of C in the Fortran entry points. Everything comes by
//! reference, and handles and logicals are integers. Texts have a length instead of a null byte, and absent
//! arguments are variables with a known address (MPI 5.0 chapter 19). The entry points themselves are
//! generated (`abi-table/src/fortran.rs`).
//!
//! `include/mpif.h` and module `mpi` call `mpi_send_` (and `mpi_send`, `mpi_send__`, `MPI_SEND`), entry
//! points beside the C ones. These go on with the same checks and the same implementation, so that a Fortran
//! call costs what a C call costs. Module `mpi_f08` calls these symbols too, except for routines with a
//! choice buffer, which have an entry point of their own that gets the descriptor of Fortran 2018
//! (`mpi_send_f08ts_`).
//!
//! - A variable whose address is its meaning (`MPI_IN_PLACE`, `MPI_STATUS_IGNORE`) is a common block that
//!   library and program share. With an image for each rank a program has many; an address is first taken
//!   back to the program as loaded.
//! - Callbacks need no translation where C passes addresses (operations, error handlers): on a little-endian
//!   machine the low half of a C handle is the Fortran handle. Those with an extra state (attributes,
//!   generalized requests) go through a C function of ours, which finds the program's functions behind its
//!   own extra state (`callbacks.rs`).
//! - An array section that is not contiguous is copied by a blocking call and described with a datatype by a
//!   nonblocking one.
//! - Module files fit one compiler only, so `xsim fc` compiles `fortran/*.f90` with the user's, once; no
//!   object file belongs to them, and building libxsim needs no Fortran compiler.

pub mod callbacks;
pub mod descriptor;
pub mod entries;
pub mod module;
pub mod removed;
pub mod sentinel;
pub mod text;

use crate::args::Handle;
use crate::constants::{MPI_SUCCESS, MPI_UNDEFINED};
use rank::Addr;
use rank::memory::{load, store};

pub use sentinel::{buffer, errcodes, status, statuses, weights};

/// Reads an `INTEGER` or `LOGICAL`.
#[inline]
pub fn int(at: Addr) -> i32 {
    load(at)
}

/// Reads an `INTEGER(KIND=MPI_COUNT_KIND)` or of another 64-bit kind.
#[inline]
pub fn long(at: Addr) -> i64 {
    load(at)
}

/// Reads a handle, as `INTEGER` or in a type that holds only one.
#[inline]
pub fn handle(at: Addr) -> Handle {
    Handle(load::<i32>(at) as usize)
}

/// Reads an attribute's value or an extra state of address kind.
#[inline]
pub fn long_value(at: Addr) -> Addr {
    Addr(load(at))
}

/// An attribute's value or an extra state of the deprecated calls, which is an `INTEGER`.
#[inline]
pub fn short_value(at: Addr) -> Addr {
    Addr(load::<i32>(at) as usize)
}

/// Stores the error code, unless the program left `ierror` out.
#[inline]
pub fn finish(ierror: Addr, result: i32) {
    if !ierror.is_null() {
        store(ierror, result);
    }
}

/// A handle that the C side reads and writes at pointer size.
pub struct HandleCell {
    at: Addr,
    value: usize,
}

impl HandleCell {
    /// Starts with the program's handle, so that a call that writes nothing changes nothing.
    #[inline]
    pub fn new(at: Addr) -> HandleCell {
        HandleCell { at, value: handle(at).0 }
    }
    /// Returns where C finds it.
    #[inline]
    pub fn at(&mut self) -> Addr {
        Addr(&raw mut self.value as usize)
    }
    /// Gives it back.
    #[inline]
    pub fn finish(&self) {
        store(self.at, self.value as i32);
    }
}

/// An attribute's value on its way to Fortran.
pub struct AttributeCell {
    at: Addr,
    short: bool,
    value: i64,
}

impl AttributeCell {
    /// `short` for the deprecated call, whose value is an `INTEGER`.
    pub fn new(at: Addr, short: bool) -> AttributeCell {
        AttributeCell { at, short, value: 0 }
    }
    /// Returns where the call puts it.
    pub fn at(&mut self) -> Addr {
        Addr(&raw mut self.value as usize)
    }
    /// Gives it back, if there was one: an integer of the deprecated call loses its upper half (MPI 5.0
    /// section 19.3.7).
    pub fn finish(&self, flag: Addr, result: i32) {
        if result == MPI_SUCCESS && int(flag) != 0 {
            if self.short { store(self.at, self.value as i32) } else { store(self.at, self.value) }
        }
    }
}

/// Makes an index count from one.
pub fn one_based(index: Addr, result: i32) {
    if result == MPI_SUCCESS && int(index) != MPI_UNDEFINED {
        store(index, int(index) + 1);
    }
}

/// Makes the indices of a some-call count from one. They are there with `MPI_ERR_IN_STATUS` too.
pub fn one_based_array(indices: Addr, outcount: Addr, result: i32) {
    let there = result == MPI_SUCCESS || result == crate::constants::MPI_ERR_IN_STATUS;
    for i in 0..if there { i64::from(int(outcount).max(0)) } else { 0 } {
        let at = indices.offset(4 * i);
        store(at, int(at) + 1);
    }
}

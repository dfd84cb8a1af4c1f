//! Callbacks written in Fortran. Most have the C form already, since everything comes by
//! reference and the low half of a C handle is the Fortran handle. Those with an extra state
//! do not: C gets a function of ours, with the program's functions and extra state behind the C extra state.

use super::{finish, long, short_value, text};
use crate::args::Handle;
use crate::constants::MPI_SUCCESS;
use crate::exports;
use mpi::attribute::DUP_FN;
use rank::Addr;
use rank::memory::{load, store};

include!(concat!(env!("OUT_DIR"), "/fortran_by_hand.rs"));

// A handle in a C variable is read by Fortran as the integer at its address.
const _: () = assert!(cfg!(target_endian = "little"));

fn reference<T>(value: &T) -> Addr {
    Addr(&raw const *value as usize)
}

/// The object that a C extra state of ours points to. It is never freed: copies of the MPI object may call it
/// until the process ends, and a program makes few.
struct ExtraState {
    functions: [usize; 3],
    extra: i64,
}

impl ExtraState {
    fn leak(functions: [Addr; 3], extra: i64) -> Addr {
        Addr(std::ptr::from_ref(Box::leak(Box::new(ExtraState { functions: functions.map(|f| f.0), extra })))
            as usize)
    }

    fn of(at: Addr) -> &'static ExtraState {
        // SAFETY: only the functions of this file get this address as their extra state, and
        // `leak` made it.
        unsafe { &*(at.0 as *const ExtraState) }
    }
}

/// Calls a Fortran subroutine of the program.
macro_rules! call {
    ($function:expr, $($argument:expr),+) => {{
        type Subroutine = extern "C-unwind" fn($(call!(@ $argument)),+);
        // SAFETY: the program passed this address as a subroutine of this form (MPI 5.0
        // section 19.1.2), and it belongs to the rank that is mounted.
        let subroutine = unsafe { std::mem::transmute::<usize, Subroutine>($function) };
        subroutine($($argument),+)
    }};
    (@ $argument:expr) => { Addr };
}

extern "C-unwind" fn copy(
    object: Handle,
    keyval: i32,
    state: Addr,
    value: Addr,
    out: Addr,
    flag: Addr,
) -> i32 {
    let state = ExtraState::of(state);
    let (object, value_in) = (object.0 as i32, value.0 as i64);
    let (mut value_out, mut copied, mut error) = (0i64, 0i32, MPI_SUCCESS);
    call!(
        state.functions[0],
        reference(&object),
        reference(&keyval),
        reference(&state.extra),
        reference(&value_in),
        Addr(&raw mut value_out as usize),
        Addr(&raw mut copied as usize),
        Addr(&raw mut error as usize)
    );
    store(out, value_out);
    store(flag, i32::from(copied != 0));
    error
}

extern "C-unwind" fn delete(object: Handle, keyval: i32, value: Addr, state: Addr) -> i32 {
    let state = ExtraState::of(state);
    let (object, value) = (object.0 as i32, value.0 as i64);
    let mut error = MPI_SUCCESS;
    call!(
        state.functions[1],
        reference(&object),
        reference(&keyval),
        reference(&value),
        reference(&state.extra),
        Addr(&raw mut error as usize)
    );
    error
}

/// Returns `true` if a delete function of an attribute key is ours, for one of Fortran.
pub fn is_keyval(function: usize) -> bool {
    function == delete as *const () as usize
}

/// Returns the copy function that C is given: what Fortran's `MPI_*_DUP_FN` do depends on no language.
fn copy_function(given: Addr) -> Addr {
    use super::module::{mpi_comm_dup_fn_, mpi_dup_fn_, mpi_type_dup_fn_, mpi_win_dup_fn_};
    let dups = [
        mpi_dup_fn_ as *const (),
        mpi_comm_dup_fn_ as *const (),
        mpi_type_dup_fn_ as *const (),
        mpi_win_dup_fn_ as *const (),
    ];
    if dups.contains(&(given.0 as *const ())) { Addr(DUP_FN) } else { Addr(copy as *const () as usize) }
}

macro_rules! create_keyval {
    ($($name:ident $with:ident $extra:expr;)*) => { $(
        /// The Fortran form of the C function: attribute callbacks with an extra state.
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name(
            copy_fn: Addr, delete_fn: Addr, keyval: Addr, extra_state: Addr, ierror: Addr
        ) {
            let extra: fn(Addr) -> i64 = $extra;
            let state = ExtraState::leak([copy_fn, delete_fn, Addr::NULL], extra(extra_state));
            finish(
                ierror,
                exports::$with(copy_function(copy_fn), Addr(delete as *const () as usize), keyval, state)
            );
        }
    )* };
}
// The deprecated form's extra state and values are INTEGERs, whose low half is in place.
create_keyval! {
    pmpi_comm_create_keyval_ PMPI_Comm_create_keyval long;
    pmpi_type_create_keyval_ PMPI_Type_create_keyval long;
    pmpi_win_create_keyval_ PMPI_Win_create_keyval long;
    pmpi_keyval_create_ PMPI_Keyval_create |at| short_value(at).0 as i64;
}

extern "C-unwind" fn query(state: Addr, status: Addr) -> i32 {
    let state = ExtraState::of(state);
    let mut error = MPI_SUCCESS;
    call!(state.functions[0], reference(&state.extra), status, Addr(&raw mut error as usize));
    error
}

extern "C-unwind" fn free(state: Addr) -> i32 {
    let state = ExtraState::of(state);
    let mut error = MPI_SUCCESS;
    call!(state.functions[1], reference(&state.extra), Addr(&raw mut error as usize));
    error
}

extern "C-unwind" fn cancel(state: Addr, complete: i32) -> i32 {
    let state = ExtraState::of(state);
    let mut error = MPI_SUCCESS;
    call!(state.functions[2], reference(&state.extra), reference(&complete), Addr(&raw mut error as usize));
    error
}

/// `MPI_GREQUEST_START`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pmpi_grequest_start_(
    query_fn: Addr,
    free_fn: Addr,
    cancel_fn: Addr,
    extra_state: Addr,
    request: Addr,
    ierror: Addr,
) {
    let state = ExtraState::leak([query_fn, free_fn, cancel_fn], long(extra_state));
    let mut cell = super::HandleCell::new(request);
    let result = exports::PMPI_Grequest_start(
        Addr(query as *const () as usize),
        Addr(free as *const () as usize),
        Addr(cancel as *const () as usize),
        state,
        cell.at(),
    );
    cell.finish();
    finish(ierror, result);
}

/// `MPI_CONVERSION_FN_NULL`, whose address alone matters.
#[unsafe(no_mangle)]
pub extern "C" fn mpi_conversion_fn_null_() {}

fn conversion(which: usize, state: &ExtraState, arguments: [Addr; 5]) -> i32 {
    let [userbuf, datatype, count, filebuf, position] = arguments;
    let mut error = MPI_SUCCESS;
    call!(
        state.functions[which],
        userbuf,
        datatype,
        count,
        filebuf,
        position,
        reference(&state.extra),
        Addr(&raw mut error as usize)
    );
    error
}

macro_rules! conversions {
    ($($name:ident $which:literal $count:ty;)*) => { $(
        extern "C-unwind" fn $name(
            userbuf: Addr, datatype: Handle, count: $count, filebuf: Addr, position: i64, state: Addr
        ) -> i32 {
            let datatype = datatype.0 as i32;
            conversion(
                $which, ExtraState::of(state),
                [userbuf, reference(&datatype), reference(&count), filebuf, reference(&position)]
            )
        }
    )* };
}
conversions! {
    read 0 i32;
    write 1 i32;
    read_large 0 i64;
    write_large 1 i64;
}

extern "C-unwind" fn extent(datatype: Handle, extent: Addr, state: Addr) -> i32 {
    let state = ExtraState::of(state);
    let datatype = datatype.0 as i32;
    let mut error = MPI_SUCCESS;
    call!(
        state.functions[2],
        reference(&datatype),
        extent,
        reference(&state.extra),
        Addr(&raw mut error as usize)
    );
    error
}

macro_rules! register_datarep {
    ($($name:ident $with:ident $read:ident $write:ident;)*) => { $(
        /// The Fortran form of the C function: conversions with an extra state.
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name(
            datarep: Addr, read_fn: Addr, write_fn: Addr, extent_fn: Addr, extra_state: Addr,
            ierror: Addr, length: usize,
        ) {
            let given = |function: Addr, ours: usize| {
                if function.0 == mpi_conversion_fn_null_ as *const () as usize {
                    Addr::NULL
                } else {
                    Addr(ours)
                }
            };
            let state = ExtraState::leak([read_fn, write_fn, extent_fn], load(extra_state));
            let datarep = text::trimmed(datarep, length);
            let (read, write) = (
                given(read_fn, $read as *const () as usize), given(write_fn, $write as *const () as usize)
            );
            finish(
                ierror, exports::$with(datarep.at(), read, write, Addr(extent as *const () as usize), state)
            );
        }
    )* };
}
register_datarep! {
    pmpi_register_datarep_ PMPI_Register_datarep read write;
    pmpi_register_datarep_c_ PMPI_Register_datarep_c read_large write_large;
}

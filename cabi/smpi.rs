//! Functions that programs ported to SimGrid's SMPI call by name; `include/smpi/smpi.h` declares them.

use crate::alone;
use crate::edge;
use crate::extension::{xsim_compute, xsim_compute_flops};
use rank::Addr;
use rank::memory::load;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_double, c_int, c_void};

/// Results of calls that ranks share: the result's address, by function and input.
type Calls = HashMap<(String, String), usize>;

thread_local! {
    static CALLS: RefCell<Calls> = RefCell::default();
}

/// # Safety
/// The arguments are C strings.
unsafe fn call(function: *const c_char, input: *const c_char) -> (String, String) {
    // SAFETY: the caller's word.
    let text = |name: *const c_char| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    (text(function), text(input))
}

/// Returns 1 if a rank has made this call, else 0 (SMPI_SHARED_CALL).
///
/// # Safety
/// The arguments are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smpi_shared_known_call(function: *const c_char, input: *const c_char) -> c_int {
    // SAFETY: the caller's word.
    let key = unsafe { call(function, input) };
    CALLS.with_borrow(|calls| c_int::from(calls.contains_key(&key)))
}

/// Returns what the call gave; null if nobody has made it.
///
/// # Safety
/// The arguments are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smpi_shared_get_call(function: *const c_char, input: *const c_char) -> *mut c_void {
    // SAFETY: the caller's word.
    let key = unsafe { call(function, input) };
    CALLS.with_borrow(|calls| calls.get(&key).copied().unwrap_or(0)) as *mut c_void
}

/// The calling rank made the call: keeps what it gave, unless another rank was first. Answers what is kept.
///
/// # Safety
/// The arguments are C strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smpi_shared_set_call(
    function: *const c_char,
    input: *const c_char,
    data: *mut c_void,
) -> *mut c_void {
    // SAFETY: the caller's word.
    let key = unsafe { call(function, input) };
    CALLS.with_borrow_mut(|calls| *calls.entry(key).or_insert(data as usize)) as *mut c_void
}

fn execute(seconds: c_double) {
    if xsim_compute(seconds) != 0 {
        edge::end_run(
            alone::mpi(),
            &format!("smpi_execute cannot compute for {seconds} s: give a number from 0 to 213 days"),
            1,
        );
    }
}

fn execute_flops(flops: c_double) {
    if xsim_compute_flops(flops) != 0 {
        edge::end_run(
            alone::mpi(),
            &format!("smpi_execute_flops cannot compute {flops} operations: give a number from 0 on"),
            1,
        );
    }
}

macro_rules! executes {
    ($($name:ident $fortran:ident $function:ident;)*) => { $(
        #[doc = "Computes for so long, or so much."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(amount: c_double) {
            $function(amount);
        }
        #[doc = "The same for Fortran."]
        #[unsafe(no_mangle)]
        pub extern "C" fn $fortran(amount: Addr) {
            $function(load(amount));
        }
    )* };
}
// Without `benched`, SMPI would not charge what ran before; here that is always charged.
executes! {
    smpi_execute smpi_execute_ execute;
    smpi_execute_benched smpi_execute_benched_ execute;
    smpi_execute_flops smpi_execute_flops_ execute_flops;
    smpi_execute_flops_benched smpi_execute_flops_benched_ execute_flops;
}

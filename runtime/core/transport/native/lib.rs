//! The machine's own MPI behind a table of a few C functions. Built once for each MPI, with its compiler
//! wrapper.

use mpi_sys::*;
use native_table::{NativeFunctions, PACED, VERSION};
use std::cell::UnsafeCell;
use std::ffi::c_int;

/// Requests by ticket, free tickets, and the message that was probed.
struct NativeRequests {
    requests: Vec<MPI_Request>,
    free: Vec<usize>,
    probed: Option<MPI_Message>,
}

struct StateCell(UnsafeCell<NativeRequests>);

// SAFETY: one thread of the process makes all calls (the table's user promises it).
unsafe impl Sync for StateCell {}

static STATE: StateCell =
    StateCell(UnsafeCell::new(NativeRequests { requests: Vec::new(), free: Vec::new(), probed: None }));

fn state() -> &'static mut NativeRequests {
    // SAFETY: see `StateCell`; no function of the table keeps the reference beyond its return.
    unsafe { &mut *STATE.0.get() }
}

fn succeeded(code: c_int) -> bool {
    code == MPI_SUCCESS as c_int
}

unsafe extern "C" fn open(rank: *mut u32, size: *mut u32) -> i32 {
    let (mut provided, mut me, mut all) = (0, 0, 0);
    // SAFETY: MPI is not initialized; all results are writable.
    unsafe {
        if !succeeded(MPI_Init_thread(
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            MPI_THREAD_SERIALIZED as c_int,
            &mut provided,
        )) {
            return -1;
        }
        MPI_Comm_set_errhandler(RSMPI_COMM_WORLD, RSMPI_ERRORS_RETURN);
        if !succeeded(MPI_Comm_rank(RSMPI_COMM_WORLD, &mut me))
            || !succeeded(MPI_Comm_size(RSMPI_COMM_WORLD, &mut all))
        {
            return -1;
        }
        *rank = me as u32;
        *size = all as u32;
    }
    0
}

unsafe extern "C" fn send(data: *const u8, bytes: usize, to: u32, tag: i32) -> i64 {
    let Ok(count) = c_int::try_from(bytes) else { return -1 };
    let state = state();
    // SAFETY: the caller keeps the bytes until the request is complete.
    unsafe {
        let mut request = RSMPI_REQUEST_NULL;
        // MPI may keep any number of small messages that it has promised to deliver: a synchronous send is
        // paced by its receiver.
        let start = if tag == PACED { MPI_Issend } else { MPI_Isend };
        if !succeeded(start(
            data.cast(),
            count,
            RSMPI_UINT8_T,
            to as c_int,
            tag,
            RSMPI_COMM_WORLD,
            &mut request,
        )) {
            return -1;
        }
        match state.free.pop() {
            Some(ticket) => {
                state.requests[ticket] = request;
                ticket as i64
            }
            None => {
                state.requests.push(request);
                state.requests.len() as i64 - 1
            }
        }
    }
}

unsafe extern "C" fn sent(ticket: i64) -> i32 {
    let state = state();
    let Some(request) = state.requests.get_mut(ticket as usize) else { return -1 };
    let mut flag = 0;
    // SAFETY: a live request of ours; the status is ignored.
    if !succeeded(unsafe { MPI_Test(request, &mut flag, RSMPI_STATUS_IGNORE) }) {
        return -1;
    }
    if flag != 0 {
        state.free.push(ticket as usize);
    }
    i32::from(flag != 0)
}

unsafe extern "C" fn probe(from: *mut u32, tag: *mut i32, bytes: *mut usize) -> i32 {
    let mut flag = 0;
    // SAFETY: all results are writable; the message is kept for `receive`.
    unsafe {
        let mut message: MPI_Message = std::mem::zeroed();
        let mut status: MPI_Status = std::mem::zeroed();
        if !succeeded(MPI_Improbe(
            RSMPI_ANY_SOURCE,
            RSMPI_ANY_TAG,
            RSMPI_COMM_WORLD,
            &mut flag,
            &mut message,
            &mut status,
        )) {
            return -1;
        }
        if flag == 0 {
            return 0;
        }
        let mut count = 0;
        if !succeeded(MPI_Get_count(&status, RSMPI_UINT8_T, &mut count)) || count < 0 {
            return -1;
        }
        *from = status.MPI_SOURCE as u32;
        *tag = status.MPI_TAG;
        *bytes = count as usize;
        state().probed = Some(message);
    }
    1
}

unsafe extern "C" fn receive(data: *mut u8, bytes: usize) -> i32 {
    let (Some(mut message), Ok(count)) = (state().probed.take(), c_int::try_from(bytes)) else { return -1 };
    // SAFETY: `data` has room for the probed message.
    if succeeded(unsafe { MPI_Mrecv(data.cast(), count, RSMPI_UINT8_T, &mut message, RSMPI_STATUS_IGNORE) }) {
        0
    } else {
        -1
    }
}

unsafe extern "C" fn abort(status: i32) {
    // SAFETY: MPI is initialized; it does not return, or the caller ends the process.
    unsafe { MPI_Abort(RSMPI_COMM_WORLD, status) };
}

unsafe extern "C" fn close() -> i32 {
    // SAFETY: MPI is initialized, and the caller has nothing under way.
    if succeeded(unsafe { MPI_Finalize() }) { 0 } else { -1 }
}

static TABLE: NativeFunctions =
    NativeFunctions { version: VERSION, open, send, sent, probe, receive, abort, close };

/// The table.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_native_table() -> *const NativeFunctions {
    &raw const TABLE
}

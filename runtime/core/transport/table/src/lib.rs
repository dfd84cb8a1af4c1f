//! Table of a library for one MPI: the C functions behind its one symbol, [`SYMBOL`].
//!
//! Both sides are built apart, each with this crate.

/// The version of [`NativeFunctions`]; both sides must have the same.
pub const VERSION: u32 = 2;

/// The tag of messages that count as sent only when their receiver has taken them.
pub const PACED: i32 = 1;

/// The symbol: `extern "C" fn() -> *const NativeFunctions`.
pub const SYMBOL: &std::ffi::CStr = c"xsim_native_table";

/// The functions. Those that answer an `i32` answer 0 or more where they succeed, -1 where MPI failed.
#[repr(C)]
pub struct NativeFunctions {
    /// [`VERSION`].
    pub version: u32,
    /// Initializes MPI: this process's number and how many there are.
    pub open: unsafe extern "C" fn(rank: *mut u32, size: *mut u32) -> i32,
    /// Starts sending; `data` stays where it is until it is sent (with tag [`PACED`], taken). Answers a
    /// ticket, or -1.
    pub send: unsafe extern "C" fn(data: *const u8, bytes: usize, to: u32, tag: i32) -> i64,
    /// Returns 1 if a ticket's message is sent, after which the ticket is void; 0 if it is not.
    pub sent: unsafe extern "C" fn(ticket: i64) -> i32,
    /// Returns 1 if a message is there, with its source, tag and bytes; else 0. It must be received next.
    pub probe: unsafe extern "C" fn(from: *mut u32, tag: *mut i32, bytes: *mut usize) -> i32,
    /// Receives the message that `probe` found.
    pub receive: unsafe extern "C" fn(data: *mut u8, bytes: usize) -> i32,
    /// Ends all processes.
    pub abort: unsafe extern "C" fn(status: i32),
    /// Finalizes MPI.
    pub close: unsafe extern "C" fn() -> i32,
}

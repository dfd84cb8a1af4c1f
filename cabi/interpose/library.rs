//! Libraries that a rank loads, of whose globals each rank has its own.

use std::ffi::{c_char, c_int, c_void};

/// Loads a library for all ranks, found from where the caller is.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    // The return address says whose search paths count.
    std::arch::naked_asm!("mov rdx, [rsp]", "jmp {open}", open = sym open)
}

unsafe extern "C" fn open(name: *const c_char, flags: c_int, from: usize) -> *mut c_void {
    // SAFETY: the caller's contract is that of `dlopen`.
    unsafe { rank::open_library(name, flags, from) }
}

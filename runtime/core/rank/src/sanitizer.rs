//! AddressSanitizer, where the program is compiled with it.
//!
//! It marks parts of stacks as forbidden while their functions run. A rank that ends leaves marks behind on
//! its stack, which the next rank on that stack would be accused of. On a stack that all ranks share, marks
//! of one rank would be another's.

use std::ffi::{CStr, c_void};
use std::ops::Range;

fn find(name: &CStr) -> usize {
    // SAFETY: looks up a symbol by a valid name.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize }
}

/// Returns `true` if AddressSanitizer is in the process.
pub(crate) fn is_present() -> bool {
    find(c"__asan_init") != 0
}

/// Returns a sentence if the program is compiled with a sanitizer that cannot follow ranks.
pub(crate) fn refusal() -> Option<&'static str> {
    (find(c"__tsan_init") != 0).then_some(
        "ThreadSanitizer cannot follow the stacks of ranks; compile without -fsanitize=thread, or make each \
         process one rank (-xsim-one-rank)",
    )
}

/// Takes all marks off memory. Without AddressSanitizer, nothing happens.
pub(crate) fn unmark(memory: Range<usize>) {
    let unpoison = find(c"__asan_unpoison_memory_region");
    if unpoison != 0 {
        // SAFETY: AddressSanitizer's function of this name and type, which changes only what it keeps of
        // these addresses.
        unsafe {
            let unpoison: unsafe extern "C" fn(*const c_void, usize) = std::mem::transmute(unpoison);
            unpoison(memory.start as *const c_void, memory.len());
        }
    }
}

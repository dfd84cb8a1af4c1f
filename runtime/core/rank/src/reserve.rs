//! Addresses that are reserved before anybody needs them: they take no memory until they are written.

use crate::host;
use std::ops::Range;
use std::ptr::null_mut;

/// Asks the kernel for pages that can be written (Linux 5.14).
const MADV_POPULATE_WRITE: i32 = 23;

/// Bytes of a large page, and its alignment.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// Reserves `bytes`, readable and writable, that read as zeros; `None` if they cannot be had.
pub(crate) fn reserve(bytes: usize) -> Option<usize> {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a new anonymous mapping touches no existing memory.
    let base = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
    (base != libc::MAP_FAILED).then_some(base as usize)
}

/// Reserves `bytes` of addresses without access; `None` if they cannot be had.
pub(crate) fn reserve_inaccessible(bytes: usize) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping touches no existing memory.
    let base = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    (base != libc::MAP_FAILED).then_some(base as usize)
}

/// Reserves `bytes`, or half as many, and so on, where addresses or promises of memory are few: where, and
/// how many.
///
/// # Errors
/// How many could not be had in the end, which are `least` or fewer.
pub(crate) fn reserve_up_to(mut bytes: usize, least: usize) -> Result<(usize, usize), usize> {
    loop {
        match reserve(bytes) {
            Some(base) => return Ok((base, bytes)),
            None if bytes <= least => return Err(bytes),
            None => bytes = (bytes / 2).next_multiple_of(LARGE_PAGE),
        }
    }
}

/// Makes pages present that hold what they held, on host time that no rank is charged for. Returns whether
/// the kernel has done so.
pub(crate) fn make_present(pages: Range<usize>) -> bool {
    // SAFETY: advice on memory of this process, whose contents it leaves as they are.
    host::exclude(|| unsafe {
        libc::madvise(pages.start as *mut libc::c_void, pages.len(), MADV_POPULATE_WRITE)
    }) == 0
}

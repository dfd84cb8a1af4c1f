//! What lets large applications run on few machines: memory that ranks share, blocks that are sampled.
//! `include/xsim.h` is made from this file too.

mod partial;

use crate::alone;
use crate::edge;
use mpi::sampling::{Enough, Samples, Whose};
use rank::Addr;
use rank::memory::load;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_double, c_int};
use std::io;

/// A cache line, so that blocks are aligned for any vector.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// File, line and size of a shared block.
type Key = (String, c_int, usize);

/// Blocks that ranks share, and how many ranks have each.
#[derive(Default)]
struct SharedBlocks {
    blocks: HashMap<Key, (Box<[CacheLine]>, u64)>,
    /// The key of each block by its address.
    addresses: HashMap<usize, Key>,
}

thread_local! {
    static SHARED: RefCell<SharedBlocks> = RefCell::default();
    static SAMPLES: RefCell<Samples> = RefCell::default();
}

/// Returns a text of the program; a null pointer is an empty one.
pub(crate) fn text(name: *const c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: the program passes a C string, or null.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// Returns memory that all ranks share which ask for it at one place of the program: `file` and `line` (see
/// XSIM_SHARED_MALLOC) and size. For large arrays whose contents do not matter to the result: they cost their
/// size once, however many ranks there are. Aligned to 64 bytes, zero at first; null if there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_shared_malloc(
    bytes: usize,
    file: *const c_char,
    line: c_int,
) -> *mut std::ffi::c_void {
    let key = (text(file), line, bytes);
    SHARED.with_borrow_mut(|shared| {
        if let Some((block, users)) = shared.blocks.get_mut(&key) {
            *users += 1;
            return block.as_mut_ptr().cast();
        }
        let mut lines: Vec<CacheLine> = Vec::new();
        if lines.try_reserve_exact(bytes.div_ceil(64).max(1)).is_err() {
            return std::ptr::null_mut();
        }
        lines.resize(bytes.div_ceil(64).max(1), CacheLine([0; 64]));
        let mut block = lines.into_boxed_slice();
        let address = block.as_mut_ptr();
        shared.addresses.insert(address as usize, key.clone());
        shared.blocks.insert(key, (block, 1));
        address.cast()
    })
}

/// Returns a block of which parts are shared: `ranges` has the first byte and the first byte behind for each
/// of `count` parts, ascending and within `bytes`. Whole pages (4 KiB) of these parts are the same memory for
/// all ranks that ask at one place (see XSIM_PARTIAL_SHARED_MALLOC) for a block of that size; all else is the
/// rank's own. Zero at first. A run that cannot have the block ends with a sentence.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_shared_malloc_partial(
    bytes: usize,
    ranges: *const usize,
    count: c_int,
    file: *const c_char,
    line: c_int,
) -> *mut std::ffi::c_void {
    let ranges: Vec<(usize, usize)> = (0..usize::try_from(count).unwrap_or(0))
        .map(|index| {
            let at = Addr(ranges as usize + index * 2 * size_of::<usize>());
            (load(at), load(at.offset(size_of::<usize>() as i64)))
        })
        .collect();
    let place = text(file);
    if let Some(why) = wrong_ranges(bytes, &ranges) {
        edge::end_run(alone::mpi(), &format!("xsim_shared_malloc_partial at {place}:{line}: {why}"), 1);
    }
    match partial::PARTIAL.with_borrow_mut(|partial| partial.take((place, line, bytes), &ranges)) {
        Ok(block) => block,
        Err(why) => edge::end_run(alone::mpi(), &no_block(bytes, ranges.len(), &why), 1),
    }
}

/// Returns what is wrong with the shared parts of a block.
fn wrong_ranges(bytes: usize, ranges: &[(usize, usize)]) -> Option<String> {
    let mut free = 0;
    ranges.iter().enumerate().find_map(|(index, &(from, end))| {
        let fits = free <= from && from < end && end <= bytes;
        free = end;
        (!fits).then(|| {
            format!(
                "part {index} goes from byte {from} to {end} of {bytes}: parts are not empty, in ascending \
                 order, and within the block"
            )
        })
    })
}

fn no_block(bytes: usize, parts: usize, why: &io::Error) -> String {
    format!(
        "no block of {bytes} bytes with {parts} shared parts: {why}; each part and the memory between two is \
         a mapping of the process, of which there are at most vm.max_map_count (sysctl): share fewer parts, \
         or run fewer ranks a process"
    )
}

/// The calling rank needs a block of xsim_shared_malloc or xsim_shared_malloc_partial no longer; the last
/// one's call frees it. Null is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_shared_free(block: *mut std::ffi::c_void) {
    if block.is_null() || partial::PARTIAL.with_borrow_mut(|partial| partial.free(block as usize)) {
        return;
    }
    let known = SHARED.with_borrow_mut(|shared| {
        let Some(key) = shared.addresses.get(&(block as usize)) else { return false };
        let users = &mut shared.blocks.get_mut(key).expect("both lists have the same blocks").1;
        *users -= 1;
        if *users == 0 {
            let key = shared.addresses.remove(&(block as usize)).expect("found above");
            shared.blocks.remove(&key);
        }
        true
    });
    if !known {
        eprintln!(
            "xsim: rank {}: xsim_shared_free was called with {block:p}, which xsim_shared_malloc did not \
             give or which all ranks freed; free memory of malloc with free",
            alone::mpi().world().messages.me()
        );
    }
}

/// Begins a block of computation that is to be sampled (see XSIM_SAMPLE). Returns 1 if the block must run,
/// and be ended with xsim_sample_end. Returns 0 if it ran often enough, and its mean cost was charged
/// instead. It runs `count` times, or more until the standard error of its mean cost is below `precision`
/// times the mean (if that is above 0).
///
/// With `global` all ranks share the samples, otherwise each rank has its own. What a block costs is the
/// computation charged in it, so that waiting inside MPI calls is left out.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_sample(
    file: *const c_char,
    line: c_int,
    global: c_int,
    count: c_int,
    precision: c_double,
) -> c_int {
    let _turn = edge::turn();
    let mut world = alone::mpi().world();
    let me = world.messages.me();
    let computed = world.messages.ranks_mut().computed();
    SAMPLES.with_borrow_mut(|samples| {
        let place = samples.place(&text(file), line);
        let block = (place, if global != 0 { Whose::All } else { Whose::Rank(me) });
        let enough = Enough { count: u64::try_from(count).unwrap_or(0), precision };
        match samples.cost(block, enough) {
            Some(cost) => {
                world.messages.ranks_mut().charge(me, cost);
                0
            }
            None => {
                samples.begin(me, block, computed);
                1
            }
        }
    })
}

/// Ends the block that the calling rank began last with xsim_sample. Answers 0.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_sample_end() -> c_int {
    let _turn = edge::turn();
    let mut world = alone::mpi().world();
    let me = world.messages.me();
    let computed = world.messages.ranks_mut().computed();
    SAMPLES.with_borrow_mut(|samples| samples.end(me, computed));
    0
}

/// The names that Fortran's compilers make of the functions: a block is named by a number.
mod fortran {
    use super::*;

    #[unsafe(no_mangle)]
    pub extern "C" fn xsim_sample_(number: Addr, global: Addr, count: Addr, precision: Addr) -> c_int {
        xsim_sample(std::ptr::null(), load(number), load(global), load(count), load(precision))
    }
    #[unsafe(no_mangle)]
    pub extern "C" fn xsim_sample_end_() -> c_int {
        xsim_sample_end()
    }
}

//! OpenMP teams: what a runtime keeps for its initial thread is each rank's own.
//!
//! An OpenMP runtime takes the ranks' thread for one initial thread. What it keeps for that thread lies in
//! the runtime's thread-local block: libgomp the team, the pool of workers and the control variables, libomp
//! the thread's number. A rank that blocks takes the block's contents with it. So each rank has a pool of its
//! own, and with it its own workers, their numbers and their `threadprivate` variables.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::helpers;
use crate::image::Image;
use crate::now;
use crate::single::Single;

/// Beginnings of the file names of OpenMP runtimes: GCC's, LLVM's, Intel's.
const RUNTIMES: [&str; 3] = ["libgomp.", "libomp", "libiomp"];

/// Returns `true` if a library's file name is that of an OpenMP runtime.
pub(crate) fn is_runtime(file: &str) -> bool {
    // Open MPI's library of tools for debuggers begins with one of the names.
    RUNTIMES.iter().any(|name| file.starts_with(name)) && !file.starts_with("libompitrace")
}

/// A thread-local block of a runtime.
struct Block {
    at: usize,
    /// State as the runtime finds it on a thread that it does not know.
    fresh: Vec<u8>,
    /// `omp_get_level`, or 0.
    level: usize,
    /// `omp_pause_resource_all` if it gives back the calling thread's pool and nothing else; or 0.
    pause: usize,
}

#[derive(Default)]
struct Runtimes {
    blocks: Vec<Block>,
    /// The scheduler's content of the blocks, while a rank is running; functions that MPI calls may use
    /// OpenMP, too.
    scheduler: Vec<u8>,
}

static RUNTIMES_FOUND: Single<Option<Runtimes>> = Single::new(None);
/// `true` if the program or one of its own libraries has thread-local variables: workers keep their values
/// between regions.
static HAS_THREAD_LOCALS: AtomicBool = AtomicBool::new(false);

/// Notes that the program has thread-local variables.
pub(crate) fn note_thread_locals() {
    HAS_THREAD_LOCALS.store(true, Relaxed);
}

impl Runtimes {
    fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.fresh.len()).sum()
    }

    /// Copies the blocks out.
    fn read(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes());
        for block in &self.blocks {
            // SAFETY: a block of the ranks' thread, which lives as long as the process; nobody else writes to
            // it.
            bytes.extend_from_slice(unsafe {
                std::slice::from_raw_parts(block.at as *const u8, block.fresh.len())
            });
        }
        bytes
    }

    /// Copies `bytes` into the blocks; blocks that they do not reach become fresh.
    fn write(&self, mut bytes: &[u8]) {
        for block in &self.blocks {
            let len = block.fresh.len();
            let from = match bytes.split_at_checked(len) {
                Some((from, rest)) => {
                    bytes = rest;
                    from
                }
                None => &block.fresh,
            };
            // SAFETY: as in `read`; the runtime runs no code of this thread now.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), block.at as *mut u8, len) };
        }
    }

    fn is_fresh(&self) -> bool {
        self.blocks.iter().all(Block::is_fresh)
    }
}

impl Block {
    /// Returns `true` if the runtime does not know the rank in place.
    fn is_fresh(&self) -> bool {
        // SAFETY: as in `Runtimes::read`.
        unsafe { std::slice::from_raw_parts(self.at as *const u8, self.fresh.len()) == self.fresh }
    }
}

/// Finds the runtimes that are loaded. To be called on the ranks' thread, before the first rank runs and when
/// a runtime may have been loaded since.
pub(crate) fn find() {
    for image in Image::all() {
        let file = image.name.rsplit('/').next().unwrap_or_default();
        let Some(block) = image.thread_local().filter(|_| is_runtime(file)) else { continue };
        let Some((initial, at)) = image.thread_local_image() else { continue };
        let mut fresh = vec![0; block.len()];
        // SAFETY: the initial values lie in a segment of the image, which stays loaded.
        fresh[..initial.len()].copy_from_slice(unsafe {
            std::slice::from_raw_parts(initial.start as *const u8, initial.len())
        });
        let function = |name: &std::ffi::CStr| image.symbol(name).unwrap_or(0);
        // LLVM's ends the pools of all ranks.
        let pause = if file.starts_with("libgomp") { function(c"omp_pause_resource_all") } else { 0 };
        let block = Block { at, fresh, level: function(c"omp_get_level"), pause };
        // SAFETY: the ranks' thread; the closure only compares and pushes.
        unsafe {
            RUNTIMES_FOUND.with(|runtimes| {
                let runtimes = runtimes.get_or_insert_default();
                if runtimes.blocks.iter().all(|known| known.at != at) {
                    runtimes.scheduler.extend_from_slice(&block.fresh);
                    runtimes.blocks.push(block);
                }
            });
        }
        now::set_teams();
    }
}

fn with<R>(f: impl FnOnce(&mut Runtimes) -> R) -> Option<R> {
    // SAFETY: the ranks' thread; the closures here only copy bytes.
    unsafe { RUNTIMES_FOUND.with(|runtimes| runtimes.as_mut().map(f)) }
}

/// Resets the runtimes for a rank that begins: they do not know it.
pub(crate) fn begin() {
    with(|runtimes| {
        runtimes.scheduler = runtimes.read();
        runtimes.write(&[]);
    });
}

/// Takes the running rank's state out; `None` if it is that of a rank which never used OpenMP.
pub(crate) fn save() -> Option<Vec<u8>> {
    if helpers::is_crowded() {
        give_back();
    }
    with(|runtimes| {
        let state = if runtimes.is_fresh() { None } else { Some(runtimes.read()) };
        runtimes.write(&runtimes.scheduler);
        state
    })?
}

/// Puts a rank's state in place.
pub(crate) fn restore(state: Option<Vec<u8>>) {
    with(|runtimes| {
        runtimes.scheduler = runtimes.read();
        runtimes.write(state.as_deref().unwrap_or_default());
    });
}

/// Returns this function of each runtime that knows the rank in place.
fn functions(of: impl Fn(&Block) -> usize) -> Vec<usize> {
    let known =
        |runtimes: &mut Runtimes| runtimes.blocks.iter().filter(|block| !block.is_fresh()).map(of).collect();
    let mut found: Vec<usize> = with(known).unwrap_or_default();
    found.retain(|&function| function != 0);
    found
}

/// Returns `true` if the running rank is inside a parallel region.
pub(crate) fn in_region() -> bool {
    functions(|block| block.level).into_iter().any(|level| {
        // SAFETY: `omp_get_level` of a runtime that stays loaded, by its type in OpenMP 5.0.
        unsafe { std::mem::transmute::<usize, extern "C" fn() -> i32>(level)() > 0 }
    })
}

/// Ends the rank's idle workers, where nothing of the program's is in them: with its next region come new
/// ones.
fn give_back() {
    const OMP_PAUSE_SOFT: i32 = 1;
    if HAS_THREAD_LOCALS.load(Relaxed) || in_region() {
        return;
    }
    for pause in functions(|block| block.pause) {
        // SAFETY: `omp_pause_resource_all` of a runtime that stays loaded, by its type in OpenMP 5.0, outside
        // regions.
        unsafe { std::mem::transmute::<usize, extern "C" fn(i32) -> i32>(pause)(OMP_PAUSE_SOFT) };
    }
}

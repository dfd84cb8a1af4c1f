//! Threads that ranks start beside the one that runs them: OpenMP teams, `std::thread`, pthreads.
//!
//! All ranks of a process run on one thread, the ranks' thread. A thread that a rank starts is a *helper* of
//! that rank: it runs beside the ranks' thread on the host, also while another rank is mounted, and takes no
//! virtual time. So a helper reaches only what stays in place: its own stack, the heap, stacks of their own
//! and cloned globals.

use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering::Relaxed, Ordering::SeqCst};

use crate::globals::clone;
use crate::helpers::{self, Helpers, LIVE, MAX_HELPERS, STACK};
use crate::host::kernel_ns;
use crate::image::Image;
use crate::{crash, hooks, now, output, stdio, teams};

pub use crate::helpers::{enter_critical, leave_critical, owner};

/// The time that a rank that blocks waits for helpers that are about to end.
const GRACE_NS: u64 = 100_000_000;

/// A thread's function, as `pthread_create` takes it.
pub type Routine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// The origin of a thread's function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ThreadOrigin {
    /// The program, its own libraries, or C++'s.
    Program,
    /// An OpenMP runtime.
    Team,
    /// Another library of the system.
    Library,
    /// The simulator, or the MPI that it runs on.
    Simulator,
}

impl ThreadOrigin {
    fn of(function: usize) -> ThreadOrigin {
        let function = clone::original(function);
        let images = Image::all();
        let Some(image) = images.iter().find(|image| image.contains(function)) else {
            return ThreadOrigin::Program;
        };
        let file = image.name.rsplit('/').next().unwrap_or_default();
        if image.contains(ThreadOrigin::of as *const () as usize) || image.is_common() {
            ThreadOrigin::Simulator
        } else if teams::is_runtime(file) {
            ThreadOrigin::Team
        } else if image.is_first()
            || image.is_own(&[])
            || file.starts_with("libstdc++")
            || file.starts_with("libc++")
        {
            ThreadOrigin::Program
        } else {
            ThreadOrigin::Library
        }
    }
}

/// A helper that is about to start.
pub struct Start {
    function: Routine,
    argument: *mut c_void,
    rank: u32,
    is_own: bool,
    helpers: &'static Helpers,
    /// The rank's clone of the program, whose thread-local words point into it.
    block: usize,
}

/// Prepares a helper for the calling rank; `None` if the thread is none: no rank calls, or the simulator
/// itself does. Ends the run if there are too many.
///
/// The first helper of the process is reported ([`hooks::Hooks::helped`]).
pub fn prepare(function: Routine, argument: *mut c_void) -> Option<Box<Start>> {
    let nested = owner();
    let rank = nested.or_else(now::current)?;
    let origin = ThreadOrigin::of(function as usize);
    if origin == ThreadOrigin::Simulator {
        return None;
    }
    if LIVE.load(Relaxed) >= MAX_HELPERS {
        too_many();
    }
    let helpers = helpers::of(rank);
    if nested.is_none() {
        if origin == ThreadOrigin::Team {
            teams::find();
        }
        now::set_helpers();
        if let Some(hooks) = hooks::get() {
            (hooks.helped)();
        }
    }
    let is_own = origin == ThreadOrigin::Program;
    LIVE.fetch_add(1, SeqCst);
    helpers.own.fetch_add(usize::from(is_own), SeqCst);
    Some(Box::new(Start { function, argument, rank, is_own, helpers, block: clone::block() }))
}

impl Drop for Start {
    fn drop(&mut self) {
        self.helpers.own.fetch_sub(usize::from(self.is_own), SeqCst);
        LIVE.fetch_sub(1, SeqCst);
    }
}

/// Runs a helper: the function to be given to the C library, with a [`Start`] as its argument.
///
/// # Safety
/// `start` is a boxed [`Start`] as a pointer, given once.
pub unsafe extern "C-unwind" fn run(start: *mut c_void) -> *mut c_void {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    unsafe extern "C" fn end(start: *mut c_void) {
        // SAFETY: the pointer that was set below, once for each thread.
        drop(unsafe { Box::from_raw(start.cast::<Start>()) });
    }
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place for the key, and a destructor that takes what is set under it.
        unsafe { libc::pthread_key_create(&mut key, Some(end)) };
        key
    });
    // SAFETY: the caller's contract. It is freed by the key's destructor, which also runs when the thread is
    // cancelled or calls `pthread_exit`.
    let (function, argument) = unsafe {
        libc::pthread_setspecific(*key, start);
        let start = &*start.cast::<Start>();
        helpers::set_owner(start.rank);
        clone::set_thread_local(start.block);
        (start.function, start.argument)
    };
    // SAFETY: the program's function with its argument, as it gave them to the C library.
    unsafe { function(argument) }
}

/// Ends the process because a rank starts one helper more than it can have.
// At once: what the runtime has on the rank's stack is in use by the helpers that it has just started.
fn too_many() -> ! {
    end_process(&format!(
        "it starts a thread beside {MAX_HELPERS} others of this process's ranks, the most there may be: use \
         fewer threads a rank (OMP_NUM_THREADS), fewer ranks, or more processes (mpirun)"
    ))
}

/// Ends the process at once, where the rank cannot be ended: on a helper, on a stack of the program's own, or
/// where helpers use the rank's stack. Writes what ranks have printed, then the rank and `why`.
pub fn end_process(why: &str) -> ! {
    let rank = owner().or_else(now::current).or_else(now::served);
    if let Some(rank) = rank {
        stdio::pour(rank);
    }
    output::pour_all();
    let text = match rank {
        Some(rank) => format!("xsim: rank {}: {why}\n", crash::global(rank)),
        None => format!("xsim: {why}\n"),
    };
    output::write_fully(2, text.as_bytes());
    // SAFETY: ends the process, past any interposed `_exit`.
    unsafe { libc::syscall(libc::SYS_exit_group, 1) };
    unreachable!("exit_group returned")
}

/// Ends the process if the running rank cannot block now, because a helper of it may use memory that would
/// leave its address.
#[cold]
pub(crate) fn check_block() {
    let (Some(rank), moved) = (now::current(), helpers::moved()) else { return };
    if now::is_ending() {
        if teams::in_region() {
            helpers::keep(rank);
        }
        return;
    }
    if moved == 0 {
        return;
    }
    let what = if teams::in_region() {
        "inside a parallel region".to_owned()
    } else {
        let own = &helpers::of(rank).own;
        // The host's clock, past the interposed one.
        let now_ns = || kernel_ns(libc::CLOCK_MONOTONIC);
        let until = now_ns() + GRACE_NS;
        while own.load(SeqCst) != 0 && now_ns() < until {
            // SAFETY: gives the processor away; by number, since sleeping may be interposed.
            unsafe { libc::syscall(libc::SYS_sched_yield) };
        }
        match own.load(SeqCst) {
            0 => return,
            1 => "while a thread that the rank started runs".to_owned(),
            n => format!("while {n} threads that the rank started run"),
        }
    };
    let call = now::last_call().unwrap_or("a call");
    let remedy = if moved & STACK != 0 {
        "its stack is copied away for the next rank, and the other threads may use it: start the run with \
         -xsim-stack-mode own"
    } else {
        "its globals are copied away for the next rank, and the other threads may use them: start the run \
         with -xsim-globals clone, for which the program is compiled with -fPIC and linked with -pie"
    };
    end_process(&format!(
        "{call} blocks {what}, where {remedy}; or run one rank a process (mpirun and -xsim-one-rank)"
    ))
}

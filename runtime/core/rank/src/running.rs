//! Blocking and end of the rank that runs now, seen from its own stack.

use crate::crash;
use crate::libc_state;
use crate::now::{self, current};
use crate::process_state;
use crate::stack::{self, switch};
use crate::{teams, threads};

/// Finds the thread's `errno` and C++ exception state, once, before the first rank runs.
pub(crate) fn find_thread_state() {
    libc_state::find();
    teams::find();
    // SAFETY: `dlsym` with a valid name; a null result means that no C++ runtime is loaded.
    let globals = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_get_globals".as_ptr()) };
    let exceptions = if globals.is_null() {
        std::ptr::null_mut()
    } else {
        // SAFETY: the Itanium C++ ABI gives this symbol the type below; the result is 16 bytes
        // (caughtExceptions, uncaughtExceptions) of this thread.
        let globals: extern "C" fn() -> *mut [usize; 2] = unsafe { std::mem::transmute(globals) };
        globals()
    };
    // SAFETY: always returns the address of this thread's errno, which lives as long as the thread.
    now::set_thread_state(unsafe { libc::__errno_location() }, exceptions);
}

/// State of libc and the C++ runtime that exists once per thread but belongs to a rank. It is kept on the
/// rank's own stack while the rank is suspended, so that it costs no table.
struct ThreadState {
    call: usize,
    /// State that few ranks have, on the heap.
    rare: Option<Box<Rare>>,
    errno: i32,
}

/// State that most ranks leave as it was when they began.
struct Rare {
    exceptions: [usize; 2],
    libc: libc_state::RankLibcState,
    team: Option<Vec<u8>>,
}

impl Rare {
    #[cold]
    #[inline(never)]
    fn save(exceptions: [usize; 2]) -> Option<Box<Rare>> {
        if now::has_helpers() {
            threads::check_block();
        }
        if now::has_private() || process_state::floats_differ() {
            process_state::leave();
        }
        let team = if now::has_teams() { teams::save() } else { None };
        let libc = libc_state::RankLibcState::save();
        (exceptions != [0; 2] || team.is_some() || libc.is_used())
            .then(|| Box::new(Rare { exceptions, libc, team }))
    }

    #[cold]
    #[inline(never)]
    fn restore(rare: Option<Box<Rare>>) {
        let fresh = || Rare { exceptions: [0; 2], libc: libc_state::RankLibcState::fresh(), team: None };
        let rare = rare.map_or_else(fresh, |rare| *rare);
        rare.libc.restore();
        if now::has_teams() {
            teams::restore(rare.team);
        }
        now::set_exceptions(rare.exceptions);
        if now::has_private() {
            process_state::enter();
        }
    }
}

impl ThreadState {
    #[inline(always)]
    fn save() -> ThreadState {
        let exceptions = now::exceptions();
        let is_rare = exceptions != [0; 2] || now::has_extras() | process_state::floats_differ();
        ThreadState {
            call: now::call(),
            rare: if is_rare { Rare::save(exceptions) } else { None },
            errno: now::errno(),
        }
    }

    #[inline(always)]
    fn restore(&mut self) {
        now::set_call(self.call);
        now::set_errno(self.errno);
        if self.rare.is_some() || now::exceptions() != [0; 2] || now::has_extras() {
            Rare::restore(self.rare.take());
        }
    }
}

/// Blocks the running rank: returns when the scheduler resumes it.
///
/// Ends the process with a sentence if no rank is running, or if the caller is on a stack of its own (a
/// user-level thread of the program, another thread). Only the rank's own stack can be suspended. Ends the
/// run with a sentence if another thread of the rank uses memory that would leave its address.
// Always, as for `Ranks::resume`.
#[inline(always)]
pub fn suspend() {
    let here = 0u8;
    if current().is_none() || !is_on_stack(&raw const here as usize) {
        refuse();
    }
    let mut state = ThreadState::save();
    // SAFETY: a rank is running on its own stack (checked above).
    unsafe { switch::leave() };
    state.restore();
}

#[inline]
fn is_on_stack(address: usize) -> bool {
    let (limit, base) = now::bounds();
    address.wrapping_sub(limit) < base.wrapping_sub(limit)
}

/// The sentence for a thread that a rank started and that calls MPI.
pub const FUNNELED: &str = "ranks of one process have MPI_THREAD_FUNNELED, so make MPI calls from the thread \
    that runs main, or run one rank a process (mpirun -np N PROGRAM -xsim-one-rank)";

#[cold]
#[inline(never)]
fn refuse() -> ! {
    let here = 0u8;
    if let (Some(rank), None) = (current(), threads::owner())
        && stack::has_left(&raw const here as usize)
    {
        crash::stack_overflow(rank);
    }
    let call = now::last_call().unwrap_or("MPI");
    let why = match (current(), threads::owner()) {
        (_, Some(_)) => format!("{call} was called by a thread that the rank started: {FUNNELED}"),
        (Some(_), None) => format!(
            "{call} blocks on a stack of the program's own (a coroutine, as of makecontext): make calls that \
             block on the stack that main runs on"
        ),
        (None, None) => {
            format!(
                "{call} blocks in a function that MPI calls, where no rank can wait: make the call from main \
                 or from what main calls"
            )
        }
    };
    threads::end_process(&why)
}

/// Prepares a new rank, as the first thing on its stack.
pub(crate) fn entered() {
    now::set_call(0);
    libc_state::reset();
    if now::has_teams() {
        teams::begin();
    }
    if now::has_private() {
        process_state::enter();
    }
    now::set_errno(0);
    now::set_exceptions([0; 2]);
}

/// Hands the processor back for the last time.
pub(crate) fn finish(status: i32) -> ! {
    now::end(status);
    loop {
        suspend();
    }
}

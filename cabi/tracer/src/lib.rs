//! Records traces of real runs: what the wrappers of `native.c` and its generated part call.
//!
//! `build.sh` compiles these against the machine's own MPI and links this library to them:
//! `libxsimtrace_mpich.so` and `libxsimtrace_openmpi.so`, to be loaded before the MPI (`LD_PRELOAD`). How
//! arguments are read is what libxsim.so does (`cabi/recording`), over another `host`; calls are encoded,
//! folded and merged by `trace`.

mod constants;
mod recording;
mod run;

use call_recording::function::Function;
use run::TracedProcess;
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The wrapper calls the function and is done.
const PASS: c_int = 0;
/// It tells of the end of the call.
const TOLD: c_int = 1;
/// It tells of the end of the call with which the run begins.
const BEGINS: c_int = 2;

thread_local! {
    /// The recording, in the thread that initialized MPI: a rank is one sequence of calls.
    static RUN: RefCell<Option<TracedProcess>> = const { RefCell::new(None) };
}

thread_local! {
    /// The call under way that initializes MPI, and where it returns to.
    static BEGINNING: Cell<(Function, usize)> = const { Cell::new((Function::Init, 0)) };
}

/// `true` if a thread has a run.
static RECORDS: AtomicBool = AtomicBool::new(false);

/// Returns what is recorded, for a short while. `None` while nothing is, on other threads, and in a panic,
/// which is a defect of ours: the call goes on unrecorded.
fn with<T>(what: impl FnOnce(&mut TracedProcess) -> T) -> Option<T> {
    let borrowed = |cell: &RefCell<Option<TracedProcess>>| cell.try_borrow_mut().ok()?.as_mut().map(what);
    catch_unwind(AssertUnwindSafe(|| RUN.try_with(borrowed).ok().flatten())).ok().flatten()
}

/// A call of function number `function` begins, with these arguments; `site` is where it returns to. The
/// answer is for [`xsimtrace_close`], if it is not zero. Statuses that the program ignores are replaced.
///
/// # Safety
/// `words` are as many as the function has parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xsimtrace_open(
    function: u32,
    large: c_int,
    words: *mut u64,
    site: *const c_void,
) -> c_int {
    let Some(function) = Function::of(function) else { return PASS };
    if matches!(function, Function::Init | Function::Init_thread) {
        let _ = BEGINNING.try_with(|beginning| beginning.set((function, site as usize)));
        return BEGINS;
    }
    // SAFETY: as the caller promises.
    let words = unsafe { std::slice::from_raw_parts_mut(words, function.parameters(large != 0)) };
    let told = with(|run| run.open(function, large != 0, words, site as usize));
    if told.is_none() && RECORDS.load(Relaxed) {
        run::say_once(
            &run::OTHER_THREADS,
            "calls of threads other than the one that initialized MPI are not recorded",
        );
    }
    match function {
        Function::Finalize if told == Some(true) => {
            end();
            PASS
        }
        Function::Abort if told == Some(true) => {
            with(TracedProcess::save);
            TOLD
        }
        _ if told == Some(true) => TOLD,
        _ => PASS,
    }
}

/// The call that was opened last, with these words, has returned.
///
/// # Safety
/// As of [`xsimtrace_open`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xsimtrace_close(told: c_int, words: *mut u64, code: c_int) {
    if told != BEGINS {
        with(|run| run.close(code));
    } else if code == 0 {
        // SAFETY: as the caller promises.
        unsafe { begin(words) };
    }
}

/// MPI is initialized: the run begins with the call that did it, whose arguments could not be read before.
///
/// # Safety
/// As of [`xsimtrace_open`].
unsafe fn begin(words: *mut u64) {
    let (function, site) = BEGINNING.with(Cell::get);
    // What is looked up once is looked up before the program's time begins.
    let count = [false, true].map(|large| function.parameters(large))[0];
    let run = catch_unwind(TracedProcess::begin).ok().flatten();
    RECORDS.store(run.is_some(), Relaxed);
    let _ = RUN.try_with(|cell| cell.replace(run));
    // SAFETY: as the caller promises.
    let words = unsafe { std::slice::from_raw_parts_mut(words, count) };
    if with(|run| run.open(function, false, words, site)) == Some(true) {
        with(|run| run.close(0));
    }
}

/// `xsim.h`: has the rank's calls recorded from now on.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_trace_on() -> c_int {
    listen(true)
}

/// `xsim.h`: leaves the rank's calls out from now on.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_trace_off() -> c_int {
    listen(false)
}

/// [`xsim_trace_on`] of Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_trace_on_() -> c_int {
    listen(true)
}

/// [`xsim_trace_off`] of Fortran.
#[unsafe(no_mangle)]
pub extern "C" fn xsim_trace_off_() -> c_int {
    listen(false)
}

fn listen(on: bool) -> c_int {
    with(|run| run.listen(on));
    0
}

/// Ends the recording: the run is over.
fn end() {
    RECORDS.store(false, Relaxed);
    let run = RUN.try_with(|cell| cell.try_borrow_mut().ok().and_then(|mut run| run.take())).ok().flatten();
    let _ = catch_unwind(AssertUnwindSafe(|| run.map(TracedProcess::end)));
}

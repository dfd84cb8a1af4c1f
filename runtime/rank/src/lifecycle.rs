//! A rank's life on its own stack: constructors, `main`, handlers, destructors.

use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use corosensei::Yielder;

pub use crate::handlers::{At, Handler, register};
use crate::program::{Constructor, Main};
use crate::{handlers, hooks, running};

/// What each rank needs to start, at one address for all.
pub(crate) struct Life {
    pub(crate) main: Main,
    pub(crate) count: i32,
    pub(crate) environment: *mut *mut c_char,
    pub(crate) constructors: Vec<usize>,
    pub(crate) destructors: Vec<usize>,
    /// With globals shared by all ranks, the first constructs and nobody destroys.
    pub(crate) private_globals: bool,
}

static LIFE: AtomicUsize = AtomicUsize::new(0);
static ARGUMENTS: AtomicUsize = AtomicUsize::new(0);
static CONSTRUCTED: AtomicBool = AtomicBool::new(false);

/// Sets what ranks run. It is never freed: suspended ranks may end the process.
pub(crate) fn set(life: Life) {
    CONSTRUCTED.store(false, Relaxed);
    LIFE.store(Box::leak(Box::new(life)) as *const Life as usize, Relaxed);
}

fn life() -> &'static Life {
    // SAFETY: `set` stored a leaked box before any rank could run.
    unsafe { &*(LIFE.load(Relaxed) as *const Life) }
}

/// Says where the next rank to start finds its `argv`.
pub(crate) fn set_arguments(argv: *mut *mut c_char) {
    ARGUMENTS.store(argv as usize, Relaxed);
}

/// The whole life of a rank. Never returns to the coroutine's trampoline.
pub(crate) fn entry(yielder: &Yielder<(), ()>) {
    running::entered(yielder);
    let life = life();
    let argv = ARGUMENTS.load(Relaxed) as *mut *mut c_char;
    if life.private_globals || !CONSTRUCTED.swap(true, Relaxed) {
        for &constructor in &life.constructors {
            // SAFETY: a constructor of the program, by its own dynamic section, called once for
            // this rank's globals, which are in place.
            unsafe { std::mem::transmute::<usize, Constructor>(constructor)(life.count, argv, life.environment) };
        }
    }
    // SAFETY: the program's main with the arguments of a C program.
    let status = unsafe { (life.main)(life.count, argv, life.environment) };
    leave(status, true)
}

/// Ends the running rank; with `handlers`, as `exit` does, else as `_exit` does.
pub fn leave(status: i32, handlers: bool) -> ! {
    let rank = running::current().expect("only a running rank leaves");
    if handlers {
        handlers::run(rank, At::ThreadEnd, status);
        handlers::run(rank, At::Exit, status);
        let life = life();
        if life.private_globals {
            for &destructor in &life.destructors {
                // SAFETY: a destructor of the program, by its own dynamic section, called once
                // for this rank's globals, which are in place.
                unsafe { std::mem::transmute::<usize, extern "C" fn()>(destructor)() };
            }
        }
    }
    if let Some(hooks) = hooks::get() {
        (hooks.exited)(status);
    }
    running::finish(status)
}

/// `quick_exit`: only the handlers of `at_quick_exit`.
pub fn leave_quickly(status: i32) -> ! {
    let rank = running::current().expect("only a running rank leaves");
    handlers::run(rank, At::QuickExit, status);
    leave(status, false)
}

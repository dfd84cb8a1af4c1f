//! A rank's life on its own stack: constructors, `main`, handlers, destructors.

use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::Relaxed};

pub use crate::caller::rank_calls;
use crate::globals::choice::Globals;
use crate::globals::{clone, early, late};
pub use crate::handlers::{Handler, HandlerPhase};
use crate::image::Image;
use crate::program::{Constructor, Main};
use crate::{caller, fortran_units, handlers, hooks, libc_state, now, running, threads};

pub mod start;

/// Data that each rank of a program needs to start, at one address for all.
pub(crate) struct Life {
    main: Main,
    environment: *mut *mut c_char,
    constructors: Vec<usize>,
    destructors: Vec<usize>,
    /// With globals shared by all ranks, the first constructs and nobody destroys.
    private_globals: bool,
    /// `true` if these are constructed, and not yet destroyed.
    constructed: AtomicBool,
    /// The program and its own libraries: whose handlers are a rank's.
    images: Vec<Image>,
    /// Addresses of the copies of `getopt`'s variables in a program that was loaded late.
    copies: [usize; 4],
}

impl Life {
    /// Makes the life of a program's ranks; `lists` has constructors and destructors.
    pub(crate) fn new(
        main: Main,
        environment: *mut *mut c_char,
        lists: (Vec<usize>, Vec<usize>),
        images: Vec<Image>,
        globals: &Globals,
    ) -> Life {
        let (constructors, destructors) = lists;
        Life {
            main,
            environment,
            constructors,
            destructors,
            private_globals: !matches!(globals, Globals::Shared),
            constructed: AtomicBool::new(false),
            images,
            copies: [0; 4],
        }
    }

    /// Returns `true` if the program has libraries that its ranks have for themselves.
    pub(crate) fn has_libraries(&self) -> bool {
        self.images.len() > 1
    }

    /// Sets the addresses of `getopt`'s variables in a program that was loaded late.
    pub(crate) fn with_copies(self, copies: [usize; 4]) -> Life {
        Life { copies, ..self }
    }
}

/// The exit status of libgfortran's runtime errors.
const RUNTIME_ERROR: i32 = 2;

static LIFE: AtomicUsize = AtomicUsize::new(0);
static ARGUMENTS: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicI32 = AtomicI32::new(0);
static CONSTRUCTING_FOR_ALL: AtomicBool = AtomicBool::new(false);

/// Sets what ranks run, also until others are put in place. It is never freed: suspended ranks may end the
/// process.
pub(crate) fn set(life: Life) -> &'static Life {
    let life = Box::leak(Box::new(life));
    caller::begin();
    put(life);
    life
}

/// Puts the life of the program of the rank that runs next.
pub(crate) fn put(life: &'static Life) {
    LIFE.store(life as *const Life as usize, Relaxed);
    libc_state::use_copies(&life.copies);
}

fn life() -> &'static Life {
    // SAFETY: `set` stored a leaked box before any rank could run.
    unsafe { &*(LIFE.load(Relaxed) as *const Life) }
}

/// Registers a handler of the running rank. False if the process should keep it: no rank is
/// running, or `dso` (the handle that the compiler passes; 0 is the program) is a system library.
pub fn register(at: HandlerPhase, handler: Handler, dso: usize) -> bool {
    if !early::has_begun() {
        return early::keep(at, handler, dso);
    }
    if now::current().is_none() || CONSTRUCTING_FOR_ALL.load(Relaxed) {
        return false;
    }
    if at == HandlerPhase::ThreadEnd && threads::owner().is_some() {
        return false;
    }
    let dso = clone::original(dso);
    (dso == 0 || life().images.iter().any(|image| image.contains(dso)) || late::contains(dso))
        && handlers::register(at, handler)
}

/// Returns `true` for code of the program or of a library of its own, in whichever clone.
pub(crate) fn is_in_program(address: usize) -> bool {
    let address = clone::original(address);
    life().images.iter().any(|image| image.contains(address))
}

/// Says where the next rank to start finds its `argv`, and how many arguments that has.
pub(crate) fn set_arguments(argv: *mut *mut c_char, count: i32) {
    COUNT.store(count, Relaxed);
    ARGUMENTS.store(argv as usize, Relaxed);
}

/// Runs the destructors of globals that all ranks of a program shared, when the last has ended.
pub(crate) fn destroy_shared(life: &Life) {
    if !life.private_globals && life.constructed.swap(false, Relaxed) {
        destroy(life);
    }
}

fn destroy(life: &Life) {
    for &destructor in &life.destructors {
        // SAFETY: a destructor of the program, by its own dynamic section, called once for the
        // globals in place, after whatever used them.
        unsafe { std::mem::transmute::<usize, extern "C" fn()>(clone::in_place(destructor))() };
    }
}

/// Runs the whole life of a rank.
pub(crate) extern "C" fn entry() -> ! {
    running::entered();
    if let Some(hooks) = hooks::get() {
        (hooks.entered)();
    }
    let life = life();
    let (argv, count) = (ARGUMENTS.load(Relaxed) as *mut *mut c_char, COUNT.load(Relaxed));
    if life.private_globals || !life.constructed.swap(true, Relaxed) {
        CONSTRUCTING_FOR_ALL.store(!life.private_globals, Relaxed);
        for &constructor in &life.constructors {
            // SAFETY: a constructor of the program, by its own dynamic section, called once for
            // this rank's globals, which are in place.
            unsafe {
                std::mem::transmute::<usize, Constructor>(clone::in_place(constructor))(
                    count,
                    argv,
                    life.environment,
                )
            };
        }
        CONSTRUCTING_FOR_ALL.store(false, Relaxed);
    }
    // SAFETY: the program's main, or its clone, with the arguments of a C program.
    let status = unsafe {
        let main = std::mem::transmute::<usize, Main>(clone::in_place(life.main as usize));
        main(count, argv, life.environment)
    };
    leave(status, true)
}

/// Ends the process if a thread that a rank started wants the rank to end: the rank's own stack cannot be
/// left from there.
fn refuse_helper(status: i32) {
    if threads::owner().is_some() {
        threads::end_process(&format!(
            "a thread that the rank started called exit({status}): let the thread that runs main call it, or \
             run one rank a process (mpirun -np N PROGRAM -xsim-one-rank)"
        ));
    }
}

/// Ends the running rank; with `handlers`, as `exit` does, else as `_exit` does.
pub fn leave(status: i32, handlers: bool) -> ! {
    refuse_helper(status);
    let rank = now::current().expect("only a running rank leaves");
    if handlers {
        handlers::run(rank, HandlerPhase::ThreadEnd, status);
        handlers::run(rank, HandlerPhase::Exit, status);
        let life = life();
        if life.private_globals {
            destroy(life);
        }
    }
    // After a runtime error, the unit of the statement that failed is still locked; libgfortran closes it at
    // the process's end.
    if status != RUNTIME_ERROR {
        fortran_units::close_all(&fortran_units::end(rank));
    }
    if let Some(hooks) = hooks::get() {
        (hooks.exited)(status);
    }
    running::finish(status)
}

/// Implements `quick_exit`: only the handlers of `at_quick_exit`.
pub fn leave_quickly(status: i32) -> ! {
    refuse_helper(status);
    let rank = now::current().expect("only a running rank leaves");
    handlers::run(rank, HandlerPhase::QuickExit, status);
    leave(status, false)
}

/// Ends the running rank as `exit(status)` would: its handlers, destructors and output, then it
/// is never resumed. The process and the other ranks go on.
pub fn exit_current(status: i32) -> ! {
    leave(status, true)
}

//! What every MPI call passes on its way in and out: failures become error codes through the
//! error handler of the object concerned, panics stop here, values come back.

use crate::args::Handle;
use crate::constants::{MPI_ERR_INTERN, MPI_ERR_UNSUPPORTED_OPERATION, MPI_SUCCESS};
use crate::function::Function;
use mpi::error::{ErrorClass, Failure, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The state of the simulated MPI that a call works on.
pub struct Mpi;

/// The object whose error handler gets a failure of the call (MPI 5.0 section 9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// A communicator.
    Comm(Handle),
    /// A window.
    Win(Handle),
    /// A file.
    File(Handle),
    /// A session.
    Session(Handle),
    /// No object: the initial error handler or `MPI_COMM_SELF`'s.
    None,
    /// The tool interface: the code is returned, no handler is called.
    Tool,
}

/// One call of an MPI function, as its implementation sees it.
pub struct Call<'a> {
    /// The simulated MPI.
    pub mpi: &'a Mpi,
    /// The function, for messages and statistics.
    pub function: Function,
    /// Where a failure goes.
    pub object: Object,
}

impl Call<'_> {
    /// A failure about the `index`th argument: the sentence begins with its name.
    #[cold]
    pub fn wrong(&self, index: usize, class: i32, what: impl std::fmt::Display) -> Box<Failure> {
        Failure::new(ErrorClass(class), format!("argument {}: {what}", self.function.argument(index)))
    }
}

static MPI: Mpi = Mpi;

/// Runs one call that returns an error code.
#[inline(always)]
pub fn call(function: Function, object: Object, body: impl FnOnce(&Call) -> Result) -> i32 {
    let c = Call { mpi: &MPI, function, object };
    // A panic is a defect of ours. It ends at this frame, before the program's frames, whose
    // unwinding is not ours to decide; nothing of the call is used after it.
    match catch_unwind(AssertUnwindSafe(|| body(&c))) {
        Ok(Ok(())) => MPI_SUCCESS,
        Ok(Err(failure)) => failed(&c, &failure),
        Err(panic) => panicked(&c, panic),
    }
}

/// Runs one call that returns a value and cannot fail.
#[inline(always)]
pub fn value<T>(function: Function, body: impl FnOnce(&Call) -> T) -> T {
    let c = Call { mpi: &MPI, function, object: Object::None };
    match catch_unwind(AssertUnwindSafe(|| body(&c))) {
        Ok(value) => value,
        Err(panic) => {
            panicked(&c, panic);
            std::process::abort()
        }
    }
}

/// A function in the table without an implementation.
#[cold]
pub fn not_built(function: Function, object: Object) -> i32 {
    call(function, object, |_| {
        Err(Failure::new(ErrorClass(MPI_ERR_UNSUPPORTED_OPERATION), "it is not built into xsim yet; see docs/limitations.md"))
    })
}

/// A function in the table without an implementation, which has no way to return an error.
#[cold]
pub fn no_value(function: Function) -> ! {
    eprintln!("xsim: {} is not built into xsim yet; see docs/limitations.md", function.name());
    std::process::exit(1)
}

/// Hands a failure to the error handler of the call's object and gives the code to return.
#[cold]
fn failed(c: &Call, failure: &Failure) -> i32 {
    if c.object != Object::Tool {
        eprintln!("xsim: {}: {}", c.function.name(), failure.text);
    }
    failure.class.0
}

#[cold]
fn panicked(c: &Call, panic: Box<dyn std::any::Any + Send>) -> i32 {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    eprintln!("xsim: internal error in {}: {text}; please report it", c.function.name());
    MPI_ERR_INTERN
}

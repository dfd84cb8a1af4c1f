//! One call of an MPI function, as its implementation sees it.

use crate::args::Handle;
use crate::function::Function;
use mpi::Mpi;
use mpi::error::{ErrorClass, Failure};
use std::cell::Cell;

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
    /// A communicator that the call makes: the error handler that it will have.
    Handler(Handle),
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
    /// The object whose error handler gets a failure.
    pub object: Cell<Object>,
}

impl Call<'_> {
    /// Returns a failure about the `index`th argument: the sentence begins with its name.
    #[cold]
    pub fn wrong(&self, index: usize, class: i32, what: impl std::fmt::Display) -> Box<Failure> {
        Failure::new(ErrorClass(class), format!("argument {}: {what}", self.function.argument(index)))
    }
    /// A failure goes to the handler of an object that the table cannot name: one that the call is given by
    /// its address.
    pub fn concerns(&self, object: Object) {
        self.object.set(object);
    }
    /// Returns the calling rank in `MPI_COMM_WORLD`.
    pub fn me(&self) -> u32 {
        self.mpi.world().messages.me()
    }
}

/// One word from the first half of a call to the second, by which both identify what the call waits for.
///
/// The rank is blocked between them, and must be woken by what the first half arranged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait(pub u64);

/// The progress of a call after its quick attempt.
pub enum Quick {
    /// Nothing is done yet.
    Undone,
    /// It is over, and has succeeded.
    Over,
    /// Its first half is over.
    Waits(Wait),
}

/// Returns the name of an error code that the standard has: `MPI_SUCCESS`.
pub fn code_name(code: i32) -> Option<&'static str> {
    mpi::error::PREDEFINED.iter().find(|(known, ..)| known.0 == code).map(|(_, name, _)| *name)
}

//! What happens after a call failed: the error handler of the object concerned (MPI 5.0 section 9.3).

use crate::call::{Call, Object};
use crate::edge::fatal;
use crate::thrown::keep_failing;
use mpi::attribute;
use mpi::comm::Comms;
use mpi::errhandler::Errhandler;
use mpi::error::{ErrorClass, Failure, FailureScope};
use mpi::file_object::FILE_NULL;
use mpi::handle::{COMM_NULL, COMM_SELF, COMM_WORLD, encode};
use std::ffi::c_int;
use std::rc::Rc;

/// A C error handler function: variadic in the standard; the code is its second argument.
type Handler = unsafe extern "C-unwind" fn(*mut usize, *mut c_int, ...);

/// Hands a failure to the error handler of the call's object and gives the code to return.
#[cold]
pub fn raise(c: &Call, failure: &Failure) -> i32 {
    let given = if let Object::Handler(handler) = c.object.get() { given(c, handler.0) } else { None };
    let (kind, handle) = match c.object.get() {
        Object::Handler(_) if given.is_some() => (attribute::ObjectKind::Comm, COMM_NULL),
        // By default files return errors, those of no file among them (MPI 5.0 section 14.7).
        Object::File(file) => {
            (attribute::ObjectKind::File, if is_file(c, file.0) { file.0 } else { FILE_NULL })
        }
        Object::Comm(comm) if c.mpi.world().objects.comms.get(comm.0).is_ok() => {
            (attribute::ObjectKind::Comm, comm.0)
        }
        Object::Win(win) if is_window(c, win.0) => (attribute::ObjectKind::Win, win.0),
        Object::Session(session) if is_session(c, session.0) => (attribute::ObjectKind::Session, session.0),
        Object::None => failure
            .scope
            .and_then(|scope| of_request(c, scope))
            .unwrap_or_else(|| (attribute::ObjectKind::Comm, unattached(c))),
        _ => (attribute::ObjectKind::Comm, unattached(c)),
    };
    let handler = given.unwrap_or_else(|| {
        let world = c.mpi.world();
        world.objects.errhandlers.of((kind, handle as u64, world.messages.me())).clone()
    });
    match &*handler {
        Errhandler::AreFatal | Errhandler::Abort => fatal(c, failure),
        Errhandler::Return => {}
        Errhandler::User { function, convention, .. } => {
            keep_failing(c.mpi, failure.class.0, (), || {
                call_handler(*function, *convention, handle, failure.class.0)
            });
        }
    }
    failure.class.0
}

/// Returns an error handler that a call was given for the communicator that it makes, if it is one for
/// communicators.
fn given(c: &Call, handler: usize) -> Option<Rc<Errhandler>> {
    let mut world = c.mpi.world();
    let place = (attribute::ObjectKind::Comm, COMM_NULL as u64, world.messages.me());
    let handlers = &mut world.objects.errhandlers;
    handlers.set(place, handler).ok()?;
    let handler = handlers.of(place).clone();
    handlers.forget(place);
    Some(handler)
}

/// Returns the object on which the operation of a request works, unless the calling rank has freed it.
fn of_request(c: &Call, scope: FailureScope) -> Option<(attribute::ObjectKind, usize)> {
    let found = {
        let world = c.mpi.world();
        let (comms, me) = (&world.objects.comms, world.messages.me());
        match scope {
            FailureScope::Context(context) => {
                (attribute::ObjectKind::Comm, Comms::handle(comms.index_of_context(context, me)?))
            }
            FailureScope::Comm(index) => (attribute::ObjectKind::Comm, Comms::handle(index)),
            FailureScope::Win(index) => (attribute::ObjectKind::Win, encode(index)),
            FailureScope::File(index) => (attribute::ObjectKind::File, encode(index)),
        }
    };
    let is_held = match found.0 {
        attribute::ObjectKind::Win => is_window(c, found.1),
        attribute::ObjectKind::File => is_file(c, found.1),
        _ => c.mpi.world().objects.comms.get(found.1).is_ok(),
    };
    is_held.then_some(found)
}

// A file that was given back with a failure keeps the handler that has to hear of it.
fn is_file(c: &Call, handle: usize) -> bool {
    let world = c.mpi.world();
    world.objects.files.index(&world.objects.comms, handle).is_ok()
        || world.objects.errhandlers.is_set((attribute::ObjectKind::File, handle as u64, world.messages.me()))
}

fn is_window(c: &Call, handle: usize) -> bool {
    let world = c.mpi.world();
    world.objects.wins.index(&world.objects.comms, handle).is_ok()
}

fn is_session(c: &Call, handle: usize) -> bool {
    let world = c.mpi.world();
    world.objects.sessions.check(world.messages.me(), handle).is_ok()
}

/// Whose handler gets a failure that concerns no object: `MPI_COMM_SELF`'s (MPI 5.0 section 9.3), or,
/// as before MPI 4.0, `MPI_COMM_WORLD`'s where the program has set only that.
fn unattached(c: &Call) -> usize {
    let world = c.mpi.world();
    let set = |comm: usize| {
        world.objects.errhandlers.is_set((attribute::ObjectKind::Comm, comm as u64, world.messages.me()))
    };
    if set(COMM_WORLD) && !set(COMM_SELF) { COMM_WORLD } else { COMM_SELF }
}

/// Calls an error handler of the program with an object and a code.
pub fn call_handler(function: usize, convention: u8, mut handle: usize, mut code: c_int) {
    if convention != 0 {
        let (mut fortran, mut error) = (handle as c_int, code);
        // SAFETY: the program registered this address as a Fortran error handler: (object, code), by
        // reference.
        unsafe {
            std::mem::transmute::<usize, unsafe extern "C-unwind" fn(*mut c_int, *mut c_int)>(function)(
                &raw mut fortran,
                &raw mut error,
            );
        }
        return;
    }
    // SAFETY: the program registered this address as an MPI error handler function.
    unsafe { std::mem::transmute::<usize, Handler>(function)(&raw mut handle, &raw mut code) };
}

/// Returns what a code that a program raises itself says.
pub fn raised(code: i32) -> Failure {
    Failure {
        class: ErrorClass(code),
        text: format!("the program raised error code {code}"),
        entered: false,
        scope: None,
    }
}

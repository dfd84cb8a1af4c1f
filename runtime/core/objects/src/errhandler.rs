//! Error handlers (MPI 5.0 section 9.3): which object calls what when an operation fails.

use crate::abi;
use crate::attribute::{ObjectKind, Place};
use crate::error::{ErrorClass, Failure, Result};
use crate::handles::{Naming, Shared};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// `MPI_ERRHANDLER_NULL`
pub const ERRHANDLER_NULL: usize = abi::MPI_ERRHANDLER_NULL;
/// `MPI_ERRORS_ARE_FATAL`
pub const ERRORS_ARE_FATAL: usize = abi::MPI_ERRORS_ARE_FATAL;
/// `MPI_ERRORS_ABORT`
pub const ERRORS_ABORT: usize = abi::MPI_ERRORS_ABORT;
/// `MPI_ERRORS_RETURN`
pub const ERRORS_RETURN: usize = abi::MPI_ERRORS_RETURN;

/// Action taken when a call fails.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Errhandler {
    /// All ranks stop.
    AreFatal,
    /// The ranks of the communicator stop.
    Abort,
    /// The call returns the code.
    Return,
    /// The program's function runs, then the call returns the code.
    User {
        /// The kind of object it was made for.
        object: ObjectKind,
        /// Address of the function.
        function: usize,
        /// Calling convention of the function; the edge gives it a meaning.
        convention: u8,
    },
}

/// Every error handler of this process, and which object of which rank has which.
pub struct Errhandlers {
    table: Shared<Errhandler>,
    // Only what a program has set: the default is no entry, for a million ranks and any number of
    // communicators.
    set: FxHashMap<Place, (usize, Rc<Errhandler>)>,
    fatal: Rc<Errhandler>,
    return_: Rc<Errhandler>,
}

impl Default for Errhandlers {
    fn default() -> Self {
        Self::new()
    }
}

impl Errhandlers {
    /// Returns the predefined handlers, set on nothing.
    pub fn new() -> Errhandlers {
        let mut table = Shared::new(Naming {
            noun: "error handler",
            class: ErrorClass::ERRHANDLER,
            null: ERRHANDLER_NULL,
        });
        let (fatal, return_) = (Rc::new(Errhandler::AreFatal), Rc::new(Errhandler::Return));
        table.predefine(ERRORS_ARE_FATAL, fatal.clone());
        table.predefine(ERRORS_ABORT, Rc::new(Errhandler::Abort));
        table.predefine(ERRORS_RETURN, return_.clone());
        Errhandlers { table, set: FxHashMap::default(), fatal, return_ }
    }

    /// Implements `MPI_*_create_errhandler`.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` for a null function.
    pub fn create(
        &mut self,
        rank: u32,
        object: ObjectKind,
        function: usize,
        convention: u8,
    ) -> Result<usize> {
        if function == 0 {
            return Err(Failure::new(
                ErrorClass::ARG,
                "the error handler function is a null pointer; pass a function",
            ));
        }
        self.intern(rank, Rc::new(Errhandler::User { object, function, convention }))
    }

    fn intern(&mut self, rank: u32, handler: Rc<Errhandler>) -> Result<usize> {
        let mut hasher = FxHasher::default();
        handler.hash(&mut hasher);
        self.table.intern(rank, hasher.finish(), |have| *have == *handler, || Ok(handler.clone()))
    }

    /// Implements `MPI_Errhandler_free`; objects keep the handler they have. Freeing a predefined one, which
    /// `MPI_*_get_errhandler` returns, does nothing.
    pub fn free(&mut self, rank: u32, handle: usize) -> Result {
        if matches!(handle, ERRORS_ARE_FATAL | ERRORS_ABORT | ERRORS_RETURN) {
            return Ok(());
        }
        self.table.release(rank, handle).map(|_| ())
    }

    /// Implements `MPI_*_set_errhandler`.
    ///
    /// # Errors
    /// `MPI_ERR_ERRHANDLER` for an invalid handle, `MPI_ERR_ARG` for one made for another kind of object.
    pub fn set(&mut self, place: Place, handle: usize) -> Result {
        let handler = self.table.held(place.2, handle)?.clone();
        if let Errhandler::User { object, .. } = *handler
            && object != place.0
        {
            let (have, want) = (object.noun(), place.0.noun());
            return Err(Failure::new(
                ErrorClass::ARG,
                format!("the error handler was made for a {have}; pass one made for a {want}"),
            ));
        }
        // With its handle, which MPI_*_get_errhandler must return while the program has it.
        self.set.insert(place, (handle, handler));
        Ok(())
    }

    /// Returns the handler of an object: as set, else `MPI_ERRORS_ARE_FATAL` (files: `MPI_ERRORS_RETURN`).
    pub fn of(&self, place: Place) -> &Rc<Errhandler> {
        match self.set.get(&place) {
            Some((_, handler)) => handler,
            None if place.0 == ObjectKind::File => &self.return_,
            None => &self.fatal,
        }
    }

    /// Returns `true` if the program has set a handler on the object.
    pub fn is_set(&self, place: Place) -> bool {
        self.set.contains_key(&place)
    }

    /// Implements `MPI_*_get_errhandler`. Returns a handle, which the program frees on its own; the same
    /// value that the program set, while it has it.
    pub fn get(&mut self, place: Place) -> Result<usize> {
        match self.set.get(&place).cloned() {
            None if place.0 == ObjectKind::File => Ok(ERRORS_RETURN),
            None => Ok(ERRORS_ARE_FATAL),
            Some((handle, handler)) => match self.table.held(place.2, handle) {
                // A freed handle's number may be another handler's by now: the object decides.
                Ok(have) if Rc::ptr_eq(have, &handler) => {
                    self.table.share_again(place.2, handle).map(|()| handle)
                }
                _ => self.intern(place.2, handler),
            },
        }
    }

    /// Gives `to` the handler of `from`: a new communicator inherits its parent's.
    pub fn inherit(&mut self, from: Place, to: Place) {
        // A million ranks make communicators, and hardly any program sets a handler.
        if !self.set.is_empty()
            && let Some(handler) = self.set.get(&from).cloned()
        {
            self.set.insert(to, handler);
        }
    }

    /// Forgets a freed object.
    pub fn forget(&mut self, place: Place) {
        if !self.set.is_empty() {
            self.set.remove(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORLD: Place = (ObjectKind::Comm, 0, 3);

    #[test]
    fn the_default_is_fatal_and_files_return() {
        let mut handlers = Errhandlers::new();
        assert_eq!(**handlers.of(WORLD), Errhandler::AreFatal);
        assert_eq!(handlers.get((ObjectKind::File, 0, 3)).unwrap(), ERRORS_RETURN);
        handlers.set(WORLD, ERRORS_RETURN).unwrap();
        assert_eq!(**handlers.of(WORLD), Errhandler::Return);
        assert_eq!(handlers.get(WORLD).unwrap(), ERRORS_RETURN);
        handlers.free(3, ERRORS_RETURN).unwrap();
        assert_eq!(handlers.set(WORLD, ERRHANDLER_NULL).unwrap_err().class, ErrorClass::ERRHANDLER);
    }

    #[test]
    fn a_handler_outlives_its_handle_and_is_inherited() {
        let mut handlers = Errhandlers::new();
        let handle = handlers.create(3, ObjectKind::Comm, 0xf00, 0).unwrap();
        handlers.set(WORLD, handle).unwrap();
        assert_eq!(handlers.get(WORLD).unwrap(), handle);
        handlers.free(3, handle).unwrap();
        handlers.free(3, handle).unwrap();
        assert!(handlers.free(3, handle).is_err());
        let child = (ObjectKind::Comm, 1, 3);
        handlers.inherit(WORLD, child);
        assert_eq!(
            **handlers.of(child),
            Errhandler::User { object: ObjectKind::Comm, function: 0xf00, convention: 0 }
        );
        let again = handlers.get(child).unwrap();
        handlers.free(3, again).unwrap();
        handlers.forget(child);
        assert_eq!(**handlers.of(child), Errhandler::AreFatal);
        assert!(handlers.set((ObjectKind::Win, 0, 3), handle).is_err());
    }
}

//! MPI error classes and the sentence behind each error.

mod classes;
mod registry;

pub use classes::PREDEFINED;
pub use registry::ErrorCodes;

use std::fmt;

/// An MPI error class (MPI 5.0 chapter 9.4), with the standard ABI's value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct ErrorClass(pub i32);

/// Error of a call: the class for the program, a sentence for its author.
///
/// The sentence says what was wrong and what to do; the edge adds the rank and the MPI function.
// The sentence is made where the mistake is seen, which knows the argument; who fails is added at the edge,
// which knows the call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The class (or a code the program itself added) that the call returns.
    pub class: ErrorClass,
    /// Sentence that names the mistake, the argument and the remedy.
    pub text: String,
    /// `true` if the rank had entered the collective that failed; one that fails before was refused.
    // A call that failed before entering must still count for the others (`collective::refused`).
    pub entered: bool,
    /// The object on which the failed operation works, where a request stands for it.
    pub scope: Option<FailureScope>,
}

/// The object on which the operation of a request works. A call that names only requests hands the failure to
/// this object's error handler (MPI 5.0 section 9.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureScope {
    /// The communicator of the rank with this context.
    Context(u32),
    /// The communicator at this index.
    Comm(u32),
    /// The window at this index.
    Win(u32),
    /// The file at this index.
    File(u32),
}

impl Failure {
    /// Returns a boxed failure, ready for `Err`.
    #[cold]
    pub fn new(class: ErrorClass, text: impl Into<String>) -> Box<Failure> {
        Box::new(Failure { class, text: text.into(), entered: false, scope: None })
    }

    /// Sets the object on which the failed operation works. The first one that is set stays.
    pub fn within(mut self: Box<Failure>, scope: impl Into<Option<FailureScope>>) -> Box<Failure> {
        self.scope = self.scope.or(scope.into());
        self
    }

    /// Marks the failure as one of a collective that the rank had entered.
    pub fn after_entry(mut self: Box<Failure>) -> Box<Failure> {
        self.entered = true;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
impl std::error::Error for Failure {}

/// Result of every MPI operation of this crate. The error is boxed so that success takes one word.
pub type Result<T = ()> = std::result::Result<T, Box<Failure>>;

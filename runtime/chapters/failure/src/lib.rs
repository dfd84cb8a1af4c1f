//! Failures of ranks: which rank fails when.
//!
//! The failures that a run is given (`specification.rs`: a list, a file, a law with a seed) become a
//! [`FailurePlan`], the same on every process of a run. So no process has to be notified of a failure that
//! every process can work out. docs/reference/failures.md has the model.

mod agreement;
mod chapter;
mod law;
mod members;
mod plan;
mod remote;
mod round;
mod specification;

pub use agreement::{Agreements, Subject};
pub use plan::{Failure, FailurePlan};
pub use specification::Specification;

/// The name of this chapter.
pub const CHAPTER: p2p::chapter::id::ChapterId = p2p::chapter::id::ChapterId(5);

/// The exit status of a run that a failure has ended.
// EX_TEMPFAIL of sysexits.h: what failed may be tried again, from its last checkpoint for one. No error class
// of MPI that ends a run has this number.
pub const STATUS: i32 = 75;

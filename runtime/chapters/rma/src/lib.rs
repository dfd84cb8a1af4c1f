//! One-sided communication (MPI 5.0 chapter 12): what ranks do to each other's memory, when that happens, and
//! what they wait for.
//!
//! An access is a message of its origin to its target, which is served there without the target's help. What
//! has an order that others can see (locks, what an atomic operation finds) is decided in the order of time;
//! the rest follows from its origin alone. docs/reference/rma.md has the model.

pub(crate) mod access;
pub(crate) mod atomic;
mod broken;
pub(crate) mod came;
pub(crate) mod chapter;
pub(crate) mod check;
pub(crate) mod deferred;
pub(crate) mod ending;
pub(crate) mod exposure;
pub(crate) mod fence;
pub(crate) mod fencing;
pub(crate) mod flying;
pub(crate) mod issue;
mod lengths;
pub(crate) mod lock;
pub(crate) mod locking;
pub(crate) mod members;
pub(crate) mod origin;
pub(crate) mod origins;
pub(crate) mod passive;
pub(crate) mod place;
pub(crate) mod posting;
mod quick;
pub(crate) mod received;
pub(crate) mod remote;
pub(crate) mod serve;
pub(crate) mod short;
pub(crate) mod state;
pub(crate) mod wait;
pub(crate) mod waiting;

pub use issue::{Operation, RmaArguments, Target};
pub use lengths::{AccessKind, AccessLength};
pub use passive::Flush;
pub use state::Rma;

/// The name of this chapter.
pub const CHAPTER: p2p::chapter::id::ChapterId = p2p::chapter::id::ChapterId(1);

//! Files (MPI 5.0 chapter 14): what ranks do to files of the host, in which order, and what they wait for.
//!
//! Data goes to and from the host's file where a rank calls, for MPI lets nobody tell the order of accesses that are not atomic and not synchronized. What has an order that
//! others can see (the shared pointer, atomic accesses, what all members do together) is asked of the file's home, the process of its first member, and decided there in the
//! order of time. docs/files.md has the model.

pub(crate) mod access;
pub(crate) mod asked;
pub(crate) mod chapter;
pub(crate) mod check;
pub(crate) mod complete;
pub(crate) mod home;
pub(crate) mod host;
pub(crate) mod issue;
pub(crate) mod meet;
pub(crate) mod meeting;
pub(crate) mod open;
pub(crate) mod operation;
pub(crate) mod pointer;
pub(crate) mod register;
pub(crate) mod remote;
pub(crate) mod representation;
pub(crate) mod serve;
pub(crate) mod state;
pub(crate) mod storage;
pub(crate) mod transfer;
pub(crate) mod view;

pub use asked::{Asked, Direction, Started, Transfer};
pub use meet::Meet;
pub use open::{create, delete};
pub use state::Files;
pub use view::NewView;

/// The name of this chapter.
pub const CHAPTER: message::chapter::id::ChapterId = message::chapter::id::ChapterId(2);

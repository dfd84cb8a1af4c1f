//! Files (MPI 5.0 chapter 14): what ranks do to files of the host, in which order, and what they wait for.
//!
//! Data goes to and from the host's file where a rank calls, for MPI does not define the order of accesses
//! that are not atomic and not synchronized. An order that others can see (the shared pointer, atomic
//! accesses, operations of all members together) is decided in the order of time. The file's home does that,
//! the process of its first member. docs/reference/files.md has the model.
//!
//! An access becomes a `Transfer` (`asked.rs`, `issue.rs`): memory, and bytes of a view (`view.rs`), which is
//! a datatype that tiles the file, walked as those of memory are. `transfer.rs` moves data between both,
//! where the rank calls or when it completes its request. What the home is asked for (`access.rs`,
//! `serve.rs`) has its turn as accesses to windows have: the first thing that waits is an open decision
//! (`p2p::chapter::arrivals`).
//!
//! A collective operation (`meeting.rs`) waits at home until every member's part is there, and is served with
//! the last. An answer either completes a request or lets the next step of its operation be asked for
//! (`complete.rs`). The last step is the time at the servers of the machine, unless a member has failed
//! (`broken.rs`). It is in `storage.rs`, and in `buffering.rs` for all members of a collective access.
//!
//! Blocking writes of a few bytes at the shared pointer have a straight way (`quick.rs`, `short.rs`). A file
//! is an object of `objects`, made by an agreement to which the first member brings whether the host opened
//! it. Each process opens the host's file when the first of its ranks needs it.

pub(crate) mod access;
pub(crate) mod asked;
pub(crate) mod broken;
pub(crate) mod buffering;
pub(crate) mod chapter;
pub(crate) mod check;
pub(crate) mod complete;
pub(crate) mod conversion;
pub(crate) mod direction;
pub(crate) mod exchange;
pub(crate) mod hints;
pub(crate) mod home;
pub(crate) mod host;
pub(crate) mod issue;
mod lengths;
pub(crate) mod meet;
pub(crate) mod meeting;
pub(crate) mod open;
pub(crate) mod operation;
pub(crate) mod pointer;
pub(crate) mod queue;
pub(crate) mod quick;
pub(crate) mod reading;
pub(crate) mod received;
pub(crate) mod register;
pub(crate) mod remote;
pub(crate) mod representation;
pub(crate) mod serve;
pub(crate) mod short;
pub(crate) mod state;
pub(crate) mod storage;
pub(crate) mod transfer;
pub(crate) mod view;
pub(crate) mod write;

pub use asked::{AccessArguments, AccessStart, Transfer};
pub use conversion::{Conversion, ConversionFunctions, Convert, Extent};
pub use direction::Direction;
pub use hints::{Hints, When};
pub use lengths::FileLength;
pub use meet::Meet;
pub use open::{create, delete, name_of};
pub use state::OpenFiles;
pub use view::NewView;

/// The name of this chapter.
pub const CHAPTER: p2p::chapter::id::ChapterId = p2p::chapter::id::ChapterId(2);

//! Partitioned communication (MPI 5.0 chapter 4): persistent sends whose buffer leaves part by part, and
//! receives of which a part can be seen to have come.
//!
//! Sends and receives are matched where they are initialized, in order: the n-th `MPI_Psend_init` of a rank
//! to another with a tag in a communicator belongs to the n-th `MPI_Precv_init` there. Each side counts its
//! own, so that no message has to tell the other. A partition that is ready is one message on the network,
//! whatever partitions the receiver has; it takes its place in the receiver's buffer when it comes, or waits
//! for the start of its round.
//!
//! As a chapter it is the smallest: persistent requests with a number that it knows them by
//! (`Template::Chapter`), one kind of message, nothing that has to be decided. What has come of an operation
//! is kept by itself (`round.rs`), because it may come before the receive is started. `MPI_Parrived` asks for
//! a request of its own, by the way of `MPI_Test`.

pub(crate) mod broken;
mod channel;
pub(crate) mod chapter;
pub(crate) mod end;
pub(crate) mod init;
pub(crate) mod land;
pub(crate) mod part;
pub(crate) mod ready;
pub(crate) mod round;
pub(crate) mod state;

pub use init::Init;
pub use state::Partitioned;

/// The name of this chapter.
pub const CHAPTER: p2p::chapter::id::ChapterId = p2p::chapter::id::ChapterId(3);

//! Dynamic processes (MPI 5.0 chapter 11): ports and published names, and how groups without a common
//! communicator meet.
//!
//! Two roots that want to meet know a port's name and nothing of each other. So both send a request to the
//! port's home, which is the process of the rank that opened it. Requests there are served in the order of
//! time (`p2p::chapter::arrivals`): the first that accepts meets the first that connects, whichever request
//! came first on the host.
//!
//! Names are published at one process for all, that of rank 0 of the first `MPI_COMM_WORLD`. The two ends of
//! a socket meet there too (`MPI_Comm_join`). A request carries the group and a context of its side, the
//! answer those of the other side. So each side can then make its half of the intercommunicator by an
//! agreement of its own members (`mpi`, `collective`). docs/reference/dynamic.md has the model.
//!
//! An operation (`operation.rs`) is what a rank waits for. Its question (`ask.rs`) goes to its place and
//! waits for its turn (`serve.rs`), at a port (`port.rs`) perhaps for long, unless somebody has failed
//! (`broken.rs`); `remote.rs` has both as bytes.

pub(crate) mod ask;
pub(crate) mod broken;
pub(crate) mod chapter;
pub(crate) mod operation;
pub(crate) mod port;
pub(crate) mod remote;
pub(crate) mod serve;
pub(crate) mod spawn;
pub(crate) mod state;

pub use ask::{Command, IntercommSide, Reply};
pub use broken::Members;
pub use state::Dynamic;

/// The name of this chapter.
pub const CHAPTER: p2p::chapter::id::ChapterId = p2p::chapter::id::ChapterId(4);

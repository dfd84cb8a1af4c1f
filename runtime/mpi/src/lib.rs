//! MPI itself: handles, groups, communicators, datatypes, operations, matching, requests,
//! collectives, topologies, errors. `progress` owns the main loop. Knows nothing of the C ABI.

mod agenda;
pub mod alone;
pub mod buffered;
pub mod charging;
pub mod collective;
pub mod comm;
mod deadlock;
mod flight;
mod held;
pub mod matching;
pub mod messages;
mod node;
mod order;
pub mod p2p;
pub mod packing;
mod payload;
mod plain;
pub mod progress;
mod queue;
mod ready;
mod reference;
pub mod remote;
pub mod request;
mod run;
pub mod sampling;
mod undecided;
pub mod wire;
pub mod world;

pub use objects::{Objects, abi, attribute, datatype, errhandler, error, group, handle, handles, info, op, slab, topology};
pub use undecided::Found;
pub use world::{Mpi, Setup, World};

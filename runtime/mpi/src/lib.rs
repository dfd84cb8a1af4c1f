//! MPI itself: matching, requests, decisions, collectives, on the objects of the crate `objects`. `progress` owns the main loop. Knows nothing of the C ABI.

mod agenda;
pub mod alone;
pub mod buffered;
pub mod charging;
pub mod collective;
pub mod comm;
mod deadlock;
mod flight;
pub mod handle;
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

pub use objects::{Objects, abi, attribute, datatype, errhandler, error, group, handles, info, op, slab, topology};
pub use undecided::Found;
pub use world::{Mpi, Setup, World};

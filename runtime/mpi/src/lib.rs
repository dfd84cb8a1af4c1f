//! MPI itself: handles, groups, communicators, datatypes, operations, matching, requests,
//! collectives, topologies, errors. `progress` owns the main loop. Knows nothing of the C ABI.

mod agenda;
pub mod alone;
pub mod attribute;
pub mod buffered;
pub mod charging;
pub mod collective;
pub mod comm;
pub mod datatype;
mod deadlock;
pub mod errhandler;
pub mod error;
mod flight;
pub mod group;
pub mod handle;
pub mod handles;
mod held;
pub mod info;
pub mod matching;
pub mod messages;
mod node;
pub mod objects;
pub mod op;
mod order;
pub mod p2p;
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
mod slab;
pub mod topology;
mod undecided;
pub mod wire;
pub mod world;

pub use undecided::Found;
pub use world::{Mpi, Setup, World};

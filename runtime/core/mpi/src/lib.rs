//! The door to MPI: calls, collectives under way, decisions and their order, on the crates `message` and
//! `objects`. `progress` owns the main loop. Knows nothing of the C ABI.

mod alarms;
pub mod alone;
mod between;
pub mod call;
pub mod chapters;
pub mod comm;
mod deadlock;
mod decisions;
mod order;
mod profiled;
pub mod progress;
pub mod remote;
pub mod run;
pub mod runner;
mod safety;
pub mod sampling;
mod sharing;
mod threads;
mod undecided;
pub mod world;

pub use ::collective;
pub use ::dynamic;
pub use ::failure;
pub use ::file;
pub use ::partitioned;
pub use ::rma;
pub use ::schedule;
pub use call::file as files;
pub use objects::file as file_object;
pub use objects::{
    Objects, abi, attribute, datatype, errhandler, error, group, handles, info, op, session, slab, topology,
    win,
};
pub use p2p::{
    batch, buffered, departures, envelope, flight, handle, meeting, messages, node, packing, point_to_point,
    queue, ranks, ready, reference, regions, request, transit, types, view, volley, waits, wire,
};
pub use undecided::Found;
pub use world::{Mpi, Setup, World};

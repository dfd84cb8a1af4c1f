//! Collective calls under way, in one process and in many: from a call's arguments to a member's entry, through an algorithm's schedule, to its result.
//!
//! An algorithm is written once as a [`schedule`]; its steps are taken event by event, or by the planes of that crate. Knows messages and MPI's objects, and
//! nothing of decisions, their order or the main loop.

pub(crate) mod agent;
pub(crate) mod agreed;
pub mod agreement;
pub(crate) mod allgatherv;
pub(crate) mod alltoallv;
pub mod area;
pub(crate) mod blocks;
pub mod bridges;
pub(crate) mod brief;
pub(crate) mod call;
pub(crate) mod call_id;
pub(crate) mod calls;
pub(crate) mod chapter;
pub(crate) mod contributions;
pub(crate) mod delivery;
pub mod entrance;
pub(crate) mod entry;
pub(crate) mod executor;
pub(crate) mod functions;
pub(crate) mod gathering;
pub(crate) mod gatherv;
pub mod instance;
pub(crate) mod leave;
pub mod mode;
pub(crate) mod neighbor;
pub(crate) mod pending;
pub mod planes;
pub(crate) mod records;
pub(crate) mod reduce_scatter;
pub(crate) mod reduction;
pub(crate) mod refused;
pub(crate) mod remote;
pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod signature;
pub mod ticket;
pub(crate) mod varied;

pub use call::lengths::{Lengths, Reducing};
pub use instance::Collectives;

/// The name of this chapter.
pub const CHAPTER: message::chapter::id::ChapterId = message::chapter::id::ChapterId(0);

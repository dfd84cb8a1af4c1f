//! Collective calls under way, in one process and in many: from a call's arguments to a member's entry,
//! through an algorithm's schedule, to its result.
//!
//! An algorithm is written once as a [`schedule`]; its steps are taken event by event, or by the planes of
//! that crate. Knows messages and MPI's objects, and nothing of decisions, their order or the main loop.
//!
//! A call's arguments are analysed once (`call.rs`, `arguments.rs`). By them a member enters an instance
//! (`gathering/entering.rs`, else `entry.rs`; `instance.rs`), which starts (`start.rs`) and ends with the
//! departure of its last member (`departure.rs`). Its algorithm's steps are taken in one of three ways, to
//! the same picosecond and the same bits (tests compare them):
//!
//! - Event by event (`executor.rs`): an agent for each member (`agent.rs`), moved on by arrivals. Any
//!   network, members that start before all are in.
//! - The time plane ([`schedule::time`]): when each member is through, given the clocks at which all enter.
//! - The data plane ([`schedule::data`]): what each member gets, given what all bring.
//!
//! The planes take the members of one process or of many, with or without overheads; `planes.rs` hands them
//! over. Until all members are in, a gathering (`gathering.rs`) keeps a few words of each. The blocks of the
//! v, w and neighbourhood forms have a file for each form (`gathering/varied/`). The main loop calls
//! functions of the program (`functions.rs`), each with its own rank mounted.
//!
//! If nothing else can run before all are in, they start event by event, so that a rank that may leave early
//! (the root of a broadcast) can. The same holds when a member tests for completion: the others may not delay
//! the result of its test.
//!
//! Members elsewhere: `remote/beginning.rs` decides, `remote/distributed.rs` for those that gather,
//! `remote/events.rs` for the others, `remote/meeting.rs` for new communicators.

pub(crate) mod agent;
pub mod agreement;
pub mod area;
pub(crate) mod arguments;
pub(crate) mod blocked;
pub(crate) mod blocks;
pub mod bridges;
pub(crate) mod broken;
pub(crate) mod call;
pub(crate) mod call_id;
pub(crate) mod calls;
pub(crate) mod chapter;
pub(crate) mod comparison;
pub(crate) mod delivery;
pub(crate) mod departure;
pub mod entrance;
pub(crate) mod entry;
pub(crate) mod executor;
pub(crate) mod expansion;
pub(crate) mod functions;
pub(crate) mod gathering;
pub mod instance;
pub mod membership;
pub mod mode;
pub mod planes;
pub(crate) mod records;
pub(crate) mod reduction;
pub(crate) mod refused;
pub(crate) mod remote;
pub(crate) mod report;
pub(crate) mod second_half;
pub(crate) mod settlement;
pub(crate) mod signature;
pub(crate) mod start;
pub(crate) mod taken;
pub mod ticket;

pub use call::lengths::{Lengths, Reducing};
pub use instance::Collectives;

/// The name of this chapter.
pub const CHAPTER: p2p::chapter::id::ChapterId = p2p::chapter::id::ChapterId(0);

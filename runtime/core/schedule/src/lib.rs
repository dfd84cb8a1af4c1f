//! Collective algorithms as pure schedules.
//!
//! A [`Schedule`] says which messages members exchange in which rounds, and [`choose`](choose::choose) which
//! one a collective uses. Given the clocks at which members enter and what they contribute, two planes say
//! what comes of it: the [time plane](time) when each member is through, the [data plane](data) what it gets.
//!
//! Neither needs the other, and both take one process as the segment that is everything, so that one process
//! and many give the same picosecond and the same bits. Knows nothing of messages under way, ranks or MPI's
//! objects: operations on bytes are functions that a caller hands over.

pub mod algorithm;
pub mod choose;
pub mod data;
mod mailbox;
mod members;
#[cfg(test)]
mod model;
#[cfg(test)]
mod random;
mod schedule;
pub mod segments;
pub mod time;
mod tuned;

pub use members::{Members, member_of};
pub use schedule::{
    Active, Association, Blocks, Buffer, Direct, Kind, Member, NOBODY, RoundPattern, Schedule, Shape, Slice,
    Step, StepMessage, begins,
};

/// `right = left op right` on packed elements of the operation's datatype; both have the same length.
pub type Kernel = fn(left: &[u8], right: &mut [u8]);

//! Collective algorithms as pure schedules: which messages, in which rounds ([`Schedule`]); which algorithm is chosen
//! ([`choose`](choose::choose)); and, of members on several processes, when the rounds happen ([`rounds`]) and what a reduction
//! yields ([`partial`]). Knows nothing of messages under way, ranks or MPI's objects.

pub mod algorithm;
pub mod choose;
mod links;
#[cfg(test)]
mod model;
pub mod partial;
pub mod rounds;
mod schedule;
pub mod segments;

pub use schedule::{Active, Blocks, Buffer, Digest, Kind, Member, NOBODY, Pattern, Schedule, Shape, Slice, Step, Straight, begins};

/// `right = left op right` on packed elements of the operation's datatype; both have the same length.
pub type Kernel = fn(left: &[u8], right: &mut [u8]);

//! Decides which message meets which receive (MPI 5.0 sections 3.5 and 3.8).
//!
//! [`Matcher`] has the queues of all ranks of a process. It knows no network, no clocks but the times that
//! nodes carry, and no memory but the addresses that they carry. Whoever calls it moves payloads and wakes
//! ranks.

pub mod envelope;
pub mod node;
pub mod queue;

mod choice;
mod matching;
mod pending;
mod precedence;
mod wildcards;

pub use choice::Choice;
pub use matching::Matcher;
pub use pending::Pending;

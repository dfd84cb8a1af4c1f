//! Which message meets which receive, when, and how its bytes get there; requests; who can run; a rank's clock.
//!
//! Knows MPI's objects and the simulated network, and nothing of collectives, decisions or the order in which those are made.

pub mod batch;
pub mod buffered;
pub mod chapter;
pub mod charging;
pub mod envelope;
pub mod faults;
pub mod flight;
pub mod handle;
pub mod held;
pub mod holding;
pub mod matching;
pub mod messages;
pub mod moving;
pub mod node;
pub mod p2p;
pub mod packing;
pub mod payload;
pub mod plain;
pub mod queue;
pub mod ready;
pub mod reference;
pub mod regions;
pub mod remote;
pub mod request;
pub mod types;
pub mod view;
pub mod volley;
pub mod waits;
pub mod wild;
pub mod wire;

pub use messages::Messages;
pub use objects::{datatype, error, group, handles, slab};

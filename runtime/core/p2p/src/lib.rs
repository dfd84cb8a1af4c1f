//! Sends, receives and waits: when messages arrive, how their bytes get there, who can run, each rank's
//! clock.
//!
//! Knows MPI's objects and the simulated network, and nothing of collectives, decisions or the order in which
//! those are made.

pub mod batch;
pub mod buffered;
pub mod chapter;
mod checked_sends;
pub mod completing;
pub mod deferred;
pub mod departures;
pub mod fabric;
pub mod faults;
pub mod flight;
pub mod handle;
pub mod handshake;
pub mod meeting;
pub mod messages;
pub mod moving;
pub mod packing;
pub mod payload;
pub mod peers;
pub mod plain;
pub mod point_to_point;
pub mod ranks;
pub mod ready;
pub mod reference;
pub mod regions;
pub mod remote;
pub mod request;
pub mod subscriptions;
pub mod transit;
pub mod types;
pub mod view;
pub mod volley;
pub mod waits;
pub mod watch;
pub mod wire;

pub use matcher::{envelope, node, queue};
pub use messages::Messages;
pub use objects::{datatype, error, group, handles, slab};

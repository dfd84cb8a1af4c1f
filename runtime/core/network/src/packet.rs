//! The packet level: messages cut into packets that move through routers with buffers, credits and virtual
//! channels.
//!
//! `parse` reads a specification, `Machine::build` makes a network for ranks; the module `traffic` drives
//! one by synthetic patterns, on several threads. The model is described in `docs/reference/packets.md`.
//!
//! One event is enough for each router that a packet passes without waiting. When its head can be routed, the
//! output's link and credit are taken if they are free, and the event at the next router follows. Only an
//! output with waiting packets is woken, when its link or a credit becomes free. Credits on their way back
//! are notes with a time and not events.

mod arriving;
mod event;
mod fabric;
mod failures;
mod flow;
mod histogram;
mod load;
mod network;
mod over_time;
mod pages;
pub(crate) mod plot;
mod port;
mod port_table;
pub(crate) mod report;
pub(crate) mod routing;
pub(crate) mod run;
mod runs;
pub(crate) mod shard;
mod slab;
pub(crate) mod spec;
mod statistics;
#[cfg(test)]
mod tests;
mod usage;

pub use crate::spec::parse_packet as parse;
pub(crate) use fabric::PacketFabric;
pub(crate) use flow::{FlowNetwork, Paths, Route};
pub use histogram::OctaveHistogram;
pub(crate) use network::packet_network;
pub use over_time::LinkSeries;
pub use report::{
    BusyLink, JobReport, KindReport, LatencyReport, LinkEnd, LinkReport, MessageReport, NetworkReport,
    RouterCell, RouterMap,
};
pub(crate) use spec::FLOW_MIN;
pub use spec::{COMMON_KEYS, PacketSpec, parse_bytes};
pub use statistics::{JobStatistics, Statistics};

pub use usage::LinkUse;

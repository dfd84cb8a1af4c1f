//! The simulated machine: topologies, links, hierarchy, placement, processors; how long a
//! message takes (analytic), or its packets' way through routers (packet level).

mod analytic;
mod bandwidth;
mod divisor;
mod machine;
mod model;
mod nodes;
pub mod packet;
mod report;
mod spec;
mod topology;
pub mod traffic;

pub use analytic::{Analytic, Uniform};
pub use bandwidth::{Bandwidth, ParseBandwidthError, Serialization};
pub use machine::{
    Built, DEFAULT_MACHINE, Dealt, Fidelity, Machine, MachineError, Overheads, PRESETS, Placement, PlacementRule, Preset, preset,
};
pub use model::{Delivered, Endpoint, Message, Network, Order};
pub use packet::NetworkReport;
pub use report::{LatencyReport, LevelReport, MachineReport, PacketLinkReport, PacketReport, TopologyReport, machine_report};
pub use spec::{LevelSpec, NetworkSpec, flop_rate};

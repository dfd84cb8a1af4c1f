//! The simulated machine: topologies, links, hierarchy, placement, processors; how long a
//! message takes (analytic), or its packets' way through routers (packet level).

mod analytic;
mod bandwidth;
mod by_size;
mod divisor;
mod engines;
mod level_paths;
mod machine;
mod message;
mod model;
mod nodes;
pub mod packet;
mod rails;
mod report;
mod spec;
mod topology;
pub mod traffic;

pub use bandwidth::{Bandwidth, ParseBandwidthError, Serialization};
pub use machine::{
    Built, CopyCost, DEFAULT_MACHINE, Dealt, Machine, MachineError, Overheads, Placement, PlacementRule,
    Preset, PresetPingPong, Servers, Share, Storage, preset, preset_names, presets,
};
pub use message::{Delivered, Endpoint, Message};
pub use model::{Formula, Network, Shared, Uniform};
pub use packet::{LinkSeries, NetworkReport};
pub use report::{
    DistanceReport, LevelReport, MachineReport, PacketLinkReport, PacketReport, TopologyReport,
    describe_preset, machine_report,
};
pub use spec::{LevelSpec, NetworkSpec, flop_rate, nearest};

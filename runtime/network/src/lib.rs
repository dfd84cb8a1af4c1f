//! The simulated machine: topologies, links, hierarchy, placement, processors; how long a
//! message takes (analytic), or its packets' way through routers (packet level).

mod model;

pub use model::{Delivered, Endpoint, Message, Network, Order};

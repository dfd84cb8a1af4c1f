//! Tests of the packet level as a whole.

mod classes;
mod contention;
mod end_of_time;
mod failures;
mod flows;
mod interfaces;
mod messages;
mod parsing;
mod pressure;
mod topologies;
mod whole_messages;
mod wormhole;
mod zero_load;

use super::{packet_network, parse};
use crate::model::Interfaces;
use crate::topology::{Cabling, Neighbor};

/// A small network of every kind, without routing.
pub(super) const SMALL: [&str; 14] = [
    "fattree:m=4,n=3",
    "fattree:m=6,n=2",
    "taperedtree:down=4x3,up=2",
    "taperedtree:down=3x2x4,up=2x2",
    "torus:4x3x5",
    "torus:5x4,p=2",
    "mesh:4x3",
    "twistedtorus:4x6,twist=2",
    "dragonfly:p=2,a=4,h=2",
    "dragonflyplus:p=2,a=3,h=2",
    "slimfly:q=5,p=1",
    "slimfly:q=4,p=1",
    "hyperx:4x3,p=2",
    "star:n=7",
];

/// Returns the routings of a network.
pub(super) fn routings(network: &str) -> &'static [&'static str] {
    match network.split(':').next() {
        Some("fattree" | "taperedtree") => &["ecmp", "dmodk", "adaptive"],
        Some("torus" | "mesh") => &["dor", "adaptive"],
        Some("twistedtorus") => &["dor"],
        Some("hyperx") => &["minimal", "dor", "valiant", "dor-valiant", "ugal-l", "ugal-g"],
        Some("dragonfly") => &["minimal", "minimal-2vc", "valiant", "ugal-l", "ugal-g", "par"],
        Some("star") => &["minimal"],
        _ => &["minimal", "valiant", "ugal-l", "ugal-g"],
    }
}

pub(super) fn network(spec: &str) -> Box<dyn Interfaces + Send> {
    packet_network(parse(spec).unwrap().fabric(Some(1)).unwrap().into())
}

/// Links between routers on a shortest path, by breadth-first search over `neighbor`.
pub(super) fn distances(topology: &dyn Cabling, from: u32) -> Vec<u32> {
    let mut distances = vec![u32::MAX; topology.routers() as usize];
    distances[from as usize] = 0;
    let mut queue = std::collections::VecDeque::from([from]);
    while let Some(router) = queue.pop_front() {
        for port in 0..topology.radix() {
            if let Neighbor::Router { router: other, .. } = topology.neighbor(router, port)
                && distances[other as usize] == u32::MAX
            {
                distances[other as usize] = distances[router as usize] + 1;
                queue.push_back(other);
            }
        }
    }
    distances
}

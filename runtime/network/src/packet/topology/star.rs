//! One router, every endpoint at one of its ports.

use super::{Neighbor, Paths, Topology};

/// A star of this many endpoints.
pub(crate) struct Star(pub(crate) u32);

impl Topology for Star {
    fn describe(&self) -> String {
        format!("star of {} endpoints", self.0)
    }
    fn routers(&self) -> u32 {
        1
    }
    fn endpoints(&self) -> u32 {
        self.0
    }
    fn radix(&self) -> u32 {
        self.0
    }
    fn neighbor(&self, _router: u32, port: u32) -> Neighbor {
        Neighbor::Endpoint(port)
    }
    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        (0, endpoint)
    }
}

impl Paths for Star {
    fn distance(&self, _from: u32, _to: u32) -> u32 {
        0
    }
    fn diameter(&self) -> u32 {
        0
    }
}

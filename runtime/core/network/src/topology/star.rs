//! Every endpoint has a link to one hub (section IV.A.1 of the network model paper, figure 1).

use super::{
    Cabled, Cabling, HopStatistics, Hops, KeyKind, Method, Neighbor, OptionKey, Paths, Range, Sizing,
    Topology, TopologyInput, Wrong,
};

/// Two hops between any two endpoints; the gateway is the hub, one hop away. The hub is a router, and
/// endpoint e is at its port e.
#[derive(Clone, Debug)]
pub(crate) struct Star {
    endpoints: u32,
}

impl Topology for Star {
    const NAME: &'static str = "star";
    const SUMMARY: &'static str = "all endpoints on one hub, two hops apart";
    const SIZING: Sizing = Sizing::Count;
    const KEYS: &'static [OptionKey] =
        &[OptionKey::new("n", KeyKind::Size, "endpoints of the star").of_routers()];
    type Shape = Star;

    fn build(given: &TopologyInput<'_>) -> Result<Star, Wrong> {
        Ok(Star { endpoints: given.sides[0] })
    }
    fn cable(given: &TopologyInput<'_>) -> Result<Cabled<Star>, Wrong> {
        let star = Star::build(given)?;
        if star.endpoints > 1 << 28 {
            let n = star.endpoints;
            return Err(format!("{n} endpoints are too many; a star of routers has at most 2^28").into());
        }
        Ok(Cabled::new(star, given).with_paths())
    }
}

impl Hops for Star {
    fn endpoints(&self) -> u64 {
        u64::from(self.endpoints)
    }
    #[inline]
    fn hops(&self, source: u32, destination: u32) -> u32 {
        if source == destination { 0 } else { 2 }
    }
    #[inline]
    fn hops_out(&self, _: u32) -> u32 {
        1
    }
    #[inline]
    fn hops_in(&self, _: u32) -> u32 {
        1
    }
    fn least_hops_out(&self) -> u32 {
        1
    }
    fn nearest(&self, _: u32) -> u32 {
        2
    }
    fn hop_bound(&self) -> u64 {
        2
    }
    fn links(&self) -> u64 {
        u64::from(self.endpoints)
    }
    fn statistics(&self) -> HopStatistics {
        let hops = if self.endpoints > 1 { 2 } else { 0 };
        let hub = Range::constant(1);
        HopStatistics {
            diameter: hops,
            average_hops: f64::from(hops),
            to_gateway: hub,
            from_gateway: hub,
            method: Method::Exact,
            remark: None,
        }
    }
}

impl Cabling for Star {
    fn describe(&self) -> String {
        format!("star of {} endpoints", self.endpoints)
    }
    fn routers(&self) -> u32 {
        1
    }
    fn endpoints(&self) -> u32 {
        self.endpoints
    }
    fn radix(&self) -> u32 {
        self.endpoints
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

#[cfg(test)]
mod tests {
    use super::super::brute::{HopGraph, check};
    use super::*;

    #[test]
    fn hops_are_shortest_paths() {
        for n in 1..=9 {
            let hub = n as usize;
            let graph = HopGraph::undirected(hub + 1, hub, (0..hub).map(|leaf| (leaf, hub)));
            check(&TopologyInput::with(&[n], &[], Star::build), &graph, &format!("star:{n}"));
        }
    }
}

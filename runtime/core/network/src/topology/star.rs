//! Every endpoint has a link to one hub (section IV.A.1 of the network model paper, figure 1).

use super::{HopStatistics, Method, OptionKey, Options, Range, Sizing, Topology};

/// Two hops between any two endpoints; the gateway is the hub, one hop away.
#[derive(Clone, Debug)]
pub(crate) struct Star {
    endpoints: u32,
}

impl Topology for Star {
    const NAME: &'static str = "star";
    const SUMMARY: &'static str = "all endpoints on one hub, two hops apart";
    const SIZING: Sizing = Sizing::Count;
    const KEYS: &'static [OptionKey] = &[];

    fn build(sides: &[u32], _: &Options) -> Result<Self, String> {
        Ok(Star { endpoints: sides[0] })
    }
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
        self.endpoints()
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

#[cfg(test)]
mod tests {
    use super::super::brute::{HopGraph, check};
    use super::*;

    #[test]
    fn hops_are_shortest_paths() {
        for n in 1..=9 {
            let hub = n as usize;
            let graph = HopGraph::undirected(hub + 1, hub, (0..hub).map(|leaf| (leaf, hub)));
            check(&Star::build(&[n], &Options::default()).unwrap(), &graph, &format!("star:{n}"));
        }
    }
}

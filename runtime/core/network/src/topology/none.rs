//! No network: every endpoint reaches every other over no link at all.

use super::{HopStatistics, Hops, Method, OptionKey, Range, Sizing, Topology, TopologyInput, Wrong};

/// The paper's "None" (Table I: "no network model"): zero hops between all.
#[derive(Clone, Debug)]
pub(crate) struct NoNetwork {
    endpoints: u32,
}

impl Topology for NoNetwork {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "no network: no latency, infinite bandwidth";
    const SIZING: Sizing = Sizing::Count;
    const KEYS: &'static [OptionKey] = &[];
    const HAS_LINKS: bool = false;
    type Shape = NoNetwork;

    fn build(given: &TopologyInput<'_>) -> Result<NoNetwork, Wrong> {
        Ok(NoNetwork { endpoints: given.sides[0] })
    }
}

impl Hops for NoNetwork {
    fn endpoints(&self) -> u64 {
        u64::from(self.endpoints)
    }
    #[inline]
    fn hops(&self, _: u32, _: u32) -> u32 {
        0
    }
    fn nearest(&self, _: u32) -> u32 {
        0
    }
    fn hop_bound(&self) -> u64 {
        0
    }
    fn links(&self) -> u64 {
        0
    }
    fn statistics(&self) -> HopStatistics {
        let none = Range::constant(0);
        HopStatistics {
            diameter: 0,
            average_hops: 0.0,
            to_gateway: none,
            from_gateway: none,
            method: Method::Exact,
            remark: None,
        }
    }
}

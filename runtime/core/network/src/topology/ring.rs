//! A cycle of endpoints, with links one way or both ways (section IV.A.2, figure 2).

use super::{HopStatistics, Hops, KeyKind, Method, OptionKey, Range, Sizing, Topology, TopologyInput, Wrong};

/// Endpoint `i` has a link to `i + 1`, the last to 0; with `dir=2` the links carry both ways.
#[derive(Clone, Debug)]
pub(crate) struct RingTopology {
    endpoints: u32,
    both_ways: bool,
}

impl Topology for RingTopology {
    const NAME: &'static str = "ring";
    const SUMMARY: &'static str = "a cycle, links one way (dir=1) or both ways (dir=2)";
    const SIZING: Sizing = Sizing::Count;
    const KEYS: &'static [OptionKey] = &[OptionKey::new(
        "dir",
        KeyKind::Number(1, 2),
        "directions of a link: 1 (upwards only) or 2, the default",
    )];
    type Shape = RingTopology;

    fn build(given: &TopologyInput<'_>) -> Result<RingTopology, Wrong> {
        Ok(RingTopology { endpoints: given.sides[0], both_ways: given.options.number("dir", 2) == 2 })
    }
}

impl Hops for RingTopology {
    fn endpoints(&self) -> u64 {
        u64::from(self.endpoints)
    }
    #[inline]
    fn hops(&self, source: u32, destination: u32) -> u32 {
        let up = destination.wrapping_sub(source);
        let up = if destination < source { up.wrapping_add(self.endpoints) } else { up };
        if self.both_ways { up.min(self.endpoints - up) } else { up }
    }
    fn hop_bound(&self) -> u64 {
        self.endpoints()
    }
    fn links(&self) -> u64 {
        match self.endpoints {
            0 | 1 => 0,
            2 => 1,
            n => u64::from(n),
        }
    }
    fn statistics(&self) -> HopStatistics {
        let n = self.endpoints;
        let diameter = if self.both_ways { n / 2 } else { n - 1 };
        // Every endpoint sees the same hop counts: 0 to n-1, or their shorter ways round.
        let sum = if self.both_ways {
            u64::from(n) * u64::from(n) / 4
        } else {
            u64::from(n) * u64::from(n - 1) / 2
        };
        let average_hops = if n > 1 { sum as f64 / f64::from(n - 1) } else { 0.0 };
        let gateway = Range { least: 0, greatest: diameter, average: sum as f64 / f64::from(n) };
        HopStatistics {
            diameter,
            average_hops,
            to_gateway: gateway,
            from_gateway: gateway,
            method: Method::Exact,
            remark: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::OptionValue;
    use super::super::brute::{HopGraph, check};
    use super::*;

    #[test]
    fn hops_are_shortest_paths() {
        for n in 1..=9u32 {
            let size = n as usize;
            let links: Vec<_> = (0..size).map(|i| (i, (i + 1) % size)).collect();
            let both = HopGraph::undirected(size, 0, links.iter().copied());
            check(&TopologyInput::with(&[n], &[], RingTopology::build), &both, &format!("ring:{n}"));
            let one = HopGraph { nodes: size, edges: links, gateway: 0 };
            let ring = TopologyInput::with(&[n], &[("dir", OptionValue::Number(1))], RingTopology::build);
            check(&ring, &one, &format!("ring:{n},dir=1"));
        }
    }
}

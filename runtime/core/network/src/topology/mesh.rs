//! A box of endpoints with links between neighbours (section IV.A.3, figure 3).

use super::grid::EndpointBox;
use super::{HopStatistics, OptionKey, Options, Sizing, Topology};

/// The hop count is the sum of the coordinates' differences; the gateway is the corner at the origin.
#[derive(Clone, Debug)]
pub(crate) struct Mesh(EndpointBox);

impl Topology for Mesh {
    const NAME: &'static str = "mesh";
    const SUMMARY: &'static str = "a box of any number of dimensions";
    const SIZING: Sizing = Sizing::Sides { default_dimensions: 2 };
    const KEYS: &'static [OptionKey] = &[];

    fn build(sides: &[u32], _: &Options) -> Result<Self, String> {
        Ok(Mesh(EndpointBox::new(sides, &vec![false; sides.len()])?))
    }
    fn endpoints(&self) -> u64 {
        self.0.endpoints()
    }
    #[inline]
    fn hops(&self, source: u32, destination: u32) -> u32 {
        self.0.hops(source, destination)
    }
    fn hop_bound(&self) -> u64 {
        self.0.hop_bound()
    }
    fn links(&self) -> u64 {
        self.0.links()
    }
    fn statistics(&self) -> HopStatistics {
        self.0.statistics()
    }
}

#[cfg(test)]
mod tests {
    use super::super::brute::{HopGraph, box_links, check};
    use super::*;

    #[test]
    fn hops_are_shortest_paths() {
        for sides in [
            &[1][..],
            &[2],
            &[7],
            &[1, 1],
            &[2, 1],
            &[1, 5],
            &[4, 3],
            &[2, 2, 2],
            &[3, 1, 4],
            &[2, 3, 4],
            &[2, 1, 3, 2],
        ] {
            let n = sides.iter().product::<u32>() as usize;
            let graph = HopGraph::undirected(n, 0, box_links(sides));
            check(&Mesh::build(sides, &Options::default()).unwrap(), &graph, &format!("mesh:{sides:?}"));
        }
    }
}

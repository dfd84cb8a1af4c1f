//! A mesh with the ends of chosen dimensions joined (section IV.A.4, figures 4 and 5).

use super::grid::EndpointBox;
use super::{HopStatistics, KeyKind, OptionKey, Options, Sizing, Topology};

/// A wrapped dimension counts as a two-way ring, another as a chain; the gateway is the origin.
#[derive(Clone, Debug)]
pub(crate) struct Torus(EndpointBox);

impl Topology for Torus {
    const NAME: &'static str = "torus";
    const SUMMARY: &'static str = "a box with the ends of chosen dimensions joined";
    const SIZING: Sizing = Sizing::Sides { default_dimensions: 3 };
    const KEYS: &'static [OptionKey] = &[OptionKey {
        name: "wrap",
        kind: KeyKind::Bits,
        meaning: "for each dimension 1 if its ends are joined and 0 if not, as in wrap=101; all 1 by default",
    }];

    fn build(sides: &[u32], options: &Options) -> Result<Self, String> {
        Ok(Torus(EndpointBox::new(sides, &options.bits("wrap", sides.len(), true))?))
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
    use super::super::OptionValue;
    use super::super::brute::{HopGraph, box_links, check, coordinates, node};
    use super::*;

    fn graph(sides: &[u32], wrap: &[bool]) -> HopGraph {
        let n = sides.iter().product::<u32>() as usize;
        let mut links = box_links(sides);
        for k in (0..sides.len()).filter(|&k| wrap[k]) {
            for a in 0..n {
                let mut x = coordinates(a, sides);
                if x[k] == sides[k] - 1 {
                    x[k] = 0;
                    links.push((a, node(&x, sides)));
                }
            }
        }
        HopGraph::undirected(n, 0, links)
    }

    #[test]
    fn hops_are_shortest_paths_for_every_connectedness() {
        for sides in [
            &[1][..],
            &[2],
            &[7],
            &[1, 2],
            &[3, 3],
            &[5, 4],
            &[2, 2, 2],
            &[3, 1, 4],
            &[4, 3, 5],
            &[2, 1, 3, 2],
        ] {
            for bits in 0..1u32 << sides.len() {
                let wrap: Vec<bool> = (0..sides.len()).map(|k| bits >> k & 1 == 1).collect();
                let options = Options(vec![("wrap", OptionValue::Bits(wrap.clone()))]);
                check(
                    &Torus::build(sides, &options).unwrap(),
                    &graph(sides, &wrap),
                    &format!("torus:{sides:?},{wrap:?}"),
                );
            }
        }
    }

    #[test]
    fn all_dimensions_are_joined_by_default() {
        let torus = Torus::build(&[8, 8, 8], &Options::default()).unwrap();
        assert_eq!((torus.hops(0, 511), torus.hops(0, 4), torus.statistics().diameter), (3, 4, 12));
    }
}

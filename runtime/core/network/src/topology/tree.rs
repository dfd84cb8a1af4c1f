//! A tree of routers with the endpoints at its leaves (section IV.A.6, figure 9).

use super::{HopStatistics, Hops, KeyKind, Method, OptionKey, Range, Sizing, Topology, TopologyInput, Wrong};
use crate::divisor::Divisor;

/// All leaves are at one depth, filled from the left; the gateway is the root.
#[derive(Clone, Debug)]
pub(crate) struct TreeTopology {
    leaves: u32,
    degree: u32,
    /// Levels of links between the leaves and the root: the least depth with room for all leaves.
    depth: u32,
    climb: Climb,
}

/// Method of finding the height of the router above two leaves.
#[derive(Clone, Debug)]
enum Climb {
    /// The degree is two to so many bits: by the highest bit in which the leaves differ.
    Digits(Divisor),
    /// By bisection over the sizes of the subtrees at each height below the root's.
    Sizes(Box<[Divisor]>),
}

impl TreeTopology {
    /// Levels of links from a leaf up to the router that both leaves are below.
    #[inline]
    fn climb(&self, a: u32, b: u32) -> u32 {
        match &self.climb {
            Climb::Digits(bits) => bits.split(u32::BITS - (a ^ b).leading_zeros() + bits.divisor() - 1).0,
            // Leaves below one router at a height are below one at every greater height.
            Climb::Sizes(sizes) => sizes.partition_point(|size| size.split(a).0 != size.split(b).0) as u32,
        }
    }

    /// Sizes of the full subtrees at each height: 1, degree, degree^2 ... up to a single one.
    fn heights(&self) -> impl Iterator<Item = u64> {
        let degree = u64::from(self.degree);
        (0..=self.depth).map(move |height| degree.pow(height))
    }

    /// Returns the mean hop count over ordered pairs of different leaves.
    fn average_hops(&self) -> f64 {
        let n = u128::from(self.leaves);
        let (mut sum, mut closer) = (0u128, n);
        for (height, size) in self.heights().enumerate().skip(1) {
            let size = u128::from(size);
            // Pairs that meet at this height or below: full subtrees, and the cut one at the right.
            let within = n / size * size * size + (n % size) * (n % size);
            sum += 2 * height as u128 * (within - closer);
            closer = within;
        }
        if n > 1 { sum as f64 / (n * (n - 1)) as f64 } else { 0.0 }
    }
}

impl Topology for TreeTopology {
    const NAME: &'static str = "tree";
    const SUMMARY: &'static str = "a tree of routers with the endpoints at its leaves";
    const SIZING: Sizing = Sizing::Count;
    const KEYS: &'static [OptionKey] = &[OptionKey::new(
        "degree",
        KeyKind::Number(2, u32::MAX),
        "how many children a router has at most, 2 by default",
    )];
    type Shape = TreeTopology;

    fn build(given: &TopologyInput<'_>) -> Result<TreeTopology, Wrong> {
        let (leaves, degree) = (given.sides[0], given.options.number("degree", 2));
        let (mut depth, mut room) = (0, 1u64);
        while room < u64::from(leaves) {
            room *= u64::from(degree);
            depth += 1;
        }
        let climb = if degree.is_power_of_two() {
            Climb::Digits(Divisor::new(degree.ilog2()))
        } else {
            Climb::Sizes((0..depth).map(|height| Divisor::new(degree.pow(height))).collect())
        };
        Ok(TreeTopology { leaves, degree, depth, climb })
    }
}

impl Hops for TreeTopology {
    fn endpoints(&self) -> u64 {
        u64::from(self.leaves)
    }
    #[inline]
    fn hops(&self, source: u32, destination: u32) -> u32 {
        2 * self.climb(source, destination)
    }
    #[inline]
    fn hops_out(&self, _: u32) -> u32 {
        self.depth
    }
    #[inline]
    fn hops_in(&self, _: u32) -> u32 {
        self.depth
    }
    fn least_hops_out(&self) -> u32 {
        self.depth
    }
    fn nearest(&self, destination: u32) -> u32 {
        let below = destination.checked_sub(1).map(|other| self.hops(other, destination));
        let above = destination
            .checked_add(1)
            .filter(|&other| other < self.leaves)
            .map(|other| self.hops(other, destination));
        below.into_iter().chain(above).min().unwrap_or(0)
    }
    fn hop_bound(&self) -> u64 {
        2 * u64::from(self.depth)
    }
    fn links(&self) -> u64 {
        self.heights().take(self.depth as usize).map(|size| u64::from(self.leaves).div_ceil(size)).sum()
    }
    fn statistics(&self) -> HopStatistics {
        let root = Range::constant(self.depth);
        let diameter = 2 * self.depth;
        HopStatistics {
            diameter,
            average_hops: self.average_hops(),
            to_gateway: root,
            from_gateway: root,
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

    /// Builds routers above the leaves, row by row, until one row has a single router.
    fn graph(leaves: usize, degree: usize) -> HopGraph {
        let (mut links, mut first, mut row, mut nodes) = (Vec::new(), 0, leaves, leaves);
        while row > 1 {
            let above = row.div_ceil(degree);
            links.extend((0..row).map(|i| (first + i, nodes + i / degree)));
            (first, row) = (nodes, above);
            nodes += above;
        }
        HopGraph::undirected(nodes, first, links)
    }

    #[test]
    fn hops_are_shortest_paths() {
        for degree in [2, 3, 4, 7, 8, 100] {
            for n in (1..=18).chain([27, 28]) {
                let tree = TopologyInput::with(
                    &[n],
                    &[("degree", OptionValue::Number(degree))],
                    TreeTopology::build,
                );
                check(&tree, &graph(n as usize, degree as usize), &format!("tree:{n},degree={degree}"));
            }
        }
    }

    #[test]
    fn the_largest_tree_has_the_papers_diameter() {
        let tree = TopologyInput::with(&[1 << 31], &[], TreeTopology::build);
        assert_eq!(tree.statistics().diameter, 62, "2 log2(n)");
        assert_eq!(tree.hops(0, (1 << 31) - 1), 62);
    }
}

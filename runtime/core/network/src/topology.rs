//! The topologies: one file each, which states the shape. Formulas take its hops, packets and flows its
//! cables.

mod cabling;
pub(crate) mod dragonfly;
mod dragonfly_plus;
pub(crate) mod fat_tree;
mod field;
pub(crate) mod graph;
pub(crate) mod hyperx;
mod link;
mod none;
mod options;
mod ring;
mod router_hops;
pub(crate) mod shortest;
mod slim_fly;
mod star;
mod table;
pub(crate) mod torus;
mod tree;
pub(crate) mod twisted;

pub(crate) use cabling::{Cabled, Cabling, Neighbor, Paths, SharedRouters, pick};
pub(crate) use link::LinkKind;
pub(crate) use options::{
    DetailLevel, KeyKind, OptionKey, OptionValue, Options, Sizing, TopologyInput, Wrong,
};
pub(crate) use table::{AnyTopology, OwnRoutings, RoutedTopology, TOPOLOGIES, TopologyRow};

/// A topology as specifications name it. A new one is a file that implements this and a row of `table.rs`.
///
/// Its shape is made from sides and options, once for all levels of detail. The shape implements `Hops` if
/// formulas compute its hops, and `Cabling` if it has routers; `Paths` too, if it computes shortest paths.
pub(crate) trait Topology {
    /// Its name.
    const NAME: &'static str;
    /// Description for help and error messages, without a final stop.
    const SUMMARY: &'static str;
    /// Form of its size.
    const SIZING: Sizing;
    /// The options it understands beside those of its level of detail.
    const KEYS: &'static [OptionKey];
    /// Level of detail of a network of this name that gives none.
    const LEVEL: DetailLevel = DetailLevel::Formula;
    /// `true` if it has links, hence latency and bandwidth.
    const HAS_LINKS: bool = true;
    /// The routing of packets where the network names none, unless one of its own is the default.
    const ROUTING: &'static str = "minimal";
    /// The shape that a specification builds.
    type Shape: 'static;

    /// Builds the shape. The error names the option that is wrong, or what is impossible.
    fn build(given: &TopologyInput<'_>) -> Result<Self::Shape, Wrong>;

    /// Builds the shape with what routers need beside it.
    fn cable(given: &TopologyInput<'_>) -> Result<Cabled<Self::Shape>, Wrong>
    where
        Self::Shape: Cabling,
    {
        Ok(Cabled::new(Self::build(given)?, given))
    }
}

/// Endpoints 0 to `endpoints() - 1` as formulas take a topology: hop counts.
pub(crate) trait Hops {
    /// Returns how many endpoints there are.
    fn endpoints(&self) -> u64;
    /// Links on a shortest path; 0 if the two are the same.
    fn hops(&self, source: u32, destination: u32) -> u32;
    /// Links from `source` to the level's gateway (endpoint 0 unless the topology has a better place).
    #[inline]
    fn hops_out(&self, source: u32) -> u32 {
        self.hops(source, 0)
    }
    /// Links from the level's gateway to `destination`.
    #[inline]
    fn hops_in(&self, destination: u32) -> u32 {
        self.hops(0, destination)
    }
    /// Returns the fewest links from any endpoint to the gateway.
    fn least_hops_out(&self) -> u32 {
        0
    }
    /// Returns the fewest hops from any other endpoint to `destination`; asked only where there is another.
    fn nearest(&self, _destination: u32) -> u32 {
        1
    }
    /// Returns a number of hops that no pair, and no way to or from the gateway, exceeds.
    fn hop_bound(&self) -> u64;
    /// Pairs of neighbours that a link joins (routers included), directions not counted twice.
    fn links(&self) -> u64;
    /// Diameter and averages.
    fn statistics(&self) -> HopStatistics;
}

/// Hop counts over all endpoints of a level.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct HopStatistics {
    /// The largest hop count between two endpoints.
    pub(crate) diameter: u32,
    /// The mean hop count over ordered pairs of two different endpoints; 0 if there is only one.
    pub(crate) average_hops: f64,
    /// Hops from an endpoint to the gateway.
    pub(crate) to_gateway: Range,
    /// Hops from the gateway to an endpoint.
    pub(crate) from_gateway: Range,
    /// Method by which the diameter and the mean were found.
    pub(crate) method: Method,
    /// A sentence on what else a reader should know.
    pub(crate) remark: Option<String>,
}

/// Least, greatest and mean of a hop count over all endpoints.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Range {
    /// Over all endpoints.
    pub(crate) least: u32,
    /// Over all endpoints.
    pub(crate) greatest: u32,
    /// Over all endpoints.
    pub(crate) average: f64,
}

impl Range {
    /// Returns one number for every endpoint.
    pub(crate) fn constant(hops: u32) -> Range {
        Range { least: hops, greatest: hops, average: f64::from(hops) }
    }
}

/// Method by which a statistic was found, hence its accuracy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// By formula or by counting every pair.
    Exact,
    /// From all destinations of this many evenly spread sources: the diameter is a lower bound.
    Sampled {
        /// Number of sources sampled.
        sources: u32,
    },
}

#[cfg(test)]
pub(crate) mod brute {
    //! Shortest paths on an explicit graph, to check hop counts against.

    use super::*;
    use std::collections::VecDeque;

    /// Directed edges among `nodes`; endpoints come first, in order.
    pub(crate) struct HopGraph {
        pub(crate) nodes: usize,
        pub(crate) edges: Vec<(usize, usize)>,
        pub(crate) gateway: usize,
    }

    impl HopGraph {
        pub(crate) fn undirected(
            nodes: usize,
            gateway: usize,
            links: impl IntoIterator<Item = (usize, usize)>,
        ) -> HopGraph {
            HopGraph {
                nodes,
                gateway,
                edges: links.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).collect(),
            }
        }

        pub(crate) fn distances(&self) -> Vec<Vec<u32>> {
            let mut neighbours = vec![Vec::new(); self.nodes];
            self.edges.iter().for_each(|&(a, b)| neighbours[a].push(b));
            let from = |source: usize| {
                let mut distance = vec![u32::MAX; self.nodes];
                distance[source] = 0;
                let mut queue = VecDeque::from([source]);
                while let Some(node) = queue.pop_front() {
                    for &next in &neighbours[node] {
                        if distance[next] == u32::MAX {
                            distance[next] = distance[node] + 1;
                            queue.push_back(next);
                        }
                    }
                }
                distance
            };
            (0..self.nodes).map(from).collect()
        }
    }

    /// Checks everything that a topology states about hops against the explicit graph.
    pub(crate) fn check<T: Hops>(topology: &T, graph: &HopGraph, what: &str) {
        let distances = graph.distances();
        let n = usize::try_from(topology.endpoints()).unwrap();
        let (mut sum, mut diameter, mut to, mut from) = (0u64, 0, Vec::new(), Vec::new());
        for a in 0..n {
            for (b, &expected) in distances[a].iter().enumerate().take(n) {
                assert_eq!(topology.hops(a as u32, b as u32), expected, "{what}: hops from {a} to {b}");
                sum += u64::from(expected);
                diameter = diameter.max(expected);
            }
            to.push(distances[a][graph.gateway]);
            from.push(distances[graph.gateway][a]);
            assert_eq!(topology.hops_out(a as u32), to[a], "{what}: from {a} to the gateway");
            assert_eq!(topology.hops_in(a as u32), from[a], "{what}: from the gateway to {a}");
            if n > 1 {
                let nearest = (0..n).filter(|&b| b != a).map(|b| distances[b][a]).min().unwrap();
                assert_eq!(topology.nearest(a as u32), nearest, "{what}: nearest to {a}");
            }
        }
        let pairs = (n * n.saturating_sub(1)).max(1) as f64;
        let found = topology.statistics();
        assert_eq!((found.diameter, found.method), (diameter, Method::Exact), "{what}");
        assert!(
            (found.average_hops - sum as f64 / pairs).abs() < 1e-9,
            "{what}: average {} is not {}",
            found.average_hops,
            sum as f64 / pairs
        );
        assert_eq!(found.to_gateway.least, topology.least_hops_out(), "{what}");
        for (range, values) in [(found.to_gateway, to), (found.from_gateway, from)] {
            assert_eq!(
                (range.least, range.greatest),
                (*values.iter().min().unwrap(), *values.iter().max().unwrap()),
                "{what}: gateway"
            );
            let mean = values.iter().map(|&v| f64::from(v)).sum::<f64>() / n as f64;
            assert!(
                (range.average - mean).abs() < 1e-9,
                "{what}: gateway average {} is not {mean}",
                range.average
            );
            assert!(topology.hop_bound() >= u64::from(range.greatest));
        }
        assert!(topology.hop_bound() >= u64::from(diameter), "{what}: hop bound");
        let mut links: Vec<_> =
            graph.edges.iter().map(|&(a, b)| (a.min(b), a.max(b))).filter(|(a, b)| a != b).collect();
        links.sort_unstable();
        links.dedup();
        assert_eq!(topology.links(), links.len() as u64, "{what}: links");
    }

    /// Returns all pairs (node, its successor along `dimension`) of a row-major box, ends excluded.
    pub(crate) fn box_links(sides: &[u32]) -> Vec<(usize, usize)> {
        let n: usize = sides.iter().map(|&s| s as usize).product();
        let mut links = Vec::new();
        for dimension in 0..sides.len() {
            let stride: usize = sides[dimension + 1..].iter().map(|&s| s as usize).product();
            let side = sides[dimension] as usize;
            links.extend((0..n).filter(|a| a / stride % side + 1 < side).map(|a| (a, a + stride)));
        }
        links
    }

    /// TopologyRow-major coordinates of a node.
    pub(crate) fn coordinates(mut node: usize, sides: &[u32]) -> Vec<u32> {
        let mut result = vec![0; sides.len()];
        for (x, &side) in result.iter_mut().zip(sides).rev() {
            *x = (node % side as usize) as u32;
            node /= side as usize;
        }
        result
    }

    /// Returns the node at row-major coordinates.
    pub(crate) fn node(coordinates: &[u32], sides: &[u32]) -> usize {
        coordinates.iter().zip(sides).fold(0, |node, (&x, &side)| node * side as usize + x as usize)
    }
}

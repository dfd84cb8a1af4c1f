//! The topologies of one level, behind one trait, registered by one row each.

mod cabling;
pub(crate) mod dragonfly;
pub(crate) mod dragonfly_plus;
pub(crate) mod fat_tree;
mod field;
pub(crate) mod graph;
mod grid;
pub(crate) mod hyperx;
mod link;
mod mesh;
mod none;
pub(crate) mod packet_star;
pub(crate) mod packet_torus;
mod ring;
pub(crate) mod shortest;
pub(crate) mod slim_fly;
mod star;
mod torus;
mod tree;
mod twisted;
pub(crate) mod twisted_torus;

pub(crate) use cabling::{Cabling, Neighbor, Paths, SharedRouters, pick};
pub(crate) use link::LinkKind;
use std::fmt;

/// One network of endpoints 0 to `endpoints() - 1` as the analytic model sees it: hop counts.
///
/// A topology is one file that implements this and one row in the table below.
pub(crate) trait Topology: Sized {
    /// Its name in a network specification.
    const NAME: &'static str;
    /// Description for help and error messages, without a final stop.
    const SUMMARY: &'static str;
    /// Form of its size in a specification.
    const SIZING: Sizing;
    /// The options it understands beside `l` and `b`.
    const KEYS: &'static [OptionKey];

    /// Builds it with the given sides (one number unless `SIZING` is `Sides`), each at least 1, their
    /// product below 2^32. The error is a sentence about the size or an option.
    fn build(sides: &[u32], options: &Options) -> Result<Self, String>;
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

/// Form of a size in a specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sizing {
    /// One number, as in `star:16`.
    Count,
    /// A number for each dimension, as in `mesh:8x16`; without one, this many near-equal dimensions.
    Sides { default_dimensions: usize },
}

/// An option of a topology.
#[derive(Debug)]
pub(crate) struct OptionKey {
    /// Its name, as in `dir=2`.
    pub(crate) name: &'static str,
    /// Values that it takes.
    pub(crate) kind: KeyKind,
    /// Meaning of its values and the default, for error messages.
    pub(crate) meaning: &'static str,
}

/// The values that an option takes.
#[derive(Debug)]
pub(crate) enum KeyKind {
    /// A decimal number in this inclusive range.
    Number(u32, u32),
    /// A 0 or 1 for each dimension, as in `wrap=101`.
    Bits,
    /// A number for each dimension, as in `jump=1x1x2`.
    PerDimension,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// The value of an option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OptionValue {
    Number(u32),
    Bits(Vec<bool>),
    PerDimension(Vec<u32>),
    Word(&'static str),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Number(n) => write!(f, "{n}"),
            OptionValue::Bits(bits) => {
                bits.iter().try_for_each(|&bit| f.write_str(if bit { "1" } else { "0" }))
            }
            OptionValue::PerDimension(numbers) => numbers
                .iter()
                .enumerate()
                .try_for_each(|(i, n)| write!(f, "{}{n}", if i == 0 { "" } else { "x" })),
            OptionValue::Word(word) => f.write_str(word),
        }
    }
}

/// The options given to a level, in the order given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options(pub(crate) Vec<(&'static str, OptionValue)>);

impl Options {
    pub(crate) fn get(&self, name: &str) -> Option<&OptionValue> {
        self.0.iter().find(|(given, _)| *given == name).map(|(_, value)| value)
    }
    pub(crate) fn number(&self, name: &str, default: u32) -> u32 {
        if let Some(&OptionValue::Number(n)) = self.get(name) { n } else { default }
    }
    pub(crate) fn bits(&self, name: &str, dimensions: usize, default: bool) -> Vec<bool> {
        if let Some(OptionValue::Bits(bits)) = self.get(name) {
            bits.clone()
        } else {
            vec![default; dimensions]
        }
    }
}

/// A topology as the grammar knows it.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) sizing: Sizing,
    pub(crate) keys: &'static [OptionKey],
    pub(crate) build: fn(&[u32], &Options) -> Result<AnyTopology, String>,
}

macro_rules! topologies {
    ($($variant:ident($type:ty)),* $(,)?) => {
        /// Any topology: a `match` instead of a pointer, so that hop counts inline into the latency.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyTopology { $($variant($type)),* }

        /// All topologies of the analytic level.
        pub(crate) static TOPOLOGIES: &[Row] = &[$(Row {
            name: <$type>::NAME,
            summary: <$type>::SUMMARY,
            sizing: <$type>::SIZING,
            keys: <$type>::KEYS,
            build: |sides, options| Ok(AnyTopology::$variant(<$type>::build(sides, options)?)),
        }),*];

        topologies!(@forward [$($variant)*]
            endpoints() -> u64;
            hops(source: u32, destination: u32) -> u32;
            hops_out(source: u32) -> u32;
            hops_in(destination: u32) -> u32;
            least_hops_out() -> u32;
            nearest(destination: u32) -> u32;
            hop_bound() -> u64;
            links() -> u64;
            statistics() -> HopStatistics;
        );
    };
    (@forward $variants:tt $($method:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        impl AnyTopology {
            $(topologies!(@method $variants $method($($argument: $kind),*) -> $result);)*
        }
    };
    (@method [$($variant:ident)*] $method:ident $arguments:tt -> $result:ty) => {
        topologies!(@body [$($variant)*] $method $arguments -> $result);
    };
    (@body [$($variant:ident)*] $method:ident() -> $result:ty) => {
        #[inline]
        pub(crate) fn $method(&self) -> $result {
            match self { $(AnyTopology::$variant(topology) => topology.$method()),* }
        }
    };
    (@body [$($variant:ident)*] $method:ident($a:ident: $ka:ty) -> $result:ty) => {
        #[inline]
        pub(crate) fn $method(&self, $a: $ka) -> $result {
            match self { $(AnyTopology::$variant(topology) => topology.$method($a)),* }
        }
    };
    (@body [$($variant:ident)*] $method:ident($a:ident: $ka:ty, $b:ident: $kb:ty) -> $result:ty) => {
        #[inline]
        pub(crate) fn $method(&self, $a: $ka, $b: $kb) -> $result {
            match self { $(AnyTopology::$variant(topology) => topology.$method($a, $b)),* }
        }
    };
}

topologies! {
    None(none::NoNetwork),
    Star(star::Star),
    Ring(ring::RingTopology),
    Mesh(mesh::Mesh),
    Torus(torus::Torus),
    Twisted(twisted::Twisted),
    Tree(tree::TreeTopology),
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

    /// Checks everything that a topology says about hops against the explicit graph.
    pub(crate) fn check<T: Topology>(topology: &T, graph: &HopGraph, what: &str) {
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

    /// Row-major coordinates of a node.
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

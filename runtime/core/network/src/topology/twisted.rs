//! A torus whose wrapping links are also shifted in another dimension (section IV.A.5, figures 6 to 8).
//!
//! In a wrapped dimension k of side m, the link that leaves the last index upwards arrives at index 0 of
//! dimension k. In dimension k + `degree` (modulo the number of dimensions) it arrives `jump[k]` indices
//! further (modulo its side). Links carry both ways. With all jumps 0 this is the torus.
//!
//! Such a network looks different from different places, so there is no formula for its hop counts and no
//! table by offset. Up to `MAX_TABULATED` endpoints the exact distances are tabulated, a
//! row when first asked for; beyond, each pair is searched exactly over the seams (`anchors`) and the last
//! pairs remembered. `search=bounded` is the paper's search instead.

mod anchors;
mod bounded;
mod cache;
mod lattice;
mod oracle;
pub(crate) mod plane;

use super::{HopStatistics, Hops, KeyKind, Method, OptionKey, Range, Sizing, Topology, TopologyInput, Wrong};
use cache::PairCache;
use lattice::Lattice;
use oracle::Oracle;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// The largest network whose distances are tabulated: 32 MiB if every row is asked for.
const MAX_TABULATED: u64 = 4096;
/// Endpoints looked at, at most, to estimate averages of a network too large for all pairs.
const VISITS: u64 = 1 << 24;

/// A twisted torus; its gateway is the endpoint at the origin.
#[derive(Clone, Debug)]
pub(crate) struct Twisted {
    lattice: Lattice,
    search: SearchMethod,
}

#[derive(Clone, Debug)]
enum SearchMethod {
    /// A row of distances for each source, filled when first needed.
    Table(Arc<[OnceLock<Box<[u16]>>]>),
    Anchors(Arc<Anchors>),
    Bounded(Arc<PairCache>),
}

/// Data that the search of a large network keeps between searches.
#[derive(Debug)]
struct Anchors {
    pairs: PairCache,
    /// Searches so far, up to where tables pay.
    searches: AtomicU32,
    tables: OnceLock<Option<Oracle>>,
}

/// Searches after which tables are made, if the network is one for which they can be: they cost as much as
/// some hundreds.
const SEARCHES_BEFORE_TABLES: u32 = 512;

impl Anchors {
    fn distance(&self, lattice: &Lattice, source: u32, destination: u32) -> u32 {
        self.pairs.get_or(source, destination, || {
            let tables = if self.searches.load(Ordering::Relaxed) < SEARCHES_BEFORE_TABLES {
                self.searches.fetch_add(1, Ordering::Relaxed);
                None
            } else {
                self.tables.get_or_init(|| Oracle::new(lattice)).as_ref()
            };
            anchors::distance(lattice, tables, source, destination)
        })
    }
}

impl Twisted {
    /// Makes the network that the top of this file describes; `bounded` takes the paper's search.
    fn new(
        sides: &[u32],
        wrap: &[bool],
        degree: u32,
        jump: &[u32],
        bounded: bool,
    ) -> Result<Twisted, String> {
        let most = if bounded { bounded::MAX_DIMENSIONS } else { lattice::MAX_DIMENSIONS };
        if sides.len() > most {
            let search = if bounded { " with search=bounded" } else { "" };
            return Err(format!(
                "{} dimensions are more than the {most} that a twisted torus can have{search}",
                sides.len()
            ));
        }
        let lattice = Lattice::new(sides, wrap, degree, jump);
        let search = match lattice.endpoints() {
            n if bounded => SearchMethod::Bounded(Arc::new(PairCache::new(n))),
            n if n <= MAX_TABULATED => SearchMethod::Table((0..n).map(|_| OnceLock::new()).collect()),
            n => SearchMethod::Anchors(Arc::new(Anchors {
                pairs: PairCache::new(n),
                searches: AtomicU32::new(0),
                tables: OnceLock::new(),
            })),
        };
        Ok(Twisted { lattice, search })
    }

    fn row(&self, source: u32) -> Box<[u16]> {
        self.lattice.distances(source).into_iter().map(|hops| hops as u16).collect()
    }

    fn shortest(&self, source: u32, destination: u32) -> u32 {
        match &self.search {
            SearchMethod::Table(rows) => {
                u32::from(rows[source as usize].get_or_init(|| self.row(source))[destination as usize])
            }
            SearchMethod::Anchors(anchors) => anchors.distance(&self.lattice, source, destination),
            SearchMethod::Bounded(cache) => {
                cache.get_or(source, destination, || bounded::distance(&self.lattice, source, destination))
            }
        }
    }

    fn is_bounded(&self) -> bool {
        matches!(self.search, SearchMethod::Bounded(_))
    }

    /// Sources whose ways to all others are looked at: all of them, or evenly spread ones.
    fn sample(&self) -> (Method, Vec<u32>) {
        let n = self.endpoints();
        let cost = if self.is_bounded() { 16 * n } else { n };
        let sources = if n * cost <= VISITS { n } else { (VISITS / cost).clamp(2, 64).min(n) };
        let method = if sources == n { Method::Exact } else { Method::Sampled { sources: sources as u32 } };
        (method, (0..sources).map(|i| (i * n / sources) as u32).collect())
    }
}

impl Topology for Twisted {
    const NAME: &'static str = "twisted";
    const SUMMARY: &'static str = "a torus whose wrapping links are shifted in another dimension";
    const SIZING: Sizing = Sizing::Sides { default_dimensions: 3 };
    const KEYS: &'static [OptionKey] = &[
        OptionKey::new(
            "wrap",
            KeyKind::Bits,
            "for each dimension 1 if its ends are joined and 0 if not, as in wrap=101; all 1 by default",
        ),
        OptionKey::new(
            "degree",
            KeyKind::Number(0, u32::MAX),
            "how many dimensions further a wrapping link is shifted, 1 by default",
        ),
        OptionKey::new(
            "jump",
            KeyKind::PerDimension,
            "for each dimension how many places its wrapping link is shifted, as in jump=1x2x3; all 1 by \
             default",
        ),
        OptionKey::new(
            "search",
            KeyKind::Word(&["exact", "bounded"]),
            "exact for shortest paths, the default, or bounded for those that traverse each dimension at \
             most once",
        ),
    ];
    type Shape = Twisted;

    fn build(given: &TopologyInput<'_>) -> Result<Twisted, Wrong> {
        let (sides, options) = (given.sides, given.options);
        let wrap = options.bits("wrap", sides.len(), true);
        let jump = match options.numbers("jump") {
            [] => vec![1; sides.len()],
            jump => jump.to_vec(),
        };
        let bounded = options.word("search") == Some("bounded");
        Ok(Twisted::new(sides, &wrap, options.number("degree", 1), &jump, bounded)?)
    }
}

impl Hops for Twisted {
    fn endpoints(&self) -> u64 {
        self.lattice.endpoints()
    }
    #[inline]
    fn hops(&self, source: u32, destination: u32) -> u32 {
        if source == destination { 0 } else { self.shortest(source, destination) }
    }
    /// Every endpoint has a neighbour, and the bounded search finds it.
    fn nearest(&self, _: u32) -> u32 {
        1
    }
    /// The way that uses no wrapping link is always there.
    fn hop_bound(&self) -> u64 {
        self.lattice.mesh_diameter()
    }
    fn links(&self) -> u64 {
        self.lattice.links()
    }
    fn statistics(&self) -> HopStatistics {
        let n = self.endpoints();
        let (method, sources) = self.sample();
        let (mut sum, mut diameter, mut longer, mut excess) = (0u128, 0, 0u64, 0);
        for &source in &sources {
            let shortest = self.lattice.distances(source);
            for (destination, &exact) in (0..).zip(&shortest) {
                let hops = if self.is_bounded() { self.hops(source, destination) } else { exact };
                sum += u128::from(hops);
                diameter = diameter.max(hops);
                longer += u64::from(hops > exact);
                excess = excess.max(hops - exact);
            }
        }
        let pairs = sources.len() as u128 * u128::from(n - 1);
        let average_hops = if pairs > 0 { sum as f64 / pairs as f64 } else { 0.0 };
        let gateway = |hops: &mut dyn Iterator<Item = u32>| {
            let (sum, greatest) =
                hops.fold((0u64, 0), |(sum, greatest), hops| (sum + u64::from(hops), hops.max(greatest)));
            Range { least: 0, greatest, average: sum as f64 / n as f64 }
        };
        let all = 0..n as u32;
        let (to_gateway, from_gateway) = if self.is_bounded() {
            (gateway(&mut all.clone().map(|a| self.hops(a, 0))), gateway(&mut all.map(|b| self.hops(0, b))))
        } else {
            let range = gateway(&mut self.lattice.distances(0).into_iter());
            (range, range)
        };
        let remark = self.is_bounded().then(|| {
            format!(
                "search=bounded is longer than the shortest way for {longer} of the {pairs} pairs looked at \
                 ({:.3} %), by at most {excess} hops",
                100.0 * longer as f64 / pairs.max(1) as f64
            )
        });
        HopStatistics { diameter, average_hops, to_gateway, from_gateway, method, remark }
    }
}

#[cfg(test)]
mod tests {
    use super::super::OptionValue;
    use super::super::brute::{HopGraph, box_links, check, coordinates, node};
    use super::*;
    use proptest::prelude::*;

    /// Returns the definition at the top of this file, link by link.
    fn graph(sides: &[u32], wrap: &[bool], degree: usize, jump: &[u32]) -> HopGraph {
        let n = sides.iter().product::<u32>() as usize;
        let mut links = box_links(sides);
        for k in (0..sides.len()).filter(|&k| wrap[k]) {
            let t = (k + degree) % sides.len();
            for a in 0..n {
                let mut x = coordinates(a, sides);
                if x[k] == sides[k] - 1 {
                    x[k] = 0;
                    x[t] = (x[t] + jump[k]) % sides[t];
                    links.push((a, node(&x, sides)));
                }
            }
        }
        HopGraph::undirected(n, 0, links)
    }

    fn twisted(sides: &[u32], wrap: &[bool], degree: u32, jump: &[u32], search: &'static str) -> Twisted {
        let options = [
            ("wrap", OptionValue::Bits(wrap.to_vec())),
            ("degree", OptionValue::Number(degree)),
            ("jump", OptionValue::Numbers(jump.to_vec())),
            ("search", OptionValue::Word(search)),
        ];
        TopologyInput::with(sides, &options, Twisted::build)
    }

    /// Checks all three searches against the graph.
    fn compare(sides: &[u32], wrap: &[bool], degree: u32, jump: &[u32]) {
        let what = format!("twisted:{sides:?},wrap={wrap:?},degree={degree},jump={jump:?}");
        let graph = graph(sides, wrap, degree as usize, jump);
        let exact = twisted(sides, wrap, degree, jump, "exact");
        check(&exact, &graph, &what);
        let bounded = twisted(sides, wrap, degree, jump, "bounded");
        let n = exact.endpoints() as u32;
        let tables = Oracle::new(&exact.lattice);
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
            let shortest = exact.hops(a, b);
            assert_eq!(
                anchors::distance(&exact.lattice, None, a, b),
                shortest,
                "{what}: anchors from {a} to {b}"
            );
            if let Some(tables) = &tables {
                assert_eq!(
                    anchors::distance(&exact.lattice, Some(tables), a, b),
                    shortest,
                    "{what}: tables from {a} to {b}"
                );
                match tables.distance(a, b) {
                    oracle::DistanceBound::Exactly(hops) => {
                        assert_eq!(hops, shortest, "{what}: tables alone from {a} to {b}")
                    }
                    oracle::DistanceBound::Between(lower, upper) => {
                        assert!(lower <= shortest && shortest <= upper, "{what}: from {a} to {b}")
                    }
                }
            }
            assert!(bounded.hops(a, b) >= shortest, "{what}: bounded search from {a} to {b} is too short");
        }
    }

    #[test]
    fn the_papers_networks_have_shortest_paths() {
        for degree in [1, 2] {
            compare(&[3, 3, 2], &[true; 3], degree, &[1, 1, 1]);
            compare(&[3, 3, 3], &[true; 3], degree, &[1, 2, 3]);
        }
        compare(&[4, 4], &[true; 2], 1, &[1, 2]);
        compare(&[4, 4], &[true; 2], 1, &[2, 1]);
    }

    #[test]
    fn degenerate_networks_have_shortest_paths() {
        compare(&[1], &[true], 1, &[1]);
        compare(&[2], &[true], 1, &[1]);
        compare(&[7], &[true], 1, &[3]);
        compare(&[1, 6], &[true, true], 1, &[2, 1]);
        compare(&[2, 1, 3], &[true, true, true], 1, &[1, 1, 1]);
        compare(&[4, 5], &[false, false], 1, &[1, 1]);
        compare(&[2, 40], &[true, false], 1, &[9, 1]);
        compare(&[4, 5, 3], &[true, true, true], 3, &[1, 2, 0]);
    }

    #[test]
    fn without_jumps_it_is_the_torus() {
        let torus = TopologyInput::with(&[5, 4, 3], &[], super::super::torus::Torus::build);
        let twisted = twisted(&[5, 4, 3], &[true; 3], 1, &[0; 3], "exact");
        let bounded = self::twisted(&[5, 4, 3], &[true; 3], 1, &[0; 3], "bounded");
        for (a, b) in (0..60).flat_map(|a| (0..60).map(move |b| (a, b))) {
            assert_eq!(twisted.hops(a, b), torus.hops(a, b));
            assert_eq!(bounded.hops(a, b), torus.hops(a, b), "bounded");
        }
    }

    #[test]
    fn large_networks_are_searched_exactly() {
        for (sides, jump) in [([8, 8, 128], [1, 1, 1]), ([4, 300, 5], [3, 9, 2]), ([20, 16, 16], [1, 5, 0])] {
            let network = twisted(&sides, &[true; 3], 1, &jump, "exact");
            assert!(matches!(network.search, SearchMethod::Anchors(_)));
            for source in [0, 1, 1000, 2799, 4095, 5119] {
                for (destination, &hops) in (0..).zip(&network.lattice.distances(source)).step_by(7) {
                    assert_eq!(
                        network.hops(source, destination),
                        hops,
                        "{sides:?}: from {source} to {destination}"
                    );
                    assert_eq!(network.hops(source, destination), hops, "remembered");
                }
            }
        }
    }

    #[test]
    fn long_networks_have_tables_and_cubes_do_not() {
        let tables = |sides: &[u32]| {
            Oracle::new(&twisted(sides, &vec![true; sides.len()], 1, &vec![1; sides.len()], "exact").lattice)
        };
        assert!(
            tables(&[8, 8, 512]).is_some() && tables(&[512, 8, 8]).is_some() && tables(&[4, 3000]).is_some()
        );
        assert!(
            tables(&[64, 64, 64]).is_none() && tables(&[5000]).is_none() && tables(&[8, 8, 70_000]).is_none()
        );
    }

    #[test]
    fn the_bounded_search_states_its_error() {
        let statistics = twisted(&[8, 8, 8], &[true; 3], 1, &[1, 1, 1], "bounded").statistics();
        let remark = statistics.remark.unwrap();
        assert!(remark.contains("search=bounded is longer than the shortest way for"), "{remark}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn hops_are_shortest_paths(
            dimensions in prop::collection::vec((1u32..7, any::<bool>(), 0u32..9), 1..4), degree in 0u32..4
        ) {
            let sides: Vec<u32> = dimensions.iter().map(|d| d.0).collect();
            prop_assume!(sides.iter().product::<u32>() <= 120);
            let wrap: Vec<bool> = dimensions.iter().map(|d| d.1).collect();
            let jump: Vec<u32> = dimensions.iter().map(|d| d.2).collect();
            compare(&sides, &wrap, degree, &jump);
        }

        #[test]
        fn long_networks_have_shortest_paths(
            sides in (2u32..5, 20u32..60),
            jump in (0u32..20, 0u32..5),
            wrap in any::<[bool; 2]>(),
        ) {
            compare(&[sides.0, sides.1], &wrap, 1, &[jump.0, jump.1]);
        }
    }
}

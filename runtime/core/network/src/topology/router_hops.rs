//! The hops of networks of routers as a formula: the links of the path that minimal routing takes, those of
//! the endpoints among them.

use super::{HopStatistics, Hops, Method, Neighbor, Paths, Range};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Pairs of routers looked at, at most, for exact averages.
const MAX_PAIRS: u64 = 1 << 24;
/// Routers whose ways to all others are looked at beyond.
const SAMPLED_ROUTERS: u64 = 64;

/// A network of routers without their queues. The gateway is the router of endpoint 0.
#[derive(Clone)]
pub(crate) struct RouterHops {
    paths: Arc<dyn Paths>,
    gateway: u32,
    /// The fewest hops between two endpoints.
    nearest: u32,
}

impl fmt::Debug for RouterHops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.paths.describe())
    }
}

impl RouterHops {
    /// Takes the paths of a network with at least one endpoint.
    pub(super) fn new(paths: Arc<dyn Paths>) -> RouterHops {
        let gateway = paths.attachment(0).0;
        let mut this = RouterHops { paths, gateway, nearest: 2 };
        let n = this.paths.endpoints();
        let shares = (1..n).any(|endpoint| this.home(endpoint) == this.home(endpoint - 1));
        if n > 1 && !shares {
            let mut least = u32::MAX;
            for endpoint in 0..n {
                least = least.min(this.nearest_home(this.home(endpoint)));
                if least == 1 {
                    break;
                }
            }
            this.nearest = 2 + least;
        }
        this
    }

    fn home(&self, endpoint: u32) -> u32 {
        self.paths.attachment(endpoint).0
    }

    /// Returns the links to the nearest other router with an endpoint, breadth first; 0 if there is none.
    fn nearest_home(&self, from: u32) -> u32 {
        let (mut seen, mut frontier, mut links) = (vec![from], vec![from], 0);
        while !frontier.is_empty() {
            links += 1;
            let mut next = Vec::new();
            for router in frontier {
                for port in 0..self.paths.radix() {
                    if let Neighbor::Router { router: other, .. } = self.paths.neighbor(router, port)
                        && !seen.contains(&other)
                    {
                        if self.has_endpoint(other) {
                            return links;
                        }
                        seen.push(other);
                        next.push(other);
                    }
                }
            }
            frontier = next;
        }
        0
    }

    fn has_endpoint(&self, router: u32) -> bool {
        (0..self.paths.radix()).any(|port| matches!(self.paths.neighbor(router, port), Neighbor::Endpoint(_)))
    }
}

impl Hops for RouterHops {
    fn endpoints(&self) -> u64 {
        u64::from(self.paths.endpoints())
    }
    fn hops(&self, source: u32, destination: u32) -> u32 {
        if source == destination {
            return 0;
        }
        2 + self.paths.distance(self.home(source), self.home(destination))
    }
    fn hops_out(&self, source: u32) -> u32 {
        1 + self.paths.distance(self.home(source), self.gateway)
    }
    fn hops_in(&self, destination: u32) -> u32 {
        1 + self.paths.distance(self.gateway, self.home(destination))
    }
    fn least_hops_out(&self) -> u32 {
        1
    }
    /// Returns the fewest between any two, a bound where routers differ.
    fn nearest(&self, _: u32) -> u32 {
        self.nearest
    }
    fn hop_bound(&self) -> u64 {
        2 + u64::from(self.paths.diameter())
    }
    fn links(&self) -> u64 {
        let mut ends = 0;
        for router in 0..self.paths.routers() {
            let mut others: Vec<u32> = (0..self.paths.radix())
                .filter_map(|port| match self.paths.neighbor(router, port) {
                    Neighbor::Router { router: other, .. } => Some(other),
                    _ => None,
                })
                .collect();
            others.sort_unstable();
            others.dedup();
            ends += others.len() as u64;
        }
        self.endpoints() + ends / 2
    }
    fn statistics(&self) -> HopStatistics {
        let mut homes: BTreeMap<u32, u64> = BTreeMap::new();
        (0..self.paths.endpoints()).for_each(|endpoint| *homes.entry(self.home(endpoint)).or_default() += 1);
        let homes: Vec<(u32, u64)> = homes.into_iter().collect();
        let count = homes.len() as u64;
        let is_exact = count * count <= MAX_PAIRS;
        let sources = if is_exact { count } else { SAMPLED_ROUTERS };
        let (mut sum, mut pairs, mut diameter) = (0u128, 0u128, 0);
        for index in 0..sources {
            let (from, weight) = homes[(index * count / sources) as usize];
            for &(to, others) in &homes {
                let others = if from == to { others - 1 } else { others };
                if others > 0 {
                    let hops = 2 + self.paths.distance(from, to);
                    sum += u128::from(weight * others) * u128::from(hops);
                    pairs += u128::from(weight * others);
                    diameter = diameter.max(hops);
                }
            }
        }
        let range = |hops: &dyn Fn(u32) -> u32| {
            let (mut greatest, mut sum) = (0, 0);
            for &(home, weight) in &homes {
                greatest = greatest.max(hops(home));
                sum += weight * u64::from(hops(home));
            }
            Range { least: 1, greatest, average: sum as f64 / f64::from(self.paths.endpoints()) }
        };
        HopStatistics {
            diameter,
            average_hops: if pairs > 0 { sum as f64 / pairs as f64 } else { 0.0 },
            to_gateway: range(&|home| 1 + self.paths.distance(home, self.gateway)),
            from_gateway: range(&|home| 1 + self.paths.distance(self.gateway, home)),
            method: if is_exact { Method::Exact } else { Method::Sampled { sources: sources as u32 } },
            remark: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::brute::{HopGraph, check};
    use super::*;
    use crate::topology::{AnyTopology, OptionValue, TOPOLOGIES, TopologyInput};

    /// Returns endpoints and routers as the cables join them.
    fn graph(paths: &dyn Paths) -> HopGraph {
        let n = paths.endpoints() as usize;
        let ends = |router: u32| (0..paths.radix()).map(move |port| (router, paths.neighbor(router, port)));
        let links = (0..paths.routers()).flat_map(ends).filter_map(|(router, neighbor)| match neighbor {
            Neighbor::Endpoint(endpoint) => Some((endpoint as usize, n + router as usize)),
            Neighbor::Router { router: other, .. } if other > router => {
                Some((n + router as usize, n + other as usize))
            }
            _ => None,
        });
        HopGraph::undirected(n + paths.routers() as usize, n + paths.attachment(0).0 as usize, links)
    }

    /// Returns the hops of a topology with these numbers as options.
    fn hops(name: &str, sides: &[u32], numbers: &[(&'static str, u32)]) -> RouterHops {
        let row = TOPOLOGIES.iter().find(|row| row.name == name).unwrap();
        let options: Vec<_> =
            numbers.iter().map(|&(name, number)| (name, OptionValue::Number(number))).collect();
        match TopologyInput::with(sides, &options, |given| (row.formula)(given)) {
            AnyTopology::Routers(hops) => hops,
            other => panic!("{name} has a formula of its own: {other:?}"),
        }
    }

    #[test]
    fn hops_are_shortest_paths_on_the_cables() {
        for (name, sides, numbers) in [
            ("dragonfly", &[][..], &[("p", 2), ("a", 1), ("h", 3), ("g", 4)][..]),
            ("dragonfly", &[], &[("p", 1), ("a", 3), ("h", 2), ("g", 2)]),
            ("dragonfly", &[], &[("p", 2), ("a", 1), ("h", 1), ("g", 1)]),
            ("dragonflyplus", &[], &[("p", 2), ("a", 3), ("h", 2)]),
            ("dragonflyplus", &[], &[("p", 1), ("a", 2), ("h", 1)]),
            ("slimfly", &[], &[("q", 5), ("p", 1)]),
            ("slimfly", &[], &[("q", 4), ("p", 2)]),
            ("hyperx", &[4, 3], &[("p", 2)]),
            ("hyperx", &[2, 3, 2], &[]),
            ("hyperx", &[1], &[]),
        ] {
            let hops = hops(name, sides, numbers);
            check(&hops, &graph(&*hops.paths), &format!("{name}:{sides:?},{numbers:?}"));
        }
    }

    /// A path of two global links by a third group can be shorter than one of a dragonfly's own: no packet
    /// takes it.
    #[test]
    fn a_dragonfly_has_the_hops_of_minimal_routing() {
        let hops = hops("dragonfly", &[], &[("p", 2), ("a", 4), ("h", 2)]);
        let n = hops.paths.endpoints();
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let (mut router, mut links) = (hops.home(a), 2);
            while router != hops.home(b) {
                let port = hops.paths.minimal_port(router, hops.home(b), a ^ b);
                match hops.paths.neighbor(router, port) {
                    Neighbor::Router { router: next, .. } => router = next,
                    other => panic!("{a} to {b}: {other:?}"),
                }
                links += 1;
            }
            assert_eq!(hops.hops(a, b), links, "{a} to {b}");
        }
    }
}

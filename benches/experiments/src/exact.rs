//! Exact mean latencies: the published formula over distances counted in a graph.

use std::collections::VecDeque;

use crate::topology::{NetworkGraph, PublishedTopology};

/// Bits of the message of `random` and `ring`: one integer.
const BITS: f64 = 32.0;

/// A level's links.
#[derive(Clone, Copy)]
pub struct LevelLinks {
    /// Latency in microseconds.
    pub latency: f64,
    /// Bits a microsecond.
    pub bandwidth: f64,
}

/// Hops from a node to every other.
fn distances(graph: &NetworkGraph, from: usize) -> Vec<u32> {
    let mut found = vec![u32::MAX; graph.links.len()];
    found[from] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for &next in &graph.links[node] {
            if found[next] == u32::MAX {
                found[next] = found[node] + 1;
                queue.push_back(next);
            }
        }
    }
    found
}

/// Mean hops between two different endpoints picked at random.
fn mean_hops(graph: &NetworkGraph) -> f64 {
    let n = graph.endpoints;
    let total: u64 = (0..n).flat_map(|from| distances(graph, from)[..n].to_vec()).map(u64::from).sum();
    total as f64 / (n * (n - 1)) as f64
}

/// Mean latency of `random`, in microseconds.
pub fn random(topology: PublishedTopology, ranks: usize, link: LevelLinks) -> f64 {
    mean_hops(&topology.graph(ranks)) * link.latency + BITS / link.bandwidth
}

/// Mean latency of `ring`, in microseconds.
pub fn ring(topology: PublishedTopology, ranks: usize, link: LevelLinks) -> f64 {
    let graph = topology.graph(ranks);
    let total: u64 = (0..ranks).map(|rank| u64::from(distances(&graph, rank)[(rank + 1) % ranks])).sum();
    total as f64 / ranks as f64 * link.latency + BITS / link.bandwidth
}

/// Hops between the first and the last endpoint.
pub fn across(topology: PublishedTopology, ranks: usize) -> u32 {
    distances(&topology.graph(ranks), 0)[ranks - 1]
}

/// Mean latency of `random` on processors of `cores` cores each, the same topology between processors
/// (`outer`) and inside them (`inner`), in microseconds.
pub fn nested(
    topology: PublishedTopology,
    processors: usize,
    cores: usize,
    outer: LevelLinks,
    inner: LevelLinks,
) -> f64 {
    let (outside, inside) = (topology.graph(processors), topology.graph(cores));
    let ranks = (processors * cores) as f64;
    let hops_inside = if cores > 1 { mean_hops(&inside) } else { 0.0 };
    let within = hops_inside * inner.latency + BITS / inner.bandwidth;
    let mean = |hops: Vec<u32>| hops.iter().sum::<u32>() as f64 / cores as f64;
    let to_gateway = mean((0..cores).map(|core| distances(&inside, core)[inside.gateway]).collect());
    let from_gateway = mean(distances(&inside, inside.gateway)[..cores].to_vec());
    let hops_outside = if processors > 1 { mean_hops(&outside) } else { 0.0 };
    let between = (to_gateway + from_gateway) * inner.latency
        + hops_outside * outer.latency
        + BITS / outer.bandwidth.min(inner.bandwidth);
    let same = (cores - 1) as f64 / (ranks - 1.0);
    same * within + (1.0 - same) * between
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: LevelLinks = LevelLinks { latency: 1.0, bandwidth: f64::INFINITY };

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn mean_distances_are_those_of_the_textbook() {
        for n in [4, 8, 32, 128, 512] {
            let (rows, columns) = crate::topology::sides(n);
            let (r, c, n_f) = (rows as f64, columns as f64, n as f64);
            let distinct = n_f / (n_f - 1.0);
            let of_chain = |m: f64| (m * m - 1.0) / (3.0 * m);
            near(random(PublishedTopology::Star, n, LINK), 2.0);
            near(random(PublishedTopology::Ring, n, LINK), n_f / 4.0 * distinct);
            near(random(PublishedTopology::OneWayRing, n, LINK), n_f / 2.0);
            near(random(PublishedTopology::Mesh, n, LINK), (of_chain(r) + of_chain(c)) * distinct);
            near(random(PublishedTopology::Torus, n, LINK), (r + c) / 4.0 * distinct);
            let tree: f64 = (1..=n.ilog2()).map(|h| f64::from(2 * h) * f64::from(1 << (h - 1))).sum();
            near(random(PublishedTopology::Tree, n, LINK), tree / (n_f - 1.0));
        }
    }

    #[test]
    fn neighbours_on_the_ring_are_as_far_as_counted_by_hand() {
        for (topology, hops) in [
            (PublishedTopology::Star, 32),
            (PublishedTopology::Ring, 16),
            (PublishedTopology::OneWayRing, 16),
            // In a 4 by 4 mesh: 12 steps in a row, 3 to the next row of 4 hops each, and 6 hops home.
            (PublishedTopology::Mesh, 12 + 3 * 4 + 6),
            (PublishedTopology::Torus, 12 + 4 * 2),
            (PublishedTopology::Twisted, 16),
            // Pairs of siblings, of pairs, of fours, and of eights twice: the way home crosses the root too.
            (PublishedTopology::Tree, 8 * 2 + 4 * 4 + 2 * 6 + 8 + 8),
        ] {
            near(ring(topology, 16, LINK), f64::from(hops) / 16.0);
        }
    }

    #[test]
    fn nested_stars_pass_two_hubs_inside() {
        let (outer, inner) =
            (LevelLinks { latency: 1.0, bandwidth: 32.0 }, LevelLinks { latency: 0.1, bandwidth: 320.0 });
        // Of 7 partners one is on the same processor.
        near(
            nested(PublishedTopology::Star, 4, 2, outer, inner),
            (0.2 + 0.1) / 7.0 + 6.0 / 7.0 * (2.0 + 0.2 + 1.0),
        );
    }
}

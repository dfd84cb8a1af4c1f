//! The analytic network: L = sum(h_i * l_i) + s / min(b_i) over the levels that a message crosses
//! (Jones and Engelmann, "Simulation of Large-Scale HPC Architectures", sections III and IV.B).

#[cfg(test)]
pub(crate) mod tests;

use crate::bandwidth::{Bandwidth, Serialization};
use crate::by_size::BySize;
use crate::divisor::Divisor;
use crate::message::Endpoint;
use crate::model::{Formula, Uniform};
use crate::topology::AnyTopology;
use engine::Span;

/// The longest way across a network, in picoseconds, that leaves hop arithmetic free of overflow checks.
const LONGEST_WAY: u128 = 1 << 62;

/// One level to build a network from.
#[derive(Clone, Debug)]
pub(crate) struct AnalyticLevel {
    pub(crate) topology: AnyTopology,
    pub(crate) latency: Span,
    pub(crate) bandwidth: Bandwidth,
    /// The MPI library's own time for messages that meet in this level.
    pub(crate) delay: BySize,
}

/// A hierarchy of topologies without contention.
///
/// An endpoint's number is `(x_0 * n_1 + x_1) * n_2 + x_2 ...`, x_i its index in level i (outermost first)
/// and n_i that level's size. Two endpoints meet in the outermost level where their indices differ. The
/// message takes that level's hops between the two indices. In every level further in it takes the hops from
/// the source's index out to the gateway and from the gateway in to the destination's.
///
/// The bandwidth is the least of all levels in which it takes at least one hop. A message that takes no hop
/// at all (to the same endpoint) costs s/b of the innermost level. The level in which the two meet adds its
/// delay; a message to the same endpoint has none.
#[derive(Clone, Debug)]
pub(crate) struct Analytic {
    uniform: Option<Uniform>,
    /// All levels but the outermost, innermost first: the order in which endpoint numbers are taken apart.
    inner: Vec<LevelModel>,
    outermost: LevelModel,
    /// The levels' serializations, narrowest first.
    lines: Vec<Serialization>,
    /// For messages that take no hop.
    own: Serialization,
    endpoints: u64,
}

#[derive(Clone, Debug)]
struct LevelModel {
    topology: AnyTopology,
    size: Divisor,
    /// Picoseconds a link.
    latency: u64,
    /// Index into `Analytic::lines`.
    line: u32,
    delay: BySize,
}

/// The path between two endpoints.
pub(crate) struct EndpointPath<'a> {
    /// The latency of all links.
    pub(crate) latency: Span,
    /// The narrowest link.
    pub(crate) line: &'a Serialization,
    /// The delay of the level in which the two meet; none of a message to the same endpoint.
    pub(crate) delay: Option<&'a BySize>,
}

/// Hops in each level, outermost first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WayHops(pub(crate) Vec<u32>);

impl WayHops {
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().map(|&hops| u64::from(hops)).sum()
    }
}

impl Analytic {
    /// `levels` from the outermost in, at least one, their sizes' product below 2^32.
    pub(crate) fn new(levels: Vec<AnalyticLevel>) -> Result<Analytic, String> {
        let crossing = |level: &AnalyticLevel| {
            u128::from(level.topology.hop_bound()) * 2 * u128::from(level.latency.as_ps())
        };
        if levels.iter().map(crossing).sum::<u128>() > LONGEST_WAY {
            return Err(
                "its link latencies add up to more than 2^62 picoseconds (53 days) from one end to the \
                 other; lower l"
                    .to_owned(),
            );
        }
        let endpoints = levels.iter().map(|level| level.topology.endpoints()).product();
        let mut bandwidths: Vec<Bandwidth> = levels.iter().map(|level| level.bandwidth).collect();
        let own = Serialization::new(bandwidths[bandwidths.len() - 1]);
        bandwidths.sort_by(|a, b| a.is_below(*b).cmp(&b.is_below(*a)).reverse());
        let uniform = match &levels[..] {
            [
                AnalyticLevel {
                    topology: topology @ (AnyTopology::Star(_) | AnyTopology::None(_)),
                    latency,
                    bandwidth,
                    delay,
                },
            ] if delay.is_zero() => Some(Uniform {
                latency: *latency * topology.hop_bound(),
                line: Serialization::new(*bandwidth),
            }),
            _ => None,
        };
        let lines = bandwidths.iter().copied().map(Serialization::new).collect();
        let level = |level: AnalyticLevel| LevelModel {
            size: Divisor::new(u32::try_from(level.topology.endpoints()).expect("sizes are 32-bit")),
            line: bandwidths.iter().position(|&b| b == level.bandwidth).unwrap_or(0) as u32,
            latency: level.latency.as_ps(),
            topology: level.topology,
            delay: level.delay,
        };
        let mut levels = levels.into_iter().map(level);
        let outermost = levels.next().expect("a network has at least one level");
        let inner = levels.rev().collect();
        Ok(Analytic { uniform, inner, outermost, lines, own, endpoints })
    }

    #[inline(never)]
    fn latency_by_way(&self, source: Endpoint, destination: Endpoint, bytes: u64) -> Span {
        if self.inner.is_empty() {
            let hops = u64::from(self.outermost.topology.hops(source.0, destination.0));
            let delay = if source == destination { Span::ZERO } else { self.outermost.delay.time(bytes) };
            // `new` has bounded the product, and with one level `own` is its line.
            return Span::from_ps(hops * self.outermost.latency) + self.own.time(bytes) + delay;
        }
        let path = self.path(source.0, destination.0);
        path.latency + path.line.time(bytes) + path.delay.map_or(Span::ZERO, |delay| delay.time(bytes))
    }

    /// Returns the path of a message from one endpoint to another.
    pub(crate) fn path(&self, source: u32, destination: u32) -> EndpointPath<'_> {
        let (mut latency, mut narrowest, mut delay) = (0u64, u32::MAX, None);
        self.cross_levels(source, destination, |level, hops| {
            // `new` has bounded the sum over all levels.
            latency += u64::from(hops) * level.latency;
            if hops != 0 {
                narrowest = narrowest.min(level.line);
            }
            delay = Some(&level.delay);
        });
        EndpointPath {
            latency: Span::from_ps(latency),
            line: self.lines.get(narrowest as usize).unwrap_or(&self.own),
            delay: delay.filter(|_| source != destination),
        }
    }

    /// Returns the level in which two endpoints meet, 0 for the outermost. O(levels).
    pub(crate) fn meeting_level(&self, mut source: u32, mut destination: u32) -> usize {
        for (index, level) in self.inner.iter().enumerate() {
            (source, _) = level.size.split(source);
            (destination, _) = level.size.split(destination);
            if source == destination {
                return self.inner.len() - index;
            }
        }
        0
    }

    /// Returns the endpoints below one place of a level, 0 for the outermost.
    pub(crate) fn endpoints_below(&self, level: usize) -> u32 {
        self.inner[..self.inner.len() - level].iter().map(|level| level.size.divisor()).product()
    }

    /// Returns the endpoints of one instance of a level, 0 for the outermost.
    pub(crate) fn endpoints_of(&self, level: usize) -> u32 {
        match level.checked_sub(1) {
            Some(outer) => self.endpoints_below(outer),
            None => u32::try_from(self.endpoints).expect("sizes are 32-bit"),
        }
    }

    /// Tells `cross` each level that a message crosses, innermost first, and its hops there.
    #[inline]
    fn cross_levels<'a>(
        &'a self,
        mut source: u32,
        mut destination: u32,
        mut cross: impl FnMut(&'a LevelModel, u32),
    ) {
        for level in &self.inner {
            let (from, to);
            (source, from) = level.size.split(source);
            (destination, to) = level.size.split(destination);
            if source == destination {
                return cross(level, level.topology.hops(from, to));
            }
            cross(level, level.topology.hops_out(from) + level.topology.hops_in(to));
        }
        cross(&self.outermost, self.outermost.topology.hops(source, destination));
    }

    /// Returns the latency of the way from an endpoint out through the gateways of all levels.
    pub(crate) fn outwards(&self, source: Endpoint) -> Span {
        self.through_gateways(source, |topology, place| topology.hops_out(place))
    }

    /// Returns the least latency of the way from any endpoint out through the gateways of all levels.
    /// O(levels).
    pub(crate) fn least_outwards(&self) -> Span {
        let levels = self.inner.iter().chain([&self.outermost]);
        Span::from_ps(levels.map(|level| u64::from(level.topology.least_hops_out()) * level.latency).sum())
    }

    /// Returns the latency of the way in through the gateways of all levels to an endpoint.
    pub(crate) fn inwards(&self, destination: Endpoint) -> Span {
        self.through_gateways(destination, |topology, place| topology.hops_in(place))
    }

    fn through_gateways(&self, endpoint: Endpoint, hops: impl Fn(&AnyTopology, u32) -> u32) -> Span {
        let (mut rest, mut way) = (endpoint.0, 0);
        for level in self.inner.iter().chain([&self.outermost]) {
            let place;
            (rest, place) = level.size.split(rest);
            way += u64::from(hops(&level.topology, place)) * level.latency;
        }
        Span::from_ps(way)
    }

    /// Returns the topologies, outermost first.
    pub(crate) fn topologies(&self) -> impl DoubleEndedIterator<Item = &AnyTopology> + ExactSizeIterator {
        let level = |index: usize| {
            index.checked_sub(1).map_or(&self.outermost, |index| &self.inner[self.inner.len() - 1 - index])
        };
        (0..self.inner.len() + 1).map(move |index| &level(index).topology)
    }

    /// Returns the latency of a way with given hops in each level; `None` beyond 2^64 ps.
    pub(crate) fn latency_over(&self, hops: &WayHops, bytes: u64) -> Option<Span> {
        let levels = [&self.outermost]
            .into_iter()
            .chain(self.inner.iter().rev())
            .zip(&hops.0)
            .filter(|&(_, &hops)| hops > 0);
        let way = levels.clone().map(|(level, &hops)| u64::from(hops) * level.latency).sum();
        let delay =
            levels.clone().next().map_or(Some(Span::ZERO), |(level, _)| level.delay.checked_time(bytes));
        let line =
            levels.map(|(level, _)| level.line).min().map_or(&self.own, |line| &self.lines[line as usize]);
        Span::from_ps(way).checked_add(line.checked_time(bytes)?)?.checked_add(delay?)
    }

    /// Returns the least time of any message to `to` from another endpoint.
    fn shortest_way(&self, to: Endpoint) -> Option<Span> {
        let (mut rest, mut inwards, mut least) = (to.0, 0u64, None::<u64>);
        for level in self.inner.iter().chain([&self.outermost]) {
            let (outer, place) = level.size.split(rest);
            rest = outer;
            if level.topology.endpoints() > 1 {
                let hops = u64::from(level.topology.nearest(place));
                let way = inwards + hops * level.latency + level.delay.least().as_ps();
                least = Some(least.map_or(way, |least| least.min(way)));
            }
            let out = level.topology.least_hops_out();
            inwards += u64::from(out + level.topology.hops_in(place)) * level.latency;
        }
        least.map(Span::from_ps)
    }
}

impl Formula for Analytic {
    fn endpoints(&self) -> u64 {
        self.endpoints
    }
    /// Exact without delays; zero if there is no other endpoint. Endpoint 0 is at every gateway or as near to
    /// it as any other, so its lookahead is the least of all.
    fn lookahead(&self, to: Endpoint) -> Span {
        match &self.uniform {
            Some(uniform) if self.endpoints > 1 => uniform.latency,
            _ => self.shortest_way(to).unwrap_or(Span::ZERO),
        }
    }
    #[inline]
    fn latency(&self, source: Endpoint, destination: Endpoint, bytes: u64) -> Span {
        match &self.uniform {
            Some(uniform) => uniform.latency(source == destination, bytes),
            None => self.latency_by_way(source, destination, bytes),
        }
    }
    #[inline]
    fn uniform(&self) -> Option<Uniform> {
        self.uniform
    }
}

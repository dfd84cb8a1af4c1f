//! Tori and meshes of any number of dimensions (section IV.A.3 and 4 of the network model paper, figures 3
//! to 5): a row-major box whose dimensions are chains or rings.

use super::options::joined;
use super::{
    Cabled, Cabling, HopStatistics, Hops, KeyKind, Method, Neighbor, OptionKey, Paths, Range, Sizing,
    Topology, TopologyInput, Wrong, pick,
};
use crate::divisor::Divisor;

/// The most dimensions of a mesh or torus: a hypercube of 2^32 endpoints.
const MAX_DIMENSIONS: usize = 32;

/// A router for each point of a box, `concentration` endpoints at each router. Formulas count links between
/// routers, each of which is one endpoint; the gateway is the origin.
///
/// Endpoint e is at router e / concentration, and routers are numbered row-major: the last side varies
/// fastest. Dimensions count from there: dimension 0 is the last side's, port 2d leads one step up in
/// dimension d, port 2d+1 one step down, the ports after those to the endpoints.
#[derive(Clone, Debug)]
pub(crate) struct Torus {
    /// Last side first, the order in which a router's number is taken apart.
    dimensions: Vec<Dimension>,
    /// Dimensions of more than one index, which alone add hops.
    longer: Vec<Dimension>,
    routers: u64,
    concentration: Divisor,
}

#[derive(Clone, Copy, Debug)]
struct Dimension {
    side: Divisor,
    /// Routers from one index to the next.
    stride: u32,
    /// The side where the ends are joined; where they are not, so long that the way round never wins.
    round: u64,
}

impl Dimension {
    #[inline]
    fn is_ring(self) -> bool {
        self.round != u64::MAX
    }

    #[inline]
    fn hops(self, a: u32, b: u32) -> u32 {
        let straight = u64::from(a.abs_diff(b));
        straight.min(self.round - straight) as u32
    }

    /// Takes this dimension's coordinates off two router numbers, with the hops between them.
    #[inline]
    fn take(self, a: u32, b: u32) -> (u32, u32, u32) {
        let ((a, from), (b, to)) = (self.side.split(a), self.side.split(b));
        (a, b, self.hops(from, to))
    }

    /// Returns the greatest number of hops between two coordinates.
    fn diameter(self) -> u32 {
        if self.is_ring() { self.side.divisor() / 2 } else { self.side.divisor() - 1 }
    }

    /// Returns the sum of `hops` over all ordered pairs of coordinates, and the sum from coordinate 0.
    fn sums(self) -> (u128, u64) {
        let side = u64::from(self.side.divisor());
        if self.is_ring() {
            let from_one = side * side / 4;
            (u128::from(side) * u128::from(from_one), from_one)
        } else {
            let pairs = u128::from(side) * (u128::from(side) * u128::from(side) - 1) / 3;
            (pairs, side * (side - 1) / 2)
        }
    }
}

impl Torus {
    /// Makes a box of `sides`, at least 1 each and their product below 2^32; `wraps` joins a dimension's
    /// ends.
    pub(super) fn new(sides: &[u32], wraps: &[bool], concentration: u32) -> Result<Torus, String> {
        if sides.len() > MAX_DIMENSIONS {
            return Err(format!(
                "{} dimensions are more than the {MAX_DIMENSIONS} that are possible",
                sides.len()
            ));
        }
        let (mut dimensions, mut stride) = (Vec::with_capacity(sides.len()), 1u64);
        for (&side, &wraps) in sides.iter().zip(wraps).rev() {
            // A ring of two would be two cables between the same routers: one is a mesh.
            let round = if wraps && side > 2 { u64::from(side) } else { u64::MAX };
            dimensions.push(Dimension { side: Divisor::new(side), stride: stride as u32, round });
            stride *= u64::from(side);
        }
        let longer = dimensions.iter().filter(|dimension| dimension.side.divisor() > 1).copied().collect();
        Ok(Torus { dimensions, longer, routers: stride, concentration: Divisor::new(concentration) })
    }

    /// Returns the sides in the order of specifications.
    fn sides(&self) -> String {
        joined(&self.dimensions.iter().rev().map(|dimension| dimension.side.divisor()).collect::<Vec<_>>())
    }

    /// Returns how many dimensions.
    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions.len()
    }

    /// Returns `true` if dimension d is made of rings.
    #[inline]
    pub(crate) fn is_ring(&self, dimension: usize) -> bool {
        self.dimensions[dimension].is_ring()
    }

    /// Returns the router an endpoint is at, and its port there.
    #[inline]
    pub(crate) fn home(&self, endpoint: u32) -> (u32, u32) {
        let (router, index) = self.concentration.split(endpoint);
        (router, 2 * self.dimensions.len() as u32 + index)
    }

    /// Calls `step(dimension, links up, links down)` for each dimension in which the two routers differ until
    /// it answers; one of the two numbers is `None` where that way is longer.
    #[inline]
    pub(crate) fn first_step<T>(
        &self,
        from: u32,
        to: u32,
        mut step: impl FnMut(usize, Option<u32>, Option<u32>) -> Option<T>,
    ) -> Option<T> {
        let (mut a, mut b) = (from, to);
        for (index, dimension) in self.dimensions.iter().enumerate() {
            if a == b {
                return None;
            }
            let side = dimension.side;
            let (next_a, x) = side.split(a);
            let (next_b, y) = side.split(b);
            (a, b) = (next_a, next_b);
            if x == y {
                continue;
            }
            let answer = if dimension.is_ring() {
                let up = if y > x { y - x } else { y + side.divisor() - x };
                let down = side.divisor() - up;
                step(index, (up <= down).then_some(up), (down <= up).then_some(down))
            } else if y > x {
                step(index, Some(y - x), None)
            } else {
                step(index, None, Some(x - y))
            };
            if answer.is_some() {
                return answer;
            }
        }
        None
    }

    /// Returns the port of dimension-order routing towards `to`; which of two ways of equal length around a
    /// ring, by `hash`.
    #[inline]
    pub(crate) fn dimension_order(&self, from: u32, to: u32, hash: u32) -> Option<u32> {
        let (mut a, mut b) = (from, to);
        for (index, dimension) in self.dimensions.iter().enumerate() {
            let side = dimension.side;
            let (next_a, x) = side.split(a);
            let (next_b, y) = side.split(b);
            (a, b) = (next_a, next_b);
            if x != y {
                // Without branches: which way is shorter cannot be guessed.
                let up = y.wrapping_sub(x).wrapping_add(if y < x { side.divisor() } else { 0 });
                let down = side.divisor() - up;
                let shorter = u32::from(down < up) | (u32::from(down == up) & pick(hash, index as u32, 2));
                return Some(2 * index as u32 + if dimension.is_ring() { shorter } else { u32::from(y < x) });
            }
        }
        None
    }

    /// Returns `true` if the way around a ring that begins at `port` of `from` passes the link that closes
    /// the ring before it is level with `to`.
    #[inline]
    pub(crate) fn passes_closing_link(&self, from: u32, to: u32, port: u32) -> bool {
        let dimension = self.dimensions[(port / 2) as usize];
        let (x, y) = (coordinate(from, dimension), coordinate(to, dimension));
        dimension.is_ring() && if port.is_multiple_of(2) { x > y } else { x < y }
    }
}

fn coordinate(router: u32, dimension: Dimension) -> u32 {
    dimension.side.split(router / dimension.stride).1
}

const ENDPOINTS: OptionKey =
    OptionKey::new("p", KeyKind::Number(1, u32::MAX), "endpoints of a router, 1 by default").of_routers();
const RINGS: OptionKey = OptionKey::new(
    "rings",
    KeyKind::Word(&["bubble", "dateline"]),
    "rule that keeps rings from filling up: bubble, the default, or dateline",
)
.of_packets();
const SIDES: OptionKey = OptionKey::new("sides", KeyKind::Size, "sides of the box, such as 8x8").of_routers();

impl Topology for Torus {
    const NAME: &'static str = "torus";
    const SUMMARY: &'static str = "a box with the ends of chosen dimensions joined";
    const SIZING: Sizing = Sizing::Sides { default_dimensions: 3 };
    const KEYS: &'static [OptionKey] = &[
        OptionKey::new(
            "wrap",
            KeyKind::Bits,
            "for each dimension 1 if its ends are joined and 0 if not, as in wrap=101; all 1 by default",
        ),
        SIDES,
        ENDPOINTS,
        RINGS,
    ];
    type Shape = Torus;

    fn build(given: &TopologyInput<'_>) -> Result<Torus, Wrong> {
        let wraps = given.options.bits("wrap", given.sides.len(), true);
        Ok(Torus::new(given.sides, &wraps, given.options.number("p", 1))?)
    }
    fn cable(given: &TopologyInput<'_>) -> Result<Cabled<Torus>, Wrong> {
        cable(Torus::build(given)?, given)
    }
}

/// A torus without rings.
pub(crate) struct Mesh;

impl Topology for Mesh {
    const NAME: &'static str = "mesh";
    const SUMMARY: &'static str = "a box of any number of dimensions";
    const SIZING: Sizing = Sizing::Sides { default_dimensions: 2 };
    const KEYS: &'static [OptionKey] = &[SIDES, ENDPOINTS, RINGS];
    type Shape = Torus;

    fn build(given: &TopologyInput<'_>) -> Result<Torus, Wrong> {
        Ok(Torus::new(given.sides, &vec![false; given.sides.len()], given.options.number("p", 1))?)
    }
    fn cable(given: &TopologyInput<'_>) -> Result<Cabled<Torus>, Wrong> {
        cable(Mesh::build(given)?, given)
    }
}

fn cable(torus: Torus, given: &TopologyInput<'_>) -> Result<Cabled<Torus>, Wrong> {
    let concentration = torus.concentration.divisor();
    let ports = torus
        .routers
        .checked_mul(u64::from(concentration))
        .and_then(|endpoints| endpoints.checked_mul(2 * torus.dimensions.len() as u64 + 1));
    if ports.is_none_or(|ports| ports >= 1 << 29) {
        let sides = torus.sides();
        let why = format!(
            "{sides} routers with {concentration} endpoints each need more than 2^29 ports; use fewer"
        );
        return Err(why.into());
    }
    Ok(Cabled::new(torus, given).with_paths())
}

impl Hops for Torus {
    fn endpoints(&self) -> u64 {
        self.routers
    }
    #[inline]
    fn hops(&self, source: u32, destination: u32) -> u32 {
        // The usual numbers of dimensions, without a loop.
        match self.longer[..] {
            [] => 0,
            [x] => x.hops(source, destination),
            [y, x] => {
                let (source, destination, hops) = y.take(source, destination);
                hops + x.hops(source, destination)
            }
            [z, y, x] => {
                let (source, destination, along_z) = z.take(source, destination);
                let (source, destination, along_y) = y.take(source, destination);
                along_z + along_y + x.hops(source, destination)
            }
            [ref rest @ .., x] => {
                let (mut source, mut destination, mut hops) = (source, destination, 0);
                for dimension in rest {
                    let along;
                    (source, destination, along) = dimension.take(source, destination);
                    hops += along;
                }
                hops + x.hops(source, destination)
            }
        }
    }
    fn hop_bound(&self) -> u64 {
        self.dimensions.iter().map(|dimension| u64::from(dimension.diameter())).sum()
    }
    fn links(&self) -> u64 {
        let along = |dimension: &Dimension| {
            let side = u64::from(dimension.side.divisor());
            self.routers / side * if dimension.is_ring() { side } else { side - 1 }
        };
        self.dimensions.iter().map(along).sum()
    }
    fn statistics(&self) -> HopStatistics {
        let n = u128::from(self.routers);
        let (mut pairs, mut from_origin, mut diameter) = (0u128, 0u128, 0);
        for dimension in &self.dimensions {
            let side = u128::from(dimension.side.divisor());
            let (sum, origin) = dimension.sums();
            pairs += sum * (n / side) * (n / side);
            from_origin += u128::from(origin) * (n / side);
            diameter += dimension.diameter();
        }
        let average_hops = if n > 1 { pairs as f64 / (n * (n - 1)) as f64 } else { 0.0 };
        let gateway = Range { least: 0, greatest: diameter, average: from_origin as f64 / n as f64 };
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

impl Cabling for Torus {
    fn describe(&self) -> String {
        let name = if self.dimensions.iter().any(|dimension| dimension.is_ring()) { "torus" } else { "mesh" };
        format!("{} {name}, {} endpoints a router", self.sides(), self.concentration.divisor())
    }
    fn routers(&self) -> u32 {
        self.routers as u32
    }
    fn endpoints(&self) -> u32 {
        self.routers as u32 * self.concentration.divisor()
    }
    fn radix(&self) -> u32 {
        2 * self.dimensions.len() as u32 + self.concentration.divisor()
    }

    fn row(&self) -> u32 {
        self.dimensions.first().map_or(1, |last| last.side.divisor())
    }
    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        let Some(&dimension) = self.dimensions.get((port / 2) as usize) else {
            let index = port - 2 * self.dimensions.len() as u32;
            return Neighbor::Endpoint(router * self.concentration.divisor() + index);
        };
        let (side, stride) = (dimension.side.divisor(), dimension.stride);
        let x = coordinate(router, dimension);
        let edge = if port.is_multiple_of(2) { x + 1 == side } else { x == 0 };
        if edge && !dimension.is_ring() {
            return Neighbor::Nothing;
        }
        let to = if port.is_multiple_of(2) { (x + 1) % side } else { (x + side - 1) % side };
        Neighbor::Router { router: router - x * stride + to * stride, port: port ^ 1 }
    }

    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        self.home(endpoint)
    }
}

impl Paths for Torus {
    fn distance(&self, from: u32, to: u32) -> u32 {
        self.hops(from, to)
    }
    fn diameter(&self) -> u32 {
        self.dimensions.iter().map(|dimension| dimension.diameter()).sum()
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
            &[1, 1],
            &[1, 2],
            &[2, 1],
            &[1, 5],
            &[3, 3],
            &[5, 4],
            &[2, 2, 2],
            &[3, 1, 4],
            &[4, 3, 5],
            &[2, 1, 3, 2],
        ] {
            for bits in 0..1u32 << sides.len() {
                let wrap: Vec<bool> = (0..sides.len()).map(|k| bits >> k & 1 == 1).collect();
                let torus =
                    TopologyInput::with(sides, &[("wrap", OptionValue::Bits(wrap.clone()))], Torus::build);
                check(&torus, &graph(sides, &wrap), &format!("torus:{sides:?},{wrap:?}"));
                if bits == 0 {
                    let mesh = TopologyInput::with(sides, &[], Mesh::build);
                    check(&mesh, &graph(sides, &wrap), &format!("mesh:{sides:?}"));
                }
            }
        }
    }

    #[test]
    fn all_dimensions_are_joined_by_default() {
        let torus = TopologyInput::with(&[8, 8, 8], &[], Torus::build);
        assert_eq!((torus.hops(0, 511), torus.hops(0, 4), torus.statistics().diameter), (3, 4, 12));
    }
}

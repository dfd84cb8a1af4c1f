//! Tori and meshes of any number of dimensions.

use super::{Cabling, Neighbor, Paths, pick};
use crate::divisor::Divisor;
use crate::packet::spec::parameters::{KeyedValues, Wrong};
use crate::packet::spec::specified::{Cabled, Setting, Specified};

/// A router for each point of a grid, `concentration` endpoints at each router.
///
/// Endpoint e is at router e / concentration, and routers are numbered row-major as in a formula's networks:
/// the last side varies fastest. Dimensions count from there: dimension 0 is the last side's, port 2d leads
/// one step up in dimension d, port 2d+1 one step down, the ports after those to the endpoints.
pub(crate) struct PacketTorus {
    /// Last side first, the order in which a router's number is taken apart.
    sides: Vec<Divisor>,
    strides: Vec<u32>,
    wraps: Vec<bool>,
    routers: u32,
    concentration: Divisor,
}

impl PacketTorus {
    /// `sides` at least 1 each; `wraps` closes a side's dimension into rings.
    pub(crate) fn new(sides: &[u32], wraps: &[bool], concentration: u32) -> Result<PacketTorus, String> {
        let routers = sides.iter().try_fold(1u64, |a, &b| a.checked_mul(u64::from(b)));
        let routers = routers
            .filter(|n| n * u64::from(concentration) * (2 * sides.len() as u64 + 1) < 1 << 29)
            .ok_or_else(|| {
                format!(
                    "{} routers with {concentration} endpoints each need more than 2^29 ports; use fewer",
                    sides.iter().map(u32::to_string).collect::<Vec<_>>().join("x")
                )
            })?;
        let mut strides = Vec::new();
        let mut stride = 1;
        for &side in sides.iter().rev() {
            strides.push(stride);
            stride *= side;
        }
        // A ring of two would be two cables between the same routers: one is a mesh.
        let wraps = sides.iter().zip(wraps).rev().map(|(&side, &wraps)| wraps && side > 2).collect();
        let sides = sides.iter().rev().map(|&side| Divisor::new(side)).collect();
        Ok(PacketTorus {
            sides,
            strides,
            wraps,
            routers: routers as u32,
            concentration: Divisor::new(concentration),
        })
    }

    /// Returns how many dimensions.
    pub(crate) fn dimensions(&self) -> usize {
        self.sides.len()
    }

    /// Returns `true` if dimension d is made of rings.
    #[inline]
    pub(crate) fn is_ring(&self, dimension: usize) -> bool {
        self.wraps[dimension]
    }

    /// Returns the router an endpoint is at, and its port there.
    #[inline]
    pub(crate) fn home(&self, endpoint: u32) -> (u32, u32) {
        let (router, index) = self.concentration.split(endpoint);
        (router, 2 * self.sides.len() as u32 + index)
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
        for dimension in 0..self.sides.len() {
            if a == b {
                return None;
            }
            let side = self.sides[dimension];
            let (next_a, x) = side.split(a);
            let (next_b, y) = side.split(b);
            (a, b) = (next_a, next_b);
            if x == y {
                continue;
            }
            let answer = if self.wraps[dimension] {
                let up = if y > x { y - x } else { y + side.divisor() - x };
                let down = side.divisor() - up;
                step(dimension, (up <= down).then_some(up), (down <= up).then_some(down))
            } else if y > x {
                step(dimension, Some(y - x), None)
            } else {
                step(dimension, None, Some(x - y))
            };
            if answer.is_some() {
                return answer;
            }
        }
        None
    }

    /// Returns `true` if the way around a ring that begins at `port` of `from` passes the link that closes
    /// the ring before it is level with `to`.
    #[inline]
    pub(crate) fn passes_closing_link(&self, from: u32, to: u32, port: u32) -> bool {
        let dimension = (port / 2) as usize;
        let (x, y) = (self.coordinate(from, dimension), self.coordinate(to, dimension));
        self.wraps[dimension] && if port.is_multiple_of(2) { x > y } else { x < y }
    }

    fn coordinate(&self, router: u32, dimension: usize) -> u32 {
        self.sides[dimension].split(router / self.strides[dimension]).1
    }
}

const GRID: &[(&str, &str)] = &[
    ("sides", "routers in each dimension, such as 8x8"),
    ("p", "endpoints of a router (1)"),
    ("rings", "bubble or dateline"),
];

/// `torus:8x8`.
pub(crate) struct Closed;

impl Specified for Closed {
    const NAME: &'static str = "torus";
    const KEYS: &'static [(&'static str, &'static str)] = GRID;
    type Shape = PacketTorus;

    fn cable(parameters: &KeyedValues, setting: &Setting) -> Result<Cabled<PacketTorus>, Wrong> {
        grid(parameters, setting, true)
    }
}

/// `mesh:8x8`.
pub(crate) struct PacketMesh;

impl Specified for PacketMesh {
    const NAME: &'static str = "mesh";
    const KEYS: &'static [(&'static str, &'static str)] = GRID;
    type Shape = PacketTorus;

    fn cable(parameters: &KeyedValues, setting: &Setting) -> Result<Cabled<PacketTorus>, Wrong> {
        grid(parameters, setting, false)
    }
}

fn grid(parameters: &KeyedValues, setting: &Setting, wraps: bool) -> Result<Cabled<PacketTorus>, Wrong> {
    let sides = parameters.sides()?;
    let torus = PacketTorus::new(&sides, &vec![wraps; sides.len()], parameters.positive("p", 1)?)?;
    Ok(Cabled::new(torus, setting).with_paths())
}

impl Cabling for PacketTorus {
    fn describe(&self) -> String {
        let sides: Vec<_> = self.sides.iter().rev().map(|s| s.divisor().to_string()).collect();
        let name = if self.wraps.iter().any(|&w| w) { "torus" } else { "mesh" };
        format!("{} {name}, {} endpoints a router", sides.join("x"), self.concentration.divisor())
    }
    fn routers(&self) -> u32 {
        self.routers
    }
    fn endpoints(&self) -> u32 {
        self.routers * self.concentration.divisor()
    }
    fn radix(&self) -> u32 {
        2 * self.sides.len() as u32 + self.concentration.divisor()
    }

    fn row(&self) -> u32 {
        self.sides.first().map_or(1, |last| last.divisor())
    }
    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        let dimension = (port / 2) as usize;
        if dimension >= self.sides.len() {
            let index = port - 2 * self.sides.len() as u32;
            return Neighbor::Endpoint(router * self.concentration.divisor() + index);
        }
        let (side, stride) = (self.sides[dimension].divisor(), self.strides[dimension]);
        let x = self.coordinate(router, dimension);
        let edge = if port.is_multiple_of(2) { x + 1 == side } else { x == 0 };
        if edge && !self.wraps[dimension] {
            return Neighbor::Nothing;
        }
        let to = if port.is_multiple_of(2) { (x + 1) % side } else { (x + side - 1) % side };
        Neighbor::Router { router: router - x * stride + to * stride, port: port ^ 1 }
    }

    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        self.home(endpoint)
    }
}

impl Paths for PacketTorus {
    fn distance(&self, from: u32, to: u32) -> u32 {
        let mut links = 0;
        self.first_step::<()>(from, to, |_, up, down| {
            links += up.or(down).unwrap_or(0);
            None
        });
        links
    }
    fn diameter(&self) -> u32 {
        self.sides
            .iter()
            .zip(&self.wraps)
            .map(|(side, &ring)| if ring { side.divisor() / 2 } else { side.divisor() - 1 })
            .sum()
    }
}

/// Returns the port of dimension-order routing towards `to`; which of two ways of equal length around a ring,
/// by `hash`.
#[inline]
pub(crate) fn dimension_order(torus: &PacketTorus, from: u32, to: u32, hash: u32) -> Option<u32> {
    let (mut a, mut b) = (from, to);
    for (dimension, (side, &is_ring)) in torus.sides.iter().zip(&torus.wraps).enumerate() {
        let (next_a, x) = side.split(a);
        let (next_b, y) = side.split(b);
        (a, b) = (next_a, next_b);
        if x != y {
            // Without branches: which way is shorter cannot be guessed.
            let up = y.wrapping_sub(x).wrapping_add(if y < x { side.divisor() } else { 0 });
            let down = side.divisor() - up;
            let shorter = u32::from(down < up) | (u32::from(down == up) & pick(hash, dimension as u32, 2));
            return Some(2 * dimension as u32 + if is_ring { shorter } else { u32::from(y < x) });
        }
    }
    None
}

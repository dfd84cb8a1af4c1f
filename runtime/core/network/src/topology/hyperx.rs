//! HyperX: a grid whose every line is fully connected.

use super::options::joined;
use super::{
    Cabled, Cabling, DetailLevel, KeyKind, Neighbor, OptionKey, Paths, Sizing, Topology, TopologyInput,
    Wrong, pick,
};
use crate::divisor::Divisor;

/// Ahn, Binkert, Davis, McLaren and Schreiber, "HyperX: topology, routing, and packaging of efficient
/// large-scale networks" (SC 2009), with one link between two routers of a line. A flattened butterfly is one
/// with equal sides.
///
/// Routers are numbered row-major, the last side varying fastest. Ports: for each dimension from the last the
/// other routers of its line in ascending order, then the endpoints.
pub(crate) struct HyperX {
    /// Last side first.
    sides: Vec<Divisor>,
    strides: Vec<u32>,
    routers: u32,
    concentration: Divisor,
}

impl HyperX {
    /// `sides` at least 1 each.
    pub(crate) fn new(sides: &[u32], concentration: u32) -> Result<HyperX, String> {
        let ports = sides.iter().map(|&s| u64::from(s)).sum::<u64>() + u64::from(concentration);
        let routers = sides.iter().try_fold(1u64, |a, &b| a.checked_mul(u64::from(b)));
        let routers = routers
            .filter(|&n| n.saturating_mul(ports) < 1 << 29)
            .ok_or("this HyperX needs more than 2^29 ports; make it smaller")?;
        let mut stride = 1;
        let mut strides = Vec::new();
        for &side in sides.iter().rev() {
            strides.push(stride);
            stride *= side;
        }
        let sides = sides.iter().rev().map(|&side| Divisor::new(side)).collect();
        Ok(HyperX { sides, strides, routers: routers as u32, concentration: Divisor::new(concentration) })
    }

    /// Returns the port along the first line, from the last side on, in which the two routers differ; `None`
    /// if they are one.
    pub(crate) fn first_line(&self, from: u32, to: u32) -> Option<u32> {
        let (mut a, mut b, mut first) = (from, to, 0);
        for side in &self.sides {
            let ((next_a, x), (next_b, y)) = (side.split(a), side.split(b));
            if x != y {
                return Some(first + y - u32::from(y > x));
            }
            first += side.divisor() - 1;
            (a, b) = (next_a, next_b);
        }
        None
    }

    fn links(&self) -> u32 {
        self.sides.iter().map(|side| side.divisor() - 1).sum()
    }
}

impl Topology for HyperX {
    const NAME: &'static str = "hyperx";
    const SUMMARY: &'static str = "a box of routers whose lines are fully connected";
    const SIZING: Sizing = Sizing::Sides { default_dimensions: 2 };
    const KEYS: &'static [OptionKey] = &[
        OptionKey::new("sides", KeyKind::Size, "routers in each dimension, such as 4x4"),
        OptionKey::new("p", KeyKind::Number(1, u32::MAX), "endpoints of a router, 1 by default"),
    ];
    const LEVEL: DetailLevel = DetailLevel::Packet;
    type Shape = HyperX;

    fn build(given: &TopologyInput<'_>) -> Result<HyperX, Wrong> {
        Ok(HyperX::new(given.sides, given.options.number("p", 1))?)
    }
    fn cable(given: &TopologyInput<'_>) -> Result<Cabled<HyperX>, Wrong> {
        Ok(Cabled::new(HyperX::build(given)?, given).with_paths())
    }
}

impl Cabling for HyperX {
    fn describe(&self) -> String {
        let sides: Vec<u32> = self.sides.iter().rev().map(|side| side.divisor()).collect();
        format!("{} HyperX, {} endpoints a router", joined(&sides), self.concentration.divisor())
    }
    fn routers(&self) -> u32 {
        self.routers
    }
    fn endpoints(&self) -> u32 {
        self.routers * self.concentration.divisor()
    }
    fn radix(&self) -> u32 {
        self.links() + self.concentration.divisor()
    }
    fn row(&self) -> u32 {
        self.sides.first().map_or(1, |last| last.divisor())
    }
    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        let mut index = port;
        for (side, stride) in self.sides.iter().zip(&self.strides) {
            let x = side.split(router / stride).1;
            if index < side.divisor() - 1 {
                let to = index + u32::from(index >= x);
                return Neighbor::Router {
                    router: router - x * stride + to * stride,
                    port: port - index + x - u32::from(x > to),
                };
            }
            index -= side.divisor() - 1;
        }
        if index < self.concentration.divisor() {
            Neighbor::Endpoint(router * self.concentration.divisor() + index)
        } else {
            Neighbor::Nothing
        }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        let (router, index) = self.concentration.split(endpoint);
        (router, self.links() + index)
    }
}

impl Paths for HyperX {
    fn distance(&self, from: u32, to: u32) -> u32 {
        let (mut a, mut b, mut links) = (from, to, 0);
        for side in &self.sides {
            let ((next_a, x), (next_b, y)) = (side.split(a), side.split(b));
            links += u32::from(x != y);
            (a, b) = (next_a, next_b);
        }
        links
    }
    fn diameter(&self) -> u32 {
        self.sides.iter().filter(|side| side.divisor() > 1).count() as u32
    }
    fn minimal_port(&self, from: u32, to: u32, hash: u32) -> u32 {
        let distance = self.distance(from, to);
        let mut skip = pick(hash, distance, distance);
        let (mut a, mut b, mut first) = (from, to, 0);
        for side in &self.sides {
            let ((next_a, x), (next_b, y)) = (side.split(a), side.split(b));
            if x != y {
                if skip == 0 {
                    return first + y - u32::from(y > x);
                }
                skip -= 1;
            }
            first += side.divisor() - 1;
            (a, b) = (next_a, next_b);
        }
        first
    }
}

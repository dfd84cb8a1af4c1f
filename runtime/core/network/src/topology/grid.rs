//! What mesh and torus share: a row-major box of endpoints, each dimension a chain or a ring.

use super::{HopStatistics, Method, Range};
use crate::divisor::Divisor;

/// The most dimensions of a mesh or torus: a hypercube of 2^32 endpoints.
pub(super) const MAX_DIMENSIONS: usize = 32;

/// A box of endpoints. Endpoint numbers are row-major: the last dimension varies fastest.
#[derive(Clone, Debug)]
pub(super) struct EndpointBox {
    endpoints: u64,
    /// Last dimension first, the order in which an endpoint number is taken apart.
    dimensions: Vec<Dimension>,
}

#[derive(Clone, Copy, Debug)]
struct Dimension {
    side: Divisor,
    /// The side where the ends are joined; where they are not, so long that the way round never wins.
    round: u64,
}

impl Dimension {
    #[inline]
    fn hops(self, a: u32, b: u32) -> u32 {
        let straight = u64::from(a.abs_diff(b));
        straight.min(self.round - straight) as u32
    }

    /// Takes this dimension's coordinates off two endpoint numbers, with the hops between them.
    #[inline]
    fn take(self, a: u32, b: u32) -> (u32, u32, u32) {
        let ((a, from), (b, to)) = (self.side.split(a), self.side.split(b));
        (a, b, self.hops(from, to))
    }

    /// Returns the sum of `hops` over all ordered pairs of coordinates, the sum from coordinate 0, and the
    /// diameter.
    fn sums(self) -> (u128, u64, u32) {
        let side = u64::from(self.side.divisor());
        if self.round == side {
            let from_one = side * side / 4;
            (u128::from(side) * u128::from(from_one), from_one, (side / 2) as u32)
        } else {
            let pairs = u128::from(side) * (u128::from(side) * u128::from(side) - 1) / 3;
            (pairs, side * (side - 1) / 2, (side - 1) as u32)
        }
    }
}

impl EndpointBox {
    /// `wrap` says for each dimension whether its ends are joined.
    pub(super) fn new(sides: &[u32], wrap: &[bool]) -> Result<EndpointBox, String> {
        if sides.len() > MAX_DIMENSIONS {
            return Err(format!(
                "{} dimensions are more than the {MAX_DIMENSIONS} that are possible",
                sides.len()
            ));
        }
        let dimension = |(&side, &wrap): (&u32, &bool)| Dimension {
            side: Divisor::new(side),
            round: if wrap { u64::from(side) } else { u64::MAX },
        };
        let endpoints = sides.iter().map(|&side| u64::from(side)).product();
        // A side of 1 adds no hops, so it need not be looked at for each message.
        let dimensions = sides.iter().zip(wrap).rev().filter(|&(&side, _)| side > 1).map(dimension).collect();
        Ok(EndpointBox { endpoints, dimensions })
    }

    pub(super) fn endpoints(&self) -> u64 {
        self.endpoints
    }

    #[inline]
    pub(super) fn hops(&self, source: u32, destination: u32) -> u32 {
        // The usual numbers of dimensions, without a loop.
        match self.dimensions[..] {
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

    pub(super) fn hop_bound(&self) -> u64 {
        self.dimensions.iter().map(|d| u64::from(d.sums().2)).sum()
    }

    pub(super) fn links(&self) -> u64 {
        let along = |d: &Dimension| {
            let side = u64::from(d.side.divisor());
            // The two links round a ring of two join the same pair.
            let links = if d.round == side && side > 2 { side } else { side - 1 };
            self.endpoints / side * links
        };
        self.dimensions.iter().map(along).sum()
    }

    pub(super) fn statistics(&self) -> HopStatistics {
        let n = u128::from(self.endpoints);
        let (mut pairs, mut from_origin, mut diameter) = (0u128, 0u128, 0);
        for dimension in &self.dimensions {
            let side = u128::from(dimension.side.divisor());
            let (sum, origin, longest) = dimension.sums();
            pairs += sum * (n / side) * (n / side);
            from_origin += u128::from(origin) * (n / side);
            diameter += longest;
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

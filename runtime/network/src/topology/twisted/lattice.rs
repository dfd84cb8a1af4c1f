//! The places and links of a twisted torus, and distances by breadth-first search.

use crate::divisor::Divisor;

/// The most dimensions of a twisted torus.
pub(super) const MOST_DIMENSIONS: usize = 8;

/// Coordinates; those beyond the network's dimensions are 0.
pub(super) type Place = [u32; MOST_DIMENSIONS];

/// A direction of travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Up,
    Down,
}

#[derive(Clone, Debug)]
pub(super) struct Lattice {
    pub(super) dimensions: Vec<Dimension>,
    endpoints: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Dimension {
    pub(super) side: u32,
    divisor: Divisor,
    pub(super) wrap: bool,
    /// The dimension in which the wrapping link is shifted.
    pub(super) target: usize,
    /// Places that it is shifted upwards, below the target's side.
    pub(super) jump: u32,
}

impl Lattice {
    pub(super) fn new(sides: &[u32], wrap: &[bool], degree: u32, jump: &[u32]) -> Lattice {
        let count = sides.len();
        let dimension = |k: usize| {
            let target = (k + degree as usize) % count;
            Dimension { side: sides[k], divisor: Divisor::new(sides[k]), wrap: wrap[k], target, jump: jump[k] % sides[target] }
        };
        Lattice { dimensions: (0..count).map(dimension).collect(), endpoints: sides.iter().map(|&side| u64::from(side)).product() }
    }

    pub(super) fn endpoints(&self) -> u64 {
        self.endpoints
    }

    pub(super) fn mesh_diameter(&self) -> u64 {
        self.dimensions.iter().map(|dimension| u64::from(dimension.side - 1)).sum()
    }

    /// The coordinates of an endpoint, row-major.
    pub(super) fn place(&self, mut endpoint: u32) -> Place {
        let mut place = [0; MOST_DIMENSIONS];
        for (x, dimension) in place[..self.dimensions.len()].iter_mut().zip(&self.dimensions).rev() {
            (endpoint, *x) = dimension.divisor.split(endpoint);
        }
        place
    }

    pub(super) fn endpoint(&self, place: &Place) -> u32 {
        place.iter().zip(&self.dimensions).fold(0, |endpoint, (x, dimension)| endpoint * dimension.side + x)
    }

    /// Where dimension `k`'s wrapping link leaves when travelled this way; only wrapped dimensions have one.
    pub(super) fn seam(&self, k: usize, way: Way) -> u32 {
        let dimension = &self.dimensions[k];
        match way {
            Way::Up => dimension.side - 1,
            Way::Down if dimension.target == k => dimension.jump,
            Way::Down => 0,
        }
    }

    /// Takes the wrapping link of dimension `k` from its seam.
    pub(super) fn cross(&self, k: usize, way: Way, place: &mut Place) {
        let Dimension { side, target, .. } = self.dimensions[k];
        match way {
            Way::Up => place[k] = 0,
            Way::Down => place[k] = side - 1,
        }
        if target != k || way == Way::Up {
            place[target] = self.shifted(k, way, place[target]);
        }
    }

    /// How far upwards (modulo its side) a crossing shifts the target dimension.
    pub(super) fn shift(&self, k: usize, way: Way) -> u32 {
        let Dimension { target, jump, .. } = self.dimensions[k];
        match way {
            Way::Up => jump,
            Way::Down if jump == 0 => 0,
            Way::Down => self.dimensions[target].side - jump,
        }
    }

    fn shifted(&self, k: usize, way: Way, x: u32) -> u32 {
        let side = u64::from(self.dimensions[self.dimensions[k].target].side);
        let sum = u64::from(x) + u64::from(self.shift(k, way));
        (if sum >= side { sum - side } else { sum }) as u32
    }

    /// Tells `visit` every neighbour.
    fn neighbours(&self, place: &Place, mut visit: impl FnMut(u32)) {
        let here = self.endpoint(place);
        let mut stride = 1;
        for (k, dimension) in self.dimensions.iter().enumerate().rev() {
            if place[k] + 1 < dimension.side {
                visit(here + stride);
            }
            if place[k] > 0 {
                visit(here - stride);
            }
            stride = stride.wrapping_mul(dimension.side);
            for way in [Way::Up, Way::Down] {
                if dimension.wrap && place[k] == self.seam(k, way) {
                    let mut next = *place;
                    self.cross(k, way, &mut next);
                    visit(self.endpoint(&next));
                }
            }
        }
    }

    /// Hops from `source` to every endpoint.
    pub(super) fn distances(&self, source: u32) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.endpoints as usize];
        distance[source as usize] = 0;
        let (mut frontier, mut next, mut hops) = (vec![source], Vec::new(), 0);
        while !frontier.is_empty() {
            hops += 1;
            for &endpoint in &frontier {
                self.neighbours(&self.place(endpoint), |neighbour| {
                    if distance[neighbour as usize] == u32::MAX {
                        distance[neighbour as usize] = hops;
                        next.push(neighbour);
                    }
                });
            }
            std::mem::swap(&mut frontier, &mut next);
            next.clear();
        }
        distance
    }

    /// Pairs of neighbours: those of the mesh, and the wrapping links that join no such pair and differ.
    pub(super) fn links(&self) -> u64 {
        let inside: u64 = self.dimensions.iter().map(|d| self.endpoints / u64::from(d.side) * u64::from(d.side - 1)).sum();
        let mut wrapping = Vec::new();
        for (k, dimension) in self.dimensions.iter().enumerate().filter(|(_, dimension)| dimension.wrap) {
            let stride: u64 = self.dimensions[k + 1..].iter().map(|d| u64::from(d.side)).product();
            let run = stride * u64::from(dimension.side);
            for first in (0..self.endpoints).step_by(run as usize) {
                for last in first + run - stride..first + run {
                    let from = self.place(last as u32);
                    let mut to = from;
                    self.cross(k, Way::Up, &mut to);
                    if from.iter().zip(&to).map(|(a, b)| a.abs_diff(*b)).sum::<u32>() > 1 {
                        let other = u64::from(self.endpoint(&to));
                        wrapping.push((last.min(other), last.max(other)));
                    }
                }
            }
        }
        wrapping.sort_unstable();
        wrapping.dedup();
        inside + wrapping.len() as u64
    }
}

/// Hops between two places without wrapping links.
pub(super) fn mesh_distance(a: &Place, b: &Place) -> u32 {
    a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).sum()
}

//! The places and links of a twisted torus, and distances by breadth-first search.

use crate::divisor::Divisor;
use std::sync::OnceLock;

/// The most dimensions of a twisted torus.
pub(super) const MAX_DIMENSIONS: usize = 8;

/// Coordinates; those beyond the network's dimensions are 0.
pub(super) type Place = [u32; MAX_DIMENSIONS];

/// A direction of travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TravelDirection {
    Up,
    Down,
}

#[derive(Clone, Debug)]
pub(super) struct Lattice {
    pub(super) dimensions: Vec<LatticeDimension>,
    endpoints: u64,
    /// Neighbours of all endpoints of a small network, listed at the first search from a source.
    adjacency: OnceLock<Adjacency>,
}

/// Every endpoint's neighbours, one after the other.
#[derive(Clone, Debug)]
struct Adjacency {
    /// Index of each endpoint's first neighbour in `neighbours`; one entry more than endpoints.
    begins: Vec<u32>,
    neighbours: Vec<u32>,
}

/// The largest network whose neighbours are listed: at most 4 MiB.
const MAX_LISTED: u64 = 1 << 16;

#[derive(Clone, Copy, Debug)]
pub(super) struct LatticeDimension {
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
            LatticeDimension {
                side: sides[k],
                divisor: Divisor::new(sides[k]),
                wrap: wrap[k],
                target,
                jump: jump[k] % sides[target],
            }
        };
        let endpoints = sides.iter().map(|&side| u64::from(side)).product();
        Lattice { dimensions: (0..count).map(dimension).collect(), endpoints, adjacency: OnceLock::new() }
    }

    pub(super) fn endpoints(&self) -> u64 {
        self.endpoints
    }

    pub(super) fn mesh_diameter(&self) -> u64 {
        self.dimensions.iter().map(|dimension| u64::from(dimension.side - 1)).sum()
    }

    /// Returns the coordinates of an endpoint, row-major, in the first of `D` places.
    #[inline]
    pub(super) fn place<const D: usize>(&self, endpoint: u32) -> [u32; D] {
        place(&self.dimensions, endpoint)
    }

    pub(super) fn endpoint(&self, place: &Place) -> u32 {
        endpoint(&self.dimensions, place)
    }

    /// Returns where dimension `k`'s wrapping link leaves when travelled this way; only wrapped dimensions
    /// have one.
    pub(super) fn seam(&self, k: usize, way: TravelDirection) -> u32 {
        let dimension = &self.dimensions[k];
        match way {
            TravelDirection::Up => dimension.side - 1,
            TravelDirection::Down if dimension.target == k => dimension.jump,
            TravelDirection::Down => 0,
        }
    }

    /// Takes the wrapping link of dimension `k` from its seam.
    pub(super) fn cross(&self, k: usize, way: TravelDirection, place: &mut Place) {
        let LatticeDimension { side, target, .. } = self.dimensions[k];
        match way {
            TravelDirection::Up => place[k] = 0,
            TravelDirection::Down => place[k] = side - 1,
        }
        if target != k || way == TravelDirection::Up {
            place[target] = self.shifted(k, way, place[target]);
        }
    }

    /// Returns how far upwards (modulo its side) a crossing shifts the target dimension.
    pub(super) fn shift(&self, k: usize, way: TravelDirection) -> u32 {
        let LatticeDimension { target, jump, .. } = self.dimensions[k];
        match way {
            TravelDirection::Up => jump,
            TravelDirection::Down if jump == 0 => 0,
            TravelDirection::Down => self.dimensions[target].side - jump,
        }
    }

    fn shifted(&self, k: usize, way: TravelDirection, x: u32) -> u32 {
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
            for way in [TravelDirection::Up, TravelDirection::Down] {
                if dimension.wrap && place[k] == self.seam(k, way) {
                    let mut next = *place;
                    self.cross(k, way, &mut next);
                    visit(self.endpoint(&next));
                }
            }
        }
    }

    fn adjacency(&self) -> &Adjacency {
        self.adjacency.get_or_init(|| {
            let mut list = Adjacency { begins: vec![0], neighbours: Vec::new() };
            for endpoint in 0..self.endpoints as u32 {
                self.neighbours(&self.place(endpoint), |neighbour| list.neighbours.push(neighbour));
                list.begins.push(list.neighbours.len() as u32);
            }
            list
        })
    }

    /// Hops from `source` to every endpoint.
    pub(super) fn distances(&self, source: u32) -> Vec<u32> {
        if self.endpoints > MAX_LISTED {
            return self
                .breadth_first(source, |endpoint, visit| self.neighbours(&self.place(endpoint), visit));
        }
        let list = self.adjacency();
        self.breadth_first(source, |endpoint, visit| {
            let range = list.begins[endpoint as usize] as usize..list.begins[endpoint as usize + 1] as usize;
            list.neighbours[range].iter().for_each(|&neighbour| visit(neighbour));
        })
    }

    fn breadth_first(&self, source: u32, neighbours: impl Fn(u32, &mut dyn FnMut(u32))) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.endpoints as usize];
        distance[source as usize] = 0;
        let (mut frontier, mut next, mut hops) = (vec![source], Vec::new(), 0);
        while !frontier.is_empty() {
            hops += 1;
            for &endpoint in &frontier {
                neighbours(endpoint, &mut |neighbour| {
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
        let inside: u64 =
            self.dimensions.iter().map(|d| self.endpoints / u64::from(d.side) * u64::from(d.side - 1)).sum();
        let mut wrapping = Vec::new();
        for (k, dimension) in self.dimensions.iter().enumerate().filter(|(_, dimension)| dimension.wrap) {
            let stride: u64 = self.dimensions[k + 1..].iter().map(|d| u64::from(d.side)).product();
            let run = stride * u64::from(dimension.side);
            for first in (0..self.endpoints).step_by(run as usize) {
                for last in first + run - stride..first + run {
                    let from: Place = self.place(last as u32);
                    let mut to = from;
                    self.cross(k, TravelDirection::Up, &mut to);
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

/// Row-major coordinates, 0 in places beyond the dimensions.
#[inline]
pub(super) fn place<const D: usize>(dimensions: &[LatticeDimension], mut endpoint: u32) -> [u32; D] {
    let mut place = [0; D];
    for (x, dimension) in place.iter_mut().zip(dimensions).rev() {
        (endpoint, *x) = dimension.divisor.split(endpoint);
    }
    place
}

/// Returns the endpoint at row-major coordinates.
#[inline]
pub(super) fn endpoint(dimensions: &[LatticeDimension], place: &[u32]) -> u32 {
    place.iter().zip(dimensions).fold(0, |endpoint, (x, dimension)| endpoint * dimension.side + x)
}

//! Exact distances in a long twisted torus from two tables.
//!
//! Take the longest dimension r, of side m, and call a *section* the endpoints of one place in it. Wrapping
//! links of other dimensions may be shifted in r, by at most J places up or down. Then a path either touches
//! one of the first max(1, J) sections, or it never leaves the places from there to m - 1: no link can leap
//! over so many sections.
//!
//! - Of the paths that touch them, the shortest is the least sum of the ways from both ends to an endpoint
//!   of these sections (a *portal*); the distances from all portals are one table.
//! - The others are paths in an endless strip of sections, where links do not depend on the place in r;
//!   distances in it by section and offset are the other table. A strip's shortest path of L hops strays at
//!   most (L * max(1, J) - offset) / 2 places beyond its ends. Where that keeps it inside, it is a path of
//!   the torus; where it may not, its length is a lower bound still.

use super::lattice::{Lattice, MAX_DIMENSIONS, Place, TravelDirection};
use crate::divisor::Divisor;
use std::collections::VecDeque;

/// Steps of breadth-first search that the tables may take, each: some tenths of a second.
const MAX_STEPS: u64 = 1 << 23;

/// The two tables.
#[derive(Debug)]
pub(super) struct Oracle {
    long: Divisor,
    /// Endpoints from one place of the long dimension to the next.
    stride: Divisor,
    /// Endpoints of a section.
    section: usize,
    /// Sections of portals.
    thickness: u32,
    /// For each endpoint the hops to every portal.
    portals: Box<[u16]>,
    /// For each two places in a section the hops in the strip for each offset upwards from the first to the
    /// second.
    strip: Box<[u16]>,
}

/// Distance by the tables: exact, or between two bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DistanceBound {
    Exactly(u32),
    Between(u32, u32),
}

impl Oracle {
    /// Returns the tables, where they are small enough.
    pub(super) fn new(lattice: &Lattice) -> Option<Oracle> {
        let (r, long) = lattice.dimensions.iter().enumerate().max_by_key(|(_, dimension)| dimension.side)?;
        let side = long.side;
        let section = lattice.endpoints() / u64::from(side);
        let shifted = lattice.dimensions.iter().filter(|dimension| dimension.wrap && dimension.target == r);
        let reach =
            shifted.map(|dimension| dimension.jump.min(side - dimension.jump)).max().unwrap_or(0).max(1);
        let longest = lattice.mesh_diameter();
        // The walk bounds a shortest path in the strip, hence how far it strays beyond its ends.
        let (along, across) = (u64::from(side - 1), longest - u64::from(side - 1));
        let margin = (along * u64::from(reach - 1) + across * u64::from(reach)).div_ceil(2);
        let steps = [
            section * u64::from(reach) * lattice.endpoints(),
            section * section * (u64::from(side) + 2 * margin),
        ];
        if long.target == r
            || reach >= side
            || longest >= u64::from(u16::MAX)
            || steps.iter().any(|&steps| steps > MAX_STEPS)
        {
            return None;
        }
        let stride = lattice.dimensions[r + 1..].iter().map(|dimension| dimension.side).product();
        let mut oracle = Oracle {
            long: Divisor::new(side),
            stride: Divisor::new(stride),
            section: section as usize,
            thickness: reach,
            portals: Box::default(),
            strip: Box::default(),
        };
        oracle.portals = oracle.portal_table(lattice);
        oracle.strip = oracle.strip_table(lattice, r, margin as usize);
        Some(oracle)
    }

    /// Returns an endpoint's place in its section, and its place in the long dimension.
    #[inline]
    fn split(&self, endpoint: u32) -> (usize, u32) {
        let (rest, low) = self.stride.split(endpoint);
        let (high, place) = self.long.split(rest);
        ((high * self.stride.divisor() + low) as usize, place)
    }

    fn endpoint(&self, within: usize, place: u32) -> u32 {
        let (high, low) = self.stride.split(within as u32);
        (high * self.long.divisor() + place) * self.stride.divisor() + low
    }

    fn portal_table(&self, lattice: &Lattice) -> Box<[u16]> {
        let count = self.section * self.thickness as usize;
        let mut table = vec![0; lattice.endpoints() as usize * count].into_boxed_slice();
        let portals =
            (0..self.thickness).flat_map(|place| (0..self.section).map(move |within| (within, place)));
        for (index, (within, place)) in portals.enumerate() {
            for (endpoint, hops) in lattice.distances(self.endpoint(within, place)).into_iter().enumerate() {
                table[endpoint * count + index] = hops as u16;
            }
        }
        table
    }

    fn strip_table(&self, lattice: &Lattice, r: usize, margin: usize) -> Box<[u16]> {
        let links: Vec<Vec<(usize, isize)>> =
            (0..self.section).map(|within| self.strip_links(lattice, r, within)).collect();
        let side = self.long.divisor() as usize;
        // Offsets from -margin to side - 1 + margin.
        let width = side + 2 * margin;
        let mut table = Vec::with_capacity(self.section * self.section * side);
        let mut hops = vec![u32::MAX; self.section * width];
        let mut queue = VecDeque::new();
        for source in 0..self.section {
            hops.fill(u32::MAX);
            hops[source * width + margin] = 0;
            queue.push_back((source, margin));
            while let Some((within, at)) = queue.pop_front() {
                let next = hops[within * width + at] + 1;
                let along = [(within, 1), (within, -1)];
                for &(other, offset) in links[within].iter().chain(&along) {
                    let Some(to) = at.checked_add_signed(offset).filter(|&to| to < width) else { continue };
                    let known = &mut hops[other * width + to];
                    if *known == u32::MAX {
                        *known = next;
                        queue.push_back((other, to));
                    }
                }
            }
            for row in hops.chunks_exact(width) {
                table.extend(row[margin..margin + side].iter().map(|&hops| hops as u16));
            }
        }
        table.into()
    }

    /// Links from a place in the section: to which, and how far along the strip.
    fn strip_links(&self, lattice: &Lattice, r: usize, within: usize) -> Vec<(usize, isize)> {
        let here: Place = lattice.place::<MAX_DIMENSIONS>(self.endpoint(within, 0));
        let mut links = Vec::new();
        let mut link = |mut place: Place, offset| {
            place[r] = 0;
            links.push((self.split(lattice.endpoint(&place)).0, offset));
        };
        for (k, dimension) in lattice.dimensions.iter().enumerate().filter(|&(k, _)| k != r) {
            let mut next = here;
            if here[k] + 1 < dimension.side {
                next[k] = here[k] + 1;
                link(next, 0);
            }
            if here[k] > 0 {
                next[k] = here[k] - 1;
                link(next, 0);
            }
            for way in [TravelDirection::Up, TravelDirection::Down] {
                if dimension.wrap && here[k] == lattice.seam(k, way) {
                    let mut next = here;
                    lattice.cross(k, way, &mut next);
                    let (side, shift) = (self.long.divisor() as isize, next[r] as isize);
                    link(next, if 2 * shift > side { shift - side } else { shift });
                }
            }
        }
        links
    }

    /// Returns what is known of the distance between two endpoints.
    pub(super) fn distance(&self, a: u32, b: u32) -> DistanceBound {
        let count = self.section * self.thickness as usize;
        let portals = |endpoint: u32| &self.portals[endpoint as usize * count..][..count];
        let sums = portals(a).iter().zip(portals(b)).map(|(&a, &b)| u32::from(a) + u32::from(b));
        let touching = sums.min().unwrap_or(u32::MAX);
        let ((below, low), (above, high)) = {
            let (a, b) = (self.split(a), self.split(b));
            if a.1 <= b.1 { (a, b) } else { (b, a) }
        };
        let (side, offset) = (self.long.divisor(), high - low);
        let strip = u32::from(self.strip[(below * self.section + above) * side as usize + offset as usize]);
        if touching <= strip {
            return DistanceBound::Exactly(touching);
        }
        let stray = (u64::from(strip) * u64::from(self.thickness) - u64::from(offset)) / 2;
        let inside =
            u64::from(low) >= u64::from(self.thickness) + stray && u64::from(high) + stray < u64::from(side);
        if inside { DistanceBound::Exactly(strip) } else { DistanceBound::Between(strip, touching) }
    }
}

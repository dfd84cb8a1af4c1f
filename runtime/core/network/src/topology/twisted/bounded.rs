//! The search of the network model paper (section IV.A.5): depth first, each dimension traversed at most
//! once.

use super::lattice::{Lattice, MAX_DIMENSIONS as LATTICE_DIMENSIONS, Place, TravelDirection};

/// The search looks at up to `d! * 2^d` paths of `d` dimensions.
pub(super) const MAX_DIMENSIONS: usize = 6;

/// Returns the fewest hops of a path that travels along each dimension at most once, in any order and either
/// way, wrapping or not, until that dimension's coordinate is the destination's. Cheapest
/// direction first; a path is not followed beyond the length of the best one found.
///
/// The result is never below the shortest path, and above it where that traverses a dimension twice.
pub(super) fn distance(lattice: &Lattice, source: u32, destination: u32) -> u32 {
    let mut search = BoundedSearch { lattice, destination: lattice.place(destination), best: u32::MAX };
    let all = (1 << lattice.dimensions.len()) - 1;
    search.follow(&lattice.place(source), 0, all);
    search.best
}

struct BoundedSearch<'a> {
    lattice: &'a Lattice,
    destination: Place,
    best: u32,
}

impl BoundedSearch<'_> {
    /// Goes on from `place` after `hops` with the dimensions of the bit set `left`.
    fn follow(&mut self, place: &Place, hops: u32, left: u32) {
        if *place == self.destination {
            self.best = self.best.min(hops);
            return;
        }
        let mut steps = [(u32::MAX, 0, TravelDirection::Up); 2 * LATTICE_DIMENSIONS];
        let mut count = 0;
        for k in (0..self.lattice.dimensions.len()).filter(|k| left >> k & 1 == 1) {
            for way in [TravelDirection::Up, TravelDirection::Down] {
                if let Some((length, _)) = self.travel(place, k, way) {
                    steps[count] = (length, k, way);
                    count += 1;
                }
            }
        }
        steps[..count].sort_by_key(|&(length, ..)| length);
        for &(length, k, way) in &steps[..count] {
            if hops + length >= self.best {
                break;
            }
            if let Some((length, next)) = self.travel(place, k, way) {
                self.follow(&next, hops + length, left & !(1 << k));
            }
        }
    }

    /// Returns the way along dimension `k` to the destination's coordinate, wrapping once if need be: its
    /// length and end.
    fn travel(&self, place: &Place, k: usize, way: TravelDirection) -> Option<(u32, Place)> {
        let (from, to) = (place[k], self.destination[k]);
        let straight =
            |from: u32| if way == TravelDirection::Up { to.checked_sub(from) } else { from.checked_sub(to) };
        let mut next = *place;
        if let Some(length) = straight(from) {
            next[k] = to;
            return Some((length, next));
        }
        let seam = self.lattice.seam(k, way);
        let before = if way == TravelDirection::Up { seam.checked_sub(from) } else { from.checked_sub(seam) };
        let before = before.filter(|_| self.lattice.dimensions[k].wrap)?;
        self.lattice.cross(k, way, &mut next);
        let after = straight(next[k])?;
        next[k] = to;
        Some((before + 1 + after, next))
    }
}

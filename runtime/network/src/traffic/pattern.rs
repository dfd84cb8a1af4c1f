//! Who sends to whom.

use super::random::Random;
use std::str::FromStr;

/// A pattern over the n endpoints of a job (Dally and Towles, "Principles and practices of interconnection networks", table 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// To any endpoint, itself included, evenly at random.
    Uniform,
    /// To the next or the one after it, evenly at random (FatTreeSim's nearest neighbour).
    Neighbor,
    /// To the six neighbours in a periodic three-dimensional grid, in turn.
    Stencil3d,
    /// From row r, column c of a square to row c, column r.
    Transpose,
    /// From i to n-1-i.
    BitComplement,
    /// Just less than halfway around each dimension.
    Tornado,
    /// To one endpoint each, a random permutation.
    Permutation,
    /// All to the first.
    Incast,
    /// To every other endpoint in turn, starting with the next.
    Alltoall,
}

const NAMES: [(&str, Pattern); 9] = [
    ("uniform", Pattern::Uniform),
    ("neighbor", Pattern::Neighbor),
    ("stencil3d", Pattern::Stencil3d),
    ("transpose", Pattern::Transpose),
    ("bit-complement", Pattern::BitComplement),
    ("tornado", Pattern::Tornado),
    ("permutation", Pattern::Permutation),
    ("incast", Pattern::Incast),
    ("alltoall", Pattern::Alltoall),
];

impl Pattern {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, pattern)| *pattern == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Pattern {
    type Err = String;
    fn from_str(text: &str) -> Result<Pattern, String> {
        let names = || NAMES.iter().map(|n| n.0).collect::<Vec<_>>().join(", ");
        NAMES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|n| n.1)
            .ok_or_else(|| format!("'{text}' is not a pattern; take one of {}", names()))
    }
}

/// A pattern made ready for `count` endpoints.
#[derive(Clone, Debug)]
pub(super) struct Destinations {
    pattern: Pattern,
    count: u32,
    /// Sides of the grid; endpoints are numbered row-major, the last side varying fastest.
    grid: Vec<u32>,
    permutation: Vec<u32>,
}

impl Destinations {
    /// The error is a sentence about a pattern that `count` or `grid` makes impossible.
    pub(super) fn new(pattern: Pattern, count: u32, grid: Option<&[u32]>, seed: u64) -> Result<Destinations, String> {
        if let Some(grid) = grid
            && grid.iter().map(|&s| u64::from(s)).product::<u64>() != u64::from(count)
        {
            return Err(format!("the grid has not {count} points, one for each endpoint; leave it out or change its sides"));
        }
        let grid = match (pattern, grid) {
            (Pattern::Stencil3d, Some(grid)) if grid.len() == 3 => grid.to_vec(),
            (Pattern::Stencil3d, Some(grid)) => {
                return Err(format!("stencil3d needs three sides, not {}; write for example --grid 4x4x1", grid.len()));
            }
            (Pattern::Stencil3d, None) => cubic(count),
            (Pattern::Transpose, _) => {
                let side = (f64::from(count)).sqrt().round() as u32;
                if side.checked_mul(side) != Some(count) {
                    return Err(format!("transpose needs a square number of endpoints, not {count}"));
                }
                vec![side, side]
            }
            (_, Some(grid)) => grid.to_vec(),
            (_, None) => vec![count],
        };
        if count == 1 && matches!(pattern, Pattern::Incast | Pattern::Alltoall) {
            return Err(format!("{} needs at least two endpoints", pattern.name()));
        }
        let mut permutation = Vec::new();
        if pattern == Pattern::Permutation {
            let mut random = Random::new(seed, u64::MAX);
            permutation = (0..count).collect();
            for i in (1..count).rev() {
                permutation.swap(i as usize, random.below(i + 1) as usize);
            }
        }
        Ok(Destinations { pattern, count, grid, permutation })
    }

    /// Whether an endpoint sends at all.
    pub(super) fn sends(&self, source: u32) -> bool {
        !(self.pattern == Pattern::Incast && source == 0)
    }

    /// Messages that leave at one instant.
    pub(super) fn round(&self) -> u32 {
        if self.pattern == Pattern::Stencil3d { 6 } else { 1 }
    }

    /// Where the `index`-th message of `source` goes.
    #[inline]
    pub(super) fn of(&self, source: u32, index: u32, random: &mut Random) -> u32 {
        let count = self.count;
        match self.pattern {
            Pattern::Uniform => random.below(count),
            Pattern::Neighbor => (source + 1 + random.below(2)) % count,
            Pattern::Stencil3d => self.step(source, |dimension, side| match index % 6 {
                face if face / 2 != dimension => 0,
                face if face % 2 == 0 => 1 % side,
                _ => side - 1,
            }),
            Pattern::Transpose => source % self.grid[0] * self.grid[0] + source / self.grid[0],
            Pattern::BitComplement => count - 1 - source,
            Pattern::Tornado => self.step(source, |_, side| side.div_ceil(2) - 1),
            Pattern::Permutation => self.permutation[source as usize],
            Pattern::Incast => 0,
            Pattern::Alltoall => (source + 1 + index % (count - 1)) % count,
        }
    }

    /// Moves by `by(dimension, side)` in each dimension, counted from the last, around its end.
    fn step(&self, source: u32, by: impl Fn(u32, u32) -> u32) -> u32 {
        let (mut rest, mut stride, mut to) = (source, 1, 0);
        for (dimension, &side) in self.grid.iter().rev().enumerate() {
            to += (rest % side + by(dimension as u32, side)) % side * stride;
            rest /= side;
            stride *= side;
        }
        to
    }
}

/// Three sides with this product, as equal as possible, the largest first.
fn cubic(count: u32) -> Vec<u32> {
    let mut best = vec![count, 1, 1];
    let divisors =
        |n: u32| (1..=n).take_while(move |d| u64::from(*d) * u64::from(*d) <= u64::from(n)).filter(move |d| n.is_multiple_of(*d));
    for a in divisors(count) {
        for b in divisors(count / a) {
            let mut sides = vec![a, b, count / a / b];
            sides.sort_unstable_by(|x, y| y.cmp(x));
            if sides[0] - sides[2] < best[0] - best[2] {
                best = sides;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn destinations(pattern: Pattern, count: u32) -> Destinations {
        Destinations::new(pattern, count, None, 3).unwrap()
    }

    #[test]
    fn fixed_patterns_are_permutations() {
        for pattern in [Pattern::Transpose, Pattern::BitComplement, Pattern::Tornado, Pattern::Permutation] {
            let ready = destinations(pattern, 64);
            let mut seen: Vec<u32> = (0..64).map(|s| ready.of(s, 0, &mut Random::new(0, 0))).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..64), "{}", pattern.name());
        }
    }

    #[test]
    fn a_stencil_has_six_mutual_neighbours() {
        let ready = destinations(Pattern::Stencil3d, 4 * 3 * 5);
        let random = &mut Random::new(0, 0);
        for source in 0..60 {
            for face in 0..6 {
                let to = ready.of(source, face, random);
                assert_eq!(ready.of(to, face ^ 1, random), source);
                assert_ne!(to, source);
            }
        }
    }

    #[test]
    fn tornado_goes_just_less_than_halfway_around_each_dimension() {
        let ready = Destinations::new(Pattern::Tornado, 64, Some(&[8, 8]), 0).unwrap();
        assert_eq!(ready.of(0, 0, &mut Random::new(0, 0)), 3 + 3 * 8);
    }

    proptest! {
        #[test]
        fn every_destination_is_in_range(count in 2u32..5000, source: u32, index: u32, seed: u64) {
            for (_, pattern) in NAMES {
                if let Ok(ready) = Destinations::new(pattern, count, None, seed) {
                    prop_assert!(ready.of(source % count, index, &mut Random::new(seed, 1)) < count);
                }
            }
        }

        #[test]
        fn cubic_sides_multiply_to_the_count(count in 1u32..100_000) {
            prop_assert_eq!(cubic(count).iter().product::<u32>(), count);
        }
    }
}

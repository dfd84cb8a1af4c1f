//! Who sends to whom.

mod file;

use engine::Random;
use file::DestinationWeights;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;

/// A pattern over the n endpoints of a job (Dally and Towles, "Principles and practices of interconnection
/// networks", table 3.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TrafficPattern {
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
    /// To any endpoint of the next group (without groups: of the next router), evenly at random: a
    /// dragonfly's worst case, where one global link carries what a group sends (Kim et al., ISCA 2008).
    NextGroup,
    /// This many of a million messages to the first endpoint, the others to any endpoint, evenly at random.
    HotSpot(u32),
    /// To the number rotated left by a bit; a power of two endpoints.
    Shuffle,
    /// To the number with its bits in reverse order; a power of two endpoints.
    BitReversal,
    /// To one endpoint each, from a file that has a line for each endpoint.
    PermutationFile(PathBuf),
    /// At random by weights from a file of lines `SOURCE DESTINATION WEIGHT`; who has no line sends nothing.
    Matrix(PathBuf),
}

/// Default share of the hot spot: this many of a million messages.
const HOT_SPOT: u32 = 100_000;

const NAMES: [(&str, TrafficPattern); 13] = [
    ("uniform", TrafficPattern::Uniform),
    ("neighbor", TrafficPattern::Neighbor),
    ("stencil3d", TrafficPattern::Stencil3d),
    ("transpose", TrafficPattern::Transpose),
    ("bit-complement", TrafficPattern::BitComplement),
    ("tornado", TrafficPattern::Tornado),
    ("permutation", TrafficPattern::Permutation),
    ("incast", TrafficPattern::Incast),
    ("alltoall", TrafficPattern::Alltoall),
    ("next-group", TrafficPattern::NextGroup),
    ("hotspot", TrafficPattern::HotSpot(HOT_SPOT)),
    ("shuffle", TrafficPattern::Shuffle),
    ("bit-reversal", TrafficPattern::BitReversal),
];

impl TrafficPattern {
    /// Returns its name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            TrafficPattern::HotSpot(_) => "hotspot",
            TrafficPattern::PermutationFile(_) => "permutation from a file",
            TrafficPattern::Matrix(_) => "matrix",
            _ => NAMES.iter().find(|(_, pattern)| pattern == self).map_or("", |(name, _)| name),
        }
    }

    /// Returns `true` if it runs over a grid, whose sides can be given.
    pub fn has_grid(&self) -> bool {
        matches!(self, TrafficPattern::Stencil3d | TrafficPattern::Tornado)
    }
}

impl FromStr for TrafficPattern {
    type Err = String;
    fn from_str(text: &str) -> Result<TrafficPattern, String> {
        let share = |share: &str| -> Result<u32, String> {
            let share = share.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
            share
                .map(|share| (share * 1e6).round() as u32)
                .ok_or_else(|| format!("{text} does not give a share from 0 to 1, such as hotspot=0.2"))
        };
        match text.split_once('=') {
            Some(("hotspot", value)) => return share(value).map(TrafficPattern::HotSpot),
            Some(("permutation", file)) if !file.is_empty() => {
                return Ok(TrafficPattern::PermutationFile(file.into()));
            }
            Some(("matrix", file)) if !file.is_empty() => return Ok(TrafficPattern::Matrix(file.into())),
            _ => {}
        }
        let names = || {
            NAMES
                .iter()
                .map(|n| n.0)
                .chain(["hotspot=SHARE", "permutation=FILE", "matrix=FILE"])
                .collect::<Vec<_>>()
                .join(", ")
        };
        NAMES
            .iter()
            .find(|(name, _)| *name == text)
            .map(|n| n.1.clone())
            .ok_or_else(|| format!("'{text}' is not a pattern; take one of {}", names()))
    }
}

/// A pattern made ready for `count` endpoints.
#[derive(Clone, Debug)]
pub(super) struct Destinations {
    pattern: TrafficPattern,
    count: u32,
    /// Sides of the grid; endpoints are numbered row-major, the last side varying fastest.
    grid: Vec<u32>,
    permutation: Vec<u32>,
    weights: DestinationWeights,
    /// The members after each member's group: first, and one past the last.
    next_groups: Vec<(u32, u32)>,
}

impl Destinations {
    /// `group` is that of a member, equal for neighbours in number only; it is asked by patterns of groups.
    /// The error is a sentence about a pattern that `count`, `grid`, the groups or a file make impossible.
    pub(super) fn new(
        pattern: TrafficPattern,
        count: u32,
        grid: Option<&[u32]>,
        seed: u64,
        group: impl Fn(u32) -> u32,
    ) -> Result<Destinations, String> {
        let grid = grid.filter(|_| pattern.has_grid());
        if let Some(grid) = grid
            && grid.iter().map(|&s| u64::from(s)).product::<u64>() != u64::from(count)
        {
            return Err(format!(
                "the grid has not {count} points, one for each endpoint; leave it out or change its sides"
            ));
        }
        let grid = match (&pattern, grid) {
            (TrafficPattern::Stencil3d, Some(grid)) if grid.len() == 3 => grid.to_vec(),
            (TrafficPattern::Stencil3d, Some(grid)) => {
                return Err(format!(
                    "stencil3d needs three sides, not {}; write for example --grid 4x4x1",
                    grid.len()
                ));
            }
            (TrafficPattern::Stencil3d, None) => cubic(count),
            (TrafficPattern::Transpose, _) => {
                let side = (f64::from(count)).sqrt().round() as u32;
                if side.checked_mul(side) != Some(count) {
                    return Err(format!("transpose needs a square number of endpoints, not {count}"));
                }
                vec![side, side]
            }
            (_, Some(grid)) => grid.to_vec(),
            (_, None) => vec![count],
        };
        if count == 1 && matches!(pattern, TrafficPattern::Incast | TrafficPattern::Alltoall) {
            return Err(format!("{} needs at least two endpoints", pattern.name()));
        }
        if matches!(pattern, TrafficPattern::Shuffle | TrafficPattern::BitReversal)
            && !count.is_power_of_two()
        {
            return Err(format!("{} needs a power of two endpoints, not {count}", pattern.name()));
        }
        let mut ready = Destinations {
            pattern,
            count,
            grid,
            permutation: Vec::new(),
            weights: DestinationWeights::default(),
            next_groups: Vec::new(),
        };
        match &ready.pattern {
            TrafficPattern::Permutation => ready.permutation = shuffled(count, seed),
            TrafficPattern::PermutationFile(path) => ready.permutation = file::permutation(path, count)?,
            TrafficPattern::Matrix(path) => ready.weights = file::matrix(path, count)?,
            TrafficPattern::NextGroup => ready.next_groups = next_groups(count, group)?,
            _ => {}
        }
        Ok(ready)
    }

    /// Returns `true` if an endpoint sends at all.
    pub(super) fn sends(&self, source: u32) -> bool {
        match self.pattern {
            TrafficPattern::Incast => source != 0,
            TrafficPattern::Matrix(_) => self.weights.sends(source),
            _ => true,
        }
    }

    /// Returns the number of messages that leave at one instant.
    pub(super) fn round(&self) -> u32 {
        if self.pattern == TrafficPattern::Stencil3d { 6 } else { 1 }
    }

    /// Returns where the `index`-th message of `source` goes.
    #[inline]
    pub(super) fn of(&self, source: u32, index: u32, random: &mut Random) -> u32 {
        let count = self.count;
        match &self.pattern {
            TrafficPattern::Uniform => random.below(count),
            TrafficPattern::Neighbor => (source + 1 + random.below(2)) % count,
            TrafficPattern::Stencil3d => self.step(source, |dimension, side| match index % 6 {
                face if face / 2 != dimension => 0,
                face if face % 2 == 0 => 1 % side,
                _ => side - 1,
            }),
            TrafficPattern::Transpose => source % self.grid[0] * self.grid[0] + source / self.grid[0],
            TrafficPattern::BitComplement => count - 1 - source,
            TrafficPattern::Tornado => self.step(source, |_, side| side.div_ceil(2) - 1),
            TrafficPattern::Permutation | TrafficPattern::PermutationFile(_) => {
                self.permutation[source as usize]
            }
            TrafficPattern::Matrix(_) => self.weights.pick(source, random),
            TrafficPattern::NextGroup => {
                let (first, end) = self.next_groups[source as usize];
                first + random.below(end - first)
            }
            TrafficPattern::HotSpot(share) if random.below(1_000_000) < *share => 0,
            TrafficPattern::HotSpot(_) => random.below(count),
            TrafficPattern::Shuffle => {
                source << 1 & (count - 1) | source >> (count.ilog2().max(1) - 1) & 1 & (count - 1)
            }
            TrafficPattern::BitReversal => source.reverse_bits().unbounded_shr(u32::BITS - count.ilog2()),
            TrafficPattern::Incast => 0,
            TrafficPattern::Alltoall => (source + 1 + index % (count - 1)) % count,
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

/// Returns the numbers below `count` in a random order.
pub(crate) fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed, u64::MAX);
    let mut permutation: Vec<u32> = (0..count).collect();
    for i in (1..count).rev() {
        permutation.swap(i as usize, random.below(i + 1) as usize);
    }
    permutation
}

/// Returns for each member the members of the group after its own, the first after the last.
fn next_groups(count: u32, group: impl Fn(u32) -> u32) -> Result<Vec<(u32, u32)>, String> {
    let mut groups: Vec<Range<u32>> = Vec::new();
    for member in 0..count {
        match groups.last_mut() {
            Some(last) if group(last.start) == group(member) => last.end = member + 1,
            _ => groups.push(member..member + 1),
        }
    }
    if groups.len() < 2 {
        return Err("next-group needs endpoints of at least two groups".to_owned());
    }
    let after = |index: usize| &groups[(index + 1) % groups.len()];
    Ok(groups
        .iter()
        .enumerate()
        .flat_map(|(index, own)| own.clone().map(move |_| (after(index).start, after(index).end)))
        .collect())
}

/// Three sides with this product, as equal as possible, the largest first.
fn cubic(count: u32) -> Vec<u32> {
    let mut best = vec![count, 1, 1];
    let divisors = |n: u32| {
        (1..=n)
            .take_while(move |d| u64::from(*d) * u64::from(*d) <= u64::from(n))
            .filter(move |d| n.is_multiple_of(*d))
    };
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

    fn destinations(pattern: TrafficPattern, count: u32) -> Destinations {
        Destinations::new(pattern, count, None, 3, |member| member / 4).unwrap()
    }

    #[test]
    fn fixed_patterns_are_permutations() {
        let patterns = [
            TrafficPattern::Transpose,
            TrafficPattern::BitComplement,
            TrafficPattern::Tornado,
            TrafficPattern::Permutation,
        ];
        for pattern in patterns.into_iter().chain([TrafficPattern::Shuffle, TrafficPattern::BitReversal]) {
            let ready = destinations(pattern.clone(), 64);
            let mut seen: Vec<u32> = (0..64).map(|s| ready.of(s, 0, &mut Random::new(0, 0))).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..64), "{}", pattern.name());
        }
    }

    #[test]
    fn a_stencil_has_six_mutual_neighbours() {
        let ready = destinations(TrafficPattern::Stencil3d, 4 * 3 * 5);
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
        let ready = Destinations::new(TrafficPattern::Tornado, 64, Some(&[8, 8]), 0, |_| 0).unwrap();
        assert_eq!(ready.of(0, 0, &mut Random::new(0, 0)), 3 + 3 * 8);
    }

    #[test]
    fn bits_are_rotated_and_reversed() {
        let to = |pattern, count, source| destinations(pattern, count).of(source, 0, &mut Random::new(0, 0));
        assert_eq!(to(TrafficPattern::Shuffle, 16, 0b1011), 0b0111);
        assert_eq!(to(TrafficPattern::BitReversal, 16, 0b1010), 0b0101);
        assert_eq!(
            (
                to(TrafficPattern::Shuffle, 1, 0),
                to(TrafficPattern::BitReversal, 1, 0),
                to(TrafficPattern::Shuffle, 2, 1)
            ),
            (0, 0, 1)
        );
        let refused = Destinations::new(TrafficPattern::Shuffle, 12, None, 0, |_| 0).unwrap_err();
        assert!(refused.contains("power of two endpoints, not 12"), "{refused}");
    }

    #[test]
    fn the_next_group_gets_what_a_group_sends() {
        // Groups of four, the last of two.
        let ready = destinations(TrafficPattern::NextGroup, 10);
        let random = &mut Random::new(1, 2);
        let mut hit = [false; 10];
        for _ in 0..200 {
            for source in 0..10 {
                let to = ready.of(source, 0, random);
                assert_eq!(to / 4, (source / 4 + 1) % 3);
                hit[to as usize] = true;
            }
        }
        assert_eq!(hit, [true; 10]);
        assert!(
            Destinations::new(TrafficPattern::NextGroup, 10, None, 0, |_| 7)
                .unwrap_err()
                .contains("two groups")
        );
    }

    #[test]
    fn a_hot_spot_gets_its_share() {
        let share = |text: &str| {
            let ready = destinations(text.parse().unwrap(), 100);
            let random = &mut Random::new(5, 6);
            (0..20_000).filter(|_| ready.of(3, 0, random) == 0).count() as f64 / 20_000.0
        };
        assert!((share("hotspot=0.3") - 0.307).abs() < 0.02 && (share("hotspot") - 0.109).abs() < 0.02);
        assert!("hotspot=1.2".parse::<TrafficPattern>().unwrap_err().contains("share from 0 to 1"));
    }

    #[test]
    fn files_say_who_sends_to_whom() {
        let path = std::env::temp_dir().join(format!("xsim-pattern-{}", std::process::id()));
        let read = |kind: &str, text: &str| {
            std::fs::write(&path, text).unwrap();
            Destinations::new(format!("{kind}={}", path.display()).parse().unwrap(), 3, None, 0, |_| 0)
        };
        let random = &mut Random::new(5, 6);
        let ready = read("permutation", "# to\n2\n0\n\n1\n").unwrap();
        assert_eq!([0, 1, 2].map(|source| ready.of(source, 0, random)), [2, 0, 1]);
        let ready = read("matrix", "0 1 3\n0 2 1 # rarely\n2 0 0.5\n").unwrap();
        assert_eq!([0, 1, 2].map(|source| ready.sends(source)), [true, false, true]);
        let to_1 = (0..20_000).filter(|_| ready.of(0, 0, random) == 1).count() as f64 / 20_000.0;
        assert!((to_1 - 0.75).abs() < 0.02, "{to_1}");
        for (kind, text, why) in [
            ("permutation", "2\n0\n", "2 lines with a destination"),
            ("permutation", "2\n0\n0\n", "line 3: endpoint 0 is the destination of two"),
            ("permutation", "2\n0\n3\n", "line 3: '3' is not an endpoint from 0 to 2"),
            ("matrix", "0 1\n", "line 1: '0 1' is not SOURCE DESTINATION WEIGHT"),
            ("matrix", "0 1 -2\n", "line 1: '-2' is not a weight"),
            ("matrix", "0 5 2\n", "line 1: '5' is not an endpoint"),
            ("matrix", "\n", "nobody sends"),
        ] {
            let error = read(kind, text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        let endless = Destinations::new("matrix=/dev/zero".parse().unwrap(), 3, None, 0, |_| 0).unwrap_err();
        assert!(endless.contains("more than 256 MiB"), "{endless}");
    }

    proptest! {
        #[test]
        fn every_destination_is_in_range(count in 2u32..5000, source: u32, index: u32, seed: u64) {
            for (_, pattern) in NAMES {
                if let Ok(ready) = Destinations::new(pattern, count, None, seed, |member| member / 8) {
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

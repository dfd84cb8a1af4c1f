//! A level's size: given, or left open for the number of ranks to decide.

use crate::topology::Sizing;
use std::fmt;

/// Size of a level, as specified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// Nothing given.
    Open,
    /// `3d`: as many near-equal sides as that.
    Dimensions(u32),
    /// `8x8xn`: the sides; at most one is open (`n`).
    Sides(Vec<Option<u32>>),
    /// The topology's options give it.
    ByOptions,
}

impl Size {
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Size::Open | Size::Dimensions(_) => true,
            Size::Sides(sides) => sides.contains(&None),
            Size::ByOptions => false,
        }
    }

    pub(crate) fn dimensions(&self, sizing: Sizing) -> usize {
        match (self, sizing) {
            (_, Sizing::Count) => 1,
            (_, Sizing::Options) | (Size::ByOptions, _) => 0,
            (Size::Open, Sizing::Sides { default_dimensions }) => default_dimensions,
            (&Size::Dimensions(dimensions), _) => dimensions as usize,
            (Size::Sides(sides), _) => sides.len(),
        }
    }

    /// Returns the product of the sides that are given; `None` beyond 2^64.
    pub(super) fn given(&self) -> Option<u64> {
        let Size::Sides(sides) = self else { return Some(1) };
        sides.iter().flatten().try_fold(1u64, |product, &side| product.checked_mul(u64::from(side)))
    }

    /// Returns the sides with room for `count` endpoints, where this size is open.
    pub(super) fn sides(&self, sizing: Sizing, count: u32) -> Vec<u32> {
        match self {
            Size::Sides(sides) => {
                let given: u64 = self.given().unwrap_or(u64::MAX);
                let open = u64::from(count).div_ceil(given) as u32;
                sides.iter().map(|side| side.unwrap_or(open)).collect()
            }
            Size::ByOptions => Vec::new(),
            Size::Open | Size::Dimensions(_) => balanced(count, self.dimensions(sizing)),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Open | Size::ByOptions => Ok(()),
            Size::Dimensions(dimensions) => write!(f, "{dimensions}d"),
            Size::Sides(sides) => {
                let side = |side: &Option<u32>| side.map_or("n".to_owned(), |side| side.to_string());
                f.write_str(&sides.iter().map(side).collect::<Vec<_>>().join("x"))
            }
        }
    }
}

/// Returns the fewest endpoints, at least `count`, that make a box of `dimensions` sides of which the longest
/// is at most twice the shortest; of equally many the one with the least sum of sides. Longest side first, as
/// `MPI_Dims_create` orders them.
fn balanced(count: u32, dimensions: usize) -> Vec<u32> {
    struct SideSearch {
        count: u64,
        dimensions: usize,
        sides: Vec<u64>,
        best: Option<(u64, u64, Vec<u64>)>,
    }
    impl SideSearch {
        fn extend(&mut self, product: u64) {
            let (shortest, last) = (self.sides.first().copied(), self.sides.last().copied().unwrap_or(1));
            let missing = (self.dimensions - self.sides.len()) as u32;
            if missing == 1 {
                let side = self.count.div_ceil(product).max(last);
                if side > shortest.map_or(side, |shortest| 2 * shortest) {
                    return;
                }
                let key = (product * side, self.sides.iter().sum::<u64>() + side);
                if self.best.as_ref().is_none_or(|(product, sum, _)| key < (*product, *sum)) {
                    let sides = self.sides.iter().copied().chain([side]).rev().collect();
                    self.best = Some((key.0, key.1, sides));
                }
                return;
            }
            // Ascending, so the rest is at least this side each, and at most twice the shortest.
            let longest = shortest.map_or(u64::MAX, |shortest| 2 * shortest);
            for side in last..=longest {
                let most = 2 * shortest.unwrap_or(side);
                if most.checked_pow(missing - 1).is_some_and(|rest| product * side * rest < self.count) {
                    continue;
                }
                self.sides.push(side);
                self.extend(product * side);
                self.sides.pop();
                if side.checked_pow(missing).is_none_or(|rest| product.saturating_mul(rest) >= self.count) {
                    break;
                }
            }
        }
    }
    let mut search = SideSearch { count: u64::from(count), dimensions, sides: Vec::new(), best: None };
    search.extend(1);
    let (_, _, sides) = search.best.expect("equal sides, each the rounded-up root, always suit");
    sides.into_iter().map(|side| side as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_sides_are_near_equal() {
        for (count, dimensions, sides) in [
            (128, 2, &[16, 8][..]),
            (1024, 2, &[32, 32]),
            (1000, 3, &[10, 10, 10]),
            (512, 3, &[8, 8, 8]),
            (1, 3, &[1, 1, 1]),
            (2, 2, &[2, 1]),
            (7, 2, &[4, 2]),
            (97, 2, &[14, 7]),
            (1_000_000, 2, &[1000, 1000]),
            (1_000_000, 3, &[100, 100, 100]),
            (5, 1, &[5]),
            (1 << 20, 20, &[2; 20]),
        ] {
            assert_eq!(balanced(count, dimensions), sides, "{count} in {dimensions} dimensions");
        }
    }

    #[test]
    fn balanced_finds_the_least_box_there_is() {
        let exhaustive = |count: u32| {
            (1..=count)
                .flat_map(|a| (a..=2 * a).map(move |b| a * b))
                .filter(|&area| area >= count)
                .min()
                .unwrap()
        };
        for count in 1..400 {
            assert_eq!(balanced(count, 2).iter().product::<u32>(), exhaustive(count), "{count}");
        }
    }

    #[test]
    fn the_largest_counts_are_answered_soon() {
        for dimensions in 1..=32 {
            let sides = balanced(i32::MAX as u32, dimensions);
            assert!(sides.iter().map(|&s| u64::from(s)).product::<u64>() >= i32::MAX as u64);
            assert!(sides[0] <= 2 * sides[dimensions - 1]);
        }
    }
}

//! Ranks on a grid, as the paper's generator of programs lays them (`mpigen` of the reference).

/// One to three sides; the first coordinate of a rank varies fastest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    sides: [u64; 3],
}

/// Returns the least `n` with `n^power >= size`.
fn root(size: u64, power: u32) -> u64 {
    let reaches = |n: u64| n.checked_pow(power).is_none_or(|whole| whole >= size);
    let near = (size as f64).powf(1.0 / f64::from(power)) as u64;
    // The floating-point root is off by less than two.
    (near.saturating_sub(2)..near + 3).find(|&n| reaches(n)).unwrap_or(near + 3)
}

impl Grid {
    /// Sides for a rank count: the ceiling of its root, then that of the square root of what is left of it,
    /// then the rest.
    ///
    /// `None` if their product is another number, as of 14 ranks in three dimensions: 3 x 2 x 2.
    pub fn new(ranks: u64, dimensions: u32) -> Option<Grid> {
        let sides = match dimensions {
            1 => [ranks, 1, 1],
            2 => {
                let x = root(ranks, 2);
                [x, ranks.checked_div(x)?, 1]
            }
            _ => {
                let x = root(ranks, 3);
                let y = root(ranks.checked_div(x)?, 2);
                [x, y, ranks.checked_div(x * y)?]
            }
        };
        let grid = Grid { sides };
        (ranks > 0 && grid.ranks() == ranks).then_some(grid)
    }

    /// Returns the nearest rank counts below, if there is one, and above that have a grid.
    pub fn near(ranks: u64, dimensions: u32) -> (Option<u64>, u64) {
        let fits = |&ranks: &u64| Grid::new(ranks, dimensions).is_some();
        let above = (ranks + 1..).find(fits).unwrap_or(ranks);
        ((1..ranks).rev().find(fits), above)
    }

    /// Returns the sides, those that are not used being 1.
    pub fn sides(&self) -> [u64; 3] {
        self.sides
    }

    /// Returns how many ranks it has.
    pub fn ranks(&self) -> u64 {
        self.sides.iter().product()
    }

    /// Returns where a rank is.
    pub fn place(&self, rank: u64) -> [u64; 3] {
        let [x, y, _] = self.sides;
        [rank % x, rank / x % y, rank / (x * y)]
    }

    /// Returns the rank that is `step` away from a place, around the ends if `periodic`.
    pub fn away(&self, place: [u64; 3], step: [i64; 3], periodic: bool) -> Option<u64> {
        let mut there = [0u64; 3];
        for axis in 0..3 {
            let (side, at) = (self.sides[axis] as i64, place[axis] as i64 + step[axis]);
            if !periodic && !(0..side).contains(&at) {
                return None;
            }
            there[axis] = at.rem_euclid(side) as u64;
        }
        Some(there[0] + self.sides[0] * (there[1] + self.sides[1] * there[2]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cubes_are_cubes() {
        for side in 1..200 {
            assert_eq!(Grid::new(side * side * side, 3).unwrap().sides(), [side; 3]);
            assert_eq!(Grid::new(side * side, 2).unwrap().sides(), [side, side, 1]);
        }
    }

    #[test]
    fn other_sizes_are_what_the_generator_makes_of_them_or_nothing() {
        assert_eq!(Grid::new(12, 3).unwrap().sides(), [3, 2, 2]);
        assert_eq!(Grid::new(18, 3).unwrap().sides(), [3, 3, 2]);
        assert_eq!(Grid::new(24, 3), None, "3 x 3 x 2");
        assert_eq!(Grid::new(14, 3), None);
        assert_eq!(Grid::new(0, 3), None);
        assert_eq!(Grid::near(14, 3), (Some(12), 18));
        assert_eq!(Grid::new(7, 1).unwrap().sides(), [7, 1, 1]);
    }

    #[test]
    fn places_lead_back_to_ranks() {
        let grid = Grid::new(12, 3).unwrap();
        for rank in 0..12 {
            assert_eq!(grid.away(grid.place(rank), [0, 0, 0], false), Some(rank));
            assert_eq!(grid.away(grid.place(rank), [3, -2, 4], true), Some(rank));
        }
        assert_eq!(grid.away([2, 1, 1], [1, 0, 0], false), None);
        assert_eq!(grid.away([2, 1, 1], [1, 0, 0], true), Some(9));
    }
}

//! Rank counts that belong together, and what may be said of a rank on any of them: where it is in a grid,
//! which ranks are of its kind.

use fit::exact::{Exact, Term, below, root, terms};
use smallvec::SmallVec;

/// Coordinates of a rank along each side of a grid.
pub type Coordinates = SmallVec<[u32; 3]>;

/// A grid of all ranks, row by row: the last coordinate moves first, as in `MPI_Cart_create`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankGrid {
    /// The sides, by run.
    sides: Vec<Vec<u32>>,
}

impl RankGrid {
    /// Returns how many sides it has.
    pub fn dimensions(&self) -> usize {
        self.sides[0].len()
    }

    /// Returns its sides on this run.
    pub fn sides(&self, run: usize) -> &[u32] {
        &self.sides[run]
    }

    /// Returns `true` if its sides have the same proportions on all runs; or it is two squares.
    fn is_regular(&self) -> bool {
        let of = |run: usize, side: usize| u64::from(self.sides[run][side]);
        let same = |side: usize| {
            (0..self.sides.len()).all(|run| of(run, side) * of(0, 0) == of(0, side) * of(run, 0))
        };
        (1..self.dimensions()).all(|side| same(side) || self.sides.iter().all(|sides| sides[side] == 2))
    }

    /// Returns where a rank is.
    pub fn coordinates(&self, run: usize, mut rank: u32) -> Coordinates {
        let mut coordinates: Coordinates = self.sides[run]
            .iter()
            .rev()
            .map(|&side| {
                let at = rank % side;
                rank /= side;
                at
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// Returns the rank that is there.
    pub fn rank(&self, run: usize, coordinates: &[u32]) -> u32 {
        self.sides[run].iter().zip(coordinates).fold(0, |rank, (&side, &at)| rank * side + at)
    }
}

/// A way to tell kinds of ranks apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Partition {
    /// The first rank and the others; and the last, too.
    Ends { last: bool },
    /// Even and odd ranks, the first and the last apart.
    Parity,
    /// Rank 0, odd ranks and the others: the leaves of a binomial tree are a kind.
    Zeros,
    /// By each coordinate of a grid: so near to one end, so near to the other, or neither. That is corners,
    /// edges, faces and what is within.
    Border { grid: usize, width: u32 },
    /// Borders, and whether each coordinate is even.
    Checkered { grid: usize },
    /// Above, on or below the diagonal of the first two coordinates.
    Diagonal { grid: usize },
}

/// The grids in which ranks are assumed to be.
///
/// Any number of ranks has some balanced grid. Through the sides of such grids that do not grow together
/// there is a formula for much that has nothing to do with them. So 16, 36 and 64 are the squares of 4, 6
/// and 8. They are also twice the longer sides of what 64, 216 and 512 ranks are on a plane, 8, 18 and 32.
///
/// So these are looked at only where the others do not explain a trace, and those of two and of three
/// dimensions apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grids {
    /// Grids whose sides have the same proportions for all counts: squares, cubes, rectangles twice as long
    /// as wide.
    Regular,
    /// Whatever `MPI_Dims_create` makes of so many dimensions.
    Balanced(usize),
}

/// Rank counts, those of the traces and last the one that is wanted, and what they have in common. A *run* is
/// a place among them.
#[derive(Clone, Debug)]
pub struct Family {
    /// The counts.
    pub counts: Vec<u32>,
    /// Grids that all of them have.
    pub grids: Vec<RankGrid>,
    /// Functions of the count: those of numbers, and the sides of grids.
    pub terms: Vec<Term>,
    /// From coarse to fine, so that what all ranks do alike is not learned from few of them.
    pub partitions: Vec<Partition>,
}

impl Family {
    /// Makes the family of the rank counts of traces and of one that is wanted.
    pub fn new(traces: &[u32], wanted: u32, which: Grids) -> Family {
        let counts: Vec<u32> = traces.iter().copied().chain([wanted]).collect();
        let mut grids = grids(&counts);
        grids.retain(|grid| match which {
            Grids::Regular => grid.is_regular(),
            Grids::Balanced(dimensions) => grid.dimensions() == dimensions,
        });
        let terms = all_terms(&counts, &grids);
        let mut partitions = vec![
            Partition::Ends { last: false },
            Partition::Ends { last: true },
            Partition::Zeros,
            Partition::Parity,
        ];
        let numbers = 0..grids.len();
        partitions.extend(numbers.clone().map(|grid| Partition::Border { grid, width: 1 }));
        partitions.extend(numbers.clone().map(|grid| Partition::Diagonal { grid }));
        partitions.extend(numbers.clone().map(|grid| Partition::Border { grid, width: 2 }));
        partitions.extend(numbers.map(|grid| Partition::Checkered { grid }));
        Family { counts, grids, terms, partitions }
    }

    /// Returns how many traces there are: the place of the count that is wanted.
    pub fn wanted(&self) -> usize {
        self.counts.len() - 1
    }

    /// Zeros below the lowest one of a rank's number in binary, of rank 0 as many as the count has: how many
    /// children a rank has in a binomial tree. `None` if the count is no power of two.
    pub fn zeros(&self, run: usize, rank: u32) -> Option<u32> {
        let count = self.counts[run];
        count.is_power_of_two().then(|| (rank | count).trailing_zeros())
    }

    /// Returns the kind of a rank.
    pub fn class(&self, partition: Partition, run: usize, rank: u32) -> i64 {
        let ends =
            |last: bool| if rank == 0 { 1 } else { 2 * i64::from(last && rank + 1 == self.counts[run]) };
        match partition {
            Partition::Ends { last } => ends(last),
            Partition::Zeros => {
                if rank == 0 {
                    2
                } else {
                    i64::from(rank & 1)
                }
            }
            Partition::Parity => ends(true) * 2 + i64::from(rank & 1),
            Partition::Border { grid, width } => self.border(grid, run, rank, width),
            Partition::Checkered { grid } => {
                let odd = self.grids[grid]
                    .coordinates(run, rank)
                    .iter()
                    .fold(0, |odd, at| odd * 2 + i64::from(at & 1));
                self.border(grid, run, rank, 1) * 8 + odd
            }
            Partition::Diagonal { grid } => {
                let at = self.grids[grid].coordinates(run, rank);
                at[0].cmp(&at[1]) as i64
            }
        }
    }

    fn border(&self, grid: usize, run: usize, rank: u32, width: u32) -> i64 {
        let grid = &self.grids[grid];
        let near = |(&at, &side): (&u32, &u32)| match (at, side - 1 - at) {
            (at, _) if at < width => at,
            (_, left) if left < width => 2 * width - 1 - left,
            _ => 2 * width,
        };
        let near = grid.coordinates(run, rank).iter().zip(grid.sides(run)).map(near).collect::<Coordinates>();
        near.iter().fold(0, |class, &near| class * i64::from(2 * width + 1) + i64::from(near))
    }

    /// Returns what the counts of the traces have in common and the one that is wanted has not, as the end of
    /// a sentence.
    pub fn stranger(&self) -> Option<String> {
        let (wanted, traces) = self.counts.split_last()?;
        let square = |count: u32| root(count, 2).is_some();
        let cube = |count: u32| root(count, 3).is_some();
        let kinds: [(&str, &dyn Fn(u32) -> bool); 3] =
            [("a cube", &cube), ("a power of two", &u32::is_power_of_two), ("a square", &square)];
        let (name, _) =
            kinds.into_iter().find(|(_, is)| traces.iter().all(|&count| is(count)) && !is(*wanted))?;
        Some(format!("the rank count of each trace is {name}, and {wanted} is not"))
    }
}

/// Grids that all counts have, without a side of one: a rank is anywhere along that.
fn grids(counts: &[u32]) -> Vec<RankGrid> {
    let mut grids: Vec<RankGrid> = Vec::new();
    let mut add = |sides: Vec<Vec<u32>>| {
        let grid = RankGrid { sides };
        if !grid.sides.iter().flatten().any(|&side| side < 2) && !grids.contains(&grid) {
            grids.push(grid);
        }
    };
    for dimensions in [2, 3] {
        let sides: Vec<Vec<u32>> =
            counts.iter().map(|&count| objects::topology::balanced(count, dimensions)).collect();
        add(sides.clone());
        // As programs that number the rows first, or have fewer rows than columns.
        add(sides.into_iter().map(|sides| sides.into_iter().rev().collect()).collect());
    }
    // Two squares, as CG has on odd powers of two.
    let halves: Option<Vec<u32>> =
        counts.iter().map(|&count| count.is_multiple_of(2).then(|| root(count / 2, 2)).flatten()).collect();
    add(halves.unwrap_or_else(|| vec![1]).into_iter().map(|side| vec![side, side, 2]).collect());
    grids
}

fn all_terms(counts: &[u32], grids: &[RankGrid]) -> Vec<Term> {
    let mut all = terms(counts);
    let mut add = |name: String, of: &dyn Fn(usize) -> Option<Exact>| {
        let values: Vec<Option<Exact>> = (0..counts.len()).map(of).collect();
        if !all.iter().any(|term| term.values == values) {
            all.push(Term { name, values });
        }
    };
    let whole = |value: u32| Exact::from(i128::from(value));
    for grid in grids {
        for side in 0..grid.dimensions() {
            let name = format!("side {} of a grid of {} dimensions", side + 1, grid.dimensions());
            add(format!("1 / {name}"), &|run| below(whole(grid.sides(run)[side])));
            add(name, &|run| Some(whole(grid.sides(run)[side])));
            let name =
                format!("the ranks below side {} of a grid of {} dimensions", side + 1, grid.dimensions());
            add(name, &|run| Some(whole(grid.sides(run)[side + 1..].iter().product())));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_name_ranks() {
        let family = Family::new(&[64, 216, 512], 1000, Grids::Balanced(2));
        assert_eq!(family.grids.iter().map(|grid| grid.sides(0)).collect::<Vec<_>>(), [[8, 8], [8, 8]]);
        assert_eq!(family.grids.iter().map(|grid| grid.sides(1)).collect::<Vec<_>>(), [[18, 12], [12, 18]]);
        for grid in &family.grids {
            for rank in 0..216 {
                assert_eq!(grid.rank(1, &grid.coordinates(1, rank)), rank);
            }
        }
        let cube = Family::new(&[64, 216, 512], 1000, Grids::Regular);
        assert_eq!(cube.grids[0].coordinates(3, 123).as_slice(), [1, 2, 3]);
    }

    #[test]
    fn a_cube_has_27_kinds_of_ranks() {
        let family = Family::new(&[64, 216, 512], 1000, Grids::Regular);
        assert_eq!(family.grids.len(), 1, "on a plane these have sides of other proportions each");
        let border = Partition::Border { grid: 0, width: 1 };
        let kinds = |run: usize| {
            (0..family.counts[run])
                .map(|rank| family.class(border, run, rank))
                .collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!((kinds(0).len(), kinds(0) == kinds(3)), (27, true));
        assert_eq!(
            (0..4)
                .map(|run| (0..family.counts[run])
                    .filter(|&rank| family.class(border, run, rank) == 26)
                    .count())
                .collect::<Vec<_>>(),
            [8, 64, 216, 512]
        );
    }

    #[test]
    fn what_the_wanted_count_lacks_is_named() {
        assert_eq!(
            Family::new(&[8, 27, 64], 100, Grids::Regular).stranger().unwrap(),
            "the rank count of each trace is a cube, and 100 is not"
        );
        assert_eq!(Family::new(&[8, 27, 64], 125, Grids::Regular).stranger(), None);
    }
}

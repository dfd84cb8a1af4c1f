//! A number for each rank: folded ([`crate::fold`]), so that what comes again along the sides of a grid is
//! told once. That is the ranklist of ScalaTrace (start, then count and stride for each dimension), with
//! values. Or, of ranks on a square, by the place of each (`column/grid.rs`).

mod folded;
mod grid;

use crate::codec::{Reader, Result};
use folded::Folded;
use grid::GridVector;

/// Columns of so few bytes are not told by place.
const MAX_FOLDED_BYTES: usize = 24;
/// The first byte of one by place; folded ones have 0, or 1 of differences.
const BY_PLACE: u8 = 2;

/// Numbers by place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column(ColumnKind);

#[derive(Clone, PartialEq, Eq, Debug)]
enum ColumnKind {
    Folded(Folded),
    Grid(GridVector),
}

/// Folds values as [`Column::read`] reads them; O(values).
pub fn write(values: impl Iterator<Item = i64> + Clone) -> Vec<u8> {
    folded::write(values)
}

/// Returns the shortest way to write the values of all ranks in order, and so many turns of each: folded, or
/// by the places of ranks on a square.
pub fn write_of_ranks(values: &[i64], turns: usize) -> Vec<u8> {
    // Other numbers in each turn fold badly, and to look how badly takes long.
    let folded = if turns == 1 { Some(write(values.iter().copied())) } else { None };
    match folded {
        Some(folded) if folded.len() <= MAX_FOLDED_BYTES => folded,
        Some(folded) => grid::write(values, turns).filter(|grid| grid.len() < folded.len()).unwrap_or(folded),
        None => grid::write(values, turns).unwrap_or_else(|| write(values.iter().copied())),
    }
}

impl Column {
    /// Reads what [`write()`] and [`write_of_ranks`] wrote, of at most `most` values. The memory goes by the
    /// bytes, not by the values.
    ///
    /// # Errors
    /// If it is something else, or has more values.
    pub fn read(reader: &mut Reader, most: u64) -> Result<Column> {
        match reader.byte()? {
            kind @ (0 | 1) => Ok(Column(ColumnKind::Folded(Folded::read(reader, kind == 1, most)?))),
            BY_PLACE => Ok(Column(ColumnKind::Grid(GridVector::read(reader, most)?))),
            kind => reader.wrong(format!("{kind} is no kind of column")),
        }
    }
    /// Appends it as it was read.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        match &self.0 {
            ColumnKind::Folded(folded) => folded.write(bytes),
            ColumnKind::Grid(grid) => grid.write(bytes),
        }
    }
    /// Folds `values` into a column; O(values).
    pub fn of(values: impl Iterator<Item = i64> + Clone) -> Column {
        Column::read(&mut Reader::new(&write(values)), u64::MAX).expect("what is written can be read")
    }
    /// Returns the column of the values of all ranks, `turns` iterations for each rank, in the form that
    /// [`write_of_ranks`] chooses.
    pub fn of_ranks(values: &[i64], turns: usize) -> Column {
        Column::read(&mut Reader::new(&write_of_ranks(values, turns)), u64::MAX)
            .expect("what is written can be read")
    }
    /// Returns its values as people read them: `5 900 7`, `1 8x(3x(0) 1) 3x(0)` for nine times 1 0 0 0, and
    /// `d 10 3x(1)` for 10 and three differences of 1, each to the value before. By position: `g 3 2 (1,0,0%3
    /// 1,1,-1%3: 9x(7)) (...)` for squares of side 3 and 2 iterations, and the sum of what tables say. Their
    /// rows are those of (x + 0 y + 0 turns) mod 3 and their columns those of (x + y - turns) mod 3.
    pub fn text(&self) -> String {
        match &self.0 {
            ColumnKind::Folded(folded) => folded.text(),
            ColumnKind::Grid(grid) => grid.text(),
        }
    }
    /// Returns how many values it has.
    pub fn len(&self) -> u64 {
        match &self.0 {
            ColumnKind::Folded(folded) => folded.len(),
            ColumnKind::Grid(grid) => grid.len(),
        }
    }
    /// Returns `true` if it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the value at a place; O(bytes that it was read from).
    pub fn at(&self, place: u64) -> Option<i64> {
        match &self.0 {
            ColumnKind::Folded(folded) => folded.at(place),
            ColumnKind::Grid(grid) => grid.at(place),
        }
    }
    /// Visits all values in order; O(values).
    pub fn each(&self, visit: impl FnMut(i64)) {
        match &self.0 {
            ColumnKind::Folded(folded) => folded.each(visit),
            ColumnKind::Grid(grid) => grid.each(visit),
        }
    }
    /// Tells of all values, in no order, with how often they are there; O(bytes that it was read from), or
    /// O(values) of differences and by place.
    pub fn tally(&self, visit: &mut impl FnMut(i64, u64)) {
        match &self.0 {
            ColumnKind::Folded(folded) => folded.tally(visit),
            ColumnKind::Grid(grid) => grid.each(|value| visit(value, 1)),
        }
    }
    /// Returns how many of the first `end` values are `wanted`; O(bytes that it was read from), or O(values)
    /// of differences and by place.
    pub fn count(&self, wanted: i64, end: u64) -> u64 {
        if let ColumnKind::Folded(folded) = &self.0 {
            return folded.count(wanted, end);
        }
        let (mut found, mut place) = (0, 0);
        self.each(|value| {
            found += u64::from(place < end && value == wanted);
            place += 1;
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Put;
    use proptest::prelude::*;

    fn column(values: &[i64]) -> (Column, usize) {
        let bytes = write(values.iter().copied());
        let mut reader = Reader::new(&bytes);
        let column = Column::read(&mut reader, values.len() as u64).unwrap();
        assert_eq!(reader.left(), 0);
        let mut again = Vec::new();
        column.write(&mut again);
        assert_eq!(again, bytes);
        (column, bytes.len())
    }

    proptest! {
        #[test]
        fn values_read_back(
            values in prop::collection::vec(prop_oneof![-3i64..3, any::<i64>()], 0..60),
            count in 1usize..5,
        ) {
            let values = values.repeat(count);
            let (column, _) = column(&values);
            let mut all = Vec::new();
            column.each(|value| all.push(value));
            prop_assert_eq!(&all, &values);
            for (place, &value) in values.iter().enumerate() {
                prop_assert_eq!(column.at(place as u64), Some(value));
                let before = values[..place].iter().filter(|&&other| other == value).count() as u64;
                prop_assert_eq!(column.count(value, place as u64), before);
            }
            prop_assert_eq!(column.at(values.len() as u64), None);
        }
    }

    #[test]
    fn people_read_loops_and_differences() {
        let text = |values: &[i64]| Column::of(values.iter().copied()).text();
        assert_eq!(text(&[5, 900, 7]), "5 900 7");
        // The loop that folding closes first is the inner one.
        assert_eq!(text(&[1, 0, 0, 0].repeat(9)), "1 8x(3x(0) 1) 3x(0)");
        assert_eq!(text(&(10..40).collect::<Vec<_>>()), "d 10 29x(1)");
        assert_eq!(text(&[]), "");
    }

    #[test]
    fn a_grid_takes_a_few_bytes_however_large() {
        let size = |side: i64| {
            let neighbour =
                (0..side * side * side).map(|rank| if rank % side == side - 1 { 1 - side } else { 1 });
            let plane = (0..side * side * side).map(|rank| rank / (side * side));
            write(neighbour).len() + write(plane).len()
        };
        assert!(size(64) <= size(8) + 8, "{} and {} bytes", size(8), size(64));
        assert!(size(64) < 40);
    }

    #[test]
    fn loops_of_more_turns_than_there_can_be_are_refused() {
        let mut bytes = vec![0, 1];
        bytes.wide((1u128 << 60) * 2 + 1);
        bytes.extend([1, 0, 7]);
        let why = Column::read(&mut Reader::new(&bytes), 1 << 31).unwrap_err();
        assert!(why.why.contains("turns over 1 values, where at most 2147483648 may be"), "{why}");
        let deep: Vec<u8> = std::iter::once(0).chain([1, 1].repeat(1000)).collect();
        assert!(Column::read(&mut Reader::new(&deep), 1 << 31).unwrap_err().why.contains("too deep"));
    }
}

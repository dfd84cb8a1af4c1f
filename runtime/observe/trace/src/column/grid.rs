//! Numbers of ranks by their places on a square, and by turns: sums of tables, whose rows and columns are
//! those of x, y and the turn added and subtracted, round the square.
//!
//! What a rank of a square does goes by its row and column, and in the multipartition of BT and SP (R. Van
//! der Wijngaart, "Efficient implementation of a 3-dimensional ADI method on the iPSC/860", 1993) and in
//! Cannon's matrix product by diagonals of them, which move on with each turn. Folded, each row of the square
//! would be another one; by place they are as many bytes for any number of ranks.

use super::folded::Folded;
use crate::codec::{Put, Reader, Result};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most values of a table.
const MAX_TABLE: u64 = 1 << 20;
/// The most values that places are looked for.
const MAX_VALUES: usize = 1 << 24;
/// Number of values, about, that are sampled first for regularity.
const SAMPLE: usize = 4096;
/// The most ranks whose places are looked for where they have one number each: to try all ways takes memory
/// and time.
const MAX_RANKS: usize = 1 << 16;
/// The most tables, and sums that tell their places.
const MAX_TERMS: usize = 2;
const MAX_SUMS: usize = 2;
/// The greatest factor in a sum.
const MAX_FACTOR: i64 = 1 << 16;

/// A sum of x, y and the turn, each times something, modulo something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct GridSum {
    factors: [i64; 3],
    modulus: u64,
}

impl GridSum {
    fn at(&self, place: [i64; 3]) -> u64 {
        let sum = self.factors.iter().zip(place).fold(0i64, |sum, (factor, at)| sum + factor * at);
        sum.rem_euclid(self.modulus as i64) as u64
    }
}

/// A term of a grid-indexed vector: a table with sums as its indices.
#[derive(Clone, PartialEq, Eq, Debug)]
struct TableTerm {
    sums: Vec<GridSum>,
    table: Folded,
}

impl TableTerm {
    fn place(sums: &[GridSum], at: [i64; 3]) -> u64 {
        sums.iter().fold(0, |place, sum| place * sum.modulus + sum.at(at))
    }
}

/// Numbers by rank on a grid, and by iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GridVector {
    /// Ranks in a row, and rows.
    side: u64,
    turns: u64,
    terms: Vec<TableTerm>,
}

impl GridVector {
    /// Reads what [`write()`] wrote behind its first byte, of at most `most` values.
    ///
    /// # Errors
    /// If it is something else, or has more values.
    pub fn read(reader: &mut Reader, most: u64) -> Result<GridVector> {
        let (side, turns) = (reader.number()?, reader.number()?);
        let length = side.checked_mul(side).and_then(|ranks| ranks.checked_mul(turns));
        if length.is_none_or(|length| length == 0 || length > most) {
            return reader.wrong(format!(
                "{turns} turns of a square of side {side}, where at most {most} values may be"
            ));
        }
        let count = reader.count(5, "tables")?;
        if count > MAX_TERMS {
            return reader.wrong(format!("{count} tables, where at most {MAX_TERMS} may be"));
        }
        let mut terms = Vec::with_capacity(count);
        for _ in 0..count {
            terms.push(term(reader)?);
        }
        Ok(GridVector { side, turns, terms })
    }

    /// Appends it as it was read.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(super::BY_PLACE);
        bytes.number(self.side);
        bytes.number(self.turns);
        bytes.number(self.terms.len() as u64);
        for term in &self.terms {
            bytes.number(term.sums.len() as u64);
            for sum in &term.sums {
                sum.factors.iter().for_each(|&factor| bytes.signed(factor));
                bytes.number(sum.modulus);
            }
            term.table.write(bytes);
        }
    }

    /// Returns the column as people read it.
    pub fn text(&self) -> String {
        let mut text = format!("g {} {}", self.side, self.turns);
        for term in &self.terms {
            let sum = |sum: &GridSum| {
                format!("{},{},{}%{}", sum.factors[0], sum.factors[1], sum.factors[2], sum.modulus)
            };
            let sums: Vec<String> = term.sums.iter().map(sum).collect();
            let _ = write!(text, " ({}: {})", sums.join(" "), term.table.text());
        }
        text
    }

    /// Returns how many values it has.
    pub fn len(&self) -> u64 {
        self.side * self.side * self.turns
    }

    fn of_place(&self, place: u64) -> [i64; 3] {
        let (rank, turn) = (place / self.turns, place % self.turns);
        [rank % self.side, rank / self.side, turn].map(|at| at as i64)
    }

    /// Returns the value at a place; O(bytes that it was read from).
    pub fn at(&self, place: u64) -> Option<i64> {
        let at = (place < self.len()).then(|| self.of_place(place))?;
        self.terms.iter().try_fold(0i64, |sum, term| {
            Some(sum.wrapping_add(term.table.at(TableTerm::place(&term.sums, at))?))
        })
    }

    /// Visits all values in order; O(values).
    pub fn each(&self, mut visit: impl FnMut(i64)) {
        let tables: Vec<Vec<i64>> = self
            .terms
            .iter()
            .map(|term| {
                let mut values = Vec::new();
                term.table.each(|value| values.push(value));
                values
            })
            .collect();
        for place in 0..self.len() {
            let at = self.of_place(place);
            let value =
                |(term, table): (&TableTerm, &Vec<i64>)| table[TableTerm::place(&term.sums, at) as usize];
            visit(self.terms.iter().zip(&tables).map(value).fold(0, i64::wrapping_add));
        }
    }
}

fn term(reader: &mut Reader) -> Result<TableTerm> {
    let count = reader.count(4, "sums")?;
    if count == 0 || count > MAX_SUMS {
        return reader.wrong(format!("a table by {count} sums, where 1 or {MAX_SUMS} may be"));
    }
    let (mut sums, mut places) = (Vec::with_capacity(count), 1u64);
    for _ in 0..count {
        let factors = [reader.signed()?, reader.signed()?, reader.signed()?];
        let modulus = reader.number()?;
        places = places.saturating_mul(modulus);
        if places == 0
            || places > MAX_TABLE
            || factors.iter().any(|factor| factor.unsigned_abs() > MAX_FACTOR as u64)
        {
            return reader.wrong("a table by sums that it cannot have");
        }
        sums.push(GridSum { factors, modulus });
    }
    let kind = reader.byte()?;
    if kind > 1 {
        return reader.wrong(format!("{kind} is no kind of table"));
    }
    let table = Folded::read(reader, kind == 1, MAX_TABLE)?;
    if table.len() != places {
        return reader
            .wrong(format!("a table of {} values, where its sums have {places} places", table.len()));
    }
    Ok(TableTerm { sums, table })
}

/// Encodes values by position as [`GridVector::read`] reads them, with so many iterations of each rank.
/// Returns `None` if ranks make no square or the values do not follow from their positions.
pub fn write(values: &[i64], turns: usize) -> Option<Vec<u8>> {
    let square = SquareValues::of(values, turns)?;
    let terms = square.is_regular().then(|| square.tables()).flatten()?;
    let term = |(sums, table): Found| TableTerm { sums, table: Folded::of(&table) };
    let grid = GridVector {
        side: square.side as u64,
        turns: turns as u64,
        terms: terms.into_iter().map(term).collect(),
    };
    let mut bytes = Vec::new();
    grid.write(&mut bytes);
    Some(bytes)
}

/// A table, and what its places are.
type Found = (Vec<GridSum>, Vec<i64>);

/// Values whose places are looked for.
struct SquareValues<'a> {
    values: &'a [i64],
    side: usize,
    turns: usize,
}

impl<'a> SquareValues<'a> {
    fn of(values: &'a [i64], turns: usize) -> Option<SquareValues<'a>> {
        let ranks = values.len() / turns.max(1);
        let side = ranks.isqrt();
        let fits = side > 1
            && side * side == ranks
            && values.len() == ranks * turns
            && values.len() <= MAX_VALUES
            && ranks as u64 <= MAX_TABLE
            && (turns > 1 || ranks <= MAX_RANKS);
        fits.then_some(SquareValues { values, side, turns })
    }

    /// Returns `true` if a fifth of the values are those of neighbours in some direction, or as far from one
    /// as that from the next. Else they do not follow from positions, and to try all takes long.
    fn is_regular(&self) -> bool {
        let (side, turns) = (self.side, self.turns);
        let step = (self.values.len() / SAMPLE).max(1);
        // The value so many back in x, y and turns.
        let back = |at: usize, [x, y, turn]: [i64; 3]| {
            let (rank, now) = (at / turns, (at % turns) as i64);
            let place = [(rank % side) as i64 - x, (rank / side) as i64 - y, now - turn];
            let is_there =
                place.iter().zip([side, side, turns]).all(|(&at, end)| (0..end as i64).contains(&at));
            is_there.then(|| {
                self.values[(place[1] as usize * side + place[0] as usize) * turns + place[2] as usize]
            })
        };
        let often = |holds: &dyn Fn(usize) -> Option<bool>| {
            let looked_at: Vec<bool> = (0..self.values.len()).step_by(step).filter_map(holds).collect();
            5 * looked_at.iter().filter(|&&holds| holds).count() >= looked_at.len().max(1)
        };
        let is_even = |[a, b]: [[i64; 3]; 2]| {
            let both = [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
            often(&|at| {
                Some(self.values[at].wrapping_sub(back(at, a)?) == back(at, b)?.wrapping_sub(back(at, both)?))
            })
        };
        let is_alike = |direction: [i64; 3]| often(&|at| Some(self.values[at] == back(at, direction)?));
        let [x, y] = [[1, 0, 0], [0, 1, 0]];
        let in_turn = [x, y, [1, 1, 0], [1, -1, 0]];
        let by_turn = [[0, 0, 1], [1, 0, 1], [1, 0, -1], [0, 1, 1], [0, 1, -1]];
        in_turn.into_iter().any(is_alike)
            || turns > 1 && by_turn.into_iter().any(is_alike)
            || [[x, x], [y, y], [x, y]].into_iter().any(is_even)
    }

    /// Sums of x, y and turns, of which none is the negative of another.
    fn sums(&self) -> Vec<GridSum> {
        let mut sums = Vec::new();
        for of_turn in if self.turns > 1 { -1..=1 } else { 0..=0 } {
            for (x, y) in [(0, 0), (1, 0), (0, 1), (1, 1), (1, -1)] {
                match (x, y, of_turn) {
                    (0, 0, 1) => sums.push(GridSum { factors: [0, 0, 1], modulus: self.turns as u64 }),
                    (0, 0, _) => {}
                    _ => sums.push(GridSum { factors: [x, y, of_turn], modulus: self.side as u64 }),
                }
            }
        }
        sums
    }

    /// Returns the table by these sums, if they tell the values.
    fn fill(&self, sums: &[GridSum], values: &[i64]) -> Option<Vec<i64>> {
        let places: u64 = sums.iter().map(|sum| sum.modulus).product();
        let mut table: Vec<Option<i64>> =
            vec![None; usize::try_from(places).ok().filter(|&places| places as u64 <= MAX_TABLE)?];
        for (at, &value) in self.places().zip(values) {
            if *table[TableTerm::place(sums, at) as usize].get_or_insert(value) != value {
                return None;
            }
        }
        // Places that nobody has are as the one before.
        let mut before = table.iter().flatten().next().copied()?;
        let filled = table.into_iter().map(|value| {
            before = value.unwrap_or(before);
            before
        });
        Some(filled.collect())
    }

    fn places(&self) -> impl Iterator<Item = [i64; 3]> + use<'a> {
        let (side, turns) = (self.side as i64, self.turns as i64);
        (0..side).flat_map(move |y| (0..side).flat_map(move |x| (0..turns).map(move |turn| [x, y, turn])))
    }

    /// Returns the tables that change least often: one by a sum or by two, or two.
    fn tables(&self) -> Option<Vec<Found>> {
        let sums = self.sums();
        let one = sums.iter().map(|&sum| vec![sum]);
        if let Some((_, found)) = self.least(one, self.values) {
            return Some(vec![found]);
        }
        let tables = self.filled(pairs(&sums), self.values);
        let by_two = tables.flat_map(|found| {
            let apart = separated(&found);
            [Some(vec![found]), apart].into_iter().flatten()
        });
        let by_two =
            by_two.map(|found| (found.iter().map(|(sums, table)| changes(sums, table)).sum(), found));
        let usual = if self.turns == 1 {
            sums.iter().filter_map(|&sum| self.with_usual(sum, &sums)).collect()
        } else {
            Vec::new()
        };
        by_two.chain(usual).min_by_key(|found: &(usize, _)| found.0).map(|(_, found)| found)
    }

    /// Returns the tables that tell the values, by these sums.
    fn filled(
        &self,
        ways: impl Iterator<Item = Vec<GridSum>>,
        values: &[i64],
    ) -> impl Iterator<Item = Found> {
        ways.filter_map(|sums| self.fill(&sums, values).map(|table| (sums, table)))
    }

    /// Returns the table that changes least often, and how often.
    fn least(&self, ways: impl Iterator<Item = Vec<GridSum>>, values: &[i64]) -> Option<(usize, Found)> {
        self.filled(ways, values)
            .map(|(sums, table)| (changes(&sums, &table), (sums, table)))
            .min_by_key(|(changes, _)| *changes)
    }

    /// Returns what is said most often by a sum, and by two what others say beyond that: all faces of a
    /// rank's cells but one, as in SP.
    fn with_usual(&self, by: GridSum, sums: &[GridSum]) -> Option<(usize, Vec<Found>)> {
        let mut said: Vec<BTreeMap<i64, usize>> = vec![BTreeMap::new(); by.modulus as usize];
        for (at, &value) in self.places().zip(self.values) {
            *said[by.at(at) as usize].entry(value).or_default() += 1;
        }
        let usual = |said: &BTreeMap<i64, usize>| {
            said.iter().max_by_key(|(_, often)| **often).map_or(0, |(value, _)| *value)
        };
        let table: Vec<i64> = said.iter().map(usual).collect();
        let beyond: Vec<i64> = self
            .places()
            .zip(self.values)
            .map(|(at, value)| value.wrapping_sub(table[by.at(at) as usize]))
            .collect();
        let (more, found) = self.least(pairs(sums), &beyond)?;
        Some((changes(&[by], &table) + more, vec![(vec![by], table), found]))
    }
}

/// Returns a table whose rows differ by a number each, as one of these and one of its first row.
fn separated((sums, table): &Found) -> Option<Vec<Found>> {
    let &[row, column] = sums.as_slice() else { return None };
    let mut rows = table.chunks(column.modulus as usize);
    let first = rows.next()?;
    let by = |row: &[i64]| {
        let more = row[0].wrapping_sub(first[0]);
        row.iter().zip(first).all(|(value, first)| value.wrapping_sub(*first) == more).then_some(more)
    };
    let more = std::iter::once(Some(0)).chain(rows.map(by)).collect::<Option<Vec<i64>>>()?;
    Some(vec![(vec![row], more), (vec![column], first.to_vec())])
}

fn pairs(sums: &[GridSum]) -> impl Iterator<Item = Vec<GridSum>> {
    sums.iter().flat_map(move |&a| sums.iter().filter(move |&&b| a != b).map(move |&b| vec![a, b]))
}

/// Returns how often the rows of a table differ from the one before, and the values in them, or the
/// differences of values: about how long it is when folded.
fn changes(sums: &[GridSum], table: &[i64]) -> usize {
    let width = sums.last().map_or(1, |sum| sum.modulus as usize);
    let of = |values: &[i64]| {
        let within = |row: &[i64]| row.windows(2).filter(|pair| pair[0] != pair[1]).count();
        let first = values.chunks(width).next().map_or(0, within);
        let differing =
            values.chunks(width).zip(values.chunks(width).skip(1)).filter(|(before, row)| before != row);
        first + differing.map(|(_, row)| 1 + within(row)).sum::<usize>()
    };
    let mut before = 0;
    let differences: Vec<i64> =
        table.iter().map(|&value| value.wrapping_sub(std::mem::replace(&mut before, value))).collect();
    of(table).min(of(&differences) + 1)
}

#[cfg(test)]
mod tests {
    use super::super::{Column, write_of_ranks};
    use super::*;
    use proptest::prelude::*;

    /// Returns what `of` says of x, y and turn.
    fn square(side: i64, turns: i64, of: impl Fn(i64, i64, i64) -> i64) -> Vec<i64> {
        let mut values = Vec::new();
        for (y, x) in (0..side).flat_map(|y| (0..side).map(move |x| (y, x))) {
            values.extend((0..turns).map(|turn| of(x, y, turn)));
        }
        values
    }

    fn read(bytes: &[u8], values: &[i64]) -> Column {
        let mut reader = Reader::new(bytes);
        let column = Column::read(&mut reader, values.len() as u64).unwrap();
        assert_eq!(reader.left(), 0);
        let (mut all, mut again) = (Vec::new(), Vec::new());
        column.each(|value| all.push(value));
        assert_eq!(all, values);
        column.write(&mut again);
        assert_eq!(again, bytes);
        column
    }

    proptest! {
        #[test]
        fn values_read_back(
            side in 1usize..6,
            turns in 1usize..5,
            values in prop::collection::vec(-2i64..3, 1..9),
            skew in -2i64..3,
        ) {
            let (wide, count) = (side as i64, values.len() as i64);
            let all = square(wide, turns as i64, |x, y, turn| {
                values[(x + skew * y - turn).rem_euclid(wide.min(count)) as usize]
            });
            let column = read(&write_of_ranks(&all, turns), &all);
            for (place, &value) in all.iter().enumerate() {
                prop_assert_eq!(column.at(place as u64), Some(value));
                let before = all[..place].iter().filter(|&&other| other == value).count() as u64;
                prop_assert_eq!(column.count(value, place as u64), before);
            }
            prop_assert_eq!(column.at(all.len() as u64), None);
        }
    }

    /// Returns the faces of cells of a grid that the square's side does not divide, in each turn other cells.
    fn faces(side: i64) -> Vec<i64> {
        let length = |cell: i64| 3 + i64::from(cell < side / 5) - i64::from(cell == 0 || cell == side - 1);
        square(side, side - 1, |x, y, turn| {
            22 * length((x + y - turn).rem_euclid(side)) * length((turn - x).rem_euclid(side))
        })
    }

    #[test]
    fn faces_of_cells_on_diagonals_take_as_many_bytes_on_any_square() {
        let [small, large] = [20, 80].map(|side| write_of_ranks(&faces(side), side as usize - 1).len());
        assert!(large <= small + 8 && large < 100, "{small} and {large} bytes");
    }

    #[test]
    fn sums_over_cells_are_told_but_for_what_is_left_out() {
        let sum = |side: i64| {
            let length = |cell: i64| 3 + i64::from(cell.rem_euclid(side) < 6);
            square(side, 1, |x, y, _| {
                (0..side).map(|cell| length(x + y - cell) * length(cell - x)).sum::<i64>()
                    - length(x + y) * length(-x)
            })
        };
        let values = sum(32);
        let bytes = write_of_ranks(&values, 1);
        read(&bytes, &values);
        assert!(bytes.len() < 120, "{} bytes", bytes.len());
    }

    #[test]
    fn what_no_places_tell_is_folded() {
        let values: Vec<i64> = (0..9 * 4).map(|at| (at * at * 7919) % 101).collect();
        assert!(write_of_ranks(&values, 4)[0] < 2);
        // No square.
        let values: Vec<i64> = (0..7 * 40).map(|at| (at * at * 7919) % 101).collect();
        assert!(write_of_ranks(&values, 1)[0] < 2);
    }

    #[test]
    fn tables_of_other_places_are_refused() {
        let why = |bytes: &[u8]| Column::read(&mut Reader::new(bytes), 1 << 20).unwrap_err().why;
        // Side 3, two turns, one table by x modulo 3 of four times 7.
        assert_eq!(
            why(&[2, 3, 2, 1, 1, 2, 0, 0, 3, 0, 1, 6, 14, 14, 14, 14]),
            "a table of 4 values, where its sums have 3 places"
        );
        assert!(why(&[2, 0, 2, 0, 0]).contains("2 turns of a square of side 0"));
        assert!(
            why(&[2, 3, 2, 1, 3, 2, 0, 0, 3, 2, 0, 0, 3, 2, 0, 0, 3, 0, 1, 0, 0])
                .contains("a table by 3 sums")
        );
    }
}

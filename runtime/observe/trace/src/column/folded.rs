//! Numbers folded into nested loops of values, or of differences.

use crate::codec::{Put, Reader, Result};
use crate::dictionary::Dictionary;
use crate::fold::{Cursor, FoldKind, Grammar, Item};
use std::fmt::Write;

/// The longest run of values that is looked for again.
const LONGEST: usize = 256;
/// The most loops within loops. Each doubles the values at least, and there are fewer than 2^32.
const DEEPEST: u32 = 64;

/// Values or loops of them.
#[derive(Clone, PartialEq, Eq, Debug)]
enum FoldedItem {
    Values(Vec<i64>),
    Loop { count: u64, parts: FoldedItems },
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct FoldedItems {
    parts: Vec<FoldedItem>,
    /// Values in all.
    length: u64,
    /// Their sum, wrapping.
    sum: i64,
}

/// Numbers by place, folded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folded {
    parts: FoldedItems,
    /// The folded values are differences, each to the one before, the first to 0.
    differences: bool,
}

/// Folds values as [`Folded::read`] reads them; O(values).
pub fn write(values: impl Iterator<Item = i64> + Clone) -> Vec<u8> {
    let plain = folded(values.clone(), 0);
    let mut before = 0i64;
    let differences = folded(
        values.map(|value| {
            let difference = value.wrapping_sub(before);
            before = value;
            difference
        }),
        1,
    );
    if differences.len() < plain.len() { differences } else { plain }
}

fn folded(values: impl Iterator<Item = i64>, kind: u8) -> Vec<u8> {
    let mut grammar = Grammar::new(LONGEST);
    let mut cursor = Cursor::default();
    let mut symbols = Dictionary::default();
    for value in values {
        grammar.add(&mut cursor, symbols.place(value));
    }
    let stack = grammar.close(&mut cursor);
    let mut bytes = vec![kind];
    write_items(&grammar, &grammar.items(stack), &symbols, &mut bytes);
    bytes
}

fn write_items(grammar: &Grammar, items: &[Item], values: &Dictionary<i64>, bytes: &mut Vec<u8>) {
    let is_value = |item: &Item| matches!(grammar.kind(*item), FoldKind::Symbol(_));
    let runs: Vec<&[Item]> = items.chunk_by(|a, b| is_value(a) && is_value(b)).collect();
    bytes.number(runs.len() as u64);
    for run in runs {
        match grammar.kind(run[0]) {
            FoldKind::Symbol(_) => {
                bytes.number((run.len() as u64 - 1) * 2);
                for &item in run {
                    if let FoldKind::Symbol(symbol) = grammar.kind(item) {
                        bytes.signed(*values.get(symbol));
                    }
                }
            }
            FoldKind::Loop { body, count } => {
                bytes.wide(u128::from(count - 2) * 2 + 1);
                write_items(grammar, grammar.body(body), values, bytes);
            }
        }
    }
}

impl FoldedItems {
    fn read(reader: &mut Reader, most: u64, depth: u32) -> Result<FoldedItems> {
        if depth == DEEPEST {
            return reader.wrong("loops are within loops too deep");
        }
        let mut all = FoldedItems::default();
        for _ in 0..reader.count(2, "parts of a column")? {
            let head = reader.wide()?;
            let part = if head & 1 == 0 {
                let count = u64::try_from(head >> 1).unwrap_or(u64::MAX);
                if count >= reader.left() as u64 {
                    return reader
                        .wrong(format!("{count} values should follow, but only {} bytes do", reader.left()));
                }
                let values = (0..=count).map(|_| reader.signed()).collect::<Result<Vec<_>>>()?;
                all.length += values.len() as u64;
                all.sum = values.iter().fold(all.sum, |sum, &value| sum.wrapping_add(value));
                FoldedItem::Values(values)
            } else {
                let Some(count) = u64::try_from(head >> 1).ok().and_then(|count| count.checked_add(2)) else {
                    return reader.wrong("a loop of too many turns");
                };
                let parts = FoldedItems::read(reader, most, depth + 1)?;
                let Some(length) =
                    parts.length.checked_mul(count).filter(|&length| length > 0 && length <= most)
                else {
                    return reader.wrong(format!(
                        "a loop of {count} turns over {} values, where at most {most} may be",
                        parts.length
                    ));
                };
                all.length += length;
                all.sum = all.sum.wrapping_add(parts.sum.wrapping_mul(count as i64));
                FoldedItem::Loop { count, parts }
            };
            if all.length > most {
                return reader.wrong(format!("more than the {most} values that may be"));
            }
            all.parts.push(part);
        }
        Ok(all)
    }

    /// Returns the value at a place, and the sum of those before it.
    fn at(&self, mut place: u64) -> Option<(i64, i64)> {
        let mut sum = 0i64;
        for part in &self.parts {
            let (length, total) = match part {
                FoldedItem::Values(values) => (values.len() as u64, 0),
                FoldedItem::Loop { count, parts } => {
                    (parts.length * count, parts.sum.wrapping_mul(*count as i64))
                }
            };
            if place >= length {
                place -= length;
                sum = match part {
                    FoldedItem::Values(values) => {
                        values.iter().fold(sum, |sum, &value| sum.wrapping_add(value))
                    }
                    FoldedItem::Loop { .. } => sum.wrapping_add(total),
                };
                continue;
            }
            return match part {
                FoldedItem::Values(values) => {
                    let sum =
                        values[..place as usize].iter().fold(sum, |sum, &value| sum.wrapping_add(value));
                    Some((values[place as usize], sum))
                }
                FoldedItem::Loop { parts, .. } => {
                    let (value, within) = parts.at(place % parts.length)?;
                    let turns = parts.sum.wrapping_mul((place / parts.length) as i64);
                    Some((value, sum.wrapping_add(turns).wrapping_add(within)))
                }
            };
        }
        None
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.number(self.parts.len() as u64);
        for part in &self.parts {
            match part {
                FoldedItem::Values(values) => {
                    bytes.number((values.len() as u64 - 1) * 2);
                    values.iter().for_each(|&value| bytes.signed(value));
                }
                FoldedItem::Loop { count, parts } => {
                    bytes.wide(u128::from(count - 2) * 2 + 1);
                    parts.write(bytes);
                }
            }
        }
    }

    fn each(&self, visit: &mut impl FnMut(i64)) {
        for part in &self.parts {
            match part {
                FoldedItem::Values(values) => values.iter().for_each(|&value| visit(value)),
                FoldedItem::Loop { count, parts } => (0..*count).for_each(|_| parts.each(visit)),
            }
        }
    }

    /// Writes values with spaces between, loops as `3x(...)`.
    fn text(&self, text: &mut String) {
        for part in &self.parts {
            match part {
                FoldedItem::Values(values) => {
                    for value in values {
                        let _ = write!(text, " {value}");
                    }
                }
                FoldedItem::Loop { count, parts } => {
                    let _ = write!(text, " {count}x(");
                    let begin = text.len();
                    parts.text(text);
                    // The space before the first.
                    text.remove(begin);
                    text.push(')');
                }
            }
        }
    }

    fn tally(&self, times: u64, visit: &mut impl FnMut(i64, u64)) {
        for part in &self.parts {
            match part {
                FoldedItem::Values(values) => values.iter().for_each(|&value| visit(value, times)),
                FoldedItem::Loop { count, parts } => parts.tally(times * count, visit),
            }
        }
    }

    /// Returns how many of the first `end` values are `wanted`.
    fn count(&self, wanted: i64, mut end: u64) -> u64 {
        let mut found = 0;
        for part in &self.parts {
            match part {
                FoldedItem::Values(values) => {
                    let here = values.len().min(usize::try_from(end).unwrap_or(usize::MAX));
                    found += values[..here].iter().filter(|&&value| value == wanted).count() as u64;
                    end -= here as u64;
                }
                FoldedItem::Loop { count, parts } => {
                    let turns = (*count).min(end / parts.length);
                    if turns > 0 {
                        found += turns * parts.count(wanted, parts.length);
                        end -= turns * parts.length;
                    }
                    if turns < *count && end > 0 {
                        found += parts.count(wanted, end);
                        end = 0;
                    }
                }
            }
            if end == 0 {
                break;
            }
        }
        found
    }
}

impl Folded {
    /// Reads what [`write()`] wrote behind its first byte, which said whether values are differences; of at
    /// most `most` values.
    ///
    /// # Errors
    /// If it is something else, or has more values.
    pub fn read(reader: &mut Reader, differences: bool, most: u64) -> Result<Folded> {
        Ok(Folded { parts: FoldedItems::read(reader, most, 0)?, differences })
    }
    /// Folds `values`; O(values).
    pub fn of(values: &[i64]) -> Folded {
        let bytes = write(values.iter().copied());
        Folded::read(&mut Reader::new(&bytes[1..]), bytes[0] == 1, u64::MAX)
            .expect("what is written can be read")
    }
    /// Appends it as it was read, folded in the same way.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self.differences));
        self.parts.write(bytes);
    }
    /// Returns its values as people read them: `5 900 7`, `1 8x(3x(0) 1) 3x(0)` for nine times 1 0 0 0, and
    /// `d 10 3x(1)` for 10 and three differences of 1, each to the value before.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.parts.text(&mut text);
        if self.differences { format!("d{text}") } else { text.trim_start().to_owned() }
    }
    /// Returns how many values it has.
    pub fn len(&self) -> u64 {
        self.parts.length
    }
    /// Returns the value at a place; O(bytes that it was read from).
    pub fn at(&self, place: u64) -> Option<i64> {
        let (value, before) = self.parts.at(place)?;
        Some(if self.differences { before.wrapping_add(value) } else { value })
    }
    /// Visits all values in order; O(values).
    pub fn each(&self, mut visit: impl FnMut(i64)) {
        let mut before = 0i64;
        self.parts.each(&mut |value| {
            before = if self.differences { before.wrapping_add(value) } else { value };
            visit(before);
        });
    }
    /// Tells of all values, in no order, with how often they are there; O(bytes that it was read from), or
    /// O(values) of differences.
    pub fn tally(&self, visit: &mut impl FnMut(i64, u64)) {
        if self.differences { self.each(|value| visit(value, 1)) } else { self.parts.tally(1, visit) }
    }
    /// Returns how many of the first `end` values are `wanted`; O(bytes that it was read from), or O(`end`)
    /// of differences.
    pub fn count(&self, wanted: i64, end: u64) -> u64 {
        if !self.differences {
            return self.parts.count(wanted, end.min(self.parts.length));
        }
        let (mut found, mut place) = (0, 0);
        self.each(|value| {
            found += u64::from(place < end && value == wanted);
            place += 1;
        });
        found
    }
}

//! The numbers that differ between ranks, so that one can be looked up at once: by rank a place among the
//! values that differ.

use super::position::Position;
use trace::Trace;
use trace::dictionary::Dictionary;
use trace::trace::{Cell, Node};

/// The limit of the memory that all per-rank vectors may take together, in bytes.
const MAX_BYTES: u64 = 1 << 36;

/// A column by rank of its shape.
enum Column {
    /// No call needs it.
    Unused,
    Narrow(Vec<i64>, Vec<u8>),
    Wide(Vec<i64>, Vec<u16>),
    Each(Vec<i64>),
    /// By rank and turn of the loop around, which has so many.
    Turns(u32, Box<Column>),
}

/// All columns of a trace.
pub(super) struct Columns(Vec<Column>);

impl Columns {
    /// Reads the columns that are `used`; O(values).
    pub(super) fn new(trace: &Trace, used: impl Iterator<Item = u32>) -> Result<Columns, String> {
        let mut columns: Vec<Column> = trace.columns.iter().map(|_| Column::Unused).collect();
        let mut bytes = 0u64;
        for column in used {
            if !matches!(columns[column as usize], Column::Unused) {
                continue;
            }
            let values = &trace.columns[column as usize];
            bytes = bytes.saturating_add(values.len());
            if bytes > MAX_BYTES {
                return Err(format!(
                    "what differs between the trace's ranks takes more than {} GiB",
                    MAX_BYTES >> 30
                ));
            }
            columns[column as usize] = expanded(values);
        }
        for nodes in &trace.shapes {
            by_turn(nodes, 1, &mut |call, turns| {
                for cell in &trace.calls[call as usize].1 {
                    let Cell::Column(column) = *cell else { continue };
                    let column = &mut columns[column as usize];
                    if !matches!(column, Column::Unused | Column::Turns(..)) {
                        *column = Column::Turns(turns, Box::new(std::mem::replace(column, Column::Unused)));
                    }
                }
            });
        }
        Ok(Columns(columns))
    }

    /// Returns the number in a cell, of the rank that is here.
    #[inline(always)]
    pub(super) fn number(&self, cell: Cell, position: &Position) -> i64 {
        match cell {
            Cell::Same(value) => value,
            Cell::Column(column) => match &self.0[column as usize] {
                Column::Narrow(values, places) => {
                    places.get(position.place as usize).map_or(0, |&at| values[usize::from(at)])
                }
                Column::Wide(values, places) => {
                    places.get(position.place as usize).map_or(0, |&at| values[usize::from(at)])
                }
                Column::Each(values) => values.get(position.place as usize).copied().unwrap_or(0),
                Column::Turns(turns, column) => column.in_turn(*turns, position),
                Column::Unused => 0,
            },
        }
    }
}

impl Column {
    // Few loops vary: the others are not to be slower for them.
    #[cold]
    #[inline(never)]
    fn in_turn(&self, turns: u32, position: &Position) -> i64 {
        let place = position.place as usize * turns as usize + position.turn(turns);
        match self {
            Column::Narrow(values, places) => places.get(place).map_or(0, |&at| values[usize::from(at)]),
            Column::Wide(values, places) => places.get(place).map_or(0, |&at| values[usize::from(at)]),
            Column::Each(values) => values.get(place).copied().unwrap_or(0),
            Column::Unused | Column::Turns(..) => 0,
        }
    }
}

/// Tells of the calls that have a number for each turn of a loop, with how many turns these are.
pub(super) fn by_turn(nodes: &[Node], turns: u32, visit: &mut impl FnMut(u32, u32)) {
    for node in nodes {
        match node {
            Node::Call(call) if turns > 1 => visit(*call, turns),
            Node::Call(_) => {}
            Node::Loop { count: Cell::Same(count), body, varies: true } => {
                by_turn(body, u32::try_from(*count).unwrap_or(1), visit)
            }
            Node::Loop { body, .. } => by_turn(body, 1, visit),
        }
    }
}

fn expanded(column: &trace::column::Column) -> Column {
    let (mut values, mut places) = (Dictionary::default(), Vec::new());
    column.each(|value| {
        if values.len() <= usize::from(u16::MAX) {
            places.push(values.place(value) as u16);
        }
    });
    if values.len() > usize::from(u16::MAX) {
        let mut all = Vec::with_capacity(column.len() as usize);
        column.each(|value| all.push(value));
        return Column::Each(all);
    }
    let values: Vec<i64> = values.into_values().collect();
    match u8::try_from(values.len().saturating_sub(1)) {
        Ok(_) => Column::Narrow(values, places.iter().map(|&place| place as u8).collect()),
        Err(_) => Column::Wide(values, places),
    }
}

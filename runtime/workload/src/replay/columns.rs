//! The numbers that differ between ranks, so that one can be looked up at once: by rank a place among the values that differ.

use trace::Trace;
use trace::dictionary::Dictionary;
use trace::trace::Cell;

/// What all columns together may take, in bytes.
const MOST_BYTES: u64 = 1 << 36;

/// A column by rank of its shape.
enum Column {
    /// No call needs it.
    Unused,
    Narrow(Vec<i64>, Vec<u8>),
    Wide(Vec<i64>, Vec<u16>),
    Each(Vec<i64>),
}

/// All columns of a trace.
pub(super) struct Columns(Vec<Column>);

impl Columns {
    /// The ones that are `used`; O(values).
    pub(super) fn new(trace: &Trace, used: impl Iterator<Item = u32>) -> Result<Columns, String> {
        let mut columns: Vec<Column> = trace.columns.iter().map(|_| Column::Unused).collect();
        let mut bytes = 0u64;
        for column in used {
            if !matches!(columns[column as usize], Column::Unused) {
                continue;
            }
            let values = &trace.columns[column as usize];
            bytes = bytes.saturating_add(values.len());
            if bytes > MOST_BYTES {
                return Err(format!("what differs between the trace's ranks takes more than {} GiB", MOST_BYTES >> 30));
            }
            columns[column as usize] = expanded(values);
        }
        Ok(Columns(columns))
    }

    /// The number in a cell, of the rank at this place of its shape.
    #[inline]
    pub(super) fn number(&self, cell: Cell, place: u32) -> i64 {
        match cell {
            Cell::Same(value) => value,
            Cell::Column(column) => match &self.0[column as usize] {
                Column::Narrow(values, places) => places.get(place as usize).map_or(0, |&at| values[usize::from(at)]),
                Column::Wide(values, places) => places.get(place as usize).map_or(0, |&at| values[usize::from(at)]),
                Column::Each(values) => values.get(place as usize).copied().unwrap_or(0),
                Column::Unused => 0,
            },
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

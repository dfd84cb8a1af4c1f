//! A table as data: comma-separated values and JSON.

use super::{Table, TableCell};
use std::fmt::Write;

/// A column of comma-separated values.
struct CsvColumn {
    /// The table's column.
    at: usize,
    /// The number of a cell; `None` for its text.
    number: Option<usize>,
    /// The column's name, by [`heading_of`].
    name: String,
    /// The unit of all numbers of the column; `None` if they differ.
    unit: Option<&'static str>,
}

/// Returns a heading as a name: `busy, mean` as `busy_mean`, `B - A` as `b_minus_a`.
fn heading_of(name: &str) -> String {
    let spelled = name.replace(" - ", " minus ").replace(" / ", " over ");
    let words = spelled.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
}

/// Returns a field of comma-separated values (RFC 4180).
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

impl Table {
    /// Returns the columns of comma-separated values: of a cell with several numbers one for each.
    fn csv_columns(&self) -> Vec<CsvColumn> {
        let mut columns: Vec<CsvColumn> = Vec::new();
        for (at, (name, _)) in self.columns.iter().enumerate() {
            let name = heading_of(name);
            let numbers = |number: usize| self.rows.iter().filter_map(move |row| row[at].numbers.get(number));
            if numbers(0).next().is_none() {
                columns.push(CsvColumn { at, number: None, name, unit: Some("") });
                continue;
            }
            for number in 0.. {
                let Some(first) = numbers(number).next() else { break };
                let name =
                    if first.suffix.is_empty() { name.clone() } else { format!("{name}_{}", first.suffix) };
                let is_one = numbers(number).all(|of| of.unit == first.unit);
                columns.push(CsvColumn {
                    at,
                    number: Some(number),
                    name,
                    unit: is_one.then_some(first.unit),
                });
            }
        }
        // `least on ... most on ...`: names are different, so that rows can be keyed by them.
        for at in 1..columns.len() {
            let same = columns[..at].iter().filter(|column| column.name == columns[at].name).count();
            if same > 0 {
                columns[at].name += &format!("_{}", same + 1);
            }
        }
        columns
    }

    /// Returns the columns of data, and the fields of each row: `true` for a number, `false` for a text.
    ///
    /// Numbers are exact and in the unit that ends their heading: `longest_ps`. Where a column has several
    /// units the next one names it.
    fn data(&self) -> (Vec<String>, Vec<Vec<(bool, String)>>) {
        let columns = self.csv_columns();
        let mut heading = Vec::new();
        for CsvColumn { name, unit, .. } in &columns {
            match unit {
                Some("") => heading.push(name.clone()),
                Some(unit) if name == unit => heading.push(name.clone()),
                Some(unit) => heading.push(format!("{name}_{unit}")),
                None => heading.extend([name.clone(), format!("{name}_unit")]),
            }
        }
        let fields = |row: &Vec<TableCell>| {
            let mut fields = Vec::new();
            for CsvColumn { at, number, unit, .. } in &columns {
                let found = number.and_then(|number| row[*at].numbers.get(number));
                // Of a column of numbers a cell without one is empty; of a mixed one it is a text.
                let is_text = number.is_none() || unit.is_none();
                let text = if is_text { row[*at].text.clone() } else { String::new() };
                fields.push(found.map_or((false, text), |of| (true, of.digits.clone())));
                let of_unit = || (false, found.map_or("", |of| of.unit).to_owned());
                fields.extend(unit.is_none().then(of_unit));
            }
            fields
        };
        (heading, self.rows.iter().map(fields).collect())
    }

    /// Returns comma-separated values (RFC 4180): a heading, and a line for each row.
    pub fn csv(&self) -> String {
        let (heading, rows) = self.data();
        let line = |fields: &Vec<(bool, String)>| {
            fields.iter().map(|(_, text)| field(text)).collect::<Vec<_>>().join(",") + "\n"
        };
        heading.join(",") + "\n" + &rows.iter().map(line).collect::<String>()
    }

    /// Returns a JSON object for each row, with the names and numbers of [`Table::csv`]. Numbers beyond 64
    /// bits are rounded. An empty cell is null.
    pub fn records(&self) -> Vec<serde_json::Value> {
        let (heading, rows) = self.data();
        let value = |(is_number, text): (bool, String)| match (is_number, text.is_empty()) {
            (_, true) => serde_json::Value::Null,
            (true, _) => serde_json::from_str(&text).unwrap_or_else(|_| text.into()),
            (false, _) => text.into(),
        };
        let record = |fields: Vec<(bool, String)>| {
            heading.iter().cloned().zip(fields.into_iter().map(value)).collect::<serde_json::Value>()
        };
        rows.into_iter().map(record).collect()
    }

    /// Returns a line for each number and text: `title,row,column,value,unit,text`, rows counted from 0.
    pub(crate) fn csv_cells(&self, title: &str) -> String {
        let columns = self.csv_columns();
        let mut out = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            for CsvColumn { at, number, name, .. } in &columns {
                let found = number.and_then(|number| row[*at].numbers.get(number));
                let (value, unit, text) = match found {
                    Some(of) => (of.digits.as_str(), of.unit, String::new()),
                    None if *number > Some(0) => continue,
                    None => ("", "", field(&row[*at])),
                };
                let _ = writeln!(out, "{},{index},{name},{value},{unit},{text}", field(title));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::Align;
    use super::*;

    #[test]
    fn comma_separated_values_are_exact_numbers_in_one_unit() {
        use Align::{Left, Right};
        let mut table = Table::new(&[
            ("call site", Left),
            ("of all", Right),
            ("longest", Left),
            ("bytes", Right),
            ("on", Right),
            ("on", Right),
        ]);
        let row = |site: &str, ps: u64| {
            let on = || TableCell::rank(7);
            vec![
                site.into(),
                TableCell::percent(1, 8),
                TableCell::time_on(ps, 3),
                TableCell::bytes(1_234_567u32),
                on(),
                on(),
            ]
        };
        table.rows = vec![row("a.c:1", 1_234_567), row("b.c:2", 5)];
        table.rows[1][1] = "-".into();
        assert_eq!(
            table.csv(),
            "call_site,of_all_share,longest_ps,longest_rank,bytes,on,on_2\n\
             a.c:1,0.125,1234567,3,1234567,7,7\nb.c:2,,5,3,1234567,7,7\n"
        );
        let cells = table.csv_cells("Call sites");
        assert!(
            cells.starts_with("Call sites,0,call_site,,,a.c:1\nCall sites,0,of_all,0.125,share,\n"),
            "{cells}"
        );
        assert!(
            cells.contains("Call sites,1,of_all,,,-\n") && cells.contains("Call sites,1,longest_rank,3,,\n"),
            "{cells}"
        );
    }

    #[test]
    fn a_column_of_several_units_has_them_beside_it() {
        let mut table = Table::new(&[("what", Align::Left), ("value", Align::Left)]);
        table.rows = vec![
            vec!["time".into(), TableCell::time(5u32)],
            vec!["payload".into(), TableCell::bytes(3u32)],
            vec!["program".into(), "a,b".into()],
        ];
        assert_eq!(table.csv(), "what,value,value_unit\ntime,5,ps\npayload,3,bytes\nprogram,\"a,b\",\n");
    }
}

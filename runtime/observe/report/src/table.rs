//! A table, as text for a terminal, as Markdown and as comma-separated values.

use crate::units;
use crate::wrap::wrapped;
use std::fmt::Write;
use std::ops::Deref;

/// A Left column that holds longer words breaks them rather than be narrower than this.
const MIN_BROKEN_WORD: usize = 8;
/// Between columns.
const GAP: usize = 2;
/// Before what stands below a row.
const INDENT: usize = 4;

/// A cell: what people read, and the numbers in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableCell {
    /// As people read it: `1.25 us on 3`.
    pub text: String,
    /// The numbers in it, exact and in base units; empty if it is a text.
    pub numbers: Vec<CellNumber>,
}

/// A number of a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CellNumber {
    /// The suffix of the column's name in the heading of the number's own column; empty for the first number.
    pub suffix: &'static str,
    /// `ps`, `bytes`, `share` (of 1), `percent`; empty for counts, ranks and ratios.
    pub unit: &'static str,
    /// In decimal digits.
    pub digits: String,
}

impl TableCell {
    /// Returns a cell with this number as the only one.
    pub fn number(text: String, unit: &'static str, digits: impl ToString) -> TableCell {
        TableCell { text, numbers: vec![CellNumber { suffix: "", unit, digits: digits.to_string() }] }
    }

    /// Returns a length of time in picoseconds, which may be that of many ranks together.
    pub fn time(ps: impl Into<u128>) -> TableCell {
        let ps = ps.into();
        TableCell::number(crate::profile::long(ps), "ps", ps)
    }

    /// Returns a length of time with the rank that it is of.
    pub fn time_on(ps: u64, rank: impl ToString) -> TableCell {
        let mut cell = TableCell::time(ps);
        let rank = rank.to_string();
        cell.text = format!("{} on {rank}", cell.text);
        cell.numbers.push(CellNumber { suffix: "rank", unit: "", digits: rank });
        cell
    }

    /// Returns a count, in groups of three digits.
    pub fn count(count: impl Into<u128>) -> TableCell {
        let count = count.into();
        TableCell::number(units::grouped(count), "", count)
    }

    /// Returns the number of a rank.
    pub fn rank(rank: impl ToString) -> TableCell {
        let digits = rank.to_string();
        TableCell::number(digits.clone(), "", digits)
    }

    /// Returns a number of bytes.
    pub fn bytes(count: impl Into<u128>) -> TableCell {
        let count = count.into();
        TableCell::number(units::bytes(count), "bytes", count)
    }

    /// Returns a part of a whole: percent for people, a share of 1 as data.
    pub fn percent(part: u128, whole: u128) -> TableCell {
        let share = if part == 0 || whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        TableCell::number(units::percent(part, whole), "share", share)
    }

    /// Returns a share of 1: percent for people.
    pub fn share(part: f64) -> TableCell {
        TableCell::number(units::share(part), "share", part)
    }

    /// Returns a ratio with three digits behind the point.
    pub fn ratio(value: f64) -> TableCell {
        TableCell::number(format!("{value:.3}"), "", value)
    }
}

impl Deref for TableCell {
    type Target = str;
    fn deref(&self) -> &str {
        &self.text
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> TableCell {
        TableCell { text, numbers: Vec::new() }
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> TableCell {
        text.to_owned().into()
    }
}

/// Rows of cells under headings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// Names of the columns, and the alignment of their texts.
    pub columns: Vec<(&'static str, Align)>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<TableCell>>,
}

/// The alignment of the texts of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// They begin at one line.
    Left,
    /// They end at one line.
    Right,
}

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

fn length(text: &str) -> usize {
    text.chars().count()
}

fn longest_word(text: &str) -> usize {
    text.replace(" %", "\u{a0}%").split(' ').map(length).max().unwrap_or(0)
}

/// Returns a heading as a name: `busy, mean` as `busy_mean`, `B - A` as `b_minus_a`.
fn heading_of(name: &str) -> String {
    let spelled = name.replace(" - ", " minus ").replace(" / ", " over ");
    let words = spelled.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
}

/// Returns a field of comma-separated values (RFC 4180).
pub(crate) fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

impl Table {
    /// Without rows.
    pub fn new(columns: &[(&'static str, Align)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Returns lines of at most `width` characters, each behind `lead`. Columns are as wide as they need.
    ///
    /// Where they need more, headings and texts are broken between words. Where that is not enough the
    /// longest texts stand below their row, then words are broken, and then each row is a list.
    pub fn text(&self, lead: &str, width: usize) -> String {
        let room = width.saturating_sub(length(lead));
        let mut beside: Vec<usize> = (0..self.columns.len()).collect();
        loop {
            if let Some(widths) = self.widths(&beside, room, false) {
                return self.grid(lead, width, &beside, &widths);
            }
            let texts = beside.iter().skip(1).filter(|&&at| self.columns[at].1 == Align::Left);
            let Some(&longest) = texts.max_by_key(|&&at| self.longest(at, length)) else { break };
            beside.retain(|&at| at != longest);
        }
        match self.widths(&beside, room, true) {
            Some(widths) => self.grid(lead, width, &beside, &widths),
            None => self.lists(lead, width),
        }
    }

    /// Returns the greatest length of a column's cells.
    fn longest(&self, at: usize, length: fn(&str) -> usize) -> usize {
        self.rows.iter().map(|row| length(&row[at])).max().unwrap_or(0)
    }

    /// Returns widths of these columns that fit; `None` if there are none, with words broken or not.
    fn widths(&self, columns: &[usize], room: usize, breaks_words: bool) -> Option<Vec<usize>> {
        let room = room.saturating_sub(GAP * columns.len().saturating_sub(1));
        let sum = |widths: &[usize]| widths.iter().sum::<usize>();
        let with_heading =
            |at: usize, of: fn(&str) -> usize| self.longest(at, length).max(of(self.columns[at].0));
        let whole: Vec<usize> = columns.iter().map(|&at| with_heading(at, length)).collect();
        if sum(&whole) <= room {
            return Some(whole);
        }
        let mut widths: Vec<usize> = columns.iter().map(|&at| with_heading(at, longest_word)).collect();
        let least = |&at: &usize| {
            let (heading, word) = (longest_word(self.columns[at].0), self.longest(at, longest_word));
            match self.columns[at].1 {
                Align::Right => with_heading(at, longest_word),
                Align::Left if breaks_words => word.max(heading).min(MIN_BROKEN_WORD.max(heading)),
                Align::Left => word.max(heading),
            }
        };
        let least: Vec<usize> = columns.iter().map(least).collect();
        while sum(&widths) > room {
            // Of equally wide ones the last: the first names the row.
            let widest =
                (0..widths.len()).filter(|&at| widths[at] > least[at]).max_by_key(|&at| widths[at])?;
            widths[widest] -= 1;
        }
        Some(widths)
    }

    /// Returns a heading and rows in columns of these widths; the other columns stand below each row.
    fn grid(&self, lead: &str, width: usize, beside: &[usize], widths: &[usize]) -> String {
        let below: Vec<usize> = (0..self.columns.len()).filter(|at| !beside.contains(at)).collect();
        let mut out = String::new();
        self.line(&mut out, lead, beside, widths, |at| self.columns[at].0);
        for row in &self.rows {
            self.line(&mut out, lead, beside, widths, |at| &row[at]);
            for &at in below.iter().filter(|&&at| !row[at].is_empty()) {
                let text = format!("{}: {}", self.columns[at].0, row[at].text);
                for part in wrapped(&text, width.saturating_sub(length(lead) + INDENT)) {
                    let _ = writeln!(out, "{lead}{:INDENT$}{part}", "");
                }
            }
        }
        out
    }

    /// Appends a row, in as many lines as its longest cell needs.
    fn line<'a>(
        &'a self,
        out: &mut String,
        lead: &str,
        beside: &[usize],
        widths: &[usize],
        cell: impl Fn(usize) -> &'a str,
    ) {
        let cells: Vec<Vec<String>> =
            beside.iter().zip(widths).map(|(&at, &width)| wrapped(cell(at), width)).collect();
        for index in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let mut line = lead.to_owned();
            for (position, (cell, &width)) in cells.iter().zip(widths).enumerate() {
                let (gap, text) =
                    (if position == 0 { 0 } else { GAP }, cell.get(index).map_or("", String::as_str));
                let _ = match self.columns[beside[position]].1 {
                    Align::Left => write!(line, "{:gap$}{text:<width$}", ""),
                    Align::Right => write!(line, "{:gap$}{text:>width$}", ""),
                };
            }
            *out += line.trim_end();
            out.push('\n');
        }
    }

    /// Returns each row as lines of a heading and a text, with an empty line between rows.
    fn lists(&self, lead: &str, width: usize) -> String {
        let name_width = self.columns.iter().map(|(name, _)| length(name)).max().unwrap_or(0);
        let room = width.saturating_sub(length(lead) + name_width + GAP).max(MIN_BROKEN_WORD);
        let list = |row: &Vec<TableCell>| {
            let mut out = String::new();
            for ((name, _), cell) in self.columns.iter().zip(row) {
                for (at, text) in wrapped(cell, room).iter().enumerate() {
                    let name = if at == 0 { name } else { "" };
                    out += format!("{lead}{name:<name_width$}{:GAP$}{text}", "").trim_end();
                    out.push('\n');
                }
            }
            out
        };
        self.rows.iter().map(list).collect::<Vec<_>>().join(&format!("{}\n", lead.trim_end()))
    }

    /// Returns the table as Markdown.
    pub fn markdown(&self) -> String {
        let line = |texts: Vec<String>| format!("| {} |\n", texts.join(" | "));
        let escaped = |text: &str| text.replace('|', "\\|");
        let rules = self
            .columns
            .iter()
            .map(|(_, align)| if *align == Align::Left { "---" } else { "---:" }.to_owned())
            .collect();
        let mut out = line(self.columns.iter().map(|(name, _)| (*name).to_owned()).collect()) + &line(rules);
        self.rows.iter().for_each(|row| out += &line(row.iter().map(|text| escaped(text)).collect()));
        out
    }

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

    /// Returns comma-separated values (RFC 4180): a heading, and a line for each row.
    ///
    /// Numbers are exact and in the unit that ends their heading: `longest_ps`. Where a column has several
    /// units the next one tells it.
    pub fn csv(&self) -> String {
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
        let mut out = heading.join(",") + "\n";
        for row in &self.rows {
            let mut fields = Vec::new();
            for CsvColumn { at, number, unit, .. } in &columns {
                let found = number.and_then(|number| row[*at].numbers.get(number));
                // Of a column of numbers a cell without one is empty; of a mixed one it is a text.
                let is_text = number.is_none() || unit.is_none();
                fields.push(found.map_or_else(
                    || if is_text { field(&row[*at]) } else { String::new() },
                    |of| of.digits.clone(),
                ));
                fields.extend(unit.is_none().then(|| found.map_or("", |of| of.unit).to_owned()));
            }
            out += &(fields.join(",") + "\n");
        }
        out
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
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("what", Align::Left), ("how many", Align::Right)]);
        table.rows =
            vec![vec!["a|b".into(), TableCell::count(1000u32)], vec!["µs".into(), TableCell::count(7u32)]];
        table
    }

    #[test]
    fn columns_are_as_wide_as_they_need() {
        assert_eq!(table().text("> ", 80), "> what  how many\n> a|b      1,000\n> µs           7\n");
    }

    /// Eleven columns, of which a text and a name are longer than any terminal is wide.
    fn wide() -> Table {
        let columns: Vec<_> = (0..9).map(|_| ("some number", Align::Right)).collect();
        let mut table = Table::new(
            &[&[("call site", Align::Left)], columns.as_slice(), &[("lost to", Align::Left)]].concat(),
        );
        let numbers = (0..9).map(|_| TableCell::count(123u32));
        let lost = "late sender 60 % (most on 3, for 7), ".repeat(8);
        let row = |site: String| {
            [TableCell::from(site)].into_iter().chain(numbers.clone()).chain([lost.as_str().into()]).collect()
        };
        table.rows = vec![row("file.c:1 main".into()), row(format!("{}::name", "template<>".repeat(20)))];
        table
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_letter_is_lost() {
        let letters = |text: &str| {
            text.chars().filter(|letter| letter.is_alphanumeric()).collect::<std::collections::BTreeSet<_>>()
        };
        for width in [40, 60, 80, 100, 132, 500] {
            let text = wide().text("  ", width);
            let longest = text.lines().map(length).max().unwrap();
            assert!(longest <= width, "{longest} of {width}:\n{text}");
            assert!(letters(&text).is_superset(&letters("template123late sender")), "{text}");
            assert_eq!(text.matches("60").count(), 16, "{text}");
        }
        let whole = wide().text("", usize::MAX);
        assert_eq!(whole.lines().count(), 3, "{whole}");
    }

    #[test]
    fn marks_of_a_format_are_escaped() {
        assert_eq!(
            table().markdown(),
            "| what | how many |\n| --- | ---: |\n| a\\|b | 1,000 |\n| µs | 7 |\n"
        );
        let mut quoted = Table::new(&[("what", Align::Left)]);
        quoted.rows = vec![vec!["a,\"b\"".into()]];
        assert_eq!(quoted.csv(), "what\n\"a,\"\"b\"\"\"\n");
    }

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

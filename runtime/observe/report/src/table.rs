//! A table, as text for a terminal and as Markdown.

mod data;

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
    /// The text as people read it: `1.25 us on 3`.
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
    /// Rows of as many cells each as there are columns.
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

fn length(text: &str) -> usize {
    text.chars().count()
}

fn longest_word(text: &str) -> usize {
    text.replace(" %", "\u{a0}%").split(' ').map(length).max().unwrap_or(0)
}

impl Table {
    /// Makes a table without rows.
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

    /// Makes a table of eleven columns, of which a text and a name are longer than any terminal is wide.
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
}

//! A table, as text for a terminal, as Markdown and as comma-separated values.

use std::fmt::Write;

/// Rows of texts under headings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// What the columns are called, and whether their texts end at one line, as numbers do.
    pub columns: Vec<(&'static str, Align)>,
    /// As many texts each as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// Where the texts of a column stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// They begin at one line.
    Left,
    /// They end at one line.
    Right,
}

impl Table {
    /// Without rows.
    pub fn new(columns: &[(&'static str, Align)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// With spaces between columns that are as wide as they need, each line behind `lead`.
    pub fn text(&self, lead: &str) -> String {
        let width = |at: usize| {
            let texts = self.rows.iter().map(|row| row[at].as_str()).chain([self.columns[at].0]);
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let heading: Vec<String> = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut out = String::new();
        for row in [&heading].into_iter().chain(&self.rows) {
            let mut line = lead.to_owned();
            for (at, text) in row.iter().enumerate() {
                let gap = if at == 0 { "" } else { "  " };
                let _ = match self.columns[at].1 {
                    Align::Left => write!(line, "{gap}{text:<width$}", width = widths[at]),
                    Align::Right => write!(line, "{gap}{text:>width$}", width = widths[at]),
                };
            }
            out += line.trim_end();
            out.push('\n');
        }
        out
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |texts: Vec<String>| format!("| {} |\n", texts.join(" | "));
        let escaped = |text: &str| text.replace('|', "\\|");
        let rules = self.columns.iter().map(|(_, align)| if *align == Align::Left { "---" } else { "---:" }.to_owned()).collect();
        let mut out = line(self.columns.iter().map(|(name, _)| (*name).to_owned()).collect()) + &line(rules);
        self.rows.iter().for_each(|row| out += &line(row.iter().map(|text| escaped(text)).collect()));
        out
    }

    /// As comma-separated values (RFC 4180).
    pub fn csv(&self) -> String {
        let field = |text: &str| {
            if text.contains([',', '"', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
        };
        let line = |texts: &[&str]| texts.iter().map(|text| field(text)).collect::<Vec<_>>().join(",") + "\n";
        let heading: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        self.rows.iter().fold(line(&heading), |out, row| out + &line(&row.iter().map(String::as_str).collect::<Vec<_>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("what", Align::Left), ("how many", Align::Right)]);
        table.rows = vec![vec!["a|b".into(), "1,000".into()], vec!["µs".into(), "7".into()]];
        table
    }

    #[test]
    fn columns_are_as_wide_as_they_need() {
        assert_eq!(table().text("> "), "> what  how many\n> a|b      1,000\n> µs           7\n");
    }

    #[test]
    fn marks_of_a_format_are_escaped() {
        assert_eq!(table().markdown(), "| what | how many |\n| --- | ---: |\n| a\\|b | 1,000 |\n| µs | 7 |\n");
        assert_eq!(table().csv(), "what,how many\na|b,\"1,000\"\nµs,7\n");
    }
}

//! Document about a run, in sections, before it has a format.

use crate::table::Table;
use crate::wrap::wrapped;

/// Sections under a title.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Document {
    /// In a line.
    pub title: String,
    /// In order.
    pub sections: Vec<Section>,
}

/// A heading with sentences and perhaps a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// Sentences, a paragraph each.
    pub lines: Vec<String>,
    /// Behind them.
    pub table: Option<Table>,
}

impl Document {
    /// Returns text for a terminal, whose lines have at most `width` characters.
    pub fn text(&self, width: usize) -> String {
        let paragraph = |lead: &str, text: &str| -> String {
            wrapped(text, width.saturating_sub(lead.len()))
                .iter()
                .map(|line| format!("{lead}{line}\n"))
                .collect()
        };
        let section = |section: &Section| {
            let lines: String = section.lines.iter().map(|line| paragraph("  ", line)).collect();
            format!(
                "\n{}\n{lines}{}",
                section.title,
                section.table.as_ref().map_or(String::new(), |table| table.text("  ", width))
            )
        };
        format!("{}{}", paragraph("", &self.title), self.sections.iter().map(section).collect::<String>())
    }

    /// Keeps the section of this title alone.
    ///
    /// # Errors
    /// A sentence with the titles that have a table, if this one has none.
    pub fn keep(&mut self, title: &str) -> Result<(), String> {
        let tables = || self.sections.iter().filter(|section| section.table.is_some());
        let Some(kept) = tables().find(|section| section.title.eq_ignore_ascii_case(title)).cloned() else {
            let titles: Vec<&str> = tables().map(|section| section.title).collect();
            return Err(format!("no table is called \"{title}\": there are {}", titles.join(", ")));
        };
        self.sections = vec![kept];
        Ok(())
    }

    /// Returns the document as Markdown.
    pub fn markdown(&self) -> String {
        let section = |section: &Section| {
            let lines: String = section.lines.iter().map(|line| format!("{line}\n\n")).collect();
            let table = section.table.as_ref().map_or(String::new(), |table| table.markdown() + "\n");
            format!("## {}\n\n{lines}{table}", section.title)
        };
        format!("# {}\n\n{}", self.title, self.sections.iter().map(section).collect::<String>())
            .trim_end()
            .to_owned()
            + "\n"
    }

    /// Returns comma-separated values with one heading: a single table as it is, of several tables a line for
    /// each cell.
    pub fn csv(&self) -> String {
        let tables: Vec<_> = self
            .sections
            .iter()
            .filter_map(|section| Some((section.title, section.table.as_ref()?)))
            .collect();
        if let [(_, table)] = tables[..] {
            return table.csv();
        }
        let heading = "table,row,column,value,unit,text\n".to_owned();
        tables.into_iter().fold(heading, |out, (title, table)| out + &table.csv_cells(title))
    }

    /// Returns JSON: the title, and the sentences and rows of each section. Numbers are those of
    /// [`Table::csv`].
    pub fn json(&self) -> String {
        let section = |section: &Section| {
            let rows = section.table.as_ref().map_or_else(Vec::new, Table::records);
            serde_json::json!({"title": section.title, "sentences": section.lines, "rows": rows})
        };
        let sections: Vec<_> = self.sections.iter().map(section).collect();
        format!("{:#}\n", serde_json::json!({"title": self.title, "sections": sections}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Align, TableCell};

    fn document() -> Document {
        let table = |name: &'static str| {
            let mut table = Table::new(&[(name, Align::Left), ("time", Align::Right)]);
            table.rows = vec![vec!["a, b".into(), TableCell::time(1_250_000u32)]; 2];
            Some(table)
        };
        let section =
            |title, table| Section { title, lines: vec!["a sentence ".repeat(20).trim().to_owned()], table };
        let sections = vec![
            section("Time", table("what")),
            section("Findings", None),
            section("Call sites", table("site")),
        ];
        Document { title: "a title ".repeat(20).trim().to_owned(), sections }
    }

    /// Returns how many fields each line has.
    fn fields(csv: &str) -> Vec<usize> {
        let is_quoted = |quoted: &mut bool, letter: char| {
            *quoted ^= letter == '"';
            Some(letter == ',' && !*quoted)
        };
        csv.lines()
            .map(|line| 1 + line.chars().scan(false, is_quoted).filter(|&is_comma| is_comma).count())
            .collect()
    }

    #[test]
    fn values_have_one_heading_and_equally_many_fields_in_each_line() {
        let mut document = document();
        let csv = document.csv();
        assert_eq!(fields(&csv), [6; 9], "{csv}");
        assert!(csv.contains("Time,0,what,,,\"a, b\"\nTime,0,time,1250000,ps,\n"), "{csv}");
        document.keep("call SITES").unwrap();
        assert_eq!(document.csv(), "site,time_ps\n\"a, b\",1250000\n\"a, b\",1250000\n");
        assert_eq!(
            document.keep("Findings").unwrap_err(),
            "no table is called \"Findings\": there are Call sites"
        );
    }

    #[test]
    fn json_has_the_numbers_of_the_values() {
        let found: serde_json::Value = serde_json::from_str(&document().json()).unwrap();
        let section = &found["sections"][2];
        assert_eq!(section["title"], "Call sites");
        assert_eq!(section["rows"][1], serde_json::json!({"site": "a, b", "time_ps": 1_250_000}));
        assert_eq!(found["sections"][1]["rows"], serde_json::json!([]));
    }

    #[test]
    fn sentences_are_broken_at_the_width() {
        let text = document().text(40);
        assert!(
            text.lines().all(|line| line.chars().count() <= 40)
                && text.contains("\nFindings\n  a sentence a"),
            "{text}"
        );
    }
}

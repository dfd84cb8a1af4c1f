//! What is said of a run, in sections, before it has a format.

use crate::table::Table;

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
    /// For a terminal.
    pub fn text(&self) -> String {
        let section = |section: &Section| {
            let lines: String = section.lines.iter().map(|line| format!("  {line}\n")).collect();
            format!("\n{}\n{lines}{}", section.title, section.table.as_ref().map_or(String::new(), |table| table.text("  ")))
        };
        format!("{}\n{}", self.title, self.sections.iter().map(section).collect::<String>())
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let section = |section: &Section| {
            let lines: String = section.lines.iter().map(|line| format!("{line}\n\n")).collect();
            let table = section.table.as_ref().map_or(String::new(), |table| table.markdown() + "\n");
            format!("## {}\n\n{lines}{table}", section.title)
        };
        format!("# {}\n\n{}", self.title, self.sections.iter().map(section).collect::<String>()).trim_end().to_owned() + "\n"
    }

    /// The tables as comma-separated values, each behind a line `# heading`, with an empty line between them.
    pub fn csv(&self) -> String {
        let tables = self.sections.iter().filter_map(|section| section.table.as_ref().map(|table| (section.title, table)));
        tables.map(|(title, table)| format!("# {title}\n{}", table.csv())).collect::<Vec<_>>().join("\n")
    }
}

//! Rows of named values, with the machine, the commit and the date: as a table and as a file.

use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// Values by their columns, in the order of the columns.
#[derive(Clone, Default)]
pub struct ResultRow(pub Vec<(&'static str, Value)>);

impl ResultRow {
    /// Adds a value.
    #[must_use]
    pub fn with(mut self, column: &'static str, value: impl Into<Value>) -> ResultRow {
        self.0.push((column, value.into()));
        self
    }

    /// Adds a value, or nothing if there is none.
    #[must_use]
    pub fn maybe(self, column: &'static str, value: Option<impl Into<Value>>) -> ResultRow {
        self.with(column, value.map_or(Value::Null, Into::into))
    }

    /// Returns the row as an object.
    pub fn to_json(&self) -> Value {
        self.0.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    fn get(&self, column: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| *name == column).map(|(_, value)| value)
    }
}

/// Rounds to so many significant digits.
pub fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// Shows a value as a table has it: whole numbers with their thousands apart.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => match value.as_u64() {
            Some(number) => with_thousands(number),
            None => value.to_string(),
        },
    }
}

fn with_thousands(number: u64) -> String {
    let digits = number.to_string();
    let apart = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    digits
        .char_indices()
        .flat_map(|(at, digit)| apart(at).then_some(',').into_iter().chain([digit]))
        .collect()
}

/// Rows of a bench.
pub struct Results {
    name: &'static str,
    rows: Vec<ResultRow>,
}

impl Results {
    /// Gives rows the name of their bench.
    pub fn new(name: &'static str, rows: Vec<ResultRow>) -> Results {
        Results { name, rows }
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[ResultRow] {
        &self.rows
    }

    /// Returns the number of rows that must be as something else is, and are not.
    pub fn differing(&self) -> usize {
        self.rows.iter().filter(|row| row.get("differs").is_some_and(|value| !value.is_null())).count()
    }

    /// Prints a line on the machine, and the rows as a table.
    ///
    /// # Errors
    /// A sentence if standard output is closed.
    pub fn print(&self) -> Result<(), String> {
        let mut text = format!("{}\n", circumstances().values().map(shown).collect::<Vec<_>>().join(", "));
        let columns = self.columns();
        let cells = |row: &ResultRow| -> Vec<String> {
            columns.iter().map(|column| row.get(column).map_or_else(String::new, shown)).collect()
        };
        let mut table = vec![columns.iter().map(|&column| column.to_owned()).collect()];
        table.extend(self.rows.iter().map(cells));
        let widths: Vec<usize> = (0..columns.len())
            .map(|at| table.iter().map(|row: &Vec<String>| row[at].chars().count()).max().unwrap_or(0))
            .collect();
        for row in &table {
            let mut line = String::new();
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let _ = match at {
                    0 => write!(line, "{cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        std::io::stdout()
            .write_all(text.as_bytes())
            .map_err(|why| format!("standard output cannot be written: {why}"))
    }

    /// Writes `benches/results/NAME.json` below a directory.
    ///
    /// # Errors
    /// A sentence with the file's name.
    pub fn write(&self, root: &Path) -> Result<(), String> {
        let rows: Vec<Value> = self.rows.iter().map(ResultRow::to_json).collect();
        let all = json!({ "bench": self.name, "circumstances": circumstances(), "rows": rows });
        write(root, self.name, &all)
    }

    /// Returns all columns, in the order of their first rows.
    fn columns(&self) -> Vec<&'static str> {
        let mut columns = Vec::new();
        for (name, _) in self.rows.iter().flat_map(|row| &row.0) {
            if !columns.contains(name) {
                columns.push(*name);
            }
        }
        columns
    }
}

/// Returns the machine, its load, the commit and the date.
pub fn circumstances() -> Map<String, Value> {
    let said = |program: &str, arguments: &[&str]| {
        let done = Command::new(program).args(arguments).output().ok().filter(|done| done.status.success());
        done.map(|done| String::from_utf8_lossy(&done.stdout).trim().to_owned()).unwrap_or_default()
    };
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let processor = file("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name.to_owned()))
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = file("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned();
    [
        ("cores", format!("{cores} cores")),
        ("processor", processor),
        ("load", format!("load {load}")),
        ("commit", said("git", &["log", "-1", "--format=%h"])),
        ("date", said("date", &["-u", "+%Y-%m-%d"])),
    ]
    .map(|(name, text)| (name.to_owned(), Value::String(text)))
    .into_iter()
    .collect()
}

/// Writes a file of results below a directory.
///
/// # Errors
/// A sentence with the file's name.
pub fn write(root: &Path, name: &str, results: &Value) -> Result<(), String> {
    let path = root.join("benches/results").join(format!("{name}.json"));
    let failed = |why| format!("'{}' cannot be written: {why}", path.display());
    std::fs::create_dir_all(path.parent().unwrap_or(root)).map_err(failed)?;
    std::fs::write(&path, format!("{results:#}\n")).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_a_table_has_them() {
        for (value, text) in [
            (json!(1_234_567), "1,234,567"),
            (json!(999), "999"),
            (json!(0.04), "0.04"),
            (json!("ring"), "ring"),
            (Value::Null, ""),
        ] {
            assert_eq!(shown(&value), text);
        }
        assert_eq!(rounded(0.123_456, 2), 0.12);
        assert_eq!(rounded(1234.5, 3), 1230.0);
        assert_eq!(rounded(0.0, 3), 0.0);
    }
}

//! Tables of the manual, made from files of results.
//!
//! A page holds a table between two comments:
//!
//! ```text
//! <!-- bench messages: rows ranks, columns pattern, cells us (at most) -->
//! | ranks | ring | ...
//! <!-- end of bench -->
//! ```
//!
//! `rows R, columns C, cells V (A)` has a row for each value of `R`, a column for each of `C`, and in each
//! cell `V` with the aim `A` behind it in parentheses. `columns A, B, ...` alone has a row for each row of
//! the results. A line on the machine, the commit and the date follows the table.

use crate::results::shown;
use serde_json::Value;
use std::path::Path;

const BEGIN: &str = "<!-- bench ";
const END: &str = "<!-- end of bench -->";

/// Makes all tables of the pages below `docs`, or checks that they are as their results make them.
///
/// # Errors
/// A sentence with the page, if a comment or a file of results is not as it should be, or, when checking, a
/// table is another one.
pub fn make(root: &Path, checks: bool) -> Result<(), String> {
    let mut pages = Vec::new();
    collect(&root.join("docs"), &mut pages)?;
    for page in pages {
        let failed = |why: String| format!("{}: {why}", page.display());
        let before = std::fs::read_to_string(&page).map_err(|why| failed(why.to_string()))?;
        let results = |name: &str| {
            let path = root.join("benches/results").join(format!("{name}.json"));
            let text =
                std::fs::read_to_string(&path).map_err(|why| format!("'{}': {why}", path.display()))?;
            serde_json::from_str(&text).map_err(|why| format!("'{}': {why}", path.display()))
        };
        let after = remade(&before, results).map_err(failed)?;
        if after != before && checks {
            return Err(failed("a table is not what its results make: xsim-bench tables".to_owned()));
        }
        if after != before {
            std::fs::write(&page, after).map_err(|why| failed(why.to_string()))?;
        }
    }
    Ok(())
}

fn collect(directory: &Path, pages: &mut Vec<std::path::PathBuf>) -> Result<(), String> {
    let failed = |why| format!("{}: {why}", directory.display());
    for entry in directory.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        match path.extension() {
            _ if path.is_dir() => collect(&path, pages)?,
            Some(ending) if ending == "md" => pages.push(path),
            _ => {}
        }
    }
    pages.sort();
    Ok(())
}

/// Returns a page with its tables made anew.
fn remade(page: &str, results: impl Fn(&str) -> Result<Value, String>) -> Result<String, String> {
    let mut made = String::new();
    let mut rest = page;
    while let Some(at) = rest.find(BEGIN) {
        let (before, from) = rest.split_at(at);
        let (comment, after) =
            from.split_once("-->\n").ok_or_else(|| "a comment of a table does not end".to_owned())?;
        let (_, behind) = after.split_once(END).ok_or_else(|| format!("'{END}' is missing"))?;
        let directive = comment.trim_start_matches(BEGIN).trim();
        let (name, shape) =
            directive.split_once(": ").ok_or_else(|| format!("'{directive}' names no bench and shape"))?;
        let table = table(shape, &results(name)?).map_err(|why| format!("{directive}: {why}"))?;
        made.push_str(&format!("{before}{comment}-->\n{table}{END}"));
        rest = behind;
    }
    made.push_str(rest);
    Ok(made)
}

/// Returns the table of a shape.
fn table(shape: &str, results: &Value) -> Result<String, String> {
    let rows = results["rows"].as_array().ok_or("the results have no rows")?;
    let cells = match shape.strip_prefix("rows ") {
        Some(shape) => pivot(shape, rows)?,
        None => {
            let columns = shape.strip_prefix("columns ").ok_or("a shape begins with rows or columns")?;
            let columns: Vec<&str> = columns.split(", ").collect();
            let heading = columns.iter().map(|&column| column.to_owned()).collect();
            let of = |row: &Value| columns.iter().map(|&column| shown(&row[column])).collect();
            std::iter::once(heading).chain(rows.iter().map(of)).collect()
        }
    };
    let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
    let columns = cells.first().map_or(0, Vec::len);
    let mut text = String::new();
    for (at, row) in cells.iter().enumerate() {
        text.push_str(&line(row));
        if at == 0 {
            text.push_str(&format!("|{}\n", "---|".repeat(columns)));
        }
    }
    let of = |name: &str| results["circumstances"][name].as_str().unwrap_or_default().to_owned();
    let about = ["processor", "cores", "load", "commit", "date"].map(of).join(", ");
    Ok(format!("{text}\n{about}\n"))
}

/// Returns the cells of `R, columns C, cells V (A)`.
fn pivot(shape: &str, rows: &[Value]) -> Result<Vec<Vec<String>>, String> {
    let parts: Vec<&str> = shape.split(", ").collect();
    let [row, column, cell] = parts[..] else {
        return Err("not of the form rows R, columns C, cells V".to_owned());
    };
    let column = column.strip_prefix("columns ").ok_or("the columns are missing")?;
    let cell = cell.strip_prefix("cells ").ok_or("the cells are missing")?;
    let (cell, aim) = match cell.split_once(" (") {
        Some((cell, aim)) => (cell, Some(aim.trim_end_matches(')'))),
        None => (cell, None),
    };
    let distinct = |name: &str| {
        let mut values: Vec<String> = Vec::new();
        for value in rows.iter().map(|row| shown(&row[name])) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    };
    let (rows_of, columns_of) = (distinct(row), distinct(column));
    let at = |of_row: &String, of_column: &String| {
        let found = rows.iter().find(|one| shown(&one[row]) == *of_row && shown(&one[column]) == *of_column);
        let Some(one) = found else { return String::new() };
        match aim.map(|aim| shown(&one[aim])).filter(|aim| !aim.is_empty()) {
            Some(aim) => format!("{} ({aim})", shown(&one[cell])),
            None => shown(&one[cell]),
        }
    };
    let heading = std::iter::once(row.to_owned()).chain(columns_of.iter().cloned()).collect();
    let body = rows_of.iter().map(|of_row| {
        std::iter::once(of_row.clone())
            .chain(columns_of.iter().map(|of_column| at(of_row, of_column)))
            .collect()
    });
    Ok(std::iter::once(heading).chain(body).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn results(name: &str) -> Result<Value, String> {
        (name == "messages")
            .then(|| {
                json!({
                    "circumstances": {
                        "processor": "EPYC", "cores": "2 cores", "load": "load 0.1", "commit": "abc",
                        "date": "2026-11-29"
                    },
                    "rows": [
                        { "pattern": "ring", "ranks": 64, "us": 0.04, "at most": 0.05 },
                        { "pattern": "any", "ranks": 64, "us": 0.12, "at most": null },
                        { "pattern": "ring", "ranks": 1_000_000, "us": 0.05, "at most": 0.1 },
                    ]
                })
            })
            .ok_or_else(|| format!("no results of {name}"))
    }

    #[test]
    fn a_table_is_made_between_its_comments() {
        let page = "Before\n<!-- bench messages: rows ranks, columns pattern, cells us (at most) -->\nold\n\
                    <!-- end of bench -->\nafter\n";
        let made = remade(page, results).unwrap();
        assert!(
            made.contains("| ranks | ring | any |\n|---|---|---|\n| 64 | 0.04 (0.05) | 0.12 |\n"),
            "{made}"
        );
        assert!(
            made.contains("| 1,000,000 | 0.05 (0.1) |  |\n\nEPYC, 2 cores, load 0.1, abc, 2026-11-29\n"),
            "{made}"
        );
        assert!(
            made.starts_with("Before\n") && made.ends_with("-->\nafter\n") && !made.contains("old"),
            "{made}"
        );
        assert_eq!(remade(&made, results).unwrap(), made);
    }

    #[test]
    fn columns_alone_have_each_row_of_the_results() {
        let page = "<!-- bench messages: columns pattern, us -->\n<!-- end of bench -->";
        let made = remade(page, results).unwrap();
        assert!(made.contains("| pattern | us |\n|---|---|\n| ring | 0.04 |\n| any | 0.12 |\n"), "{made}");
    }

    #[test]
    fn what_cannot_be_made_is_a_sentence() {
        for (page, why) in [
            ("<!-- bench messages: rows ranks -->\n<!-- end of bench -->", "not of the form"),
            ("<!-- bench other: columns us -->\n<!-- end of bench -->", "no results of other"),
            ("<!-- bench messages: columns us -->\n", "is missing"),
        ] {
            let said = remade(page, results).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}

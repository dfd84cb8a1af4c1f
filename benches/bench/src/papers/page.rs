//! A page for each paper: its claims with their verdicts, and the measured values.

use super::PublishedPaper;
use super::values::{ClaimJudge, MeasuredValues, PaperClaim};
use crate::results::shown;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// Verdicts on claims.
const HOLDS: &str = "holds";
const DIFFERS: &str = "differs";
const NOT_MEASURED: &str = "not measured";
const NOT_REPRODUCED: &str = "not reproduced";

/// Returns the page of a paper, from the file of its results below a directory.
///
/// # Errors
/// A sentence with the file's name if it is not as a paper's results are.
pub fn make(root: &Path, paper: PublishedPaper) -> Result<String, String> {
    Ok(page(paper, &read(root, paper)?))
}

/// Returns the file of a paper's results, or null if there is none.
///
/// # Errors
/// A sentence with the file's name if it cannot be read.
pub fn read(root: &Path, paper: PublishedPaper) -> Result<Value, String> {
    let path = root.join("benches/results").join(format!("{}.json", paper.results()));
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map_err(|why| format!("'{}': {why}", path.display())),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(Value::Null),
        Err(why) => Err(format!("'{}': {why}", path.display())),
    }
}

fn page(paper: PublishedPaper, results: &Value) -> String {
    let values = MeasuredValues::new(results);
    let judged: Vec<(&PaperClaim, &str, String)> = paper
        .claims()
        .iter()
        .map(|claim| {
            let (verdict, ours) = judge(claim, &values);
            (claim, verdict, ours)
        })
        .collect();
    let count = |verdict: &str| judged.iter().filter(|claim| claim.1 == verdict).count();
    let mut text = format!(
        "# {}\n\n<!-- `xsim-bench papers {} --markdown`, of benches/results/{}.json -->\n\n\
            {}.\n\n| claims | {HOLDS} | {DIFFERS} | {NOT_MEASURED} | {NOT_REPRODUCED} \
            |\n|---|---|---|---|---|\n| {} | {} | {} | {} | {} |\n\n## Claims\n\n| figure | the paper | \
            xsim | verdict |\n|---|---|---|---|\n",
        title(paper),
        paper.name(),
        paper.results(),
        paper.citation(),
        judged.len(),
        count(HOLDS),
        count(DIFFERS),
        count(NOT_MEASURED),
        count(NOT_REPRODUCED),
    );
    for (claim, verdict, ours) in &judged {
        let _ = writeln!(text, "| {} | {} | {ours} | {verdict} |", claim.figure, claim.says);
    }
    measured(&mut text, results, &values);
    text
}

fn title(paper: PublishedPaper) -> &'static str {
    match paper {
        PublishedPaper::Xsim => "The network model of xSim",
        PublishedPaper::Fattreesim => "FatTreeSim",
        PublishedPaper::Tracer => "TraceR",
        PublishedPaper::Scalabenchgen => "ScalaBenchGen",
        PublishedPaper::Durango => "Durango",
    }
}

fn judge(claim: &PaperClaim, values: &MeasuredValues) -> (&'static str, String) {
    match claim.judge {
        ClaimJudge::Values(judge) => match judge(values) {
            Some(found) => (if found.holds { HOLDS } else { DIFFERS }, found.ours),
            None => (NOT_MEASURED, String::new()),
        },
        ClaimJudge::Test(file, what) => (HOLDS, format!("{what} (`{file}`)")),
        ClaimJudge::Missing(why) => (NOT_REPRODUCED, why.to_owned()),
    }
}

/// Adds the measured values: for each figure its command, a line on the machine, and a table.
fn measured(text: &mut String, results: &Value, values: &MeasuredValues) {
    if values.rows().is_empty() {
        return;
    }
    text.push_str("\n## Measured\n\nA published value is in parentheses where the paper's text has one.\n");
    for figure in distinct(values.rows().iter().map(|row| shown(&row["figure"]))) {
        let of: Vec<&Value> = values.rows().iter().filter(|row| shown(&row["figure"]) == figure).collect();
        let how = &results["figures"][figure.as_str()];
        let fields =
            ["processor", "cores", "load", "commit", "date"].map(|field| shown(&how["circumstances"][field]));
        let quantities = distinct(of.iter().map(|row| shown(&row["quantity"])));
        let _ = writeln!(
            text,
            "\n### {}\n\n    $ {}\n\n{}\n\n| case | {} |\n|{}",
            heading(&figure),
            shown(&how["command"]),
            fields.join(", "),
            quantities.join(" | "),
            "---|".repeat(quantities.len() + 1)
        );
        for case in distinct(of.iter().map(|row| shown(&row["case"]))) {
            let cells: Vec<String> = quantities.iter().map(|quantity| cell(&of, &case, quantity)).collect();
            let _ = writeln!(text, "| {case} | {} |", cells.join(" | "));
        }
    }
}

fn heading(figure: &str) -> String {
    match figure {
        "beyond" => return "Beyond the paper".to_owned(),
        "processes" => return "Processes".to_owned(),
        _ => {}
    }
    match figure.starts_with(|c: char| c.is_ascii_digit()) {
        true if !figure.contains('.') => format!("Figure {figure}"),
        true => format!("Section {figure}"),
        false if figure.starts_with("Table") => figure.to_owned(),
        false => format!("Section {figure}"),
    }
}

fn cell(rows: &[&Value], case: &str, quantity: &str) -> String {
    let found = rows.iter().find(|row| shown(&row["case"]) == case && shown(&row["quantity"]) == quantity);
    let Some(row) = found else { return String::new() };
    match shown_number(&row["paper"]).as_str() {
        "" => shown_number(&row["ours"]),
        paper => format!("{} ({paper})", shown_number(&row["ours"])),
    }
}

/// Shows a number; one that is whole without a point.
fn shown_number(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 && (0.0..1e15).contains(&number) => {
            shown(&Value::from(number as u64))
        }
        _ => shown(value),
    }
}

fn distinct(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::root;
    use clap::ValueEnum as _;
    use serde_json::json;

    #[test]
    fn the_committed_page_of_each_paper_is_what_its_results_make() {
        for &paper in PublishedPaper::value_variants() {
            let path = root().join("docs/papers").join(format!("{}.md", paper.name()));
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            let command = format!("xsim-bench papers {} --markdown > {}", paper.name(), path.display());
            assert!(committed == make(&root(), paper).unwrap(), "it is another page: {command}");
        }
    }

    #[test]
    fn tests_that_hold_claims_exist() {
        for paper in PublishedPaper::value_variants() {
            for claim in paper.claims() {
                if let ClaimJudge::Test(file, _) = claim.judge {
                    assert!(root().join(file).is_file(), "{}, {}: {file}", paper.name(), claim.figure);
                }
            }
        }
    }

    #[test]
    fn claims_without_values_are_not_measured_and_with_them_are_judged() {
        let empty = page(PublishedPaper::Xsim, &Value::Null);
        assert!(empty.contains("differ practically not |  | not measured |"), "{empty}");
        let row = |width: u32, quantity: &str, ours: f64| {
            let case = format!("width {width}, 512 ranks");
            json!({ "figure": "17", "case": case, "quantity": quantity, "ours": ours, "paper": null })
        };
        let results = json!({
            "figures": { "17": { "command": "xsim-bench papers xsim", "circumstances": {
                "processor": "EPYC", "cores": "2 cores", "load": "load 0.1", "commit": "abc",
                "date": "2026-11-29"
            } } },
            "rows": [
                row(32, "ms", 30.0), row(64, "ms", 31.0), row(128, "ms", 30.5), row(32, "ms computed", 4.0)
            ],
        });
        let alike = page(PublishedPaper::Xsim, &results);
        let line = alike.lines().find(|line| line.starts_with("| 17 | meshes 32")).unwrap();
        assert!(line.ends_with("| holds |") && line.contains("512 ranks: 30, 31, 30.5 ms"), "{line}");
        assert!(
            alike.contains("    $ xsim-bench papers xsim\n\nEPYC, 2 cores, load 0.1, abc, 2026-11-29\n"),
            "{alike}"
        );
        assert!(alike.contains("| width 32, 512 ranks | 30 | 4 |\n"), "{alike}");
    }
}

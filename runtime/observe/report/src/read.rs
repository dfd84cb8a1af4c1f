//! Reports from files.

use recorder::RunReport;
use std::path::Path;

/// Reads a report that `-xsim-report` has written.
///
/// # Errors
/// A sentence that names the file and says what to do.
pub fn read(path: &Path) -> Result<RunReport, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|why| format!("cannot read the report {}: {why}", path.display()))?;
    parse(&text).map_err(|why| format!("{}: {why}", path.display()))
}

fn parse(text: &str) -> Result<RunReport, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|why| {
        format!(
            "this is no report of a run ({why}): give a file that -xsim-report has written, after the run \
             has ended"
        )
    })?;
    if value.get("simulated").is_none() {
        return Err(
            "this is JSON, but no report of a run: give a file that -xsim-report has written".to_owned()
        );
    }
    let version = value.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if version != u64::from(RunReport::VERSION) {
        let (own, whose) = (
            RunReport::VERSION,
            if version < u64::from(RunReport::VERSION) { "an earlier" } else { "a later" },
        );
        return Err(format!(
            "this report is of version {version}, from {whose} xsim; this one reads version {own}: run the \
             program again"
        ));
    }
    // Again from the text: sums may have more digits than a value of JSON keeps.
    serde_json::from_str(text)
        .map_err(|why| format!("this report cannot be read ({why}): run the program again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_report_is_told() {
        for (text, said) in [
            ("", "no report of a run"),
            ("{\"a\": 1}", "JSON, but no report"),
            ("{\"simulated\": {}}", "version 0, from an earlier xsim"),
            ("{\"version\": 99, \"simulated\": {}}", "version 99, from a later xsim"),
            ("{\"version\": 1, \"simulated\": {}}", "cannot be read"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(said), "{text}: {why}");
        }
        assert!(read("/nonexistent/run.json".as_ref()).unwrap_err().contains("/nonexistent/run.json"));
    }
}

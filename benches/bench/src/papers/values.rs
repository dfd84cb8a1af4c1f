//! Measured values of a paper's figures, and claims that they decide.

use crate::results::{ResultRow, rounded};
use serde_json::Value;

/// A statement of a paper.
pub struct PaperClaim {
    /// The figure, table or section that makes it.
    pub figure: &'static str,
    /// The statement.
    pub says: &'static str,
    /// The source of the verdict.
    pub judge: ClaimJudge,
}

/// The source of a claim's verdict.
pub enum ClaimJudge {
    /// Measured values: `None` if they are missing.
    Values(fn(&MeasuredValues) -> Option<ClaimVerdict>),
    /// A test of this repository holds it: its file, and what it shows.
    Test(&'static str, &'static str),
    /// It is not reproduced, for this reason.
    Missing(&'static str),
}

/// The verdict of measured values on a claim.
pub struct ClaimVerdict {
    /// `true` if the claim holds here.
    pub holds: bool,
    /// The values that decide it, and why they differ if they do.
    pub ours: String,
}

impl ClaimVerdict {
    /// Returns a verdict.
    pub fn of(holds: bool, ours: String) -> Option<ClaimVerdict> {
        Some(ClaimVerdict { holds, ours })
    }
}

/// Returns a row of a paper's results. `paper` is the published value, if the text has one.
pub fn figure_row(
    figure: &'static str,
    case: impl Into<String>,
    quantity: &'static str,
    ours: f64,
    paper: Option<f64>,
) -> ResultRow {
    // Counts are exact.
    let ours = if ours.fract() == 0.0 { ours } else { rounded(ours, 4) };
    ResultRow::default()
        .with("figure", figure)
        .with("case", case.into())
        .with("quantity", quantity)
        .with("ours", ours)
        .maybe("paper", paper)
}

/// The rows of a file of results.
pub struct MeasuredValues {
    rows: Vec<Value>,
}

impl MeasuredValues {
    /// Takes the rows of a file of results.
    pub fn new(results: &Value) -> MeasuredValues {
        MeasuredValues { rows: results["rows"].as_array().cloned().unwrap_or_default() }
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[Value] {
        &self.rows
    }

    /// Returns a measured value.
    pub fn get(&self, figure: &str, case: &str, quantity: &str) -> Option<f64> {
        let is_it =
            |row: &&Value| row["figure"] == figure && row["case"] == case && row["quantity"] == quantity;
        self.rows.iter().find(is_it)?["ours"].as_f64()
    }

    /// Returns the cases of a figure with a quantity and their values, in order.
    pub fn cases<'v>(
        &'v self,
        figure: &'v str,
        quantity: &'v str,
    ) -> impl Iterator<Item = (&'v str, f64)> + 'v {
        let of = move |row: &&Value| row["figure"] == figure && row["quantity"] == quantity;
        self.rows.iter().filter(of).filter_map(|row| Some((row["case"].as_str()?, row["ours"].as_f64()?)))
    }

    /// Returns the values of a figure's series, whose cases are `SERIES, N UNIT`, by N.
    pub fn series(&self, figure: &str, series: &str, quantity: &str) -> Vec<(u64, f64)> {
        let of = |(case, value): (&str, f64)| {
            let rest = case.strip_prefix(series)?.strip_prefix(", ")?;
            Some((rest.split(' ').next()?.parse().ok()?, value))
        };
        self.cases(figure, quantity).filter_map(of).collect()
    }

    /// Returns the largest deviation of measured values from published ones of a figure, in percent.
    pub fn deviation(&self, figure: &str) -> Option<f64> {
        let of = |row: &Value| {
            let (ours, paper) = (row["ours"].as_f64()?, row["paper"].as_f64()?);
            (row["figure"] == figure && paper != 0.0).then(|| (100.0 * (ours / paper - 1.0)).abs())
        };
        self.rows.iter().filter_map(of).max_by(f64::total_cmp)
    }
}

/// Returns the ratio of the largest to the least value.
pub fn spread(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    Some(values.clone().max_by(f64::total_cmp)? / values.min_by(f64::total_cmp)?)
}

/// Shows a value with three digits.
pub fn brief(value: f64) -> String {
    crate::results::shown(&match rounded(value, 3) {
        whole if whole.fract() == 0.0 && whole.abs() < 1e15 => Value::from(whole as i64),
        part => Value::from(part),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_found_by_figure_case_and_quantity() {
        let values = MeasuredValues::new(&json!({ "rows": [
            { "figure": "16", "case": "star, 16 ranks", "quantity": "ms", "ours": 3.0, "paper": null },
            { "figure": "16", "case": "star, 64 ranks", "quantity": "ms", "ours": 2.0, "paper": 2.5 },
            { "figure": "17", "case": "star, 64 ranks", "quantity": "ms", "ours": 9.0, "paper": 9.0 },
        ]}));
        assert_eq!(values.get("16", "star, 64 ranks", "ms"), Some(2.0));
        assert_eq!(values.get("16", "star, 64 ranks", "s"), None);
        assert_eq!(values.series("16", "star", "ms"), [(16, 3.0), (64, 2.0)]);
        assert_eq!(values.deviation("16").map(|percent| percent.round()), Some(20.0));
        assert_eq!(values.deviation("18"), None);
        assert_eq!(spread([2.0, 1.0, 4.0].into_iter()), Some(4.0));
        assert_eq!((brief(1234.4), brief(0.123_44)), ("1,230".to_owned(), "0.123".to_owned()));
    }
}

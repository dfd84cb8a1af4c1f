//! Virtual time along a number, a line for each combination of the other values.

use crate::table::SweepTable;
use plot::{Chart, Mark, PlotSeries};

/// Returns the lines along the first variable whose values are numbers.
///
/// # Errors
/// A sentence, if there is no such variable or no run came to its end.
pub fn curves(table: &SweepTable) -> Result<Chart, String> {
    let variables = table.variables();
    let along = variables.iter().position(|variable| variable.numbers().is_some());
    let along = along.ok_or(
        "no variable has numbers of one unit for its values, so there is nothing to draw lines along",
    )?;
    let numbers = variables[along].numbers().unwrap_or_default();
    // In the order of the table, so that a line has the same colour on each run.
    let mut series: Vec<PlotSeries> = Vec::new();
    for (point, time) in table.times() {
        let name = table.name_without(point, &[along]);
        let at = (numbers[point[along]], time as f64 * 1e-12);
        match series.iter_mut().find(|series| series.name == name) {
            Some(known) => known.points.push(at),
            None => series.push(PlotSeries { name, mark: Mark::Line, points: vec![at] }),
        }
    }
    if series.is_empty() {
        return Err("no run came to its end, so there is nothing to draw".to_owned());
    }
    series.iter_mut().for_each(|series| series.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    Ok(Chart { title: String::new(), x: variables[along].label(), y: "virtual time [s]".to_owned(), series })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Points, RunResults, Variable};

    fn table(variables: &[&str], failing: bool) -> SweepTable {
        let variables: Vec<Variable> = variables.iter().map(|text| Variable::parse(text).unwrap()).collect();
        let points = Points(&variables).all().unwrap();
        let of = |(at, point): (usize, Vec<usize>)| {
            let outcome = RunResults {
                time_ps: at as u64 * 1_000_000_000_000,
                compute_ps: 0,
                wait_ps: 0,
                messages: 0,
                bytes: 0,
            };
            (point, if failing { Err("no".to_owned()) } else { Ok(outcome) })
        };
        SweepTable::new(variables, points.into_iter().enumerate().map(of).collect(), None).unwrap()
    }

    #[test]
    fn there_is_a_line_for_each_combination_of_the_others() {
        let chart = curves(&table(&["coll=ring,tree", "l=2us,1us"], false)).unwrap();
        assert_eq!((chart.x.as_str(), chart.series.len()), ("l [s]", 2));
        assert_eq!(
            (chart.series[1].name.as_str(), chart.series[1].points.as_slice()),
            ("coll=tree", &[(1e-6, 3.0), (2e-6, 2.0)][..])
        );
        assert!(curves(&table(&["coll=ring,tree"], false)).unwrap_err().contains("numbers of one unit"));
        assert!(curves(&table(&["np=1,2"], true)).unwrap_err().contains("no run came to its end"));
    }
}

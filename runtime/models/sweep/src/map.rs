//! Virtual time for each pair of values of two variables.

use crate::table::SweepTable;
use engine::Span;
use plot::Map;

/// Returns the map in which the first variable that has several values goes down, the other one to the right.
///
/// # Errors
/// A sentence, if there are not two such variables, or no run came to its end.
pub fn map(table: &SweepTable) -> Result<Map, String> {
    let variables = table.variables();
    let several: Vec<usize> = (0..variables.len()).filter(|&at| variables[at].values.len() > 1).collect();
    let &[down, across] = several.as_slice() else {
        return Err(format!("a map has two variables of several values, and here are {}", several.len()));
    };
    let (rows, columns) = (&variables[down].values, &variables[across].values);
    let mut cells = vec![vec![None; columns.len()]; rows.len()];
    let mut others = String::new();
    for (point, time) in table.times() {
        cells[point[down]][point[across]] = Some((time as f64 / 1e12, Span::from_ps(time).to_string()));
        others = table.name_without(point, &several);
    }
    if cells.iter().flatten().all(Option::is_none) {
        return Err("no run came to its end, so there is nothing to draw".to_owned());
    }
    let title = if others.is_empty() { "virtual time".to_owned() } else { format!("virtual time, {others}") };
    let (x, y) = (variables[across].name.clone(), variables[down].name.clone());
    Ok(Map { title, x, columns: columns.clone(), y, rows: rows.clone(), cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Points, RunResults, Variable};

    fn table(variables: &[&str]) -> SweepTable {
        let variables: Vec<Variable> = variables.iter().map(|text| Variable::parse(text).unwrap()).collect();
        let points = Points(&variables).all().unwrap();
        let of = |(at, point): (usize, Vec<usize>)| {
            let outcome = RunResults {
                time_ps: at as u64 * 1_000_000,
                compute_ps: 0,
                wait_ps: 0,
                messages: 0,
                bytes: 0,
            };
            (point, if at == 0 { Err("no".to_owned()) } else { Ok(outcome) })
        };
        SweepTable::new(variables, points.into_iter().enumerate().map(of).collect(), None).unwrap()
    }

    #[test]
    fn two_variables_that_vary_are_a_map() {
        let map = map(&table(&["coll=ring,tree", "b=1Gbps", "l=1us,2us,4us"])).unwrap();
        assert_eq!(
            (map.y.as_str(), map.x.as_str(), map.title.as_str()),
            ("coll", "l", "virtual time, b=1Gbps")
        );
        assert_eq!(
            (map.cells[0][0].as_ref(), map.cells[1][2].as_ref()),
            (None, Some(&(5e-6, "5us".to_owned())))
        );
    }

    #[test]
    fn one_or_three_are_none() {
        assert!(map(&table(&["np=1,2"])).unwrap_err().contains("here are 1"));
        assert!(map(&table(&["np=1,2", "l=1us,2us", "o=1,2"])).unwrap_err().contains("here are 3"));
    }
}

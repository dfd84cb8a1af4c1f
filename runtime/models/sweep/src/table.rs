//! Results of the runs of a sweep: the table, the best point, who is best where, how well it scales.

use crate::vary::{Point, Points, Variable};
use engine::Span;

/// Results of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunResults {
    /// The virtual time, in picoseconds.
    pub time_ps: u64,
    /// The mean over ranks of computation and of waiting.
    pub compute_ps: u64,
    /// Waiting.
    pub wait_ps: u64,
    /// Messages that entered the network.
    pub messages: u64,
    /// Their payload.
    pub bytes: u128,
}

/// Problem size that stays the same while there are more ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScalingMode {
    /// The problem: n times the ranks should take the n-th part of the time.
    Strong,
    /// The problem of a rank: it should take the same time.
    Weak,
}

/// The results of a sweep, by point; of runs that failed why.
pub struct SweepTable {
    variables: Vec<Variable>,
    rows: Vec<(Point, Result<RunResults, String>)>,
    efficiencies: Vec<Option<f64>>,
    scaling: Option<ScalingMode>,
}

impl SweepTable {
    /// Returns the table of these runs, with efficiencies if `scaling` is given.
    ///
    /// # Errors
    /// A sentence, if efficiencies are asked for and the number of ranks is not varied.
    pub fn new(
        variables: Vec<Variable>,
        rows: Vec<(Point, Result<RunResults, String>)>,
        scaling: Option<ScalingMode>,
    ) -> Result<SweepTable, String> {
        let mut table = SweepTable { efficiencies: vec![None; rows.len()], variables, rows, scaling };
        if let Some(scaling) = scaling {
            table.efficiencies = table.scaled(scaling)?;
        }
        Ok(table)
    }

    /// Returns the names of what is varied.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Returns the points with their times, those that failed left out.
    pub fn times(&self) -> impl Iterator<Item = (&Point, u64)> {
        self.rows.iter().filter_map(|(point, outcome)| Some((point, outcome.as_ref().ok()?.time_ps)))
    }

    /// Returns how many runs there were.
    pub fn runs(&self) -> usize {
        self.rows.len()
    }

    /// Returns how many runs failed.
    pub fn failed(&self) -> usize {
        self.rows.iter().filter(|(_, outcome)| outcome.is_err()).count()
    }

    /// Returns the efficiency of each point against the one with the fewest ranks among those that are
    /// otherwise equal.
    fn scaled(&self, scaling: ScalingMode) -> Result<Vec<Option<f64>>, String> {
        let np = self
            .variables
            .iter()
            .position(|variable| variable.name == "np")
            .ok_or("efficiencies need several numbers of ranks: --vary np=64..4096*2")?;
        let ranks = self.variables[np].numbers().ok_or("np is varied with what is no number")?;
        let of = |(point, outcome): &(Point, Result<RunResults, String>)| {
            let time = outcome.as_ref().ok()?.time_ps as f64;
            let alike = self.times().filter(|(other, _)| differs_only_in(np, point, other));
            let (first, least) = alike.min_by(|a, b| ranks[a.0[np]].total_cmp(&ranks[b.0[np]]))?;
            let more = if scaling == ScalingMode::Strong { ranks[point[np]] / ranks[first[np]] } else { 1.0 };
            (time > 0.0).then(|| least as f64 / (time * more))
        };
        Ok(self.rows.iter().map(of).collect())
    }

    /// Returns comma-separated values (RFC 4180): a heading, and a line for each point.
    pub fn csv(&self) -> String {
        let quoted = |text: &String| {
            if text.contains([',', '"', '\n']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.clone()
            }
        };
        let line = |fields: Vec<String>| fields.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
        self.data().into_iter().map(line).collect()
    }

    /// Returns the names of the columns, then the fields of each point. A run that failed has only the values
    /// of the variables and the error.
    pub fn data(&self) -> Vec<Vec<String>> {
        let mut lines = vec![self.variables.iter().map(|variable| variable.name.clone()).collect::<Vec<_>>()];
        lines[0].extend(
            ["virtual_time_ps", "compute_mean_ps", "wait_mean_ps", "messages", "bytes"].map(str::to_owned),
        );
        lines[0].extend(self.scaling.map(|_| "efficiency".to_owned()));
        lines[0].push("error".to_owned());
        for ((point, outcome), efficiency) in self.rows.iter().zip(&self.efficiencies) {
            let mut line: Vec<String> = self.values(point).map(|value| value.to_owned()).collect();
            match outcome {
                Ok(RunResults { time_ps, compute_ps, wait_ps, messages, bytes }) => {
                    line.extend([time_ps, compute_ps, wait_ps, messages].map(u64::to_string));
                    line.push(bytes.to_string());
                }
                Err(_) => line.extend(vec![String::new(); 5]),
            }
            line.extend(
                self.scaling.map(|_| efficiency.map_or(String::new(), |value| format!("{value:.4}"))),
            );
            line.push(outcome.as_ref().err().cloned().unwrap_or_default());
            lines.push(line);
        }
        lines
    }

    /// Returns the values of a point but those of these variables: `np=64 l=1us`.
    pub fn name_without(&self, point: &Point, left_out: &[usize]) -> String {
        let others = (0..point.len()).filter(|variable| !left_out.contains(variable));
        let name = |variable: usize| {
            format!("{}={}", self.variables[variable].name, self.variables[variable].values[point[variable]])
        };
        others.map(name).collect::<Vec<_>>().join(" ")
    }

    fn values<'a>(&'a self, point: &'a Point) -> impl Iterator<Item = &'a String> {
        self.variables.iter().zip(point).map(|(variable, &value)| &variable.values[value])
    }

    /// Returns the text for a terminal: a line for each point, the best one, and who is best where.
    pub fn text(&self) -> String {
        let mut lines: Vec<Vec<String>> =
            vec![self.variables.iter().map(|variable| variable.name.clone()).collect()];
        lines[0].push("virtual time".to_owned());
        lines[0].extend(self.scaling.map(|_| "efficiency".to_owned()));
        for ((point, outcome), efficiency) in self.rows.iter().zip(&self.efficiencies) {
            let mut line: Vec<String> = self.values(point).cloned().collect();
            line.push(match outcome {
                Ok(outcome) => Span::from_ps(outcome.time_ps).to_string(),
                Err(why) => format!("failed: {why}"),
            });
            line.extend(efficiency.map(|value| format!("{:.1} %", value * 100.0)));
            lines.push(line);
        }
        let width = |column: usize| {
            lines
                .iter()
                .filter_map(|line| line.get(column))
                .filter(|cell| !cell.starts_with("failed: "))
                .map(|cell| cell.chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..lines[0].len()).map(|column| width(column).unwrap_or(0)).collect();
        let mut text = String::new();
        for line in &lines {
            let cells: Vec<String> =
                line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
            text += cells.join("  ").trim_end();
            text.push('\n');
        }
        if let Some((point, time)) = self.times().min_by_key(|&(_, time)| time) {
            text +=
                &format!("least: {} takes {}\n", Points(&self.variables).name(point), Span::from_ps(time));
        }
        self.crossings().into_iter().for_each(|line| text = format!("{text}{line}\n"));
        text
    }

    /// Returns where, along a number, another value of what is no number becomes the fastest; a sentence
    /// each. Of equal times the value that was given first is taken.
    pub fn crossings(&self) -> Vec<String> {
        let mut told = Vec::new();
        for (which, choice) in
            self.variables.iter().enumerate().filter(|(_, variable)| variable.numbers().is_none())
        {
            for (along, number) in self
                .variables
                .iter()
                .enumerate()
                .filter(|(_, variable)| variable.numbers().is_some_and(|all| all.len() > 1))
            {
                let is_first = |point: &&Point| point[which] == 0 && point[along] == 0;
                for base in self.rows.iter().map(|(point, _)| point).filter(is_first) {
                    told.extend(self.changes(base, (which, choice), (along, number)));
                }
            }
        }
        told
    }

    /// Returns where the fastest choice changes along a number, of the points that are otherwise as `base`.
    fn changes(
        &self,
        base: &Point,
        (which, choice): (usize, &Variable),
        (along, number): (usize, &Variable),
    ) -> Vec<String> {
        let numbers = number.numbers().unwrap_or_default();
        let mut places: Vec<usize> = (0..numbers.len()).collect();
        places.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
        let others = self.name_without(base, &[which, along]);
        let with = if others.is_empty() { others } else { format!(" with {others}") };
        // The fastest at each number; where all failed nobody is.
        let fastest = |place: usize| {
            let is_at = |point: &Point| {
                (0..point.len()).all(|index| {
                    index == which || point[index] == if index == along { place } else { base[index] }
                })
            };
            let there = self.times().filter(|(point, _)| is_at(point));
            there.min_by_key(|&(point, time)| (time, point[which])).map(|(point, _)| (point[which], place))
        };
        let leaders: Vec<(usize, usize)> = places.into_iter().filter_map(fastest).collect();
        let changes = leaders.windows(2).filter(|pair| pair[0].0 != pair[1].0);
        let (of, at) = (
            |leader: (usize, usize)| &choice.values[leader.0],
            |leader: (usize, usize)| &number.values[leader.1],
        );
        let sentence = |pair: &[(usize, usize)]| {
            let (before, after) = (pair[0], pair[1]);
            let (name, number) = (&choice.name, &number.name);
            format!(
                "{name}: {} is fastest up to {number}={}, {} from {} on{with}",
                of(before),
                at(before),
                of(after),
                at(after)
            )
        };
        changes.map(sentence).collect()
    }
}

fn differs_only_in(variable: usize, one: &Point, other: &Point) -> bool {
    one.iter().zip(other).enumerate().all(|(place, (a, b))| place == variable || a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(
        variables: &[&str],
        times: &[Option<u64>],
        scaling: Option<ScalingMode>,
    ) -> Result<SweepTable, String> {
        let variables: Vec<Variable> = variables.iter().map(|text| Variable::parse(text).unwrap()).collect();
        let points = Points(&variables).all().unwrap();
        let of = |time: &Option<u64>| {
            time.map(|time_ps| RunResults { time_ps, compute_ps: 1, wait_ps: 2, messages: 3, bytes: 4 })
                .ok_or("no, \"never\"".to_owned())
        };
        let rows = points.into_iter().zip(times.iter().map(of)).collect();
        SweepTable::new(variables, rows, scaling)
    }

    #[test]
    fn the_best_and_where_another_becomes_best_are_told() {
        let times = [Some(10), Some(20), Some(30), Some(15), Some(20), Some(25)];
        let table = table(&["coll=ring,tree", "n=1..3+1"], &times, None).unwrap();
        assert_eq!(table.crossings(), ["coll: ring is fastest up to n=2, tree from 3 on"]);
        assert!(table.text().contains("least: coll=ring n=1 takes 10ps"), "{}", table.text());
    }

    #[test]
    fn a_failed_run_stands_in_the_table_and_nowhere_else() {
        let table = table(&["coll=ring,tree", "n=1,2"], &[Some(10), None, Some(20), Some(30)], None).unwrap();
        assert_eq!(table.failed(), 1);
        assert_eq!(table.csv().lines().nth(2), Some("ring,2,,,,,,\"no, \"\"never\"\"\""));
        assert_eq!(table.csv().lines().nth(3), Some("tree,1,20,1,2,3,4,"));
        assert!(table.text().contains("failed: no, \"never\""));
        assert_eq!(
            table.crossings(),
            ["coll: ring is fastest up to n=1, tree from 2 on"],
            "nobody else is there"
        );
    }

    #[test]
    fn efficiencies_are_against_the_fewest_ranks() {
        let strong =
            table(&["np=8,2,4", "n=1"], &[Some(50), Some(100), Some(50)], Some(ScalingMode::Strong)).unwrap();
        assert_eq!(strong.efficiencies, [Some(0.5), Some(1.0), Some(1.0)]);
        let weak =
            table(&["n=1,2", "np=2,4"], &[Some(100), Some(125), None, Some(40)], Some(ScalingMode::Weak))
                .unwrap();
        assert_eq!(
            weak.efficiencies,
            [Some(1.0), Some(0.8), None, Some(1.0)],
            "of what failed there is none, and the next is the least"
        );
        assert!(table(&["n=1"], &[Some(1)], Some(ScalingMode::Weak)).err().unwrap().contains("--vary np="));
    }
}

//! Specification of failures, as a user gives it (`-xsim-fail`).

use crate::law::{Law, instant};
use crate::plan::{Failure, FailurePlan};
use engine::{Random, Span, Time};
use std::path::{Path, PathBuf};

/// The failures that are requested: `RANKS@TIME,...`, `file:PATH`, or a law of which all ranks or nodes fail.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Specification {
    /// Nothing.
    #[default]
    Nothing,
    /// These.
    List(Vec<FailedRanks>),
    /// Failures that a file lists: a line `RANKS@TIME` or `RANKS TIME` each.
    File(PathBuf),
    /// Failures that are drawn.
    Drawn(RandomFailures),
}

/// Ranks that fail together: the first, the last, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailedRanks {
    first: u32,
    last: u32,
    at: Time,
}

/// Ranks or nodes that each last a time of their own.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RandomFailures {
    law: Law,
    /// Mean time between failures of one, in seconds.
    mtbf: f64,
    /// `true` if whole nodes fail.
    nodes: bool,
    seed: u64,
}

/// The format of a failure.
const FORM: &str = "write RANK@TIME or FIRST-LAST@TIME, such as 3@1.5ms,8-15@2s";

/// Units of a mean time between failures that are no units of virtual time, which is shorter; a year as
/// astronomers have it.
const LONG_UNITS: [(&str, f64); 3] = [("h", 3600.0), ("d", 86_400.0), ("y", 365.25 * 86_400.0)];

impl Specification {
    /// Reads it.
    ///
    /// # Errors
    /// A sentence with what may be written.
    pub fn parse(text: &str) -> Result<Specification, String> {
        let Some((kind, rest)) = text.split_once(':') else {
            let ranks: Result<Vec<FailedRanks>, String> =
                text.split(',').map(|part| FailedRanks::parse(part.trim())).collect();
            return ranks.map(Specification::List);
        };
        match kind {
            "file" if !rest.is_empty() => Ok(Specification::File(rest.into())),
            "exponential" | "weibull" => RandomFailures::parse(kind, rest).map(Specification::Drawn),
            _ => Err(format!(
                "failures are a list ({FORM}), file:PATH, or exponential:mtbf=TIME,... or \
                 weibull:mtbf=TIME,shape=NUMBER,..."
            )),
        }
    }

    /// Returns who of a run of `ranks` ranks, `node` of which share a node, fails when.
    ///
    /// # Errors
    /// A sentence: a rank that the run has not, a file that cannot be read.
    pub fn plan(&self, ranks: u32, node: u32) -> Result<FailurePlan, String> {
        match self {
            Specification::Nothing => Ok(FailurePlan::default()),
            Specification::List(list) => listed(list, ranks).map_err(|why| format!("-xsim-fail: {why}")),
            Specification::File(path) => {
                let list = read(path)?;
                listed(&list, ranks).map_err(|why| format!("{}: {why}", path.display()))
            }
            Specification::Drawn(draw) => Ok(draw.plan(ranks, node)),
        }
    }
}

fn listed(list: &[FailedRanks], ranks: u32) -> Result<FailurePlan, String> {
    if let Some(other) = list.iter().find(|part| part.last >= ranks) {
        return Err(format!(
            "there is no rank {} to fail: the run has the ranks 0 to {}",
            other.last,
            ranks - 1
        ));
    }
    Ok(FailurePlan::new(
        list.iter().flat_map(|part| (part.first..=part.last).map(|rank| Failure { rank, at: part.at })),
    ))
}

fn read(path: &Path) -> Result<Vec<FailedRanks>, String> {
    let text = engine::text::read(path, engine::text::LIST)
        .map_err(|why| format!("cannot read {}, the list of failures (-xsim-fail): {why}", path.display()))?;
    let lines = (1..)
        .zip(text.lines())
        .map(|(number, line)| (number, line.split('#').next().unwrap_or_default().trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty());
    lines
        .map(|(number, line)| {
            FailedRanks::parse(line).map_err(|why| format!("{}: line {number}: {why}", path.display()))
        })
        .collect()
}

impl FailedRanks {
    fn parse(text: &str) -> Result<FailedRanks, String> {
        let (ranks, time) = text
            .split_once('@')
            .or_else(|| text.split_once(char::is_whitespace))
            .ok_or(format!("'{text}' is no failure: {FORM}"))?;
        let (first, last) = engine::text::bounds(ranks)
            .ok_or_else(|| format!("'{ranks}' is no rank and no range of ranks: {FORM}"))?;
        if first > last {
            return Err(format!("the range {first}-{last} has no rank: write the lesser one first"));
        }
        let at: Span = time.trim().parse().map_err(|why: engine::ParseSpanError| why.to_string())?;
        Ok(FailedRanks { first, last, at: Time::ZERO + at })
    }
}

impl RandomFailures {
    fn parse(kind: &str, text: &str) -> Result<RandomFailures, String> {
        let (mut mtbf, mut shape, mut nodes, mut seed) = (None, None, false, 0);
        for part in text.split(',').map(str::trim) {
            match part.split_once('=') {
                Some(("mtbf", value)) => mtbf = Some(long_time(value)?),
                Some(("shape", value)) if kind == "weibull" => {
                    let value = value.parse::<f64>().ok().filter(|shape| (0.1..=100.0).contains(shape));
                    shape = Some(
                        value.ok_or("the shape of a Weibull law is a number from 0.1 to 100, such as 0.7")?,
                    );
                }
                Some(("per", "rank")) => nodes = false,
                Some(("per", "node")) => nodes = true,
                Some(("seed", value)) => {
                    seed = value
                        .parse()
                        .map_err(|_| format!("'{value}' is no seed: write a whole number, such as seed=7"))?
                }
                _ => {
                    let shape = if kind == "weibull" { "shape=NUMBER, " } else { "" };
                    return Err(format!(
                        "'{part}' is nothing that {kind} has: write mtbf=TIME, {shape}per=rank or per=node, \
                         seed=NUMBER"
                    ));
                }
            }
        }
        let mtbf = mtbf.ok_or_else(|| {
            format!("{kind} needs the mean time between failures of one rank or node: {kind}:mtbf=5y")
        })?;
        let law = match (kind, shape) {
            ("weibull", Some(shape)) => Law::Weibull(shape),
            ("weibull", None) => {
                return Err("weibull needs a shape, such as weibull:mtbf=5y,shape=0.7".to_owned());
            }
            _ => Law::Exponential,
        };
        Ok(RandomFailures { law, mtbf, nodes, seed })
    }

    // A stream of random numbers for each, so that rank 5 fails at one time however many ranks there are.
    // O(ranks), on each process.
    fn plan(&self, ranks: u32, node: u32) -> FailurePlan {
        let together = if self.nodes { node.max(1) } else { 1 };
        let last = |first: u32| first.saturating_add(together - 1).min(ranks - 1);
        let drawn = (0..ranks).step_by(together as usize).filter_map(|first| {
            let seconds = self.law.draw(self.mtbf, &mut Random::new(self.seed, u64::from(first / together)));
            instant(seconds).map(|at| (first, at))
        });
        FailurePlan::new(
            drawn.flat_map(|(first, at)| (first..=last(first)).map(move |rank| Failure { rank, at })),
        )
    }
}

/// Reads a length of time in seconds, which may be longer than virtual time.
fn long_time(text: &str) -> Result<f64, String> {
    for (unit, seconds) in LONG_UNITS {
        if let Some(number) = text.strip_suffix(unit)
            && let Ok(number) = number.trim().parse::<f64>()
            && number > 0.0
            && number.is_finite()
        {
            return Ok(number * seconds);
        }
    }
    let span: Span = text.parse().map_err(|why: engine::ParseSpanError| format!("{why}, or in h, d or y"))?;
    if span == Span::ZERO {
        Err("a mean time between failures is above 0".to_owned())
    } else {
        Ok(span.as_ps() as f64 * 1e-12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str, ranks: u32, node: u32) -> FailurePlan {
        Specification::parse(text).unwrap().plan(ranks, node).unwrap()
    }
    fn at(plan: &FailurePlan, rank: u32) -> Option<u64> {
        plan.of(rank).map(Time::as_ps)
    }

    #[test]
    fn a_list_names_ranks_and_ranges() {
        let plan = plan("3@1.5us, 5-7@2ns", 8, 1);
        assert_eq!(
            [3, 5, 6, 7].map(|rank| at(&plan, rank)),
            [Some(1_500_000), Some(2000), Some(2000), Some(2000)]
        );
        assert_eq!((plan.first(), at(&plan, 4)), (Some(Failure { rank: 5, at: Time::from_ps(2000) }), None));
    }

    #[test]
    fn the_nodes_of_a_law_fail_whole_and_a_ranks_time_does_not_depend_on_how_many_there_are() {
        let nodes = plan("exponential:mtbf=1h,per=node,seed=4", 10, 4);
        assert_eq!((at(&nodes, 0), at(&nodes, 8)), (at(&nodes, 3), at(&nodes, 9)));
        assert_ne!(at(&nodes, 3), at(&nodes, 4));
        let (few, many) =
            (plan("exponential:mtbf=1h,seed=4", 10, 4), plan("exponential:mtbf=1h,seed=4", 1000, 4));
        assert!((0..10).all(|rank| few.of(rank).is_some() && few.of(rank) == many.of(rank)));
        assert_ne!(few.of(0), plan("exponential:mtbf=1h,seed=5", 10, 4).of(0));
    }

    // The least of n exponential times of mean m is exponential with mean m / n.
    #[test]
    fn many_ranks_fail_sooner() {
        let firsts = (0..400).map(|seed| {
            plan(&format!("exponential:mtbf=100h,seed={seed}"), 100, 1).first().unwrap().at.as_ps() as f64
                * 1e-12
        });
        let mean = firsts.sum::<f64>() / 400.0;
        assert!((mean / 3600.0 - 1.0).abs() < 0.15, "{mean}");
    }

    #[test]
    fn of_long_lives_few_end_within_virtual_time() {
        assert!(plan("weibull:mtbf=1000y,shape=0.7,seed=1", 100, 1).ranks().len() < 20);
        assert_eq!(long_time("2d"), Ok(172_800.0));
        assert_eq!(long_time("5ms"), Ok(0.005));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_what_may_be_written() {
        for (text, part) in [
            ("3", "is no failure: write RANK@TIME"),
            ("x@1s", "'x' is no rank"),
            ("5-3@1s", "write the lesser one first"),
            ("3@1", "the unit is missing"),
            ("poisson:mtbf=1h", "exponential:mtbf=TIME"),
            ("file:", "file:PATH"),
            ("exponential:seed=3", "needs the mean time between failures"),
            ("exponential:mtbf=0s", "is above 0"),
            ("exponential:mtbf=3w", "or in h, d or y"),
            ("exponential:mtbf=3h,shape=2", "is nothing that exponential has"),
            ("weibull:mtbf=3h", "needs a shape"),
            ("weibull:mtbf=3h,shape=0", "from 0.1 to 100"),
            ("weibull:mtbf=3h,shape=1,per=rack", "per=rank or per=node"),
            ("exponential:mtbf=3h,seed=a", "no seed"),
        ] {
            let why = Specification::parse(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        assert!(
            Specification::parse("3-8@1s")
                .unwrap()
                .plan(8, 1)
                .unwrap_err()
                .contains("there is no rank 8 to fail")
        );
    }

    #[test]
    fn a_file_has_a_line_for_each_failure() {
        let path = std::env::temp_dir().join(format!("xsim-failures-{}", std::process::id()));
        std::fs::write(&path, "# log\n3 1us # disk\n\n5-6@2us\n").unwrap();
        let plan = Specification::File(path.clone()).plan(8, 1).unwrap();
        assert_eq!([3, 6].map(|rank| at(&plan, rank)), [Some(1_000_000), Some(2_000_000)]);
        std::fs::write(&path, "3 1us\nseven\n").unwrap();
        let why = Specification::File(path.clone()).plan(8, 1).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(why.contains("line 2") && why.contains("seven"), "{why}");
    }
}

//! `xsim run --runs N` and `xsim run --on A,B`: a program runs several times, and the times are compared.

use super::code;
use crate::failure::{Failure, NOT_RUNNABLE, USAGE};
use crate::output::{self, note};
use ::report::read;
use ::report::table::{Align, Table, TableCell};
use ::report::units::{percent, short};
use ::report::wrap::summary_width;
use clap::ArgMatches;
use recorder::{RunReport, Simulated};
use simulation::Options;
use simulation::options::variable;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Options that only the first run has: another would write the same files.
const ONCE: [&str; 4] = ["log", "trace", "timeline", "network-report"];

/// A run is an outlier if it differs from the median by more than this many deviations of the others...
const OUTLIER_DEVIATIONS: f64 = 3.0;
/// ... and by more than this part of the median.
const OUTLIER_SHARE: f64 = 0.1;
/// A normal distribution's standard deviation in median absolute deviations.
const NORMAL_MAD: f64 = 1.4826;

/// A directory for the reports of the runs, removed in the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// Makes the directory.
    pub fn new() -> Result<Scratch, Failure> {
        let directory = std::env::temp_dir().join(format!("xsim-runs-{}", std::process::id()));
        let cannot = |why| Failure::new(format!("cannot keep reports in {}: {why}", directory.display()));
        std::fs::create_dir(&directory).map_err(cannot)?;
        Ok(Scratch(directory))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Reports that stay there harm no other run.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A way in which a command gets its options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OptionsBy {
    /// In its environment: a program.
    Environment,
    /// As arguments: this command itself.
    Arguments,
}

/// Runs of one program, or of this command.
struct ProgramRuns<'a> {
    program: Command,
    by: OptionsBy,
    /// The machine that it runs on, if that is not the program's own affair.
    machine: Option<String>,
    report: Option<&'a Path>,
    scratch: Scratch,
    begun: usize,
}

impl<'a> ProgramRuns<'a> {
    fn new(program: Command, by: OptionsBy, report: Option<&'a Path>) -> Result<ProgramRuns<'a>, Failure> {
        Ok(ProgramRuns { program, by, machine: None, report, scratch: Scratch::new()?, begun: 0 })
    }

    /// Runs the program once more and returns its report, or the exit code of one that fails. The first run
    /// has standard input and output and writes what was asked for; the others only report.
    fn next(&mut self) -> Result<Result<RunReport, ExitCode>, Failure> {
        self.begun += 1;
        let is_first = self.begun == 1;
        let own = self.scratch.0.join(format!("{}.json", self.begun));
        let path = self.report.filter(|_| is_first).unwrap_or(&own);
        let mut again = Command::new(self.program.get_program());
        let program = match self.by {
            OptionsBy::Environment => &mut self.program,
            OptionsBy::Arguments => again.args(self.program.get_args()),
        };
        let machine = self.machine.as_deref().map(|machine| ("mn", OsStr::new(machine)));
        for (name, value) in machine.into_iter().chain([("report", path.as_os_str())]) {
            match self.by {
                OptionsBy::Environment => program.env(variable(name), value),
                OptionsBy::Arguments => program.arg(format!("--{name}")).arg(value),
            };
        }
        if !is_first {
            for name in ONCE {
                program.env_remove(variable(name));
            }
            program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        }
        let name = program.get_program().to_owned();
        let cannot = |why: std::io::Error| {
            Failure::with(NOT_RUNNABLE, format!("cannot run {}: {why}", name.display()))
        };
        let output = program.spawn().and_then(std::process::Child::wait_with_output).map_err(cannot)?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            if !is_first {
                let last = text.lines().last().unwrap_or("it printed nothing");
                note!("xsim: run {} failed, without standard input: {last}", self.begun);
            }
            return Ok(Err(code(output.status)));
        }
        read(path).map(Ok).map_err(Failure::new)
    }
}

/// Checks that no launcher started this command together with others.
///
/// # Errors
/// A sentence, if one did: its processes would all start each run, and can meet only once.
pub fn check_alone(options: &Options) -> Result<(), Failure> {
    match simulation::processes::launcher(options) {
        None => Ok(()),
        Some(_) => Err(Failure::with(
            USAGE,
            "--runs and --on start several runs, one after the other, and processes that mpirun has started \
             take part in one: leave mpirun out",
        )),
    }
}

/// Runs `program` this many times and prints the mean, the spread and the outliers of virtual time. `report`
/// gets the first run's.
pub fn repeat(
    matches: &ArgMatches,
    program: Command,
    count: u32,
    report: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let mut runs = ProgramRuns::new(program, OptionsBy::Environment, report)?;
    let mut times = Vec::new();
    for _ in 0..count {
        match runs.next()? {
            Ok(report) => times.push(report.simulated.virtual_time_ps),
            Err(code) => return Ok(code),
        }
    }
    let mut table = Table::new(&[("run", Align::Right), ("virtual time", Align::Right)]);
    let row = |(run, &time): (usize, &u64)| vec![TableCell::rank(run + 1), TableCell::time(time)];
    table.rows = times.iter().enumerate().map(row).collect();
    data(matches, &table)?;
    output::results(spread(&times))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the rows of a table where `--json` and `--csv` say.
fn data(matches: &ArgMatches, table: &Table) -> Result<(), Failure> {
    output::results_to(matches, "json", || format!("{:#}\n", serde_json::Value::from(table.records())))?;
    output::results_to(matches, "csv", || table.csv())?;
    Ok(())
}

/// Returns the lines that say how far times of runs lie apart.
fn spread(times: &[u64]) -> String {
    let count = times.len();
    let (least, most) = (times.iter().min().copied().unwrap_or(0), times.iter().max().copied().unwrap_or(0));
    if least == most {
        return format!("xsim: all {count} runs take {} of virtual time\n", short(least));
    }
    let mean = times.iter().map(|&time| time as f64).sum::<f64>() / count as f64;
    let squares = times.iter().map(|&time| (time as f64 - mean).powi(2)).sum::<f64>();
    let deviation = (squares / (count - 1) as f64).sqrt();
    let mut text = format!(
        "xsim: {count} runs take {} of virtual time in the mean, {} to {}; standard deviation {} ({:.1} %)\n",
        short(mean as u64),
        short(least),
        short(most),
        short(deviation as u64),
        100.0 * deviation / mean
    );
    let middle = median(times.iter().map(|&time| time as f64));
    let scale = NORMAL_MAD * median(times.iter().map(|&time| (time as f64 - middle).abs()));
    let is_outlier = |&(_, &time): &(usize, &u64)| {
        let distance = (time as f64 - middle).abs();
        distance > OUTLIER_DEVIATIONS * scale && distance > OUTLIER_SHARE * middle
    };
    for (run, &time) in times.iter().enumerate().filter(is_outlier) {
        text += &format!(
            "xsim: warning: run {} takes {}, {:.2} times the median: likely the host's doing; leave it out, \
             or charge no host time (--compute none or fixed:SPAN)\n",
            run + 1,
            short(time),
            time as f64 / middle
        );
    }
    text
}

/// Returns the median; 0 of nothing.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0,
    }
}

/// Returns the machines of `--on`: behind semicolons, or behind commas where none is a
/// specification.
///
/// # Errors
/// If there are fewer than two.
pub fn machines(given: &[&String]) -> Result<Vec<String>, Failure> {
    // A misspelt name is answered with what was meant; a specification has colons or equals signs.
    let is_name = |part: &str| !part.contains([':', '=']);
    let split = |text: &str| -> Vec<String> {
        let separator = if text.contains(';') || !text.split(',').all(is_name) { ';' } else { ',' };
        text.split(separator).map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
    };
    let found: Vec<String> = given.iter().flat_map(|text| split(text)).collect();
    match found.as_slice() {
        [] | [_] => Err(Failure::with(
            USAGE,
            "--on compares at least two machines: --on A,B for presets and machine files, --on 'A;B' for \
             specifications",
        )),
        _ => Ok(found),
    }
}

/// Runs `program` once on each machine and prints which is fastest, and why.
pub fn compare(
    matches: &ArgMatches,
    (program, by): (Command, OptionsBy),
    machines: &[String],
    report: Option<&Path>,
    measures: bool,
) -> Result<ExitCode, Failure> {
    let mut runs = ProgramRuns::new(program, by, report)?;
    let mut reports = Vec::new();
    for machine in machines {
        runs.machine = Some(machine.clone());
        match runs.next()? {
            Ok(report) => reports.push(report.simulated),
            Err(code) => return Ok(code),
        }
    }
    let MachineComparison { table, sentence } = comparison(machines, &reports);
    data(matches, &table)?;
    output::results(format_args!("xsim:\n{}xsim: {sentence}\n", table.text("xsim:   ", summary_width())))?;
    if measures {
        note!(
            "xsim: computation was measured in each run anew; --compute fixed:SPAN or none makes the network \
             all that differs"
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs of one program on several machines.
pub struct MachineComparison {
    /// A row for each.
    pub table: Table,
    /// A sentence that names the fastest, and says why.
    pub sentence: String,
}

/// Compares runs on machines with these names.
pub fn comparison(machines: &[String], runs: &[Simulated]) -> MachineComparison {
    let time = |at: &usize| runs[*at].virtual_time_ps;
    let fastest = (0..runs.len()).min_by_key(time).unwrap_or(0);
    let slowest = (0..runs.len()).max_by_key(time).unwrap_or(0);
    let mut table = Table::new(&[
        ("machine", Align::Left),
        ("virtual time", Align::Right),
        ("of the fastest", Align::Right),
        ("computing", Align::Right),
        ("waiting", Align::Right),
    ]);
    for (machine, run) in machines.iter().zip(runs) {
        let whole = run.virtual_time_ps.into();
        table.rows.push(vec![
            machine.as_str().into(),
            TableCell::time(run.virtual_time_ps),
            TableCell::ratio(ratio(run, &runs[fastest])),
            TableCell::percent(run.compute.mean_ps.into(), whole),
            TableCell::percent(run.wait.mean_ps.into(), whole),
        ]);
    }
    if runs.is_empty() || time(&fastest) == time(&slowest) {
        return MachineComparison { table, sentence: "all take the same time".to_owned() };
    }
    let (winner, loser, factor) =
        (&machines[fastest], &machines[slowest], ratio(&runs[slowest], &runs[fastest]));
    let why = reason(&runs[fastest], &runs[slowest], loser);
    MachineComparison {
        table,
        sentence: format!("{winner} is fastest, {factor:.2} times as fast as {loser}: {why}"),
    }
}

fn ratio(run: &Simulated, of: &Simulated) -> f64 {
    run.virtual_time_ps as f64 / (of.virtual_time_ps as f64).max(1.0)
}

/// Returns where a rank spends most of what the slower run takes longer.
fn reason(fast: &Simulated, slow: &Simulated, loser: &str) -> String {
    let in_function = |run: &Simulated, name: &str| {
        run.functions.get(name).map_or(0, |cost| cost.time_ps / u128::from(run.ranks.max(1)))
    };
    let longer = |name: &String| in_function(slow, name).saturating_sub(in_function(fast, name));
    let most = slow.functions.keys().map(|name| (longer(name), name)).max_by_key(|(more, _)| *more);
    let computing = u128::from(slow.compute.mean_ps.saturating_sub(fast.compute.mean_ps));
    let whole = slow.virtual_time_ps.into();
    match most {
        Some((more, name)) if more > computing => {
            let (more, share) =
                (short(more.min(u64::MAX.into()) as u64), percent(in_function(slow, name), whole));
            format!("on {loser} a rank is {more} longer in {name}, where it spends {share} of its time")
        }
        _ if computing > 0 => {
            format!("on {loser} a rank computes {} longer", short(computing.min(u64::MAX.into()) as u64))
        }
        _ => format!("on {loser} ranks end later, though none is longer in any function"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_runs_have_no_spread() {
        assert_eq!(spread(&[5_000_000; 3]), "xsim: all 3 runs take 5 us of virtual time\n");
    }

    #[test]
    fn a_run_far_from_the_others_is_an_outlier() {
        let text = spread(&[100, 101, 99, 100, 250].map(|us| us * 1_000_000));
        assert!(text.contains("5 runs take 130 us of virtual time in the mean, 99 us to 250 us"), "{text}");
        assert!(
            text.contains("warning: run 5 takes 250 us, 2.50 times the median")
                && text.matches("warning").count() == 1,
            "{text}"
        );
        let even = spread(&[100, 103, 97, 101].map(|us| us * 1_000_000));
        assert!(!even.contains("warning"), "{even}");
    }

    #[test]
    fn machines_are_split_at_commas_only_where_each_is_a_name() {
        let split = |text: &str| machines(&[&text.to_owned()]).map_err(|failure| failure.to_string());
        assert_eq!(split("ethernet,default").unwrap(), ["ethernet", "default"]);
        assert_eq!(split("star:l=1us,b=1Gbps;mesh.toml").unwrap(), ["star:l=1us,b=1Gbps", "mesh.toml"]);
        assert_eq!(split("etehrnet,default").unwrap(), ["etehrnet", "default"]);
        assert!(split("star:l=1us,b=1Gbps").unwrap_err().contains("at least two"));
    }
}

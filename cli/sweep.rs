//! `xsim sweep`: a program or a trace once for each combination of values, side by side.

mod runs;

use crate::failure::{Failure, USAGE};
use crate::output::{self, note};
use crate::{options, replay, rest, run};
use ::sweep::{Points, ScalingMode, SweepTable, Variable};
use clap::{Arg, ArgMatches, Command};
use runs::{RunKind, RunSettings};
use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// A run failed.
const FAILED: u8 = 1;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let path = |name: &'static str, value: &'static str| {
        Arg::new(name).long(name).value_name(value).value_parser(clap::value_parser!(PathBuf))
    };
    Command::new("sweep")
        .about("Run a program, or replay a trace, once for each combination of values")
        .override_usage(
            "xsim sweep --vary NAME=VALUES... -o DIR [--jobs N] -- [OPTIONS OF xsim run] PROGRAM \
             [ARGS]...\n       xsim sweep --vary NAME=VALUES... -o DIR [--jobs N] -- [OPTIONS OF xsim \
             replay] TRACE",
        )
        .after_help(
            "NAME is an option of the run (np, mn, placement, ...), coll.FUNCTION for the algorithm of a \
             collective, or any name that stands as {NAME} behind --, as in -m star:l={l},b=10Gbps. Results \
             are in DIR/sweep.csv, the report of each run beside it (docs/reference/sweep.md).",
        )
        .arg(
            Arg::new("vary")
                .long("vary")
                .value_name("NAME=VALUES")
                .required(true)
                .action(clap::ArgAction::Append)
                .help(
                    "What is varied: values with commas between them (semicolons where values have commas); \
                     0.1us..10us*10 multiplies, 1..5+1 adds",
                ),
        )
        .arg(
            path("output", "DIR")
                .short('o')
                .required(true)
                .help("Where results go; those that are there already are taken as they are"),
        )
        .arg(
            Arg::new("jobs")
                .long("jobs")
                .value_name("N")
                .value_parser(clap::value_parser!(u32).range(1..))
                .help("Runs at a time [default: as many as the host has processors]"),
        )
        .arg(
            Arg::new("scaling")
                .long("scaling")
                .value_name("strong|weak")
                .value_parser(["strong", "weak"])
                .help(
                    "Efficiencies against the fewest ranks: of the same problem, or of one that grows with \
                     the ranks",
                ),
        )
        .arg(path("plot", "FILE.svg|FILE.png").value_parser(plot::picture).help(
            "Draw virtual times along the first variable with numbers, a line for each combination of the \
             others",
        ))
        .arg(
            path("map", "FILE.svg|FILE.png")
                .value_parser(plot::picture)
                .help("Draw virtual times as a map of the two variables that have several values"),
        )
        .arg(Arg::new("limit").long("limit").value_name("TIME").help(
            "End a run that takes longer than this of the host's time, such as 90s: it counts as failed",
        ))
        .arg(output::json_argument())
        .arg(output::csv_argument("Write the table there too, as DIR/sweep.csv has it"))
        .arg(
            Arg::new("WORDS")
                .num_args(1..)
                .required(true)
                .last(true)
                .value_parser(clap::value_parser!(OsString))
                .help("What stands behind xsim run, or xsim replay"),
        )
}

/// Runs it.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let usage = |why: String| Failure::with(USAGE, why);
    let given = matches.get_many::<String>("vary").into_iter().flatten();
    let variables: Vec<Variable> = given
        .map(|text| Variable::parse(text).map_err(|why| usage(format!("--vary {text}: {why}"))))
        .collect::<Result<_, _>>()?;
    let points = Points(&variables).all().map_err(usage)?;
    let words = texts(rest(matches, "WORDS"))?;
    let limit = matches.get_one::<String>("limit").map(|text| limit(text)).transpose().map_err(usage)?;
    let directory = matches.get_one::<PathBuf>("output").expect("clap asks for it").clone();
    let base = RunSettings { kind: kind(&words), words, limit, directory };
    check(&base, &variables)?;
    let scaling = matches
        .get_one::<String>("scaling")
        .map(|how| if how == "weak" { ScalingMode::Weak } else { ScalingMode::Strong });
    // What is wrong with the question is told before anything runs.
    SweepTable::new(variables.clone(), Vec::new(), scaling).map_err(usage)?;
    base.open().map_err(usage)?;
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = matches.get_one::<u32>("jobs").map_or(there, |&jobs| jobs as usize);
    let results = base.all(&variables, &points, jobs);
    let table =
        SweepTable::new(variables, points.into_iter().zip(results).collect(), scaling).map_err(usage)?;
    let csv = base.directory.join("sweep.csv");
    std::fs::write(&csv, table.csv())
        .map_err(|why| Failure::new(format!("cannot write {}: {why}", csv.display())))?;
    let is_printed = output::results_to(matches, "json", || json(&table))?
        | output::results_to(matches, "csv", || table.csv())?;
    if !is_printed {
        output::text(table.text())?;
    }
    if let Some(path) = matches.get_one::<PathBuf>("plot") {
        let chart = ::sweep::curves(&table)
            .map_err(|why| Failure::new(format!("--plot {}: {why}", path.display())))?;
        plot::draw(&chart, path).map_err(Failure::new)?;
    }
    if let Some(path) = matches.get_one::<PathBuf>("map") {
        let map =
            ::sweep::map(&table).map_err(|why| Failure::new(format!("--map {}: {why}", path.display())))?;
        plot::draw_map(&map, path).map_err(Failure::new)?;
    }
    match table.failed() {
        0 => Ok(ExitCode::SUCCESS),
        failed => {
            let directory = base.directory.display();
            note!(
                "xsim: {failed} of {} runs failed: the table says which and why, files in {directory} that \
                 end in .log what they said; the same command runs them again",
                table.runs()
            );
            Ok(ExitCode::from(FAILED))
        }
    }
}

/// Returns a JSON object for each run. What is empty is null.
fn json(table: &SweepTable) -> String {
    let data = table.data();
    let (heading, rows) = data.split_first().expect("there is a heading");
    let value = |text: &String| match text.parse::<serde_json::Number>() {
        Ok(number) => number.into(),
        Err(_) if text.is_empty() => serde_json::Value::Null,
        Err(_) => text.as_str().into(),
    };
    let row = |row: &Vec<String>| heading.iter().cloned().zip(row.iter().map(value)).collect();
    format!("{:#}\n", serde_json::Value::Array(rows.iter().map(row).collect()))
}

fn limit(text: &str) -> Result<Duration, String> {
    match text.parse::<engine::Span>() {
        Ok(span) if span > engine::Span::ZERO => Ok(Duration::from_nanos(span.as_ps() / 1000)),
        _ => Err(format!("--limit {text}: write how long a run may take, such as 90s or 500ms")),
    }
}

fn texts(words: Vec<OsString>) -> Result<Vec<String>, Failure> {
    let text = |word: OsString| {
        word.into_string().map_err(|word| Failure::with(USAGE, format!("{} is no UTF-8", word.display())))
    };
    words.into_iter().map(text).collect()
}

/// Returns the kind of a run. A trace is known by how its file begins.
fn kind(words: &[String]) -> RunKind {
    let is_trace = |word: &String| {
        let mut begin = [0; 7];
        let file =
            std::fs::metadata(word).is_ok_and(|file| file.is_file()).then(|| std::fs::File::open(word));
        file.is_some_and(|file| file.and_then(|mut file| file.read_exact(&mut begin)).is_ok())
            && begin == *b"xsimtrc"
    };
    if words.iter().any(is_trace) { RunKind::Trace } else { RunKind::Program }
}

/// Returns what is varied has a place in the command, and one only.
fn check(base: &RunSettings, variables: &[Variable]) -> Result<(), Failure> {
    let command = if base.kind == RunKind::Trace { replay::command() } else { run::command() };
    let given = command
        .clone()
        .no_binary_name(true)
        .try_get_matches_from(crate::launcher::options(
            &command,
            base.words.iter().map(OsString::from).collect(),
        ))
        .map_err(|why| Failure::with(USAGE, why.to_string().trim_end().to_owned()))?;
    for variable in variables {
        let name = &variable.name;
        if base.kind == RunKind::Trace && matches!(name.as_str(), "np" | "n") {
            let why = format!(
                "--vary {name}: all ranks of a trace are replayed: give the program, or a trace of each \
                 number of ranks as a variable"
            );
            return Err(Failure::with(USAGE, why));
        }
        if base.has_place(name) {
            continue;
        }
        let option = if name.starts_with("coll.") { "coll" } else { name };
        let is_of_command = |row: &&simulation::options::Row| {
            command.get_arguments().any(|argument| argument.get_id() == row.name)
        };
        let row = simulation::options::find(option)
            .filter(|row| !row.is_flag() && !runs::is_ours(row.name))
            .filter(is_of_command);
        let row = row.ok_or_else(|| Failure::with(USAGE, format!(
            "--vary {name}: no option of a run that can be varied is called so, and nothing behind -- says \
             {{{name}}}, as in -m star:l={{{name}}}")))?;
        for value in &variable.values {
            let wrong =
                |why: &dyn std::fmt::Display| Failure::with(USAGE, format!("--vary {name}: {value}: {why}"));
            let given = name
                .strip_prefix("coll.")
                .map_or_else(|| value.clone(), |function| format!("{function}={value}"));
            options::set(&mut simulation::Options::default(), row, &given).map_err(|why| wrong(&why))?;
            if row.name == "mn" {
                network::Machine::parse(value).map_err(|why| wrong(&why))?;
            }
        }
        if options::is_given(&given, row.name) {
            let why = format!(
                "--vary {name}: --{} stands behind -- as well: leave it out there, or write {{{name}}} where \
                 its values belong",
                row.name
            );
            return Err(Failure::with(USAGE, why));
        }
    }
    Ok(())
}

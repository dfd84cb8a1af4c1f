//! `xsim workload hadoop`: a MapReduce job, a rank for each node.

use crate::failure::{Failure, USAGE};
use crate::output;
use crate::workload::Processes;
use crate::{options, workload};
use ::workload::{HadoopJob, HadoopRun, NAMES};
use clap::{Arg, ArgMatches, Command};
use engine::Span;
use serde_json::{Value, json};
use std::fmt::{Display, Write};
use std::process::ExitCode;
use std::str::FromStr;

/// Outputs of a job: its name, what maps write of what they read, what reduces write of what they fetch, and
/// its rounds.
const JOBS: [(&str, &str, &str, &str); 3] =
    [("terasort", "1", "1", "1"), ("wordcount", "0.05", "0.2", "1"), ("octree", "0.01", "1", "4")];

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let value = |name: &'static str, value: &'static str, default: &'static str, help: &'static str| {
        let arg = Arg::new(name).long(name).value_name(value).allow_negative_numbers(true).help(help);
        if default.is_empty() { arg } else { arg.default_value(default) }
    };
    let hadoop = Command::new("hadoop")
        .about("Run maps, shuffle and replicated writes of a Hadoop job, a rank for each node (-n)")
        .arg(
            Arg::new("JOB")
                .required(true)
                .value_parser(JOBS.map(|job| job.0))
                .help("The shares of output and the rounds that the options below leave open"),
        )
        .arg(value(
            "input",
            "BYTES",
            "16GiB",
            "Bytes that the maps read: a whole number and KiB to TiB, or kB to TB",
        ))
        .arg(value("block", "BYTES", "128MiB", "A block of the file system at most: one map reads one"))
        .arg(value("slots", "N", "8", "Maps, or reduces, that a node runs at a time"))
        .arg(value("reducers", "N", "", "Reduces [default: one for each node]"))
        .arg(value(
            "replication",
            "N",
            "",
            "Copies of each block that is written [default: 3, or a node each]",
        ))
        .arg(value("chunk", "BYTES", "4MiB", "Bytes that pass to the next replica at a time"))
        .arg(value("map-output", "SHARE", "", "Bytes that the first maps write for each they read"))
        .arg(value("reduce-output", "SHARE", "", "Bytes that reduces write for each they fetch"))
        .arg(value("rounds", "N", "", "Jobs in a chain, each of which reads what the one before wrote"))
        .arg(value("disk", "RATE", "80MB/s", "Bytes a second of a node's disk"))
        .arg(value("map-rate", "RATE", "40MB/s", "Bytes a second that a map processes"))
        .arg(value("reduce-rate", "RATE", "40MB/s", "Bytes a second that a reduce processes"))
        .arg(value("launch", "TIME", "1s", "Time to start the tasks of a wave"))
        .arg(value("seed", "SEED", "1", "Of the places of blocks"))
        .arg(output::json_argument())
        .args(options::without_program());
    Command::new("workload")
        .about("Run a workload without a program on a simulated machine (docs/reference/workloads.md)")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(hadoop)
}

/// Runs the workload that is asked for.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    match matches.subcommand() {
        Some(("hadoop", sub)) => hadoop(sub),
        _ => Err(Failure::with(USAGE, "which workload? There is hadoop")),
    }
}

fn hadoop(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let options = options::read_without_program(matches)?;
    let name = text(matches, "JOB");
    let job = read(matches, options.np)?;
    let mut run = HadoopRun::new(job.clone()).map_err(|why| Failure::with(USAGE, why))?;
    let processes = Processes::connect(&options, &[])?;
    let is_first = processes.is_first();
    let ran = workload::run(&options, processes, format!("hadoop {name}"), &NAMES, &mut run)?;
    if is_first && !run.is_complete() {
        output::text("The job did not end: it has no results.\n".to_owned())?;
    } else if is_first {
        let is_printed =
            output::results_to(matches, "json", || format!("{:#}\n", results(name, &job, &run)))?;
        if !is_printed {
            output::text(lines(&run))?;
        }
    }
    workload::tell(&options, Vec::new(), ran)
}

fn text<'a>(matches: &'a ArgMatches, name: &str) -> &'a str {
    matches.get_one::<String>(name).map_or("", String::as_str)
}

fn wrong(name: &str, text: &str, why: impl Display) -> Failure {
    Failure::with(USAGE, format!("--{name} {text}: {why}"))
}

/// Reads the value of an option, or its default.
fn parse<T: FromStr>(matches: &ArgMatches, name: &str, default: &str, what: &str) -> Result<T, Failure> {
    let text = matches.get_one::<String>(name).map_or(default, String::as_str);
    text.parse().map_err(|_| wrong(name, text, format!("it is not {what}")))
}

fn bytes(matches: &ArgMatches, name: &str) -> Result<u64, Failure> {
    let text = text(matches, name);
    network::packet::parse_bytes(text)
        .ok_or_else(|| wrong(name, text, "it is not a number of bytes such as 128MiB or 16GiB"))
}

fn rate(matches: &ArgMatches, name: &str) -> Result<u64, Failure> {
    let text = text(matches, name);
    text.strip_suffix("/s")
        .and_then(network::packet::parse_bytes)
        .ok_or_else(|| wrong(name, text, "it is not bytes a second such as 80MB/s"))
}

fn read(matches: &ArgMatches, nodes: u32) -> Result<HadoopJob, Failure> {
    let name = text(matches, "JOB");
    let (_, map_output, reduce_output, rounds) =
        JOBS.into_iter().find(|job| job.0 == name).expect("clap knows the jobs");
    let whole = "a whole number above 0";
    let launch = text(matches, "launch");
    Ok(HadoopJob {
        nodes,
        input: bytes(matches, "input")?,
        block: bytes(matches, "block")?,
        slots: parse(matches, "slots", "", whole)?,
        reducers: parse(matches, "reducers", &nodes.to_string(), whole)?,
        replication: parse(matches, "replication", &nodes.min(3).to_string(), whole)?,
        chunk: bytes(matches, "chunk")?,
        map_output: parse(matches, "map-output", map_output, "a share such as 0.05")?,
        reduce_output: parse(matches, "reduce-output", reduce_output, "a share such as 0.2")?,
        rounds: parse(matches, "rounds", rounds, whole)?,
        disk: rate(matches, "disk")?,
        map_rate: rate(matches, "map-rate")?,
        reduce_rate: rate(matches, "reduce-rate")?,
        launch: launch.parse::<Span>().map_err(|why| wrong("launch", launch, why))?,
        seed: parse(matches, "seed", "", "a whole number")?,
    })
}

/// Returns the phases as lines: round, phase and time.
fn lines(run: &HadoopRun) -> String {
    let mut text = String::new();
    let mut whole = 0.0;
    for (round, phase, span) in run.phases() {
        let seconds = span.as_seconds();
        whole += seconds;
        let _ = writeln!(text, "round {round}  {:<8} {seconds:>12.6} s", phase.name());
    }
    let traffic = run.traffic();
    let _ = writeln!(text, "in all            {whole:>12.6} s");
    let moved = [("read", traffic.reads), ("fetched", traffic.shuffle), ("replicated", traffic.replicas)];
    for (what, bytes) in moved {
        let _ = writeln!(text, "{what:<10} between nodes {:>12.3} MB", bytes as f64 / 1e6);
    }
    text
}

fn results(name: &str, job: &HadoopJob, run: &HadoopRun) -> Value {
    let phases: Vec<Value> = run
        .phases()
        .map(|(round, phase, span)| json!({ "round": round, "phase": phase.name(), "ps": span.as_ps() }))
        .collect();
    let traffic = run.traffic();
    json!({
        "job": name,
        "nodes": job.nodes,
        "input": job.input,
        "phases": phases,
        "bytes": { "reads": traffic.reads, "shuffle": traffic.shuffle, "replicas": traffic.replicas },
    })
}

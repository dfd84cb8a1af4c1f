//! Execution traces of Chakra, replayed as the graphs that they are.

use super::outcome::{ReplayedGraph, about_calls, check_ranks};
use crate::failure::{Failure, USAGE};
use crate::output::note;
use ::chakra::groups::{self, ProcessGroups};
use ::chakra::{ChakraEnd, ChakraRun, DependencyKinds, NodeTotal, WorkRates, files};
use clap::{Arg, ArgMatches};
use engine::{EndOfTime, Span};
use network::Bandwidth;
use recorder::{FunctionCost, ProcessCounts, SpreadSum};
use simulation::{HostMeter, Options, check_network_report, machine};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options for traces of Chakra alone.
pub const OWN: [&str; 4] = ["flops", "memory", "groups", "deps"];
/// Longest file of process groups.
const MAX_GROUPS_BYTES: u64 = 1 << 30;

/// Returns the subcommand's arguments for traces of Chakra.
pub fn args() -> [Arg; 4] {
    [
        Arg::new("flops").long("flops").value_name("RATE").help(
            "For a Chakra trace: operations a second of nodes without a duration [default: the machine's]",
        ),
        Arg::new("memory")
            .long("memory")
            .value_name("BANDWIDTH")
            .help("For a Chakra trace: bandwidth of the memory, such as 2TB/s, for nodes without a duration"),
        Arg::new("groups")
            .long("groups")
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .help("For a Chakra trace: process groups as JSON, {\"NAME\": [RANK, ...], ...}"),
        Arg::new("deps").long("deps").value_name("all|data").value_parser(["all", "data"]).help(
            "For a Chakra trace: the dependencies that count, ctrl_deps and data_deps, or data_deps alone \
             [default: all]",
        ),
    ]
}

/// Returns `true` if a path names a trace of Chakra.
pub fn is_chakra(path: &Path) -> bool {
    let mut begin = Vec::new();
    // A file that cannot be read is reported where it is opened.
    let _ = File::open(path).and_then(|file| file.take(::trace::file::MAGIC as u64).read_to_end(&mut begin));
    !::trace::file::is_trace(&begin) && files::is_trace(path)
}

/// Replays a trace.
pub fn main(mut options: Options, matches: &ArgMatches, path: &Path) -> Result<ExitCode, Failure> {
    let usage = |why: String| Failure::with(USAGE, why);
    if let Some(name) = about_calls(matches, &["loggops"]) {
        let path = path.display();
        return Err(usage(format!(
            "--{name}: {path} is a Chakra trace, which has nodes and no calls; leave it out"
        )));
    }
    let mut rates = WorkRates::default();
    if let Some(text) = matches.get_one::<String>("flops") {
        rates.flops = Some(network::flop_rate(text).map_err(|why| usage(format!("--flops: {why}")))?);
    }
    if let Some(text) = matches.get_one::<String>("memory") {
        rates.memory = Some(text.parse::<Bandwidth>().map_err(|why| usage(format!("--memory: {why}")))?);
    }
    let groups = matches.get_one::<PathBuf>("groups").map(|path| read_groups(path)).transpose()?;
    let meter = HostMeter::start();
    let failed = |why: ::chakra::ChakraFault| Failure::new(why.to_string());
    let files = files::files_of(path).map_err(failed)?;
    let dependencies = match matches.get_one::<String>("deps").map(String::as_str) {
        Some("data") => DependencyKinds::Data,
        _ => DependencyKinds::All,
    };
    let graph = files::open(&files, &groups.unwrap_or_default(), dependencies).map_err(failed)?;
    if let Some((first, _)) = graph.ranks.iter().find_map(|rank| rank.left_out.as_ref()) {
        let all: u64 = graph.ranks.iter().filter_map(|rank| Some(rank.left_out.as_ref()?.1)).sum();
        note!("xsim: note: {first}; control dependencies on nodes that do not exist are left out ({all})");
    }
    let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    check_ranks(&mut options, matches, (path, &paths), graph.ranks.len() as u32)?;
    let mut built = machine::build(&options).map_err(usage)?;
    check_network_report(&options, built.network.shared().is_some()).map_err(usage)?;
    let label = machine::label(&options, &built.specification);
    rates.flops = rates.flops.or(built.flop_rate);
    let run = EndOfTime::catch(|| ::chakra::run(&graph, &mut built, &rates, &options.coll))
        .map_err(|EndOfTime(why)| usage(why))?
        .map_err(failed)?;
    let report = built.network.shared().map(|shared| shared.report(run.latest()));
    let network = report.map(|report| report.with_ranks(options.np, |rank| built.placement.endpoint(rank)));
    if let Some(file) = matches.get_one::<PathBuf>("ends") {
        write_ends(&run, file)
            .map_err(|why| Failure::new(format!("cannot write {}: {why}", file.display())))?;
    }
    if !options.quiet {
        note!("xsim: {}", exposed(&run));
    }
    let graph = ReplayedGraph {
        ends: run.ends.iter().map(|end| end.end).collect(),
        part: part(&run),
        deadlock: run.deadlock,
        failure: run.failure,
        network,
        meter: &meter,
        names: (path.display().to_string(), label),
    };
    graph.tell(&options)
}

/// Reads a file of process groups.
fn read_groups(path: &Path) -> Result<ProcessGroups, Failure> {
    let named = |why: String| Failure::with(USAGE, format!("--groups {}: {why}", path.display()));
    let mut text = String::new();
    let file = File::open(path).map_err(|why| named(format!("cannot be read: {why}")))?;
    let read = file.take(MAX_GROUPS_BYTES).read_to_string(&mut text);
    read.map_err(|why| named(format!("cannot be read: {why}")))?;
    groups::of_file(&text).map_err(named)
}

/// Describes how long ranks communicate without computing.
fn exposed(run: &ChakraRun) -> String {
    let total: u128 = run.ends.iter().map(|end| u128::from(end.exposed.as_ps())).sum();
    let mean = Span::from_ps((total / run.ends.len().max(1) as u128) as u64);
    let most = run.ends.iter().zip(0u32..).max_by_key(|(end, rank)| (end.exposed, std::cmp::Reverse(*rank)));
    let (most, rank) = most.map_or((Span::ZERO, 0), |(end, rank)| (end.exposed, rank));
    format!("exposed communication of a rank: {mean} on average, at most {most} (rank {rank})")
}

/// Returns the counts of all ranks: ranks wait while they communicate and do not compute.
fn part(run: &ChakraRun) -> ProcessCounts {
    let all = |of: fn(&ChakraEnd) -> Span| SpreadSum::of(0, run.ends.iter().map(of));
    let cost = |(name, &NodeTotal { count, time_ps }): (&&str, &NodeTotal)| {
        ((*name).to_owned(), FunctionCost { calls: count, time_ps })
    };
    ProcessCounts {
        messages: run.messages,
        bytes: run.bytes,
        functions: run.totals.iter().map(cost).collect(),
        compute: all(|end| end.computed),
        wait: all(|end| end.exposed),
        ..ProcessCounts::default()
    }
}

/// Writes a line for each rank.
fn write_ends(run: &ChakraRun, path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "rank,end_ps,computed_ps,exposed_ps,idle_ps")?;
    for (end, rank) in run.ends.iter().zip(0u32..) {
        let times = [end.computed, end.exposed, end.idle()].map(Span::as_ps);
        writeln!(out, "{rank},{},{},{},{}", end.end.as_ps(), times[0], times[1], times[2])?;
    }
    out.flush()
}

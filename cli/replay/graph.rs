//! GOAL files, replayed as the graphs that they are.

use super::outcome::{ReplayedGraph, about_calls, check_ranks};
use crate::failure::{Failure, USAGE};
use ::convert::Format;
use clap::{Arg, ArgMatches};
use engine::{EndOfTime, Span, Time};
use goal::{Carrier, GoalGraph, GoalRun, LogGops, OperationTotal, ReadyOrder};
use network::NetworkReport;
use recorder::{FunctionCost, ProcessCounts, SpreadSum};
use simulation::{HostMeter, Options, check_network_report, machine};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Returns the subcommand's arguments for GOAL.
pub fn args() -> [Arg; 2] {
    [
        Arg::new("loggops")
            .long("loggops")
            .value_name("L=2500,o=1500,g=1000,G=6,S=65535")
            .conflicts_with_all(["mn", "placement", "eager-limit", "network-report"])
            .help("For a GOAL file: LogGOPSim's parameters instead of a machine"),
        Arg::new("ends").long("ends").value_name("FILE").value_parser(clap::value_parser!(PathBuf)).help(
            "For a GOAL file or Chakra trace: a table of when each rank ends and for how long it does what",
        ),
    ]
}

/// Returns `true` if a file is one of GOAL, by its contents or else its name.
pub fn is_goal(path: &Path) -> bool {
    let mut begin = Vec::new();
    // A file that cannot be read is reported where it is opened.
    let _ = std::fs::File::open(path)
        .and_then(|file| file.take(::trace::file::MAGIC.max(8) as u64).read_to_end(&mut begin));
    let format = Format::of_contents(&begin).or_else(|| Format::of(path));
    !::trace::file::is_trace(&begin) && matches!(format, Some(Format::Goal | Format::GoalBinary))
}

/// Replays a GOAL file.
pub fn main(mut options: Options, matches: &ArgMatches, path: &Path) -> Result<ExitCode, Failure> {
    let usage = |why: String| Failure::with(USAGE, why);
    if let Some(name) = about_calls(matches, &["coll"]) {
        let path = path.display();
        return Err(usage(format!(
            "--{name}: {path} has operations and no calls; convert it \
             (xsim trace convert {path} -o x.trace) and replay the trace, or leave the option out"
        )));
    }
    let model = matches
        .get_one::<String>("loggops")
        .map(|text| text.parse::<LogGops>().map_err(|why| usage(format!("--loggops {text}: {why}"))));
    let model = model.transpose()?;
    let meter = HostMeter::start();
    let graph = ::convert::graph(path).map_err(Failure::new)?;
    check_ranks(&mut options, matches, (path, &[path]), graph.ranks)?;
    let (run, label, network) = match &model {
        Some(model) => (execute(&graph, Carrier::loggops(model))?, format!("LogGOPS {model}"), None),
        None => on_machine(&options, &graph)?,
    };
    if let Some(file) = matches.get_one::<PathBuf>("ends") {
        write_ends(&run, graph.ranks, file)
            .map_err(|why| Failure::new(format!("cannot write {}: {why}", file.display())))?;
    }
    outcome(&options, run, network, &meter, (path.display().to_string(), label)).tell(&options)
}

/// Runs a graph on the machine of the options. Returns the machine's name, and its network's report.
fn on_machine(
    options: &Options,
    graph: &GoalGraph,
) -> Result<(GoalRun, String, Option<NetworkReport>), Failure> {
    let usage = |why: String| Failure::with(USAGE, why);
    let mut built = machine::build(options).map_err(usage)?;
    check_network_report(options, built.network.shared().is_some()).map_err(usage)?;
    let label = machine::label(options, &built.specification);
    let run = execute(graph, Carrier::machine(&mut built))?;
    let report = built.network.shared().map(|shared| shared.report(run.latest()));
    let network = report.map(|report| report.with_ranks(graph.ranks, |rank| built.placement.endpoint(rank)));
    Ok((run, label, network))
}

/// Runs a graph.
fn execute(graph: &GoalGraph, carrier: Carrier) -> Result<GoalRun, Failure> {
    let run = EndOfTime::catch(|| goal::run(graph, carrier, ReadyOrder::Gnu))
        .map_err(|EndOfTime(why)| Failure::with(USAGE, why))?
        .map_err(Failure::new)?;
    match run.failure {
        Some(why) if run.ends.iter().any(|end| end.end == Time::MAX) => Err(Failure::with(USAGE, why)),
        _ => Ok(run),
    }
}

/// Writes a line for each rank.
fn write_ends(run: &GoalRun, ranks: u32, path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    writeln!(out, "rank,end_ps,computed_ps,idle_ps")?;
    let mut ends = run.ends.iter().peekable();
    for rank in 0..ranks {
        let end = ends.next_if(|end| end.rank == rank);
        let [end, computed, idle] =
            end.map_or([0; 3], |end| [end.end.as_ps(), end.computed.as_ps(), end.idle.as_ps()]);
        writeln!(out, "{rank},{end},{computed},{idle}")?;
    }
    out.flush()
}

/// Returns what is known of a run.
fn outcome<'m>(
    options: &Options,
    run: GoalRun,
    network: Option<NetworkReport>,
    meter: &'m HostMeter,
    names: (String, String),
) -> ReplayedGraph<'m> {
    let mut ends = vec![Time::ZERO; options.np as usize];
    run.ends.iter().for_each(|end| ends[end.rank as usize] = end.end);
    let all = |of: fn(&goal::RankEnd) -> Span| {
        let idle = std::iter::repeat_n(Span::ZERO, options.np as usize - run.ends.len());
        SpreadSum::of(0, run.ends.iter().map(of).chain(idle))
    };
    let cost = |OperationTotal { count, time }: OperationTotal| FunctionCost {
        calls: count,
        time_ps: time.as_ps().into(),
    };
    let functions = [("calc", run.calculations), ("recv", run.receives), ("send", run.sends)];
    let part = ProcessCounts {
        messages: run.sends.count,
        bytes: run.bytes,
        functions: functions.map(|(name, total)| (name.to_owned(), cost(total))).into(),
        compute: all(|end| end.computed),
        wait: all(|end| end.idle),
        ..ProcessCounts::default()
    };
    ReplayedGraph { ends, deadlock: run.deadlock, failure: run.failure, part, network, meter, names }
}

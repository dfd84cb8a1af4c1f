//! GOAL files, replayed as the graphs that they are.

use crate::failure::{Failure, USAGE};
use crate::options;
use crate::output::note;
use crate::workload::Processes;
use ::convert::Format;
use clap::{Arg, ArgMatches};
use engine::{EndOfTime, Span, Time};
use goal::{Carrier, GoalGraph, GoalRun, LogGops, OperationTotal, ReadyOrder};
use mpi::progress::{Cause, Ending};
use network::NetworkReport;
use recorder::{FunctionCost, ProcessCounts, SpreadSum};
use simulation::host::peak_rss_bytes;
use simulation::outcome::RunOutcome;
use simulation::{HostMeter, Options, check_network_report, machine};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Ranks whose ends are printed; `--ends` writes those of more.
const MAX_PRINTED: u32 = 16;

/// Options about calls, of which a graph has none.
const ABOUT_CALLS: [&str; 15] = [
    "compare",
    "wildcards",
    "without",
    "compute",
    "sizes",
    "coll",
    "events",
    "profile",
    "critical-path",
    "timeline",
    "timeline-ranks",
    "timeline-functions",
    "timeline-from",
    "timeline-until",
    "fail",
];

/// Returns the subcommand's arguments for GOAL.
pub fn args() -> [Arg; 2] {
    [
        Arg::new("loggops")
            .long("loggops")
            .value_name("L=2500,o=1500,g=1000,G=6,S=65535")
            .conflicts_with_all(["mn", "placement", "eager-limit", "network-report"])
            .help("For a GOAL file: LogGOPSim's parameters instead of a machine"),
        Arg::new("ends")
            .long("ends")
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .help("For a GOAL file: a table of when each rank ends, computes and idles, in picoseconds"),
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

/// Refuses the options for GOAL where a trace is replayed.
pub fn check_absent(matches: &ArgMatches) -> Result<(), Failure> {
    match ["loggops", "ends"].iter().find(|name| options::is_given(matches, name)) {
        Some(name) => Err(Failure::with(USAGE, format!("--{name} is for GOAL files; leave it out"))),
        None => Ok(()),
    }
}

/// Replays a GOAL file.
pub fn main(mut options: Options, matches: &ArgMatches, path: &Path) -> Result<ExitCode, Failure> {
    let usage = |why: String| Failure::with(USAGE, why);
    if let Some(name) = ABOUT_CALLS.iter().find(|name| options::is_given(matches, name)) {
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
    if options::is_given(matches, "np") && options.np != graph.ranks {
        let (asked, ranks, path) = (options.np, graph.ranks, path.display());
        return Err(usage(format!(
            "-n {asked}: {path} has {ranks} ranks, and all are replayed; leave -n out"
        )));
    }
    options.np = graph.ranks;
    let processes = Processes::connect(&options, &[path])?;
    let ((_, ranks), sharing) = processes.own(&options);
    if ranks != graph.ranks {
        return Err(usage(format!("{} is replayed by one process: start xsim alone", path.display())));
    }
    simulation::preflight(&options, ranks, sharing, true).map_err(usage)?;
    let (run, label, network) = match &model {
        Some(model) => (execute(&graph, Carrier::loggops(model))?, format!("LogGOPS {model}"), None),
        None => on_machine(&options, &graph)?,
    };
    if let Some(file) = matches.get_one::<PathBuf>("ends") {
        write_ends(&run, graph.ranks, file)
            .map_err(|why| Failure::new(format!("cannot write {}: {why}", file.display())))?;
    }
    tell(&options, run, network, &meter, (path.display().to_string(), label))
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

/// Prints the summary, and writes the reports.
fn tell(
    options: &Options,
    run: GoalRun,
    network: Option<NetworkReport>,
    meter: &HostMeter,
    names: (String, String),
) -> Result<ExitCode, Failure> {
    let mut ending = Ending::default();
    for (message, cause) in [(&run.deadlock, Some(Cause::Deadlock)), (&run.failure, None)] {
        if let Some(message) = message {
            (ending.status, ending.cause) = (1, cause);
            note!("xsim: {message}");
            ending.messages.push(message.clone());
        }
    }
    if !options.quiet && options.np <= MAX_PRINTED {
        let mut ends = vec![Time::ZERO; options.np as usize];
        run.ends.iter().for_each(|end| ends[end.rank as usize] = end.end);
        let ends: Vec<String> = ends.iter().map(Time::to_string).collect();
        note!("xsim: ranks end at {}", ends.join(" "));
    }
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
        latest_ps: run.latest().as_ps(),
        messages: run.sends.count,
        bytes: run.bytes,
        functions: functions.map(|(name, total)| (name.to_owned(), cost(total))).into(),
        compute: all(|end| end.computed),
        wait: all(|end| end.idle),
        cpu_s: meter.cpu_s(),
        rss: peak_rss_bytes(),
        ..ProcessCounts::default()
    };
    let outcome = RunOutcome {
        names,
        meter,
        processes: 1,
        ranks: options.np,
        part,
        ending: &ending,
        network,
        jobs: Vec::new(),
        profile: None,
        critical_path: None,
    };
    outcome.tell(options).map_err(|why| Failure::with(USAGE, why))?;
    Ok(ExitCode::from(ending.status as u8))
}

//! `xsim replay`: recorded runs once more, without their programs, on any simulated machine.

mod chakra;
mod graph;
mod jobs;
mod outcome;

use crate::failure::{Failure, USAGE};
use crate::layout::executable;
use crate::output::{self, note};
use crate::run::several::OptionsBy;
use crate::workload::Processes;
use crate::{options, run, scaling, workload};
use ::trace::{Trace, duplicates};
use ::workload::{Comparison, How, Replay};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// A clock differs from that of the recording.
const DIFFERS: u8 = 1;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    Command::new("replay")
        .about("Run a trace (-xsim-trace) again without its program, on a simulated machine")
        .arg(
            Arg::new("TRACE").required_unless_present("job").value_parser(clap::value_parser!(PathBuf)).help(
                "A trace, from -xsim-trace, a GOAL file, or a Chakra trace (NAME.0.et, its directory or \
                     NAME); xsim trace convert makes one of a SimGrid, OTF2 or DUMPI trace",
            ),
        )
        .arg(
            Arg::new("job")
                .long("job")
                .value_name("TRACE[@WHERE][+TIME]")
                .action(ArgAction::Append)
                .conflicts_with_all(["TRACE", "np", "placement"])
                .help(
                    "A trace of several that run at once, its endpoints (0-1023 or 0,8,16-31, random:SEED, \
                     or next, the first that are free), and how long after the start of the run it begins: \
                     a.trace@0-63+5ms [default: next, and at once]",
                ),
        )
        .arg(
            Arg::new("together")
                .long("together")
                .action(ArgAction::SetTrue)
                .requires("job")
                .help("Run the jobs together only, and not each alone before"),
        )
        .args(scaling::args())
        .arg(
            Arg::new("wildcards")
                .long("wildcards")
                .value_name("recorded|open")
                .value_parser(["recorded", "open"])
                .help(
                    "Receives and probes for any source or tag: of the message that they had in the \
                     recording, or of any again [default: recorded; open with --compare]",
                ),
        )
        .arg(Arg::new("compare").long("compare").action(ArgAction::SetTrue).help(
            "Compare all ranks' clocks at the end of each call with those of the recording; exit status 1 if \
             one differs",
        ))
        .arg(without(WITHOUT))
        .arg(run::on().conflicts_with("compare"))
        .arg(output::json_argument().help("The table of --on as JSON").requires("on"))
        .arg(output::csv_argument("The table of --on as comma-separated values").requires("on"))
        .args(graph::args())
        .args(chakra::args())
        .args(options::without_program())
}

/// Returns the argument that names functions whose calls are left out.
pub fn without(help: &'static str) -> Arg {
    Arg::new("without").long("without").value_name("FUNCTION,...").value_delimiter(',').help(help)
}

/// The help of [`without`] where a trace is replayed.
pub const WITHOUT: &str =
    "Leaves out the calls of these functions, such as MPI_Win_fence; the computation before them stays";

/// Returns the functions of [`without`].
pub fn left_out(matches: &ArgMatches) -> Vec<String> {
    matches.get_many::<String>("without").into_iter().flatten().cloned().collect()
}

/// Refuses options for other files.
fn check_absent(matches: &ArgMatches, names: &[&str], others: &str) -> Result<(), Failure> {
    match names.iter().find(|name| options::is_given(matches, name)) {
        Some(name) => Err(Failure::with(USAGE, format!("--{name} is for {others}; leave it out"))),
        None => Ok(()),
    }
}

/// Returns the arguments but for these options and their values; that of `--json` stands behind `=`.
fn kept(left_out: &[&str], mut arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        let (name, value) = text.split_once('=').map_or((&*text, None), |(name, value)| (name, Some(value)));
        if !left_out.contains(&name) {
            kept.push(argument);
        } else if value.is_none() && name != "--json" {
            arguments.next();
        }
    }
    kept
}

/// Ranks that are looked at for one that was cut: finding what one does takes longer where all differ.
const MAX_LOOKED_AT: u32 = 10_000;

/// Runs.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut options = options::read_without_program(matches)?;
    if let Some(machines) = run::machines(matches)? {
        run::several::check_alone(&options)?;
        let mut program = std::process::Command::new(executable()?);
        program.args(kept(&["--on", "--json", "--csv", "--report"], std::env::args_os().skip(1)));
        return run::several::compare(
            matches,
            (program, OptionsBy::Arguments),
            &machines,
            options.report.as_deref(),
            false,
        );
    }
    match matches.get_one::<PathBuf>("TRACE") {
        Some(path) if graph::is_goal(path) => {
            check_absent(matches, &chakra::OWN, "Chakra traces")?;
            return graph::main(options, matches, path);
        }
        Some(path) if chakra::is_chakra(path) => return chakra::main(options, matches, path),
        _ => {
            check_absent(matches, &["loggops"], "GOAL files")?;
            check_absent(matches, &["ends"], "GOAL files and Chakra traces")?;
            check_absent(matches, &chakra::OWN, "Chakra traces")?;
        }
    }
    let asked = scaling::read(matches)?;
    let compares = matches.get_flag("compare");
    if compares && !asked.is_nothing() {
        let why = "--compare: clocks are those of the recording where computation and sizes are: leave \
            --compute and --sizes out";
        return Err(Failure::with(USAGE, why.to_owned()));
    }
    let decides = matches.get_one::<String>("wildcards").map_or(compares, |how| how == "open");
    let without = left_out(matches);
    let how = How { decides, compares, without: &without };
    if let Some(jobs) = matches.get_many::<String>("job") {
        return jobs::run(options, &jobs.collect::<Vec<_>>(), (how, &asked), !matches.get_flag("together"));
    }
    let path: &PathBuf = matches.get_one("TRACE").expect("clap asks for a trace");
    let mut trace = duplicates::open(path).map_err(Failure::new)?;
    if options::is_given(matches, "np") && options.np != trace.ranks {
        let (asked, ranks) = (options.np, trace.ranks);
        let why = format!(
            "-n {asked}: {} is a trace of {ranks} ranks, and all of them are replayed; leave -n out",
            path.display()
        );
        return Err(Failure::with(USAGE, why));
    }
    options.np = trace.ranks;
    let named = |why: String| Failure::new(format!("{}: {why}", path.display()));
    let has_computation = !trace.times.is_empty() || !trace.histograms.is_empty();
    asked.apply(&mut trace).map_err(named)?;
    let cut = cut_rank(&trace);
    let mut replay = Replay::new(&trace, how).map_err(named)?;
    let processes = Processes::connect(&options, &[path])?;
    if processes.is_first() && !has_computation && !asked.is_about_computation() {
        note!("xsim: note: the trace has no computation: nothing is computed between calls");
    }
    if processes.is_first()
        && let Some(text) = cut
    {
        note!("xsim: note: {text}");
    }
    let ran = workload::run(&options, processes, path.display().to_string(), replay.names(), &mut replay)?;
    let found = replay.comparison(&ran.mpi);
    let code = workload::tell(&options, Vec::new(), ran)?;
    Ok(if found.is_none_or(|found| tell_comparison("", &found)) { code } else { ExitCode::from(DIFFERS) })
}

/// Returns a sentence about a rank of which the trace has no calls while it has others': it was cut.
fn cut_rank(trace: &Trace) -> Option<String> {
    let has_none = |&rank: &u32| trace.rank(rank).acts().is_empty();
    let mut looked_at = 0..trace.ranks.min(MAX_LOOKED_AT);
    let (rank, other) = (looked_at.clone().find(has_none)?, looked_at.find(|rank| !has_none(rank))?);
    Some(format!(
        "the trace has calls of rank {other} and none of rank {rank}, as after xsim trace cut --ranks: who \
         waits for such a rank waits for ever; replay the trace that has all"
    ))
}

/// Says what was found of a trace that is called so, and whether all its clocks are those of the recording.
fn tell_comparison(name: &str, Comparison { differ, calls, first, most }: &Comparison) -> bool {
    match first {
        None => note!("xsim: {name}all {calls} calls ended when they did in the recording"),
        Some((.., first)) => {
            note!("xsim: {name}{differ} of {calls} calls ended at other times, by up to {most}; {first}")
        }
    }
    first.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_comparison_are_left_out_with_their_values() {
        let words = "replay --on A,B a.trace --json --coll on --csv x --on=C --report=r.json --compute none";
        let left = kept(&["--on", "--json", "--csv", "--report"], words.split(' ').map(OsString::from));
        assert_eq!(left.join(" ".as_ref()), "replay a.trace --coll on --compute none");
    }
}

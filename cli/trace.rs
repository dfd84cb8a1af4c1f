//! `xsim trace`: what recorded runs did.

mod benchmark;
mod convert;
mod extrapolate;
mod join;
mod scale;

use crate::failure::{Failure, USAGE};
use ::trace::stat::TraceStatistics;
use ::trace::{Trace, check, cut, diff, show};

use clap::{Arg, ArgAction, ArgMatches, Command};
use engine::{Span, Time};
use recorder::RankList;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

/// Two traces differ, or one is wrong.
const FOUND: u8 = 1;

/// Makes the argument of commands that read traces of one program at several rank counts.
pub fn family() -> Arg {
    Arg::new("TRACE")
        .required(true)
        .value_parser(clap::value_parser!(PathBuf))
        .action(ArgAction::Append)
        .num_args(1..)
        .help("Traces of one program (-xsim-trace), each of another number of ranks")
}

/// Opens the traces that were given, in the order given.
///
/// # Errors
/// A sentence about the first that cannot be read.
pub fn open_family(matches: &ArgMatches) -> Result<Vec<Trace>, Failure> {
    let paths = matches.get_many::<PathBuf>("TRACE").into_iter().flatten();
    paths.map(|path| Trace::open(path)).collect::<Result<_, String>>().map_err(Failure::new)
}

/// Returns the argument of a trace.
fn file(name: &'static str) -> Arg {
    Arg::new(name)
        .required(true)
        .value_name(name)
        .value_parser(clap::value_parser!(PathBuf))
        .help("A trace, from -xsim-trace")
}

/// Returns the argument that says where a trace is written to.
fn output() -> Arg {
    Arg::new("output")
        .short('o')
        .long("output")
        .required(true)
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help("Where to")
}

/// Writes a trace where [`output`] says.
fn write(trace: &[u8], matches: &ArgMatches) -> Result<(), Failure> {
    let output: &PathBuf = matches.get_one("output").expect("clap asks for it");
    std::fs::write(output, trace)
        .map_err(|why| Failure::new(format!("cannot write the trace {}: {why}", output.display())))
}

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let rank = |help: &'static str| {
        Arg::new("rank").long("rank").value_name("R").value_parser(clap::value_parser!(u32)).help(help)
    };
    Command::new("trace")
        .about("Show what a recorded run did (-xsim-trace)")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("show")
                .about("Calls and loops, with their call sites")
                .arg(file("TRACE"))
                .arg(rank("Every call of this rank, a line each, instead of the loops of all ranks")),
        )
        .subcommand(
            Command::new("stat")
                .about("Calls, messages and bytes by function, sizes, distances, compression")
                .arg(file("TRACE")),
        )
        .subcommand(
            Command::new("diff")
                .about(
                    "Whether two traces have the same calls, each rank's in order, call sites and times \
                     aside",
                )
                .arg(file("A"))
                .arg(file("B")),
        )
        .subcommand(
            Command::new("check")
                .about(
                    "Messages that were never received, requests never waited for, collectives that differ",
                )
                .arg(file("TRACE")),
        )
        .subcommand(
            Command::new("cut")
                .about("A trace of some ranks, or of a part of the time")
                .arg(file("TRACE"))
                .arg(output())
                .arg(
                    Arg::new("ranks")
                        .long("ranks")
                        .value_name("RANKS")
                        .help("Calls of these ranks only, such as 0-3,7"),
                )
                .arg(
                    Arg::new("from")
                        .long("from")
                        .value_name("TIME")
                        .help("Calls entered from this virtual time on; the trace has exact times"),
                )
                .arg(
                    Arg::new("until")
                        .long("until")
                        .value_name("TIME")
                        .help("Calls entered before this virtual time"),
                ),
        )
        .subcommand(benchmark::command())
        .subcommand(convert::command())
        .subcommand(extrapolate::command())
        .subcommand(join::command())
        .subcommand(scale::command())
}

/// Runs it.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let (name, sub) = matches.subcommand().expect("clap asks for a subcommand");
    let path = |name: &str| sub.get_one::<PathBuf>(name).expect("clap asks for it");
    let open = |name: &str| Trace::open(path(name)).map_err(Failure::new);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let status = match name {
        "show" => {
            let trace = open("TRACE")?;
            match sub.get_one::<u32>("rank") {
                Some(&rank) => written(show::rank(&trace, checked(&trace, rank)?, &mut out)),
                None => written(show::all(&trace, &mut out)),
            }?;
            ExitCode::SUCCESS
        }
        "stat" => {
            let trace = open("TRACE")?;
            let size = std::fs::metadata(path("TRACE")).map_or(0, |file| file.len());
            written(TraceStatistics::of(&trace).write(&trace, size, &mut out))?;
            ExitCode::SUCCESS
        }
        "diff" => match diff::diff(&open("A")?, &open("B")?, &mut out) {
            Ok(false) => ExitCode::from(FOUND),
            result => written(result.map(drop)).map(|()| ExitCode::SUCCESS)?,
        },
        "check" => {
            let found = check::check(&open("TRACE")?);
            written(found.iter().try_for_each(|found| writeln!(out, "{found}")))?;
            if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FOUND) }
        }
        "cut" => {
            let file = cut::cut(&open("TRACE")?, &ranks(sub)?, &window(sub)?).map_err(Failure::new)?;
            write(&file, sub)?;
            ExitCode::SUCCESS
        }
        "benchmark" => {
            benchmark::write(&open("TRACE")?, path("TRACE"), sub)?;
            ExitCode::SUCCESS
        }
        "convert" => {
            convert::run(sub)?;
            ExitCode::SUCCESS
        }
        "extrapolate" => {
            extrapolate::run(sub)?;
            ExitCode::SUCCESS
        }
        "join" => {
            join::run(sub)?;
            ExitCode::SUCCESS
        }
        "scale" => {
            scale::run(open("TRACE")?, sub)?;
            ExitCode::SUCCESS
        }
        _ => unreachable!("clap knows only the subcommands above"),
    };
    written(out.flush())?;
    Ok(status)
}

fn ranks(matches: &ArgMatches) -> Result<RankList, Failure> {
    match matches.get_one::<String>("ranks") {
        Some(ranks) => {
            RankList::parse(ranks).map_err(|why| Failure::with(USAGE, format!("--ranks {ranks}: {why}")))
        }
        None => Ok(RankList::all()),
    }
}

fn window(matches: &ArgMatches) -> Result<Range<Time>, Failure> {
    let instant = |name: &str, default: Time| match matches.get_one::<String>(name) {
        Some(text) => match text.parse::<Span>() {
            Ok(span) => Ok(Time::ZERO + span),
            Err(why) => Err(Failure::with(USAGE, format!("--{name} {text}: {why}"))),
        },
        None => Ok(default),
    };
    Ok(instant("from", Time::ZERO)?..instant("until", Time::MAX)?)
}

fn checked(trace: &Trace, rank: u32) -> Result<u32, Failure> {
    if rank < trace.ranks {
        return Ok(rank);
    }
    Err(Failure::with(
        USAGE,
        format!("the trace has ranks 0 to {} only, and no rank {rank}", trace.ranks - 1),
    ))
}

fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    result.map_err(crate::output::failure)
}

//! `xsim trace convert`: from traces to the formats of other simulators, and back.

use crate::failure::{Failure, USAGE};
use crate::output::note;
use crate::replay;
use ::convert::{Format, LogGops, Options};
use ::trace::duplicates;
use clap::{Arg, ArgMatches, Command};
use mpi::schedule::choose::{Policy, PolicyError};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).required(true).value_parser(clap::value_parser!(PathBuf));
    let format = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("goal|goalbin|ti|otf2|dumpi|trace")
            .value_parser(["goal", "goalbin", "ti", "otf2", "dumpi", "trace"])
            .help(help)
    };
    Command::new("convert")
        .after_help("xsim replay runs the trace on a simulated machine.")
        .about(
            "Convert a trace to or from GOAL (LogGOPSim), time-independent traces (SimGrid) and OTF2 \
             (Score-P, Vampir), and from DUMPI (SST)",
        )
        .arg(path("FILE").help("A trace, from -xsim-trace, or a file of another format"))
        .arg(path("output").short('o').long("output").value_name("FILE").help("Where to"))
        .arg(format(
            "from",
            "What it is [default: by its contents and the ending of its name: .goal, .goalbin, .ti, .txt, \
             .otf2, .meta, .bin]",
        ))
        .arg(format("to", "What it becomes [default: by the ending of the output's name; else a trace]"))
        .arg(Arg::new("flops").long("flops").value_name("RATE").default_value("1Gflops").help(
            "Operations a second: what computation that time-independent traces tell in operations takes",
        ))
        .arg(
            Arg::new("coll")
                .long("coll")
                .value_name("CHOICE")
                .default_value("mpich")
                .help("Algorithms of the collectives that become messages in GOAL, as -xsim-coll has them"),
        )
        .arg(Arg::new("loggops").long("loggops").value_name("L=2500,o=1500,g=1000,G=6,S=65535").help(
            "LogGOPSim's parameters that order a rank's operations when GOAL is read [default: LogGOPSim's]",
        ))
        .arg(replay::without(replay::WITHOUT))
}

/// Converts.
pub fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let path = |name: &str| matches.get_one::<PathBuf>(name).expect("clap asks for it");
    let text = |name: &str| matches.get_one::<String>(name);
    let (from, to) = (path("FILE"), path("output"));
    let usage = |option: &str, why: String| {
        Failure::with(USAGE, format!("--{option} {}: {why}", text(option).map_or("", String::as_str)))
    };
    let flops =
        network::flop_rate(text("flops").expect("it has a default")).map_err(|why| usage("flops", why))?;
    let policy: Policy = text("coll")
        .expect("it has a default")
        .parse()
        .map_err(|why: PolicyError| usage("coll", why.to_string()))?;
    let loggops = text("loggops").map_or(Ok(LogGops::default()), |text| text.parse());
    let without = replay::left_out(matches);
    let options = Options { flops, policy, loggops: loggops.map_err(|why| usage("loggops", why))?, without };
    let begin = begin(from)?;
    let source = match text("from") {
        Some(name) => Format::named(name),
        None if ::trace::file::is_trace(&begin) => None,
        None => Some(Format::of_contents(&begin).or_else(|| Format::of(from)).ok_or_else(|| {
            let what = "is no trace, and its name does not say what it is";
            Failure::with(USAGE, format!("{} {what}: name its format, such as --from goal", from.display()))
        })?),
    };
    let target = text("to").map_or_else(|| Format::of(to), |name| Format::named(name));
    match (source, target) {
        (Some(source), None) => {
            let fixed = ::convert::import(source, from, to, &options).map_err(Failure::new)?;
            fixed.iter().for_each(|fixed| note!("xsim: note: {fixed}"));
            Ok(())
        }
        (None, Some(target)) => {
            let trace = duplicates::open(from).map_err(Failure::new)?;
            ::convert::export(&trace, target, to, &options)
                .map_err(|why| Failure::new(format!("{}: {why}", from.display())))
        }
        (None, None) => Err(Failure::with(
            USAGE,
            format!(
                "{} is a trace, and the name {} does not say what it is to become: name its format, such as \
                 --to goal",
                from.display(),
                to.display()
            ),
        )),
        (Some(_), Some(_)) => Err(Failure::with(
            USAGE,
            "neither is a trace: convert another simulator's file to a trace first, and that to what it is \
             to be"
                .to_owned(),
        )),
    }
}

/// Returns what a file begins with, as much as tells a trace.
fn begin(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut begin = Vec::new();
    let read = std::fs::File::open(path)
        .and_then(|file| file.take(::trace::file::MAGIC.max(8) as u64).read_to_end(&mut begin));
    read.map_err(|why| Failure::new(format!("{} cannot be read: {why}", path.display())))?;
    Ok(begin)
}

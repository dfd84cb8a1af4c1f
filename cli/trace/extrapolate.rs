//! `xsim trace extrapolate`: a trace at another rank count than those that were recorded.

use crate::failure::{Failure, USAGE};
use ::trace::Trace;
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::PathBuf;

/// The subcommand's arguments.
pub fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).required(true).value_parser(clap::value_parser!(PathBuf));
    Command::new("extrapolate")
        .about("Make the trace of more ranks from traces at three or more rank counts, or name the call that follows no rule")
        .arg(
            path("TRACE")
                .action(ArgAction::Append)
                .num_args(1..)
                .help("Traces of one program (-xsim-trace), each of another number of ranks"),
        )
        .arg(
            Arg::new("np")
                .long("np")
                .required(true)
                .value_name("RANKS")
                .value_parser(clap::value_parser!(u32).range(1..=0x7fff_ffff))
                .help("Ranks of the trace that is made, a count of the same family: a cube where the others are"),
        )
        .arg(path("output").short('o').long("output").value_name("FILE").help("Where to"))
}

/// Reads the traces and writes the one that is wanted.
pub fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let paths: Vec<&PathBuf> = matches.get_many("TRACE").into_iter().flatten().collect();
    if paths.len() < ::extrapolate::FEWEST {
        let fewest = ::extrapolate::FEWEST;
        return Err(Failure::with(
            USAGE,
            format!("{} of {fewest} traces: rules in the rank count take {fewest} of different counts", paths.len()),
        ));
    }
    let traces = paths.into_iter().map(|path| Trace::open(path)).collect::<Result<Vec<Trace>, String>>().map_err(Failure::new)?;
    let ranks: u32 = *matches.get_one("np").expect("clap asks for it");
    let output: &PathBuf = matches.get_one("output").expect("clap asks for it");
    let extrapolated = ::extrapolate::extrapolate(&traces, ranks).map_err(Failure::new)?;
    for note in &extrapolated.notes {
        eprintln!("xsim: note: {note}");
    }
    std::fs::write(output, extrapolated.file).map_err(|why| Failure::new(format!("cannot write the trace {}: {why}", output.display())))
}

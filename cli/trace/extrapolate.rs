//! `xsim trace extrapolate`: a trace at another rank count than those that were recorded.

use crate::failure::{Failure, USAGE};
use crate::output::note;
use clap::{Arg, ArgMatches, Command};
use std::path::PathBuf;

/// Ranks up to which a trace is made: each is computed by itself and has its own part of the file.
const MAX_RANKS: u32 = 1 << 24;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    Command::new("extrapolate")
        .about(
            "Make the trace of more ranks from traces at three or more rank counts, or name the call that \
             follows no rule",
        )
        .arg(super::family())
        .arg(
            Arg::new("np")
                .long("np")
                .required(true)
                .value_name("RANKS")
                .value_parser(clap::value_parser!(u32).range(1..=0x7fff_ffff))
                .help(
                    "Ranks of the trace that is made, a count of the same family: a cube where the others \
                     are",
                ),
        )
        .arg(super::output())
}

/// Reads the traces and writes the one that is wanted.
pub fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let given = matches.get_many::<PathBuf>("TRACE").map_or(0, |paths| paths.len());
    if given < ::extrapolate::FEWEST {
        let fewest = ::extrapolate::FEWEST;
        return Err(Failure::with(
            USAGE,
            format!("{given} of {fewest} traces: rules in the rank count take {fewest} of different counts"),
        ));
    }
    let ranks: u32 = *matches.get_one("np").expect("clap asks for it");
    if ranks > MAX_RANKS {
        return Err(Failure::with(
            USAGE,
            format!(
                "--np {ranks} is more than {MAX_RANKS}, the most ranks of a trace that is made: each is \
                 computed by itself and has its own part of the file; ask for fewer"
            ),
        ));
    }
    let traces = super::open_family(matches)?;
    let extrapolated = ::extrapolate::extrapolate(&traces, ranks).map_err(Failure::new)?;
    for note in &extrapolated.notes {
        note!("xsim: note: {note}");
    }
    super::write(&extrapolated.file, matches)
}

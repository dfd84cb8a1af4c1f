//! `xsim trace join`: what the processes of a run saved that did not come to its end, as one trace.

use crate::failure::Failure;
use crate::output::note;
use ::trace::saved::{self, Saved};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::PathBuf;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    Command::new("join")
        .about("Put together what the processes of a run that was killed have saved")
        .arg(
            Arg::new("PART")
                .required(true)
                .value_parser(clap::value_parser!(PathBuf))
                .action(ArgAction::Append)
                .num_args(1..)
                .help("What processes saved: app.trace.part0, app.trace.part1 and so on"),
        )
        .arg(super::output())
}

/// Reads the parts and writes the trace.
pub fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let paths = matches.get_many::<PathBuf>("PART").into_iter().flatten();
    let parts = paths.map(|path| Saved::open(path)).collect::<Result<Vec<_>, _>>().map_err(Failure::new)?;
    let joined =
        saved::join(parts).map_err(|why| Failure::new(format!("these parts cannot be joined: {why}")))?;
    if let (Some(first), Some(last)) = (joined.missing.first(), joined.missing.last()) {
        let missing = joined.missing.len();
        note!(
            "xsim: note: no part tells of {missing} ranks ({first} to {last}): they do nothing in the trace"
        );
    }
    super::write(&joined.file(), matches)
}

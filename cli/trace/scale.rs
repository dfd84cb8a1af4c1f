//! `xsim trace scale`: a trace with other computation and other sizes.

use crate::failure::Failure;
use crate::scaling;
use ::trace::Trace;
use clap::{ArgMatches, Command};

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    Command::new("scale")
        .about("A trace with other computation between calls, or messages of other sizes")
        .arg(super::file("TRACE"))
        .arg(super::output())
        .args(scaling::args())
}

/// Changes the trace and writes it.
pub fn run(mut trace: Trace, matches: &ArgMatches) -> Result<(), Failure> {
    scaling::read(matches)?.apply(&mut trace).map_err(Failure::new)?;
    super::write(&trace.write(), matches)
}

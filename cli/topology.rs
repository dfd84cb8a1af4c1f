//! `xsim topology SPEC`: a simulated machine, looked at without a run.

use crate::failure::{Failure, USAGE};
use crate::output::{self, say};
use clap::{Arg, ArgMatches, Command};
use network::{Machine, machine_report};
use std::process::ExitCode;

/// Returns the subcommand `topology`.
pub fn command() -> Command {
    Command::new("topology")
        .about("Show a network's size, diameter, average hops and latencies")
        .arg(
            Arg::new("SPEC")
                .required(true)
                .help("A specification, a preset's name or a TOML file, as for xsim run --mn"),
        )
        .arg(
            Arg::new("ranks")
                .short('n')
                .long("np")
                .value_name("N")
                .value_parser(clap::value_parser!(u32).range(1..))
                .help("Size it for this many ranks, where the specification leaves a size open"),
        )
        .arg(output::json_argument())
}

/// Prints a network.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let specification: &String = matches.get_one("SPEC").expect("clap asks for a specification");
    let ranks = matches.get_one::<u32>("ranks").copied();
    let report = Machine::parse(specification).and_then(|machine| machine_report(&machine, ranks));
    let report = report.map_err(|why| Failure::with(USAGE, why.to_string()))?;
    let json = serde_json::to_string_pretty(&report)
        .map_err(|why| Failure::new(format!("the report has no JSON form: {why}")))?;
    if !output::results_to(matches, "json", || json + "\n")? {
        say!("{}", report.to_string().trim_end());
    }
    Ok(ExitCode::SUCCESS)
}

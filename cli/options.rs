//! The options of a run as arguments of the command.

use crate::failure::{Failure, USAGE};
use clap::{Arg, ArgMatches};
use simulation::Options;
use simulation::options::{Row, TABLE};

/// Options that `-h` lists; `--help` has all.
const COMMON: [&str; 14] = [
    "np",
    "mn",
    "placement",
    "compute",
    "proc",
    "coll",
    "report",
    "profile",
    "trace",
    "timeline",
    "network-report",
    "verbose",
    "check",
    "quiet",
];

/// Returns the first part of a help: it ends before a semicolon, a bracket, a colon or a full stop.
fn first_part(help: &str) -> &str {
    let ends = ["; ", " (", ": ", ". "].iter().filter_map(|end| help.find(end));
    help[..ends.min().unwrap_or(help.len())].trim_end_matches('.')
}

/// Returns the argument for a row of the table of options.
pub fn arg(row: &'static Row) -> Arg {
    let mut arg = Arg::new(row.name)
        .long(row.name)
        .value_name(row.value)
        .help_heading(row.group.title())
        .overrides_with(row.name);
    let default = if row.default.is_empty() { String::new() } else { format!(" [default: {}]", row.default) };
    let help = row.help.replace('`', "");
    arg = arg
        .help(format!("{}{default}", first_part(&help)))
        .long_help(format!("{help}{default}"))
        .hide_short_help(!COMMON.contains(&row.name))
        .visible_aliases(row.aliases.iter().copied());
    if let Some(letter) = row.short {
        arg = arg.short(letter);
    }
    if row.name == "np" {
        // As launchers of MPI have it.
        arg = arg.visible_short_alias('c');
    }
    match row.is_flag() {
        true => arg.value_name("on|off").num_args(0..=1).require_equals(true).default_missing_value("on"),
        false => arg.allow_hyphen_values(true),
    }
}

/// Returns what was given for a row.
pub fn value<'m>(matches: &'m ArgMatches, row: &Row) -> Option<&'m String> {
    matches.get_one(row.name)
}

/// Returns `true` if an option was given.
pub fn is_given(matches: &ArgMatches, name: &str) -> bool {
    matches.value_source(name) == Some(clap::parser::ValueSource::CommandLine)
}

/// Sets an option to what was given.
pub fn set(options: &mut Options, row: &'static Row, value: &str) -> Result<(), Failure> {
    options.set(row, value).map_err(|why| Failure::with(USAGE, format!("--{} {value}: {why}", row.name)))
}

/// Options of runs whose ranks have no program: those of the machine, of collectives and of what is told.
const WITHOUT_PROGRAM: [&str; 23] = [
    "np",
    "mn",
    "placement",
    "hostfile",
    "eager-limit",
    "coll",
    "events",
    "report",
    "network-report",
    "quiet",
    "progress",
    "proc",
    "profile",
    "critical-path",
    "timeline",
    "timeline-format",
    "timeline-ranks",
    "timeline-functions",
    "timeline-from",
    "timeline-until",
    "fail",
    "native",
    "map",
];

fn rows_without_program() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| WITHOUT_PROGRAM.contains(&row.name))
}

/// Returns the arguments of runs whose ranks have no program.
pub fn without_program() -> impl Iterator<Item = Arg> {
    rows_without_program().map(arg)
}

/// Reads the options of a run whose ranks have no program.
pub fn read_without_program(matches: &ArgMatches) -> Result<Options, Failure> {
    let mut options = Options::default();
    for row in rows_without_program() {
        if let Some(given) = value(matches, row) {
            set(&mut options, row, given)?;
        }
    }
    Ok(options)
}

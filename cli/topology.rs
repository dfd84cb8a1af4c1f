//! `xsim topology SPEC` and `xsim presets`: simulated machines, looked at without a run.

use crate::failure::{Failure, USAGE};
use crate::output::{self, say};
use clap::{Arg, ArgMatches, Command};
use network::{Machine, PRESETS, Preset, machine_report};
use serde_json::json;
use std::fmt::Write;
use std::process::ExitCode;

/// The subcommand `topology`.
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

/// The subcommand `presets`.
pub fn presets_command() -> Command {
    Command::new("presets")
        .about("List the simulated machines that are known by name")
        .arg(output::json_argument())
        .arg(output::csv_argument("Write name, specification and source of each"))
}

/// Prints the machines that are known by name, with their sources.
pub fn presets(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let json = || {
        let row = |preset: &Preset| {
            let Preset { name, specification, source } = preset;
            json!({"name": name, "specification": specification, "source": source})
        };
        format!("{:#}\n", PRESETS.iter().map(row).collect::<serde_json::Value>())
    };
    let csv = || {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let row = |preset: &Preset| {
            format!("{},{},{}\n", preset.name, quoted(preset.specification), quoted(preset.source))
        };
        "name,specification,source\n".to_owned() + &PRESETS.iter().map(row).collect::<String>()
    };
    let is_printed = output::results_to(matches, "json", json)? | output::results_to(matches, "csv", csv)?;
    if !is_printed {
        output::text(listed())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the machines that are known by name, below their sources.
fn listed() -> String {
    let width = PRESETS.iter().map(|preset| preset.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut source = "";
    for preset in PRESETS {
        if preset.source != source {
            source = preset.source;
            let _ = writeln!(text, "{}{source}:", if text.is_empty() { "" } else { "\n" });
        }
        let _ = writeln!(text, "  {:width$}  {}", preset.name, preset.specification);
    }
    text
}

//! `xsim presets`: the simulated machines that are known by name.

use crate::failure::{Failure, USAGE};
use crate::output;
use ::report::table::{Align, Table};
use ::report::wrap::wrapped;
use clap::{Arg, ArgAction, ArgMatches, Command};
use network::{Preset, describe_preset, nearest, preset, preset_names, presets};
use serde_json::json;
use std::fmt::Write;
use std::process::ExitCode;

/// Columns of the manual's pages.
const MAX_COLUMNS: usize = 100;
/// Columns of the list's last column.
const MAX_SUMMARY: usize = 90;

/// Returns the subcommand `presets`.
pub fn command() -> Command {
    Command::new("presets")
        .about("List the simulated machines that are known by name, or describe one")
        .arg(
            Arg::new("describe")
                .long("describe")
                .value_name("NAME")
                .help("Print a machine's nodes, links, rates, specification, sources and assumptions"),
        )
        .arg(
            Arg::new("markdown")
                .long("markdown")
                .action(ArgAction::SetTrue)
                .conflicts_with("describe")
                .help("Print the page docs/reference/presets.md"),
        )
        .arg(output::json_argument())
        .arg(output::csv_argument("Write name, group, specification and sources of each"))
}

/// Prints the list, a machine or the page.
///
/// # Errors
/// A name that no machine has.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let is_printed = output::results_to(matches, "json", json)? | output::results_to(matches, "csv", csv)?;
    if is_printed {
        return Ok(ExitCode::SUCCESS);
    }
    let text = match matches.get_one::<String>("describe") {
        Some(name) => described(name)?,
        None if matches.get_flag("markdown") => markdown(),
        None => list(),
    };
    output::text(text)?;
    Ok(ExitCode::SUCCESS)
}

fn described(name: &str) -> Result<String, Failure> {
    let preset = preset(name).ok_or_else(|| {
        let meant =
            nearest(name, preset_names()).map_or(String::new(), |meant| format!(", '{meant}' perhaps"));
        Failure::with(USAGE, format!("'{name}' is not the name of a preset{meant}; xsim presets lists them"))
    })?;
    describe_preset(&preset).map_err(|why| Failure::new(why.to_string()))
}

/// Returns all machines as JSON.
fn json() -> String {
    let row = |preset: Preset| {
        json!({
            "name": preset.name, "group": preset.group, "specification": preset.specification,
            "sources": preset.sources, "assumed": preset.assumed,
        })
    };
    format!("{:#}\n", presets().into_iter().map(row).collect::<serde_json::Value>())
}

/// Returns all machines as comma-separated values (RFC 4180).
fn csv() -> String {
    let mut table =
        Table::new(&["name", "group", "specification", "sources"].map(|name| (name, Align::Left)));
    let row = |preset: Preset| {
        let texts = [preset.name, &*preset.group, &*preset.specification, &preset.sources.join("; ")];
        texts.map(Into::into).to_vec()
    };
    table.rows = presets().into_iter().map(row).collect();
    table.csv()
}

/// Returns the list of machines, by groups.
fn list() -> String {
    let width = preset_names().map(str::len).max().unwrap_or(0);
    let mut text = String::new();
    for (group, presets) in groups() {
        let _ = writeln!(text, "{}{group}:", if text.is_empty() { "" } else { "\n" });
        for preset in presets {
            let summary: String = preset.summary().chars().take(MAX_SUMMARY).collect();
            let _ = writeln!(text, "  {:width$}  {summary}", preset.name);
        }
    }
    text.push_str("\nxsim presets --describe NAME prints nodes, links, rates, sources and assumptions\n");
    text
}

/// Returns the page of the manual.
fn markdown() -> String {
    let mut text = String::from(
        "# Presets\n\n<!-- Made by `xsim presets --markdown` of runtime/core/network/presets; a test \
         keeps it so. -->\n\nMachines known by name. \
         What no source states is marked as derived or assumed.\n",
    );
    for (group, presets) in groups() {
        let mut head = group.clone();
        head[..1].make_ascii_uppercase();
        let _ = write!(text, "\n## {head}\n");
        for preset in presets {
            let _ = write!(text, "\n### `{}`\n\n", preset.name);
            if !preset.title.is_empty() {
                let nodes =
                    preset.nodes.map_or("any number of nodes".to_owned(), |nodes| format!("{nodes} nodes"));
                let sentence = format!(
                    "{}: {nodes}, {} ranks a node, each {}.",
                    preset.title, preset.ranks, preset.rank
                );
                let _ = writeln!(text, "{}\n", wrapped(&sentence, MAX_COLUMNS).join("\n"));
            }
            let _ = writeln!(text, "    {}\n", preset.specification);
            let sources = preset.sources.iter().map(|source| format!("source: {source}"));
            for item in sources.chain(preset.assumed.iter().cloned()) {
                let _ = writeln!(text, "- {}", wrapped(&item, MAX_COLUMNS - 2).join("\n  "));
            }
        }
    }
    text
}

/// Returns the presets of each group, in order.
fn groups() -> Vec<(String, Vec<Preset>)> {
    let mut groups: Vec<(String, Vec<Preset>)> = Vec::new();
    for preset in presets() {
        match groups.iter_mut().find(|(group, _)| *group == preset.group) {
            Some((_, presets)) => presets.push(preset),
            None => groups.push((preset.group.to_string(), vec![preset])),
        }
    }
    groups
}

//! `xsim report`: where the time of a run went, as text or as a page, and what differs between two runs.

use crate::failure::{Failure, USAGE};
use ::report::overview::overview;
use ::report::wrap::terminal_width;
use ::report::{Efficiencies, difference, page};
use clap::{Arg, ArgAction, ArgMatches, Command};
use recorder::RunReport;
use std::path::PathBuf;
use std::process::ExitCode;

/// The subcommand's arguments.
pub fn command() -> Command {
    let file =
        |name: &'static str| Arg::new(name).value_name(name).value_parser(clap::value_parser!(PathBuf));
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new("report")
        .about(
            "Show where the time of a run went (-xsim-report, -xsim-profile), or what differs between two \
             runs",
        )
        .arg(file("RUN").required(true).help(
            "A report, from -xsim-report RUN.json; with -xsim-profile it knows call sites and who waits for \
             whom",
        ))
        .arg(file("OTHER").help("Another one: what differs"))
        .arg(file("output").short('o').long("output").value_name("FILE.html").help(
            "Write a page that needs nothing else; with a name in .txt, .md or .csv text, Markdown or values",
        ))
        .arg(file("ideal").long("ideal").value_name("IDEAL.json").help(
            "The report of the same run with -xsim-mn none: communication efficiency in its parts, \
             serialisation and transfer",
        ))
        .arg(
            flag(
                "csv",
                "The tables as comma-separated values: a line for each number, or with --table for each row",
            )
            .conflicts_with("markdown"),
        )
        .arg(flag("markdown", "As Markdown"))
        .arg(
            Arg::new("table")
                .long("table")
                .value_name("TITLE")
                .help("One table alone, such as \"Call sites\""),
        )
}

/// The form in which a report is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReportForm {
    Page,
    Text,
    Markdown,
    Values,
}

/// Returns what the flags say, else the name of the file; text for a terminal.
fn form(matches: &ArgMatches, output: Option<&PathBuf>) -> Result<ReportForm, Failure> {
    match (matches.get_flag("csv"), matches.get_flag("markdown"), output) {
        (true, ..) => Ok(ReportForm::Values),
        (_, true, _) => Ok(ReportForm::Markdown),
        (_, _, None) => Ok(ReportForm::Text),
        (_, _, Some(output)) => match output.extension().and_then(|suffix| suffix.to_str()) {
            Some("html" | "htm") => Ok(ReportForm::Page),
            Some("txt") => Ok(ReportForm::Text),
            Some("md") => Ok(ReportForm::Markdown),
            Some("csv") => Ok(ReportForm::Values),
            _ => Err(Failure::with(
                USAGE,
                format!(
                    "the name {} says no format: it ends in .html for a page, in .txt, .md or .csv",
                    output.display()
                ),
            )),
        },
    }
}

/// Runs it.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let path = |name: &str| matches.get_one::<PathBuf>(name);
    let read = |path: &PathBuf| ::report::read(path).map_err(Failure::new);
    let (output, form) = (path("output"), form(matches, path("output"))?);
    let run = read(path("RUN").expect("clap asks for it"))?;
    let mut document = match path("OTHER") {
        Some(_) if form == ReportForm::Page => {
            return Err(Failure::with(
                USAGE,
                "differences of two runs are text: give -o a name in .txt, .md or .csv, or give one report",
            ));
        }
        Some(_) if path("ideal").is_some() => {
            return Err(Failure::with(USAGE, "--ideal is for one run: leave it out, or give one report"));
        }
        Some(other) => difference::difference(&run, &read(other)?),
        None => {
            let ideal = path("ideal").map(read).transpose()?;
            let efficiencies = efficiencies(&run, ideal.as_ref())?;
            if form == ReportForm::Page {
                if matches.get_one::<String>("table").is_some() {
                    return Err(Failure::with(
                        USAGE,
                        "a page has all tables: leave --table out, or give -o a name in .txt, .md or .csv",
                    ));
                }
                return write(output, &page::page(&run, &efficiencies));
            }
            overview(&run, &efficiencies)
        }
    };
    if let Some(title) = matches.get_one::<String>("table") {
        document.keep(title).map_err(|why| Failure::with(USAGE, format!("--table: {why}")))?;
    }
    let text = match form {
        ReportForm::Values => document.csv(),
        ReportForm::Markdown => document.markdown(),
        ReportForm::Text | ReportForm::Page => document.text(width(output)),
    };
    write(output, &text)
}

/// Returns what one asks for by name has to be there; without, it is said why not.
fn efficiencies(run: &RunReport, ideal: Option<&RunReport>) -> Result<Result<Efficiencies, String>, Failure> {
    let found = Efficiencies::of(run, ideal);
    if ideal.is_some() { found.map(Ok).map_err(Failure::new) } else { Ok(found) }
}

/// Returns the width of text: of the terminal, unless the variable COLUMNS has another; of a file and a pipe
/// 80.
fn width(output: Option<&PathBuf>) -> usize {
    let given = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|&columns| columns > 0);
    let terminal = || output.is_none().then(|| terminal_width(std::io::stdout())).flatten();
    given().or_else(terminal).unwrap_or(80)
}

/// To a file, or to standard output.
fn write(output: Option<&PathBuf>, text: &str) -> Result<ExitCode, Failure> {
    match output {
        Some(path) => {
            std::fs::write(path, text)
                .map_err(|why| Failure::new(format!("cannot write the page {}: {why}", path.display())))?;
        }
        None => crate::output::text(text)?,
    }
    Ok(ExitCode::SUCCESS)
}

//! `xsim report`: where the time of a run went, as text or as a page, and what differs between two runs.

use crate::failure::{Failure, USAGE};
use crate::output;
use ::report::overview::overview;
use ::report::page::SourceLinks;
use ::report::wrap::terminal_width;
use ::report::{Efficiencies, difference, page};
use clap::{Arg, ArgAction, ArgMatches, Command};
use recorder::RunReport;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let file =
        |name: &'static str| Arg::new(name).value_name(name).value_parser(clap::value_parser!(PathBuf));
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new("report")
        .alias("compare")
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
            "Write a page that needs nothing else; with a name in .txt, .md, .csv or .json text, Markdown or \
             values",
        ))
        .arg(file("ideal").long("ideal").value_name("IDEAL.json").help(
            "The report of the same run with -xsim-mn none: communication efficiency in its parts, \
             serialisation and transfer",
        ))
        .arg(
            file("source")
                .long("source")
                .value_name("DIR")
                .requires("output")
                .help("Sources of the program: call sites of the page open in an editor"),
        )
        .arg(
            Arg::new("editor")
                .long("editor")
                .value_name("URL")
                .default_value("vscode://file{path}:{line}")
                .help("How that editor opens a line of a file"),
        )
        .arg(
            output::csv_argument(
                "Write the tables as comma-separated values: a line for each number, or with --table for \
                 each row",
            )
            .conflicts_with_all(["markdown", "json", "output"]),
        )
        .arg(output::json_argument().conflicts_with_all(["markdown", "output"]))
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
    Json,
}

/// Returns what the options say, else the name of the file; text for a terminal. Then the file.
fn form(matches: &ArgMatches) -> Result<(ReportForm, Option<&PathBuf>), Failure> {
    let path = |name: &str| matches.get_one::<PathBuf>(name);
    if let Some(path) = path("csv") {
        return Ok((ReportForm::Values, Some(path)));
    }
    if let Some(path) = path("json") {
        return Ok((ReportForm::Json, Some(path)));
    }
    let Some(output) = path("output").filter(|path| !output::is_standard_output(path)) else {
        let is_markdown = matches.get_flag("markdown");
        return Ok((if is_markdown { ReportForm::Markdown } else { ReportForm::Text }, None));
    };
    let form = match output.extension().and_then(|suffix| suffix.to_str()) {
        _ if matches.get_flag("markdown") => ReportForm::Markdown,
        Some("html" | "htm") => ReportForm::Page,
        Some("txt") => ReportForm::Text,
        Some("md") => ReportForm::Markdown,
        Some("csv") => ReportForm::Values,
        Some("json") => ReportForm::Json,
        _ => {
            let why = format!(
                "the name {} says no format: it ends in .html for a page, in .txt, .md, .csv or .json",
                output.display()
            );
            return Err(Failure::with(USAGE, why));
        }
    };
    Ok((form, Some(output)))
}

/// Runs it.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let path = |name: &str| matches.get_one::<PathBuf>(name);
    let read = |path: &PathBuf| ::report::read(path).map_err(Failure::new);
    let (form, output) = form(matches)?;
    let run = read(path("RUN").expect("clap asks for it"))?;
    let mut document = match path("OTHER") {
        Some(_) if form == ReportForm::Page => {
            return Err(Failure::with(
                USAGE,
                "differences of two runs are text: give -o a name in .txt, .md, .csv or .json, or give \
                 one report",
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
                        "a page has all tables: leave --table out, or give -o a name in .txt, .md, .csv \
                         or .json",
                    ));
                }
                return write(output, &page::page(&run, &efficiencies, &links(matches)?));
            }
            overview(&run, &efficiencies)
        }
    };
    if let Some(title) = matches.get_one::<String>("table") {
        document.keep(title).map_err(|why| Failure::with(USAGE, format!("--table: {why}")))?;
    }
    let text = match form {
        ReportForm::Values => document.csv(),
        ReportForm::Json => document.json(),
        ReportForm::Markdown => document.markdown(),
        ReportForm::Text | ReportForm::Page => document.text(width(output)),
    };
    write(output, &text)
}

/// Files of a directory of sources at most.
const MAX_SOURCES: usize = 100_000;

/// Returns the links to sources. Of files with one name there is no link, as a call site has no directory.
fn links(matches: &ArgMatches) -> Result<SourceLinks, Failure> {
    let mut links = SourceLinks {
        address: matches.get_one::<String>("editor").cloned().unwrap_or_default(),
        ..SourceLinks::default()
    };
    let Some(directory) = matches.get_one::<PathBuf>("source") else { return Ok(links) };
    let cannot =
        |why: std::io::Error| Failure::with(USAGE, format!("--source {}: {why}", directory.display()));
    let mut open = vec![std::fs::canonicalize(directory).map_err(cannot)?];
    let (mut several, mut count) = (BTreeSet::new(), 0);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).map_err(cannot)?.flatten() {
            let (name, kind) = (entry.file_name().to_string_lossy().into_owned(), entry.file_type());
            count += 1;
            if name.starts_with('.') || count > MAX_SOURCES {
                continue;
            }
            match kind {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => {
                    let path = entry.path().to_string_lossy().into_owned();
                    if links.paths.insert(name.clone(), path).is_some() {
                        several.insert(name);
                    }
                }
                _ => {}
            }
        }
    }
    links.paths.retain(|name, _| !several.contains(name));
    Ok(links)
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

/// Writes a text to a file, or to standard output.
fn write(output: Option<&PathBuf>, text: &str) -> Result<ExitCode, Failure> {
    match output {
        Some(path) => output::file(path, text)?,
        None => output::text(text)?,
    }
    Ok(ExitCode::SUCCESS)
}

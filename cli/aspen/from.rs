//! `xsim aspen from`: a model from traces of a program at several rank counts.

use super::evaluate::significant;
use crate::failure::{Failure, USAGE};
use crate::output::{note, say};
use crate::trace;
use ::aspen::Sources;
use clap::{Arg, ArgMatches, Command};
use infer::RunComparison;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    Command::new("from")
        .about(
            "Write the model that traces at several rank counts have in common, its numbers as formulas in \
             the number of ranks",
        )
        .arg(trace::family())
        .arg(
            Arg::new("output")
                .required(true)
                .value_parser(clap::value_parser!(PathBuf))
                .short('o')
                .long("output")
                .value_name("DIR")
                .help("Where the model goes, and a machine on which it computes as recorded"),
        )
        .arg(
            Arg::new("name")
                .long("name")
                .value_name("NAME")
                .default_value("recorded")
                .help("What the model is called"),
        )
}

/// Writes the model and the machine, and shows how the model compares with the traces.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let name: &String = matches.get_one("name").expect("it has a default");
    if name.is_empty()
        || name.starts_with(|first: char| first.is_ascii_digit())
        || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    {
        return Err(Failure::with(
            USAGE,
            format!("--name {name}: a model is called by letters, digits and '_', a letter first"),
        ));
    }
    let traces = trace::open_family(matches)?;
    let inferred = infer::infer(name, &traces).map_err(Failure::new)?;
    for note in &inferred.notes {
        note!("xsim: note: {note}");
    }
    let directory: &PathBuf = matches.get_one("output").expect("clap asks for a directory");
    write(directory, &format!("{name}.aspen"), &inferred.model)?;
    write(directory, &format!("{name}-machine.aspen"), &inferred.machine)?;
    show(&inferred.compared)?;
    Ok(ExitCode::SUCCESS)
}

fn write(directory: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let mut sources = Sources::default();
    let id = sources.add(name, text);
    let text = ::aspen::format(&sources, id).map_err(|error| super::failed(&error))?;
    let path = directory.join(name);
    crate::output::make_directory(directory)?;
    std::fs::write(&path, text)
        .map_err(|why| Failure::new(format!("{} cannot be written: {why}", path.display())))?;
    say!("{}", path.display());
    Ok(())
}

/// Prints one line for each trace: what it has, and what the model has where that differs.
fn show(compared: &[RunComparison]) -> Result<(), Failure> {
    let cell = |(run, model): (f64, f64)| match run == model {
        true => significant(run),
        false => format!("{} ({})", significant(run), significant(model)),
    };
    let mut rows =
        vec![["ranks", "messages", "bytes", "collectives", "their bytes", "computation"].map(str::to_owned)];
    for one in compared {
        let (run, model) = one.computed;
        let seconds = if run == 0.0 {
            "0 s".to_owned()
        } else {
            format!("{run:.4e} s ({:+.2} %)", (model / run - 1.0) * 100.0)
        };
        rows.push([
            one.ranks.to_string(),
            cell(one.messages),
            cell(one.bytes),
            cell(one.collectives),
            cell(one.parts),
            seconds,
        ]);
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    for row in rows {
        let line: String = row.iter().zip(&widths).map(|(cell, width)| format!("  {cell:>width$}")).collect();
        say!("{}", &line[2..]);
    }
    match compared.iter().all(RunComparison::is_equal) {
        true => say!("the model sends what the traces have"),
        false => say!("in brackets: the model, where it differs"),
    }
    Ok(())
}

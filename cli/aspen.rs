//! `xsim aspen`: models of applications and machines in the language Aspen.

mod communication;
mod evaluate;
mod from;
mod generate;
mod plot;
mod run;

use crate::failure::{Failure, USAGE};
use crate::output::{self, note, say};
use ::aspen::{Application, AspenError, EvaluationRequest, LoadedModel, Machine, Sources};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let file = |name: &'static str, help: &'static str| {
        Arg::new(name).help(help).value_parser(clap::value_parser!(PathBuf))
    };
    let files = || file("FILE", "Models").required(true).action(ArgAction::Append).num_args(1..);
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new("aspen")
        .about("Read, check and evaluate models of applications and machines (docs/reference/aspen.md)")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(Command::new("check").about("Say what is wrong with models").arg(files()))
        .subcommand(
            Command::new("list")
                .about("List a model's parameters, data, kernels and control flow, or a machine's parts")
                .arg(file("FILE", "A model").required(true))
                .args(evaluate::choices()),
        )
        .subcommand(
            Command::new("format")
                .about("Write models as everybody writes them")
                .arg(files())
                .arg(flag("in-place", "Change the files; otherwise the text goes to standard output"))
                .arg(
                    flag("check", "Change nothing, and fail if a file would change")
                        .conflicts_with("in-place"),
                ),
        )
        .subcommand(evaluate::command())
        .subcommand(communication::command())
        .subcommand(generate::command())
        .subcommand(run::command())
        .subcommand(from::command())
}

/// Runs the subcommand that is asked for.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    match matches.subcommand() {
        Some(("check", sub)) => check(sub),
        Some(("list", sub)) => list(sub),
        Some(("format", sub)) => format(sub),
        Some(("eval", sub)) => evaluate::main(sub),
        Some(("comm", sub)) => communication::main(sub),
        Some(("generate", sub)) => generate::main(sub),
        Some(("run", sub)) => run::main(sub),
        Some(("from", sub)) => from::main(sub),
        _ => Err(Failure::with(USAGE, "what is to be done with the model?")),
    }
}

fn failed(error: &AspenError) -> Failure {
    Failure::new(error.to_string())
}

fn paths(matches: &ArgMatches) -> Vec<PathBuf> {
    matches.get_many("FILE").map(|paths| paths.cloned().collect()).unwrap_or_default()
}

fn read(sources: &mut Sources, path: &Path) -> Result<LoadedModel, Failure> {
    LoadedModel::read(sources, path).map_err(|error| failed(&error))
}

/// Reads the model of an application.
fn application(sources: &mut Sources, path: &Path) -> Result<Box<Application>, Failure> {
    match read(sources, path)? {
        LoadedModel::Application(model) => Ok(model),
        LoadedModel::Machine(_) => Err(Failure::new(format!(
            "{} is a machine; FILE takes the model of an application",
            path.display()
        ))),
    }
}

/// Reads the model of a machine, which an argument of this name takes.
fn machine(sources: &mut Sources, path: &Path, argument: &str) -> Result<Box<Machine>, Failure> {
    match read(sources, path)? {
        LoadedModel::Machine(machine) => Ok(machine),
        LoadedModel::Application(_) => Err(Failure::new(format!(
            "{} is the model of an application; {argument} takes a machine",
            path.display()
        ))),
    }
}

fn warn(warnings: &[AspenError]) {
    for warning in warnings {
        note!("xsim: warning: {warning}");
    }
}

fn check(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut good = true;
    for path in paths(matches) {
        let mut sources = Sources::default();
        match LoadedModel::read(&mut sources, &path) {
            Ok(LoadedModel::Application(model)) => {
                warn(&model.warnings);
                say!("{}: model {}, {} kernels", path.display(), model.name, model.len());
            }
            Ok(LoadedModel::Machine(machine)) => {
                warn(&machine.warnings);
                let what =
                    machine.name().map_or("parts of machines".to_owned(), |name| format!("machine {name}"));
                say!("{}: {what}, {} components", path.display(), machine.len());
            }
            Err(error) => {
                note!("xsim: {error}");
                good = false;
            }
        }
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn list(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut sources = Sources::default();
    let path: &PathBuf = matches.get_one("FILE").expect("clap asks for a file");
    match read(&mut sources, path)? {
        LoadedModel::Machine(machine) => output::text(machine.outline())?,
        LoadedModel::Application(model) => {
            output::text(model.outline())?;
            let chosen = evaluate::EvaluationOptions::read(matches, &mut sources)?;
            if chosen.kernel.is_some() || model.has_main() {
                let request = EvaluationRequest {
                    kernel: chosen.kernel.as_ref(),
                    parameters: &chosen.parameters,
                    ..chosen.request()
                };
                let tree = model.tree(&request).map_err(|error| failed(&error.located(&sources)))?;
                let lines: String = tree.lines().map(|line| format!("  {line}\n")).collect();
                output::text(format_args!("control flow:\n{lines}"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn format(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut good = true;
    for path in paths(matches) {
        let mut sources = Sources::default();
        let id = sources.read(&path).map_err(|error| failed(&error))?;
        let text = ::aspen::format(&sources, id).map_err(|error| failed(&error))?;
        let same = text == sources.file(id).text;
        if matches.get_flag("check") {
            if !same {
                note!("xsim: {} is not formatted: xsim aspen format --in-place does it", path.display());
                good = false;
            }
        } else if !matches.get_flag("in-place") {
            output::text(text)?;
        } else if !same {
            std::fs::write(&path, text)
                .map_err(|why| Failure::new(format!("{} cannot be written: {why}", path.display())))?;
        }
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Reads an application, and a machine if one is named.
fn read_both(
    sources: &mut Sources,
    matches: &ArgMatches,
) -> Result<(Box<Application>, Option<Box<Machine>>), Failure> {
    let path: &PathBuf = matches.get_one("FILE").expect("clap asks for a file");
    let model = application(sources, path)?;
    let machine =
        matches.get_one::<PathBuf>("MACHINE").map(|path| machine(sources, path, "MACHINE")).transpose()?;
    Ok((model, machine))
}

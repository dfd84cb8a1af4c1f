//! `xsim aspen generate`: a program that communicates as a model says.

use super::evaluate::{EvaluationOptions, choices};
use super::{application, failed};
use crate::failure::Failure;
use crate::output::say;
use ::aspen::{EvaluationRequest, Sources};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::PathBuf;
use std::process::ExitCode;

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).required(true).value_parser(clap::value_parser!(PathBuf));
    Command::new("generate")
        .about("Write a C program with MPI that communicates as a model says")
        .arg(path("FILE").help("A model of an application"))
        .arg(
            path("output")
                .short('o')
                .long("output")
                .value_name("DIR")
                .help("Where to; the program is called as the model"),
        )
        .arg(
            Arg::new("implicit")
                .long("implicit")
                .action(ArgAction::SetTrue)
                .conflicts_with("explicit")
                .help("With loops, as without --explicit"),
        )
        .args(choices())
}

/// Writes the program.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut sources = Sources::default();
    let path: &PathBuf = matches.get_one("FILE").expect("clap asks for a file");
    let model = application(&mut sources, path)?;
    let choice = EvaluationOptions::read(matches, &mut sources)?;
    let request = EvaluationRequest {
        kernel: choice.kernel.as_ref(),
        parameters: &choice.parameters,
        ..choice.request()
    };
    let program = model.program(&request).map_err(|error| failed(&error.located(&sources)))?;
    let directory: &PathBuf = matches.get_one("output").expect("clap asks for a directory");
    let file = directory.join(format!("{}.c", model.name));
    crate::output::make_directory(directory)?;
    std::fs::write(&file, program)
        .map_err(|why| Failure::new(format!("{} cannot be written: {why}", file.display())))?;
    say!("{}", file.display());
    Ok(ExitCode::SUCCESS)
}

//! `xsim aspen run`: ranks that do what a model says, on a simulated machine.

use super::evaluate::{EvaluationOptions, choices};
use super::{application, failed, machine};
use crate::failure::{Failure, USAGE};
use crate::output::note;
use crate::workload::Processes;
use crate::{options, workload};
use ::aspen::{EvaluationRequest, Machine, Sockets, Sources};
use ::workload::{NAMES, Walk};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::PathBuf;
use std::process::ExitCode;

/// The subcommand's arguments.
pub fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).value_parser(clap::value_parser!(PathBuf));
    Command::new("run")
        .about("Let ranks compute and communicate as a model says, on a simulated machine")
        .arg(path("FILE").required(true).help("A model of an application"))
        .arg(
            path("machine-model").long("machine-model").value_name("FILE").help(
                "A model of a machine, which says how long computation takes; without, it takes no time",
            ),
        )
        .arg(
            Arg::new("socket")
                .long("socket")
                .value_name("[KERNEL=]NAME")
                .action(ArgAction::Append)
                .requires("machine-model")
                .help(
                    "The kind of socket on which ranks compute, or on which they do in a kernel and what it \
                     calls; may be repeated",
                ),
        )
        .arg(path("trace").long("trace").value_name("FILE").help(
            "Also write the calls of all ranks, and what they compute between them, as a trace (xsim trace, \
             xsim replay)",
        ))
        .args(choices())
        .args(options::without_program())
}

/// Runs.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let options = options::read_without_program(matches)?;
    let mut sources = Sources::default();
    let path: &PathBuf = matches.get_one("FILE").expect("clap asks for a file");
    let model = application(&mut sources, path)?;
    let machine = matches
        .get_one::<PathBuf>("machine-model")
        .map(|path| machine(&mut sources, path, "--machine-model"))
        .transpose()?;
    let choice = EvaluationOptions::read(matches, &mut sources)?;
    let request = EvaluationRequest {
        kernel: choice.kernel.as_ref(),
        parameters: &choice.parameters,
        ..choice.request()
    };
    let sockets = machine.as_deref().map(|machine| sockets(machine, matches)).transpose()?;
    let plan = model.plan(&request, sockets.as_ref()).map_err(|error| failed(&error.located(&sources)))?;
    let mut walk = Walk::new(&plan, options.np).map_err(|error| failed(&error))?;
    let processes = Processes::connect(&options, &[path])?;
    for note in plan.notes.iter().filter(|_| processes.is_first()) {
        note!("xsim: note: {note}");
    }
    if let Some(file) = matches.get_one::<PathBuf>("trace").filter(|_| processes.is_first()) {
        convert::walked(&mut walk, options.np, file)
            .map_err(|why| Failure::new(format!("--trace {}: {why}", file.display())))?;
    }
    let ran = workload::run(&options, processes, model.name.clone(), &NAMES, walk)?;
    workload::tell(&options, Vec::new(), ran)
}

/// The sockets on which ranks compute.
fn sockets<'m>(machine: &'m Machine, matches: &'m ArgMatches) -> Result<Sockets<'m>, Failure> {
    let given = matches.get_many::<String>("socket").into_iter().flatten();
    let (of_kernels, everywhere): (Vec<&String>, Vec<&String>) = given.partition(|given| given.contains('='));
    let of_kernels = of_kernels.into_iter().filter_map(|given| given.split_once('=')).collect();
    let socket = match (everywhere.as_slice(), machine.sockets().as_slice()) {
        ([socket], _) => socket.as_str(),
        ([], [only]) => only,
        ([], []) => return Err(Failure::new("the machine has no socket to compute on")),
        ([], several) => {
            let known = several.join(", ");
            return Err(Failure::with(
                USAGE,
                format!("the machine has several kinds of sockets ({known}): choose one with --socket NAME"),
            ));
        }
        ([first, second, ..], _) => {
            let sentence = format!(
                "--socket {first} and --socket {second}: only a kernel can have another kind, --socket \
                 KERNEL={second}"
            );
            return Err(Failure::with(USAGE, sentence));
        }
    };
    Ok(Sockets { machine, socket, of_kernels })
}

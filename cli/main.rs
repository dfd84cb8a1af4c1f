//! The xsim command: runs programs on virtual ranks, compiles them, shows simulated machines.
//!
//! It never uses the library: libxsim stands in for symbols of the C library, and a reference
//! to it would make it stand in for this program's too.

mod aspen;
mod calibrate;
mod compile;
mod debug;
mod demo;
mod doctor;
mod failure;
mod fortran;
mod hadoop;
mod install;
mod launcher;
mod layout;
mod manual;
mod names;
mod options;
mod output;
mod presets;
mod record;
mod replay;
mod report;
mod run;
mod scaling;
mod sweep;
mod topology;
mod trace;
mod traffic;
mod workload;

use clap::{Arg, ArgAction, ArgMatches, Command};
use compile::Language;
use failure::Failure;
use names::Role;
use output::TerminalColor;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    match dispatch() {
        Ok(code) => code,
        Err(failure) => {
            if !failure.is_quiet() {
                let name = output::colored(&std::io::stderr(), TerminalColor::Red, "xsim:");
                output::note!("{name} {failure}");
            }
            ExitCode::from(failure.status)
        }
    }
}

fn dispatch() -> Result<ExitCode, Failure> {
    let mut args = std::env::args_os().map(layout::or_example);
    let called = args.next().unwrap_or_default();
    let name = Path::new(&called).file_name().and_then(|name| name.to_str());
    let words = match name.and_then(names::role) {
        Some(Role::Compiler(language)) => return compile::main(language, args.collect()),
        Some(Role::Launcher) => match launcher::as_run(args.collect())? {
            launcher::LaunchRequest::Run(words) => words,
            launcher::LaunchRequest::Version => {
                output::line(format_args!(
                    "{} (xsim {})",
                    name.unwrap_or("mpiexec"),
                    env!("CARGO_PKG_VERSION")
                ))?;
                return Ok(ExitCode::SUCCESS);
            }
        },
        None => std::env::args_os().map(layout::or_example).collect(),
    };
    let words = launcher::command_line(&command(), words);
    let matches = match command().try_get_matches_from(words) {
        Ok(matches) => matches,
        // Help and the version are what was asked for: they go to standard output, and must get there.
        Err(asked) if !asked.use_stderr() => {
            asked.print().and_then(|()| std::io::stdout().flush()).map_err(output::failure)?;
            return Ok(ExitCode::SUCCESS);
        }
        Err(wrong) => wrong.exit(),
    };
    let (name, sub) = matches.subcommand().expect("clap asks for a subcommand");
    match name {
        "run" => run::main(sub),
        "demo" => demo::main(sub),
        "doctor" => doctor::main(sub),
        "help" => manual::help(sub),
        "completions" => manual::completions(sub),
        "man" => manual::man(sub),
        "traffic" => traffic::main(sub),
        "workload" => hadoop::main(sub),
        "topology" => topology::main(sub),
        "aspen" => aspen::main(sub),
        "trace" => trace::main(sub),
        "report" => report::main(sub),
        "record" => record::main(sub),
        "replay" => replay::main(sub),
        "sweep" => sweep::main(sub),
        "calibrate" => calibrate::main(sub),
        "presets" => presets::main(sub),
        "cc" => compile::main(Language::C, rest(sub, "ARGS")),
        "cxx" => compile::main(Language::Cxx, rest(sub, "ARGS")),
        "fc" => compile::main(Language::Fortran, rest(sub, "ARGS")),
        "install" => install::main(sub.get_one::<PathBuf>("prefix").expect("clap asks for a prefix")),
        "options" => {
            let markdown = sub.get_flag("markdown");
            output::text(if markdown {
                simulation::options::markdown()
            } else {
                simulation::options::help_text()
            })?;
            Ok(ExitCode::SUCCESS)
        }
        _ => unreachable!("clap knows only the subcommands above"),
    }
}

/// Returns the values of a repeated argument.
fn rest(matches: &ArgMatches, id: &str) -> Vec<OsString> {
    matches.get_many::<OsString>(id).map(|values| values.cloned().collect()).unwrap_or_default()
}

fn command() -> Command {
    let compiler = |name: &'static str, about: &'static str| {
        Command::new(name).about(about).disable_help_flag(true).arg(
            Arg::new("ARGS")
                .num_args(0..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .value_parser(clap::value_parser!(OsString))
                .help("Arguments of the compiler; -show prints the command instead of running it"),
        )
    };
    Command::new("xsim")
        .about(
            "Runs real MPI programs on virtual ranks and says what they would have cost on a simulated \
             machine",
        )
        .after_help("xsim help lists the manual's pages: first-run, find-the-cause, record-and-replay, ...")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommand(run::command())
        .subcommand(demo::command())
        .subcommand(doctor::command())
        .subcommand(traffic::command())
        .subcommand(compiler("cc", "Compile and link a C program, like mpicc"))
        .subcommand(compiler("cxx", "Compile and link a C++ program, like mpicxx"))
        .subcommand(compiler("fc", "Compile and link a Fortran program, like mpifort"))
        .subcommand(topology::command())
        .subcommand(hadoop::command())
        .subcommand(aspen::command())
        .subcommand(record::command())
        .subcommand(trace::command())
        .subcommand(report::command())
        .subcommand(replay::command())
        .subcommand(sweep::command())
        .subcommand(calibrate::command())
        .subcommand(presets::command())
        .subcommand(
            Command::new("install").about("Install xsim, its library, headers and documents").arg(
                Arg::new("prefix")
                    .long("prefix")
                    .required(true)
                    .value_name("DIR")
                    .value_parser(clap::value_parser!(PathBuf))
                    .help("Where to: bin, lib, include and share are made in it"),
            ),
        )
        .subcommand(
            Command::new("options").about("List the options of a run").arg(
                Arg::new("markdown")
                    .long("markdown")
                    .action(ArgAction::SetTrue)
                    .help("As docs/reference/options.md"),
            ),
        )
        .subcommand(manual::help_command())
        .subcommand(manual::completions_command())
        .subcommand(manual::man_command())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}

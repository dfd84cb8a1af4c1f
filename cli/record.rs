//! `xsim record -n 4 PROGRAM [ARGS]`: a trace of a real run, under the machine's own MPI
//! (docs/reference/traces.md).

use crate::failure::{Failure, NOT_FOUND, NOT_RUNNABLE, USAGE};
use crate::layout::{InstallLayout, MPICH, NativeUse, OPENMPI};
use crate::run::{self, Reach};
use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, ArgMatches, Command, value_parser};
use engine::Span;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Returns the subcommand.
pub fn command() -> Command {
    let mut command = Command::new("record")
        .about("Run a program under the machine's own MPI and record a trace of it")
        .override_usage("xsim record -n N [OPTIONS] PROGRAM [ARGS]...")
        .after_help(
            "PROGRAM was compiled for MPICH or Open MPI; the recorder for that MPI is built once \
             (docs/reference/traces.md).",
        );
    command = command
        .arg(
            Arg::new("np")
                .short('n')
                .visible_short_alias('c')
                .long("np")
                .value_name("N")
                .value_parser(value_parser!(u32).range(1..))
                .help("Processes"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FILE")
                .default_value("xsim.trace")
                .value_parser(value_parser!(PathBuf))
                .help("The trace"),
        )
        .arg(
            Arg::new("times")
                .long("times")
                .default_value("histogram")
                .value_parser(["histogram", "exact", "none"])
                .help("What is kept of the time between calls"),
        )
        .arg(
            Arg::new("from").long("from").value_name("TIME").value_parser(value_parser!(Span)).help(
                "Calls that a process enters so long after its MPI_Init are the first that are recorded",
            ),
        )
        .arg(
            Arg::new("until")
                .long("until")
                .value_name("TIME")
                .value_parser(value_parser!(Span))
                .help("Those that it enters so long after it are not"),
        )
        .arg(
            Arg::new("mpi")
                .long("mpi")
                .value_parser([MPICH, OPENMPI])
                .help("The MPI of what PROGRAM starts, if it is a script"),
        )
        .arg(
            Arg::new("launcher")
                .long("launcher")
                .value_name("WORDS")
                .conflicts_with("np")
                .value_parser(NonEmptyStringValueParser::new())
                .help(
                    "What starts the processes, with its arguments, such as \"srun -n 64\" [default: that \
                     MPI's mpirun -n N]",
                ),
        );
    command
        .disable_help_subcommand(true)
        .allow_external_subcommands(true)
        .external_subcommand_value_parser(value_parser!(OsString))
}

/// Becomes the launcher; returns only if that fails.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let Some((name, rest)) = matches.subcommand() else {
        return Err(Failure::with(
            USAGE,
            "xsim record needs a PROGRAM that was compiled for MPICH or Open MPI",
        ));
    };
    let program = run::search(name.as_ref())?;
    let mpi = match matches.get_one::<String>("mpi") {
        Some(mpi) => mpi.as_str(),
        None => mpi_of(&program)?,
    };
    let library = recorder(mpi)?;
    let output = matches.get_one::<PathBuf>("output").expect("there is a default");
    let output =
        std::path::absolute(output).map_err(|why| Failure::new(format!("{}: {why}", output.display())))?;
    let words = launcher(matches, mpi)?;
    let mut command = std::process::Command::new(&words[0]);
    // By `env`: the launcher itself is not recorded.
    command.args(&words[1..]).arg("env").arg(preload(&library));
    command
        .arg(setting("XSIM_TRACE", output.as_os_str()))
        .arg(setting("XSIM_TRACE_TIMES", times(matches).as_ref()));
    for (name, variable) in [("from", "XSIM_TRACE_FROM"), ("until", "XSIM_TRACE_UNTIL")] {
        // As it was given, which parses to the same in the recorder.
        if let Some(time) = matches.get_raw(name).and_then(|mut given| given.next()) {
            command.arg(setting(variable, time));
        }
    }
    command.arg(&program).args(crate::rest(rest, ""));
    let why = command.exec();
    Err(Failure::with(
        NOT_RUNNABLE,
        format!("cannot start {}: {why}; name what starts processes here with --launcher", words[0]),
    ))
}

fn times(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("times").expect("there is a default")
}

fn setting(name: &str, value: &std::ffi::OsStr) -> OsString {
    let mut setting = OsString::from(name);
    setting.push("=");
    setting.push(value);
    setting
}

/// Returns what makes the loader load the recorder before what is loaded before the program anyhow.
fn preload(library: &Path) -> OsString {
    let mut setting = setting("LD_PRELOAD", library.as_os_str());
    if let Some(before) = std::env::var_os("LD_PRELOAD").filter(|before| !before.is_empty()) {
        setting.push(":");
        setting.push(before);
    }
    setting
}

/// Commands that start the processes of a real run.
const LAUNCHERS: [&str; 3] = ["mpirun", "mpiexec", "srun"];

/// Returns the MPI that a program is linked with.
fn mpi_of(program: &Path) -> Result<&'static str, Failure> {
    let shown = program.display();
    match run::reach(program) {
        // MPICH and its kin are libmpi.so.12 where they agree with each other (the MPICH ABI initiative).
        Reach::Other(library) if library.starts_with("libmpich") || library == "libmpi.so.12" => Ok(MPICH),
        Reach::Other(_) => Ok(OPENMPI),
        Reach::Direct | Reach::Through | Reach::Standard | Reach::Moved(_) => Err(Failure::with(
            USAGE,
            format!(
                "{shown} runs on virtual ranks: xsim run --trace FILE records it; to record a real run, \
                 compile it for MPICH or Open MPI"
            ),
        )),
        Reach::NotElf => Err(Failure::with(
            USAGE,
            format!("{shown} is no executable that tells its MPI: name it with --mpi mpich or --mpi openmpi"),
        )),
        Reach::None
            if program.file_stem().is_some_and(|name| LAUNCHERS.iter().any(|known| name == *known)) =>
        {
            Err(Failure::with(
                USAGE,
                format!(
                    "{shown} starts processes, which xsim record does itself: xsim record -n N PROGRAM; \
                     --launcher names what starts them"
                ),
            ))
        }
        Reach::None => Err(Failure::with(
            NOT_RUNNABLE,
            format!("{shown} is not linked with an MPI: compile it with mpicc"),
        )),
    }
}

/// Returns the library that records under an MPI.
fn recorder(mpi: &str) -> Result<PathBuf, Failure> {
    let layout = InstallLayout::find()?;
    let library = layout.library.join(NativeUse::Recorder.library(mpi));
    match library.is_file() {
        true => Ok(library),
        false => Err(Failure::with(
            NOT_FOUND,
            format!(
                "the recorder {} is missing: `sh cabi/tracer/build.sh {mpi}` in the source of xsim builds it \
                 (docs/reference/traces.md)",
                library.display()
            ),
        )),
    }
}

/// Returns the words that start the processes.
fn launcher(matches: &ArgMatches, mpi: &str) -> Result<Vec<String>, Failure> {
    if let Some(words) = matches.get_one::<String>("launcher") {
        return Ok(words.split_whitespace().map(str::to_owned).collect());
    }
    let Some(processes) = matches.get_one::<u32>("np") else {
        return Err(Failure::with(USAGE, "how many processes? -n N, or what starts them with --launcher"));
    };
    // Debian's names, where both MPIs are installed.
    let own = format!("mpirun.{mpi}");
    let name = if run::search(own.as_ref()).is_ok() { own } else { "mpirun".to_owned() };
    Ok(vec![name, "-n".to_owned(), processes.to_string()])
}

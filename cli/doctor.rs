//! `xsim doctor [PROGRAM]`: what is installed, what will run, what is missing and how to get it.

use crate::compile::{self, Language};
use crate::failure::{Failure, NOT_FOUND};
use crate::fortran;
use crate::layout::{InstallLayout, LIBRARY, MPIS, NativeUse};
use crate::output::{self, TerminalColor, say};
use crate::run::{Reach, reach, search};
use clap::{Arg, ArgMatches, Command};
use object::{Object, ObjectSection};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

/// The state of something that was looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckState {
    /// It is there and works.
    Works,
    /// It is not there, which some programs need.
    Missing,
    /// Nothing runs without it.
    Broken,
}

impl CheckState {
    fn color(self) -> TerminalColor {
        match self {
            CheckState::Works => TerminalColor::Green,
            CheckState::Missing => TerminalColor::Yellow,
            CheckState::Broken => TerminalColor::Red,
        }
    }

    fn word(self) -> &'static str {
        match self {
            CheckState::Works => "ok",
            CheckState::Missing => "missing",
            CheckState::Broken => "broken",
        }
    }
}

/// A component that was looked for, and its state.
struct Diagnosis {
    state: CheckState,
    what: &'static str,
    text: String,
}

impl Diagnosis {
    fn new(state: CheckState, what: &'static str, text: impl Into<String>) -> Diagnosis {
        Diagnosis { state, what, text: text.into() }
    }
}

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let program = Arg::new("PROGRAM").value_parser(clap::value_parser!(OsString));
    Command::new("doctor")
        .about("Say what is installed, what will run, and what is missing and how to get it")
        .arg(program.help("A program: will it run, and will call sites have lines"))
        .arg(output::json_argument())
}

/// Runs it; the exit status is 1 if nothing can run, or if the program cannot.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut findings = vec![Diagnosis::new(CheckState::Works, "xsim", env!("CARGO_PKG_VERSION"))];
    let layout = InstallLayout::find();
    match &layout {
        Ok(layout) => findings.push(Diagnosis::new(
            CheckState::Works,
            "library",
            layout.library.join(LIBRARY).display().to_string(),
        )),
        Err(failure) => findings.push(Diagnosis::new(CheckState::Broken, "library", failure.to_string())),
    }
    findings.push(compiler(Language::C, "C compiler", "gcc"));
    findings.push(compiler(Language::Cxx, "C++ compiler", "g++"));
    findings.push(compiler(Language::Fortran, "Fortran compiler", "gfortran"));
    if let Ok(layout) = &layout {
        findings.extend(modules(layout));
        findings.extend(native(layout));
    }
    findings.push(debugger());
    findings.push(memory());
    if let Some(program) = matches.get_one::<OsString>("PROGRAM") {
        findings.extend(of_program(program)?);
    }
    let width = findings.iter().map(|finding| finding.what.len()).max().unwrap_or(0);
    let row = |Diagnosis { state, what, text }: &Diagnosis| {
        let state = state.word();
        serde_json::json!({"state": state, "component": what, "text": text})
    };
    let json = || format!("{:#}\n", findings.iter().map(row).collect::<serde_json::Value>());
    if !output::results_to(matches, "json", json)? {
        for Diagnosis { state, what, text } in &findings {
            let word = output::colored_output(state.color(), &format!("{:7}", state.word()));
            say!("{word}  {what:width$}  {text}");
        }
    }
    let is_broken = findings.iter().any(|finding| finding.state == CheckState::Broken);
    Ok(ExitCode::from(u8::from(is_broken)))
}

/// Returns the first line of what a command says of its version.
fn version(words: &[OsString]) -> Option<String> {
    let (command, first) = words.split_first()?;
    let run = std::process::Command::new(command).args(first).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    run.status.success().then(|| text.lines().next().unwrap_or_default().to_owned())
}

fn compiler(language: Language, what: &'static str, package: &str) -> Diagnosis {
    let words = compile::compiler(language);
    let name = compile::shell_line(&words);
    match version(&words) {
        Some(version) => Diagnosis::new(CheckState::Works, what, format!("{name}: {version}")),
        None => Diagnosis::new(
            CheckState::Missing,
            what,
            format!("{name} does not run: apt-get install {package}, or name another compiler"),
        ),
    }
}

fn modules(layout: &InstallLayout) -> Option<Diagnosis> {
    const WHAT: &str = "Fortran modules";
    let words = compile::compiler(Language::Fortran);
    version(&words)?;
    Some(match fortran::modules(layout.modules.as_deref(), &words) {
        Ok(Some(directory)) => {
            Diagnosis::new(CheckState::Works, WHAT, format!("mpi and mpi_f08 in {}", directory.display()))
        }
        Ok(None) => Diagnosis::new(
            CheckState::Missing,
            WHAT,
            "the compiler does not make them; programs that include mpif.h work",
        ),
        Err(failure) => Diagnosis::new(CheckState::Missing, WHAT, failure.to_string()),
    })
}

/// Returns what is there for runs on several processes, and to record real runs.
fn native(layout: &InstallLayout) -> Vec<Diagnosis> {
    let there = |native: NativeUse| -> Vec<&str> {
        let is_there = |mpi: &str| layout.library.join(native.library(mpi)).is_file();
        MPIS.into_iter()
            .zip(["MPICH", "Open MPI"])
            .filter(|(mpi, _)| is_there(mpi))
            .map(|(_, name)| name)
            .collect()
    };
    let has_launcher = ["mpirun", "mpiexec"].iter().any(|name| search(OsStr::new(name)).is_ok());
    let finding = |what, native, script: &str| match there(native).as_slice() {
        [] => {
            let text = format!(
                "for no MPI: sh {script} mpich (or openmpi), from the sources, with that MPI and libclang-dev"
            );
            Diagnosis::new(CheckState::Missing, what, text)
        }
        names if !has_launcher => {
            let text = format!(
                "there is no mpirun of {}: apt-get install mpich (or openmpi-bin)",
                names.join(" or ")
            );
            Diagnosis::new(CheckState::Missing, what, text)
        }
        names => Diagnosis::new(CheckState::Works, what, format!("with {}", names.join(" and "))),
    };
    vec![
        finding("several processes", NativeUse::Processes, "runtime/core/transport/native/build.sh"),
        finding("xsim record", NativeUse::Recorder, "cabi/tracer/build.sh"),
    ]
}

fn debugger() -> Diagnosis {
    let name = std::env::var_os("GDB").filter(|name| !name.is_empty()).unwrap_or_else(|| "gdb".into());
    match version(&[name]) {
        Some(version) => Diagnosis::new(CheckState::Works, "xsim run --debug", version),
        None => {
            Diagnosis::new(CheckState::Missing, "xsim run --debug", "gdb does not run: apt-get install gdb")
        }
    }
}

fn memory() -> Diagnosis {
    let free = simulation::memory::available()
        .map_or_else(|| "unknown".to_owned(), |bytes| ::report::units::bytes(bytes.into()));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Diagnosis::new(CheckState::Works, "host", format!("{processors} processors, {free} of memory free"))
}

/// Returns whether a program will run, and what its call sites will be named by.
fn of_program(name: &OsStr) -> Result<Vec<Diagnosis>, Failure> {
    const WHAT: &str = "program";
    if Path::new(name)
        .extension()
        .and_then(|end| end.to_str())
        .is_some_and(|end| Language::of_extension(end).is_some())
    {
        if !Path::new(name).is_file() {
            return Err(Failure::with(NOT_FOUND, format!("there is no file {}", name.display())));
        }
        let text = "a source file: xsim run compiles it with -O2 -g";
        return Ok(vec![Diagnosis::new(CheckState::Works, WHAT, text)]);
    }
    let path = search(name)?;
    let shown = path.display();
    let finding = match reach(&path) {
        Reach::Direct => Diagnosis::new(
            CheckState::Works,
            WHAT,
            format!("{shown} is linked with libxsim: ./PROGRAM -xsim-np N or xsim run -n N"),
        ),
        Reach::Through => Diagnosis::new(
            CheckState::Works,
            WHAT,
            format!("{shown} reaches libxsim through another library: xsim run -n N"),
        ),
        Reach::Standard => Diagnosis::new(
            CheckState::Works,
            WHAT,
            format!("{shown} was built for MPI's standard ABI: xsim run -n N"),
        ),
        Reach::Moved(directory) => {
            let text =
                format!("{shown} was linked with libxsim in {directory}, which has none: xsim run -n N");
            Diagnosis::new(CheckState::Works, WHAT, text)
        }
        Reach::NotElf => {
            Diagnosis::new(CheckState::Works, WHAT, format!("{shown} is a script: what it starts decides"))
        }
        Reach::Other(library) => {
            let text = format!(
                "{shown} is linked with {library}, another MPI: rebuild it with xsim cc, or with MPI_HOME of \
                 xsim install"
            );
            return Ok(vec![Diagnosis::new(CheckState::Broken, WHAT, text)]);
        }
        Reach::None => {
            let text =
                format!("{shown} is not linked with {LIBRARY}: build it with xsim cc, xsim cxx or xsim fc");
            return Ok(vec![Diagnosis::new(CheckState::Broken, WHAT, text)]);
        }
    };
    let has_lines = std::fs::read(&path).ok().is_some_and(|data| {
        let file = object::File::parse(data.as_slice());
        file.is_ok_and(|file| {
            file.sections().any(|section| section.name().is_ok_and(|name| name.contains("debug_line")))
        })
    });
    let lines = match has_lines {
        true => Diagnosis::new(CheckState::Works, "call sites", "have files and lines"),
        false => {
            Diagnosis::new(CheckState::Missing, "call sites", "have no files and lines: compile with -g")
        }
    };
    Ok(vec![finding, lines])
}

//! `xsim run [options] PROGRAM [ARGS]`: gives the options to the program's libxsim and becomes the program.

mod pop;
pub mod several;

use crate::compile::{self, Language};
use crate::debug;
use crate::failure::{Failure, NOT_FOUND, NOT_RUNNABLE, USAGE};
use crate::layout::{InstallLayout, LIBRARY, STANDARD};
use crate::options;
use crate::output;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, elf};
use several::OptionsBy;
use simulation::Options;
use simulation::options::{Row, TABLE, variable};
use std::ffi::{OsStr, OsString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Returns the options of a run that are the command's own.
fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(|row| !matches!(row.name, "help" | "version"))
}

/// Returns the subcommand, with an argument for each row of the table of options.
pub fn command() -> Command {
    let mut command = Command::new("run")
        .about("Run a program on virtual ranks")
        .override_usage("xsim run [OPTIONS] PROGRAM [ARGS]...")
        .after_help(
            "PROGRAM is an executable made with `xsim cc`, or a C, C++ or Fortran source file, which is \
             compiled first. Each option can also be given to the program as -xsim-NAME, or in the \
             environment as XSIM_NAME (docs/reference/options.md).",
        );
    command = command.args(rows().map(options::arg));
    let debug = Arg::new("debug").long("debug").value_name("RANK").value_parser(value_parser!(u32));
    let env = Arg::new("env").long("env").value_name("NAME=VALUE").action(ArgAction::Append);
    let env = env.value_parser(value_parser!(OsString));
    command =
        command.arg(env.help("Set a variable in the program's environment; can be given several times"));
    let wdir = Arg::new("wdir").long("wdir").value_name("DIR").value_parser(value_parser!(PathBuf));
    command = command.arg(wdir.help("Run the program in this directory"));
    let runs = Arg::new("runs").long("runs").value_name("N").allow_negative_numbers(true);
    let runs = runs.conflicts_with_all(["debug", "pop"]);
    command = command.arg(runs.help("Run it this often: mean, spread and outliers of virtual time"));
    command = command.arg(on().conflicts_with_all(["debug", "pop"]));
    command = command.arg(
        output::json_argument()
            .help("The table of --on or the times of --runs as JSON; without either the report, to a file"),
    );
    command = command.arg(output::csv_argument(
        "The table of --on or the times of --runs as comma-separated values; - is standard output",
    ));
    let pop = Arg::new("pop").long("pop").action(ArgAction::SetTrue).conflicts_with("debug");
    command = command.arg(pop.help(
        "Run it again on a network that takes no time, and tell all of POP's efficiencies \
         (docs/reference/report.md)",
    ));
    command = command.arg(
        debug.help("Run under gdb and stop when this rank is in its main (docs/how-to/debug-a-rank.md)"),
    );
    // Everything from the first word that is no option on is the program's, its options included.
    command
        .disable_help_subcommand(true)
        .allow_external_subcommands(true)
        .external_subcommand_value_parser(clap::value_parser!(OsString))
}

/// Returns the argument that names machines to compare.
pub fn on() -> Arg {
    Arg::new("on")
        .long("on")
        .value_name("A,B")
        .action(ArgAction::Append)
        .conflicts_with("mn")
        .help("Run it once on each of these machines: which is fastest, and why")
}

/// Returns the file that `--json` names for the report of a single run.
fn report_file(matches: &ArgMatches) -> Result<Option<String>, Failure> {
    let given = |name| matches.contains_id(name);
    if given("runs") || given("on") {
        return Ok(None);
    }
    let refusal = match matches.get_one::<PathBuf>("json") {
        _ if given("csv") => {
            "--csv is for the table of --on and the times of --runs; of one run give --report FILE.json, \
             and then `xsim report FILE.json --csv FILE`"
        }
        None => return Ok(None),
        Some(_) if given("report") => "--json=FILE and --report FILE are the same for one run: give one",
        Some(path) if output::is_standard_output(path) => {
            "the program writes to standard output, and the report goes to a file: --json=FILE"
        }
        Some(path) => return Ok(Some(path.to_string_lossy().into_owned())),
    };
    Err(Failure::with(USAGE, refusal))
}

/// Becomes the program; returns only if that fails.
pub fn main(matches: &ArgMatches) -> Result<ExitCode, Failure> {
    let mut options = Options::default();
    let mut variables = Vec::new();
    for row in rows() {
        if let Some(value) = options::value(matches, row) {
            options::set(&mut options, row, value)?;
            variables.push((variable(row.name), value.clone()));
        }
    }
    if let Some(path) = report_file(matches)? {
        let row = rows().find(|row| row.name == "report").expect("the table has a row for reports");
        options::set(&mut options, row, &path)?;
        variables.push((variable(row.name), path));
    }
    let machines = machines(matches)?;
    let count = matches.get_one::<String>("runs").map(|count| run_count(count)).transpose()?;
    if count.is_some() && machines.is_some() {
        return Err(Failure::with(
            USAGE,
            "--runs and --on exclude each other: repeat the run on each machine by itself, with --runs N and \
             -m MACHINE, or leave --runs out",
        ));
    }
    if count.is_some() || machines.is_some() {
        several::check_alone(&options)?;
    }
    let Some((name, rest)) = matches.subcommand() else {
        return Err(Failure::with(
            USAGE,
            "xsim run needs a PROGRAM: an executable made with `xsim cc`, or a C, C++ or Fortran source file",
        ));
    };
    let (name, words) = (OsStr::new(name), crate::rest(rest, ""));
    let debugged = matches.get_one::<u32>("debug").copied();
    let mut program = match source(name) {
        Some(language) => compiled(language, Path::new(name), debugged.is_some())?,
        None => existing(name)?,
    };
    program.args(words).envs(variables);
    for given in matches.get_many::<OsString>("env").into_iter().flatten() {
        // A name alone is a variable that the program has from here in any case.
        if let Some(at) = given.as_bytes().iter().position(|&byte| byte == b'=') {
            program.env(
                OsStr::from_bytes(&given.as_bytes()[..at]),
                OsStr::from_bytes(&given.as_bytes()[at + 1..]),
            );
        }
    }
    if let Some(directory) = matches.get_one::<PathBuf>("wdir") {
        if !directory.is_dir() {
            let why = "there is no such directory";
            return Err(Failure::with(NOT_FOUND, format!("--wdir {}: {why}", directory.display())));
        }
        program.current_dir(directory);
    }
    if let Some(rank) = debugged {
        return Err(debug::cannot_start(&debug::under(&program, rank)?.exec()));
    }
    let report = options.report.as_deref();
    if let Some(count) = count {
        return several::repeat(matches, program, count, report);
    }
    if let Some(machines) = machines {
        let measures = matches!(options.compute, simulation::options::ComputeOption::Measured);
        return several::compare(matches, (program, OptionsBy::Environment), &machines, report, measures);
    }
    if matches.get_flag("pop") {
        return pop::pop(program, options.report.as_deref());
    }
    let why = program.exec();
    Err(Failure::with(NOT_RUNNABLE, format!("cannot run {}: {why}", name.display())))
}

/// Returns the number of runs.
fn run_count(text: &str) -> Result<u32, Failure> {
    let count = text.parse().ok().filter(|count| (2..=1000).contains(count));
    count.ok_or_else(|| {
        Failure::with(
            USAGE,
            format!("--runs {text} is not a number of runs from 2 to 1000, such as --runs 10"),
        )
    })
}

/// Returns the machines of `--on`, each of which can be simulated.
pub fn machines(matches: &ArgMatches) -> Result<Option<Vec<String>>, Failure> {
    let given: Vec<&String> = matches.get_many("on").into_iter().flatten().collect();
    if given.is_empty() {
        return Ok(None);
    }
    let machines = several::machines(&given)?;
    let row = rows().find(|row| row.name == "mn").expect("a run has a machine");
    for machine in &machines {
        options::set(&mut Options::default(), row, machine)?;
        network::Machine::parse(machine)
            .map_err(|why| Failure::with(USAGE, format!("--on {machine}: {why}")))?;
    }
    Ok(Some(machines))
}

/// Returns the exit code of a program that has ended; of one that a signal ended, 128 and the signal.
fn code(status: std::process::ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

fn source(name: &OsStr) -> Option<Language> {
    Language::of_extension(Path::new(name).extension()?.to_str()?)
}

/// Compiles into a temporary file that is gone from its directory before the program starts, so
/// that nothing is left behind however the program ends. `plain`: without optimization, to be debugged.
fn compiled(language: Language, source: &Path, plain: bool) -> Result<std::process::Command, Failure> {
    if !source.is_file() {
        return Err(Failure::with(NOT_FOUND, format!("there is no file {}", source.display())));
    }
    let io = |why: std::io::Error| {
        Failure::new(format!(
            "cannot keep the compiled {} in {}: {why}",
            source.display(),
            std::env::temp_dir().display()
        ))
    };
    let directory = std::env::temp_dir().join(format!("xsim-run-{}", std::process::id()));
    std::fs::create_dir(&directory).map_err(io)?;
    let stem = source.file_stem().unwrap_or(source.as_os_str());
    let output = directory.join(stem);
    let result = compile::to_program(
        language,
        source.as_os_str(),
        output.as_os_str(),
        if plain { "-O0" } else { "-O2" },
    )
    .and_then(|()| {
        // Without close-on-exec: the program is started through this descriptor.
        rustix::fs::open(&output, rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty())
            .map_err(|why| io(why.into()))
    });
    let removed = std::fs::remove_dir_all(&directory);
    let descriptor = result?;
    removed.map_err(io)?;
    let mut program = std::process::Command::new(format!("/proc/self/fd/{}", descriptor.as_raw_fd()));
    program.arg0(stem);
    // The descriptor must live until the program has started, that is, for the rest of this process.
    std::mem::forget(descriptor);
    Ok(program)
}

/// Returns a program that is there, prepared to load libxsim in time.
fn existing(name: &OsStr) -> Result<std::process::Command, Failure> {
    let path = search(name)?;
    let mut program = std::process::Command::new(&path);
    program.arg0(name);
    match reach(&path) {
        Reach::Direct | Reach::NotElf => {}
        reach @ (Reach::Through | Reach::Standard | Reach::Moved(_)) => {
            let layout = InstallLayout::find()?;
            if reach == Reach::Standard {
                // Where the loader looks first, for the library is called by another name than its own.
                let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
                let mut path = layout.library.clone().into_os_string();
                if !before.is_empty() {
                    path.push(":");
                    path.push(&before);
                }
                program.env("LD_LIBRARY_PATH", path);
            }
            // The library puts the former value back when it starts, so that children run without it.
            let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
            let mut preload = layout.library.join(LIBRARY).into_os_string();
            if !before.is_empty() {
                preload.push(":");
                preload.push(&before);
            }
            program.env("LD_PRELOAD", preload).env("XSIM_PRELOADED", before);
        }
        Reach::Other(library) => {
            return Err(Failure::with(
                NOT_RUNNABLE,
                format!(
                    "{} is linked with {library}, another MPI; rebuild it with `xsim cc` (or xsim cxx) as \
                     its MPI compiler",
                    path.display()
                ),
            ));
        }
        Reach::None => {
            return Err(Failure::with(
                NOT_RUNNABLE,
                format!(
                    "{} is not linked with {LIBRARY}, so it would run once, natively; build it with `xsim \
                     cc` (or xsim cxx). A program that loads it late, such as Python, runs one rank a \
                     process: mpirun -np N PROGRAM (docs/how-to/python.md)",
                    path.display()
                ),
            ));
        }
    }
    Ok(program)
}

/// Finds a program like a launcher: a path as it is, a bare name here first and then in PATH.
pub fn search(name: &OsStr) -> Result<PathBuf, Failure> {
    let runnable =
        |path: &Path| path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    let given = PathBuf::from(name);
    if name.as_encoded_bytes().contains(&b'/') {
        return match given.is_file() {
            true if runnable(&given) => Ok(given),
            true => Err(Failure::with(
                NOT_RUNNABLE,
                format!("{} is not executable (chmod +x makes it so)", given.display()),
            )),
            false if given.is_dir() => {
                Err(Failure::with(NOT_RUNNABLE, format!("{} is a directory, not a program", given.display())))
            }
            false => Err(Failure::with(NOT_FOUND, format!("there is no program {}", given.display()))),
        };
    }
    let here = Path::new(".").join(&given);
    if runnable(&here) {
        return Ok(here);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join(&given))
        .find(|candidate| runnable(candidate));
    found.ok_or_else(|| {
        Failure::with(NOT_FOUND, format!("there is no program {} here or in PATH", given.display()))
    })
}

/// The path by which a program reaches libxsim.
#[derive(PartialEq, Eq, Debug)]
pub enum Reach {
    /// It is linked with it, before the C library.
    Direct,
    /// Another library of its own is, or the C library comes first.
    Through,
    /// With the library of some implementation of MPI 5.0's standard ABI.
    Standard,
    /// It is linked with it where it is not: an installation or an environment of Python that was moved or
    /// removed. Holds the directory.
    Moved(String),
    /// With an MPI that is not this one.
    Other(String),
    /// Not at all.
    None,
    /// It is a script or the like; what it starts decides.
    NotElf,
}

/// Returns how the program at `path` does.
pub fn reach(path: &Path) -> Reach {
    // A device or a pipe may never end.
    let data = if path.is_file() { std::fs::read(path).ok() } else { None };
    let Some(Linkage { needed, dynamic, directories }) = data.and_then(|data| linkage(&data)) else {
        return Reach::NotElf;
    };
    let position = |prefix: &str| needed.iter().position(|name| name.starts_with(prefix));
    match (position(LIBRARY), position("libc.so")) {
        (Some(ours), Some(libc)) if ours > libc => return Reach::Through,
        (Some(_), _) => {
            let moved = moved_from(path, &directories).map(|directory| Reach::Moved(directory.to_owned()));
            return moved.unwrap_or(Reach::Direct);
        }
        (None, _) => {}
    }
    if !dynamic {
        return Reach::None;
    }
    // Only the loader knows which libraries a library brings along; it lists them without running anything.
    let listed = std::process::Command::new(path).env("LD_TRACE_LOADED_OBJECTS", "1").output();
    let listed =
        listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let library =
        |prefix: &str| listed.lines().map(str::trim).find(|line| line.starts_with(prefix)).map(str::to_owned);
    if library(LIBRARY).is_some() {
        return Reach::Through;
    }
    // Whoever built it, and whether or not its library is here.
    if needed.iter().any(|name| name == STANDARD) || library(STANDARD).is_some() {
        return Reach::Standard;
    }
    let other = ["libmpi.so", "libmpich.so"].iter().find_map(|prefix| library(prefix));
    other.map_or(Reach::None, |line| Reach::Other(line.split(' ').next().unwrap_or_default().to_owned()))
}

/// Returns the first directory that a program names for its libraries, if the library is in none of them and
/// in none of LD_LIBRARY_PATH.
fn moved_from<'a>(program: &Path, directories: &'a [String]) -> Option<&'a str> {
    let origin = program.parent().unwrap_or(Path::new(".")).to_string_lossy();
    let named = directories
        .iter()
        .map(|name| PathBuf::from(name.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)));
    let given = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let is_there = named.chain(std::env::split_paths(&given)).any(|place| place.join(LIBRARY).is_file());
    // Without such names the loader knows where, as after ldconfig.
    directories.first().filter(|_| !is_there).map(String::as_str)
}

/// The libraries that an ELF program names, and the directories in which they are looked for.
struct Linkage {
    /// The ones that it names itself, in link order.
    needed: Vec<String>,
    /// `true` if the loader runs first; without it there are no libraries.
    dynamic: bool,
    /// The directories in which the loader looks for them first.
    directories: Vec<String>,
}

/// Returns the linkage of a program; `None` if `data` is not a 64-bit ELF file.
fn linkage(data: &[u8]) -> Option<Linkage> {
    let header = elf::FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let dynamic = header
        .program_headers(endian, data)
        .ok()?
        .iter()
        .any(|segment| segment.p_type(endian) == elf::PT_INTERP);
    let (mut needed, mut directories) = (Vec::new(), Vec::new());
    let sections = header.sections(endian, data).ok()?;
    if let Some((entries, strings)) = sections.dynamic(endian, data).ok()? {
        let strings = sections.strings(endian, data, strings).ok()?;
        for entry in entries {
            let text = || Some(String::from_utf8_lossy(entry.string(endian, strings).ok()?).into_owned());
            match entry.tag(endian) {
                elf::DT_NEEDED => needed.push(text()?),
                elf::DT_RUNPATH | elf::DT_RPATH => {
                    let list = text()?;
                    directories.extend(list.split(':').filter(|name| !name.is_empty()).map(str::to_owned));
                }
                _ => {}
            }
        }
    }
    Some(Linkage { needed, dynamic, directories })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_elf_program_tells_its_libraries() {
        let own = linkage(&std::fs::read("/proc/self/exe").unwrap()).unwrap();
        assert!(own.dynamic && own.needed.iter().any(|name| name.starts_with("libc.so")), "{:?}", own.needed);
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        let mut data = std::fs::read("/proc/self/exe").unwrap();
        data.truncate(1 << 16);
        for at in 0..64 {
            let was = std::mem::replace(&mut data[at], 0xff);
            let _ = linkage(&data);
            let _ = linkage(&data[..at]);
            data[at] = was;
        }
        assert!(linkage(b"#!/bin/sh").is_none());
    }

    #[test]
    fn a_program_without_mpi_is_told_apart_from_a_script() {
        assert_eq!(reach(&std::env::current_exe().unwrap()), Reach::None);
        assert_eq!(reach(Path::new("Cargo.toml")), Reach::NotElf);
    }
}

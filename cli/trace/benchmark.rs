//! `xsim trace benchmark`: a recorded run as a C program.

use crate::failure::{Failure, USAGE};
use crate::replay;
use ::trace::Trace;
use ::trace_to_c::{Computation, Datatypes, Options};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Returns the subcommand's arguments.
pub fn command() -> Command {
    let path = |name: &'static str| Arg::new(name).required(true).value_parser(clap::value_parser!(PathBuf));
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
    };
    Command::new("benchmark")
        .about(
            "Write a C program with MPI that does what a trace has, to read, compile with any MPI and change",
        )
        .arg(path("TRACE").help("A trace, from -xsim-trace"))
        .arg(
            path("output")
                .short('o')
                .long("output")
                .value_name("DIR")
                .help("Where to; it is made if need be"),
        )
        .arg(flag("force", "Replaces files of these names that are in the directory already"))
        .arg(
            Arg::new("datatypes")
                .long("datatypes")
                .value_name("size|structure")
                .value_parser(["size", "structure"])
                .default_value("structure")
                .help("Datatypes that the program made: made again, or as many bytes"),
        )
        .arg(Arg::new("times").long("times").value_name("drawn|each").value_parser(["drawn", "each"]).help(
            "What ranks compute between two calls: times that are drawn, or each time as it was [default: \
             each if the trace has exact times]",
        ))
        .arg(flag("average", "MPI_Alltoall of the mean count instead of MPI_Alltoallv"))
        .arg(flag(
            "obfuscate",
            "No name of the program: no call sites, names of objects, or name of the trace",
        ))
        .arg(replay::without("Leaves out the calls of these functions, such as MPI_Comm_set_attr"))
}

/// Writes the files.
pub fn write(trace: &Trace, path: &Path, matches: &ArgMatches) -> Result<(), Failure> {
    let options = Options {
        datatypes: if matches.get_one::<String>("datatypes").is_some_and(|how| how == "size") {
            Datatypes::Size
        } else {
            Datatypes::Structure
        },
        computation: match matches.get_one::<String>("times").map(String::as_str) {
            Some("each") => Computation::Each,
            None if !trace.times.is_empty() => Computation::Each,
            _ => Computation::Drawn,
        },
        averages: matches.get_flag("average"),
        obfuscates: matches.get_flag("obfuscate"),
        without: replay::left_out(matches),
    };
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let files = ::trace_to_c::generate(trace, &name, &options)
        .map_err(|why| Failure::new(format!("{}: {why}", path.display())))?;
    let directory: &PathBuf = matches.get_one("output").expect("clap asks for a directory");
    let failed = |file: &Path, why: std::io::Error| {
        Failure::new(format!("{} cannot be written: {why}", file.display()))
    };
    crate::output::make_directory(directory)?;
    let is_replaced = matches.get_flag("force");
    let paths: Vec<PathBuf> = files.iter().map(|file| directory.join(file.name)).collect();
    // Looked at without following links, and before any file is written.
    if let Some(there) = paths.iter().find(|path| !is_replaced && path.symlink_metadata().is_ok()) {
        return Err(Failure::with(
            USAGE,
            format!("{} is there already: give another directory, or --force to replace it", there.display()),
        ));
    }
    for (file, path) in files.iter().zip(&paths) {
        if is_replaced {
            // What a link leads to is no file of ours.
            match std::fs::remove_file(path) {
                Err(why) if why.kind() != std::io::ErrorKind::NotFound => return Err(failed(path, why)),
                _ => {}
            }
        }
        let written =
            std::fs::File::create_new(path).and_then(|mut created| created.write_all(file.text.as_bytes()));
        written.map_err(|why| failed(path, why))?;
    }
    Ok(())
}

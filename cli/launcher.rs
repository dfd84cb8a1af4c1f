//! Command lines of MPI's launchers: `-np N`, where the command has `-n N` and `--np N`, and the options of
//! `mpiexec`.

use crate::failure::{Failure, USAGE};
use crate::output::note;
use clap::{Arg, Command};
use std::ffi::OsString;
use std::path::Path;

/// Returns the words of a command line, its first being the command's name, with `-np` as `--np` and options
/// as a program takes them (`-xsim-mn`) as the command's (`--mn`). What follows a program is the program's,
/// and what follows `--` is not this command's.
pub fn command_line(command: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|name| name == "trace")
        && words.get(2).is_some_and(|word| is_file(command, word))
    {
        words.insert(2, "show".into());
    }
    let name = words.get(1).and_then(|name| name.to_str());
    if let Some(command) = name.and_then(|name| command.find_subcommand(name)) {
        let rest = words.split_off(2);
        words.extend(options(command, rest));
    }
    words
}

/// Returns `true` for a file where `xsim trace` has a subcommand: it is shown.
fn is_file(command: &Command, word: &OsString) -> bool {
    let is_subcommand = command
        .find_subcommand("trace")
        .is_some_and(|trace| word.to_str().is_some_and(|word| trace.find_subcommand(word).is_some()));
    !is_subcommand && Path::new(word).is_file()
}

/// Behaves as [`command_line`], of the words behind a command's name.
pub fn options(command: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let takes_program = command.is_allow_external_subcommands_set();
    let mut at = 0;
    while let Some(word) = words.get_mut(at) {
        if let Some(name) = word.to_str().and_then(|word| word.strip_prefix("-xsim-"))
            && takes_program
        {
            *word = format!("--{name}").into();
        }
        match word.to_str() {
            Some("--") => break,
            Some("-np") => *word = "--np".into(),
            Some(option) if option.starts_with('-') => at += usize::from(takes_next(command, option)),
            _ if takes_program => break,
            _ => {}
        }
        // The number of ranks is a word of its own, and looks like no option.
        at += 1 + usize::from(words.get(at).is_some_and(|word| word == "--np"));
    }
    words
}

/// Returns `true` if the value of an option is the next word.
fn takes_next(command: &Command, option: &str) -> bool {
    let named = |arg: &&Arg| match option.strip_prefix("--") {
        Some(name) => {
            arg.get_long() == Some(name)
                || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
        }
        // `-n4` has its value already.
        None => {
            option.len() == 2
                && option[1..].starts_with(|letter| {
                    arg.get_short_and_visible_aliases().is_some_and(|all| all.contains(&letter))
                })
        }
    };
    let found = command.get_arguments().find(named);
    found.is_some_and(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set())
}

/// The request that a command line of `mpiexec` makes.
#[derive(PartialEq, Eq, Debug)]
pub enum LaunchRequest {
    /// A run, as a command line of `xsim run`.
    Run(Vec<OsString>),
    /// The version.
    Version,
}

/// Options of MPICH's, Open MPI's and Intel MPI's launchers that place, bind or watch processes, without
/// their dashes, and the number of their values.
// Virtual ranks are placed by the simulated machine, and test suites pass these whatever the MPI is.
const WITHOUT_EFFECT: [(&str, usize); 32] = [
    ("N", 1),
    ("allow-run-as-root", 0),
    ("arch", 1),
    ("bind-to", 1),
    ("bind-to-core", 0),
    ("bind-to-none", 0),
    ("envall", 0),
    ("f", 1),
    ("genvall", 0),
    ("host", 1),
    ("hostfile", 1),
    ("hosts", 1),
    ("l", 0),
    ("launcher", 1),
    ("machinefile", 1),
    ("map-by", 1),
    ("mca", 2),
    ("nooversubscribe", 0),
    ("npernode", 1),
    ("oversubscribe", 0),
    ("perhost", 1),
    ("ppn", 1),
    ("prepend-rank", 0),
    ("prtemca", 2),
    ("rank-by", 1),
    ("report-bindings", 0),
    ("rr", 0),
    ("soft", 1),
    ("tag-output", 0),
    ("timeout", 1),
    ("use-hwthread-cpus", 0),
    ("with-ft", 1),
];

/// Returns the command line of `xsim run` that does what the words behind `mpiexec` ask for. Options of `xsim
/// run` stay as they are. Options without effect are left out, with one sentence that names them.
///
/// # Errors
/// If a value is missing, or if several programs are given (`mpiexec -n 1 a : -n 3 b`).
pub fn as_run(words: Vec<OsString>) -> Result<LaunchRequest, Failure> {
    let run = crate::run::command();
    let mut out: Vec<OsString> = vec!["xsim".into(), "run".into()];
    let mut left_out = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let mut value = || {
            words
                .next()
                .ok_or_else(|| Failure::with(USAGE, format!("mpiexec {text} needs a value behind it")))
        };
        if !text.starts_with('-') || text == "--" {
            out.push(word);
            out.extend(words.by_ref());
            break;
        }
        let name = text.trim_start_matches('-');
        if let Some(&(_, values)) = WITHOUT_EFFECT.iter().find(|(known, _)| *known == name) {
            for _ in 0..values {
                value()?;
            }
            left_out.push(text);
            continue;
        }
        match name {
            "V" | "version" => return Ok(LaunchRequest::Version),
            "n" | "np" | "c" => out.extend(["--np".into(), value()?]),
            "wdir" | "wd" => out.extend(["--wdir".into(), value()?]),
            "x" => out.extend(["--env".into(), value()?]),
            "env" | "genv" => {
                let mut pair = value()?;
                if !pair.to_string_lossy().contains('=') {
                    pair.push("=");
                    pair.push(value()?);
                }
                out.extend(["--env".into(), pair]);
            }
            _ => {
                let takes_value = takes_next(&run, &text);
                out.push(word);
                if takes_value {
                    out.push(value()?);
                }
            }
        }
    }
    if out.iter().skip(2).any(|word| word == ":") {
        let why = "xsim runs one program on all ranks; let one program choose by its rank what it does";
        return Err(Failure::with(USAGE, format!("mpiexec cannot start several programs with ':': {why}")));
    }
    if !left_out.is_empty() {
        let why = "the simulated machine and --placement say where virtual ranks are";
        note!("xsim: without effect: {} ({why})", left_out.join(" "));
    }
    Ok(LaunchRequest::Run(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mpiexec_command_line_becomes_a_run() {
        for (given, read_as) in [
            ("-n 4 ./a -n 5", "xsim run --np 4 ./a -n 5"),
            ("--oversubscribe -np 2 --map-by core ./a", "xsim run --np 2 ./a"),
            ("-genv A 1 -x B -env C=2 -wdir /d ./a", "xsim run --env A=1 --env B --env C=2 --wdir /d ./a"),
            ("--mca btl self --mn torus:4 -q ./a x", "xsim run --mn torus:4 -q ./a x"),
        ] {
            let LaunchRequest::Run(words) = as_run(given.split(' ').map(OsString::from).collect()).unwrap()
            else {
                panic!()
            };
            let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
            assert_eq!(words.join(" "), read_as);
        }
        assert_eq!(as_run(vec!["--version".into()]).unwrap(), LaunchRequest::Version);
        for (given, part) in [("-n", "needs a value"), ("-n 1 a : -n 2 b", "several programs")] {
            let failure = as_run(given.split(' ').map(OsString::from).collect()).unwrap_err().to_string();
            assert!(failure.contains(part), "{failure}");
        }
    }

    fn read(words: &str) -> String {
        let words = words.split(' ').map(OsString::from).collect();
        let words = command_line(&crate::command(), words);
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn np_with_one_dash_and_options_of_programs_are_options_in_front_of_the_program_only() {
        for (given, read_as) in [
            ("xsim run -np 4 ./a -np 5", "xsim run --np 4 ./a -np 5"),
            ("xsim run -q -m star:l=1us -np 4 ./a", "xsim run -q -m star:l=1us --np 4 ./a"),
            ("xsim run --mn -np ./a", "xsim run --mn -np ./a"),
            ("xsim run --compute=none -np 4 ./a", "xsim run --compute=none --np 4 ./a"),
            ("xsim run ./a -np 5", "xsim run ./a -np 5"),
            ("xsim run -m", "xsim run -m"),
            ("xsim", "xsim"),
            ("xsim run -n4 ./a -np 5", "xsim run -n4 ./a -np 5"),
            ("xsim record -np 4 ./a", "xsim record --np 4 ./a"),
            ("xsim run -xsim-mn ring:4 -xsim-np 4 ./a -xsim-q", "xsim run --mn ring:4 --np 4 ./a -xsim-q"),
            ("xsim run -xsim-report=r.json ./a", "xsim run --report=r.json ./a"),
            ("xsim topology star:4 -np 4", "xsim topology star:4 --np 4"),
            ("xsim sweep --vary l=1us -- -np 4 ./a", "xsim sweep --vary l=1us -- -np 4 ./a"),
        ] {
            assert_eq!(read(given), read_as);
        }
    }
}

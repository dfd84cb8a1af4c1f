//! `xsim cc|cxx|fc`: the system's compiler with what an MPI program needs, like mpicc.

use crate::failure::{Failure, NOT_FOUND, USAGE};
use crate::layout::Layout;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// Which compiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// `xsim cc`
    C,
    /// `xsim cxx`
    Cxx,
    /// `xsim fc`
    Fortran,
}

impl Language {
    /// By a source file's extension.
    pub fn of_extension(extension: &str) -> Option<Language> {
        match extension {
            "c" => Some(Language::C),
            "cc" | "cpp" | "cxx" | "C" => Some(Language::Cxx),
            "f" | "F" | "f90" | "F90" | "f03" | "f08" => Some(Language::Fortran),
            _ => None,
        }
    }

    fn variable_and_default(self) -> (&'static str, &'static str) {
        match self {
            Language::C => ("XSIM_CC", "cc"),
            Language::Cxx => ("XSIM_CXX", "c++"),
            Language::Fortran => ("XSIM_FC", "gfortran"),
        }
    }
}

/// What the wrappers' own arguments ask to see instead of compiling.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Command,
    Compile,
    Link,
}

impl Show {
    /// MPICH's and Open MPI's spellings, which build systems try.
    fn of(arg: &OsStr) -> Option<Show> {
        match arg.to_str()?.trim_start_matches('-') {
            "show" | "showme" => Some(Show::Command),
            "compile-info" | "compile_info" | "showme:compile" => Some(Show::Compile),
            "link-info" | "link_info" | "showme:link" => Some(Show::Link),
            _ => None,
        }
        .filter(|_| arg.as_encoded_bytes().starts_with(b"-"))
    }
}

/// Replaces this process by the compiler, or prints its command.
pub fn main(language: Language, mut args: Vec<OsString>) -> Result<ExitCode, Failure> {
    let show = args.iter().position(|arg| Show::of(arg).is_some()).and_then(|at| Show::of(&args.remove(at)));
    let layout = Layout::find()?;
    let words = match show {
        None => command(language, &args, links(&args), &layout)?,
        // Build systems ask without input, to learn what linking takes.
        Some(Show::Command) => command(language, &args, !stops(&args), &layout)?,
        Some(Show::Compile) => compile_flags(&layout),
        Some(Show::Link) => link_flags(&layout),
    };
    if show.is_some() {
        println!("{}", words.iter().map(|word| quote(&word.to_string_lossy())).collect::<Vec<_>>().join(" "));
        return Ok(ExitCode::SUCCESS);
    }
    let why = Command::new(&words[0]).args(&words[1..]).exec();
    Err(cannot_start(language, &words[0], &why))
}

/// Compiles `source` into `output` with debug information and this `optimization` (`-O2`, ...), as `xsim run program.c` does.
pub fn to_program(language: Language, source: &OsStr, output: &OsStr, optimization: &str) -> Result<(), Failure> {
    let args = [optimization.into(), "-g".into(), "-o".into(), output.to_owned(), source.to_owned(), "-lm".into()];
    let words = command(language, &args, true, &Layout::find()?)?;
    match Command::new(&words[0]).args(&words[1..]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::new(format!("{} did not compile; the compiler's messages are above", source.display()))),
        Err(why) => Err(cannot_start(language, &words[0], &why)),
    }
}

fn cannot_start(language: Language, compiler: &OsStr, why: &std::io::Error) -> Failure {
    let (variable, _) = language.variable_and_default();
    Failure::with(NOT_FOUND, format!("cannot start the compiler {}: {why}; install it, or name another in {variable}", compiler.display()))
}

/// The whole command line: compiler, our flags around the user's; those for linking if it links.
fn command(language: Language, args: &[OsString], links: bool, layout: &Layout) -> Result<Vec<OsString>, Failure> {
    if args.iter().any(|arg| arg == "-static" || arg == "--static") {
        return Err(Failure::with(
            USAGE,
            "-static cannot work: libxsim is a shared library, it takes over the program's main when it is loaded; leave -static out",
        ));
    }
    if language == Language::Fortran && !layout.include.join("mpif.h").is_file() {
        return Err(Failure::new("this build of xsim has no Fortran interface (include/mpif.h is missing); C and C++ work"));
    }
    let (variable, default) = language.variable_and_default();
    let compiler = std::env::var(variable).ok().filter(|value| !value.trim().is_empty()).unwrap_or(default.into());
    let mut words: Vec<OsString> = compiler.split_whitespace().map(OsString::from).collect();
    if language == Language::Fortran {
        let modules = crate::fortran::modules(&words)?;
        words.extend(crate::fortran::leniency(&words).iter().map(OsString::from));
        words.extend(modules.iter().map(|modules| joined("-I", modules)));
    }
    words.extend(compile_flags(layout));
    if !links {
        words.extend_from_slice(args);
        return Ok(words);
    }
    // The loader looks symbols up in link order, and libxsim must come before the C library to take main over.
    let at = args.iter().position(|arg| arg == "-lc").unwrap_or(args.len());
    words.extend_from_slice(&args[..at]);
    words.extend(link_flags(layout));
    words.extend_from_slice(&args[at..]);
    Ok(words)
}

/// Position-independent code without copy relocations lets each rank have an image of its own.
fn compile_flags(layout: &Layout) -> Vec<OsString> {
    vec![joined("-I", &layout.include), "-fPIC".into()]
}

fn link_flags(layout: &Layout) -> Vec<OsString> {
    // `-z now`: a lazily bound call would resolve its symbol on a rank's small stack.
    vec![joined("-L", &layout.library), joined("-Wl,-rpath,", &layout.library), "-lxsim".into(), "-Wl,-z,now".into()]
}

fn joined(flag: &str, path: &std::path::Path) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}

/// Whether the compiler will link: it has input, and nothing stops it earlier.
fn links(args: &[OsString]) -> bool {
    args.iter().any(|arg| !arg.as_encoded_bytes().starts_with(b"-")) && !stops(args)
}

/// Whether the compiler is told to stop before it links.
fn stops(args: &[OsString]) -> bool {
    args.iter().any(|arg| ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"].iter().any(|stop| arg == stop))
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(args: &[&str]) -> Vec<String> {
        let layout = Layout { library: "/l".into(), include: "/i".into(), share: "/s".into() };
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        command(Language::C, &args, links(&args), &layout).unwrap().into_iter().skip(1).map(|w| w.into_string().unwrap()).collect()
    }

    #[test]
    fn linking_adds_the_library_after_the_users_objects() {
        assert_eq!(words(&["a.c", "-lm"]), ["-I/i", "-fPIC", "a.c", "-lm", "-L/l", "-Wl,-rpath,/l", "-lxsim", "-Wl,-z,now"]);
    }

    #[test]
    fn compiling_alone_adds_no_library() {
        assert_eq!(words(&["-c", "a.c"]), ["-I/i", "-fPIC", "-c", "a.c"]);
        assert_eq!(words(&["-v"]), ["-I/i", "-fPIC", "-v"]);
    }

    #[test]
    fn the_library_comes_before_an_explicit_c_library() {
        let words = words(&["a.o", "-lc"]);
        assert!(words.iter().position(|w| w == "-lxsim") < words.iter().position(|w| w == "-lc"));
    }

    #[test]
    fn static_linking_is_refused_with_the_reason() {
        let layout = Layout { library: "/l".into(), include: "/i".into(), share: "/s".into() };
        let failure = command(Language::C, &["-static".into(), "a.c".into()], true, &layout).unwrap_err();
        assert!(failure.to_string().contains("shared library"));
    }

    #[test]
    fn shown_words_survive_a_shell() {
        assert_eq!(quote("-DA='x y'"), r"'-DA='\''x y'\'''");
        assert_eq!(quote("-O2"), "-O2");
    }
}

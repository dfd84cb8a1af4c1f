//! `xsim cc|cxx|fc`: the system's compiler with what an MPI program needs, like mpicc.

use crate::failure::{Failure, NOT_FOUND, USAGE};
use crate::layout::InstallLayout;
use crate::names;
use crate::output::{note, say};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The language of a compiler.
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
    /// Returns the language of a source file with this extension.
    pub fn of_extension(extension: &str) -> Option<Language> {
        match extension {
            "c" => Some(Language::C),
            "cc" | "cpp" | "cxx" | "C" => Some(Language::Cxx),
            "f" | "F" | "f90" | "F90" | "f03" | "f08" => Some(Language::Fortran),
            _ => None,
        }
    }

    /// Returns the name of the wrapper, and that of the language as Open MPI's wrappers print it.
    fn wrapper_and_name(self) -> (&'static str, &'static str) {
        match self {
            Language::C => ("xsimcc", "C"),
            Language::Cxx => ("xsimcxx", "C++"),
            Language::Fortran => ("xsimfc", "Fortran"),
        }
    }

    /// Returns the variables in which users of MPICH and Open MPI name the compiler behind the wrapper.
    /// CMake sets MPICH's to the project's compiler while it asks the wrapper.
    fn variables_of_others(self) -> [&'static str; 2] {
        match self {
            Language::C => ["MPICH_CC", "OMPI_CC"],
            Language::Cxx => ["MPICH_CXX", "OMPI_CXX"],
            Language::Fortran => ["MPICH_FC", "OMPI_FC"],
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

/// Options that would put a part of the compiler's library into the program which must be one for the program
/// and libxsim.
const LEFT_OUT: [(&str, &str); 2] = [
    ("-static-libgfortran", "each rank has units of its own, for which libgfortran must be a shared library"),
    ("-static-libgcc", "C++ exceptions pass through libxsim, for which libgcc must be a shared library"),
];

/// The output that an argument of the wrappers selects, instead of compiling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Show {
    /// The whole command line.
    Command,
    /// The compiler without arguments.
    Compiler,
    /// The flags for compiling.
    Compile,
    /// The flags for linking.
    Link,
    /// The directories of headers and modules, without `-I`.
    IncludeDirectories,
    /// The directories of libraries, without `-L`.
    LibraryDirectories,
    /// The libraries, without `-l`.
    Libraries,
    /// The version and the language.
    Version,
    /// The questions above.
    Help,
}

impl Show {
    /// Returns the question that an argument is, in MPICH's or Open MPI's spelling.
    ///
    /// # Errors
    /// If it begins like a question of Open MPI's wrappers and is none.
    fn of(arg: &OsStr) -> Result<Option<Show>, Failure> {
        let Some(text) = arg.to_str().filter(|text| text.starts_with('-')) else { return Ok(None) };
        Ok(Some(match text.trim_start_matches('-') {
            // MPICH's wrappers print the same command for all of theirs.
            "show" | "showme" | "compile-info" | "compile_info" | "link-info" | "link_info" => Show::Command,
            "showme:command" => Show::Compiler,
            "showme:compile" => Show::Compile,
            "showme:link" => Show::Link,
            "showme:incdirs" => Show::IncludeDirectories,
            "showme:libdirs" => Show::LibraryDirectories,
            "showme:libs" => Show::Libraries,
            "showme:version" => Show::Version,
            "showme:help" => Show::Help,
            other if other.starts_with("showme:") => {
                return Err(Failure::with(USAGE, format!("{text} is not known: {QUESTIONS}")));
            }
            _ => return Ok(None),
        }))
    }
}

/// The questions of Open MPI's wrappers.
const QUESTIONS: &str = "-showme, alone or with one of :command, :compile, :link, :incdirs, :libdirs, :libs, \
                         :version and :help, prints what the compiler is called with";

/// Replaces this process by the compiler, or prints its command.
pub fn main(language: Language, mut args: Vec<OsString>) -> Result<ExitCode, Failure> {
    let mut show = None;
    for at in 0..args.len() {
        show = Show::of(&args[at])?;
        if show.is_some() {
            args.remove(at);
            break;
        }
    }
    let layout = InstallLayout::find()?;
    for (option, why) in LEFT_OUT {
        let before = args.len();
        args.retain(|arg| arg != option);
        if args.len() < before && show.is_none() {
            note!("xsim: {option} is left out: {why}");
        }
    }
    if let Some(show) = show {
        say!("{}", shown(show, language, &args, &layout)?);
        return Ok(ExitCode::SUCCESS);
    }
    let words = command(language, &args, links(&args), &layout)?;
    let why = Command::new(&words[0]).args(&words[1..]).exec();
    Err(cannot_start(language, &words[0], &why))
}

/// Returns the line that answers a question.
fn shown(
    show: Show,
    language: Language,
    args: &[OsString],
    layout: &InstallLayout,
) -> Result<String, Failure> {
    let compile = || compile_flags(language, &compiler(language), layout);
    Ok(match show {
        // Build systems ask without input, to learn what linking takes.
        Show::Command => shell_line(&command(language, args, !stops(args), layout)?),
        Show::Compiler => shell_line(&compiler(language)),
        Show::Compile => shell_line(&compile()?),
        Show::Link => shell_line(&link_flags(layout)),
        Show::IncludeDirectories => shell_line(&behind("-I", &compile()?)),
        Show::LibraryDirectories => shell_line(&behind("-L", &link_flags(layout))),
        Show::Libraries => shell_line(&behind("-l", &link_flags(layout))),
        Show::Version => {
            let (wrapper, language) = language.wrapper_and_name();
            format!("{wrapper}: xsim {} (Language: {language})", env!("CARGO_PKG_VERSION"))
        }
        Show::Help => QUESTIONS.to_owned(),
    })
}

/// Returns what stands behind `flag` in the words that begin with it.
fn behind(flag: &str, words: &[OsString]) -> Vec<OsString> {
    words.iter().filter_map(|word| word.to_str()?.strip_prefix(flag)).map(OsString::from).collect()
}

/// Returns words as a shell reads them.
pub fn shell_line(words: &[OsString]) -> String {
    words.iter().map(|word| quote(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// Compiles `source` into `output` with debug information and this `optimization` (`-O2`, ...), as `xsim run
/// program.c` does.
pub fn to_program(
    language: Language,
    source: &OsStr,
    output: &OsStr,
    optimization: &str,
) -> Result<(), Failure> {
    let args =
        [optimization.into(), "-g".into(), "-o".into(), output.to_owned(), source.to_owned(), "-lm".into()];
    let words = command(language, &args, true, &InstallLayout::find()?)?;
    match Command::new(&words[0]).args(&words[1..]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Failure::new(format!(
            "{} did not compile; the compiler's messages are above",
            source.display()
        ))),
        Err(why) => Err(cannot_start(language, &words[0], &why)),
    }
}

fn cannot_start(language: Language, compiler: &OsStr, why: &std::io::Error) -> Failure {
    let (variable, _) = language.variable_and_default();
    Failure::with(
        NOT_FOUND,
        format!(
            "cannot start the compiler {}: {why}; install it, or name another in {variable}",
            compiler.display()
        ),
    )
}

/// Returns the whole command line: compiler, our flags around the user's; those for linking if it links.
fn command(
    language: Language,
    args: &[OsString],
    links: bool,
    layout: &InstallLayout,
) -> Result<Vec<OsString>, Failure> {
    if let Some(arg) = args
        .iter()
        .find(|arg| ["-static", "--static", "-static-pie", "--static-pie"].iter().any(|no| arg == no))
    {
        let why = "libxsim is a shared library, which takes over the program's main when it is loaded";
        return Err(Failure::with(USAGE, format!("{0} cannot work: {why}; leave {0} out", arg.display())));
    }
    if language == Language::Fortran && !layout.include.join("mpif.h").is_file() {
        return Err(Failure::new(
            "this build of xsim has no Fortran interface (include/mpif.h is missing); C and C++ work",
        ));
    }
    let mut words = compiler(language);
    let flags = compile_flags(language, &words, layout)?;
    words.extend(flags);
    if !links {
        words.extend_from_slice(args);
        return Ok(words);
    }
    // The loader looks symbols up in link order, and libxsim must come before the C library to take main
    // over, and before libgfortran for its units. That library stands wherever gfortran finds `-lm`.
    let ends_ours = |arg: &OsString| {
        arg == "-lc" || language == Language::Fortran && ["-lm", "-lgfortran"].iter().any(|name| arg == name)
    };
    let at = args.iter().position(ends_ours).unwrap_or(args.len());
    words.extend_from_slice(&args[..at]);
    if ends_static(&args[..at]) {
        words.push("-Wl,-Bdynamic".into());
    }
    words.extend(link_flags(layout));
    words.extend_from_slice(&args[at..]);
    if at < args.len() {
        // For what comes behind, where the linker takes only libraries that something before them needs.
        words.push("-lxsim".into());
    }
    Ok(words)
}

/// Returns the compiler's command and first arguments: `XSIM_CC` and its like, else what users of other MPIs
/// set.
pub fn compiler(language: Language) -> Vec<OsString> {
    let (variable, default) = language.variable_and_default();
    // A project whose compiler is a wrapper gives it as the compiler behind the wrapper, which would call
    // itself.
    let is_wrapper =
        |word: &str| Path::new(word).file_name().and_then(|name| names::role(name.to_str()?)).is_some();
    let given = |name: &str| {
        let words: Vec<OsString> = std::env::var(name).ok()?.split_whitespace().map(OsString::from).collect();
        let first = words.first()?.to_str()?;
        (!is_wrapper(first)).then_some(words)
    };
    let of_others = || language.variables_of_others().into_iter().find_map(given);
    given(variable).or_else(of_others).unwrap_or_else(|| vec![default.into()])
}

/// Returns `true` if the compiler can make large frames touch each of their pages: GCC from version 8 on,
/// Clang from 11 on.
fn probes_stack(compiler: &[OsString]) -> bool {
    let Some((command, first)) = compiler.split_first() else { return false };
    let Ok(run) = Command::new(command).args(first).arg("--version").output() else { return false };
    is_probing_version(&String::from_utf8_lossy(&run.stdout))
}

fn is_probing_version(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let major = |word: &str| word.split('.').next().and_then(|major| major.parse::<u32>().ok());
    match line.split_once("clang version ") {
        Some((_, version)) => major(version) >= Some(11),
        // Behind the version may be a date.
        None => {
            text.contains("Free Software Foundation")
                && line.split_whitespace().filter_map(major).rfind(|&n| n < 1000) >= Some(8)
        }
    }
}

/// Returns `true` if the linker would look for libraries behind these arguments among static ones only.
fn ends_static(args: &[OsString]) -> bool {
    let words = args
        .iter()
        .filter_map(|arg| arg.to_str())
        .flat_map(|arg| arg.strip_prefix("-Wl,").into_iter().flat_map(|w| w.split(',')));
    let mut kinds = words.filter_map(|word| match word {
        "-Bstatic" | "-dn" | "-non_shared" | "-static" => Some(true),
        "-Bdynamic" | "-dy" | "-call_shared" => Some(false),
        _ => None,
    });
    kinds.next_back().unwrap_or(false)
}

/// Returns the flags for compiling. Position-independent code without copy relocations lets each rank have an
/// image of its own. With a compiler that probes, a frame larger than a rank's stack faults in the guard
/// below it, and not in another rank's stack.
pub fn compile_flags(
    language: Language,
    compiler: &[OsString],
    layout: &InstallLayout,
) -> Result<Vec<OsString>, Failure> {
    let mut flags = Vec::new();
    if language == Language::Fortran {
        let modules = crate::fortran::modules(layout.modules.as_deref(), compiler)?;
        flags.extend(crate::fortran::leniency(compiler).iter().map(OsString::from));
        flags.extend(modules.iter().map(|modules| joined("-I", modules)));
    }
    flags.extend([joined("-I", &layout.include), "-fPIC".into()]);
    if probes_stack(compiler) {
        flags.push("-fstack-clash-protection".into());
    }
    Ok(flags)
}

/// Returns the flags for linking.
pub fn link_flags(layout: &InstallLayout) -> Vec<OsString> {
    // A lazily bound call would resolve its symbol on a rank's small stack. CMake's FindMPI drops what
    // follows `-Wl,-z,`, so it is one word.
    let now = "-Wl,-znow".into();
    vec![joined("-L", &layout.library), joined("-Wl,-rpath,", &layout.library), "-lxsim".into(), now]
}

fn joined(flag: &str, path: &Path) -> OsString {
    let mut word = OsString::from(flag);
    word.push(path);
    word
}

/// Returns `true` if the compiler will link: it has input, and nothing stops it earlier.
fn links(args: &[OsString]) -> bool {
    args.iter().any(|arg| !arg.as_encoded_bytes().starts_with(b"-")) && !stops(args)
}

/// Returns `true` if the compiler is told to stop before it links.
fn stops(args: &[OsString]) -> bool {
    args.iter().any(|arg| ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"].iter().any(|stop| arg == stop))
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./,:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    // As CMake's FindMPI reads a path with spaces: in double quotes, behind the flag.
    let flag = ["-I", "-L", "-Wl,"].into_iter().find(|flag| word.starts_with(flag));
    match flag {
        Some(flag) if !word.contains(['"', '$', '`', '\\', '!', '\n']) => {
            format!("{flag}\"{}\"", &word[flag.len()..])
        }
        _ => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(args: &[&str]) -> Vec<String> {
        words_of(Language::C, "/i", args)
    }

    fn words_of(language: Language, include: &str, args: &[&str]) -> Vec<String> {
        let (library, include) = ("/l".into(), include.into());
        let layout = InstallLayout { library, include, share: "/s".into(), modules: None };
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let words = command(language, &args, links(&args), &layout).unwrap().into_iter().skip(1);
        words
            .map(|word| word.into_string().unwrap())
            .filter(|word| word != "-fstack-clash-protection")
            .collect()
    }

    #[test]
    fn linking_adds_the_library_after_the_users_objects() {
        assert_eq!(
            words(&["a.c", "-lm"]),
            ["-I/i", "-fPIC", "a.c", "-lm", "-L/l", "-Wl,-rpath,/l", "-lxsim", "-Wl,-znow"]
        );
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
    fn the_library_comes_before_fortrans_wherever_gfortran_puts_that() {
        let include = std::env::temp_dir().join(format!("xsim-compile-{}", std::process::id()));
        std::fs::create_dir_all(&include).unwrap();
        std::fs::write(include.join("mpif.h"), "").unwrap();
        for library in ["-lm", "-lgfortran"] {
            let words = words_of(Language::Fortran, include.to_str().unwrap(), &["a.o", library, "b.a"]);
            let at = |word: &str| words.iter().position(|other| other == word).unwrap();
            assert!(at("-lxsim") < at(library), "{words:?}");
            assert_eq!(words.last().unwrap(), "-lxsim", "{words:?}");
        }
        std::fs::remove_dir_all(&include).unwrap();
    }

    #[test]
    fn static_linking_is_refused_with_the_reason() {
        let layout =
            InstallLayout { library: "/l".into(), include: "/i".into(), share: "/s".into(), modules: None };
        for option in ["-static", "-static-pie"] {
            let failure =
                command(Language::C, &[option.into(), "a.c".into()], true, &layout).unwrap_err().to_string();
            assert!(
                failure.contains("shared library") && failure.contains(&format!("leave {option} out")),
                "{failure}"
            );
        }
    }

    #[test]
    fn the_library_is_shared_also_behind_static_ones() {
        let after = |args: &[&str]| words(args).iter().any(|word| word == "-Wl,-Bdynamic");
        assert!(after(&["a.o", "-Wl,-Bstatic", "-lfoo"]) && after(&["a.o", "-Wl,-z,now,-Bstatic", "-lfoo"]));
        assert!(
            !after(&["a.o", "-lfoo"])
                && words(&["a.o", "-Wl,-Bstatic", "-lfoo", "-Wl,-Bdynamic"])[2..]
                    .iter()
                    .all(|w| w != "-Bdynamic")
        );
    }

    #[test]
    fn compilers_that_probe_large_frames_are_told_to() {
        let gnu = "Copyright (C) 2022 Free Software Foundation, Inc.";
        for (version, probes) in [
            (format!("gcc (Debian 12.2.0-14) 12.2.0\n{gnu}"), true),
            (format!("GNU Fortran (Ubuntu 9.4.0-1ubuntu1) 9.4.0\n{gnu}"), true),
            (format!("gcc (GCC) 4.8.5 20150623 (Red Hat 4.8.5-44)\n{gnu}"), false),
            (format!("gcc (GCC) 4.9.2 20150212\n{gnu}"), false),
            ("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu".to_owned(), true),
            ("clang version 10.0.0-4ubuntu1\n".to_owned(), false),
            ("nvc 22.11-0 64-bit target on x86-64 Linux\n".to_owned(), false),
        ] {
            assert_eq!(is_probing_version(&version), probes, "{version}");
        }
    }

    #[test]
    fn shown_words_survive_a_shell() {
        assert_eq!(quote("-DA='x y'"), r"'-DA='\''x y'\'''");
        assert_eq!(quote("-O2"), "-O2");
        assert_eq!(quote("-I/a b/c"), "-I\"/a b/c\"");
        assert_eq!(quote("-Wl,-rpath,/a b"), "-Wl,\"-rpath,/a b\"");
        assert_eq!(quote("-I/a $b"), "'-I/a $b'");
    }
}

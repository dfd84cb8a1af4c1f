//! Projects of each build system, built with an installation of xsim as their MPI and run.
//!
//! A test whose tools are not installed is ignored, and says which.

mod common;

use common::{clean, command, root, scratch};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

type Outcome = Result<(), Failed>;

/// A test, and the tools that it needs beside the compilers.
struct Case {
    name: &'static str,
    tools: &'static [&'static str],
    run: fn(&'static str) -> Outcome,
}

const CASES: [Case; 11] = [
    Case { name: "cmake_finds_each_language_by_mpi_home", tools: &["cmake"], run: cmake_by_home },
    Case { name: "cmake_finds_each_language_by_compilers", tools: &["cmake"], run: cmake_by_compilers },
    Case { name: "cmake_builds_with_the_wrappers_as_compilers", tools: &["cmake"], run: cmake_with_wrappers },
    Case {
        name: "meson_finds_each_language_by_pkg_config",
        tools: &["meson", "ninja", "pkg-config"],
        run: meson_by_package,
    },
    Case {
        name: "meson_finds_each_language_by_the_wrappers",
        tools: &["meson", "ninja"],
        run: meson_by_wrappers,
    },
    Case { name: "make_builds_with_the_wrappers", tools: &["make"], run: make_with_wrappers },
    Case { name: "make_builds_with_pkg_config", tools: &["make", "pkg-config"], run: make_with_packages },
    Case {
        name: "configure_accepts_the_wrappers_as_compilers",
        tools: &["make", "autoconf"],
        run: configure_with_wrappers,
    },
    Case {
        name: "ax_mpi_finds_each_language",
        tools: &["make", "autoconf", AX_MPI],
        run: configure_by_macro,
    },
    Case { name: "the_recipe_of_spack_installs_an_mpi", tools: &["python3", "make"], run: spack },
    Case { name: "the_wrappers_answer_alike_in_every_spelling", tools: &[], run: answers },
];

/// The macro of autoconf-archive that looks for MPI.
const AX_MPI: &str = "/usr/share/aclocal/ax_mpi.m4";
/// The compilers that every project needs.
const COMPILERS: [&str; 3] = ["cc", "c++", "gfortran"];

fn main() -> ExitCode {
    let trials = CASES.iter().map(|case| {
        let missing = COMPILERS.iter().chain(case.tools).find(|tool| !is_installed(tool));
        if let Some(tool) = missing {
            println!("{} is ignored: {tool} is not installed ({})", case.name, package(tool));
        }
        Trial::test(case.name, || (case.run)(case.name)).with_ignored_flag(missing.is_some())
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // An absolute path replaces the directory that it is joined to.
    std::env::split_paths(&path).any(|directory| directory.join(tool).is_file())
}

/// Returns how Debian installs a tool.
fn package(tool: &str) -> String {
    let package = match tool {
        "cc" => "gcc",
        "c++" => "g++",
        "ninja" => "ninja-build",
        AX_MPI => "autoconf-archive",
        other => other,
    };
    format!("apt-get install {package}")
}

/// Returns the prefix of an installation that all tests use.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = scratch("build systems");
        let output = command(&["install", "--prefix"]).arg(&prefix).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        prefix
    })
}

/// Returns the installation in the form of other MPIs.
fn home() -> PathBuf {
    prefix().join("lib/xsim")
}

/// Returns the directory of a test's project, made afresh.
fn project(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = scratch(name);
    for (from, to) in
        files.iter().chain(&[("sum.c", "sum.c"), ("sum.cpp", "sum.cpp"), ("sum.f90", "sum.f90")])
    {
        std::fs::copy(root().join("tests/build_systems").join(from), directory.join(to)).unwrap();
    }
    directory
}

/// Returns a command in a project's directory, without variables that would lead to another MPI.
fn tool(name: &str, directory: &Path) -> Command {
    let mut command = Command::new(name);
    clean(&mut command)
        .current_dir(directory)
        .env("HOME", directory)
        .env("XDG_CACHE_HOME", directory.join("cache"));
    let of_others = |name: &str| ["MPI", "OMPI_", "I_MPI_"].iter().any(|prefix| name.starts_with(prefix));
    for (name, _) in std::env::vars_os().filter(|(name, _)| of_others(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    for name in ["CC", "CXX", "FC", "F77", "CFLAGS", "CXXFLAGS", "FCFLAGS", "LDFLAGS", "PKG_CONFIG_PATH"] {
        command.env_remove(name);
    }
    command
}

/// Makes [`tool`], with the commands of MPI's names in front of all others.
fn tool_with_home(name: &str, directory: &Path) -> Command {
    let mut path = home().join("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = tool(name, directory);
    command.env("PATH", path);
    command
}

/// Returns what a command prints.
fn printed(command: &mut Command) -> Result<String, Failed> {
    let output = command.output().map_err(|why| format!("{command:?}: {why}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    if output.status.success() {
        Ok(out)
    } else {
        Err(format!("{command:?}: {}\n{out}\n{err}", output.status).into())
    }
}

fn expect(is_right: bool, what: impl std::fmt::Display) -> Outcome {
    if is_right { Ok(()) } else { Err(what.to_string().into()) }
}

/// Configures, builds and tests a project of CMake.
fn cmake(mut configure: Command, directory: &Path) -> Outcome {
    let text = printed(configure.args(["-S", ".", "-B", "build"]))?;
    expect(!text.contains("Could NOT find MPI"), &text)?;
    printed(tool("cmake", directory).args(["--build", "build"]))?;
    let text = printed(tool("ctest", &directory.join("build")).arg("-V"))?;
    expect(text.contains("100% tests passed") && text.matches("xsim: 4 ranks on").count() == 3, text)
}

fn cmake_by_home(name: &'static str) -> Outcome {
    let directory = project(name, &[("CMakeLists.txt", "CMakeLists.txt")]);
    let mut configure = tool("cmake", &directory);
    configure.env("MPI_HOME", home());
    cmake(configure, &directory)
}

fn cmake_by_compilers(name: &'static str) -> Outcome {
    let directory = project(name, &[("CMakeLists.txt", "CMakeLists.txt")]);
    let mut configure = tool("cmake", &directory);
    for (variable, command) in [
        ("MPI_C_COMPILER", "xsimcc"),
        ("MPI_CXX_COMPILER", "xsimcxx"),
        ("MPI_Fortran_COMPILER", "xsimfc"),
        ("MPIEXEC_EXECUTABLE", "xsimrun"),
    ] {
        configure.arg(format!("-D{variable}={}", prefix().join("bin").join(command).display()));
    }
    cmake(configure, &directory)
}

fn cmake_with_wrappers(name: &'static str) -> Outcome {
    let directory = project(name, &[("CMakeLists.txt", "CMakeLists.txt")]);
    let mut configure = tool_with_home("cmake", &directory);
    configure.envs([("CC", "mpicc"), ("CXX", "mpicxx"), ("FC", "mpifort")]);
    cmake(configure, &directory)
}

/// Configures, builds and tests a project of Meson.
fn meson(mut configure: Command, directory: &Path) -> Outcome {
    printed(configure.args(["setup", "build"]))?;
    printed(tool_with_home("meson", directory).args(["compile", "-C", "build"]))?;
    printed(tool_with_home("meson", directory).args(["test", "-C", "build"]))?;
    let log = std::fs::read_to_string(directory.join("build/meson-logs/testlog.txt"))?;
    expect(log.matches(": 4 ranks, sum 6").count() == 3, log)
}

fn meson_by_package(name: &'static str) -> Outcome {
    let directory = project(name, &[("meson.build", "meson.build")]);
    let mut configure = tool_with_home("meson", &directory);
    configure.env("PKG_CONFIG_PATH", home().join("lib/pkgconfig"));
    meson(configure, &directory)
}

fn meson_by_wrappers(name: &'static str) -> Outcome {
    let directory = project(name, &[("meson.build", "meson.build")]);
    let mut configure = tool_with_home("meson", &directory);
    // Packages of another MPI would come first.
    configure.env("PKG_CONFIG_LIBDIR", &directory);
    meson(configure, &directory)
}

/// Runs the three programs of a project that was built in its directory.
fn run_all(directory: &Path) -> Outcome {
    for (program, language) in [("./sum_c", "C"), ("./sum_cxx", "C++"), ("./sum_fortran", "Fortran")] {
        let text = printed(tool_with_home("mpiexec", directory).args(["-n", "4", program]))?;
        expect(text == format!("{language}: 4 ranks, sum 6\n"), format!("{program}: {text}"))?;
    }
    Ok(())
}

fn make_with_wrappers(name: &'static str) -> Outcome {
    let directory = project(name, &[("wrappers.mk", "Makefile")]);
    printed(&mut tool_with_home("make", &directory))?;
    run_all(&directory)
}

fn make_with_packages(name: &'static str) -> Outcome {
    let directory = project(name, &[("pkg-config.mk", "Makefile")]);
    printed(tool("make", &directory).env("PKG_CONFIG_PATH", home().join("lib/pkgconfig")))?;
    run_all(&directory)
}

fn configure_with_wrappers(name: &'static str) -> Outcome {
    let directory = project(name, &[("configure.ac", "configure.ac"), ("Makefile.in", "Makefile.in")]);
    printed(&mut tool("autoconf", &directory))?;
    let mut configure = tool_with_home("./configure", &directory);
    printed(configure.args(["CC=mpicc", "CXX=mpicxx", "FC=mpifort"]))?;
    printed(&mut tool_with_home("make", &directory))?;
    run_all(&directory)
}

fn configure_by_macro(name: &'static str) -> Outcome {
    let directory = project(
        name,
        &[("ax_mpi.ac", "configure.ac"), ("Makefile.in", "Makefile.in"), (AX_MPI, "aclocal.m4")],
    );
    printed(&mut tool("autoconf", &directory))?;
    printed(&mut tool_with_home("./configure", &directory))?;
    printed(&mut tool_with_home("make", &directory))?;
    run_all(&directory)
}

/// The recipe's own steps and what it says to dependents; Spack itself is stood in for.
fn spack(name: &'static str) -> Outcome {
    let directory = project(name, &[("wrappers.mk", "Makefile")]);
    let prefix = directory.join("prefix");
    let mut recipe = tool("python3", &directory);
    recipe
        .arg(root().join("tests/build_systems/spack.py"))
        .arg(root().join("packaging/spack/packages/xsim/package.py"));
    let variables = printed(recipe.arg(common::xsim()).arg(&prefix))?;
    let mut make = tool("make", &directory);
    let variables: Vec<_> = variables.lines().filter_map(|line| line.split_once('=')).collect();
    for (variable, name) in [("CC", "MPICC"), ("CXX", "MPICXX"), ("FC", "MPIFC")] {
        let found = variables.iter().find(|(known, _)| *known == name).ok_or(format!("{name} is not set"))?;
        make.arg(format!("{variable}={}", found.1));
    }
    printed(make.envs(variables))?;
    let mut run = tool("./prefix/bin/mpiexec", &directory);
    let text = printed(run.args(["-n", "4", "./sum_fortran"]))?;
    expect(text == "Fortran: 4 ranks, sum 6\n", text)
}

/// Returns the words of a line as a shell reads them.
fn words(line: &str) -> Result<Vec<String>, Failed> {
    let text = printed(Command::new("sh").arg("-c").arg(format!("printf '%s\\n' {line}")))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Returns what Open MPI's questions for parts say is what the whole command has.
fn answers(name: &'static str) -> Outcome {
    let directory = project(name, &[]);
    for wrapper in ["mpicc", "mpicxx", "mpifort"] {
        let ask = |question: &str| {
            printed(tool_with_home(wrapper, &directory).arg(question)).map(|text| text.trim_end().to_owned())
        };
        let whole = ask("-show")?;
        for question in ["-showme", "--showme", "-compile_info", "-compile-info", "-link_info", "-link-info"]
        {
            let answer = ask(question)?;
            expect(answer == whole, format!("{wrapper} {question}: {answer}\n-show: {whole}"))?;
        }
        let [command, compile, link] =
            ["command", "compile", "link"].map(|part| ask(&format!("-showme:{part}")));
        let parts = format!("{} {} {}", command?, compile?, link?);
        expect(parts == whole, format!("{wrapper}: the parts are {parts}\n-show: {whole}"))?;
        for (question, flag) in [("incdirs", "-I"), ("libdirs", "-L"), ("libs", "-l")] {
            let named = words(&ask(&format!("-showme:{question}"))?)?;
            let flags: Vec<_> =
                words(&whole)?.iter().filter_map(|word| word.strip_prefix(flag)).map(str::to_owned).collect();
            expect(!flags.is_empty() && named == flags, format!("{wrapper} {question}: {named:?}\n{whole}"))?;
        }
        let version = ask("-showme:version")?;
        expect(version.contains(concat!(": xsim ", env!("CARGO_PKG_VERSION"), " (Language: ")), version)?;
        // Asked as the compiler behind itself, it is the compiler that it is otherwise.
        let mut asked = tool_with_home(wrapper, &directory);
        let again = printed(
            asked.arg("-show").envs(["MPICH_CC", "MPICH_CXX", "MPICH_FC"].map(|name| (name, wrapper))),
        )?;
        expect(again.trim_end() == whole, again)?;
    }
    let unknown = tool_with_home("mpicc", &directory).arg("-showme:nothing").output()?;
    let error = String::from_utf8_lossy(&unknown.stderr).into_owned();
    expect(unknown.status.code() == Some(2) && error.contains("-showme:nothing is not known"), error)
}

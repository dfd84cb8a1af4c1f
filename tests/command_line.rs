//! The xsim command as its user meets it: what it prints, what it refuses, and with which status.

mod common;

use common::{command, root, scratch, xsim};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn refused(output: Output, status: i32, parts: &[&str]) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{error}");
    for part in parts {
        assert!(error.contains(part), "'{part}' is missing: {error}");
    }
}

#[track_caller]
fn accepted(output: Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_missing_program_is_named() {
    refused(command(&["run", "./no/such/program"]).output().unwrap(), 127, &["there is no program ./no/such/program"]);
    refused(command(&["run", "no-such-program"]).output().unwrap(), 127, &["here or in PATH"]);
    refused(command(&["run", "no-such.c"]).output().unwrap(), 127, &["there is no file no-such.c"]);
    refused(command(&["run", "/tmp"]).output().unwrap(), 126, &["is a directory"]);
    refused(command(&["run"]).output().unwrap(), 2, &["PROGRAM"]);
}

#[test]
fn a_file_that_is_not_executable_is_named() {
    let path = scratch("not-executable").join("program");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    refused(command(&["run"]).arg(&path).output().unwrap(), 126, &["not executable", "chmod"]);
}

#[test]
fn a_program_without_xsim_is_refused_with_the_way_out() {
    refused(command(&["run", "-n", "4", "ls"]).output().unwrap(), 126, &["is not linked with libxsim.so", "xsim cc"]);
}

#[test]
fn bad_options_are_explained() {
    let run = |args: &[&str]| command(&["run"]).args(args).arg("ls").output().unwrap();
    refused(run(&["-n", "0"]), 2, &["--np 0:", "at least 1 rank"]);
    refused(run(&["--np=-4"]), 2, &["--np -4:", "whole number"]);
    refused(run(&["-np", "4"]), 2, &["whole number", "write -n or --np"]);
    refused(run(&["--np", "4294967296"]), 2, &["2147483647"]);
    refused(run(&["--compute", "sometimes"]), 2, &["measured, none or fixed:SPAN"]);
    refused(run(&["--reprot", "x"]), 2, &["--reprot", "--report"]);
    refused(command(&["rnu"]).output().unwrap(), 2, &["rnu", "--help"]);
}

#[test]
fn a_source_that_does_not_compile_leaves_nothing_behind() {
    let directory = scratch("broken");
    std::fs::write(directory.join("broken.c"), "int main(void) { return }\n").unwrap();
    let output = command(&["run"]).arg(directory.join("broken.c")).env("TMPDIR", &directory).output().unwrap();
    refused(output, 1, &["broken.c did not compile"]);
    let names: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["broken.c"]);
}

#[test]
fn a_missing_compiler_is_named_with_its_variable() {
    let output = command(&["cc", "a.c"]).env("XSIM_CC", "no-such-compiler").output().unwrap();
    refused(output, 127, &["no-such-compiler", "XSIM_CC"]);
}

#[test]
fn the_compiler_wrapper_shows_its_command() {
    let shown = accepted(command(&["cc", "-show", "-O2", "a.c"]).output().unwrap());
    assert!(shown.starts_with("cc -I") && shown.contains("a.c") && shown.contains("-lxsim"), "{shown}");
    let compile_only = accepted(command(&["cc", "-show", "-c", "a.c"]).output().unwrap());
    assert!(!compile_only.contains("-lxsim"), "{compile_only}");
    let ccache = accepted(command(&["cxx", "-showme", "a.cc"]).env("XSIM_CXX", "ccache g++-12").output().unwrap());
    assert!(ccache.starts_with("ccache g++-12 -I"), "{ccache}");
    // Asked without a file, for what building takes: rsmpi and CMake look there for the library.
    for ask in ["-show", "-showme"] {
        let shown = accepted(command(&["cc", ask]).output().unwrap());
        assert!(shown.contains(" -I") && shown.contains(" -L") && shown.contains(" -lxsim"), "{shown}");
    }
    let link = accepted(command(&["cc", "-showme:link"]).output().unwrap());
    assert!(link.starts_with("-L") && !link.contains("-I"), "{link}");
}

#[test]
fn the_compiler_wrapper_passes_the_compilers_own_questions_on() {
    let version = accepted(command(&["cc", "--version"]).output().unwrap());
    let native = Command::new("cc").arg("--version").output().unwrap();
    assert_eq!(version, text(&native.stdout));
}

#[test]
fn the_options_are_listed_and_documented() {
    let list = accepted(command(&["options"]).output().unwrap());
    assert!(list.contains("-xsim-np N") && list.contains("XSIM_NP"), "{list}");
    let help = accepted(command(&["run", "--help"]).output().unwrap());
    assert!(help.contains("-n, --np <N>") && help.contains("--machine"), "{help}");
    let markdown = accepted(command(&["options", "--markdown"]).output().unwrap());
    assert_eq!(markdown, std::fs::read_to_string(root().join("docs/options.md")).unwrap());
}

#[test]
fn an_installation_compiles_programs_by_itself() {
    let prefix = scratch("prefix");
    accepted(command(&["install", "--prefix"]).arg(&prefix).output().unwrap());
    accepted(command(&["install", "--prefix"]).arg(&prefix).output().unwrap());
    let shown = accepted(Command::new(prefix.join("bin/xsimcc")).args(["-show", "a.c"]).output().unwrap());
    assert!(shown.contains(&format!("-I{}", prefix.join("include/xsim").display())), "{shown}");
    assert!(shown.contains(&format!("-L{}", prefix.join("lib").display())), "{shown}");

    let program = prefix.join("hello");
    let compiled = Command::new(prefix.join("bin/xsimcc")).arg("-o").arg(&program).arg(root().join("examples/c/hello.c")).output().unwrap();
    accepted(compiled);
    assert!(linked_library(&program).starts_with(prefix.join("lib").to_str().unwrap()), "{}", linked_library(&program));

    let configuration = std::fs::read_to_string(prefix.join("lib/pkgconfig/xsim.pc")).unwrap();
    assert!(configuration.contains(&format!("prefix={}", prefix.display())) && configuration.contains("-lxsim"), "{configuration}");
    for file in ["include/xsim/mpi.h", "share/xsim/docs/options.md", "share/xsim/examples/c/ring.c"] {
        assert!(prefix.join(file).is_file(), "{file} is not installed");
    }
}

/// A program that another implementation of the standard ABI was linked to, of which there is nothing but its name.
#[test]
fn a_program_of_the_standard_abi_runs_unchanged() {
    let directory = scratch("standard");
    let source = "#include <mpi.h>\n#include <stdio.h>\nint main(int argc, char **argv) { int rank, sum; MPI_Init(&argc, &argv); \
                  MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); \
                  printf(\"%d\\n\", sum); return MPI_Finalize(); }\n";
    let other = ["Init", "Comm_rank", "Allreduce", "Finalize"].map(|name| format!("int MPI_{name}(void) {{ return 99; }}\n")).concat();
    std::fs::write(directory.join("program.c"), source).unwrap();
    std::fs::write(directory.join("other.c"), other).unwrap();
    let built = |arguments: &[&str]| {
        let run = Command::new("cc").args(arguments).arg("-I").arg(root().join("include")).current_dir(&directory).output().unwrap();
        accepted(run);
    };
    built(&["-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "-o", "libother.so", "other.c"]);
    built(&["-o", "program", "program.c", "libother.so"]);
    let program = directory.join("program");
    let run = command(&["run", "-n", "4", "--quiet"]).arg(&program).output().unwrap();
    assert_eq!(accepted(run), "6\n".repeat(4));
    // Without the command, the loader is told where the library is.
    let prefix = directory.join("prefix");
    accepted(command(&["install", "--prefix"]).arg(&prefix).output().unwrap());
    let mut alone = Command::new(&program);
    let alone = common::clean(&mut alone).env("LD_LIBRARY_PATH", prefix.join("lib")).args(["-xsim-np", "3", "-xsim-quiet"]);
    assert_eq!(accepted(alone.output().unwrap()), "3\n".repeat(3));
}

fn linked_library(program: &Path) -> String {
    let listed = common::clean(&mut Command::new(program)).env("LD_TRACE_LOADED_OBJECTS", "1").output().unwrap();
    let listed = text(&listed.stdout);
    let line = listed.lines().find(|line| line.contains("libxsim.so")).unwrap_or_default();
    line.split("=> ").nth(1).unwrap_or_default().to_owned()
}

#[test]
fn an_unwritable_prefix_is_named() {
    refused(command(&["install", "--prefix", "/proc/xsim"]).output().unwrap(), 1, &["cannot install /proc/xsim", "--prefix"]);
}

#[test]
fn the_command_does_not_use_the_library() {
    // libxsim stands in for symbols of the C library; the command must keep the real ones.
    assert_eq!(linked_library(xsim()), "");
}

#[test]
fn a_topology_is_described() {
    let text = accepted(command(&["topology", "torus:4x4,l=1us,b=1Gbps"]).output().unwrap());
    assert!(text.contains("16") && text.contains("diameter"), "{text}");
    let json = accepted(command(&["topology", "--json", "-n", "64", "star:l=1us,b=1Gbps"]).output().unwrap());
    assert!(json.contains("\"endpoints\": 64"), "{json}");
    refused(command(&["topology", "trous:4x4,l=1us,b=1Gbps"]).output().unwrap(), 2, &["^", "torus"]);
    refused(command(&["topology", "star:l=1us,b=1Gbps", "-n", "0"]).output().unwrap(), 2, &["0"]);
}

#[test]
fn presets_are_listed_with_their_sources() {
    let text = accepted(command(&["presets"]).output().unwrap());
    assert!(text.contains("ethernet") && text.contains("Table I") && text.contains("star:l=25us,b=1Gbps"), "{text}");
}

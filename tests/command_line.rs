//! The xsim command as its user meets it: what it prints, what it refuses, and with which status.

mod common;

use common::{command, compile, root, scratch, xsim};
use std::fs::File;
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
    refused(
        command(&["run", "./no/such/program"]).output().unwrap(),
        127,
        &["there is no program ./no/such/program"],
    );
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
    refused(
        command(&["run", "-n", "4", "ls"]).output().unwrap(),
        126,
        &["is not linked with libxsim.so", "xsim cc"],
    );
}

#[test]
fn bad_options_are_explained() {
    let run = |args: &[&str]| command(&["run"]).args(args).arg("ls").output().unwrap();
    refused(run(&["-n", "0"]), 2, &["--np 0:", "at least 1 rank"]);
    refused(run(&["--np=-4"]), 2, &["--np -4:", "whole number"]);
    refused(run(&["-np", "p"]), 2, &["--np p:", "whole number"]);
    refused(run(&["--np", "4294967296"]), 2, &["2147483647"]);
    refused(run(&["--compute", "sometimes"]), 2, &["measured, none or fixed:SPAN"]);
    refused(run(&["--reprot", "x"]), 2, &["--reprot", "--report"]);
    refused(command(&["rnu"]).output().unwrap(), 2, &["rnu", "--help"]);
}

#[test]
fn a_source_that_does_not_compile_leaves_nothing_behind() {
    let directory = scratch("broken");
    std::fs::write(directory.join("broken.c"), "int main(void) { return }\n").unwrap();
    let output =
        command(&["run"]).arg(directory.join("broken.c")).env("TMPDIR", &directory).output().unwrap();
    refused(output, 1, &["broken.c did not compile"]);
    let names: Vec<_> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
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
    let ccache =
        accepted(command(&["cxx", "-showme", "a.cc"]).env("XSIM_CXX", "ccache g++-12").output().unwrap());
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
    assert_eq!(markdown, std::fs::read_to_string(root().join("docs/reference/options.md")).unwrap());
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
    let compiled = Command::new(prefix.join("bin/xsimcc"))
        .arg("-o")
        .arg(&program)
        .arg(root().join("examples/c/hello.c"))
        .output()
        .unwrap();
    accepted(compiled);
    assert!(
        linked_library(&program).starts_with(prefix.join("lib").to_str().unwrap()),
        "{}",
        linked_library(&program)
    );

    let configuration = std::fs::read_to_string(prefix.join("lib/pkgconfig/xsim.pc")).unwrap();
    assert!(
        configuration.contains(&format!("prefix={}", prefix.display())) && configuration.contains("-lxsim"),
        "{configuration}"
    );
    for file in [
        "include/xsim/mpi.h",
        "share/xsim/docs/reference/options.md",
        "share/xsim/examples/c/ring.c",
        "share/man/man1/xsim-aspen-eval.1",
        "share/bash-completion/completions/xsim",
        "share/zsh/site-functions/_xsim",
        "share/fish/vendor_completions.d/xsim.fish",
    ] {
        assert!(prefix.join(file).is_file(), "{file} is not installed");
    }
}

/// An environment of Python may be moved or removed after a program was linked in it.
#[test]
fn a_program_runs_after_its_installation_has_moved() {
    let directory = scratch("moved");
    let (before, after) = (directory.join("before"), directory.join("after"));
    accepted(command(&["install", "--prefix"]).arg(&before).output().unwrap());
    let program = directory.join("hello");
    let mut compile = Command::new(before.join("bin/xsim"));
    compile.arg("cc").arg(root().join("examples/c/hello.c")).arg("-o").arg(&program);
    accepted(common::clean(&mut compile).output().unwrap());
    std::fs::rename(&before, &after).unwrap();
    let mut run = Command::new(after.join("bin/xsim"));
    run.args(["run", "-n", "4", "--quiet"]).arg(&program);
    assert_eq!(accepted(common::clean(&mut run).output().unwrap()).lines().count(), 4);
    let doctor = accepted(command(&["doctor"]).arg(&program).output().unwrap());
    assert!(doctor.contains(&format!("in {}/lib, which has none", before.display())), "{doctor}");
}

/// A program that another implementation of the standard ABI was linked to, of which there is nothing but its
/// name.
#[test]
fn a_program_of_the_standard_abi_runs_unchanged() {
    let directory = scratch("standard");
    let source = "#include <mpi.h>\n\
        #include <stdio.h>\n\
        int main(int argc, char **argv) { int rank, sum; MPI_Init(&argc, &argv); \
        MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, \
        MPI_COMM_WORLD); printf(\"%d\\n\", sum); return MPI_Finalize(); }\n";
    let other = ["Init", "Comm_rank", "Allreduce", "Finalize"]
        .map(|name| format!("int MPI_{name}(void) {{ return 99; }}\n"))
        .concat();
    std::fs::write(directory.join("program.c"), source).unwrap();
    std::fs::write(directory.join("other.c"), other).unwrap();
    let built = |arguments: &[&str]| {
        let run = Command::new("cc")
            .args(arguments)
            .arg("-I")
            .arg(root().join("include"))
            .current_dir(&directory)
            .output()
            .unwrap();
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
    let alone = common::clean(&mut alone).env("LD_LIBRARY_PATH", prefix.join("lib")).args([
        "-xsim-np",
        "3",
        "-xsim-quiet",
    ]);
    assert_eq!(accepted(alone.output().unwrap()), "3\n".repeat(3));
}

fn linked_library(program: &Path) -> String {
    let listed =
        common::clean(&mut Command::new(program)).env("LD_TRACE_LOADED_OBJECTS", "1").output().unwrap();
    let listed = text(&listed.stdout);
    let line = listed.lines().find(|line| line.contains("libxsim.so")).unwrap_or_default();
    line.split("=> ").nth(1).unwrap_or_default().to_owned()
}

#[test]
fn an_unwritable_prefix_is_named() {
    refused(
        command(&["install", "--prefix", "/proc/xsim"]).output().unwrap(),
        1,
        &["cannot install /proc/xsim", "--prefix"],
    );
}

#[test]
fn the_command_does_not_use_the_library() {
    // libxsim stands in for symbols of the C library; the command must keep the real ones.
    assert_eq!(linked_library(xsim()), "");
}

#[test]
fn the_number_of_ranks_is_given_as_launchers_have_it() {
    let hello = compile("examples/c/hello.c", &[]);
    for option in ["-np", "-n", "-c", "--np"] {
        let output = command(&["run", "-q", option, "3"]).arg(&hello).arg("-np").output().unwrap();
        assert_eq!(accepted(output).lines().count(), 3, "{option}");
    }
    let text = accepted(command(&["topology", "star:l=1us", "-np", "7"]).output().unwrap());
    assert!(text.contains('7'), "{text}");
}

#[test]
fn a_run_sets_variables_and_the_directory_of_its_program() {
    let directory = scratch("wdir").canonicalize().unwrap();
    let program = directory.join("program.sh");
    std::fs::write(&program, "#!/bin/sh\necho $FIRST $SECOND $PWD\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let mut run = command(&["run", "--env", "FIRST=a=b", "--env", "SECOND=c", "--wdir"]);
    let output = run.arg(&directory).arg(&program).output().unwrap();
    assert_eq!(accepted(output), format!("a=b c {}\n", directory.display()));
    refused(
        command(&["run", "--wdir", "/no/such"]).arg(&program).output().unwrap(),
        127,
        &["--wdir /no/such:"],
    );
}

/// Commands that print, of every kind that there is.
fn printing() -> Vec<Command> {
    let table = scratch("printing").join("table.txt");
    let times: String =
        (0..12).map(|power| format!("{} {}\n", 1 << power, 1.0 + f64::from(1 << power) / 1000.0)).collect();
    std::fs::write(&table, format!("bytes latency (us)\n{times}")).unwrap();
    let mut commands: Vec<Command> = [
        &["topology", "star:4"][..],
        &["topology", "star:4", "--json"],
        &["presets"],
        &["options"],
        &["options", "--markdown"],
        &["--help"],
        &["run", "--help"],
        &["--version"],
        &["cc", "-show", "a.c"],
        &["help"],
        &["help", "machines"],
        &["completions", "bash"],
        &["doctor"],
        &["aspen", "list", "examples/aspen/rig.aspen"],
        &["aspen", "check", "examples/aspen/rig.aspen"],
        &["aspen", "format", "examples/aspen/rig.aspen"],
        &["traffic", "--network", "star:n=4", "--interval", "1us", "--packets", "2", "--quiet"],
    ]
    .into_iter()
    .map(command)
    .collect();
    let mut calibrate = command(&["calibrate"]);
    calibrate.arg(&table);
    commands.push(calibrate);
    for command in &mut commands {
        command.current_dir(root());
    }
    commands
}

#[test]
fn every_command_ends_quietly_when_its_reader_has_closed_the_pipe() {
    for mut command in printing() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).output().unwrap();
        // 128 and SIGPIPE, as tools that the signal ends.
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(141), String::new()), "{command:?}");
    }
}

#[test]
fn no_command_succeeds_if_its_output_is_lost() {
    for mut command in printing() {
        let output = command.stdout(File::options().write(true).open("/dev/full").unwrap()).output().unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {error}");
        assert!(
            error.starts_with("xsim: standard output cannot be written: ") && error.lines().count() == 1,
            "{command:?}: {error}"
        );
    }
}

#[test]
fn a_failure_keeps_its_status_where_standard_error_is_full() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let status = command(&["topology", "trous:4"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_run_of_which_output_is_lost_does_not_succeed() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let hello = compile("examples/c/hello.c", &[]);
    let run = |args: &[&str]| {
        let mut command = command(&["run", "-n", "3"]);
        command.args(args).arg(&hello);
        command
    };
    let output = run(&["-q"]).stdout(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("standard output takes no more data"), "{}", text(&output.stderr));
    // The summary is lost; with -q nothing is.
    let report = scratch("lost-summary").join("report.json");
    let lost = run(&["--report", report.to_str().unwrap()]).stderr(full()).output().unwrap();
    assert_eq!((lost.status.code(), text(&lost.stdout).lines().count()), (Some(2), 3));
    assert!(report.is_file(), "the files of a run are whole");
    assert!(run(&["-q"]).stderr(full()).status().unwrap().success());
}

#[test]
fn a_report_in_a_pages_name_is_refused_with_the_way_to_a_page() {
    let hello = compile("examples/c/hello.c", &[]);
    for name in ["run.html", "run.htm"] {
        let output = command(&["run", "--report", name]).arg(&hello).output().unwrap();
        refused(output, 2, &["would be JSON in a page's name", &format!("xsim report run.json -o {name}")]);
    }
}

#[test]
fn a_run_whose_standard_output_or_error_is_closed_does_not_lose_output_in_silence() {
    let program = scratch("closed-streams").join("print.c");
    let source = "#include <mpi.h>\n#include <stdio.h>\nint main(int argc, char **argv) {\n\
                  MPI_Init(&argc, &argv);\nfprintf(argc > 1 ? stderr : stdout, \"said\\n\");\n\
                  MPI_Finalize();\nreturn 0;\n}\n";
    std::fs::write(&program, source).unwrap();
    let program = compile(program.to_str().unwrap(), &[]);
    let run = |script: &str| {
        let mut command = Command::new("sh");
        common::clean(&mut command).env("XSIM_QUIET", "on").args(["-c", script, "sh"]).arg(&program);
        command.output().unwrap()
    };
    refused(run("exec \"$1\" >&-"), 1, &["standard output takes no more data"]);
    // A file that is opened later is not taken for it.
    let report = scratch("closed-report").join("report.json");
    let script = format!("exec \"$1\" -xsim-report '{}' >&-", report.display());
    refused(run(&script), 1, &["standard output takes no more data"]);
    assert!(!std::fs::read_to_string(report).unwrap().contains("said"));
    let silent = run("exec \"$1\" error 2>&-");
    assert_eq!((silent.status.code(), text(&silent.stdout)), (Some(1), String::new()));
    assert!(run("exec \"$1\" 2>&-").status.success(), "nothing is lost");
    assert_eq!(accepted(run("exec \"$1\" <&-")), "said\n");
}

#[test]
fn numbers_that_cannot_be_are_refused_with_a_way_out() {
    let hello = compile("examples/c/hello.c", &[]);
    for count in ["-1", "0", "1", "1001", "many"] {
        let output = command(&["run", "--runs", count]).arg(&hello).output().unwrap();
        refused(output, 2, &[&format!("--runs {count} is not a number of runs from 2 to 1000, such as")]);
    }
    let both = command(&["run", "--runs", "2", "--on", "none,default"]).arg(&hello).output().unwrap();
    refused(both, 2, &["--runs and --on exclude each other", "leave --runs out"]);
    let traffic = ["traffic", "--network", "star:n=8,l=1ns,b=1Gbps,router=1ns"];
    for (option, value, says) in [
        ("--rate", "-1", "--rate -1 is not above 0 and at most 1"),
        ("--size", "-1", "'-1' is not a number of bytes such as 512"),
        ("--packets", "-1", "--packets -1 is not a whole number"),
    ] {
        let rate: &[&str] = if option == "--rate" { &[] } else { &["--rate", "0.5"] };
        let output = command(&traffic).args([option, value]).args(rate).output().unwrap();
        refused(output, 2, &[says]);
    }
    let output = command(&["trace", "extrapolate", "--np", "999999999", "-o", "x", "1", "2", "3"]).output();
    refused(output.unwrap(), 2, &["--np 999999999 is more than 16777216", "ask for fewer"]);
}

#[test]
fn a_file_in_the_way_of_a_directory_is_named() {
    let model = root().join("examples/aspen/stencil.aspen");
    let output = command(&["aspen", "generate", "-o", "/dev/null"]).arg(model).output().unwrap();
    refused(output, 1, &["'/dev/null' cannot be made: it is no directory, and a directory is wanted"]);
}

#[test]
fn traffic_takes_machines_by_name() {
    let traffic = |network: &str| {
        let mut command = command(&["traffic", "--quiet", "--rate", "0.1", "--packets", "2", "--network"]);
        command.arg(network).output().unwrap()
    };
    assert!(accepted(traffic("dgx-h100")).contains("tapered tree"));
    refused(traffic("csd3-ib"), 2, &["'csd3-ib' is a machine by formula, without routers", "frontier"]);
}

#[test]
fn distances_of_small_packet_networks_are_exact() {
    let output = command(&["topology", "dragonfly:p=2,a=4,h=2,l=1ns,b=1Gbps,router=1ns"]).output().unwrap();
    let text = accepted(output);
    assert!(!text.contains("estimated"), "{text}");
}

#[test]
fn two_outputs_of_a_run_go_to_two_files() {
    let hello = compile("examples/c/hello.c", &[]);
    let directory = scratch("one-file");
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    std::os::unix::fs::symlink("both", directory.join("link")).unwrap();
    for (report, trace) in [("both", "both"), ("both", "./both"), ("link", "both"), ("both", "link")] {
        let output = command(&["run", "--report", &path(report), "--trace", &path(trace)])
            .arg(&hello)
            .output()
            .unwrap();
        refused(output, 2, &["-xsim-report and -xsim-trace would both write", "a file of its own"]);
        std::fs::write(directory.join("both"), "").unwrap();
    }
    accepted(
        command(&["run", "-q", "--report", "/dev/null", "--trace", "/dev/null"])
            .arg(&hello)
            .output()
            .unwrap(),
    );
}

#[test]
fn what_is_misspelt_is_answered_with_what_was_meant() {
    for (machine, parts) in [
        ("fat-tree:m=4,n=2", &["did you mean 'fattree'?"][..]),
        ("dargonfly:p=2,a=4,h=2", &["did you mean 'dragonfly'?"]),
        ("torus:4x4,level=packets", &["did you mean 'level=packet'?"]),
        ("fattree:m=4,n=2,level=packets", &["did you mean 'level=packet'?"]),
        ("fattree:m=4,n=2,rooter=1ns", &["did you mean 'router'?"]),
        ("ethernet-2cores", &["did you mean 'ethernet-2core'?"]),
        ("infiniband", &["the name of a preset (`xsim presets`", "but found 'infiniband'"]),
        (
            "dragonfly:l=1us",
            &["needs p= (endpoints of a router), a= (routers of a group) and h= (global links of a router)"],
        ),
        ("fattree:level=packet", &["needs m= (ports of a switch) and n= (levels of switches)"]),
        ("slimfly:p=2", &["needs q="]),
    ] {
        refused(command(&["topology", machine, "-n", "4"]).output().unwrap(), 2, parts);
    }
    let directory = scratch("misspelt-sweep");
    let sweep = [
        "sweep",
        "--vary",
        "mn=star:l=1us;infiniband",
        "-o",
        directory.to_str().unwrap(),
        "--",
        "-np",
        "2",
        "ls",
    ];
    refused(command(&sweep).output().unwrap(), 2, &["--vary mn: infiniband: ", "the name of a preset"]);
}

#[test]
fn the_demo_says_which_machine_is_faster_and_why_and_draws_it() {
    let picture = scratch("demo").join("demo.svg");
    let text = accepted(command(&["demo", "-o"]).arg(&picture).output().unwrap());
    assert!(
        text.contains("default is fastest, ")
            && text.contains(" times as fast as ethernet: on ethernet a rank is "),
        "{text}"
    );
    assert!(std::fs::read_to_string(&picture).unwrap().contains("<svg"), "{text}");
}

#[test]
fn the_doctor_says_what_is_there_and_whether_a_program_will_run() {
    let text = accepted(command(&["doctor"]).arg(compile("examples/c/hello.c", &[])).output().unwrap());
    for part in [
        "library",
        "C compiler",
        "Fortran modules",
        "several processes",
        "is linked with libxsim",
        "have files and lines",
    ] {
        assert!(text.contains(part), "'{part}' is missing: {text}");
    }
    let output = command(&["doctor", "ls"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text_of(&output).contains("broken") && text_of(&output).contains("is not linked with libxsim.so"),
        "{}",
        text_of(&output)
    );
    let output = command(&["doctor"]).env("XSIM_FC", "no-such-compiler").output().unwrap();
    assert!(
        text_of(&output).contains("missing  Fortran compiler") && output.status.success(),
        "{}",
        text_of(&output)
    );
}

fn text_of(output: &Output) -> String {
    text(&output.stdout)
}

#[test]
fn help_knows_commands_and_the_pages_of_the_manual() {
    let page = accepted(command(&["help", "machines"]).output().unwrap());
    assert_eq!(page, std::fs::read_to_string(root().join("docs/reference/machines.md")).unwrap());
    let page = accepted(command(&["help", "find", "the", "cause"]).output().unwrap());
    assert_eq!(page, std::fs::read_to_string(root().join("docs/how-to/find-the-cause.md")).unwrap());
    let short = accepted(command(&["--help"]).output().unwrap());
    assert!(short.contains("xsim help lists the manual's pages"), "{short}");
    let eval = accepted(command(&["help", "aspen", "eval"]).output().unwrap());
    assert!(eval.contains("Usage: xsim aspen eval"), "{eval}");
    let all = accepted(command(&["help"]).output().unwrap());
    assert!(all.contains("Usage: xsim"), "{all}");
    let replay = accepted(command(&["help", "replay"]).output().unwrap());
    assert!(
        replay.contains("Usage: xsim replay") && replay.contains("xsim help reference/replay"),
        "{replay}"
    );
    refused(
        command(&["help", "machnies"]).output().unwrap(),
        2,
        &["help machnies: neither a command nor a page", "did you mean 'xsim help machines'?"],
    );
    refused(command(&["help", "aspen", "evil"]).output().unwrap(), 2, &["there is no command aspen evil"]);
}

#[test]
fn help_shows_every_page_by_the_name_that_it_lists_and_by_its_path() {
    let all = accepted(command(&["help"]).output().unwrap());
    let listed = all.rsplit_once("(xsim help PAGE):").unwrap().1;
    let listed: Vec<&str> = listed.split_whitespace().map(|name| name.trim_end_matches(',')).collect();
    let mut pages = 0;
    for folder in
        ["docs", "docs/tutorials", "docs/how-to", "docs/reference", "docs/explanation", "docs/papers"]
    {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            if path.extension().is_none_or(|end| end != "md") || ["README", "SUMMARY"].contains(&name) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let long = format!("{}/{name}", path.parent().unwrap().file_name().unwrap().display());
            let topic = [name, &long].into_iter().find(|name| listed.contains(name));
            let topic = topic.unwrap_or_else(|| panic!("{name} is not listed: {all}"));
            assert_eq!(accepted(command(&["help", topic]).output().unwrap()), text);
            let path = format!("{folder}/{name}.md");
            if folder != "docs" {
                assert_eq!(accepted(command(&["help", &path]).output().unwrap()), text);
            }
            pages += 1;
        }
    }
    assert_eq!(pages, listed.len(), "{listed:?}");
}

#[test]
fn short_help_has_the_usual_options_and_long_help_has_all() {
    let [short, long] = ["-h", "--help"].map(|help| accepted(command(&["run", help]).output().unwrap()));
    assert!(short.lines().count() <= 60, "{} lines: {short}", short.lines().count());
    for option in ["--np", "--mn", "--on", "--report", "--compute"] {
        assert!(short.contains(option) && long.contains(option), "{option}: {short}");
    }
    assert!(!short.contains("--globals-fold") && long.contains("--globals-fold"), "{short}");
}

#[test]
fn data_goes_to_a_file_or_to_standard_output() {
    let directory = scratch("data");
    let file = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let run = |arguments: &[&str]| {
        let output = command(arguments).current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let traffic = ["traffic", "--network", "star:n=4", "--interval", "1us", "--packets", "2", "--quiet"];
    let several = ["run", "-q", "-n", "4", "--compute", "none", "--on", "ethernet,default"];
    let program = compile("examples/c/hello.c", &[]);
    let program = [program.to_str().unwrap(), "-q"];
    for (arguments, rest) in [
        (&["topology", "star:4"][..], &[][..]),
        (&["presets"], &[]),
        (&["doctor"], &[]),
        (&["aspen", "eval", "examples/aspen/cg.aspen"], &[]),
        (&traffic, &[]),
        (&several, &program),
    ] {
        let path = file("results.json");
        let printed = run(&[arguments, &["--json"], rest].concat());
        let json = printed.find(['{', '[']).map_or("", |start| &printed[start..]);
        serde_json::from_str::<serde_json::Value>(json)
            .unwrap_or_else(|why| panic!("{arguments:?}: {why}: {printed}"));
        run(&[arguments, &[&format!("--json={path}")], rest].concat());
        let written = std::fs::read_to_string(&path).unwrap();
        serde_json::from_str::<serde_json::Value>(&written)
            .unwrap_or_else(|why| panic!("{arguments:?}: {why}"));
    }
    for (arguments, rest, heading) in [
        (&["presets"][..], &[][..], "name,group,specification,sources"),
        (&traffic, &[], "from,"),
        (&several, &program, "machine,virtual_time_ps,"),
    ] {
        let path = file("results.csv");
        let printed = run(&[arguments, &["--csv", "-"], rest].concat());
        run(&[arguments, &["--csv", &path], rest].concat());
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(written.starts_with(heading) && printed.ends_with(&written), "{arguments:?}: {printed}");
    }
    let runs = ["run", "-q", "-n", "4", "--compute", "none", "--runs", "3", "--csv", "-"];
    assert!(run(&[&runs[..], &program].concat()).contains("run,virtual_time_ps\n1,"));
    refused(command(&["run", "--csv", "-", program[0]]).output().unwrap(), 2, &["--runs", "--on"]);
    let report = file("report.json");
    let one = ["run", "-q", "-n", "4", "--compute", "none"];
    run(&[&one[..], &[&format!("--json={report}")], &program].concat());
    assert!(std::fs::read_to_string(&report).unwrap().contains("\"simulated\""));
    for (given, why) in [("--json", "--json=FILE"), ("--csv=x.csv", "xsim report FILE.json --csv FILE")] {
        refused(command(&["run", given, program[0]]).output().unwrap(), 2, &[why]);
    }
    for option in ["--report", "--trace", "--timeline", "--log"] {
        let output = command(&["run", option, "-", program[0]]).current_dir(&directory).output().unwrap();
        refused(output, 2, &[option, "goes to a file: name one"]);
        assert!(!directory.join("-").exists(), "{option}");
    }
    let lost = file("no/such/results.csv");
    refused(command(&["presets", "--csv", &lost]).output().unwrap(), 1, &["cannot be written"]);
}

#[test]
fn completions_and_man_pages_come_from_the_parser() {
    for (shell, part) in
        [("bash", "complete -F _xsim"), ("zsh", "#compdef xsim"), ("fish", "complete -c xsim")]
    {
        let script = accepted(command(&["completions", shell]).output().unwrap());
        assert!(script.contains(part) && script.contains("eager-limit"), "{shell}");
    }
    let directory = scratch("man");
    let text = accepted(command(&["man"]).arg(&directory).output().unwrap());
    assert!(text.contains("man pages in"), "{text}");
    let page = std::fs::read_to_string(directory.join("xsim-run.1")).unwrap();
    assert!(page.contains(".TH xsim") && page.contains("eager"), "{page}");
    assert!(directory.join("xsim.1").is_file() && directory.join("xsim-trace-show.1").is_file());
}

#[test]
fn runs_of_one_program_give_mean_and_spread() {
    let ring = compile("examples/c/ring.c", &[]);
    let report = scratch("runs").join("run.json");
    let run = |args: &[&str]| {
        command(&["run", "-q", "-n", "4", "--runs", "3"]).args(args).arg(&ring).output().unwrap()
    };
    let output = run(&["--compute", "none", "--report", report.to_str().unwrap()]);
    let once = accepted(command(&["run", "-q", "-n", "4", "--compute", "none"]).arg(&ring).output().unwrap());
    assert!(text(&output.stderr).contains("xsim: all 3 runs take "), "{}", text(&output.stderr));
    assert_eq!(accepted(output), once, "only the first run is heard");
    assert!(report.is_file());
    let measured = run(&[]);
    let error = text(&measured.stderr);
    assert!(
        measured.status.success() && error.contains("3 runs ") && error.contains("of virtual time"),
        "{error}"
    );
    refused(run(&["--runs", "1"]), 2, &["--runs"]);
    let failing = compile("tests/programs/deadlocks.c", &[]);
    let output = command(&["run", "-q", "-n", "2", "--runs", "2"]).arg(failing).arg("exit").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn one_program_on_several_machines_says_which_is_fastest_and_why() {
    let ring = compile("examples/c/ring.c", &[]);
    let run = |on: &[&str]| {
        command(&["run", "-q", "-n", "8", "--compute", "none"]).args(on).arg(&ring).output().unwrap()
    };
    let output = run(&["--on", "ethernet,default"]);
    let error = text(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert!(
        error.contains("default is fastest, ")
            && error.contains("on ethernet a rank is ")
            && error.contains("MPI_"),
        "{error}"
    );
    let output = run(&["--on", "star:l=1us,b=1Gbps", "--on", "star:l=1us,b=1Gbps"]);
    assert!(text(&output.stderr).contains("all take the same time"), "{}", text(&output.stderr));
    refused(run(&["--on", "ethernet"]), 2, &["--on compares at least two machines"]);
    refused(run(&["--on", "ethernet;trous:4"]), 2, &["torus"]);
    refused(run(&["--on", "etehrnet,default"]), 2, &["--on etehrnet", "did you mean 'ethernet'?"]);
    refused(run(&["--on", "ethernet,default", "-m", "default"]), 2, &["--on"]);
    for several in [["--on", "ethernet,default"], ["--runs", "3"]] {
        let mut run = command(&["run", "-q", "-n", "8"]);
        let output = run.args(several).arg(&ring).env("OMPI_COMM_WORLD_SIZE", "2").output().unwrap();
        refused(output, 2, &["--runs and --on", "leave mpirun out"]);
    }
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
    assert!(
        text.contains("ethernet") && text.contains("Table I") && text.contains("star:l=25us,b=1Gbps"),
        "{text}"
    );
    assert!(text.contains("large systems:") && text.contains("frontier"), "{text}");
    let markdown = accepted(command(&["presets", "--markdown"]).output().unwrap());
    assert_eq!(markdown, std::fs::read_to_string(root().join("docs/reference/presets.md")).unwrap());
}

//! Every kind of global state is each rank's own, under every strategy, with ranks that interleave at every
//! MPI call.

mod common;

use std::path::{Path, PathBuf};

use common::{Output, Run, compile};

/// Rank counts: alone, few, and enough that a rank's first and last lines of large data are pages apart.
const RANKS: [u32; 3] = [1, 3, 13];

/// A program of tests/programs/globals with a library of its own.
fn with_library(program: &str, library: &str, flags: &[&str]) -> PathBuf {
    let library = compile(&format!("tests/programs/globals/{library}"), &["-shared", "-fPIC"]);
    let mut args = vec![library.to_str().unwrap()];
    args.extend(flags);
    compile(&format!("tests/programs/globals/{program}"), &args)
}

fn run(program: &Path, globals: &str, stack: &str, ranks: u32) -> Output {
    Run::of(program.to_path_buf())
        .ranks(ranks)
        .arg(format!("-xsim-globals={globals}"))
        .arg(format!("-xsim-stack-mode={stack}"))
        .run()
}

/// Runs it in every way that keeps globals private; it checks itself and prints a line a rank.
fn private(program: &Path, line: &str, strategies: &[&str]) {
    for globals in strategies {
        for stack in ["own", "shared"] {
            for ranks in RANKS {
                let output = run(program, globals, stack, ranks);
                assert!(
                    output.status.success()
                        && output.stderr.is_empty()
                        && output.stdout == line.repeat(ranks as usize),
                    "{globals} {stack} {ranks} ranks: {output}"
                );
            }
        }
    }
}

#[test]
fn c_state_and_that_of_libraries_is_private() {
    private(&with_library("state.c", "library.c", &["-fPIC"]), "ok\n", &["copy", "clone", "auto"]);
}

#[test]
fn state_of_programs_at_a_fixed_address_is_private() {
    private(&with_library("state.c", "library.c", &["-no-pie", "-fno-pie"]), "ok\n", &["copy", "auto"]);
}

#[test]
fn cpp_state_and_exceptions_are_private() {
    private(
        &with_library("state.cc", "library.cc", &["-fPIC"]),
        "3 constructed and destroyed\n",
        &["copy", "clone", "auto"],
    );
}

#[test]
fn state_and_stacks_that_grow_as_a_rank_goes_on_find_room() {
    private(&compile("tests/programs/globals/growing.c", &["-O1"]), "grown\n", &["copy", "clone"]);
}

#[test]
fn fortran_state_is_private() {
    private(&fortran(&[]), "ok\n", &["copy", "clone", "auto"]);
    private(&fortran(&["-no-pie", "-fno-pie"]), "ok\n", &["copy"]);
}

fn fortran(flags: &[&str]) -> PathBuf {
    compile_fortran("state", flags)
}

fn compile_fortran(name: &str, flags: &[&str]) -> PathBuf {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let directory = common::scratch(&format!("fortran-{name}-{number}"));
    let program = directory.join(name);
    let source = common::root().join(format!("tests/programs/globals/{name}.f90"));
    let made = common::command(&["fc", "-O1", "-g", "-Wall"])
        .env("XDG_CACHE_HOME", &directory)
        .current_dir(&directory)
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(made.status.success() && made.stderr.is_empty(), "{}", String::from_utf8_lossy(&made.stderr));
    program
}

/// Runs a program with its arguments in a directory of its own, on three ranks.
fn run_inside(program: &Path, globals: &str, args: &[&str], input: &str) -> Output {
    let directory = common::scratch(&format!("inside-{}", args.join("-")));
    std::fs::write(directory.join("given"), input).unwrap();
    let mut command = std::process::Command::new(program);
    common::clean(&mut command).current_dir(&directory).args(args).arg(format!("-xsim-globals={globals}"));
    command
        .args(["-xsim-np=3", "-xsim-compute=none", "-xsim-quiet"])
        .stdin(std::fs::File::open(directory.join("given")).unwrap());
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Output { stdout: text(&output.stdout), stderr: text(&output.stderr), status: output.status }
}

#[test]
fn process_state_is_private_to_the_rank_that_changes_it() {
    let plain = compile("tests/programs/globals/process.c", &["-frounding-math"]);
    for (globals, stack, ranks) in [("copy", "own", 1), ("copy", "shared", 5), ("clone", "own", 5)] {
        let directory = common::scratch(&format!("process-{globals}-{stack}"));
        let run =
            Run::of(plain.clone()).ranks(ranks).arg(directory.to_str().unwrap()).variable("INHERITED", "1");
        run.arg(format!("-xsim-globals={globals}")).arg(format!("-xsim-stack-mode={stack}")).run().ok(ranks);
    }
}

#[test]
fn a_rank_that_closes_or_redirects_its_output_does_so_for_itself() {
    let program = compile("tests/programs/globals/streams.c", &["-Wno-unused-result"]);
    for how in ["dup2", "dup3", "close", "dup", "fclose", "freopen", "assign"] {
        let output = run_inside(&program, "copy", &["output", how], "").success();
        assert!(output.stdout == "rank 0 prints\n" && output.stderr.is_empty(), "{how}: {output}");
    }
    let output = run_inside(&program, "copy", &["output", "restore"], "").success();
    assert_eq!(output.lines(), ["aside", "aside", "rank 0 prints", "rank 1 is back", "rank 2 is back"]);
}

#[test]
fn a_rank_that_reopens_its_input_reads_its_own_file() {
    let program = compile("tests/programs/globals/streams.c", &["-Wno-unused-result"]);
    for how in ["dup2", "freopen", "assign"] {
        let output = run_inside(&program, "copy", &["input", how], "").success();
        assert!(output.stdout == "ok\n".repeat(3), "{how}: {output}");
    }
}

#[test]
fn cpp_streams_are_private() {
    let streams = |flags: &[&str]| compile("tests/programs/globals/streams.cc", flags);
    for (program, globals) in
        [(streams(&[]), "copy"), (streams(&[]), "clone"), (streams(&["-fno-pic", "-no-pie"]), "copy")]
    {
        for how in ["state", "nothing", "text"] {
            let output = run_inside(&program, globals, &[how], "").success();
            assert!(
                output.stdout == "rank 0 prints\n" && output.stderr.is_empty(),
                "{globals} {how}: {output}"
            );
        }
        let output = run_inside(&program, globals, &["formats"], "").success();
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{globals}: {output}");
        let output = run_inside(&program, globals, &["unsynchronised"], "").success();
        assert_eq!(output.lines(), ["rank 0 prints", "rank 1 prints", "rank 2 prints"], "{globals}");
    }
}

#[test]
fn fortran_standard_units_are_private() {
    let program = compile_fortran("units", &[]);
    for (mode, printed) in [
        ("input", ""),
        ("one", ""),
        ("output", ""),
        ("quiet", "rank 0 prints\n"),
        ("closed", "rank 0 prints\n"),
        ("scratch", ""),
        ("standard", ""),
    ] {
        let output = run_inside(&program, "copy", &[mode], "42\n").success();
        assert!(output.stdout == printed && output.stderr.is_empty(), "{mode}: {output}");
    }
}

#[test]
fn globals_of_a_library_that_a_rank_loads_are_private() {
    let directory = common::scratch("plugins");
    let plugin = compile("tests/programs/globals/plugin.c", &["-shared", "-fPIC"]);
    std::fs::copy(plugin, directory.join("libplugged.so")).unwrap();
    let path = format!("-Wl,-rpath,{}", directory.display());
    let program = compile("tests/programs/globals/plugged.c", &[&path, "-ldl"]);
    for (globals, stack) in [("copy", "own"), ("clone", "own"), ("auto", "shared")] {
        let run = |libraries: &str| {
            let run = Run::of(program.clone())
                .ranks(4)
                .arg("libplugged.so")
                .arg(format!("-xsim-globals={globals}"));
            run.arg(format!("-xsim-stack-mode={stack}"))
                .arg(format!("-xsim-globals-libs={libraries}"))
                .run()
                .ok(4)
        };
        assert!(run("libplugged").stderr.is_empty(), "{globals}");
        run("absent").says(&["-xsim-globals-libs names absent, but the program has loaded no library"]);
    }
}

/// The programs can fail: with globals in common each finds another rank's values, and says so.
#[test]
fn programs_notice_globals_that_are_shared() {
    let c = with_library("state.c", "library.c", &["-fPIC"]);
    let cpp = with_library("state.cc", "library.cc", &["-fPIC"]);
    for program in [c, cpp, fortran(&[])] {
        run(&program, "none", "own", 3).failure().says(&["is shared"]);
        run(&program, "none", "own", 1).success();
    }
}

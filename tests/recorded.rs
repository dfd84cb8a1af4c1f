//! Traces of real runs, under `mpirun` with `libxsimtrace_MPI.so`: they are those of virtual runs of the same
//! programs.
//!
//! Needs both MPIs with their compilers; tests/run.sh installs them.

mod common;

use common::{Run, clean, command, root, scratch, xsim};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

const MPICH: &str = "mpich";
const OPENMPI: &str = "openmpi";

/// The library for an MPI, built beside libxsim.so.
fn library(mpi: &'static str) -> PathBuf {
    static BUILT: OnceLock<Mutex<Vec<&'static str>>> = OnceLock::new();
    let directory = xsim().parent().unwrap();
    let mut built = BUILT.get_or_init(Mutex::default).lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !built.contains(&mpi) {
        let mut build = Command::new("sh");
        build
            .arg(root().join("cabi/tracer/build.sh"))
            .arg(mpi)
            .arg(directory)
            .env("CARGO_TARGET_DIR", directory.parent().unwrap());
        assert!(
            build.status().unwrap().success(),
            "the recorder for {mpi} does not build: install {mpi} with its development files"
        );
        built.push(mpi);
    }
    directory.join(format!("libxsimtrace_{mpi}.so"))
}

/// A program, compiled for an MPI of the machine.
fn compiled(mpi: &str, source: &str, directory: &Path) -> PathBuf {
    let program = directory.join(format!("{}.{mpi}", Path::new(source).file_stem().unwrap().display()));
    let is_fortran = source.ends_with(".f90");
    let mut compiler = Command::new(format!("{}.{mpi}", if is_fortran { "mpifort" } else { "mpicc" }));
    // MPICH's modules name no types for buffers, which may then be of one type each.
    let more: &[&str] = if is_fortran { &["-fallow-argument-mismatch"] } else { &[] };
    let status = compiler
        .current_dir(directory)
        .args(["-O1", "-g", "-w"])
        .args(more)
        .arg("-o")
        .arg(&program)
        .arg(root().join(source))
        .arg("-lm")
        .status()
        .unwrap();
    assert!(status.success(), "{source} does not compile for {mpi}");
    program
}

/// A real run of a program that is recorded.
fn real(mpi: &'static str, ranks: u32, program: &Path, args: &[&str], trace: &Path, times: &str) -> Output {
    run_of(mpi, ranks, program, args, trace, times).output().unwrap()
}

/// It, before it is started.
fn run_of(
    mpi: &'static str,
    ranks: u32,
    program: &Path,
    args: &[&str],
    trace: &Path,
    times: &str,
) -> Command {
    let library = library(mpi);
    let mut run = Command::new("timeout");
    // Beside the other tests processes that wait for each other have a part of a core.
    clean(&mut run).args(["200", &format!("mpirun.{mpi}"), "-n", &ranks.to_string()]);
    if mpi == OPENMPI {
        run.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    run.env("XSIM_TRACE", trace).env("XSIM_TRACE_TIMES", times);
    // The launcher is none of those that are recorded.
    run.arg("env").arg(format!("LD_PRELOAD={}", library.display())).arg(program).args(args);
    run
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn recorded(mpi: &'static str, ranks: u32, source: &str, directory: &Path) -> PathBuf {
    let trace =
        directory.join(format!("{}-{mpi}{ranks}.trace", Path::new(source).file_stem().unwrap().display()));
    let output = real(mpi, ranks, &compiled(mpi, source, directory), &[], &trace, "exact");
    assert!(output.status.success(), "{mpi}: {}", text(&output.stderr));
    trace
}

#[test]
fn real_runs_give_the_calls_of_virtual_ones() {
    let directory = scratch("recorded");
    for (source, counts) in [
        ("tests/programs/recorded.c", &[1, 2, 4][..]),
        ("examples/c/ring.c", &[3]),
        ("examples/c/cg.c", &[2]),
    ] {
        for &ranks in counts {
            let virtual_trace = directory.join("virtual.trace");
            let program = common::compile(source, &[]);
            Run::of(program)
                .ranks(ranks)
                .arg(format!("-xsim-trace={}", virtual_trace.display()))
                .run()
                .success();
            for mpi in [MPICH, OPENMPI] {
                let real_trace = recorded(mpi, ranks, source, &directory);
                let files = [virtual_trace.to_str().unwrap(), real_trace.to_str().unwrap()];
                let output = command(&[&["trace", "diff"], &files[..]].concat()).output().unwrap();
                assert!(
                    output.status.success(),
                    "{source} on {ranks} ranks of {mpi}: {}",
                    text(&output.stdout)
                );
            }
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn real_runs_of_fortran_give_the_calls_of_virtual_ones_with_their_places() {
    let directory = scratch("recorded-fortran");
    let source = "tests/programs/fortran/recorded.f90";
    let program = directory.join("virtual");
    let compiler = command(&["fc", "-O1", "-g", "-o"])
        .arg(&program)
        .arg(root().join(source))
        .current_dir(&directory)
        .env("XDG_CACHE_HOME", directory.join("cache"))
        .status();
    assert!(compiler.unwrap().success(), "{source} does not compile");
    for ranks in [1, 2, 4] {
        let virtual_trace = directory.join("virtual.trace");
        Run::of(program.clone())
            .ranks(ranks)
            .arg(format!("-xsim-trace={}", virtual_trace.display()))
            .run()
            .success();
        for mpi in [MPICH, OPENMPI] {
            let real_trace = recorded(mpi, ranks, source, &directory);
            let files = [virtual_trace.to_str().unwrap(), real_trace.to_str().unwrap()];
            let compared = command(&[&["trace", "diff"], &files[..]].concat()).output().unwrap();
            assert!(
                compared.status.success(),
                "{source} on {ranks} ranks of {mpi}: {}",
                text(&compared.stdout)
            );
            let shown = command(&["trace", "show"]).arg(&real_trace).output().unwrap();
            for line in text(&shown.stdout).lines().filter(|line| line.contains("MPI_")) {
                assert!(
                    line.contains("  recorded.f90:"),
                    "a call of {mpi} has no place in the program: {line}"
                );
            }
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn the_command_finds_the_mpi_of_a_program() {
    let directory = scratch("recorded-command");
    let own = common::compile("examples/c/ring.c", &[]);
    let virtual_trace = directory.join("virtual.trace");
    Run::of(own.clone()).ranks(3).arg(format!("-xsim-trace={}", virtual_trace.display())).run().success();
    let record = |args: &[&str], program: &Path| {
        let mut record = command(&["record", "-n", "3", "-o"]);
        record.arg(directory.join("real.trace")).args(args).arg(program);
        // As the test may run as anybody, on a machine with few cores.
        let allowed = [
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ];
        record.envs(allowed).current_dir(&directory).output().unwrap()
    };
    for mpi in [MPICH, OPENMPI] {
        library(mpi);
        let output = record(&["--times", "exact"], &compiled(mpi, "examples/c/ring.c", &directory));
        assert!(output.status.success(), "{mpi}: {}", text(&output.stderr));
        let files = [virtual_trace.clone(), directory.join("real.trace")];
        let compared = command(&["trace", "diff"]).args(&files).output().unwrap();
        assert!(compared.status.success(), "{mpi}: {}", text(&compared.stdout));
        std::fs::remove_file(&files[1]).unwrap();
    }
    let refused = |args: &[&str], program: &Path, part: &str| {
        let output = record(args, program);
        assert!(!output.status.success() && text(&output.stderr).contains(part), "{}", text(&output.stderr));
    };
    refused(&[], &own, "xsim run --trace FILE records it");
    refused(&[], &root().join("tests/run.sh"), "is not executable");
    refused(&[], Path::new("/bin/true"), "is not linked with an MPI");
    let starter = directory.join("mpirun");
    std::os::unix::fs::symlink("/bin/true", &starter).unwrap();
    refused(&[], &starter, "starts processes, which xsim record does itself");
    refused(&["--launcher", "srun"], &own, "cannot be used with");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_was_recorded_is_shown_checked_and_replayed() {
    let directory = scratch("recorded-replayed");
    for mpi in [MPICH, OPENMPI] {
        let all = recorded(mpi, 2, "tests/programs/recorded.c", &directory);
        let few = recorded(mpi, 2, "examples/c/stencil3d.c", &directory);
        let told = |args: &[&str], trace: &Path| {
            let output = command(&[args, &[trace.to_str().unwrap()]].concat()).output().unwrap();
            assert!(
                output.status.success(),
                "{args:?} of {mpi}: {}{}",
                text(&output.stdout),
                text(&output.stderr)
            );
            text(&output.stdout)
        };
        let shown = told(&["trace", "show"], &all);
        assert!(shown.contains(" nonblocking\n") && shown.contains("recorded.c:"), "{shown}");
        told(&["trace", "check"], &all);
        let replayed = |compute: &str| {
            let report = directory.join("report.json");
            told(
                &[
                    "replay",
                    "-m",
                    "star:l=1us,b=10Gbps",
                    "--compute",
                    compute,
                    "--report",
                    report.to_str().unwrap(),
                ],
                &few,
            );
            let report = std::fs::read_to_string(&report).unwrap();
            let time = report.split("\"virtual_time_ps\": ").nth(1).unwrap_or_else(|| panic!("{report}"));
            time.split(',').next().unwrap().parse::<u64>().unwrap()
        };
        // What the processes computed between their calls took some time of the host, and is in it.
        let (with, without) = (replayed("recorded"), replayed("none"));
        assert!(
            0 < without && without < with,
            "{with} ps with the computation of {mpi}, {without} ps without"
        );
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_was_recorded_up_to_an_abort_can_be_read() {
    let directory = scratch("recorded-aborted");
    for mpi in [MPICH, OPENMPI] {
        let trace = directory.join(format!("{mpi}.trace"));
        let output =
            real(mpi, 1, &compiled(mpi, "tests/programs/recorded.c", &directory), &["abort"], &trace, "none");
        assert!(!output.status.success(), "{mpi} says that the run went well");
        let part = format!("{}.part0", trace.display());
        let shown = command(&["trace", "show", &part]).output().unwrap();
        assert!(
            shown.status.success() && text(&shown.stdout).contains("MPI_Pcontrol(level=1)"),
            "{}",
            text(&shown.stderr)
        );
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_processes_saved_before_a_kill_is_joined() {
    let directory = scratch("recorded-killed");
    for mpi in [MPICH, OPENMPI] {
        let trace = directory.join(format!("{mpi}.trace"));
        let program = compiled(mpi, "tests/programs/killed.c", &directory);
        let mut run = run_of(mpi, 3, &program, &[], &trace, "none");
        assert!(
            !run.env("XSIM_TRACE_SAVE", "0s").status().unwrap().success(),
            "{mpi} says that the run went well"
        );
        let part = |rank: u32| format!("{}.part{rank}", trace.display());
        let joined = trace.with_extension("joined");
        let join = command(&["trace", "join", &part(0), &part(1), &part(2), "-o", joined.to_str().unwrap()])
            .output()
            .unwrap();
        assert!(join.status.success() && join.stderr.is_empty(), "{mpi}: {}", text(&join.stderr));
        // Rank 1 has another number for the communicator than the others have: what it is tells whose
        // messages are whose.
        let found = text(&command(&["trace", "check", joined.to_str().unwrap()]).output().unwrap().stdout);
        assert!(!found.contains("MPI_Send") && !found.contains("MPI_Recv"), "{mpi}: {found}");
        let stat = text(&command(&["trace", "stat", joined.to_str().unwrap()]).output().unwrap().stdout);
        assert!(stat.lines().any(|line| line.contains("MPI_Send") && line.contains("60")), "{mpi}: {stat}");
    }
    std::fs::remove_dir_all(directory).unwrap();
}

/// The functions in a trace, in the order of rank 0's first calls of them.
fn functions(trace: &Path) -> Vec<String> {
    let shown = command(&["trace", "show", "--rank", "0"]).arg(trace).output().unwrap();
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let name = |line: &str| {
        line.split_whitespace()
            .find(|word| word.starts_with("MPI_"))
            .and_then(|word| word.split('(').next())
            .map(str::to_owned)
    };
    let mut names: Vec<String> = text(&shown.stdout).lines().filter_map(name).collect();
    names.dedup();
    names
}

#[test]
fn parts_of_real_runs_are_left_out_as_of_virtual_ones() {
    let directory = scratch("recorded-switched");
    let source = "tests/programs/switched.c";
    let virtual_trace = directory.join("virtual.trace");
    Run::program("switched.c")
        .ranks(2)
        .arg(format!("-xsim-trace={}", virtual_trace.display()))
        .run()
        .success();
    assert_eq!(
        functions(&virtual_trace),
        ["MPI_Init", "MPI_Comm_rank", "MPI_Barrier", "MPI_Bcast", "MPI_Finalize"]
    );
    for mpi in [MPICH, OPENMPI] {
        let trace = recorded(mpi, 2, source, &directory);
        let output = command(&["trace", "diff"]).args([&virtual_trace, &trace]).output().unwrap();
        assert!(output.status.success(), "{mpi}: {}", text(&output.stdout));
        // A window by the time since each process has initialized MPI: the program sleeps for longer.
        let program = compiled(mpi, source, &directory);
        for (from, until, expected) in [
            ("2s", "", &["MPI_Bcast", "MPI_Finalize"][..]),
            ("", "2s", &["MPI_Init", "MPI_Comm_rank", "MPI_Barrier"]),
        ] {
            let mut run = run_of(mpi, 2, &program, &["4000"], &trace, "exact");
            assert!(
                run.env("XSIM_TRACE_FROM", from).env("XSIM_TRACE_UNTIL", until).status().unwrap().success()
            );
            assert_eq!(functions(&trace), expected, "{mpi}, from {from} until {until}");
        }
        let mut run = run_of(mpi, 1, &program, &[], &trace, "none");
        let output = run.env("XSIM_TRACE_FROM", "3s").env("XSIM_TRACE_UNTIL", "3s").output().unwrap();
        assert!(
            !output.status.success() && text(&output.stderr).contains("XSIM_TRACE_UNTIL is not later"),
            "{}",
            text(&output.stderr)
        );
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_is_wrong_is_said_and_the_exit_status_tells() {
    let directory = scratch("recorded-wrong");
    for mpi in [MPICH, OPENMPI] {
        let program = compiled(mpi, "examples/c/ring.c", &directory);
        for (trace, times, expected) in [
            (
                "/nowhere/ring.trace",
                "none",
                "cannot write the trace /nowhere/ring.trace: No such file or directory",
            ),
            ("/dev/full", "none", "cannot write the trace /dev/full: No space left on device"),
            ("ring.trace", "sometimes", "XSIM_TRACE_TIMES is sometimes; it must be histogram, exact or none"),
        ] {
            let output = real(mpi, 2, &program, &[], Path::new(trace), times);
            assert!(text(&output.stderr).contains(expected), "{mpi}: {}", text(&output.stderr));
            assert!(!output.status.success(), "{mpi} and {trace}: the run is said to have gone well");
        }
    }
    std::fs::remove_dir_all(directory).unwrap();
}

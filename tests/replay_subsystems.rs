//! Replay of intercommunicators, windows, files, partitioned communication and calls that failed: each call
//! ends when it did in the recording, to the picosecond, and on another machine when the program's does.

mod common;

use common::{Run, clean, command, compile, launched, native, scratch, xsim};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("replay-subsystems-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

fn simulated(report: &Path) -> Value {
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    report["simulated"].clone()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a program with exact times, and answers the trace and the report's simulated part.
#[track_caller]
fn recorded(run: Run, machine: &str) -> (PathBuf, Value) {
    let path = directory();
    let (trace, report) = (path.join("run.trace"), path.join("run.json"));
    run.machine(machine)
        .arg(format!("-xsim-trace={}", trace.display()))
        .arg("-xsim-trace-times=exact")
        .arg(format!("-xsim-report={}", report.display()))
        .run()
        .success();
    let simulated = simulated(&report);
    (trace, simulated)
}

/// Replays a trace on so many processes, and answers the report's simulated part.
#[track_caller]
fn replayed(trace: &Path, processes: u32, args: &[&str]) -> Value {
    let report = directory().join("report.json");
    let mut command = match processes {
        1 => command(&[]),
        _ => {
            native("mpich");
            let mut command = launched("mpich", processes, &directory(), xsim());
            clean(&mut command);
            command
        }
    };
    let output = command
        .args(["replay", trace.to_str().unwrap(), "--quiet=on", "--report", report.to_str().unwrap()])
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?} on {processes}: {}", text(&output));
    simulated(&report)
}

#[track_caller]
fn alike(one: &Value, other: &Value, what: &str) {
    for key in ["virtual_time_ps", "messages", "bytes"] {
        assert_eq!(one[key], other[key], "{key} of {what}");
    }
}

/// Every call of every rank ends when it did in the recording, on one process and on two.
#[track_caller]
fn same(run: Run, machine: &str, what: &str) {
    let (trace, run) = recorded(run, machine);
    for processes in [1, 2] {
        let replay = replayed(&trace, processes, &["-m", machine, "--compare"]);
        alike(&run, &replay, &format!("{what} on {machine}, {processes} processes"));
    }
}

const MACHINES: [&str; 8] = [
    "star:l=0.5us,b=100Gbps",
    "torus:4x4,l=1us,b=8Gbps/rank:o_send=0.4us,o_recv=0.3us,eager=1000",
    "none",
    "star:l=1us/rank:eager=0",
    "torus:4x4,l=20ns,level=packet",
    "tree:degree=3,l=100ns,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us,eager=1000",
    "torus:4x4xn,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps",
    "torus:4x4,l=20ns,b=1Gbps,flowmin=0,level=flow",
];

#[test]
fn random_epochs_of_windows_take_the_time_of_their_recording() {
    for (seed, (machine, ranks)) in (60..).zip(MACHINES.iter().zip([5, 9, 4, 13, 7, 2, 12, 6])) {
        let compute = ["none", "fixed:20ns", "fixed:1us"][seed % 3];
        let run = Run::program("random_windows.c")
            .ranks(ranks)
            .arg(seed.to_string())
            .arg("4")
            .variable("XSIM_COMPUTE", compute);
        same(run, machine, &format!("windows, seed {seed} with {compute}"));
    }
}

#[test]
fn random_calls_on_files_take_the_time_of_their_recording() {
    let storage = "/storage:servers=3,stripe=4kB,b=1GB/s,l=20us";
    for (seed, (machine, ranks)) in (70..).zip(MACHINES.iter().zip([4, 6, 3, 5, 8, 2, 7, 1])) {
        let compute = ["none", "fixed:20ns", "fixed:1us"][seed % 3];
        for machine in [(*machine).to_owned(), format!("{machine}{storage}")] {
            let name = directory().join("file");
            let run = Run::program("random_files.c")
                .ranks(ranks)
                .arg(seed.to_string())
                .arg("3")
                .arg(name.to_str().unwrap())
                .variable("XSIM_COMPUTE", compute);
            same(run, &machine, &format!("files, seed {seed} with {compute}"));
        }
    }
}

#[test]
fn a_replay_touches_no_file_of_the_host() {
    let name = directory().join("file");
    let run = Run::program("random_files.c")
        .ranks(4)
        .arg("3")
        .arg("3")
        .arg(name.to_str().unwrap())
        .variable("XSIM_COMPUTE", "fixed:20ns");
    let (trace, _) = recorded(run, MACHINES[0]);
    let folder = name.parent().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    replayed(&trace, 1, &["-m", MACHINES[0], "--compare"]);
    assert!(!folder.exists());
}

#[test]
fn partitions_take_the_time_of_their_recording() {
    for machine in MACHINES {
        for compute in ["none", "fixed:100ns"] {
            let run = Run::program("partitions.c").ranks(5).variable("XSIM_COMPUTE", compute);
            same(run, machine, &format!("partitions with {compute}"));
        }
    }
}

#[test]
fn calls_that_failed_take_the_time_of_their_recording() {
    for machine in MACHINES {
        let run = Run::program("failing.c")
            .ranks(4)
            .arg("/nonexistent/file")
            .variable("XSIM_COMPUTE", "fixed:100ns");
        let (trace, run) = recorded(run, machine);
        let replay = replayed(&trace, 1, &["-m", machine, "--compare"]);
        alike(&run, &replay, machine);
    }
}

#[test]
fn random_intercommunicators_take_the_time_of_their_recording() {
    for (seed, (machine, ranks)) in (80..).zip(MACHINES.iter().zip([5, 9, 4, 13, 7, 2, 12, 6])) {
        let compute = ["none", "fixed:20ns", "fixed:1us"][seed % 3];
        for seed in [seed, seed + 20, seed + 40] {
            let run = Run::program("random_bridges.c").ranks(ranks).arg(seed.to_string());
            let what = format!("bridges, seed {seed} with {compute}");
            same(run.variable("XSIM_COMPUTE", compute), machine, &what);
        }
    }
}

#[test]
fn sides_that_meet_at_ports_take_the_time_of_their_recording() {
    for machine in MACHINES {
        for case in ["halves", "queue", "around", "join", "times"] {
            // Its messages go round, each sent before it is received.
            if case == "around" && machine.contains("eager=0") {
                continue;
            }
            let run = Run::program("ports.c").ranks(3).arg(case).variable("XSIM_COMPUTE", "fixed:100ns");
            same(run, machine, &format!("ports, {case}"));
        }
    }
}

#[test]
fn calls_about_ports_that_failed_take_the_time_of_their_recording() {
    let cases = [
        ["no_port", "never_opened", "accept_never_opened", "closed_meanwhile", "close_twice"],
        ["look_for_nothing", "unpublish_another", "publish_twice", "bad_root", "two_groups"],
    ];
    for case in cases.as_flattened() {
        for machine in [MACHINES[0], MACHINES[5]] {
            let run = Run::program("ports_wrong.c").ranks(2).arg(*case).arg("return");
            same(run.variable("XSIM_COMPUTE", "fixed:100ns"), machine, case);
        }
    }
}

/// Messages between groups keep the sources that they had, and take the run's time on a machine alike.
#[test]
fn recorded_sources_between_groups_are_kept() {
    for (seed, machine) in (30..).zip(MACHINES) {
        let run = || Run::program("random_bridges.c").ranks(7).arg(seed.to_string());
        let (trace, run) = recorded(run().variable("XSIM_COMPUTE", "fixed:20ns"), machine);
        let replay = replayed(&trace, 1, &["-m", machine, "--wildcards", "recorded"]);
        alike(&run, &replay, &format!("bridges, seed {seed} on {machine}"));
    }
}

#[test]
fn formats_without_intercommunicators_refuse_them() {
    let (trace, _) = recorded(Run::program("random_bridges.c").ranks(4).arg("3"), "none");
    for format in ["goal", "ti", "otf2"] {
        let output = directory().join(format!("run.{format}"));
        let output = command(&["trace", "convert", trace.to_str().unwrap(), "--to", format, "-o"])
            .arg(output)
            .output()
            .unwrap();
        let said = text(&output);
        assert!(!output.status.success(), "{format}: {said}");
        for part in ["MPI_Intercomm_create", "random_bridges.c", "the format has no intercommunicators"] {
            assert!(said.contains(part), "{format}: '{part}' is missing: {said}");
        }
    }
}

#[test]
fn windows_take_the_programs_time_on_another_machine() {
    let program = || Run::program("put_stencil.c").ranks(12).variable("XSIM_COMPUTE", "fixed:100ns");
    let (trace, _) = recorded(program(), "star:l=1us,b=10Gbps");
    for machine in MACHINES {
        let (_, run) = recorded(program(), machine);
        alike(&run, &replayed(&trace, 1, &["-m", machine]), machine);
    }
}

/// Epochs of a stencil are loops of the trace: what a rank adds is nothing.
#[test]
fn epochs_fold_over_iterations_and_ranks() {
    let bytes = |ranks: u32| {
        let run = Run::program("put_stencil.c").ranks(ranks).variable("XSIM_COMPUTE", "none");
        let path = directory().join("run.trace");
        run.machine("none")
            .arg(format!("-xsim-trace={}", path.display()))
            .arg("-xsim-trace-times=none")
            .run()
            .success();
        std::fs::metadata(path).unwrap().len()
    };
    let (few, many) = (bytes(64), bytes(512));
    assert!(many < 2000 && many < few + 100, "64 ranks take {few} bytes, 512 take {many}");
}

#[test]
fn addresses_in_dynamic_windows_are_not_in_a_trace() {
    let program = || Run::program("window_polls.c").ranks(4).variable("XSIM_COMPUTE", "none");
    let [one, other] = [0, 1].map(|_| std::fs::read(recorded(program(), MACHINES[0]).0).unwrap());
    assert_eq!(one, other);
}

#[test]
fn polls_of_windows_take_the_time_of_their_recording() {
    for machine in MACHINES {
        for compute in ["none", "fixed:100ns"] {
            let run = Run::program("window_polls.c").ranks(4).variable("XSIM_COMPUTE", compute);
            let (trace, run) = recorded(run, machine);
            let replay = replayed(&trace, 1, &["-m", machine, "--compare"]);
            alike(&run, &replay, &format!("{compute} on {machine}"));
        }
    }
}

#[test]
fn views_of_the_programs_own_representation_are_refused() {
    let source = directory().join("own.c");
    std::fs::write(&source, OWN_REPRESENTATION).unwrap();
    let program = compile(source.to_str().unwrap(), &[]);
    let name = directory().join("file");
    let (trace, _) = recorded(Run::of(program).ranks(2).arg(name.to_str().unwrap()), "none");
    let output = command(&["replay", trace.to_str().unwrap()]).output().unwrap();
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    for part in ["rank 0, call ", "MPI_File_set_view at own.c:16 main", "\"mine\" is the program's own"] {
        assert!(said.contains(part), "'{part}' is missing: {said}");
    }
}

const OWN_REPRESENTATION: &str = r#"
#include <mpi.h>
#include <stddef.h>
static int extent(MPI_Datatype datatype, MPI_Aint *bytes, void *state) {
    int size;
    MPI_Type_size(datatype, &size);
    *bytes = state ? 0 : size;
    return MPI_SUCCESS;
}
int main(int argc, char **argv) {
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Register_datarep("mine", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent, NULL);

    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "mine", MPI_INFO_NULL);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
"#;

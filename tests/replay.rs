//! Replay: what a trace has is run again without its program, on the machine of the recording to the picosecond.

mod common;

use common::{Run, command, scratch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("replay-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// Runs it with a trace, and answers the file; the report is beside it.
#[track_caller]
fn recorded(run: Run, times: &str) -> PathBuf {
    let path = directory().join("run.trace");
    let (trace, report) = (format!("-xsim-trace={}", path.display()), format!("-xsim-report={}", report_of(&path).display()));
    run.arg(trace).arg(report).arg(format!("-xsim-trace-times={times}")).run().success();
    path
}

fn report_of(trace: &Path) -> PathBuf {
    trace.with_extension("json")
}

fn replay(trace: &Path, args: &[&str]) -> Output {
    command(&["replay", trace.to_str().unwrap(), "--quiet=on"]).args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The simulated part of a report.
fn simulated(report: &Path) -> Value {
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    report["simulated"].clone()
}

/// Replays it and answers the report's simulated part.
#[track_caller]
fn replayed(trace: &Path, args: &[&str]) -> Value {
    let report = directory().join("report.json");
    let output = replay(trace, &[&["--report", report.to_str().unwrap()], args].concat());
    assert!(output.status.success(), "{}", text(&output));
    simulated(&report)
}

/// Every call of every rank ends when it did in the recording, and what was counted is the same.
#[track_caller]
fn same(run: Run, machine: &str, what: &str) {
    let trace = recorded(run.machine(machine), "exact");
    let report = directory().join("report.json");
    let output = replay(&trace, &["-m", machine, "--compare", "--report", report.to_str().unwrap()]);
    assert!(output.status.success(), "{what} on {machine}: {}", text(&output));
    assert!(text(&output).contains("ended when they did in the recording"), "{}", text(&output));
    let (run, replay) = (simulated(&report_of(&trace)), simulated(&report));
    for key in ["virtual_time_ps", "messages", "bytes"] {
        assert_eq!(run[key], replay[key], "{key} of {what} on {machine}");
    }
    assert_eq!(run["network"]["total"]["packets"], replay["network"]["total"]["packets"], "{what} on {machine}");
}

const MACHINES: [&str; 7] = [
    "star:l=0.5us,b=100Gbps",
    "torus:4x4,l=1us,b=8Gbps/rank:o_send=0.4us,o_recv=0.3us,eager=1000",
    "none",
    "star:l=1us/rank:eager=0",
    "torus:4x4,l=20ns,level=packet",
    "tree:degree=3,l=100ns,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us,eager=1000",
    "torus:4x4xn,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps",
];

#[test]
fn random_programs_take_the_time_of_their_recording() {
    let computation = ["none", "fixed:20ns", "measured", "fixed:1us"];
    for (seed, (machine, ranks)) in (40..).zip(MACHINES.iter().zip([5, 16, 7, 13, 11, 1, 20])) {
        let compute = computation[seed % 4];
        let run = Run::program("random_program.c").ranks(ranks).arg(seed.to_string()).arg("12").variable("XSIM_COMPUTE", compute);
        same(run, machine, &format!("seed {seed} with {compute}"));
    }
}

/// Where ranks depend on each other's times, and receives take messages of any source.
#[test]
fn programs_that_hang_on_their_order_take_the_time_of_their_recording() {
    for (seed, (machine, ranks)) in (50..).zip(MACHINES.iter().zip([9, 6, 15, 4, 7, 12, 64])) {
        let compute = ["fixed:20ns", "fixed:1us", "measured"][seed % 3];
        let run = Run::program("random_orders.c").ranks(ranks).arg(seed.to_string()).arg("4").variable("XSIM_COMPUTE", compute);
        same(run, machine, &format!("seed {seed} with {compute}"));
    }
}

#[test]
fn messages_collectives_and_communicators_of_all_kinds_are_replayed() {
    for (seed, machine) in (3..).zip(MACHINES) {
        let run = Run::program("mixture.c").ranks(7).arg(seed.to_string()).variable("XSIM_COMPUTE", "fixed:100ns");
        same(run, machine, &format!("mixture {seed}"));
    }
}

#[test]
fn calls_and_messages_are_those_of_the_run_with_any_times() {
    for times in ["none", "histogram"] {
        let machine = "torus:4x4x4,l=1us,b=8Gbps/rank:o_send=300ns,o_recv=200ns";
        let trace = recorded(Run::program("mixture.c").ranks(7).arg("4").machine(machine).variable("XSIM_COMPUTE", "none"), times);
        let (run, replay) = (simulated(&report_of(&trace)), replayed(&trace, &["-m", machine]));
        for what in ["messages", "bytes"] {
            assert_eq!(run[what], replay[what], "{what} with times {times}");
        }
        for function in ["MPI_Irecv", "MPI_Testall", "MPI_Allreduce", "MPI_Finalize"] {
            assert_eq!(run["functions"][function]["calls"], replay["functions"][function]["calls"], "{function}");
        }
    }
}

/// The virtual time of a replay, in picoseconds.
#[track_caller]
fn takes(trace: &Path, args: &[&str]) -> u64 {
    replayed(trace, args)["virtual_time_ps"].as_u64().unwrap()
}

#[test]
fn another_machine_and_other_computation_take_other_times() {
    // Each of two ranks computes for 1 ms and sends the other 1 kB, three times.
    let source = directory().join("steps.c");
    std::fs::write(&source, STEPS).unwrap();
    let program = common::compile(source.to_str().unwrap(), &[]);
    let run = || Run::of(program.clone()).ranks(2).variable("XSIM_COMPUTE", "none");
    for times in ["exact", "histogram"] {
        let trace = recorded(run().machine("star:l=1us,b=8Gbps"), times);
        // Two links of 1 us or 10 us, and a nanosecond or a hundred a byte, after the computation.
        assert_eq!(takes(&trace, &["-m", "star:l=1us,b=8Gbps"]), 3 * (1_000_000_000 + 2_000_000 + 1_000_000), "{times}");
        assert_eq!(takes(&trace, &["-m", "star:l=10us,b=80Mbps"]), 3 * (1_000_000_000 + 20_000_000 + 100_000_000), "{times}");
        assert_eq!(takes(&trace, &["-m", "star:l=1us,b=8Gbps", "--compute", "none"]), 3 * 3_000_000, "{times}");
        assert_eq!(takes(&trace, &["-m", "star:l=1us,b=8Gbps", "--compute", "2.5"]), 3 * (2_500_000_000 + 3_000_000), "{times}");
    }
    let trace = recorded(run().machine("star:l=1us,b=8Gbps"), "exact");
    let output = replay(&trace, &["-m", "star:l=2us,b=8Gbps", "--compare"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    // MPI_Init, MPI_Comm_rank, MPI_Isend, and then the first receive, which ends 2 us later.
    assert!(text(&output).contains("rank 0, call 3, MPI_Recv") && text(&output).contains("steps.c:"), "{}", text(&output));
    assert!(text(&output).contains("by up to 6us"), "{}", text(&output));
}

const STEPS: &str = r#"
#include <mpi.h>
#include <xsim.h>
int main(int argc, char **argv) {
    char out[1000], in[1000];
    int rank;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        xsim_compute(1e-3);
        MPI_Isend(out, 1000, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(in, 1000, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn what_cannot_be_replayed_is_refused_with_its_rank_call_and_place() {
    let trace = recorded(Run::program("traced.c").ranks(4).machine("none").variable("XSIM_COMPUTE", "none"), "none");
    let refused = |trace: &Path, args: &[&str], parts: &[&str]| {
        let output = replay(trace, args);
        assert!(!output.status.success(), "{args:?} is not refused");
        parts.iter().for_each(|part| assert!(text(&output).contains(part), "'{part}' is missing: {}", text(&output)));
    };
    refused(&trace, &["-n", "8"], &["-n 8", "of 4 ranks"]);
    refused(&trace, &["-m", "star:2"], &["2"]);
    refused(&trace, &["--compute", "-1"], &["--compute -1", "factor"]);
    refused(&trace, &["--compare"], &["exact times", "-xsim-trace-times exact"]);
    refused(&trace, &["--network-report", directory().join("net.json").to_str().unwrap()], &["packet networks"]);
    refused(Path::new("/nonexistent.trace"), &[], &["/nonexistent.trace", "cannot read"]);
    let damaged = trace.with_extension("damaged");
    let bytes = std::fs::read(&trace).unwrap();
    std::fs::write(&damaged, &bytes[..bytes.len() - 7]).unwrap();
    refused(&damaged, &[], &["cannot read the trace", "damaged"]);
    // A process topology's collectives.
    let source = directory().join("neighbors.c");
    std::fs::write(&source, NEIGHBORS).unwrap();
    let program = common::compile(source.to_str().unwrap(), &[]);
    let trace = recorded(Run::of(program).ranks(3).machine("none"), "none");
    refused(&trace, &[], &["rank 0, call 2, MPI_Neighbor_allgather at neighbors.c:7 main", "no replay of this function"]);
    // Half of the messages are not there.
    let trace = recorded(Run::program("traced.c").ranks(4).machine("none").variable("XSIM_COMPUTE", "none"), "none");
    let half = trace.with_extension("half");
    let cut = command(&["trace", "cut", trace.to_str().unwrap(), "-o", half.to_str().unwrap(), "--ranks", "0-1"]).output().unwrap();
    assert!(cut.status.success());
    refused(&half, &[], &["deadlock"]);
}

const NEIGHBORS: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    int size = 3, periodic = 1, in[2], out = 1; MPI_Comm ring;
    MPI_Init(&argc, &argv);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Neighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, ring);
    MPI_Finalize();
    return 0;
}
"#;

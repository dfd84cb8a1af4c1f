//! Replay: what a trace has is run again without its program, on the machine of the recording to the
//! picosecond.

mod common;

use common::{Run, command, compile, scratch};
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
    let (trace, report) =
        (format!("-xsim-trace={}", path.display()), format!("-xsim-report={}", report_of(&path).display()));
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
    assert_eq!(
        run["network"]["total"]["packets"], replay["network"]["total"]["packets"],
        "{what} on {machine}"
    );
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
fn random_programs_take_the_time_of_their_recording() {
    let computation = ["none", "fixed:20ns", "measured", "fixed:1us"];
    for (seed, (machine, ranks)) in (40..).zip(MACHINES.iter().zip([5, 16, 7, 13, 11, 1, 20, 10])) {
        let compute = computation[seed % 4];
        let run = Run::program("random_program.c")
            .ranks(ranks)
            .arg(seed.to_string())
            .arg("12")
            .variable("XSIM_COMPUTE", compute);
        same(run, machine, &format!("seed {seed} with {compute}"));
    }
}

/// Replays programs whose ranks depend on each other's times and whose receives take messages of any source.
#[test]
fn programs_that_hang_on_their_order_take_the_time_of_their_recording() {
    for (seed, (machine, ranks)) in (50..).zip(MACHINES.iter().zip([9, 6, 15, 4, 7, 12, 64, 8])) {
        let compute = ["fixed:20ns", "fixed:1us", "measured"][seed % 3];
        let run = Run::program("random_orders.c")
            .ranks(ranks)
            .arg(seed.to_string())
            .arg("4")
            .variable("XSIM_COMPUTE", compute);
        same(run, machine, &format!("seed {seed} with {compute}"));
    }
}

/// Replays a program in which an acknowledgement and messages leave a rank's interface at one instant.
#[test]
fn what_leaves_at_one_instant_has_the_order_of_the_recording() {
    let machine = "star:l=1us,b=10Gbps,nic=10Gbps,rate=1M,flowmin=64,o=0.3us;64:1us@1GB/s,delay=0.1us\
                   /star:4,l=100ns,b=40Gbps,mem=4GB/s";
    let run = Run::program("random_orders.c").ranks(9).arg("1138").arg("4").variable("XSIM_COMPUTE", "none");
    same(run, machine, "seed 1138");
}

#[test]
fn messages_collectives_and_communicators_of_all_kinds_are_replayed() {
    for (seed, machine) in (3..).zip(MACHINES) {
        let run =
            Run::program("mixture.c").ranks(7).arg(seed.to_string()).variable("XSIM_COMPUTE", "fixed:100ns");
        same(run, machine, &format!("mixture {seed}"));
    }
}

/// Bursts and exchanges, with and without computation between the calls, and all kinds of waits for them.
#[test]
fn messages_that_are_alike_take_the_time_of_their_recording() {
    for (at, (machine, ranks)) in MACHINES.iter().zip([6, 5, 8, 7, 4, 3, 9]).enumerate() {
        for compute in ["none", ["fixed:20ns", "measured"][at % 2]] {
            same(Run::program("series.c").ranks(ranks).variable("XSIM_COMPUTE", compute), machine, "series");
        }
    }
}

/// Replays varying loops: sizes differ from iteration to iteration, and in one of them the partners. A sweep
/// receives from any source.
#[test]
fn loops_whose_turns_differ_take_the_time_of_their_recording() {
    let sweeps = |compute: &str| {
        Run::program("sweeps.c").ranks(16).arg("23").arg("2").variable("XSIM_COMPUTE", compute)
    };
    for (machine, compute) in MACHINES.iter().zip(["none", "fixed:1us", "measured"].into_iter().cycle()) {
        same(sweeps(compute), machine, &format!("sweeps with {compute}"));
    }
    let trace = recorded(sweeps("none"), "none");
    let shown = command(&["trace", "show", trace.to_str().unwrap()]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert_eq!(
        [3, 4].map(|turns| shown.matches(&format!("  {turns} times, which differ:")).count()),
        [7, 1],
        "{shown}"
    );
    // Twice the sizes are twice the bytes, turn by turn.
    let bytes = |trace: &Path| {
        let stat = command(&["trace", "stat", trace.to_str().unwrap()]).output().unwrap();
        let stat = String::from_utf8_lossy(&stat.stdout).into_owned();
        let of = |name: &str| {
            stat.lines()
                .find(|line| line.starts_with(name))
                .and_then(|line| line.split_whitespace().nth(3))
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        ["MPI_Isend ", "MPI_Sendrecv "].map(of)
    };
    assert_eq!(bytes(&scaled(&trace, &["--sizes", "2*bytes"])), bytes(&trace).map(|bytes| 2 * bytes));
}

/// A function of the program that MPI calls calls MPI: the call around it is in the trace, and takes its
/// time.
#[test]
fn calls_that_call_back_take_the_time_of_their_recording() {
    let run = Run::program("nested_calls.cc")
        .ranks(4)
        .arg("3")
        .machine("star:l=1us,b=1Gbps")
        .variable("XSIM_COMPUTE", "none");
    let trace = recorded(run, "exact");
    let replayed = replayed(&trace, &["-m", "star:l=1us,b=1Gbps"]);
    let recorded = simulated(&report_of(&trace));
    assert!(recorded["virtual_time_ps"].as_u64().unwrap() > 0);
    assert_eq!(replayed["virtual_time_ps"], recorded["virtual_time_ps"]);
    let output = command(&["trace", "check", trace.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Replays reductions of all predefined datatypes, each with an operation that it allows.
#[test]
fn reductions_of_every_predefined_datatype_are_replayed() {
    let source = directory().join("reduced.c");
    let text = std::fs::read_to_string(common::root().join("cabi/table/constants.txt")).unwrap();
    let mut calls = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, "datatype" | "alias", ..] = words[..] else { continue };
        let operation = match name {
            "MPI_DATATYPE_NULL" | "MPI_PACKED" | "MPI_CHARACTER" | "MPI_CHAR" | "MPI_WCHAR" | "MPI_LB"
            | "MPI_UB" => continue,
            _ if name.contains("COMPLEX") => "MPI_SUM",
            _ if name.contains("LOGICAL") || name.contains("BOOL") => "MPI_LAND",
            _ if name.starts_with("MPI_2")
                || name.ends_with("_INT") && !["MPI_INT", "MPI_LONG_LONG_INT"].contains(&name) =>
            {
                "MPI_MAXLOC"
            }
            "MPI_BYTE" => "MPI_BAND",
            _ => "MPI_MAX",
        };
        calls += &format!("    MPI_Allreduce(in, out, 1, {name}, {operation}, MPI_COMM_WORLD);\n");
    }
    assert!(calls.lines().count() > 60, "{calls}");
    let program = format!(
        "#include <mpi.h>\n\
         static char in[64], out[64];\n\
         int main(int argc, char **argv) {{\n    MPI_Init(&argc, &argv);\n\
         {calls}    MPI_Finalize();\n    return 0;\n\
         }}\n"
    );
    std::fs::write(&source, program).unwrap();
    let trace = recorded(
        Run::of(common::compile(source.to_str().unwrap(), &[])).ranks(2).variable("XSIM_COMPUTE", "none"),
        "none",
    );
    replayed(&trace, &[]);
}

/// A rank without neighbours may pass null for its lists.
#[test]
fn topologies_of_ranks_without_neighbours_are_replayed() {
    let source = directory().join("lonely.c");
    std::fs::write(&source, LONELY).unwrap();
    let run = Run::of(common::compile(source.to_str().unwrap(), &[]))
        .ranks(3)
        .machine("star:l=1us")
        .variable("XSIM_COMPUTE", "none");
    let trace = recorded(run, "exact");
    let replayed = replayed(&trace, &["-m", "star:l=1us"]);
    assert_eq!(replayed["virtual_time_ps"], simulated(&report_of(&trace))["virtual_time_ps"]);
}

const LONELY: &str = r#"
#include <mpi.h>
#include <stddef.h>
int main(int argc, char **argv) {
    int rank, partner, from[4] = {0}, to[4], counts[4] = {1, 1, 1, 1}, places[4] = {0};
    MPI_Comm graph;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int degree = rank < 2;
    partner = 1 - rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, degree ? &partner : NULL, MPI_UNWEIGHTED, degree,
                                   degree ? &partner : NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_alltoallv(from, degree ? counts : NULL, degree ? places : NULL, MPI_INT, to,
                           degree ? counts : NULL, degree ? places : NULL, MPI_INT, graph);
    MPI_Neighbor_allgather(from, 1, MPI_INT, to, 1, MPI_INT, graph);
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn process_topologies_and_communicators_of_groups_are_replayed() {
    for (machine, ranks) in MACHINES.iter().zip([12, 6, 5, 8, 9, 4, 16]) {
        same(
            Run::program("neighborhoods.c").ranks(ranks).variable("XSIM_COMPUTE", "fixed:50ns"),
            machine,
            "neighborhoods",
        );
    }
}

#[test]
fn a_replay_has_the_profile_the_critical_path_and_the_timeline_of_the_run() {
    for (seed, machine) in (3..).zip(&MACHINES[..3]) {
        let [of_run, of_replay] = ["run.json", "replay.json"].map(|name| directory().join(name));
        let run = Run::program("mixture.c")
            .ranks(7)
            .arg(seed.to_string())
            .variable("XSIM_COMPUTE", "fixed:100ns")
            .machine(machine);
        let run = run
            .arg("-xsim-profile")
            .arg("-xsim-critical-path")
            .arg(format!("-xsim-timeline={}", of_run.display()));
        let trace = recorded(run, "exact");
        let options =
            ["-m", machine, "--profile", "--critical-path", "--timeline", of_replay.to_str().unwrap()];
        let (run, replay) = (simulated(&report_of(&trace)), replayed(&trace, &options));
        for what in ["traffic", "series", "load"] {
            assert_eq!(run["profile"][what], replay["profile"][what], "{what} on {machine}");
        }
        let sites = |report: &Value| report["profile"]["sites"].as_array().unwrap().clone();
        assert!(sites(&run).len() > 10);
        assert_eq!(sites(&run), sites(&replay), "{machine}");
        assert_eq!(run["critical_path"], replay["critical_path"], "{machine}");
        let [of_run, of_replay] = [of_run, of_replay].map(|path| std::fs::read_to_string(path).unwrap());
        assert!(of_run == of_replay, "timelines on {machine}");
    }
}

#[test]
fn calls_and_messages_are_those_of_the_run_with_any_times() {
    for times in ["none", "histogram"] {
        let machine = "torus:4x4x4,l=1us,b=8Gbps/rank:o_send=300ns,o_recv=200ns";
        let trace = recorded(
            Run::program("mixture.c").ranks(7).arg("4").machine(machine).variable("XSIM_COMPUTE", "none"),
            times,
        );
        let (run, replay) = (simulated(&report_of(&trace)), replayed(&trace, &["-m", machine]));
        for what in ["messages", "bytes"] {
            assert_eq!(run[what], replay[what], "{what} with times {times}");
        }
        for function in ["MPI_Irecv", "MPI_Testall", "MPI_Allreduce", "MPI_Finalize"] {
            assert_eq!(
                run["functions"][function]["calls"], replay["functions"][function]["calls"],
                "{function}"
            );
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
        assert_eq!(
            takes(&trace, &["-m", "star:l=1us,b=8Gbps"]),
            3 * (1_000_000_000 + 2_000_000 + 1_000_000),
            "{times}"
        );
        assert_eq!(
            takes(&trace, &["-m", "star:l=10us,b=80Mbps"]),
            3 * (1_000_000_000 + 20_000_000 + 100_000_000),
            "{times}"
        );
        assert_eq!(
            takes(&trace, &["-m", "star:l=1us,b=8Gbps", "--compute", "none"]),
            3 * 3_000_000,
            "{times}"
        );
        assert_eq!(
            takes(&trace, &["-m", "star:l=1us,b=8Gbps", "--compute", "2.5"]),
            3 * (2_500_000_000 + 3_000_000),
            "{times}"
        );
    }
    let trace = recorded(run().machine("star:l=1us,b=8Gbps"), "exact");
    let output = replay(&trace, &["-m", "star:l=2us,b=8Gbps", "--compare"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    // MPI_Init, MPI_Comm_rank, MPI_Isend, and then the first receive, which ends 2 us later.
    assert!(
        text(&output).contains("rank 0, call 3, MPI_Recv") && text(&output).contains("steps.c:"),
        "{}",
        text(&output)
    );
    assert!(text(&output).contains("by up to 6us"), "{}", text(&output));
}

/// A trace with what `xsim trace scale` changes.
#[track_caller]
fn scaled(trace: &Path, args: &[&str]) -> PathBuf {
    let to = directory().join("scaled.trace");
    let output = command(&["trace", "scale", trace.to_str().unwrap(), "-o", to.to_str().unwrap()])
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    to
}

#[test]
fn other_computation_and_other_sizes_take_the_times_that_follow() {
    let source = directory().join("steps.c");
    std::fs::write(&source, STEPS).unwrap();
    let program = common::compile(source.to_str().unwrap(), &[]);
    let run =
        || Run::of(program.clone()).ranks(2).variable("XSIM_COMPUTE", "none").machine("star:l=1us,b=8Gbps");
    // Computation, two links of 1 us, a nanosecond a byte.
    let steps = |computed_ns: u64, bytes: u64| 3 * (computed_ns + 2_000 + bytes) * 1000;
    let (isend, ms) = ("steps.c:12", 1_000_000);
    for times in ["exact", "histogram"] {
        let trace = recorded(run(), times);
        for (args, time) in [
            (vec!["--compute", "0.5"], steps(ms / 2, 1000)),
            // Before MPI_Init, MPI_Comm_rank and MPI_Finalize, and before MPI_Isend and MPI_Wait: a receive
            // that is posted before its message is there does not wait for less.
            (vec!["--compute", "1us"], steps(2_000, 1000) + 3 * 1_000_000),
            (vec!["--compute", &format!("{isend}=0.25")], steps(ms / 4, 1000)),
            (vec!["--compute", &format!("{isend}=4ms")], steps(4 * ms, 1000)),
            (vec!["--compute", "main=none"], steps(0, 1000)),
            // Where nothing was computed, too; and what comes later holds.
            (vec!["--compute", "none", "--compute", "MPI_Wait=1us"], steps(1_000, 1000)),
            (vec!["--compute", "MPI_Wait=1us", "--compute", "none"], steps(0, 1000)),
            (vec!["--sizes", "3*bytes"], steps(ms, 3000)),
            (vec!["--sizes", "min(bytes, 0.5*kilo)"], steps(ms, 500)),
            (vec!["--compute", "2", "--sizes", "4096 * ranks"], steps(2 * ms, 8192)),
        ] {
            let machine = ["-m", "star:l=1us,b=8Gbps"];
            assert_eq!(takes(&trace, &[&machine, args.as_slice()].concat()), time, "{times} {args:?}");
            assert_eq!(takes(&scaled(&trace, &args), &machine), time, "{times} {args:?}, written");
        }
    }
    // A trace without times, of a program that computes as long as is said.
    let trace = recorded(run(), "none");
    assert_eq!(
        takes(&trace, &["-m", "star:l=1us,b=8Gbps", "--compute", "MPI_Isend=4ms"]),
        steps(4 * ms, 1000)
    );
}

#[test]
fn a_rank_fails_in_a_replay_when_it_would_in_the_run() {
    let source = directory().join("steps.c");
    std::fs::write(&source, STEPS).unwrap();
    let run =
        Run::of(common::compile(source.to_str().unwrap(), &[])).ranks(2).variable("XSIM_COMPUTE", "none");
    let trace = recorded(run.machine("star:l=1us,b=8Gbps"), "exact");
    let output = replay(&trace, &["-m", "star:l=1us,b=8Gbps", "--fail", "1@1.5ms"]);
    // EX_TEMPFAIL, as of a run (docs/reference/failures.md).
    assert_eq!(output.status.code(), Some(75), "{}", text(&output));
    assert!(text(&output).contains("rank 1 failed at 1.5ms"), "{}", text(&output));
    // Nobody is left to fail.
    assert!(replay(&trace, &["-m", "star:l=1us,b=8Gbps", "--fail", "1@1s"]).status.success());
}

const STEPS: &str = include_str!("programs/steps.c");

#[test]
fn what_cannot_be_replayed_is_refused_with_its_rank_call_and_place() {
    let trace =
        recorded(Run::program("traced.c").ranks(4).machine("none").variable("XSIM_COMPUTE", "none"), "none");
    let refused = |trace: &Path, args: &[&str], parts: &[&str]| {
        let output = replay(trace, args);
        assert!(!output.status.success(), "{args:?} is not refused");
        parts
            .iter()
            .for_each(|part| assert!(text(&output).contains(part), "'{part}' is missing: {}", text(&output)));
    };
    refused(&trace, &["-n", "8"], &["-n 8", "of 4 ranks"]);
    refused(&trace, &["-m", "star:2"], &["2"]);
    refused(&trace, &["--compute", "-1"], &["--compute -1", "factor"]);
    refused(
        &trace,
        &["--compute", "nowhere.c:3=0.5"],
        &["nothing in the trace is called at 'nowhere.c:3'", "xsim trace show"],
    );
    refused(&trace, &["--compute", "MPI_Recv=3 ounces"], &["--compute MPI_Recv=3 ounces", "3us"]);
    refused(&trace, &["--compare", "--compute", "0.5"], &["--compare", "leave --compute and --sizes out"]);
    refused(&trace, &["--sizes", "2 *"], &["--sizes:1:4: expected a formula"]);
    refused(
        &trace,
        &["--sizes", "2 * byte"],
        &["--sizes:1:5: nothing is called 'byte' here; did you mean 'bytes'?"],
    );
    refused(&trace, &["--sizes", "bytes / (bytes - 4)"], &["this is 0, and nothing can be divided by it"]);
    refused(&trace, &["--sizes", "bytes / 3"], &["MPI_Isend at", "4 bytes become 1.3", "floor()"]);
    refused(
        &trace,
        &["--sizes", "bytes + 2"],
        &["rank 0", "MPI_Isend at traced.c:15 ring", "its 4 bytes become 6", "4 * ceil(... / 4)"],
    );
    refused(&trace, &["--sizes", "-bytes"], &["4 bytes become -4, where 0 to 2^53 may be"]);
    refused(&trace, &["--sizes", "bytes * giga * 4"], &["elements are more than an int holds"]);
    refused(&trace, &["--compare"], &["exact times", "-xsim-trace-times exact"]);
    refused(
        &trace,
        &["--network-report", directory().join("net.json").to_str().unwrap()],
        &["packet networks"],
    );
    refused(Path::new("/nonexistent.trace"), &[], &["/nonexistent.trace", "cannot read"]);
    let damaged = trace.with_extension("damaged");
    let bytes = std::fs::read(&trace).unwrap();
    std::fs::write(&damaged, &bytes[..bytes.len() - 7]).unwrap();
    refused(&damaged, &[], &["cannot read the trace", "damaged"]);
    let source = directory().join("idup.c");
    std::fs::write(&source, IDUP).unwrap();
    let program = common::compile(source.to_str().unwrap(), &[]);
    let trace = recorded(Run::of(program).ranks(3).machine("none"), "none");
    refused(&trace, &[], &["rank 0", "MPI_Barrier at idup.c:10 main", "one of several MPI_Comm_idup"]);
    let output = replay(&trace, &["--without", "MPI_Barrier,MPI_Comm_free"]);
    assert!(output.status.success(), "calls that are left out are not refused: {}", text(&output));
    // Half of the messages are not there.
    let trace =
        recorded(Run::program("traced.c").ranks(4).machine("none").variable("XSIM_COMPUTE", "none"), "none");
    let half = trace.with_extension("half");
    let cut =
        command(&["trace", "cut", trace.to_str().unwrap(), "-o", half.to_str().unwrap(), "--ranks", "0-1"])
            .output()
            .unwrap();
    assert!(cut.status.success());
    refused(&half, &[], &["deadlock", "has calls of rank 0 and none of rank 2", "xsim trace cut --ranks"]);
}

const IDUP: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    MPI_Comm made; MPI_Request request;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(made);
    MPI_Comm_free(&made);
    MPI_Finalize();
    return 0;
}
"#;

/// Replays jobs and answers the report's simulated part.
#[track_caller]
fn replayed_jobs(jobs: &[String], args: &[&str]) -> Value {
    let report = directory().join("report.json");
    let output = command(&["replay", "--quiet=on", "--report", report.to_str().unwrap()])
        .args(jobs.iter().map(|job| format!("--job={job}")))
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    simulated(&report)
}

/// Returns when each job ended, beside the others and alone, in picoseconds.
fn ends(report: &Value) -> Vec<(u64, Option<u64>)> {
    let jobs = report["jobs"].as_array().unwrap();
    jobs.iter().map(|job| (job["virtual_time_ps"].as_u64().unwrap(), job["alone_ps"].as_u64())).collect()
}

const ONE_MESSAGE: &str = r#"
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    static char bytes[10000];
    int rank, count = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Send(bytes, count, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(bytes, count, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn jobs_on_one_machine_wait_for_each_others_packets() {
    let (short, long) = (one_message("1000", "none"), one_message("2000", "none"));
    // A row of four routers. A packet of 1000 bytes takes 1 us on a link and 0.1 us to its end, and is
    // forwarded whole.
    let line = "mesh:4,b=8Gbps,l=100ns,router=0ns,packet=1000,header=0,switching=saf,level=packet";
    // From endpoint 0 to 2 there are four links: 4.4 us. From 1 to 3 as well, and the second packet is 1 us
    // behind. That takes the link between the routers 1 and 2 from 2.1 to 3.1 us; the packet of the first job
    // comes to router 1 at 2.2 us and waits for 0.9 us.
    let jobs = [format!("{short}@0,2"), format!("{long}@1,3")];
    assert_eq!(
        ends(&replayed_jobs(&jobs, &["-m", line])),
        [(5_300_000, Some(4_400_000)), (5_400_000, Some(5_400_000))]
    );
    // Without a link in common, and where messages are formulas, nobody waits.
    let apart = [format!("{short}@0-1"), format!("{long}@2-3")];
    assert_eq!(
        ends(&replayed_jobs(&apart, &["-m", line])),
        [(3_300_000, Some(3_300_000)), (4_300_000, Some(4_300_000))]
    );
    let formula = "mesh:4,b=8Gbps,l=100ns";
    assert_eq!(
        ends(&replayed_jobs(&jobs, &["-m", formula])),
        [(1_200_000, Some(1_200_000)), (2_200_000, Some(2_200_000))]
    );
    let report = replayed_jobs(&jobs, &["-m", formula, "--together", "--profile"]);
    assert_eq!(ends(&report), [(1_200_000, None), (2_200_000, None)]);
    let sites =
        report["profile"]["sites"].as_array().unwrap().iter().filter(|site| site["function"] == "MPI_Send");
    let mut sites: Vec<_> = sites.map(|site| site["site"].as_str().unwrap()).collect();
    sites.sort_unstable();
    let mut expected = [&short, &long].map(|job| format!("{job}: message.c:10 main"));
    expected.sort_unstable();
    assert_eq!(sites, expected);
    assert_eq!(report["functions"]["MPI_Send"]["calls"], 2);
}

/// A loop ends behind another one with a receive that is alike those with which both begin.
#[test]
fn loops_in_the_middle_of_an_exchange_are_replayed_call_by_call() {
    let run = Run::program("nested.c").ranks(2).machine("star:l=1us").variable("XSIM_COMPUTE", "none");
    let trace = recorded(run, "exact");
    let output = command(&["replay", trace.to_str().unwrap(), "-m", "star:l=1us", "--compare", "--quiet=on"])
        .output()
        .unwrap();
    assert!(output.status.success() && text(&output).contains("all 666 calls ended"), "{}", text(&output));
}

/// A trace of a message of so many bytes from rank 0 to rank 1, which compute nothing.
fn one_message(bytes: &str, times: &str) -> String {
    let source = directory().join("message.c");
    std::fs::write(&source, ONE_MESSAGE).unwrap();
    let run = Run::of(common::compile(source.to_str().unwrap(), &[])).ranks(2).arg(bytes).machine("none");
    recorded(run.variable("XSIM_COMPUTE", "none"), times).display().to_string()
}

/// The line of routers is that of the test above: what a job takes is told from its own beginning on.
#[test]
fn jobs_begin_when_they_are_told_to() {
    let (short, long) = (one_message("1000", "none"), one_message("2000", "none"));
    let line = "mesh:4,b=8Gbps,l=100ns,router=0ns,packet=1000,header=0,switching=saf,level=packet";
    let replayed = |delays: [&str; 2]| {
        let report = replayed_jobs(
            &[format!("{short}@0,2{}", delays[0]), format!("{long}@1,3{}", delays[1])],
            &["-m", line],
        );
        let begins: Vec<_> =
            report["jobs"].as_array().unwrap().iter().map(|job| job["begin_ps"].as_u64()).collect();
        (ends(&report), begins, report["virtual_time_ps"].as_u64().unwrap())
    };
    // Out of each other's way.
    let alone = vec![(4_400_000, Some(4_400_000)), (5_400_000, Some(5_400_000))];
    assert_eq!(replayed(["", "+10us"]), (alone.clone(), vec![None, Some(10_000_000)], 15_400_000));
    assert_eq!(replayed(["+0.1ms", "+2us"]), (alone, vec![Some(100_000_000), Some(2_000_000)], 104_400_000));
    // The first packet of the second job has the link between routers 1 and 2 from 2.1 to 3.1 us, the packet
    // of the first job, which comes at 2.2 us, then until 4.1 us, and the second packet of the second job,
    // which comes at 3.1 us, behind it.
    assert_eq!(replayed(["", "+1us"]).0, [(5_300_000, Some(4_400_000)), (6_400_000, Some(5_400_000))]);
    // A file's name may have the sign.
    let named = directory().join("a+5us");
    std::fs::copy(&short, &named).unwrap();
    let named = named.display();
    let begins = |jobs: &[String]| replayed_jobs(jobs, &["-m", line])["jobs"][0]["begin_ps"].as_u64();
    assert_eq!(begins(&[format!("{named}@next")]), None);
    assert_eq!(begins(&[format!("{named}+7us")]), Some(7_000_000));
    assert_eq!(begins(&[format!("{short}+7us"), format!("{long}@random:3+1us")]), Some(7_000_000));
}

#[test]
fn clocks_of_jobs_are_compared_with_their_recordings() {
    let machine = "mesh:8,l=500ns,b=10Gbps/rank:o_send=0.4us,eager=1000";
    let record = |program: &str, seed: &str| {
        let run = Run::program(program).ranks(6).arg(seed).arg("4").machine(machine);
        recorded(run.variable("XSIM_COMPUTE", "fixed:100ns"), "exact").display().to_string()
    };
    let (one, other) = (record("random_orders.c", "52"), record("random_program.c", "53"));
    let compared = |jobs: [String; 2], machine: &str| {
        let jobs = jobs.map(|job| format!("--job={job}"));
        let output =
            command(&["replay", "--compare", "--quiet=on", "-m", machine]).args(jobs).output().unwrap();
        (output.status.code(), text(&output))
    };
    // Each is on the first routers of a row, as in its recording, and later than there.
    let wide = "mesh:16,l=500ns,b=10Gbps/rank:o_send=0.4us,eager=1000";
    let (code, said) = compared([format!("{one}@0-5"), format!("{other}@6-11+3ms")], wide);
    assert_eq!(code, Some(0), "{said}");
    for (number, trace) in [(1, &one), (2, &other)] {
        let line = said
            .lines()
            .find(|line| line.contains(&format!("job {number}, {trace}: all ")))
            .unwrap_or_else(|| panic!("{said}"));
        assert!(line.ends_with("calls ended when they did in the recording"), "{line}");
    }
    // In another order ranks are further from each other.
    let (code, said) = compared([format!("{one}@0-5"), format!("{other}@6,15,7,14,8,13")], wide);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains(&format!("job 1, {one}: all ")) && said.contains(&format!("job 2, {other}: ")),
        "{said}"
    );
    assert!(said.contains("calls ended at other times") && said.contains("in the recording"), "{said}");
}

/// Each job has its own world: collectives, communicators and wildcards of one do not meet those of another.
#[test]
fn jobs_do_not_disturb_each_other_where_nothing_is_shared() {
    let machine = "star:l=0.5us,b=100Gbps";
    let record = |program: &str, ranks: u32, args: &[&str]| {
        let run = args.iter().fold(Run::program(program).ranks(ranks), |run, arg| run.arg(*arg));
        recorded(run.machine(machine).variable("XSIM_COMPUTE", "fixed:100ns"), "exact")
    };
    let traces = [
        record("mixture.c", 7, &["4"]),
        record("neighborhoods.c", 9, &[]),
        record("random_orders.c", 6, &["51", "4"]),
    ];
    let expected =
        traces.iter().map(|trace| simulated(&report_of(trace))["virtual_time_ps"].as_u64().unwrap());
    let expected: Vec<_> = expected.map(|end| (end, Some(end))).collect();
    let shares = ["random:7", "next", "20-25"];
    let jobs: Vec<String> =
        traces.iter().zip(shares).map(|(trace, share)| format!("{}@{share}", trace.display())).collect();
    assert_eq!(ends(&replayed_jobs(&jobs, &["-m", machine, "--wildcards", "open"])), expected);
}

#[test]
fn jobs_that_do_not_fit_say_why() {
    let trace = recorded(
        Run::program("mixture.c").ranks(4).arg("4").machine("none").variable("XSIM_COMPUTE", "none"),
        "none",
    );
    let trace = trace.display();
    let refused = |args: &[&str], parts: &[&str]| {
        let output = command(&["replay", "--quiet=on"]).args(args).output().unwrap();
        assert!(!output.status.success(), "{args:?} is not refused");
        parts
            .iter()
            .for_each(|part| assert!(text(&output).contains(part), "'{part}' is missing: {}", text(&output)));
    };
    let job = |share: &str| format!("--job={trace}@{share}");
    refused(&[&job("0-3"), &job("3-6"), "-m", "star:16"], &["job 2", "endpoint 3", "job 1"]);
    refused(&[&job("0-3"), &job("14-17"), "-m", "star:16"], &["16 endpoints", "up to 17"]);
    refused(&[&job("next"), &job("next"), "-m", "star:6"], &["6"]);
    refused(&[&job("random:x")], &["random:x", "no seed"]);
    refused(&[&job("0-2")], &["3 endpoints are named for its 4 ranks"]);
    refused(&["--job=/nonexistent.trace"], &["/nonexistent.trace", "cannot read"]);
    refused(&[&job("0-3"), "--compare"], &["exact times"]);
    refused(&[&job("0-3"), "--compare", "--compute", "2"], &["--compare", "--compute"]);
    refused(&[&job("0-3+5")], &["0-3+5", "time"]);
    refused(&[&job("0-3+soon")], &["soon"]);
    refused(&[], &["TRACE"]);
}

#[test]
fn one_trace_on_several_machines_says_which_is_fastest_and_why() {
    let trace = recorded(Run::of(compile("examples/c/ring.c", &[])).ranks(4), "exact");
    let directory = directory();
    let (json, report) = (directory.join("table.json"), directory.join("report.json"));
    let (json_option, machines) = (format!("--json={}", json.display()), "ethernet,default");
    let output = replay(
        &trace,
        &["--on", machines, &json_option, "--compute", "none", "--report", report.to_str().unwrap()],
    );
    assert!(output.status.success(), "{}", text(&output));
    let said = text(&output);
    assert!(said.contains("default is fastest, ") && said.contains("on ethernet a rank is "), "{said}");
    let table: Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    let times: Vec<u64> =
        table.as_array().unwrap().iter().map(|row| row["virtual_time_ps"].as_u64().unwrap()).collect();
    let alone = |machine: &str| {
        replayed(&trace, &["-m", machine, "--compute", "none"])["virtual_time_ps"].as_u64().unwrap()
    };
    assert_eq!(times, [alone("ethernet"), alone("default")]);
    assert_eq!(simulated(&report)["virtual_time_ps"].as_u64(), Some(times[0]), "the first run's report");
    for (args, parts) in [
        (&["--on", "ethernet"][..], &["--on compares at least two machines"][..]),
        (&["--on", machines, "-m", "default"], &["--on"]),
        (&["--on", machines, "--compare"], &["--on", "--compare"]),
        (&["--json"], &["--on"]),
    ] {
        let output = replay(&trace, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        parts.iter().for_each(|part| assert!(text(&output).contains(part), "{args:?}: {}", text(&output)));
    }
}

#[test]
fn communicators_that_idup_makes_are_replayed() {
    for ranks in [1, 2, 5, 12] {
        for machine in ["star:l=1us,b=1Gbps", "mesh:4x3,l=1us,b=1Gbps,level=packet"] {
            for compute in ["none", "fixed:300ns"] {
                let run = Run::program("replayed_copies.c").ranks(ranks).variable("XSIM_COMPUTE", compute);
                same(run, machine, "copies");
                let unused = Run::program("replayed_copies.c").ranks(ranks).arg("unused");
                same(unused.variable("XSIM_COMPUTE", compute), machine, "an unused copy");
            }
        }
    }
}

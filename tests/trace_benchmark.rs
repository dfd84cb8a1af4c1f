//! Benchmarks from traces: C that makes the calls of a recorded run again, under xsim and under the machine's
//! MPIs.

mod common;

use common::{Run, clean, command, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

const MACHINE: &str = "star:l=1us,b=8Gbps";

fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("benchmark-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// Runs it with a trace: the file, and the virtual time in picoseconds.
#[track_caller]
fn recorded(run: Run, times: &str) -> (PathBuf, u64) {
    let path = directory().join("run.trace");
    let report = path.with_extension("json");
    let run = run.arg(format!("-xsim-trace={}", path.display())).arg(format!("-xsim-trace-times={times}"));
    run.arg(format!("-xsim-report={}", report.display())).machine(MACHINE).run().success();
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    (path, report["simulated"]["virtual_time_ps"].as_u64().unwrap())
}

/// `xsim trace benchmark`: the directory.
fn generate(trace: &Path, args: &[&str]) -> PathBuf {
    let to = directory();
    let output = command(&["trace", "benchmark", trace.to_str().unwrap(), "-o", to.to_str().unwrap()])
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    to
}

/// Compiles it without a warning.
#[track_caller]
fn built(benchmark: &Path, compiler: &str, flags: &[&str]) -> PathBuf {
    let program = benchmark.join("benchmark");
    let mut compile = if compiler == "xsim" { command(&["cc"]) } else { Command::new(compiler) };
    let mut sources = vec![benchmark.join("main.c"), benchmark.join("util.c")];
    let times = benchmark.join("times.c");
    if times.exists() {
        sources.push(times);
        compile.arg(format!("-DTIMES=\"{}\"", benchmark.join("times.txt").display()));
    }
    let output = compile
        .args(["-O2", "-std=c99", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .args(sources)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

fn is_same(a: &Path, b: &Path) -> Result<(), String> {
    let output = command(&["trace", "diff", a.to_str().unwrap(), b.to_str().unwrap()]).output().unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stdout).into_owned()) }
}

/// Returns what was recorded, what the benchmark of it does, and their virtual times.
#[track_caller]
fn again(run: Run, ranks: u32, times: &str, args: &[&str]) -> ((PathBuf, u64), (PathBuf, u64)) {
    let first = recorded(run.ranks(ranks), times);
    let program = built(&generate(&first.0, args), "xsim", &[]);
    let second = recorded(Run::of(program).ranks(ranks).variable("XSIM_COMPUTE", "none"), "exact");
    (first, second)
}

#[track_caller]
fn makes_the_same_calls_in_the_same_time(run: Run, ranks: u32, what: &str) {
    let ((first, time), (second, other)) = again(run, ranks, "exact", &["--times", "drawn"]);
    is_same(&first, &second).unwrap_or_else(|why| panic!("{what} on {ranks} ranks:\n{why}"));
    assert_eq!(time, other, "virtual time of {what} on {ranks} ranks");
}

/// Messages, wildcards, probes, tests, collectives and communicators; where ranks do the same from the same
/// place they compute for as long.
#[test]
fn a_benchmark_makes_the_calls_of_the_program() {
    // Parts of this one are not recorded, and take time.
    let ((first, _), (second, _)) =
        again(Run::program("traced.c").variable("XSIM_COMPUTE", "none"), 4, "exact", &[]);
    is_same(&first, &second).unwrap();
    for (seed, ranks) in (3..).zip([7, 16, 2, 1, 5]) {
        let run = Run::program("mixture.c").arg(seed.to_string()).variable("XSIM_COMPUTE", "fixed:100ns");
        makes_the_same_calls_in_the_same_time(run, ranks, &format!("mixture {seed}"));
    }
    makes_the_same_calls_in_the_same_time(
        Run::program("neighborhoods.c").variable("XSIM_COMPUTE", "none"),
        5,
        "neighborhoods",
    );
}

/// Its functions are the benchmark's, which copies attributes.
#[test]
fn attributes_error_handlers_and_ranges_are_made_again() {
    for ranks in [1, 2, 5, 8] {
        let run = Run::program("inherited.c").variable("XSIM_COMPUTE", "fixed:100ns");
        makes_the_same_calls_in_the_same_time(run, ranks, "attributes");
    }
}

#[test]
fn intercommunicators_are_made_again() {
    for (seed, ranks) in (20..).zip([6, 9, 3, 13]) {
        let run = Run::program("random_bridges.c").arg(seed.to_string()).arg("4").arg("named");
        let run = run.variable("XSIM_COMPUTE", "fixed:100ns");
        let ((first, time), (second, other)) = again(run, ranks, "exact", &[]);
        is_same(&first, &second).unwrap_or_else(|why| panic!("bridges {seed} on {ranks} ranks:\n{why}"));
        assert_eq!(time, other, "virtual time of bridges {seed} on {ranks} ranks");
    }
}

/// Sweeps whose faces have other sizes for each rank and stage: loops in the trace, and in the program,
/// however many ranks there are.
#[test]
fn a_benchmark_has_loops_whose_turns_differ() {
    let sweeps = |ranks: u32| {
        Run::program("sweeps.c").ranks(ranks).arg("46").arg("2").variable("XSIM_COMPUTE", "fixed:100ns")
    };
    let lines = |ranks: u32| {
        let (trace, _) = recorded(sweeps(ranks), "exact");
        let main = std::fs::read_to_string(generate(&trace, &[]).join("main.c")).unwrap();
        main.lines().skip_while(|line| !line.starts_with("int main")).count()
    };
    assert_eq!(lines(16), lines(144));
    makes_the_same_calls_in_the_same_time(sweeps(16), 16, "sweeps");
    makes_the_same_calls_in_the_same_time(sweeps(36), 36, "sweeps");
}

/// Twice the sizes on both sides of each message and of each block: the benchmark of that is a program
/// without errors, and does what the trace has. (Programs that poll find other things where messages take
/// other times.)
#[test]
fn a_benchmark_of_a_scaled_trace_makes_its_calls() {
    let (first, _) =
        recorded(Run::program("neighborhoods.c").ranks(5).variable("XSIM_COMPUTE", "none"), "exact");
    let scaled = directory().join("scaled.trace");
    let args = [
        "trace",
        "scale",
        first.to_str().unwrap(),
        "-o",
        scaled.to_str().unwrap(),
        "--sizes",
        "2*bytes",
        "--compute",
        "1us",
    ];
    let output = command(&args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = built(&generate(&scaled, &[]), "xsim", &[]);
    let (second, _) = recorded(Run::of(program).ranks(5).variable("XSIM_COMPUTE", "none"), "exact");
    is_same(&scaled, &second).unwrap();
    assert!(is_same(&first, &second).is_err(), "other sizes");
}

/// All that MPI has, on communicators that come and go. Left out are seeds where what a rank computes on one
/// way differs from time to time: that is drawn, and polls find other things then.
#[test]
fn random_programs_are_made_again() {
    for (seed, ranks) in [
        (1, 1),
        (2, 2),
        (3, 3),
        (4, 4),
        (6, 6),
        (11, 11),
        (13, 13),
        (14, 14),
        (15, 15),
        (16, 16),
        (1, 13),
        (2, 13),
        (4, 13),
    ] {
        let run = Run::program("random_program.c")
            .arg(seed.to_string())
            .arg("10")
            .variable("XSIM_COMPUTE", "fixed:100ns");
        makes_the_same_calls_in_the_same_time(run, ranks, &format!("seed {seed}"));
    }
}

const WEIGHTED: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, size;
    MPI_Comm ring, star;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int before = (rank + size - 1) % size, next = (rank + 1) % size, from = 100 + before, to = 100 + rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &from, 1, &next, &to, MPI_INFO_NULL, 0, &ring);
    int degree = size - 1, others[64], weights[64];
    for (int k = 0; k < degree; k++) {
        others[k] = k + 1;
        weights[k] = 7 * k - 3;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0, &rank, &degree, others,
                          rank == 0 ? weights : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &star);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&star);
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn weights_of_graphs_are_recorded_and_given_again() {
    let source = directory().join("weighted.c");
    std::fs::write(&source, WEIGHTED).unwrap();
    let run = Run::of(common::compile(source.to_str().unwrap(), &[])).variable("XSIM_COMPUTE", "none");
    let ((first, _), (second, _)) = again(run, 5, "exact", &[]);
    is_same(&first, &second).unwrap();
    let shown = command(&["trace", "show", "--rank", "0", second.to_str().unwrap()]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    for part in ["sourceweights=[104]", "destweights=[100]", "weights=[-3, 4, 11, 18]"] {
        assert!(shown.contains(part), "'{part}' is missing: {shown}");
    }
}

#[test]
fn it_is_as_long_on_any_number_of_ranks() {
    let lines = |ranks: u32| {
        let program = common::compile("benches/programs/patterns.c", &[]);
        let (trace, _) = recorded(
            Run::of(program).ranks(ranks).arg("faces").arg("5").variable("XSIM_COMPUTE", "none"),
            "histogram",
        );
        std::fs::read_to_string(generate(&trace, &[]).join("main.c")).unwrap().lines().count()
    };
    // 27 ranks are the least of which each has six different neighbours.
    assert_eq!(lines(27), lines(1000));
}

/// From histograms a rank computes as long as ranks did on the mean.
#[test]
fn computation_is_that_of_the_recording() {
    let run = Run::program("mixture.c").arg("4").variable("XSIM_COMPUTE", "fixed:1us");
    let ((_, time), (_, other)) = again(run, 7, "histogram", &[]);
    let error = (other as f64 / time as f64 - 1.0).abs();
    assert!(error < 0.2, "{time} ps and {other} ps");
    let ((_, time), (_, other)) =
        again(Run::program("mixture.c").arg("4").variable("XSIM_COMPUTE", "fixed:1us"), 7, "none", &[]);
    assert!(other < time, "nothing is computed without times: {time} ps and {other} ps");
}

/// Work of several sizes between the same two call sites, and a rank that is slow each time.
#[test]
fn histograms_tell_work_of_other_sizes_and_slow_ranks_apart() {
    let run = || Run::program("uneven.c").variable("XSIM_COMPUTE", "none");
    let ((first, time), (_, other)) = again(run(), 8, "histogram", &[]);
    let error = (other as f64 / time as f64 - 1.0).abs();
    assert!(error < 0.02, "{time} ps and {other} ps");
    let shown = command(&["trace", "show", first.to_str().unwrap()]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    for part in ["(kind 1)", "; ranks -20 to +140 %"] {
        assert!(shown.contains(part), "'{part}' is missing: {shown}");
    }
    // A replay draws from the same histograms.
    let report = directory().join("report.json");
    let args = [
        "replay",
        first.to_str().unwrap(),
        "-m",
        MACHINE,
        "--quiet=on",
        "--report",
        report.to_str().unwrap(),
    ];
    let output = command(&args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let replayed = report["simulated"]["virtual_time_ps"].as_u64().unwrap();
    assert!((replayed as f64 / time as f64 - 1.0).abs() < 0.02, "{time} ps and {replayed} ps");
}

/// Runs the benchmark of a trace with histograms, and the replay of it: each takes the time of the run to
/// within so many percent.
#[track_caller]
fn drawn_times_take_that_of_the_run(mode: &str, percent: f64) {
    let run = Run::program("wrapped.c").arg(mode).variable("XSIM_COMPUTE", "none");
    let ((first, time), (second, other)) = again(run, 16, "histogram", &[]);
    is_same(&first, &second).unwrap_or_else(|why| panic!("{mode}: {why}"));
    let report = first.with_extension("replay.json");
    let arguments = ["replay", first.to_str().unwrap(), "-m", MACHINE, "--quiet=on", "--report"];
    assert!(command(&arguments).arg(&report).output().unwrap().status.success());
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let replayed = report["simulated"]["virtual_time_ps"].as_u64().unwrap();
    for (what, other) in [("benchmark", other), ("replay", replayed)] {
        let error = (other as f64 / time as f64 - 1.0) * 100.0;
        assert!(error.abs() < percent, "{mode}: the {what} is off by {error:.1} %");
    }
}

#[test]
fn histograms_tell_calls_through_a_wrapper_apart() {
    drawn_times_take_that_of_the_run("wrapper", 0.5);
}

#[test]
fn histograms_tell_levels_of_a_multigrid_apart() {
    drawn_times_take_that_of_the_run("levels", 0.5);
}

#[test]
fn histograms_tell_phases_with_the_same_calls_apart() {
    // Equal calls in a row are of one kind.
    drawn_times_take_that_of_the_run("phases", 5.0);
}

#[test]
fn histograms_keep_slow_steps_of_all_ranks_together() {
    drawn_times_take_that_of_the_run("steps", 10.0);
}

#[test]
fn histograms_keep_first_times_apart() {
    drawn_times_take_that_of_the_run("first", 0.5);
}

#[test]
fn averaged_all_to_all_calls_are_one_loop() {
    let source = directory().join("irregular.c");
    std::fs::write(&source, IRREGULAR).unwrap();
    let run = Run::of(common::compile(source.to_str().unwrap(), &[])).variable("XSIM_COMPUTE", "none");
    let (trace, _) = recorded(run.ranks(4), "histogram");
    let benchmark = generate(&trace, &["--average"]);
    let text = std::fs::read_to_string(benchmark.join("main.c")).unwrap();
    // Every rank sends 10 elements to each other on the mean, in each of 8 iterations.
    assert_eq!(text.matches("  MPI_Alltoall(").count(), 1, "{text}");
    assert!(text.contains("< 8;") && text.contains("MPI_Alltoall(out(0, 160), 10, MPI_INT"), "{text}");
    assert!(!text.contains("MPI_Alltoallv("), "{text}");
    built(&benchmark, "xsim", &[]);
}

const IRREGULAR: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, counts[4], places[4], out[80], in[80];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 8; i++) {
        /* As many elements go to a rank as come from it. */
        for (int k = 0; k < 4; k++) {
            counts[k] = 10 + ((rank + k + i) % 2 ? 1 : -1) * (i % 3);
            places[k] = 20 * k;
        }
        MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn a_probe_of_any_message_has_room_for_what_it_finds_elsewhere() {
    let source = directory().join("probes.c");
    std::fs::write(&source, PROBES).unwrap();
    let run = || Run::of(common::compile(source.to_str().unwrap(), &[])).variable("XSIM_COMPUTE", "none");
    let ((first, _), (second, _)) = again(run(), 4, "none", &[]);
    is_same(&first, &second).unwrap();
    let text = std::fs::read_to_string(generate(&first, &[]).join("main.c")).unwrap();
    assert!(text.contains("MPI_Mrecv(in(0, span((size_t)probed_count("), "{text}");
    // On another machine messages come in another order.
    let program = built(&generate(&first, &[]), "xsim", &[]);
    for machine in ["none", "ring:l=10us,b=1Mbps"] {
        Run::of(program.clone()).ranks(4).machine(machine).variable("XSIM_COMPUTE", "none").run().success();
    }
}

#[test]
fn copied_communicators_are_those_that_ranks_use_next() {
    let source = directory().join("copies.c");
    std::fs::write(&source, COPIES).unwrap();
    let run = || Run::of(common::compile(source.to_str().unwrap(), &[])).variable("XSIM_COMPUTE", "none");
    let ((first, _), (second, _)) = again(run(), 6, "none", &[]);
    is_same(&first, &second).unwrap();
    let text = std::fs::read_to_string(generate(&first, &[]).join("main.c")).unwrap();
    assert_eq!(text.matches("  MPI_Comm_idup(").count(), 3, "{text}");
}

const COPIES: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, sum;
    MPI_Comm half, all, copies[2];
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    /* The ranks use the copies in the other order. */
    MPI_Comm_idup(half, &copies[0], &requests[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &copies[1], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copies[1]);
    MPI_Bcast(&rank, 1, MPI_INT, 2, copies[0]);
    MPI_Comm_free(&copies[1]);
    MPI_Comm_idup(copies[0], &all, &requests[0]);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Comm_free(&copies[0]);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
"#;

const PROBES: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    static char data[100000];
    int rank, count;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank) {
        MPI_Send(data, 100000 / rank / rank, MPI_CHAR, 0, rank, MPI_COMM_WORLD);
    } else for (int i = 0; i < 3; i++) {
        MPI_Message message;
        MPI_Status status;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_CHAR, &count);
        MPI_Mrecv(data, count, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
"#;

/// Times that differ between iterations and ranks are those of the recording, one by one.
#[test]
fn each_time_is_that_of_the_recording() {
    for (name, ranks) in [("mixture.c", 7), ("random_program.c", 5), ("mixture.c", 1)] {
        let run = Run::program(name).arg("3").arg("20").variable("XSIM_COMPUTE", "measured");
        let ((first, time), (second, other)) = again(run, ranks, "exact", &[]);
        is_same(&first, &second).unwrap_or_else(|why| panic!("{name} on {ranks} ranks:\n{why}"));
        assert_eq!(time, other, "virtual time of {name} on {ranks} ranks");
    }
    let (histograms, _) = recorded(Run::program("mixture.c").arg("4").ranks(7), "histogram");
    let to = directory();
    let refused = command(&[
        "trace",
        "benchmark",
        histograms.to_str().unwrap(),
        "-o",
        to.to_str().unwrap(),
        "--times",
        "each",
    ])
    .output()
    .unwrap();
    assert!(
        !refused.status.success()
            && String::from_utf8_lossy(&refused.stderr).contains("-xsim-trace-times exact")
    );
}

/// Calls by function, all ranks together, of what a benchmark compiled with -DCOUNT prints or `xsim trace
/// stat` tells.
fn counts(text: &str) -> Vec<(String, u64)> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next().filter(|name| name.starts_with("MPI_"))?;
        Some((name.to_owned(), words.next()?.parse().ok()?))
    };
    let mut all: Vec<_> = text.lines().filter_map(row).collect();
    all.sort();
    all
}

#[test]
fn other_implementations_make_as_many_calls() {
    make_as_many_calls("traced.c", ("MPI_Isend", 140));
    make_as_many_calls("inherited.c", ("MPI_Comm_get_attr", 16));
}

#[track_caller]
fn make_as_many_calls(program: &str, (function, calls): (&str, u64)) {
    let (trace, _) = recorded(Run::program(program).ranks(4).variable("XSIM_COMPUTE", "none"), "none");
    let told = command(&["trace", "stat", trace.to_str().unwrap()]).output().unwrap();
    let expected = counts(std::str::from_utf8(&told.stdout).unwrap());
    assert!(expected.contains(&(function.to_owned(), calls)), "{expected:?}");
    for (compiler, launcher) in [("mpicc.mpich", "mpirun.mpich"), ("mpicc.openmpi", "mpirun.openmpi")] {
        let program = built(&generate(&trace, &[]), compiler, &["-DCOUNT"]);
        let mut run = Command::new(launcher);
        clean(&mut run).env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        if launcher.ends_with("openmpi") {
            run.arg("--oversubscribe");
        }
        let output = run.args(["-n", "4"]).arg(&program).output().unwrap();
        assert!(output.status.success(), "{launcher}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(counts(std::str::from_utf8(&output.stdout).unwrap()), expected, "{launcher}");
    }
}

#[test]
fn other_implementations_take_random_programs_without_a_warning() {
    for seed in [3, 15] {
        let run = Run::program("random_program.c")
            .ranks(13)
            .arg(seed.to_string())
            .arg("20")
            .variable("XSIM_COMPUTE", "fixed:100ns");
        let (trace, _) = recorded(run, "histogram");
        for compiler in ["mpicc.mpich", "mpicc.openmpi"] {
            for args in [&["--datatypes", "size"], &["--datatypes", "structure"]] {
                built(&generate(&trace, args), compiler, &[]);
            }
        }
    }
}

#[test]
fn files_that_are_there_are_replaced_only_by_force() {
    let (trace, _) = recorded(Run::of(common::compile("examples/c/ring.c", &[])).ranks(2), "none");
    let to = directory().join("mine");
    std::fs::create_dir_all(&to).unwrap();
    let foreign = to.with_file_name("foreign.txt");
    std::fs::write(&foreign, "foreign").unwrap();
    std::os::unix::fs::symlink(&foreign, to.join("util.c")).unwrap();
    let generated = |args: &[&str]| {
        command(&["trace", "benchmark", trace.to_str().unwrap(), "-o", to.to_str().unwrap()])
            .args(args)
            .output()
            .unwrap()
    };
    let refused = generated(&[]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        refused.status.code() == Some(2)
            && why.contains("util.c is there already")
            && why.contains("--force"),
        "{why}"
    );
    assert!(!to.join("main.c").exists(), "nothing is written of what is refused");
    assert!(generated(&["--force"]).status.success());
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "foreign", "a link is replaced and not followed");
    assert!(std::fs::read_to_string(to.join("util.c")).unwrap().contains("MPI"));
}

#[test]
fn an_obfuscated_benchmark_has_no_names() {
    let (trace, _) = recorded(Run::program("traced.c").ranks(4), "histogram");
    let names = |args: &[&str]| {
        let directory = generate(&trace, args);
        let text: String = ["main.c", "main.h", "README"]
            .map(|file| std::fs::read_to_string(directory.join(file)).unwrap())
            .concat();
        (text.contains("traced.c"), text.contains("run.trace"))
    };
    assert_eq!(names(&[]), (true, true));
    assert_eq!(names(&["--obfuscate"]), (false, false));
}

#[test]
fn what_cannot_be_generated_is_named_with_a_way_out() {
    let refused = |run: Run, args: &[&str], says: &[&str]| {
        let (trace, _) = recorded(run, "none");
        let output = command(&["trace", "benchmark", trace.to_str().unwrap(), "-o", "/dev/null/a"])
            .args(args)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && says.iter().all(|says| text.contains(says)), "{text}");
    };
    refused(
        Run::program("rma.c").ranks(4).arg("fences"),
        &[],
        &["rank 0, MPI_Win_", "rma.c:", "one-sided communication is not generated", "--without"],
    );
    refused(Run::program("traced.c").ranks(4), &[], &["'/dev/null/a' cannot be made: Not a directory"]);
}

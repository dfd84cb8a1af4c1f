//! Ranks without a program on several native processes: replays of traces and models in Aspen give the same
//! bytes as on one.

mod common;

use common::{Run, clean, command, launched, native, root, scratch, xsim};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("replay-native-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// Runs a command of xsim's on so many processes: on one without a launcher.
fn on(mpi: &'static str, count: u32, args: &[&str]) -> Output {
    if count == 1 {
        return command(args).output().unwrap();
    }
    native(mpi);
    let mut command = launched(mpi, count, &directory(), xsim());
    clean(&mut command).args(args).output().unwrap()
}

#[test]
fn a_command_found_through_path_finds_its_libraries() {
    let trace = recorded(Run::program("traced.c").ranks(4), "none");
    for mpi in ["mpich", "openmpi"] {
        native(mpi);
        let mut command = launched(mpi, 2, &directory(), Path::new("xsim"));
        let path = format!("{}:{}", xsim().parent().unwrap().display(), std::env::var("PATH").unwrap());
        let output = clean(&mut command).env("PATH", path).args(["replay", trace.to_str().unwrap()]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{mpi}: {}", text(&output));
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The simulated part of the report that a command writes, in words, and what it said.
#[track_caller]
fn simulated(mpi: &'static str, count: u32, args: &[&str]) -> (String, String) {
    let report = directory().join("report.json");
    let output = on(mpi, count, &[args, &["--quiet=on", "--report", report.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{count} processes: {}", text(&output));
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(report["host"]["native_processes"], count);
    (serde_json::to_string_pretty(&report["simulated"]).unwrap(), text(&output))
}

#[track_caller]
fn recorded(run: Run, machine: &str) -> PathBuf {
    recorded_with(run, machine, "fixed:100ns")
}

#[track_caller]
fn recorded_with(run: Run, machine: &str, compute: &str) -> PathBuf {
    let path = directory().join("run.trace");
    let run =
        run.machine(machine).arg(format!("-xsim-trace={}", path.display())).arg("-xsim-trace-times=exact");
    run.variable("XSIM_COMPUTE", compute).run().success();
    path
}

/// Whatever is told of a replay is the same on each of these numbers of processes, and every call ends when
/// it did in the recording.
#[track_caller]
fn same(trace: &Path, machine: &str, mpi: &'static str, counts: &[u32]) {
    let told = |count: u32| {
        let timeline = directory().join("timeline.json");
        let trace = trace.to_str().unwrap();
        let args = [
            "replay",
            trace,
            "-m",
            machine,
            "--compare",
            "--profile",
            "--critical-path",
            "--timeline",
            timeline.to_str().unwrap(),
        ];
        let (report, said) = simulated(mpi, count, &args);
        assert!(said.contains("calls ended when they did in the recording"), "{said}");
        (report, said, std::fs::read_to_string(timeline).unwrap())
    };
    let one = told(1);
    for &count in counts {
        let several = told(count);
        assert_eq!(several.0, one.0, "the report on {count} processes, {machine}");
        assert_eq!(several.1, one.1, "what was said on {count} processes, {machine}");
        assert!(several.2 == one.2, "the timeline on {count} processes, {machine}");
    }
}

const MACHINES: [&str; 4] = [
    "star:l=0.5us,b=100Gbps",
    "torus:4x4,l=1us,b=8Gbps/rank:o_send=0.4us,o_recv=0.3us,eager=1000",
    "star:l=1us/rank:eager=0",
    "tree:degree=3,l=100ns,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us,eager=1000",
];

fn random(seed: usize, ranks: u32) -> Run {
    Run::program("random_program.c").ranks(ranks).arg(seed.to_string()).arg("12")
}

#[test]
fn replays_of_random_programs_give_the_same_bytes_on_any_number_of_processes() {
    for (seed, (machine, (ranks, count))) in
        (60..).zip(MACHINES.iter().zip([(16, 4), (9, 2), (13, 3), (5, 4)]))
    {
        same(&recorded(random(seed, ranks), machine), machine, "mpich", &[count]);
    }
}

/// Replays programs whose ranks depend on each other's times; receives from any source are decided again.
#[test]
fn so_do_replays_that_hang_on_their_order() {
    for (seed, (machine, (ranks, count))) in
        (70..).zip(MACHINES.iter().zip([(64, 2), (6, 4), (12, 3), (1, 2)]))
    {
        let run = Run::program("random_orders.c").ranks(ranks).arg(seed.to_string()).arg("4");
        same(&recorded(run, machine), machine, "mpich", &[count]);
    }
}

/// Replays equal messages that follow one another without recorders, so that they are sent together.
#[test]
fn so_do_messages_that_are_alike_without_recorders() {
    for (machine, ranks) in MACHINES.iter().zip([6, 5, 8, 7]) {
        for compute in ["none", "fixed:20ns"] {
            let run = Run::program("series.c").ranks(ranks);
            let trace = recorded_with(run, machine, compute);
            let told = |count: u32| {
                simulated("mpich", count, &["replay", trace.to_str().unwrap(), "-m", machine, "--compare"])
            };
            let one = told(1);
            assert!(one.1.contains("calls ended when they did in the recording"), "{}", one.1);
            for count in [2, 4] {
                assert_eq!(told(count), one, "on {count} processes, {machine}, {compute}");
            }
        }
    }
}

#[test]
fn so_do_loops_whose_turns_differ() {
    for (machine, count) in MACHINES[..3].iter().zip([2, 3, 4]) {
        same(
            &recorded(Run::program("sweeps.c").ranks(16).arg("23").arg("2"), machine),
            machine,
            "mpich",
            &[count],
        );
    }
}

#[test]
fn so_do_collectives_communicators_and_topologies() {
    for (seed, machine) in (3..).zip(&MACHINES) {
        same(
            &recorded(Run::program("mixture.c").ranks(7).arg(seed.to_string()), machine),
            machine,
            "mpich",
            &[3],
        );
    }
    for machine in &MACHINES[1..3] {
        same(&recorded(Run::program("neighborhoods.c").ranks(12), machine), machine, "mpich", &[2]);
    }
}

#[test]
fn open_mpi_joins_the_processes_of_a_replay_as_well() {
    same(&recorded(random(80, 12), MACHINES[1]), MACHINES[1], "openmpi", &[2]);
}

/// Whatever is told of several jobs is the same on each of these numbers of processes: of each alone and of
/// all together, a line for each and the report.
#[track_caller]
fn same_jobs(jobs: &[String], args: &[&str], mpi: &'static str, counts: &[u32]) {
    let jobs: Vec<String> = jobs.iter().map(|job| format!("--job={job}")).collect();
    let told = |count: u32| {
        let report = directory().join("report.json");
        let output = on(
            mpi,
            count,
            &[&["replay", "--report", report.to_str().unwrap()], args]
                .concat()
                .into_iter()
                .chain(jobs.iter().map(String::as_str))
                .collect::<Vec<_>>(),
        );
        assert!(output.status.success(), "{count} processes: {}", text(&output));
        let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
        assert_eq!(
            (&report["host"]["native_processes"], report["simulated"]["jobs"].as_array().unwrap().len()),
            (&count.into(), jobs.len())
        );
        let said: Vec<String> =
            text(&output).lines().filter(|line| !line.starts_with("xsim: host")).map(str::to_owned).collect();
        assert_eq!(said.iter().filter(|line| line.contains("together")).count(), jobs.len(), "{said:?}");
        (serde_json::to_string_pretty(&report["simulated"]).unwrap(), said)
    };
    let one = told(1);
    for &count in counts {
        assert_eq!(told(count), one, "on {count} processes, {args:?}");
    }
}

/// Worlds that end within a process, at its last rank, or have all of it between others', on processes that
/// have no rank of some of them.
#[test]
fn several_jobs_run_the_same_on_any_number_of_processes() {
    for (seed, machine) in (20..).zip([
        "star:64,l=0.5us,b=100Gbps",
        "torus:8x8,l=1us,b=8Gbps/rank:o_send=0.4us,o_recv=0.3us,eager=1000",
        "mesh:64,l=1us/rank:eager=0",
    ]) {
        let arguments = |run: Run, args: &[&str]| args.iter().fold(run, |run, arg| run.arg(*arg));
        let record = |program: &str, ranks: u32, args: &[&str]| {
            recorded(arguments(Run::program(program).ranks(ranks), args), machine).display().to_string()
        };
        let seed = seed.to_string();
        let traces = [
            record("mixture.c", 7, &[&seed]),
            record("neighborhoods.c", 9, &[]),
            record("random_orders.c", 6, &[&seed, "4"]),
            record("random_program.c", 3, &[&seed, "8"]),
        ];
        let jobs: Vec<String> = traces
            .iter()
            .zip(["@random:7", "", "@20-25+30us", "@next+1ms"])
            .map(|(trace, place)| format!("{trace}{place}"))
            .collect();
        same_jobs(&jobs, &["-m", machine], "mpich", &[2, 4]);
        same_jobs(
            &jobs[..3],
            &["-m", machine, "--wildcards", "open", "--together", "--profile"],
            "mpich",
            &[3],
        );
        if seed == "20" {
            // One machine for all: each call ends when it did in the recording, wherever its ranks are.
            same_jobs(&jobs, &["-m", machine, "--compare"], "openmpi", &[2]);
        }
    }
}

/// Messages and collectives of gigabytes are lengths, between processes too.
#[test]
fn a_replay_needs_no_memory_for_what_it_sends_elsewhere() {
    let source = directory().join("large.c");
    std::fs::write(&source, LARGE).unwrap();
    let run = Run::of(common::compile(source.to_str().unwrap(), &[])).ranks(4);
    let trace = recorded(run, MACHINES[0]);
    let args = ["replay", trace.to_str().unwrap(), "-m", MACHINES[0]];
    assert_eq!(simulated("mpich", 2, &args), simulated("mpich", 1, &args));
}

// The memory is shared by all ranks of the recording and never touched: what is sent is of a type with holes
// and no bytes to speak of but its size.
const LARGE: &str = r#"
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    enum { BYTES = 1 << 24 };
    int rank, ranks;
    char *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    memory = calloc(2 * BYTES, 1);
    for (int i = 0; i < 3; i++) {
        MPI_Sendrecv(memory, BYTES, MPI_CHAR, (rank + 1) % ranks, 0, memory + BYTES, BYTES, MPI_CHAR,
                     (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Bcast(memory, BYTES, MPI_CHAR, i, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, memory, BYTES / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allgather(memory, BYTES / 8, MPI_CHAR, memory + BYTES, BYTES / 8, MPI_CHAR, MPI_COMM_WORLD);
        MPI_Alltoall(memory, BYTES / 8, MPI_CHAR, memory + BYTES, BYTES / 8, MPI_CHAR, MPI_COMM_WORLD);
        MPI_Scan(memory, memory + BYTES, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Gather(memory, 1000, MPI_CHAR, memory + BYTES, 1000, MPI_CHAR, i, MPI_COMM_WORLD);
        MPI_Reduce_scatter_block(memory, memory + BYTES, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    free(memory);
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn models_in_aspen_run_the_same_on_any_number_of_processes() {
    let models = root().join("examples/aspen");
    for (model, ranks) in [("stencil.aspen", "18"), ("cg.aspen", "16")] {
        let model = models.join(model);
        let args = ["aspen", "run", model.to_str().unwrap(), "-n", ranks, "-m", MACHINES[3], "--profile"];
        let one = simulated("mpich", 1, &args);
        assert_eq!(simulated("mpich", 3, &args), one, "{}", model.display());
    }
}

#[test]
fn replays_over_packets_are_the_same_on_any_number_of_processes() {
    for (seed, machine) in [
        (95, "torus:4x4,l=20ns,level=packet"),
        (96, "star:n=4,l=100ns,b=10Gbps,level=packet/star:4,l=0.2us,b=400Gbps"),
    ] {
        same(&recorded(random(seed, 13), machine), machine, "mpich", &[1, 2, 3]);
    }
}

#[test]
fn a_difference_is_told_once_and_as_on_one_process() {
    let trace = recorded(random(90, 8), MACHINES[0]);
    let told = |count: u32| {
        let output = on(
            "mpich",
            count,
            &["replay", trace.to_str().unwrap(), "-m", MACHINES[1], "--compare", "--quiet=on"],
        );
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        let said = text(&output);
        let lines: Vec<_> = said
            .lines()
            .filter(|line| line.contains("calls ended at other times"))
            .map(str::to_owned)
            .collect();
        assert_eq!(lines.len(), 1, "{said}");
        lines
    };
    assert_eq!(told(3), told(1));
}

#[test]
fn what_several_processes_cannot_replay_is_refused_or_explained() {
    let trace = recorded(random(91, 8), MACHINES[0]);
    let path = trace.to_str().unwrap();
    let says = |args: &[&str], parts: &[&str]| {
        let output = on("mpich", 2, args);
        assert!(!output.status.success(), "{args:?}");
        parts
            .iter()
            .for_each(|part| assert!(text(&output).contains(part), "'{part}' is missing: {}", text(&output)));
    };
    says(&["replay", &format!("--job={path}"), &format!("--job={path}"), "-m", "star:15"], &["endpoints"]);
    let half = trace.with_extension("half");
    let cut =
        command(&["trace", "cut", path, "-o", half.to_str().unwrap(), "--ranks", "0-5"]).output().unwrap();
    assert!(cut.status.success());
    says(&["replay", half.to_str().unwrap(), "-m", MACHINES[0]], &["deadlock"]);
}

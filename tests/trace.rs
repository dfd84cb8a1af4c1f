//! Traces: what is recorded is what the program called, on any number of processes, and the command shows it.

mod common;

use common::{Output, Run, command, scratch};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

const MPICH: &str = "mpich";

fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("trace-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// Runs it with a trace: what it printed, and the file.
fn traced(run: Run) -> (Output, PathBuf) {
    let path = directory().join("run.trace");
    let output = run.arg(format!("-xsim-trace={}", path.display())).run();
    (output, path)
}

fn xsim(args: &[&str]) -> std::process::Output {
    command(&[&["trace"], args].concat()).output().unwrap()
}

/// Returns what `xsim trace ARGS FILE` prints.
fn told(args: &[&str], file: &Path) -> String {
    let output = xsim(&[args, &[file.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn of_four() -> Run {
    Run::program("traced.c").ranks(4).machine("star:l=1us,b=1Gbps").variable("XSIM_COMPUTE", "none")
}

fn mixture(seed: u32) -> Run {
    Run::program("mixture.c")
        .ranks(7)
        .arg(seed.to_string())
        .machine("torus:4x4,l=1us,b=1Gbps")
        .variable("XSIM_COMPUTE", "none")
}

/// Loops whose turns differ.
fn sweeps() -> Run {
    Run::program("sweeps.c").ranks(16).variable("XSIM_COMPUTE", "fixed:100ns")
}

fn random() -> Run {
    Run::program("random_program.c").ranks(13).arg("2").arg("20").variable("XSIM_COMPUTE", "fixed:10ns")
}

/// Calls without the numbers of objects, which a trace gives anew, and without what a trace leaves out.
fn plain(call: &str) -> String {
    let mut parts = call.split('#');
    let first = parts.next().unwrap().to_owned();
    let text =
        parts.fold(first, |text, part| text + "#" + part.trim_start_matches(|c: char| c.is_ascii_digit()));
    match text.split_once("coords=[") {
        Some((before, after)) if text.starts_with("MPI_Cart_coords") => {
            format!("{before}coords=?{}", after.split_once(']').unwrap().1)
        }
        _ => text,
    }
}

#[test]
fn unfolded_it_is_every_call_of_every_rank_in_order() {
    for (run, ranks) in [(of_four as fn() -> Run, 4), (|| mixture(3), 7), (random, 13)] {
        let log = directory().join("log");
        let (_, file) =
            traced(run().arg(format!("-xsim-log={}", log.display())).arg("-xsim-trace-times=exact"));
        let log = std::fs::read_to_string(log).unwrap();
        for rank in 0..ranks {
            let begin = format!("rank {rank}  ");
            let mut logged: Vec<(String, String)> = Vec::new();
            for line in log.lines().filter_map(|line| line.strip_prefix(&begin)) {
                let mut words = line.splitn(3, "  ");
                let (times, call) =
                    (format!("{}  {}", words.next().unwrap(), words.next().unwrap()), words.next().unwrap());
                if let Some((call, _)) = call.rsplit_once(" = MPI_SUCCESS") {
                    logged.push((times, plain(call)));
                }
            }
            let shown = told(&["show", "--rank", &rank.to_string()], &file);
            let shown: Vec<(String, String)> = shown
                .lines()
                .map(|line| {
                    let mut words = line.splitn(3, "  ");
                    let times = format!("{}  {}", words.next().unwrap(), words.next().unwrap());
                    (times, plain(words.next().unwrap().rsplit_once("  ").unwrap().0))
                })
                .collect();
            let off = |calls: &[(String, String)]| -> Vec<String> {
                calls.iter().map(|(_, call)| call.clone()).collect()
            };
            if ranks == 4 {
                // Regions are left out of the trace alone.
                let (shown, logged) = (off(&shown), off(&logged));
                assert!(
                    shown.iter().all(|call| logged.contains(call)) && shown.len() + 7 == logged.len(),
                    "{shown:#?}\n{logged:#?}"
                );
            } else {
                assert_eq!(shown, logged, "rank {rank}");
            }
        }
    }
}

#[test]
fn it_is_the_same_on_any_number_of_processes() {
    for times in ["none", "histogram", "exact"] {
        for run in [of_four as fn() -> Run, || mixture(3), random, sweeps] {
            let with =
                |run: Run| std::fs::read(traced(run.arg(format!("-xsim-trace-times={times}"))).1).unwrap();
            let one = with(run());
            for count in [2, 4] {
                assert!(with(run().processes(MPICH, count)) == one, "{count} processes, times {times}");
            }
        }
    }
}

/// A log wants the arguments of all calls; without one, calls that come again are known by a few words.
#[test]
fn ignored_statuses_are_those_of_their_call_though_functions_of_the_program_wait_within_it() {
    const RANKS: usize = 4;
    let (_, file) =
        traced(Run::program("nested_statuses.c").ranks(RANKS as u32).variable("XSIM_COMPUTE", "none"));
    for rank in 0..RANKS {
        let before = (rank + RANKS - 1) % RANKS;
        let status = |tag: usize, ints: usize| format!("{{source={before}, tag={tag}, bytes={}}}", 4 * ints);
        let outer = [status(1, 1 + before), status(3, 11 + before)];
        let inner: Vec<String> = (0..3).map(|k| status(10 + k, 30 + 10 * before + k)).collect();
        let shown = told(&["show", "--rank", &rank.to_string()], &file);
        let statuses: Vec<&str> = shown
            .lines()
            .filter(|line| line.contains("MPI_Waitall"))
            .map(|line| line.split_once("array_of_statuses=").unwrap().1)
            .collect();
        let is_outer = |told: &&&str| {
            told.starts_with(&format!("[{}, ", outer[0])) && told.contains(&format!(", {}]", outer[1]))
        };
        let is_inner = |told: &&&str| told.starts_with(&format!("[{}]", inner.join(", ")));
        let count = (
            statuses.len(),
            statuses.iter().filter(is_outer).count(),
            statuses.iter().filter(is_inner).count(),
        );
        assert_eq!(count, (10, 5, 5), "{statuses:#?}");
    }
}

#[test]
fn it_is_the_same_beside_a_log() {
    for run in [of_four as fn() -> Run, || mixture(3), || mixture(8), random] {
        let alone = std::fs::read(traced(run()).1).unwrap();
        let log = format!("-xsim-log={}", directory().join("log").display());
        assert!(std::fs::read(traced(run().arg(log)).1).unwrap() == alone);
    }
}

#[test]
fn addresses_of_dynamic_windows_leave_no_trace() {
    let run = || traced(Run::program("rma.c").ranks(4).arg("dynamic")).1;
    assert!(std::fs::read(run()).unwrap() == std::fs::read(run()).unwrap(), "traces of two runs differ");
    let shown = told(&["show"], &run());
    let puts: Vec<&str> = shown.lines().filter(|line| line.contains("target_disp=")).collect();
    assert!(!puts.is_empty() && puts.iter().all(|put| put.contains("target_disp=...")), "{puts:?}");
}

#[test]
fn virtual_times_do_not_depend_on_it() {
    for (seed, machine) in
        [(5, "torus:4x4,l=1us,b=1Gbps"), (6, "none"), (7, "torus:4x4,l=1us,b=1Gbps,level=packet")]
    {
        let simulated = |trace: bool| {
            let path = directory().join("report.json");
            let run = Run::program("mixture.c")
                .ranks(7)
                .arg(seed.to_string())
                .machine(machine)
                .variable("XSIM_COMPUTE", "none");
            let run = run.arg(format!("-xsim-report={}", path.display()));
            if trace { traced(run).0 } else { run.run() }.success();
            std::fs::read_to_string(path).unwrap().split_once("\"host\"").unwrap().0.to_owned()
        };
        assert_eq!(simulated(false), simulated(true), "seed {seed}");
    }
}

#[test]
fn loops_are_shown_as_loops_with_their_call_sites() {
    let (output, file) = traced(of_four());
    output.success();
    let shown = told(&["show"], &file);
    assert_eq!(told(&[], &file), shown, "a file alone is shown");
    for (line, site) in [
        ("    7 times:", ""),
        (
            "      MPI_Isend(buf=..., count=1, datatype=MPI_INT, dest=+1, tag=0, comm=MPI_COMM_WORLD, \
             request=request#1)",
            "traced.c:15 ring",
        ),
        (
            "    MPI_Send(buf=..., count=1, datatype=MPI_INT, dest=0, tag=1, comm=MPI_COMM_WORLD)",
            "traced.c:29 main",
        ),
    ] {
        assert!(
            shown.lines().any(|shown| shown.starts_with(line) && shown.ends_with(site)),
            "{line} {site}\n{shown}"
        );
    }
    assert!(shown.contains("ranks 0 (1):") && shown.contains("ranks 1-3 (3):"), "{shown}");
    assert!(shown.contains("  5 times:"), "{shown}");
    // xsim_compute between the regions, of all ranks.
    assert!(shown.contains("1000.000000  1000.000000  1000.000000"), "{shown}");
}

#[test]
fn regions_and_times_that_are_left_out_are_not_there() {
    let (_, file) = traced(of_four());
    let calls = |args: &[&str], file: &Path| told(args, file).lines().map(str::to_owned).collect::<Vec<_>>();
    let all = calls(&["show", "--rank", "1"], &file);
    let count = |name: &str| all.iter().filter(|call| call.starts_with(name)).count();
    assert_eq!(
        (count("MPI_Isend"), count("MPI_Barrier"), count("MPI_Pcontrol"), count("MPI_Bcast")),
        (35, 0, 2, 1),
        "{all:#?}"
    );
    let (_, late) = traced(of_four().arg("-xsim-trace-from=1ms"));
    let late = calls(&["show", "--rank", "1"], &late);
    assert!(late.len() == 4 && all.ends_with(&late), "{late:#?}");
    let (_, early) = traced(of_four().arg("-xsim-trace-until=1ms"));
    let early = calls(&["show", "--rank", "1"], &early);
    assert!(early.len() + 4 == all.len() && all.starts_with(&early), "{early:#?}");
}

#[test]
fn what_a_program_does_wrong_is_found() {
    let (_, good) = traced(of_four());
    // What is left out where one is switched off is missing on both sides.
    assert_eq!(told(&["check"], &good), "");
    let (output, bad) = traced(of_four().arg("d"));
    output.failure();
    let output = xsim(&["check", bad.to_str().unwrap()]);
    let found = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{found}");
    for finding in [
        "messages from 1 to 0 with tag 9: 1 sent and not received; the last is rank 1, call 120, MPI_Send at \
         traced.c:46 main",
        "a request is never waited for: rank 1, call 121, MPI_Irecv at traced.c:47 main",
    ] {
        assert!(found.contains(finding), "{finding}\n{found}");
    }
}

#[test]
fn traces_differ_where_their_calls_do() {
    let (_, one) = traced(of_four());
    let (_, other) = traced(of_four().variable("XSIM_COMPUTE", "fixed:3us").arg("-xsim-trace-times=exact"));
    let (_, longer) = traced(of_four().arg("d"));
    let (one, other, longer) = (one.to_str().unwrap(), other.to_str().unwrap(), longer.to_str().unwrap());
    let differs = |a: &str, b: &str| {
        let output = xsim(&["diff", a, b]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(differs(one, one), (Some(0), String::new()));
    let (status, text) = differs(one, longer);
    assert!(
        status == Some(1) && text.contains("rank 1, call 120:\n  MPI_Bcast(") && text.contains("  MPI_Send("),
        "{text}"
    );
    // The order in which a wildcard's messages come is another.
    let (_, text) = differs(one, other);
    assert!(
        text.lines().filter(|line| line.starts_with("rank ")).all(|line| line.starts_with("rank 0,")),
        "{text}"
    );
}

#[test]
fn numbers_are_those_of_the_run() {
    let (_, file) = traced(Run::program("traced.c").ranks(4).variable("XSIM_COMPUTE", "none"));
    let told = told(&["stat"], &file);
    let row = |name: &str| {
        told.lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("MPI_Isend "), ["140", "140", "560"]);
    assert_eq!(row("MPI_Send "), ["15", "15", "60"]);
    assert_eq!(row("MPI_Recv "), ["155", "0", "0"]);
    assert_eq!(row("MPI_Allreduce "), ["20", "0", "80"]);
    assert_eq!(row("+1 "), ["145", "580"]);
}

#[test]
fn a_part_of_a_trace_is_a_trace() {
    let (_, file) = traced(of_four().arg("-xsim-trace-times=exact"));
    let cut = |args: &[&str]| {
        let part = file.with_file_name("part");
        let output = xsim(&[&["cut", file.to_str().unwrap(), "-o", part.to_str().unwrap()], args].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        part
    };
    let rank = |rank: &str, file: &Path| told(&["show", "--rank", rank], file);
    let some = cut(&["--ranks", "1-2"]);
    assert_eq!((rank("1", &some), rank("3", &some)), (rank("1", &file), String::new()));
    let all = cut(&[]);
    assert_eq!(std::fs::read(all).unwrap(), std::fs::read(&file).unwrap(), "all of it is itself");
    let off = |text: &str| {
        text.lines().map(|line| line.splitn(3, "  ").nth(2).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let late = cut(&["--from", "1ms"]);
    assert!(
        off(&rank("1", &late)).len() == 4 && off(&rank("1", &file)).ends_with(&off(&rank("1", &late))),
        "{}",
        rank("1", &late)
    );
    let histograms = traced(of_four()).1;
    let output = xsim(&["cut", histograms.to_str().unwrap(), "-o", "/dev/null", "--until", "1us"]);
    assert!(
        !output.status.success()
            && String::from_utf8_lossy(&output.stderr).contains("-xsim-trace-times exact")
    );
}

#[test]
fn loops_whose_turns_differ_are_shown_checked_cut_and_counted() {
    let (_, file) = traced(sweeps().arg("-xsim-trace-times=exact"));
    let shown = told(&["show"], &file);
    assert_eq!(
        [3, 4].map(|turns| shown.matches(&format!("  {turns} times, which differ:")).count()),
        [7, 1],
        "{shown}"
    );
    assert_eq!(told(&["check"], &file), "");
    let all = file.with_file_name("all");
    let output = xsim(&["cut", file.to_str().unwrap(), "-o", all.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read(all).unwrap(), std::fs::read(&file).unwrap(), "all of it is itself");
    // Sums over all ranks and turns of what the program sends.
    let stat = told(&["stat"], &file);
    let row = |name: &str| {
        stat.lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .split_whitespace()
            .skip(1)
            .collect::<Vec<_>>()
    };
    assert_eq!(row("MPI_Isend ")[..2], ["864", "864"]);
    assert_eq!(row("MPI_Sendrecv ")[..2], ["144", "144"]);
    let length = |cell: i64| 23 / 4 + i64::from(cell < 23 % 4) - i64::from(cell == 0) - i64::from(cell == 3);
    let round = |place: i64| place.rem_euclid(4);
    let face = |direction: usize, x: i64, y: i64, plane: i64| match direction {
        0 => length(round(x + y - plane)) * length(round(plane - x)),
        1 => length(round(x + y - plane)) * length(round(y - plane)),
        _ => length(round(x + plane)) * length(round(y - plane)),
    };
    let mut words = 0;
    for (x, y) in (0..4).flat_map(|x| (0..4).map(move |y| (x, y))) {
        for (direction, stage) in (0..3).flat_map(|direction| (1..4).map(move |stage| (direction, stage))) {
            words += 22 * face(direction, x, y, stage - 1) + 10 * face(direction, x, y, 4 - stage);
        }
    }
    assert_eq!(row("MPI_Isend ")[2], (3 * 8 * words).to_string());
}

/// Returns what processes saved beside a trace, in their order.
fn saved(trace: &Path) -> Vec<PathBuf> {
    let part = |number: u32| PathBuf::from(format!("{}.part{number}", trace.display()));
    (0..).map(part).take_while(|part| part.exists()).collect()
}

#[test]
fn what_was_saved_of_a_run_that_is_killed_can_be_read() {
    let killed = || Run::program("killed.c").ranks(3).machine("none").variable("XSIM_COMPUTE", "none");
    let (_, file) = traced(killed().arg("-xsim-trace-save=0s"));
    let counts = |trace: &Path, rank: u32| {
        let shown = told(&["show", "--rank", &rank.to_string()], trace);
        ["MPI_Comm_split(", "MPI_Send(", "MPI_Recv(", "MPI_Finalize("]
            .map(|name| shown.lines().filter(|call| call.starts_with(name)).count())
    };
    // Each process saves its own ranks.
    let parts = saved(&file);
    assert_eq!(counts(&parts[0], 0), [1, 20, 20, 0]);
    let joined = file.with_file_name("joined.trace");
    let join = |parts: &[PathBuf]| {
        let parts: Vec<&str> = parts.iter().map(|part| part.to_str().unwrap()).collect();
        xsim(&[&["join", "-o", joined.to_str().unwrap()], &parts[..]].concat())
    };
    let output = join(&parts);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (0..3).for_each(|rank| assert_eq!(counts(&joined, rank), [1, 20, 20, 0], "rank {rank}"));
    // Who is whose neighbour is known: every message finds its receive.
    let found = String::from_utf8(xsim(&["check", joined.to_str().unwrap()]).stdout).unwrap();
    assert!(!found.contains("MPI_Send") && !found.contains("MPI_Recv"), "{found}");
    let refused = |parts: &[PathBuf], says: &str| {
        let output = join(parts);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(says), "{text}");
    };
    refused(&[parts[0].clone(), parts[0].clone()], "two of them tell of rank 0");
    refused(std::slice::from_ref(&joined), "it is a whole trace");
    // A run that comes to its end leaves the trace alone.
    let (output, file) = traced(of_four().arg("-xsim-trace-save=0s"));
    output.success();
    assert_eq!(std::fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_run_goes_on_when_there_is_no_room_for_its_trace() {
    let report = directory().join("report.json");
    let run = of_four().arg("-xsim-trace=/dev/full").arg(format!("-xsim-report={}", report.display()));
    run.run().failure().says(&["cannot write the trace /dev/full: No space left on device"]);
    assert!(std::fs::read_to_string(report).unwrap().contains("\"MPI_Finalize\""), "the run came to its end");
}

#[test]
fn what_is_wrong_is_said() {
    let refused = |run: Run, says: &str| drop(run.run().failure().says(&[says]));
    refused(of_four().arg("-xsim-trace=/nonexistent/a.trace"), "cannot write the trace /nonexistent/a.trace");
    refused(of_four().arg("-xsim-trace-times=exact"), "say where it goes, such as -xsim-trace app.trace");
    refused(of_four().arg("-xsim-trace-times=all"), "write histogram, exact or none");
    refused(
        of_four().arg("-xsim-trace=a.trace").arg("-xsim-trace-from=2s").arg("-xsim-trace-until=1s"),
        "nothing to record between them",
    );
    let (_, file) = traced(of_four());
    let fails = |args: &[&str], says: &str| {
        let output = xsim(args);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(says), "{args:?}: {text}");
    };
    fails(&["show", "--rank", "4", file.to_str().unwrap()], "the trace has ranks 0 to 3 only, and no rank 4");
    fails(&["show", "/nonexistent/a.trace"], "cannot read the trace /nonexistent/a.trace: No such file");
    let bytes = std::fs::read(&file).unwrap();
    let damaged = |name: &str, bytes: &[u8]| {
        let path = file.with_file_name(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    fails(&["show", &damaged("short", &bytes[..bytes.len() / 2])], "byte ");
    fails(&["show", &damaged("none", b"#!/bin/sh\n")], "byte 0: this is no trace of xsim");
}

const SIDES: &str = r#"
#include <mpi.h>
int main(int argc, char **argv) {
    int rank, count, ints[100], counts[] = {1, 2}, displs[] = {3, 0};
    double doubles[10];
    MPI_Datatype rows;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(2, 1, 3, MPI_INT, &rows);
    MPI_Type_commit(&rows);
    if (rank == 0) {
        MPI_Send(ints, 10, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Send(ints, 3, rows, 1, 0, MPI_COMM_WORLD);
        MPI_Send(ints, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(ints, 100, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        MPI_Recv(ints, 10, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(ints, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(doubles, rank == 0 ? 5 : 10, rank == 0 ? MPI_DOUBLE : MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgatherv(ints + 50, rank + 1, MPI_INT, ints, counts, displs, MPI_INT, MPI_COMM_WORLD);
    if (argc > 1) {
        MPI_Win win;
        MPI_Win_create(ints, sizeof ints, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_fence(0, win);
        MPI_Put(ints, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        MPI_Win_free(&win);
    }
    MPI_Type_free(&rows);
    MPI_Finalize();
    return 0;
}
"#;

/// Whatever counts and datatypes the sides say a size with, they come to the same one.
#[test]
fn scaled_sizes_are_the_same_on_both_sides() {
    let source = directory().join("sides.c");
    std::fs::write(&source, SIDES).unwrap();
    let program = common::compile(source.to_str().unwrap(), &["-g"]);
    let run = || Run::of(program.clone()).ranks(2).machine("none").variable("XSIM_COMPUTE", "none");
    let scaled = |file: &Path, formula: &str| -> Result<PathBuf, String> {
        let to = directory().join("scaled.trace");
        let output = xsim(&["scale", file.to_str().unwrap(), "-o", to.to_str().unwrap(), "--sizes", formula]);
        if output.status.success() { Ok(to) } else { Err(String::from_utf8(output.stderr).unwrap()) }
    };
    let (_, file) = traced(run());
    let twice = scaled(&file, "2*bytes").unwrap();
    let (zero, one) = (told(&["show", "--rank", "0"], &twice), told(&["show", "--rank", "1"], &twice));
    for (shown, parts) in [
        (
            &zero,
            vec![
                "count=20, datatype=MPI_INT",
                "count=6, datatype=datatype#",
                "MPI_Type_vector(count=2, blocklength=1",
                "count=0, datatype=MPI_INT",
            ],
        ),
        (
            &zero,
            vec![
                "MPI_Bcast(buffer=..., count=10, datatype=MPI_DOUBLE",
                "sendcount=2,",
                "recvcounts=[2, 4], displs=[4, 0]",
            ],
        ),
        (
            &one,
            vec![
                "count=200, datatype=MPI_BYTE",
                "bytes=80",
                "datatype=MPI_BYTE, count=80",
                "count=20, datatype=MPI_INT",
            ],
        ),
        (
            &one,
            vec![
                "MPI_Bcast(buffer=..., count=20, datatype=MPI_INT",
                "sendcount=4,",
                "recvcounts=[2, 4], displs=[4, 0]",
            ],
        ),
    ] {
        parts.iter().for_each(|part| assert!(shown.contains(part), "{part} is missing:\n{shown}"));
    }
    assert!(xsim(&["check", twice.to_str().unwrap()]).status.success());
    // 24 bytes in three elements of 8.
    let why = scaled(&file, "1.5*bytes").unwrap_err();
    assert!(
        why.contains("rank 0, MPI_Send at sides.c:")
            && why.contains("its 24 bytes become 36, and elements of its datatype have 8"),
        "{why}"
    );
    assert!(scaled(&file, "8*ceil(1.5*bytes/8)").is_ok());
    // The receive of 100 bytes would be too short for its message of 40.
    let why = scaled(&file, "max(0, 160 - bytes)").unwrap_err();
    assert!(why.contains("sizes must not fall where they rose"), "{why}");
    let why = scaled(&traced(run().arg("windows")).1, "2*bytes").unwrap_err();
    assert!(
        why.contains("MPI_Put at sides.c:") && why.contains("cannot be changed: what is sent to a window"),
        "{why}"
    );
}

#[test]
fn a_trace_that_is_scaled_by_one_has_the_same_bytes() {
    for times in ["none", "histogram", "exact"] {
        for run in [of_four as fn() -> Run, || mixture(3), || mixture(8), random] {
            let (_, file) = traced(run().arg(format!("-xsim-trace-times={times}")));
            let to = directory().join("scaled.trace");
            let output = xsim(&[
                "scale",
                file.to_str().unwrap(),
                "-o",
                to.to_str().unwrap(),
                "--sizes",
                "bytes",
                "--compute",
                "1",
            ]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            assert!(std::fs::read(&file).unwrap() == std::fs::read(&to).unwrap(), "{times}");
        }
    }
}

/// Arrays are as long as MPI reads them, in profiles and traces alike: behind them lies what would be counted
/// otherwise.
#[test]
fn bytes_of_collectives_are_those_of_the_blocks_that_mpi_reads() {
    const BYTES: [(&str, u64); 11] = [
        ("MPI_Neighbor_alltoallv", 32),
        ("MPI_Neighbor_alltoallw", 32),
        ("MPI_Neighbor_allgatherv", 32),
        ("MPI_Scatterv", 40),
        ("MPI_Gatherv", 40),
        ("MPI_Allgatherv", 40),
        ("MPI_Reduce_scatter", 160),
        ("MPI_Alltoallv", 384),
        ("MPI_Alltoallw", 40),
        ("MPI_Ialltoallv", 48),
        ("MPI_Ireduce_scatter", 96),
    ];
    let run = || Run::program("contributions.c").ranks(4).variable("XSIM_COMPUTE", "none");
    let report = directory().join("report.json");
    run().arg("-xsim-profile").arg(format!("-xsim-report={}", report.display())).run().success();
    let report: recorder::RunReport =
        serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let sites = report.simulated.profile.unwrap().sites;
    let (output, file) = traced(run().arg("-xsim-check"));
    output.success();
    let statistics = told(&["stat"], &file);
    for (function, bytes) in BYTES {
        let profiled: u64 =
            sites.iter().filter(|site| site.function == function).map(|site| site.bytes as u64).sum();
        assert_eq!(profiled, bytes, "{function} in the profile");
        let line = statistics.lines().find(|line| line.split_whitespace().next() == Some(function)).unwrap();
        assert_eq!(
            line.split_whitespace().last(),
            Some(bytes.to_string().as_str()),
            "{function} in the trace: {line}"
        );
    }
    let shown = told(&["show", "--rank", "0"], &file);
    let ireduce = shown.lines().find(|line| line.starts_with("MPI_Ireduce_scatter(")).unwrap();
    assert!(ireduce.contains("recvcounts=[6]"), "{ireduce}");
}

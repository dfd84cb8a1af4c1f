//! `-xsim-timeline`: what viewers are told is what programs with times known in advance do, in each format,
//! the same on any number of processes.

mod common;
#[path = "timeline/formats.rs"]
mod formats;

use common::{Output, Run, scratch};
use formats::{Link, Slice, Timeline};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

const US: u64 = 1_000_000;
const NAMES: [&str; 5] = ["run.pftrace", "run.json", "run.prv", "run.paje", "run.otf2"];

fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("timeline-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// Ranks compute for known times, and a message takes 2 us.
fn case(name: &str, ranks: u32) -> Run {
    Run::program("waiting.c").ranks(ranks).machine("star:l=1us").variable("XSIM_COMPUTE", "none").arg(name)
}

/// Runs it with a timeline: its file.
fn written(run: Run, name: &str) -> PathBuf {
    let path = directory().join(name);
    run.arg(format!("-xsim-timeline={}", path.display())).run().success();
    path
}

fn shown(run: Run, name: &str) -> Timeline {
    formats::read(&written(run, name))
}

fn slice(rank: u32, name: &str, from: u64, until: u64) -> Slice {
    Slice { rank, name: name.to_owned(), from: from * US, until: until * US }
}

fn without_start_and_end(slices: &[Slice]) -> Vec<Slice> {
    let inner = |slice: &&Slice| {
        !["MPI_Init", "MPI_Finalize", "MPI_Comm_rank", "MPI_Comm_size"].contains(&slice.name.as_str())
    };
    slices.iter().filter(inner).cloned().collect()
}

#[test]
fn calls_and_messages_are_where_they_were_in_all_formats() {
    for name in NAMES {
        let timeline = shown(case("late_senders", 3), name);
        let expected = [
            slice(0, "MPI_Irecv", 0, 0),
            slice(0, "MPI_Irecv", 0, 0),
            slice(0, "MPI_Waitall", 5, 32),
            slice(1, "MPI_Send", 10, 10),
            slice(2, "MPI_Send", 30, 30),
        ];
        assert_eq!(without_start_and_end(&timeline.slices), expected, "{name}");
        let links = [
            Link { from: 1, to: 0, sent: 10 * US, received: 12 * US },
            Link { from: 2, to: 0, sent: 30 * US, received: 32 * US },
        ];
        assert_eq!(timeline.links, links, "{name}");
        assert_eq!(timeline.ranks, ["rank 0", "rank 1", "rank 2"], "{name}");
    }
}

#[test]
fn ranks_that_wait_and_messages_under_way_are_counted() {
    let counted = |all: &[(u64, i64)]| all.iter().map(|&(at, value)| (at * US, value)).collect::<Vec<_>>();
    for name in ["run.pftrace", "run.json", "run.paje"] {
        let timeline = shown(case("late_senders", 3), name);
        assert_eq!(timeline.counters["ranks waiting"], counted(&[(0, 0), (5, 1), (32, 0)]), "{name}");
        assert_eq!(
            timeline.counters["messages under way"],
            counted(&[(0, 0), (10, 1), (12, 0), (30, 1), (32, 0)]),
            "{name}"
        );
        // Ranks 0 to 3 enter at 0, 10, 20 and 30 us; ranks 0 and 1 have their last message at 32 us, rank 2
        // at 34 us.
        let timeline = shown(case("barrier", 4), name);
        assert_eq!(
            timeline.counters["ranks waiting"],
            counted(&[(0, 1), (10, 2), (20, 3), (32, 1), (34, 0)]),
            "{name}"
        );
        assert_eq!(
            timeline.counters["messages under way"],
            counted(&[(0, 0)]),
            "{name}: those of collectives are not shown"
        );
    }
}

#[test]
fn an_archive_has_the_same_bytes_on_any_number_of_processes() {
    let files = |run: Run| {
        let path = written(run, "run.otf2");
        let beside = ["run.def", "run/0.def", "run/0.evt", "run/1.evt", "run/2.evt"]
            .map(|name| path.with_file_name(name));
        std::iter::once(&path).chain(&beside).map(|file| std::fs::read(file).unwrap()).collect::<Vec<_>>()
    };
    let run = || case("late_senders", 3);
    assert_eq!(files(run().processes("mpich", 2)), files(run()));
}

#[test]
fn states_are_computation_waiting_and_the_rest() {
    // Sending takes its processor 1 us and receiving 3; the message is under way for 2 us.
    let run = || case("late_sender", 2).machine("star:l=1us/rank:o_send=1us,o_recv=3us");
    let states = formats::states(&written(run(), "run.prv"));
    let state = |rank, from, until, name: &str| (rank, from * US, until * US, name.to_owned());
    let expected = [
        state(0, 0, 50, "Running"),
        state(0, 50, 51, "Others"),
        state(1, 0, 53, "Waiting a message"),
        state(1, 53, 56, "Others"),
    ];
    assert_eq!(states, expected);
    let timeline = shown(run(), "run.json");
    assert_eq!(
        without_start_and_end(&timeline.slices),
        [slice(0, "MPI_Send", 50, 51), slice(1, "MPI_Recv", 0, 56)]
    );
    assert_eq!(timeline.links, [Link { from: 0, to: 1, sent: 51 * US, received: 53 * US }]);
}

#[test]
fn a_message_that_was_there_before_is_received_when_it_is_taken() {
    // It is there at 2 us; rank 1 asks for it at 40 us.
    let timeline = shown(case("late_receiver", 2), "run.json");
    assert_eq!(timeline.links, [Link { from: 0, to: 1, sent: 0, received: 40 * US }]);
    assert_eq!(
        without_start_and_end(&timeline.slices),
        [slice(0, "MPI_Ssend", 0, 42), slice(1, "MPI_Recv", 40, 40)]
    );
}

#[test]
fn only_what_was_asked_for_is_shown() {
    let ranks = shown(case("late_senders", 3).arg("-xsim-timeline-ranks=0,2"), "run.json");
    assert_eq!(ranks.ranks, ["rank 0", "rank 2"]);
    assert_eq!(ranks.links, [Link { from: 2, to: 0, sent: 30 * US, received: 32 * US }]);
    assert!(ranks.slices.iter().all(|slice| slice.rank != 1) && ranks.slices.len() == 12);
    let functions =
        shown(case("late_senders", 3).arg("-xsim-timeline-functions=MPI_Wait*,MPI_Init"), "run.json");
    let names: Vec<&str> = functions.slices.iter().map(|slice| slice.name.as_str()).collect();
    assert_eq!(names, ["MPI_Init", "MPI_Waitall", "MPI_Init", "MPI_Init"]);
    assert_eq!(functions.links.len(), 2, "which MPI_Waitall has received");
    let window = shown(
        case("late_senders", 3).arg("-xsim-timeline-from=5us").arg("-xsim-timeline-until=30us"),
        "run.json",
    );
    assert_eq!(
        without_start_and_end(&window.slices),
        [slice(0, "MPI_Waitall", 5, 32), slice(1, "MPI_Send", 10, 10)]
    );
    assert_eq!(
        window.links,
        [Link { from: 1, to: 0, sent: 10 * US, received: 12 * US }],
        "the other was sent at 30 us"
    );
}

#[test]
fn of_ten_thousand_ranks_blocks_of_neighbours_are_shown() {
    let timeline = shown(case("barrier", 10_000), "run.json");
    assert_eq!(timeline.ranks.len(), 4096);
    assert_eq!((timeline.ranks[63].as_str(), timeline.ranks[64].as_str()), ("rank 63", "rank 156"));
}

#[test]
fn the_file_is_the_same_on_any_number_of_processes() {
    // An archive is several files, which have a test of their own.
    for name in NAMES.into_iter().filter(|name| !name.ends_with(".otf2")) {
        let run = || {
            Run::program("mixture.c")
                .ranks(8)
                .machine("star:l=1us,b=1Gbps/rank:eager=4KiB,o_send=0.2us,o_recv=0.1us,gap=0.1us")
        };
        let bytes =
            |run: Run| std::fs::read(written(run.variable("XSIM_COMPUTE", "fixed:3us"), name)).unwrap();
        let alone = bytes(run());
        assert!(alone.len() > 10_000);
        for processes in [2, 4] {
            assert!(bytes(run().processes("mpich", processes)) == alone, "{name} on {processes} processes");
        }
    }
    let alone = shown(case("all", 4), "run.json");
    assert_eq!(shown(case("all", 4).processes("mpich", 4).arg("-xsim-one-rank"), "run.json"), alone);
}

#[test]
fn a_timeline_changes_nothing_else() {
    let report = |run: Run| {
        let path = directory().join("report.json");
        run.arg(format!("-xsim-report={}", path.display())).run().success();
        let mut report: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        report["simulated"].take()
    };
    for machine in [
        "star:l=0.5us,b=10Gbps/rank:o_send=0.4us,o_recv=0.3us,gap=50ns,eager=1KiB",
        "torus:3x3,level=packet,l=100ns,b=10Gbps",
    ] {
        let run = || case("all", 6).machine(machine);
        let path = directory().join("run.pftrace");
        assert_eq!(
            report(run().arg(format!("-xsim-timeline={}", path.display())).arg("-xsim-timeline-ranks=1")),
            report(run()),
            "{machine}"
        );
    }
}

#[test]
fn calls_of_a_deadlock_last_to_the_end() {
    let path = directory().join("run.json");
    let run = Run::program("misuse.c").ranks(3).variable("XSIM_COMPUTE", "none").arg("deadlock");
    run.arg(format!("-xsim-timeline={}", path.display())).run().failure().says(&["deadlock"]);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.lines().any(|line| line.contains("\"MPI_Recv\"") && line.contains("\"unfinished\":true")),
        "{text}"
    );
}

fn refused(arguments: &[&str]) -> Output {
    arguments.iter().fold(case("barrier", 4), |run, &argument| run.arg(argument)).run().failure()
}

#[test]
fn what_cannot_be_written_is_told_before_the_run() {
    refused(&["-xsim-timeline=run.txt"]).says(&[
        "run.txt says no format",
        ".pftrace",
        "-xsim-timeline-format",
    ]);
    refused(&["-xsim-timeline=run", "-xsim-timeline-format=vampir"])
        .says(&["perfetto, json, paraver, paje, otf2"]);
    refused(&["-xsim-timeline=run", "-xsim-timeline-format=otf2"])
        .says(&["cannot write the timeline", "ends in .otf2"]);
    let archive = directory();
    std::fs::write(archive.join("run"), "a program").unwrap();
    refused(&[&format!("-xsim-timeline={}", archive.join("run.otf2").display())])
        .says(&["a file is there; choose another name"]);
    refused(&["-xsim-timeline=/nowhere/run.json"])
        .says(&["cannot write the timeline /nowhere/run.json", "No such file"]);
    refused(&["-xsim-timeline=run.json", "-xsim-timeline-ranks=2-4"])
        .says(&["-xsim-timeline-ranks names rank 4", "ranks 0 to 3 only"]);
    refused(&["-xsim-timeline=run.json", "-xsim-timeline-ranks="]).says(&["such as 0-3,7"]);
    refused(&["-xsim-timeline=run.json", "-xsim-timeline-functions=MPI_Sent"])
        .says(&["no function of MPI is called MPI_Sent"]);
    refused(&["-xsim-timeline=run.json", "-xsim-timeline-from=2us", "-xsim-timeline-until=1us"])
        .says(&["nothing to show between"]);
    refused(&["-xsim-timeline-ranks=1"]).says(&["say where it goes", "-xsim-timeline run.pftrace"]);
}

/// A timeline in a directory where `full` is a disk without room.
fn on_a_full_disk(full: &str) -> (PathBuf, Output) {
    let directory = directory();
    std::os::unix::fs::symlink("/dev/full", directory.join(full)).unwrap();
    let report = directory.join("report.json");
    let run = case("barrier", 4).arg(format!("-xsim-report={}", report.display()));
    (report, run.arg(format!("-xsim-timeline={}", directory.join("run.json").display())).run().failure())
}

#[test]
fn a_full_disk_takes_the_timeline_and_nothing_else() {
    for full in ["run.json", "run.json.part0"] {
        let (report, output) = on_a_full_disk(full);
        assert_eq!(
            output.says(&["cannot write the timeline", full, "No space left on device"]).status.code(),
            Some(2)
        );
        assert!(report.exists() && !Path::new(&report).with_file_name("run.json.part0").exists());
    }
}

#[test]
fn regions_are_around_the_calls_in_them() {
    let run = || {
        Run::program("regions.c")
            .ranks(2)
            .machine("star:l=1us")
            .variable("XSIM_COMPUTE", "none")
            .arg("checked")
    };
    for name in ["run.pftrace", "run.json", "run.paje", "run.otf2"] {
        let timeline = shown(run(), name);
        let regions: Vec<Slice> = timeline
            .slices
            .iter()
            .filter(|slice| ["solve", "write"].contains(&slice.name.as_str()))
            .cloned()
            .collect();
        // Rank 0 enters the barrier at 11 us and leaves it with rank 1's message at 23, rank 1 enters and
        // leaves it at 21; both write for 5 us.
        let expected = [
            slice(0, "write", 23, 28),
            slice(0, "solve", 1, 28),
            slice(1, "write", 21, 26),
            slice(1, "solve", 1, 26),
        ];
        assert_eq!(regions, expected, "{name}");
    }
    let path = written(run(), "run.prv");
    let text = std::fs::read_to_string(&path).unwrap();
    for line in ["2:1:1:1:1:1000:60000019:1", "2:1:1:1:1:23000:60000019:2", "2:2:1:2:1:26000:60000019:0"] {
        assert!(text.lines().any(|told| told == line), "{line} is missing in {text}");
    }
    assert!(
        std::fs::read_to_string(path.with_extension("pcf"))
            .unwrap()
            .contains("60000019    User function\nVALUES\n0    End\n1    solve\n2    write")
    );
    let alone = std::fs::read(written(run(), "run.json")).unwrap();
    assert_eq!(std::fs::read(written(run().processes("mpich", 2), "run.json")).unwrap(), alone);
}

/// Returns how often each function is called by all ranks, as a log, a trace and a profile of separate runs
/// have it.
fn counted(run: impl Fn() -> Run, functions: &[&str]) -> [Vec<usize>; 3] {
    let at = directory();
    let file = |name: &str| at.join(name);
    run().arg(format!("-xsim-log={}", file("log").display())).run().success();
    run().arg(format!("-xsim-trace={}", file("trace").display())).run().success();
    let profiled = run().arg("-xsim-profile").arg(format!("-xsim-report={}", file("report").display())).run();
    profiled.success();
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    let report: recorder::RunReport = serde_json::from_str(&read("report")).unwrap();
    let sites = report.simulated.profile.unwrap().sites;
    let shown = |rank: u32| {
        common::command(&["trace", "show", "--rank", &rank.to_string(), file("trace").to_str().unwrap()])
            .output()
            .unwrap()
    };
    let shown: String = (0..4).map(|rank| String::from_utf8(shown(rank).stdout).unwrap()).collect();
    let log = read("log");
    let count = |of: &dyn Fn(&str) -> usize| functions.iter().map(|function| of(function)).collect();
    [
        count(&|function| log.matches(&format!("  {function}(")).count()),
        count(&|function| shown.lines().filter(|line| line.starts_with(&format!("{function}("))).count()),
        count(&|function| {
            sites.iter().filter(|site| site.function == function).map(|site| site.time.count as usize).sum()
        }),
    ]
}

#[test]
fn calls_of_callbacks_and_calls_that_are_left_are_in_every_record_with_the_calls_around_them() {
    const CALLS: [(&str, usize); 12] = [
        ("MPI_Allreduce", 3),
        ("MPI_Exscan", 3),
        ("MPI_Iallreduce", 3),
        ("MPI_Wait", 3),
        ("MPI_Comm_dup", 3),
        // Two more of the communicators on which calls are left.
        ("MPI_Comm_free", 5),
        ("MPI_Waitall", 3),
        ("MPI_Status_set_elements", 3),
        ("MPI_Send", 3),
        ("MPI_Ssend", 3),
        ("MPI_Error_class", 6),
        // The attribute is deleted of three duplicates and of the world.
        ("MPI_Comm_rank", 5),
    ];
    let functions: Vec<&str> = CALLS.iter().map(|(function, _)| *function).collect();
    let expected: Vec<usize> = CALLS.iter().map(|(_, each)| 4 * each).collect();
    for stacks in ["own", "shared"] {
        let run = || {
            let run = Run::program("nested_calls.cc")
                .ranks(4)
                .machine("star:l=1us")
                .variable("XSIM_COMPUTE", "none")
                .arg("3")
                .arg("left");
            run.arg(format!("-xsim-stack-mode={stacks}"))
        };
        for (record, counts) in ["log", "trace", "profile"].iter().zip(&counted(run, &functions)) {
            assert_eq!(*counts, expected, "{record} with {stacks} stacks: {functions:?}");
        }
        // A timeline has the calls around callbacks, and not what is called within them.
        const INNER: [&str; 2] = ["MPI_Status_set_elements", "MPI_Error_class"];
        let slices = shown(run(), "run.json").slices;
        for (function, count) in functions.iter().zip(&expected) {
            let outer = match *function {
                inner if INNER.contains(&inner) => 0,
                "MPI_Comm_rank" => 4,
                _ => *count,
            };
            assert_eq!(
                slices.iter().filter(|slice| slice.name == *function).count(),
                outer,
                "{function} with {stacks} stacks"
            );
        }
    }
}

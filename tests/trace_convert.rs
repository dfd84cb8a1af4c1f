//! Traces in the formats of other simulators: what they publish comes out of our import, and what is written
//! and read again takes the same time.

mod common;

use common::{Run, command, scratch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("convert-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn convert(from: &Path, to: &Path, args: &[&str]) -> Output {
    command(&["trace", "convert", from.to_str().unwrap(), "-o", to.to_str().unwrap()])
        .args(args)
        .output()
        .unwrap()
}

/// A file of another format, as a trace.
#[track_caller]
fn imported(name: &str, contents: &str, args: &[&str]) -> PathBuf {
    let directory = directory();
    let (from, to) = (directory.join(name), directory.join("imported.trace"));
    std::fs::write(&from, contents).unwrap();
    let output = convert(&from, &to, args);
    assert!(output.status.success(), "{}", text(&output));
    to
}

/// The simulated part of a replay's report.
#[track_caller]
fn replayed(trace: &Path, machine: &str) -> Value {
    let report = directory().join("report.json");
    let output = command(&[
        "replay",
        trace.to_str().unwrap(),
        "-m",
        machine,
        "--quiet=on",
        "--report",
        report.to_str().unwrap(),
    ])
    .output()
    .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    report["simulated"].clone()
}

#[track_caller]
fn takes(trace: &Path, machine: &str) -> u64 {
    replayed(trace, machine)["virtual_time_ps"].as_u64().unwrap()
}

/// A binomial tree's reduction of 1024 bytes on eight hosts: each sends to the one without its highest bit
/// once it has all that comes to it.
fn tree(ranks: &[usize]) -> String {
    let mut goal = "num_ranks 8\n".to_owned();
    for &rank in ranks {
        goal += &format!("rank {rank} {{\n");
        let above = (0..3).map(|bit| 1 << bit).filter(|&bit| bit > rank);
        let mut children = 0;
        for (label, child) in (1..).zip(above.map(|bit| rank + bit)) {
            goal += &format!("l{label}: recv 1024b from {child} tag 0\n");
            children = label;
        }
        if rank > 0 {
            let parent = rank - (1 << rank.ilog2());
            goal += &format!("s: send 1024b to {parent} tag 0\n");
            (1..=children).for_each(|label| goal += &format!("s requires l{label}\n"));
        }
        goal += "}\n";
    }
    goal
}

/// README.md of LogGOPSim: `schedgen --ptrn binomialtreereduce --datasize 1024` takes 34914 ns on host 0,
/// 24776 on host 1, 13138 on hosts 2 and 3 and 1500 on the others with L=2500, o=1500, g=1000, G=6 and
/// messages below S.
#[test]
fn loggopsims_example_takes_its_published_times() {
    // A message of s bytes takes L + (s - 1) G there, and l + s / b here: L - G is the latency of one link of
    // two.
    let machine = "star:l=1247ns,b=1333.333333Mbps/rank:o_send=1500ns,o_recv=1500ns,gap=1000ns";
    let trace = imported("tree.goal", &tree(&[0, 1, 2, 3, 4, 5, 6, 7]), &[]);
    let whole = takes(&trace, machine);
    assert!(whole.abs_diff(34_914_000) <= 10, "{whole}");
    // What comes to an end on its own: parts of the tree, whose last host is then the latest.
    for (ranks, expected) in [(&[2, 6][..], 13_138_000u64), (&[1, 3, 5, 7], 24_776_000)] {
        // To who does not receive it a message is sent all the same.
        let goal = tree(ranks);
        let trace = imported("part.goal", &goal, &[]);
        let end = takes(&trace, machine);
        assert!(end.abs_diff(expected) <= 10, "{ranks:?}: {end}");
    }
}

/// A message of 1000 bytes takes 3 us on this machine.
#[test]
fn goals_ranks_start_what_is_ready_before_they_wait() {
    let machine = "star:l=1us,b=8Gbps";
    // The second rank answers what the first sends last in its text.
    let answer = "num_ranks 2\nrank 0 {\na: recv 1000b from 1\nb: calc 5\nb requires a\nsend 1000b to 1\n}\n\
                  rank 1 {\na: recv 1000b from 0\nb: send 1000b to 0\nb requires a\n}\n";
    assert_eq!(takes(&imported("answer.goal", answer, &[]), machine), 6_005_000);
    // The message that is named last arrives first: 3 us of computation follow it, and 3 us the one that
    // arrives at 13 us.
    let late = "num_ranks 3\nrank 0 {\na: recv 1000b from 1\nb: calc 3000\nb requires a\n\
                c: recv 1000b from 2\nd: calc 3000\nd requires c\n}\n\
                rank 1 {\na: calc 10000\nb: send 1000b to 0\nb requires a\n}\nrank 2 {\nsend 1000b to 0\n}\n";
    assert_eq!(
        takes(&imported("late.goal", late, &["--loggops", "L=2000,o=0,g=0,G=1"]), machine),
        16_000_000
    );
}

/// A file of `txt2bin -i tree.goal -o tree.bin` is known by its contents.
#[test]
fn goals_binary_form_is_known_by_its_contents_and_says_what_the_text_says() {
    let trace = imported("tree.goal", &tree(&[0, 1, 2, 3, 4, 5, 6, 7]), &[]);
    let (binary, again) = (trace.with_extension("bin"), trace.with_extension("again"));
    for (from, to, args) in [(&trace, &binary, &["--to", "goalbin"][..]), (&binary, &again, &[])] {
        let output = convert(from, to, args);
        assert!(output.status.success(), "{}", text(&output));
    }
    let bytes = std::fs::read(&binary).unwrap();
    // The cookie, and eight ranks.
    assert_eq!(bytes[..12], [0x7f, 0x10, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0]);
    let machine = "star:l=1247ns,b=1333.333333Mbps/rank:o_send=1500ns,o_recv=1500ns,gap=1000ns";
    assert_eq!(takes(&again, machine), takes(&trace, machine));
    std::fs::write(&binary, &bytes[..bytes.len() - 1]).unwrap();
    let output = convert(&binary, &again, &[]);
    assert!(text(&output).contains("imported.bin: byte "), "{}", text(&output));
    assert!(!again.exists(), "what was begun is no trace");
}

/// SimGrid's `actions_with_isend.txt`, with its computation at a rate at which it can be added up by hand.
#[test]
fn simgrids_example_takes_the_time_that_its_lines_add_up_to() {
    let actions = "0 init\n\
        1 init\n\
        2 init\n\n\
        0 compute 1e9\n\
        0 send 1 0 1e6\n\
        0 compute 1e9\n\
        0 recv 2 2 1e6\n\n\
        1 irecv 0 0 1e6\n\
        1 compute 5e8\n\
        1 test 0 1 0\n\
        1 compute 5e8\n\
        1 wait 0 1 0\n\
        1 send 2 1 1e6\n\n\
        2 compute 2e9\n\
        2 irecv 1 1 1e6\n\
        2 compute 2.5e8\n\
        2 test 1 2 1\n\
        2 compute 2.5e8\n\
        2 wait 1 2 1\n\
        2 isend 0 2 1e6\n\
        2 compute 5e8\n\n\
        0 finalize\n\
        1 finalize\n\
        2 finalize\n";
    let trace = imported("actions.txt", actions, &["--flops", "1Gflops"]);
    // At 1e9 operations a second; a message takes 2 * 1 ms and 1e6 bytes / 1e8 B/s = 10 ms. Rank 1 has its
    // message at 1.012 s and sends at once, rank 2 computes until 2.5 s, has had its message since 1.024 s,
    // sends, and computes until 3 s; rank 0 computes until 2 s and waits until 2.512 s.
    let machine = "star:l=1ms,b=800Mbps";
    assert_eq!(takes(&trace, machine), 3_000_000_000_000);
    let trace = imported("actions.txt", &actions.replace("2 compute 5e8\n\n", "\n"), &["--flops", "1Gflops"]);
    assert_eq!(takes(&trace, machine), 2_512_000_000_000);
    assert_eq!(
        takes(
            &imported("actions.txt", "0 init\n0 compute 3e9\n0 finalize\n", &["--flops", "2Gflops"]),
            machine
        ),
        1_500_000_000_000
    );
}

/// One file names those of the ranks, as `smpirun -trace-ti` leaves them.
#[test]
fn a_file_for_each_rank_is_read_through_the_one_that_names_them() {
    let directory = directory();
    std::fs::write(directory.join("p0.txt"), "0 init\n0 send 1 0 1000\n0 finalize\n").unwrap();
    std::fs::write(directory.join("p1.txt"), "1 init\n1 recv 0 0 1000\n1 finalize\n").unwrap();
    std::fs::write(directory.join("all.ti"), "p0.txt\np1.txt\n").unwrap();
    let trace = directory.join("all.trace");
    let output = convert(&directory.join("all.ti"), &trace, &[]);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(takes(&trace, "star:l=1us,b=8Gbps"), 3_000_000);
}

const STEPS: &str = r#"
#include <mpi.h>
#include <xsim.h>
/* Neighbours on a ring, communicators of both halves, and collectives of all. */
int main(int argc, char **argv) {
    static char out[20000], in[20000];
    double mine[48] = {0}, all[48];
    int rank, size;
    MPI_Request requests[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    SPLIT
    for (int step = 0; step < 5; step++) {
        int before = (rank + size - 1) % size, behind = (rank + 1) % size;
        xsim_compute(1e-6 * (1 + (rank * 7 + step) % 5));
        MPI_Irecv(in, 20000, MPI_CHAR, before, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(in + 100, 100, MPI_CHAR, behind, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(out, 1000 * (step + 1), MPI_CHAR, behind, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(out, 100, MPI_CHAR, before, 2, MPI_COMM_WORLD, &requests[3]);
        xsim_compute(3e-6);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        MPI_Sendrecv(out, 50, MPI_CHAR, behind, 3, in, 50, MPI_CHAR, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Allreduce(mine, all, 48, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(all, 48, MPI_DOUBLE, step % size, MPI_COMM_WORLD);
        HALVES
    }
    MPI_Alltoall(out, 30, MPI_CHAR, in, 30, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Reduce(mine, all, 48, MPI_DOUBLE, MPI_MAX, size - 1, MPI_COMM_WORLD);
    MPI_Gather(out, 10, MPI_INT, in, 10, MPI_INT, 0, MPI_COMM_WORLD);
    FREE
    MPI_Finalize();
    return 0;
}
"#;

/// Records the program, with collectives of both halves or without.
fn steps(ranks: u32, halves: bool) -> PathBuf {
    let directory = directory();
    let (source, trace) = (directory.join("steps.c"), directory.join("steps.trace"));
    let parts = [
        ("SPLIT", "MPI_Comm half; MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);"),
        ("HALVES", "MPI_Barrier(half); MPI_Allgather(out, 77, MPI_CHAR, in, 77, MPI_CHAR, half);"),
        ("FREE", "MPI_Comm_free(&half);"),
    ];
    let text = parts
        .iter()
        .fold(STEPS.to_owned(), |text, (place, part)| text.replace(place, if halves { part } else { "" }));
    std::fs::write(&source, text).unwrap();
    let run = Run::of(common::compile(source.to_str().unwrap(), &[]))
        .ranks(ranks)
        .machine("none")
        .variable("XSIM_COMPUTE", "none");
    run.arg(format!("-xsim-trace={}", trace.display())).arg("-xsim-trace-times=exact").run().success();
    trace
}

/// GOAL has collectives as messages, also of halves of the ranks; time-independent traces have collectives of
/// all ranks as they are. OTF2 has all of them, in bytes: what is reduced is as many elements for each rank,
/// so that algorithms which split it do so at the same places.
#[test]
fn what_is_written_and_read_again_takes_the_same_time() {
    let machines =
        ["star:l=1us,b=8Gbps", "torus:4x4,l=300ns,b=10Gbps", "torus:4x4,l=30ns,b=10Gbps,level=packet"];
    for ranks in [4, 7, 16] {
        for (ending, halves) in [("goal", true), ("goalbin", true), ("ti", false), ("otf2", true)] {
            let trace = steps(ranks, halves);
            let (foreign, again) = (trace.with_extension(ending), trace.with_extension("again"));
            for (from, to) in [(&trace, &foreign), (&foreign, &again)] {
                let output = convert(from, to, &[]);
                assert!(output.status.success(), "{}", text(&output));
            }
            for machine in machines {
                let (ours, theirs) = (replayed(&trace, machine), replayed(&again, machine));
                // What making a communicator sends is MPI's own in a trace, and the program's in a format
                // without communicators.
                let number = |run: &serde_json::Value, key: &str| run[key].as_u64().unwrap();
                let all = |run: &serde_json::Value, key: &str| {
                    number(run, key) + number(run, &format!("internal_{key}"))
                };
                for key in ["messages", "bytes"] {
                    assert_eq!(
                        all(&ours, key),
                        all(&theirs, key),
                        "{key} of {ending}, {ranks} ranks on {machine}"
                    );
                }
                let (end, again) = (number(&ours, "virtual_time_ps"), number(&theirs, "virtual_time_ps"));
                assert_eq!(end, again, "virtual time of {ending}, {ranks} ranks on {machine}");
            }
        }
    }
}

/// Two computations at once, and what a send behind the first one begins at another rank.
const GRAPH: &str = "num_ranks 2\nrank 0 {\na: calc 1000 cpu 0\nb: calc 9000 cpu 1\nc: send 8b to 1\n\
    c requires a\n}\n\
                     rank 1 {\nr: recv 8b from 0\ne: calc 300\ne requires r\nf: calc 2500\n}\n";

#[test]
fn goal_files_are_replayed_as_graphs() {
    let (graph, ends) = (directory().join("graph.goal"), directory().join("ends.csv"));
    std::fs::write(&graph, GRAPH).unwrap();
    let replay = |args: &[&str]| {
        let output = command(&["replay", graph.to_str().unwrap()]).args(args).output().unwrap();
        (output.status.code(), text(&output))
    };
    let table = |args: &[&str]| {
        let args = [args, &["--ends", ends.to_str().unwrap()]].concat();
        let (status, said) = replay(&args);
        assert_eq!(status, Some(0), "{said}");
        (std::fs::read_to_string(&ends).unwrap(), said)
    };
    let expected = "rank,end_ps,computed_ps,idle_ps\n0,9000000,10000000,4000000\n1,2800000,2800000,0\n";
    let (found, said) = table(&["-m", "star:l=0,b=inf"]);
    assert_eq!(found, expected);
    assert!(said.contains("ranks end at 9us 2.8us") && said.contains("9 us of virtual time"), "{said}");
    assert_eq!(table(&["--loggops", "L=0,o=0,g=0,G=0"]).0, expected);
    for (args, part) in [
        (&["--profile"][..], "--profile: "),
        (&["-n", "3"], "2 ranks"),
        (&["--loggops", "L=x"], "--loggops L=x"),
        (&["--network-report", "n.json"], "level=packet"),
    ] {
        let (status, said) = replay(args);
        assert!(status == Some(2) && said.contains(part), "{args:?}: {said}");
    }
    std::fs::write(&graph, GRAPH.replace("send 8b to 1", "calc 8")).unwrap();
    let (status, said) = replay(&[]);
    assert!(status == Some(1) && said.contains("rank 1: recv 8b from 0 tag 0 (line 9)"), "{said}");
    std::fs::write(&graph, GRAPH.replace("cpu 1", "")).unwrap();
    let output = convert(&graph, &directory().join("graph.trace"), &[]);
    assert!(text(&output).contains("2 of 2 ranks have operations that do not wait for each other"));
}

#[test]
fn what_cannot_be_converted_says_where_and_why() {
    let fails = |from: &Path, to: &str, args: &[&str], parts: &[&str]| {
        let to = directory().join(to);
        let output = convert(from, &to, args);
        assert!(!output.status.success(), "{} is converted", from.display());
        parts
            .iter()
            .for_each(|part| assert!(text(&output).contains(part), "'{part}' is missing: {}", text(&output)));
        // Nothing is left that looks like a trace.
        assert!(to.extension().is_none_or(|ending| ending != "trace") || !to.exists());
    };
    let file = |name: &str, contents: &str| {
        let path = directory().join(name);
        std::fs::write(&path, contents).unwrap();
        path
    };
    fails(
        &file("a.goal", "num_ranks 2\nrank 0 {\nl1: send 5b too 1\n}\n"),
        "a.trace",
        &[],
        &["a.goal: line 3", "'too'"],
    );
    let cpus = file("a.goal", "num_ranks 1\nrank 0 {\na: calc 1 cpu 0\nb: calc 4 cpu 1\n}\n");
    fails(&cpus, "a.trace", &[], &["a.goal: line 4", "cpu 1", "one processor"]);
    fails(&cpus, "a.trace", &["--loggops", "L=many"], &["--loggops L=many"]);
    fails(&file("a.ti", "0 init\n0 dance\n"), "a.trace", &[], &["a.ti: line 2", "'dance'"]);
    fails(&file("a.xyz", "0 init\n"), "a.trace", &[], &["--from"]);
    fails(&file("a.goal", "num_ranks 1\n"), "a.ti", &[], &["a trace first"]);
    fails(&file("a.otf2", "OTF2"), "a.trace", &[], &["a.otf2: byte 0", "no anchor file of OTF2"]);
    fails(&file("a.meta", "hostname=a\n"), "a.trace", &[], &["a.meta: ", "numprocs"]);
    fails(&file("a.meta", "numprocs=2\nfileprefix=b\n"), "a.trace", &[], &["b-0000.bin cannot be read"]);
    fails(
        &file("dumpi-0000.bin", "nothing to speak of"),
        "a.trace",
        &[],
        &["dumpi-0000.bin: byte 0", "no file of DUMPI"],
    );
    fails(Path::new("/nonexistent.goal"), "a.trace", &[], &["/nonexistent.goal", "cannot be read"]);
    fails(&file("a.ti", "0 init\n"), "a.trace", &["--flops", "many"], &["--flops many"]);
    let halves = steps(4, true);
    fails(&halves, "a.xyz", &[], &["is a trace, and the name ", "a.xyz does not say", "--to goal"]);
    fails(&halves, "a.ti", &[], &["rank 0 ", "MPI_Barrier at steps.c:", "of all ranks alone"]);
}

//! Execution traces of Chakra: files are made here by hand, and their times follow from the nodes'.

mod common;
#[path = "../runtime/models/chakra/tests/encoder/mod.rs"]
mod encoder;

use common::{command, scratch};
use encoder::{ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BARRIER, BROADCAST, COMP, MEM_LOAD, Node, REDUCE_SCATTER};
use encoder::{Value, collective, compute, file, receive, send};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Messages take 2 us and a nanosecond a byte.
const STAR: &str = "star:l=1us,b=8Gbps";

fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("chakra-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// Writes `x.RANK.et` for each rank. Returns their directory.
fn written(ranks: &[Vec<Node>]) -> PathBuf {
    let directory = directory();
    for (nodes, rank) in ranks.iter().zip(0..) {
        std::fs::write(directory.join(format!("x.{rank}.et")), file(nodes)).unwrap();
    }
    directory
}

fn replay(path: &Path, args: &[&str]) -> Output {
    command(&["replay", path.to_str().unwrap()]).args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Replays, and returns the table of ends in microseconds, and the summary.
#[track_caller]
fn ends(path: &Path, args: &[&str]) -> (Vec<[u64; 4]>, String) {
    let table = directory().join("ends.csv");
    let output = replay(path, &[&["--ends", table.to_str().unwrap()], args].concat());
    assert!(output.status.success(), "{}", text(&output));
    let table = std::fs::read_to_string(table).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("rank,end_ps,computed_ps,exposed_ps,idle_ps"));
    let row = |(line, rank): (&str, u64)| {
        let numbers: Vec<u64> = line.split(',').map(|number| number.parse().unwrap()).collect();
        assert_eq!(numbers[0], rank);
        [1, 2, 3, 4].map(|at| numbers[at] / 1_000_000)
    };
    (lines.zip(0..).map(row).collect(), text(&output))
}

/// Returns the virtual time of a replay, in picoseconds.
#[track_caller]
fn takes(path: &Path, args: &[&str]) -> u64 {
    let report = directory().join("report.json");
    let output = replay(path, &[&["--quiet=on", "--report", report.to_str().unwrap()], args].concat());
    assert!(output.status.success(), "{}", text(&output));
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    report["simulated"]["virtual_time_ps"].as_u64().unwrap()
}

/// A step: 10 us of computation, a ring's all-reduce of 4 x 1000 bytes (six messages of 3 us) beside another
/// 12 us, and 5 us behind both; meanwhile 40 us on the host's processor.
#[test]
fn a_step_has_computation_and_exposed_communication() {
    let step = vec![
        compute(1, 10),
        collective(2, ALL_REDUCE, 4000).after(&[1]),
        compute(3, 12).after(&[1]),
        compute(4, 5).behind(&[2]).after(&[3]),
        compute(5, 40).with("is_cpu_op", Value::Bool(true)),
    ];
    let directory = written(&vec![step; 4]);
    for path in [directory.join("x.0.et"), directory.join("x.2.et"), directory.join("x"), directory.clone()] {
        let (rows, said) = ends(&path, &["-m", STAR, "--coll", "allreduce=ring"]);
        assert_eq!(rows, [[40, 27, 6, 7]; 4], "{}", path.display());
        for part in [
            "4 ranks on star",
            "40 us of virtual time",
            "a rank computes 27 us, waits 6 us",
            "24 messages, 24 kB",
            "exposed communication of a rank: 6us on average, at most 6us (rank 0)",
            "ranks end at 40us 40us 40us 40us",
        ] {
            assert!(said.contains(part), "'{part}' is missing: {said}");
        }
    }
    // Doubling has two messages of 6 us.
    assert_eq!(takes(&directory, &["-m", STAR, "--coll", "allreduce=recursive-doubling"]), 40_000_000);
}

/// Four stages of 10 us, each of which sends 1000 bytes to the next one.
#[test]
fn a_pipeline_between_ranks_adds_up() {
    let stage = |rank: i32| {
        let mut nodes = vec![compute(2, 10).after(if rank > 0 { &[1] } else { &[] })];
        nodes.extend((rank > 0).then(|| receive(1, rank - 1, 1000)));
        nodes.extend((rank < 3).then(|| send(3, rank + 1, 1000).after(&[2])));
        nodes
    };
    let directory = written(&[0, 1, 2, 3].map(stage));
    let (rows, _) = ends(&directory, &["-m", STAR]);
    assert_eq!(rows, [0, 13, 26, 39].map(|before| [before + 10, 10, before, 0]));
    let (rows, _) = ends(&directory, &["-m", STAR, "--eager-limit", "999"]);
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [14, 31, 48, 61]);
}

#[test]
fn work_without_a_duration_goes_by_stated_rates() {
    let nodes = vec![
        Node::new(1, COMP).with("num_ops", Value::Int64(3_000_000)).with("tensor_size", Value::Uint64(8_000)),
        Node::new(2, MEM_LOAD).with("tensor_size", Value::Uint64(5_000)).after(&[1]),
    ];
    let directory = written(&[nodes]);
    let (rows, _) = ends(&directory, &["--flops", "1Tflops", "--memory", "1GB/s"]);
    assert_eq!(rows, [[13, 8, 0, 5]]);
    // The machine may say how fast its ranks are.
    let (rows, _) = ends(&directory, &["-m", "star:l=1us/rank:flops=100G", "--memory", "1GB/s"]);
    assert_eq!(rows, [[35, 30, 0, 5]]);
}

#[test]
fn a_file_of_groups_gives_their_ranks() {
    let call = |kind: i64| vec![collective(1, kind, 1000).with("pg_name", Value::Text("pair".to_owned()))];
    let directory = written(&[call(BROADCAST), vec![compute(1, 1)], call(BROADCAST)]);
    let groups = directory.join("groups.json");
    std::fs::write(&groups, r#"{"pair": [2, 0]}"#).unwrap();
    let (rows, _) = ends(&directory, &["-m", STAR, "--groups", groups.to_str().unwrap()]);
    assert_eq!(rows, [[3, 0, 3, 0], [1, 1, 0, 0], [0, 0, 0, 0]]);
}

/// Compresses by gzip, in one stored block.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut checksum = u32::MAX;
    for &byte in bytes {
        checksum ^= u32::from(byte);
        for _ in 0..8 {
            checksum = checksum >> 1 ^ (0xedb8_8320 & (checksum & 1).wrapping_neg());
        }
    }
    let length = bytes.len() as u16;
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    out.extend_from_slice(bytes);
    out.extend((!checksum).to_le_bytes());
    out.extend(u32::from(length).to_le_bytes());
    out
}

#[test]
fn compressed_files_are_read() {
    let directory = directory();
    let plain = file(&[compute(1, 4)]);
    std::fs::write(directory.join("x.0.et.gz"), gzip(&plain)).unwrap();
    std::fs::write(directory.join("x.1.et"), gzip(&plain)).unwrap();
    assert_eq!(ends(&directory, &[]).0, [[4, 4, 0, 0]; 2]);
    let mut damaged = gzip(&plain);
    damaged.truncate(30);
    std::fs::write(directory.join("x.1.et"), damaged).unwrap();
    let output = replay(&directory.join("x.0.et.gz"), &[]);
    assert!(
        text(&output).contains("x.1.et: byte ") && text(&output).contains("cannot be read"),
        "{}",
        text(&output)
    );
}

/// A collective takes what MPI's takes, as a trace of calls: here one of SimGrid's.
#[test]
fn collectives_take_the_time_of_mpis() {
    let machines = [
        "star:l=1us,b=8Gbps/rank:o_send=0.4us,o_recv=0.3us,gap=0.2us,reduce=4GB/s,copy=20ns@8GB/s",
        "torus:4x4,l=20ns,b=10Gbps,flowmin=0,level=flow",
        "torus:4x4,l=20ns,b=10Gbps,level=packet",
        "star:l=1us,b=8Gbps/star:4,l=100ns,b=80Gbps",
    ];
    // Of 1152 bytes for each rank, a multiple of both numbers of ranks.
    for ranks in [6u64, 8] {
        let counts = |each: u64| format!(" {each}").repeat(ranks as usize);
        let cases = [
            (collective(1, ALL_REDUCE, 1152), "allreduce 288 0 1".to_owned()),
            (collective(1, REDUCE_SCATTER, 1152), format!("reducescatter{} 0 1", counts(288 / ranks))),
            (collective(1, ALL_GATHER, 1152), "allgather 288 288 1 1".to_owned()),
            (collective(1, ALL_TO_ALL, 1152), format!("alltoall {0} {0} 1 1", 288 / ranks)),
            (collective(1, BROADCAST, 1152), "bcast 288 0 1".to_owned()),
            (collective(1, BARRIER, 0), "barrier".to_owned()),
        ];
        for (node, action) in cases {
            let directory = written(&vec![vec![node]; ranks as usize]);
            let (calls, trace) = (directory.join("x.ti"), directory.join("x.trace"));
            let lines = (0..ranks).map(|rank| format!("{rank} init\n{rank} {action}\n{rank} finalize\n"));
            std::fs::write(&calls, lines.collect::<String>()).unwrap();
            let args = ["trace", "convert", calls.to_str().unwrap(), "-o", trace.to_str().unwrap()];
            let output = command(&args).output().unwrap();
            assert!(output.status.success(), "{}", text(&output));
            for machine in machines {
                for policy in ["mpich", "openmpi", "linear", "openmpi,allreduce=ring,bcast=pipeline"] {
                    // Blocks are equal, which SimGrid's action does not say: the tables may differ.
                    let policy = &format!("{policy},reduce_scatter=ring");
                    let args = ["-m", machine, "--coll", policy];
                    let [found, expected] = [&directory, &trace].map(|path| takes(path, &args));
                    assert_eq!(found, expected, "{action} of {ranks} ranks by {policy} on {machine}");
                    assert!(found > 0);
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_replayed_is_a_sentence_with_its_file() {
    let fails = |path: &Path, args: &[&str], status: i32, parts: &[&str]| {
        let output = replay(path, args);
        assert_eq!(output.status.code(), Some(status), "{}", text(&output));
        for part in parts {
            assert!(text(&output).contains(part), "'{part}' is missing: {}", text(&output));
        }
    };
    let directory = written(&vec![vec![compute(1, 4)]; 4]);
    fails(&directory, &["-n", "3"], 2, &["4 ranks", "leave -n out"]);
    fails(&directory, &["--profile"], 2, &["--profile: ", "nodes and no calls"]);
    fails(&directory, &["--loggops", "L=1"], 2, &["--loggops"]);
    fails(&directory, &["--memory", "fast"], 2, &["--memory: 'fast'"]);
    fails(&directory, &["-m", "ring:3"], 2, &["3", "4"]);
    let cut = file(&[compute(1, 4), compute(2, 4)]);
    std::fs::write(directory.join("x.3.et"), &cut[..cut.len() - 1]).unwrap();
    fails(&directory, &[], 1, &["x.3.et: byte 57: the file ends after 15 of the 16 bytes"]);
    std::fs::write(directory.join("x.3.et"), file(&[compute(2, 4).after(&[9])])).unwrap();
    fails(&directory, &[], 1, &["x.3.et: byte 39: node 2 waits for node 9"]);
    let output = {
        std::fs::write(directory.join("x.3.et"), file(&[compute(2, 4).behind(&[9])])).unwrap();
        replay(&directory, &[])
    };
    let part = "x.3.et: byte 39: node 2 waits for node 9, which the file does not have; control dependencies";
    assert!(output.status.success() && text(&output).contains(part), "{}", text(&output));
    let circle = file(&[compute(2, 4).behind(&[3]), compute(3, 5).after(&[2])]);
    std::fs::write(directory.join("x.3.et"), circle).unwrap();
    fails(&directory, &[], 1, &["x.3.et: byte 39: nodes 2, 3 wait for each other in a circle; --deps data"]);
    assert_eq!(ends(&directory, &["--deps", "data"]).0[3][0], 9);
    std::fs::write(directory.join("x.3.et"), file(&[receive(7, 0, 4)])).unwrap();
    fails(&directory, &[], 1, &["deadlock", "rank 3: node 7, receive of 4 bytes", "x.3.et, byte 39"]);
    std::fs::write(directory.join("x.3.et"), file(&[Node::new(1, COMP).with("num_ops", Value::Int64(1))]))
        .unwrap();
    fails(&directory, &[], 1, &["x.3.et: byte 39: node 1 has 1 operations", "--flops"]);
    std::fs::remove_file(directory.join("x.1.et")).unwrap();
    fails(&directory, &[], 1, &["the file of rank 1 is missing", "x.3.et"]);
    fails(&directory.join("x"), &[], 1, &["the file of rank 1 is missing"]);
    std::fs::write(directory.join("y.0.et"), file(&[])).unwrap();
    fails(&directory, &[], 1, &["two traces, x and y"]);
    fails(&directory.join("z.et"), &[], 1, &["z.et has no rank in its name", "NAME.0.et"]);
    fails(&directory.join("z.0.et"), &[], 1, &["there is no file", "z.0.et"]);
    let goal = directory.join("x.goal");
    std::fs::write(&goal, "num_ranks 1\nrank 0 {\na: calc 1\n}\n").unwrap();
    fails(&goal, &["--flops", "1G"], 2, &["--flops is for Chakra traces"]);
    let groups = directory.join("groups.json");
    std::fs::write(&groups, "[]").unwrap();
    fails(
        &directory.join("y.0.et"),
        &["--groups", groups.to_str().unwrap()],
        2,
        &["groups.json: it is no object"],
    );
}

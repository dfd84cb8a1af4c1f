//! Contents of a trace that OTF2 can hold come back from it.

use convert::{Format, LogGops, Options};
use mpi::schedule::choose::Policy;
use std::path::{Path, PathBuf};
use trace::Trace;

fn options() -> Options {
    Options { flops: 1e9, policy: Policy::default(), loggops: LogGops::default(), without: Vec::new() }
}

fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("xsim-otf2-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

/// Returns a trace of SimGrid's actions, as an archive and as a trace again.
fn there_and_back(directory: &Path, actions: &str) -> (Trace, Trace) {
    let (text, first, archive, second) = (
        directory.join("a.txt"),
        directory.join("a.trace"),
        directory.join("b.otf2"),
        directory.join("b.trace"),
    );
    std::fs::write(&text, actions).unwrap();
    convert::import(Format::Ti, &text, &first, &options()).unwrap();
    let trace = Trace::open(&first).unwrap();
    convert::export(&trace, Format::Otf2, &archive, &options()).unwrap();
    convert::import(Format::Otf2, &archive, &second, &options()).unwrap();
    (trace, Trace::open(&second).unwrap())
}

/// Makes four ranks, each of which does what there is in messages and collectives, `turns` times.
fn actions(turns: u32) -> String {
    let mut text = String::new();
    for rank in 0..4 {
        let (next, before) = ((rank + 1) % 4, (rank + 3) % 4);
        text += &format!("{rank} init\n");
        for turn in 0..turns {
            for action in [
                format!("compute {}", 1000 * (rank + turn + 1)),
                format!("irecv {before} 7 {}", 100 + before),
                format!("isend {next} 7 {}", 100 + rank),
                "waitall".to_owned(),
                format!("irecv {before} 8 9"),
                format!("send {next} 8 9"),
                format!("wait {before} {rank} 8"),
                format!("sendRecv 50 {next} 50 {before}"),
                "compute 77".to_owned(),
                "barrier".to_owned(),
                "bcast 1000 2".to_owned(),
                "reduce 60 0 1".to_owned(),
                "allreduce 64 0".to_owned(),
                "alltoall 10 10".to_owned(),
                "allgather 11 11".to_owned(),
                "gather 12 12 3".to_owned(),
                "scatter 13 13 0".to_owned(),
                "scan 14 0".to_owned(),
                "alltoallv 40 10 10 10 10 40 10 10 10 10".to_owned(),
                "reducescatter 5 5 5 5 0".to_owned(),
            ] {
                text += &format!("{rank} {action}\n");
            }
        }
        text += &format!("{rank} finalize\n");
    }
    text
}

#[test]
fn calls_and_computation_come_back_as_they_were() {
    let directory = directory("round");
    let (first, second) = there_and_back(&directory, &actions(3));
    let mut told = Vec::new();
    let same = trace::diff::diff(&first, &second, &mut told).unwrap();
    assert!(same, "{}", String::from_utf8_lossy(&told));
    assert!(first.length() > Some(4 * 3 * 15));
    assert_eq!(first.times, second.times);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn files_of_many_chunks_are_written_and_read() {
    let directory = directory("chunks");
    // Of 2^20 bytes each.
    let (first, second) = there_and_back(&directory, &actions(8000));
    let length = std::fs::metadata(directory.join("b/2.evt")).unwrap().len();
    assert!(length > 2 << 20, "{length}");
    assert!(trace::diff::diff(&first, &second, &mut Vec::new()).unwrap());
    assert_eq!(first.times, second.times);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn an_archive_does_not_take_the_place_of_a_file() {
    let directory = directory("place");
    std::fs::write(directory.join("b"), "a program").unwrap();
    std::fs::write(directory.join("a.txt"), "0 init\n0 finalize\n").unwrap();
    convert::import(Format::Ti, &directory.join("a.txt"), &directory.join("a.trace"), &options()).unwrap();
    let trace = Trace::open(&directory.join("a.trace")).unwrap();
    let error = convert::export(&trace, Format::Otf2, &directory.join("b.otf2"), &options()).unwrap_err();
    assert!(error.contains("a file is there") && error.contains("another name"), "{error}");
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Every collective that OTF2 knows, waiting and with a request, on three ranks.
#[test]
fn all_collectives_can_be_replayed() {
    use otf2::{ArchiveDefinitions, ArchiveWriter, Collective, Communicator, Event};
    use workload::{How, Replay, Script};
    let directory = directory("collectives");
    let anchor = directory.join("a.otf2");
    let contents = ArchiveDefinitions {
        ticks: 1_000_000_000,
        ranks: (0..3).map(|rank| format!("rank {rank}")).collect(),
        regions: ["MPI_Of_some_kind", "MPI_Wait"].map(str::to_owned).to_vec(),
        communicators: vec![Communicator {
            name: "all".to_owned(),
            members: Some(vec![0, 1, 2]),
            parent: None,
            has_events: false,
        }],
    };
    let mut writer = ArchiveWriter::create(&anchor, contents).unwrap();
    for rank in 0..3 {
        let mut time = 0;
        let mut call = |region: u32, event: Event| {
            time += 1000;
            for event in [Event::Enter(region), event, Event::Leave(region)] {
                writer.event(rank, time, &event).unwrap();
            }
        };
        for operation in 0..=16 {
            let collective = Collective { operation, comm: 0, root: 1, sent: 30, received: 30 };
            call(0, Event::CollectiveEnd(collective));
            call(0, Event::IcollectiveRequest(operation.into()));
            call(1, Event::IcollectiveComplete(collective, operation.into()));
        }
    }
    writer.finish().unwrap();
    let to = directory.join("a.trace");
    convert::import(Format::Otf2, &anchor, &to, &options()).unwrap();
    let trace = Trace::open(&to).unwrap();
    let mut replay = Replay::new(&trace, How { decides: false, compares: false, without: &[] }).unwrap();
    for rank in 0..3 {
        let mut script = Script::new(&mut replay, rank);
        let mut calls = 0;
        while script.next().unwrap().is_some() {
            calls += 1;
        }
        // Beside MPI_Init and MPI_Finalize.
        assert_eq!(calls, 2 + 3 * 17, "rank {rank}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

//! Whatever a file says, there is a trace or a sentence that names a line.

use convert::{Format, LogGops, Options};
use mpi::schedule::choose::Policy;
use proptest::prelude::*;

const GOAL: [&str; 24] = [
    "num_ranks",
    "rank",
    "{",
    "}",
    "l1",
    "l2",
    "l3",
    ":",
    "send",
    "recv",
    "calc",
    "b",
    "to",
    "from",
    "tag",
    "cpu",
    "nic",
    "requires",
    "irequires",
    "0",
    "1",
    "-1",
    "18446744073709551615",
    "\n",
];
const TI: [&str; 30] = [
    "init",
    "finalize",
    "compute",
    "send",
    "recv",
    "isend",
    "irecv",
    "wait",
    "waitall",
    "test",
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "alltoall",
    "alltoallv",
    "gather",
    "gatherv",
    "allgatherv",
    "scatterv",
    "reducescatter",
    "scan",
    "sendRecv",
    "0",
    "1",
    "-1",
    "1e6",
    "1e300",
    "\n0",
    "\n1",
];

fn read(format: Format, text: &[u8]) {
    let options =
        Options { flops: 1e9, policy: Policy::default(), loggops: LogGops::default(), without: Vec::new() };
    if format == Format::Goal
        && let Ok(graph) = convert::graph_of(std::io::Cursor::new(text))
    {
        let run = goal::run(&graph, goal::Carrier::loggops(&options.loggops), goal::ReadyOrder::Gnu).unwrap();
        let count: usize = graph.blocks.iter().map(|(_, operations)| operations.works.len()).sum();
        assert!(run.deadlock.is_some() || run.orders.iter().flatten().count() == count);
    }
    match convert::read(format, text, &options) {
        Ok(trace) => (0..trace.ranks).for_each(|rank| {
            trace.rank(rank).calls().take(100).for_each(drop);
        }),
        Err(why) => assert!(!why.is_empty()),
    }
}

proptest! {
    #[test]
    fn words_of_the_languages_in_any_order_are_read_or_refused(
        goal in prop::collection::vec(0..GOAL.len(), 0..60),
        ti in prop::collection::vec(0..TI.len(), 0..60),
    ) {
        let text = |words: &[&str], chosen: &[usize]| {
            chosen.iter().map(|&word| words[word]).collect::<Vec<_>>().join(" ")
        };
        read(Format::Goal, text(&GOAL, &goal).as_bytes());
        read(Format::Goal, format!("num_ranks 2\nrank 1 {{\n{}\n}}", text(&GOAL, &goal)).as_bytes());
        read(Format::Ti, text(&TI, &ti).as_bytes());
        read(Format::Ti, format!("0 init\n1 init\n0 {}", text(&TI, &ti)).as_bytes());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read(Format::Goal, &bytes);
        // The binary form, with a head for one rank.
        let head = [
            &4223u64.to_le_bytes()[..],
            &[1, 0, 0, 0, 0, 0],
            &22u64.to_le_bytes(),
            &(22 + bytes.len() as u64).to_le_bytes(),
        ]
        .concat();
        read(Format::GoalBinary, &[&head, &bytes[..]].concat());
        read(Format::GoalBinary, &[&head[..8], &bytes].concat());
        read(Format::Ti, &bytes);
        read(Format::Otf2, &bytes);
        read(Format::Dumpi, &bytes);
    }
}

/// Files one behind the other, as archives in memory are.
fn packed(files: &[Vec<u8>]) -> Vec<u8> {
    files
        .iter()
        .flat_map(|file| (file.len() as u32).to_le_bytes().into_iter().chain(file.iter().copied()))
        .collect()
}

/// An archive of two ranks that send, receive, wait and reduce, and make a communicator.
fn archive() -> Vec<Vec<u8>> {
    use otf2::{ArchiveDefinitions, ArchiveWriter, Collective, Communicator, Event, Message, operation};
    let directory = std::env::temp_dir().join(format!("xsim-hostile-{}", std::process::id()));
    let anchor = directory.join("a.otf2");
    std::fs::create_dir_all(&directory).unwrap();
    let communicator = |name: &str, members, has_events| Communicator {
        name: name.to_owned(),
        members,
        parent: Some(0),
        has_events,
    };
    let contents = ArchiveDefinitions {
        ticks: 1_000_000,
        ranks: vec!["rank 0".to_owned(), "rank 1".to_owned()],
        regions: [
            "MPI_Init",
            "main",
            "MPI_Isend",
            "MPI_Irecv",
            "MPI_Waitall",
            "MPI_Allreduce",
            "MPI_Comm_dup",
        ]
        .map(str::to_owned)
        .to_vec(),
        communicators: vec![
            communicator("world", Some(vec![0, 1]), false),
            communicator("dup", Some(vec![0, 1]), true),
        ],
    };
    let mut writer = ArchiveWriter::create(&anchor, contents).unwrap();
    for rank in 0..2 {
        let message = Message { peer: 1 - rank, comm: 0, tag: 3, bytes: 1 << 20 };
        let joint = |operation, comm| Collective { operation, comm, root: u32::MAX, sent: 16, received: 16 };
        let calls: [(u32, &[Event]); 6] = [
            (0, &[]),
            (2, &[Event::Isend(message, 1)]),
            (3, &[Event::IrecvRequest(2)]),
            (4, &[Event::Irecv(message, 2), Event::IsendComplete(1)]),
            (6, &[Event::CommCreate(1), Event::CollectiveEnd(joint(operation::CREATE_HANDLE, 0))]),
            (5, &[Event::CollectiveBegin, Event::CollectiveEnd(joint(operation::ALLREDUCE, 1))]),
        ];
        for (time, (region, events)) in (10..).step_by(10).zip(calls) {
            writer.event(rank, time, &Event::Enter(region)).unwrap();
            events.iter().for_each(|event| writer.event(rank, time + 1, event).unwrap());
            writer.event(rank, time + 2, &Event::Leave(region)).unwrap();
        }
    }
    writer.finish().unwrap();
    let files = ["a.otf2", "a.def", "a/0.def", "a/0.evt", "a/1.def", "a/1.evt"]
        .map(|name| std::fs::read(directory.join(name)).unwrap());
    std::fs::remove_dir_all(&directory).unwrap();
    files.to_vec()
}

fn of(format: Format, bytes: &[u8]) -> Result<trace::Trace, String> {
    convert::read(
        format,
        bytes,
        &Options { flops: 1e9, policy: Policy::default(), loggops: LogGops::default(), without: Vec::new() },
    )
}

#[test]
fn archives_that_are_cut_or_changed_anywhere_are_read_or_refused() {
    let files = archive();
    let trace = of(Format::Otf2, &packed(&files)).unwrap();
    let calls: Vec<String> =
        trace.rank(1).calls().map(|event| trace::text::event(&trace.rank(1), &event)).collect();
    for (call, part) in calls.iter().zip([
        "MPI_Init",
        "dest=0, tag=3",
        "source=0, tag=3",
        "MPI_Waitall",
        "newcomm=comm#1",
        "count=8",
        "MPI_Finalize",
    ]) {
        assert!(call.contains(part), "{part}: {call}");
    }
    for file in 0..files.len() {
        for at in 0..files[file].len() {
            let mut cut = files.clone();
            cut[file].truncate(at);
            // A local file may be missing, an anchor says nothing behind its locations that is needed, and
            // the last byte ends what was in memory.
            if matches!(file, 1 | 3 | 5) && at + 1 < files[file].len() {
                let error = of(Format::Otf2, &packed(&cut)).unwrap_err();
                assert!(error.contains("byte"), "{error}");
            }
            for value in [0, 0x7f, 0xff] {
                let mut changed = files.clone();
                changed[file][at] = value;
                read(Format::Otf2, &packed(&changed));
            }
        }
    }
}

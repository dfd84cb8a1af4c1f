//! Recordings come back: every call of every rank in order, whatever the processes.

use engine::{Span, Time};
use proptest::prelude::*;
use recorder::{
    ArgumentValue, Call, CallReturn, Class, CommMembership, ObjectArgument, RecordedStatus, Recorder, Value,
};
use std::ops::Range;
use trace::saved::{self, Saved};
use trace::scale::{Change, Rule, Scaling, scale};
use trace::{Options, Recording, Timing, Trace, text};

/// A call of a made-up program.
#[derive(Clone, Copy, Debug)]
enum Made {
    /// To or from the rank at a distance, or an absolute one.
    Message { function: u16, relative: bool, peer: i32, tag: i32, count: i64, comm: u32 },
    /// With a list whose elements depend on the rank or not.
    Waitall { count: u32, by_rank: bool, wildcard: bool },
    /// With a number that goes by the rank.
    Split { divisor: u32 },
    /// Computation of a rank, in picoseconds.
    Compute(u64),
}

fn arguments(made: &Made, rank: u32, ranks: u32) -> (&'static str, u16, Vec<ArgumentValue>) {
    let argument = |name, value| ArgumentValue { name, value, result: false };
    let result = |name, value| ArgumentValue { name, value, result: true };
    let request = |slot| Value::Handle(Class::Request, ObjectArgument::Made { number: slot + 7, slot });
    match *made {
        Made::Message { function, relative, peer, tag, count, comm } => {
            let of = |relative: bool, position: u32, peers: u32| {
                let peer = if relative {
                    (position as i32 + peer).rem_euclid(peers as i32)
                } else {
                    peer.min(peers as i32 - 1)
                };
                Value::Rank(peer)
            };
            // The communicator of the ranks with the same parity.
            let comm = match comm {
                0 => {
                    let object = ObjectArgument::Named("MPI_COMM_WORLD");
                    let value = Value::Comm {
                        object,
                        context: Some(0),
                        size: ranks,
                        member: Some(member(rank, ranks, (0, 0))),
                    };
                    (of(relative, rank, ranks), value)
                }
                number => {
                    let (own, size, leader) = (rank / 2, (ranks + 1 - rank % 2) / 2, rank % 2);
                    let object = ObjectArgument::Made { number, slot: number };
                    let context = Some(number * 2 + leader);
                    (
                        of(relative, own, size),
                        Value::Comm {
                            object,
                            context,
                            size,
                            member: Some(member(own, size, (leader, leader))),
                        },
                    )
                }
            };
            let name = if function == 1 { "MPI_Send" } else { "MPI_Irecv" };
            let mut all = vec![
                argument("buf", Value::Buffer(u64::from(rank) * 12_345)),
                argument("count", Value::Count(count)),
                argument(
                    "datatype",
                    Value::Datatype { object: ObjectArgument::Named("MPI_INT"), size: 4, extent: 4 },
                ),
                argument(if function == 1 { "dest" } else { "source" }, comm.0),
                argument("tag", Value::Tag(tag)),
                argument("comm", comm.1),
            ];
            if function != 1 {
                all.push(result("request", request(1)));
            }
            (name, function, all)
        }
        Made::Waitall { count, by_rank, wildcard } => {
            let requests = (0..count).map(|k| request(if by_rank { k + rank + 1 } else { k + 1 })).collect();
            let status = |k: u32| RecordedStatus {
                source: if wildcard { (rank + k) as i32 } else { -1 },
                tag: 3,
                bytes: 16,
                cancelled: k == 3,
            };
            let statuses = (0..count).map(|k| Value::Status(status(k))).collect();
            let all = vec![
                argument("count", Value::Count(count.into())),
                argument("array_of_requests", Value::List(requests)),
                result("array_of_statuses", Value::List(statuses)),
            ];
            ("MPI_Waitall", 3, all)
        }
        Made::Split { divisor } => {
            let all = vec![
                argument("color", Value::Integer((rank / divisor).into())),
                argument("key", Value::Integer((rank % divisor).into())),
                result("flag", Value::Logical(rank.is_multiple_of(3))),
                result("name", Value::Text(format!("rank {rank}"))),
                argument("info_key", Value::Text("a \"key\"".into())),
            ];
            ("MPI_Made_up", 4, all)
        }
        Made::Compute(_) => unreachable!("no call"),
    }
}

fn member(rank: u32, peers: u32, leaders: (u32, u32)) -> CommMembership {
    CommMembership { rank, peers, leaders }
}

/// Returns a call as the trace says it in the end.
fn expected(name: &str, arguments: &[ArgumentValue]) -> String {
    let shown: Vec<String> =
        arguments.iter().map(|argument| format!("{}={}", argument.name, show(argument))).collect();
    format!("{name}({})", shown.join(", "))
}

fn show(argument: &ArgumentValue) -> String {
    fn value(value: &Value) -> String {
        match value {
            Value::Buffer(_) => "...".into(),
            Value::Count(number) | Value::Integer(number) => number.to_string(),
            Value::Logical(truth) => truth.to_string(),
            Value::Rank(rank) | Value::Tag(rank) => rank.to_string(),
            Value::Comm { object, .. } => object_text("comm", object),
            Value::Datatype { object, .. } => object_text("datatype", object),
            Value::Handle(_, object) => object_text("request", object),
            Value::Text(text) => format!("{text:?}"),
            Value::Status(status) if status.source < 0 && !status.cancelled => "{}".into(),
            Value::Status(RecordedStatus { source, tag, bytes, cancelled }) => {
                let source = if *source == -1 { "MPI_ANY_SOURCE".to_owned() } else { source.to_string() };
                format!(
                    "{{source={source}, tag={tag}, bytes={bytes}{}}}",
                    if *cancelled { ", cancelled" } else { "" }
                )
            }
            Value::List(values) => {
                format!("[{}]", values.iter().map(self::value_of).collect::<Vec<_>>().join(", "))
            }
            _ => unreachable!("not made"),
        }
    }
    if argument.result && matches!(argument.value, Value::Text(_)) {
        "?".into()
    } else {
        value(&argument.value)
    }
}

fn value_of(value: &Value) -> String {
    show(&ArgumentValue { name: "", value: value.clone(), result: false })
}

fn object_text(class: &str, object: &ObjectArgument) -> String {
    match object {
        ObjectArgument::Named(name) => (*name).to_owned(),
        ObjectArgument::Made { slot, .. } => format!("{class}#{slot}"),
    }
}

/// Actions of each rank.
type Program = Vec<Vec<Made>>;

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![
        4 => (1u16..3, any::<bool>(), -3i32..6, 0i32..3, 1i64..4, 0u32..2)
            .prop_map(|(function, relative, peer, tag, count, comm)| {
            let peer = if relative { peer } else { peer.max(0) };
            Made::Message { function, relative, peer, tag, count, comm }
        }),
        2 => (1u32..6, any::<bool>(), any::<bool>()).prop_map(
            |(count, by_rank, wildcard)| Made::Waitall { count, by_rank, wildcard }
        ),
        1 => (1u32..5).prop_map(|divisor| Made::Split { divisor }),
        1 => (0u64..1_000_000).prop_map(Made::Compute),
    ]
}

/// Programs of both kinds.
fn programs() -> impl Strategy<Value = Program> {
    prop_oneof![3 => folding(), 1 => sweeps()]
}

/// Sweeps: all ranks make the same calls, whose counts and partners go by rank and turn, on squares by their
/// places or not; some rank does otherwise once.
fn sweeps() -> impl Strategy<Value = Program> {
    let sizes = prop::collection::vec(1i64..5, 1..6);
    let factors = (-1i64..2, -1i64..2, -1i64..2);
    let ranks = prop_oneof![3 => (2u32..8).prop_map(|side| side * side), 1 => 1u32..20];
    (ranks, 2i64..10, 1usize..4, sizes, factors, any::<bool>(), (0usize..600, made())).prop_map(
        |(ranks, turns, steps, sizes, (x, y, z), waits, (odd, instead))| {
            let side = i64::from(ranks.isqrt());
            let of_rank = |rank: u32| {
                let (column, row) = (i64::from(rank) % side, i64::from(rank) / side);
                let size = |turn: i64| {
                    sizes[((x * column + y * row + z * turn).rem_euclid(side) as usize) % sizes.len()]
                };
                let message = |function: u16, count: i64| Made::Message {
                    function,
                    relative: true,
                    peer: count as i32,
                    tag: 1,
                    count,
                    comm: 0,
                };
                let mut all = vec![message(1, 7)];
                for turn in 0..turns {
                    all.extend([
                        message(2, size(turn)),
                        Made::Waitall { count: 2, by_rank: waits, wildcard: false },
                    ]);
                    all.push(message(1, size(turn + 1)));
                }
                let mut all = all.repeat(steps);
                if odd % ranks as usize == rank as usize
                    && let Some(call) = all.get_mut(odd)
                {
                    *call = instead;
                }
                all
            };
            (0..ranks).map(of_rank).collect()
        },
    )
}

/// Loops of a few calls, nested; some ranks do a part of them.
fn folding() -> impl Strategy<Value = Program> {
    let body = prop::collection::vec(made(), 1..5);
    let nested = body.prop_recursive(3, 200, 3, |inner| {
        (prop::collection::vec(inner, 1..3), 1usize..5)
            .prop_map(|(parts, count)| parts.concat().repeat(count))
    });
    (nested, made(), prop_oneof![4 => 1u32..14, 1 => 14u32..65], 0u32..20).prop_map(
        |(all, extra, ranks, odd)| {
            let of_rank = |rank: u32| {
                let mut all: Vec<Made> = all.clone();
                if rank == odd {
                    all.push(extra);
                }
                if rank % 3 == odd % 3 {
                    all.truncate(all.len().div_ceil(2));
                }
                all
            };
            (0..ranks).map(of_rank).collect()
        },
    )
}

fn options(ranks: u32, own: Range<u32>, timing: Timing) -> Options {
    let path = std::env::temp_dir().join(format!(
        "xsim-trace-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    Options {
        path,
        timing,
        window: Time::ZERO..Time::MAX,
        ranks,
        own,
        process: 0,
        save: u64::MAX,
        clock: || 0,
        keys: Vec::new,
    }
}

/// Returns what each of some processes has recorded.
fn parts(program: &Program, processes: u32, timing: Timing) -> Vec<Vec<u8>> {
    let ranks = program.len() as u32;
    (0..processes)
        .map(|process| {
            let own = process * ranks / processes..(process + 1) * ranks / processes;
            let mut recording = Recording::unwritten(options(ranks, own.clone(), timing));
            // Ranks by turns, as a simulator has them.
            let longest = program.iter().map(Vec::len).max().unwrap_or(0);
            for step in 0..longest {
                for rank in own.clone() {
                    let Some(made) = program[rank as usize].get(step) else { continue };
                    if let Made::Compute(ps) = made {
                        recording.computed(rank, Time::ZERO, Span::from_ps(*ps));
                        continue;
                    }
                    let (name, function, arguments) = arguments(made, rank, ranks);
                    let call =
                        Call { rank, function, name, site: 0, entered: Time::ZERO, arguments: &arguments };
                    recording
                        .call(&call, &CallReturn { at: Time::from_ps(u64::from(rank)), code: 0, name: None });
                }
            }
            let part = recording.part();
            assert_eq!(Saved::read(&part).unwrap().write(), part);
            part
        })
        .collect()
}

fn record(program: &Program, processes: u32, timing: Timing) -> Vec<u8> {
    let options = options(program.len() as u32, 0..0, timing);
    let path = options.path.clone();
    Recording::create(options).unwrap().merge(parts(program, processes, timing)).unwrap();
    let file = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_call_of_every_rank_comes_back_in_order(program in programs()) {
        let file = record(&program, 1, Timing::Exact);
        let trace = Trace::read(&file).unwrap();
        prop_assert_eq!(trace.ranks as usize, program.len());
        let ranks = trace.ranks;
        let mut total = 0;
        for (rank, mades) in (0..).zip(&program) {
            let view = trace.rank(rank);
            let calls = || mades.iter().filter(|made| !matches!(made, Made::Compute(_)));
            let unfolded: Vec<String> = view.calls().map(|event| text::event(&view, &event)).collect();
            let all: Vec<String> = calls()
                .map(|made| {
                    let (name, _, arguments) = arguments(made, rank, ranks);
                    expected(name, &arguments)
                })
                .collect();
            prop_assert_eq!(&unfolded, &all, "rank {}", rank);
            total += all.len() as u64;
            let mut times = trace::times::Reading::new(&trace.times.get(&rank).cloned().unwrap_or(vec![0]))
                .map(|_| ())
                .is_ok();
            times &= calls().count() == 0 || trace.times.contains_key(&rank);
            prop_assert!(times);
        }
        prop_assert_eq!(trace.length(), Some(total));
    }

    #[test]
    fn the_file_is_the_same_on_any_number_of_processes(program in programs(), timing in 0..3) {
        let timing = [Timing::None, Timing::Histogram, Timing::Exact][timing as usize];
        let one = record(&program, 1, timing);
        for processes in [2, 3, 4] {
            prop_assert_eq!(&record(&program, processes, timing), &one, "{} processes", processes);
        }
    }

    #[test]
    fn what_processes_saved_is_joined_to_the_whole(program in programs(), timing in 0..3) {
        let timing = [Timing::None, Timing::Histogram, Timing::Exact][timing as usize];
        let whole = Trace::read(&record(&program, 1, timing)).unwrap();
        let saved: Vec<Saved> =
            parts(&program, 3, timing).iter().map(|part| Saved::read(part).unwrap()).collect();
        let own = saved[1].part.ranks_of.iter().map(|&(rank, _)| rank);
        let second = Trace::read(&saved[1].file()).unwrap();
        for rank in own {
            let (part, all) = (second.rank(rank), whole.rank(rank));
            let texts = |view: &trace::trace::RankView| {
                view.calls().map(|event| text::event(view, &event)).collect::<Vec<_>>()
            };
            prop_assert_eq!(texts(&part), texts(&all), "rank {}", rank);
        }
        let joined = saved::join(saved).unwrap();
        prop_assert_eq!(Trace::read_contents(&joined.contents, trace::file::VERSION).unwrap(), whole);
        prop_assert_eq!(joined.missing, Vec::<u32>::new());
    }

    #[test]
    fn damaged_parts_are_refused_or_read(
        program in programs(),
        place: usize,
        change in 1u8..,
        cut in any::<bool>(),
    ) {
        let timing = if place % 2 == 0 { Timing::Histogram } else { Timing::Exact };
        let mut bytes = parts(&program, 1, timing).remove(0);
        let place = place % bytes.len();
        bytes[place] ^= change;
        if cut {
            bytes.truncate(place);
        }
        if let Ok(saved) = Saved::read(&bytes) {
            let _ = Trace::read(&saved.file());
        }
    }

    #[test]
    fn a_trace_that_is_written_again_has_the_same_bytes(program in programs(), timing in 0..3) {
        let file = record(&program, 1, [Timing::None, Timing::Histogram, Timing::Exact][timing as usize]);
        let mut trace = Trace::read(&file).unwrap();
        prop_assert_eq!(&trace.write(), &file);
        let rule =
            |place: Option<&str>| Rule { place: place.map(str::to_owned), change: Change::Factor(1.0) };
        let same = Scaling { computation: vec![rule(None)], sizes: Some(&|bytes| Ok(bytes)) };
        scale(&mut trace, &same).unwrap();
        prop_assert_eq!(&trace.write(), &file);
    }

    #[test]
    fn other_sizes_are_those_of_each_call_of_each_rank(program in programs(), factor in 1i64..5) {
        let mut trace = Trace::read(&record(&program, 1, Timing::None)).unwrap();
        scale(
            &mut trace,
            &Scaling { computation: Vec::new(), sizes: Some(&|bytes| Ok(bytes * factor as u64)) },
        )
        .unwrap();
        let trace = Trace::read(&trace.write()).unwrap();
        for (rank, mades) in (0..).zip(&program) {
            let view = trace.rank(rank);
            let unfolded: Vec<String> = view.calls().map(|event| text::event(&view, &event)).collect();
            let all: Vec<String> = mades
                .iter()
                .filter(|made| !matches!(made, Made::Compute(_)))
                .map(|made| {
                    let made = if let Made::Message { function, relative, peer, tag, count, comm } = *made {
                        Made::Message { function, relative, peer, tag, count: count * factor, comm }
                    } else {
                        *made
                    };
                    let (name, _, arguments) = arguments(&made, rank, trace.ranks);
                    // Of a made-up program all statuses tell of 16 bytes.
                    expected(name, &arguments).replace("bytes=16", &format!("bytes={}", 16 * factor))
                })
                .collect();
            prop_assert_eq!(&unfolded, &all, "rank {}", rank);
        }
    }

    #[test]
    fn damaged_contents_are_refused_or_read(
        program in programs(),
        place: usize,
        change in 1u8..,
        cut in any::<bool>(),
    ) {
        let file = record(&program, 1, Timing::Histogram);
        let (_, _, mut contents) = trace::file::unpack(&file).unwrap();
        let place = place % contents.len();
        contents[place] ^= change;
        if cut {
            contents.truncate(place);
        }
        if let Ok(mut trace) = Trace::read_contents(&contents, trace::file::VERSION) {
            {
                let view = trace.rank(0);
                view.calls().take(1000).for_each(|event| assert!(!text::event(&view, &event).is_empty()));
            }
            if scale(
                &mut trace,
                &Scaling {
                    computation: Vec::new(),
                    sizes: Some(&|bytes| bytes.checked_mul(4).ok_or("too much".to_owned())),
                },
            )
            .is_ok()
            {
                Trace::read(&trace.write()).unwrap();
            }
        }
    }
}

#[test]
fn control_characters_in_a_files_call_sites_and_functions_are_escaped() {
    let program =
        vec![vec![Made::Message { function: 1, relative: true, peer: 1, tag: 0, count: 1000, comm: 0 }]];
    let mut trace = Trace::read(&record(&program, 1, Timing::None)).unwrap();
    trace.sites.push("a.c:1\n*/ system(\u{1b}[2J)".to_owned());
    trace.functions[0].name += "\r";
    let read = Trace::read(&trace.write()).unwrap();
    assert!(
        !read.sites.is_empty() && read.sites.iter().all(|site| site == "a.c:1\\n*/ system(\\u{1b}[2J)"),
        "{:?}",
        read.sites
    );
    assert!(read.functions[0].name.ends_with("\\r"), "{:?}", read.functions[0]);
}

/// Between the same places, behind large and small messages, and on ranks of which one is slow.
#[test]
fn work_of_other_sizes_is_told_apart() {
    let send = |count| Made::Message { function: 1, relative: true, peer: 1, tag: 0, count, comm: 0 };
    let program: Vec<Vec<Made>> = (0..6u64)
        .map(|rank| {
            let slow = if rank == 4 { 2 } else { 1 };
            // Ranks whose messages are of other lengths, with one more bit on some, are of one kind all the
            // same.
            let large = 1000 + 10 * rank as i64;
            [send(large), Made::Compute(500_000_000 * slow), send(1), Made::Compute(1_000_000 * slow)]
                .repeat(20)
        })
        .collect();
    let files: Vec<_> = (1..4).map(|processes| record(&program, processes, Timing::Histogram)).collect();
    assert!(files.iter().all(|file| *file == files[0]));
    let trace = Trace::read(&files[0]).unwrap();
    assert_eq!(Trace::read(&trace.write()).unwrap(), trace);
    assert_eq!(trace.shapes.len(), 1);
    let mut found: Vec<_> = trace
        .histograms
        .iter()
        .filter(|(path, _)| path.0.is_some())
        .map(|((from, to), summary)| (from.unwrap().2, to.2, summary.count, summary.mean))
        .collect();
    found.sort_unstable();
    // Seven sixths of the time of most ranks, on the mean.
    assert_eq!(found, [(0, 1, 120, 583_300_000), (1, 0, 114, 1_167_000)]);
    for (path, summary) in trace.histograms.iter().filter(|(path, _)| path.0.is_some()) {
        let draw = trace::draw::TimeSampler::new(summary, summary.count, 6);
        let factors: Vec<f64> = (0..6).map(|rank| draw.factor(rank)).collect();
        let told = path.0.unwrap().2 == 0;
        assert_eq!(factors, if told { vec![0.86, 0.86, 0.86, 0.86, 1.71, 0.86] } else { vec![1.0; 6] });
    }
}

#[test]
fn a_file_of_the_first_version_is_read_and_written_as_one_of_this() {
    let trace = Trace::read(include_bytes!("version1.trace")).unwrap();
    assert_eq!((trace.ranks, trace.length(), trace.histograms.len()), (5, Some(625), 17));
    let wait = trace
        .histograms
        .iter()
        .find(|(path, _)| trace.functions[path.1.0 as usize].name == "MPI_Pcontrol")
        .unwrap();
    assert_eq!((wait.1.count, wait.1.mean), (5, 1_000_100_000));
    let written = trace.write();
    assert_eq!(written[7], trace::file::VERSION);
    assert_eq!(Trace::read(&written).unwrap(), trace);
}

/// Compares `version2.trace` with a recording of the same program. In files of version 2 the calls among the
/// steps have other numbers, and no loop varies.
#[test]
fn a_file_of_the_second_version_is_read_and_written_as_one_of_this() {
    let message = |function: u16, count: i64| Made::Message {
        function,
        relative: true,
        peer: 1,
        tag: 2,
        count,
        comm: 1,
    };
    let of_rank = |rank: i64| {
        let turn = [
            message(1, 3),
            Made::Compute(1000),
            message(2, 1 + rank),
            Made::Waitall { count: 2, by_rank: true, wildcard: false },
        ];
        let mut all = [turn.repeat(4), vec![Made::Split { divisor: 2 }]].concat().repeat(3);
        if rank == 2 {
            all.truncate(20);
        }
        all
    };
    let old = include_bytes!("version2.trace");
    assert_eq!(old[7], 2);
    let trace = Trace::read(old).unwrap();
    let now = record(&(0..5).map(of_rank).collect(), 1, Timing::Histogram);
    assert_eq!(now[7], trace::file::VERSION);
    assert_eq!(trace, Trace::read(&now).unwrap());
    assert_eq!(Trace::read(&trace.write()).unwrap(), trace);
}

#[test]
fn a_file_of_the_third_version_is_read_and_written_as_one_of_this() {
    let trace = Trace::read(include_bytes!("version3.trace")).unwrap();
    assert_eq!((trace.ranks, trace.length(), trace.histograms.len()), (4, Some(4 * 54), 2));
    assert!(trace.histograms.iter().all(|(_, summary)| summary.shared == 0 && summary.first.is_none()));
    let written = trace.write();
    assert_eq!(written[7], trace::file::VERSION);
    assert_eq!(Trace::read(&written).unwrap(), trace);
}

#[test]
fn exact_times_are_those_of_the_calls() {
    let send = Made::Message { function: 1, relative: true, peer: 1, tag: 0, count: 1, comm: 0 };
    let program = vec![vec![Made::Compute(5), send, send, Made::Compute(7), Made::Compute(1), send]; 3];
    let trace = Trace::read(&record(&program, 1, Timing::Exact)).unwrap();
    let mut times = trace::times::Reading::new(&trace.times[&2]).unwrap();
    let next = |times: &mut trace::times::Reading| {
        times.next().unwrap().map(|(computed, took)| (computed.as_ps(), took.as_ps()))
    };
    assert_eq!([(); 4].map(|()| next(&mut times)), [Some((5, 2)), Some((0, 2)), Some((8, 2)), None]);
    let trace = Trace::read(&record(&program, 1, Timing::Histogram)).unwrap();
    let paths: Vec<_> = trace
        .histograms
        .iter()
        .map(|((from, _), summary)| (from.is_some(), summary.count, summary.mean))
        .collect();
    assert_eq!(paths, [(false, 3, 5), (true, 3, 8)]);
}

#[test]
fn a_ring_takes_the_same_bytes_for_any_number_of_ranks_and_turns() {
    let size = |ranks: usize, turns: usize| {
        let step = [1, 2].map(|function| Made::Message {
            function,
            relative: true,
            peer: 3 - 2 * function as i32,
            tag: 0,
            count: 1,
            comm: 0,
        });
        let file = record(&vec![step.repeat(turns); ranks], 1, Timing::None);
        assert_eq!(Trace::read(&file).unwrap().shapes.len(), 1);
        file.len()
    };
    assert!(size(1000, 100) <= size(10, 3) + 8, "{} and {} bytes", size(10, 3), size(1000, 100));
}

/// Sweeps over cells on diagonals of a square, as SP makes them, of a grid that the square does not divide.
fn diagonals(side: i64, steps: usize) -> Program {
    let length = |cell: i64| 3 + i64::from(cell < side / 3) - i64::from(cell == 0 || cell == side - 1);
    let of_rank = |rank: i64| {
        let (x, y) = (rank % side, rank / side);
        let face =
            |stage: i64| 22 * length((x + y - stage).rem_euclid(side)) * length((stage - x).rem_euclid(side));
        let message = |function: u16, count: i64| Made::Message {
            function,
            relative: true,
            peer: 1,
            tag: 0,
            count,
            comm: 0,
        };
        let mut all = vec![message(1, face(0))];
        for stage in 1..side {
            all.extend([
                message(2, face(stage)),
                Made::Waitall { count: 1, by_rank: false, wildcard: false },
            ]);
            if stage < side - 1 {
                all.push(message(1, face(stage)));
            }
        }
        all.repeat(steps)
    };
    (0..side * side).map(of_rank).collect()
}

#[test]
fn sweeps_over_diagonals_are_one_shape_of_as_many_bytes_on_any_square() {
    let file = |side: i64, steps: usize| record(&diagonals(side, steps), 1, Timing::None);
    let [small, large] = [file(8, 3), file(24, 5)];
    for (file, side) in [(&small, 8u32), (&large, 24)] {
        let trace = Trace::read(file).unwrap();
        assert_eq!(trace.shapes.len(), 1, "side {side}");
        let calls = trace.rank(side + 1).calls().count();
        assert_eq!(calls as u32, (3 * side - 3) * if side == 8 { 3 } else { 5 });
    }
    assert!(large.len() <= small.len() + small.len() / 8, "{} and {} bytes", small.len(), large.len());
}

#[test]
fn what_differs_from_turn_to_turn_is_shown_and_cut() {
    let trace = Trace::read(&record(&diagonals(8, 3), 1, Timing::None)).unwrap();
    let mut shown = Vec::new();
    trace::show::all(&trace, &mut shown).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("  7 times, which differ:"), "{shown}");
    let cut = trace::cut::cut(&trace, &recorder::RankList::parse("3-5").unwrap(), &(Time::ZERO..Time::MAX))
        .unwrap();
    let cut = Trace::read(&cut).unwrap();
    let texts = |trace: &Trace, rank: u32| {
        let view = trace.rank(rank);
        view.calls().map(|event| text::event(&view, &event)).collect::<Vec<_>>()
    };
    assert_eq!((texts(&cut, 4), texts(&cut, 6)), (texts(&trace, 4), Vec::new()));
}

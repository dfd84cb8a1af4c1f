//! Ranks without a program call MPI: what comes of it, and when.

use engine::Span;
use mpi::collective::Reducing;
use mpi::point_to_point::SendMode;
use mpi::request::ANY_SOURCE;
use mpi::schedule::Kind;
use mpi::wire::Wire;
use mpi::{Mpi, Setup};
use network::Machine;
use workload::{Answer, Call, Caller, Collective, Envelope, Machines, NAMES, Requests, Wait, Workload};

/// Each rank makes the calls of a list; `calls(rank, size)` makes it.
struct Lists {
    lists: Vec<Vec<Call>>,
    /// Answers to the calls of each rank.
    answers: Vec<Vec<Answer>>,
}

impl Workload for Lists {
    type Cursor = u32;
    fn next(&mut self, &Caller { rank, .. }: &Caller, cursor: &mut u32, answer: &Answer) -> (Span, Call) {
        self.answers[rank as usize].push(answer.clone());
        *cursor += 1;
        (Span::ZERO, self.lists[rank as usize].get(*cursor as usize - 1).cloned().unwrap_or(Call::End))
    }
}

/// The end of a run of such lists: status, messages, the ranks' clocks in picoseconds, what they were
/// answered.
struct Ended {
    status: i32,
    messages: Vec<String>,
    clocks: Vec<u64>,
    answers: Vec<Vec<Answer>>,
}

fn run(machine: &str, ranks: u32, calls: impl Fn(u32, u32) -> Vec<Call>) -> Ended {
    let built = Machine::parse(machine).unwrap().build(ranks).unwrap();
    let mpi = Mpi::new(Setup { payloads: false, ..Setup::new(ranks, Wire::new(built, 1), &NAMES) });
    let mut lists = Lists {
        lists: (0..ranks).map(|rank| calls(rank, ranks)).collect(),
        answers: vec![Vec::new(); ranks as usize],
    };
    let ending = Machines::new(&mpi, &mut lists).run(&mut |_| {});
    let clocks = (0..ranks).map(|rank| mpi.world().messages.clock(rank).as_ps()).collect();
    Ended { status: ending.status, messages: ending.messages, clocks, answers: lists.answers }
}

fn to(peer: u32, bytes: u64) -> Envelope {
    Envelope { peer: peer as i32, tag: 7, comm: Call::WORLD, bytes }
}

const US: u64 = 1_000_000;

#[test]
fn a_message_of_a_mebibyte_takes_its_time_and_no_memory() {
    for bytes in [0, 8, 1_000, 1 << 20, 1 << 40] {
        let ended = run("star:l=1us,b=8Gbps", 2, |rank, _| match rank {
            0 => vec![Call::Compute(Span::from_ns(500)), Call::Send(SendMode::Standard, to(1, bytes))],
            _ => vec![Call::Recv(to(0, bytes))],
        });
        assert_eq!((ended.status, ended.messages.len()), (0, 0), "{:?}", ended.messages);
        // Two links of a microsecond each, and a nanosecond a byte.
        assert_eq!(ended.clocks, [US / 2, US / 2 + 2 * US + 1_000 * bytes], "{bytes} bytes");
    }
}

#[test]
fn senders_above_the_eager_limit_wait_for_their_match() {
    let machine = "star:l=1us,b=8Gbps/rank:eager=0";
    let late = |rank: u32, _: u32| match rank {
        0 => vec![Call::Send(SendMode::Standard, to(1, 1_000))],
        _ => vec![Call::Compute(Span::from_ns(50_000)), Call::Recv(to(0, 1_000))],
    };
    let ended = run(machine, 2, late);
    assert!(ended.clocks[0] >= 50 * US, "the sender goes on when its receiver is there: {:?}", ended.clocks);
    let nonblocking = run(machine, 2, |rank, _| match rank {
        0 => vec![Call::Isend(SendMode::Standard, to(1, 1_000), 0), Call::Complete(Wait::All, Requests::All)],
        _ => late(1, 2),
    });
    assert_eq!(nonblocking.clocks, ended.clocks, "a send is a nonblocking one and its wait");
    assert!(run("star:l=1us,b=8Gbps", 2, late).clocks[0] < US, "below the limit it goes on at once");
}

#[test]
fn requests_are_completed_by_number() {
    let ended = run("star:l=1us,b=8Gbps", 3, |rank, _| match rank {
        0 => vec![
            Call::Irecv(to(2, 8), 0),
            Call::Irecv(to(1, 8), 1),
            Call::Complete(Wait::Any, Requests::All),
            Call::Complete(Wait::Test, Requests::These([0].into())),
            Call::Complete(Wait::All, Requests::These([0].into())),
            Call::Irecv(Envelope { peer: ANY_SOURCE, ..to(0, 8) }, 2),
            Call::Complete(Wait::Some, Requests::All),
        ],
        1 => vec![
            Call::Send(SendMode::Standard, to(0, 8)),
            Call::Compute(Span::from_ns(90_000)),
            Call::Send(SendMode::Standard, to(0, 8)),
        ],
        _ => vec![Call::Compute(Span::from_ns(20_000)), Call::Send(SendMode::Standard, to(0, 8))],
    });
    assert_eq!(ended.status, 0, "{:?}", ended.messages);
    let answers = &ended.answers[0][3..];
    assert_eq!(answers[0], Answer::Completed(vec![1]), "the message of rank 1 is there first");
    assert_eq!(answers[1], Answer::Tested(false), "that of rank 2 is not there yet");
    assert_eq!((&answers[2], &answers[4]), (&Answer::Done, &Answer::Completed(vec![2])));
}

#[test]
fn collectives_take_the_same_time_at_once_and_event_by_event() {
    let kinds = [
        (Kind::Barrier, None, 0, None),
        (Kind::Bcast, Some(1), 4_000, None),
        (Kind::Gather, Some(0), 100, None),
        (Kind::Scatter, Some(2), 100, None),
        (Kind::Allgather, None, 64, None),
        (Kind::Alltoall, None, 32, None),
        (Kind::Reduce, Some(0), 800, Some(())),
        (Kind::Allreduce, None, 800, Some(())),
        (Kind::ReduceScatter, None, 8 * 7, Some(())),
        (Kind::Scan, None, 80, Some(())),
        (Kind::Exscan, None, 80, Some(())),
    ];
    let calls = |rank: u32, _: u32| {
        let mut calls = vec![
            Call::Compute(Span::from_ns(u64::from(rank) * 700)),
            Call::Split(Call::WORLD, 0, -(rank as i32)),
        ];
        for (at, &(kind, root, bytes, reduces)) in kinds.iter().enumerate() {
            let reduction = reduces
                .map(|()| Reducing::Predefined { op: mpi::abi::MPI_SUM, datatype: mpi::abi::MPI_DOUBLE });
            // On the communicator that was made, too: number 2.
            let collective = Box::new(Collective {
                kind,
                comm: if at % 2 == 0 { Call::WORLD } else { 2 },
                root,
                bytes,
                blocks: None,
                is_irregular: false,
                reduction,
            });
            calls.push(Call::Collective(collective.clone()));
            calls.push(Call::Icollective(collective, 0));
            calls.push(Call::Complete(Wait::All, Requests::All));
        }
        calls
    };
    for machine in ["star:l=1us,b=8Gbps", "star:l=1us,b=8Gbps/rank:o_send=300ns,o_recv=200ns"] {
        let clocks = |batch: bool| {
            let ranks = 7;
            let built = Machine::parse(machine).unwrap().build(ranks).unwrap();
            let mpi =
                Mpi::new(Setup { payloads: false, batch, ..Setup::new(ranks, Wire::new(built, 1), &NAMES) });
            let mut lists = Lists {
                lists: (0..ranks).map(|rank| calls(rank, ranks)).collect(),
                answers: vec![Vec::new(); 7],
            };
            let ending = Machines::new(&mpi, &mut lists).run(&mut |_| {});
            assert_eq!(ending.status, 0, "{:?}", ending.messages);
            let world = mpi.world();
            (0..ranks).map(|rank| world.messages.clock(rank)).collect::<Vec<_>>()
        };
        assert_eq!(clocks(true), clocks(false), "{machine}");
    }
    let packets = run("star:l=1us,b=8Gbps,level=packet", 7, calls);
    assert_eq!(packets.status, 0, "{:?}", packets.messages);
}

#[test]
fn a_call_that_fails_ends_the_run_and_is_told() {
    let ended = run("star:l=1us", 2, |_, _| vec![Call::Send(SendMode::Standard, to(5, 8))]);
    assert_ne!(ended.status, 0);
    let text = ended.messages.join("\n");
    assert!(text.contains("rank 0 at 0") && text.contains("MPI_Send failed") && text.contains('5'), "{text}");
    let waits = run("star:l=1us", 2, |rank, _| vec![Call::Recv(to(1 - rank, 8))]);
    assert_eq!(waits.status, 1);
    assert!(waits.messages.iter().any(|message| message.contains("deadlock")), "{:?}", waits.messages);
}

#[test]
fn a_rank_takes_less_than_a_hundred_bytes() {
    assert!(Machines::<workload::Walk>::bytes_each() <= 88, "{}", Machines::<workload::Walk>::bytes_each());
}

//! The time plane against one message after the other.

use super::*;
use crate::algorithm::{Parameters, of};
use crate::model::shape;
use crate::random::{BYTES, random_schedule};
use crate::{Blocks, Kind, Member, Shape, member_of};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

/// Latencies that differ from pair to pair, or not.
#[derive(Clone, Copy, Debug)]
struct Model {
    uniform: bool,
    /// Picoseconds for each byte that is reduced.
    reduce: u64,
}

impl Costs for Model {
    fn uniform(&self, bytes: u64) -> Option<u64> {
        self.uniform.then_some(10 + bytes)
    }
    fn latency(&self, from: u32, to: u32, bytes: u64) -> u64 {
        if self.uniform { 10 + bytes } else { 10 + bytes + u64::from((from * 7 + to * 13) % 11) }
    }
    fn reduction(&self, bytes: u64) -> u64 {
        self.reduce * bytes
    }
    fn copying(&self, bytes: u64) -> u64 {
        self.reduce * (bytes / 2 + 3)
    }
}

#[derive(Default, PartialEq, Eq, Debug)]
struct After {
    clocks: Vec<u64>,
    waited: Vec<u64>,
    free: Vec<u64>,
    messages: u64,
    bytes: u128,
}

/// Returns what the documentation of schedules says about clocks, one message after the other.
fn plain(
    schedule: &dyn Schedule,
    members: &impl Members,
    entry: &[u64],
    costs: &Model,
    (overheads, free): (MessageOverheads, &[u64]),
) -> After {
    let size = entry.len();
    let mut after =
        After { clocks: entry.to_vec(), waited: vec![0; size], free: free.to_vec(), ..After::default() };
    for round in 0..schedule.rounds() {
        let steps_of = |rank: u32| {
            let mut member = members.prototype();
            member.rank = rank;
            members.describe(&mut member);
            let mut steps = Vec::new();
            schedule.round(&member, round, &mut steps);
            steps
        };
        let mut flying: HashMap<(u32, u32), VecDeque<u64>> = HashMap::new();
        for rank in 0..size as u32 {
            let clock = &mut after.clocks[rank as usize];
            for step in steps_of(rank) {
                let Step::Send { to, from } = step else { continue };
                if overheads.gap != 0 {
                    *clock = (*clock).max(after.free[rank as usize]);
                }
                *clock += overheads.send;
                if overheads.gap != 0 {
                    after.free[rank as usize] = *clock + overheads.gap;
                }
                flying.entry((rank, to)).or_default().push_back(*clock + costs.latency(rank, to, from.bytes));
                after.messages += 1;
                after.bytes += u128::from(from.bytes);
            }
        }
        for rank in 0..size as u32 {
            for step in steps_of(rank) {
                let Step::Receive { from, .. } = step else { continue };
                let arrival = flying
                    .get_mut(&(from, rank))
                    .and_then(VecDeque::pop_front)
                    .expect("a message in its round");
                let clock = &mut after.clocks[rank as usize];
                after.waited[rank as usize] += arrival.saturating_sub(*clock);
                *clock = arrival.max(*clock) + overheads.receive;
            }
            for step in steps_of(rank) {
                after.clocks[rank as usize] += match step {
                    Step::ReduceLeft { into, .. } | Step::ReduceRight { into, .. } => {
                        costs.reduction(into.bytes)
                    }
                    Step::Copy { into, .. } => costs.copying(into.bytes),
                    _ => 0,
                };
            }
        }
    }
    after
}

/// The clocks and burdens after all rounds, when processes have segments of these lengths; messages and
/// bytes.
fn spread_out(
    schedule: &Rc<dyn Schedule>,
    members: &impl Members,
    entry: &[u64],
    costs: &Model,
    (overheads, free): (MessageOverheads, &[u64]),
    segments: Segments,
) -> After {
    let segments = Rc::new(segments);
    let common = entry.windows(2).all(|pair| pair[0] == pair[1]);
    let processes: Vec<u32> = segments.processes().collect();
    let mut planes: Vec<TimePlane> = (processes.iter())
        .map(|&process| {
            let segment = ProcessSegment::part(process, segments.clone());
            let own = segment.own().start as usize..segment.own().end as usize;
            let burden = (overheads != MessageOverheads::default() || costs.reduce != 0)
                .then(|| Burden::new(overheads, own.len(), free[own.clone()].iter().copied()));
            TimePlane::new(segment, schedule.clone(), entry[own].iter().copied().collect(), common)
                .with_burden(burden)
        })
        .collect();
    let (mut through, mut said, mut turns) =
        (vec![false; processes.len()], RoundResult::default(), VecDeque::from_iter(0..processes.len()));
    while let Some(turn) = turns.pop_front() {
        through[turn] = planes[turn].advance(members, costs, &mut said);
        for (to, round, record) in said.records.drain(..) {
            let at = processes.iter().position(|process| *process == to).unwrap();
            planes[at].deliver(round, processes[turn], record);
            turns.push_back(at);
        }
    }
    assert!(through.iter().all(|through| *through), "a process waits for ever");
    assert!(planes.iter().all(|plane| plane.inbox.is_empty()), "something was told in vain");
    let mut after = After { messages: said.messages, bytes: said.bytes, ..After::default() };
    for plane in &planes {
        for member in plane.segment.own() {
            let (clock, place) = (plane.clock(member), plane.segment.place(member));
            after.clocks.push(clock);
            let waited = plane.burden().map_or(clock - entry[member as usize], |burden| burden.waited(place));
            after.waited.push(waited);
            after
                .free
                .push(plane.burden().and_then(|burden| burden.free(place)).unwrap_or(free[member as usize]));
        }
    }
    after
}

const KINDS: [Kind; 12] = [
    Kind::Barrier,
    Kind::Agree,
    Kind::Bcast,
    Kind::Gather,
    Kind::Scatter,
    Kind::Allgather,
    Kind::Alltoall,
    Kind::Allreduce,
    Kind::Reduce,
    Kind::ReduceScatter,
    Kind::Scan,
    Kind::Exscan,
];

/// Segments of these lengths as far as members go, the rest on the last process.
fn cut(size: u32, lengths: &[u32]) -> Segments {
    let mut left = size;
    let mut parts: Vec<u32> = Vec::new();
    for &length in lengths {
        let part = length.min(left);
        left -= part;
        parts.push(part);
    }
    *parts.last_mut().unwrap() += left;
    Segments::lengths(&parts)
}

fn overheads() -> impl Strategy<Value = MessageOverheads> {
    prop_oneof![
        Just(MessageOverheads::default()),
        (0u64..9, 0u64..9, 0u64..9).prop_map(|(send, receive, gap)| MessageOverheads { send, receive, gap }),
    ]
}

fn model() -> impl Strategy<Value = Model> {
    (any::<bool>(), prop_oneof![Just(0), 1u64..5]).prop_map(|(uniform, reduce)| Model { uniform, reduce })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn clocks_are_those_of_one_message_after_the_other_on_any_number_of_processes(
        kind in 0usize..12,
        node in 1u32..9,
        size in 2u32..70,
        root in 0u32..70,
        lanes in 0u64..3,
        model in model(),
        equal in any::<bool>(),
        lengths in proptest::collection::vec(0u32..40, 1..5),
        seed in 0u64..1000,
        overheads in overheads(),
    ) {
        let kind = KINDS[kind];
        let rooted = matches!(kind, Kind::Bcast | Kind::Gather | Kind::Scatter | Kind::Reduce);
        let root = if rooted { root % size } else { 0 };
        let blocks = if kind == Kind::ReduceScatter { u64::from(size) } else { 1 };
        let shape = Shape { root, node, ..shape(kind, size, 16 * lanes * blocks) };
        let clocks: Vec<u64> = (0..u64::from(size))
            .map(|i| if equal { seed } else { (i * 37 + seed) * 31 % (seed + 1) })
            .collect();
        let free: Vec<u64> = (0..u64::from(size)).map(|i| (i * 53 + seed) * 29 % (2 * seed + 1)).collect();
        let burden = (overheads, &free[..]);
        for algorithm in of(kind).filter(|algorithm| (algorithm.supports)(&shape)) {
            let schedule = algorithm.schedule(&shape, &Parameters::default());
            let expected = plain(&*schedule, &shape, &clocks, &model, burden);
            for segments in [Segments::lengths(&[size]), cut(size, &lengths)] {
                let got = spread_out(&schedule, &shape, &clocks, &model, burden, segments);
                prop_assert_eq!(&got, &expected, "{} of {:?} on {:?}", algorithm.name, shape, lengths);
            }
        }
    }

    #[test]
    fn any_schedule_has_the_clocks_of_one_message_after_the_other(
        schedule in random_schedule(), lengths in proptest::collection::vec(0u32..12, 1..5),
        seed in 0u64..1000, overheads in overheads(), model in model(),
    ) {
        let size = schedule.size;
        let clocks: Vec<u64> = (0..u64::from(size)).map(|i| (i * 37 + seed) * 31 % (seed + 1)).collect();
        let free: Vec<u64> = (0..u64::from(size)).map(|i| (i * 53 + seed) * 29 % (2 * seed + 1)).collect();
        let members = shape(Kind::Allreduce, size, BYTES);
        let schedule: Rc<dyn Schedule> = Rc::new(schedule);
        let burden = (overheads, &free[..]);
        let expected = plain(&*schedule, &members, &clocks, &model, burden);
        for segments in [Segments::lengths(&[size]), cut(size, &lengths)] {
            prop_assert_eq!(&spread_out(&schedule, &members, &clocks, &model, burden, segments), &expected);
        }
    }

    #[test]
    fn blocks_that_differ_arrive_when_their_own_sizes_say(
        size in 2u32..24,
        sizes in proptest::collection::vec(0u64..50, 24 * 24),
        seed in 0u64..1000,
        model in model(),
        overheads in overheads(),
    ) {
        let members = Blocky { size, sizes };
        let clocks: Vec<u64> = (0..u64::from(size)).map(|i| (i * 37 + seed) * 31 % (seed + 1)).collect();
        let free = vec![0; size as usize];
        let shape = Shape { irregular: true, ..shape(Kind::Alltoall, size, 0) };
        for algorithm in of(Kind::Alltoall).filter(|algorithm| (algorithm.supports)(&shape)) {
            let schedule = algorithm.schedule(&shape, &Parameters::default());
            let burden = (overheads, &free[..]);
            let expected = plain(&*schedule, &members, &clocks, &model, burden);
            prop_assert_eq!(
                &spread_out(&schedule, &members, &clocks, &model, burden, Segments::lengths(&[size])),
                &expected
            );
        }
    }
}

/// An all-to-all of blocks that differ.
struct Blocky {
    size: u32,
    sizes: Vec<u64>,
}

impl Blocky {
    fn row(&self, bytes: impl Fn(u32) -> u64 + Clone) -> Blocks {
        Blocks::Each(crate::begins((0..self.size).map(bytes)).collect())
    }
}

impl Members for Blocky {
    fn prototype(&self) -> Member {
        member_of(0, Blocks::Uniform(0), Blocks::Uniform(0))
    }
    fn describe(&self, member: &mut Member) {
        let me = member.rank;
        (member.send, member.receive) =
            (self.row(|to| self.received(to, me)), self.row(|from| self.received(me, from)));
    }
    fn output(&self, rank: u32) -> u64 {
        (0..self.size).map(|from| self.received(rank, from)).sum()
    }
    fn knows(&self, _: crate::Direct) -> bool {
        true
    }
    fn received(&self, to: u32, from: u32) -> u64 {
        self.sizes[(from * self.size + to) as usize]
    }
}

//! The data plane's steps against the plain meaning of collectives, and against one step after the other.

use super::*;
use crate::algorithm::{Parameters, of};
use crate::model::{Case, ELEMENT, combine, reduces, shape};
use crate::random::{BYTES, random_schedule};
use crate::segments::Segments;
use crate::{Blocks, Kind, Shape, begins, member_of};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

impl Members for Case {
    fn prototype(&self) -> Member {
        member_of(0, Blocks::Uniform(0), Blocks::Uniform(0))
    }
    fn describe(&self, member: &mut Member) {
        *member = self.members[member.rank as usize].clone();
    }
    fn output(&self, rank: u32) -> u64 {
        self.expected[rank as usize].as_ref().map_or(0, |bytes| bytes.len() as u64)
    }
}

/// Returns what members get, and their faults, when processes have the members between these cuts.
fn outputs(
    schedule: &Rc<dyn Schedule>,
    members: &impl Members,
    inputs: &[Vec<u8>],
    combine: &mut Combine,
    cuts: &[u32],
) -> (Vec<Vec<u8>>, Vec<(u32, SizeMismatch)>) {
    let size = inputs.len() as u32;
    let mut starts: Vec<u32> = cuts.iter().map(|cut| cut % (size + 1)).chain([0, size]).collect();
    starts.sort_unstable();
    let segments =
        Rc::new(Segments::lengths(&starts.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()));
    let processes: Vec<u32> = segments.processes().collect();
    let mut planes: Vec<DataPlane> = (processes.iter())
        .map(|&process| {
            let segment = ProcessSegment::part(process, segments.clone());
            let own = segment.own();
            let input = Rows::of(inputs[own.start as usize..own.end as usize].iter().map(Vec::as_slice));
            DataPlane::new(segment, schedule.clone(), members, input)
        })
        .collect();
    let (mut through, mut records, mut turns) =
        (vec![false; processes.len()], Vec::new(), VecDeque::from_iter(0..processes.len()));
    while let Some(turn) = turns.pop_front() {
        through[turn] = planes[turn].advance(members, combine, &mut records);
        for (to, round, record) in records.drain(..) {
            let at = processes.iter().position(|process| *process == to).unwrap();
            planes[at].deliver(round, processes[turn], record);
            turns.push_back(at);
        }
    }
    assert!(through.iter().all(|through| *through), "a process waits for ever");
    let rows = |plane: &DataPlane| {
        (0..plane.segment.own().len()).map(|place| plane.output().get(place).to_vec()).collect::<Vec<_>>()
    };
    let faults = planes.iter().flat_map(|plane| plane.faults().to_vec()).collect();
    (planes.iter().flat_map(rows).collect(), faults)
}

/// Hashes both operands into `right`. It is not associative: the result shows who was reduced with whom.
fn hash(left: &[u8], right: &mut [u8]) {
    for (left, right) in left.iter().zip(right) {
        *right = left.wrapping_mul(31).wrapping_add(right.wrapping_mul(17)).rotate_left(3) ^ 0x5a;
    }
}

/// Returns what the documentation of schedules says about data, one step after the other.
fn plain(schedule: &dyn Schedule, members: &impl Members, inputs: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let buffer = |buffer: Buffer| {
        [Buffer::Input, Buffer::Output, Buffer::Scratch].iter().position(|&other| other == buffer)
    };
    let mut memory: Vec<[Vec<u8>; 3]> = inputs
        .iter()
        .map(|input| [input.clone(), vec![0; BYTES as usize], vec![0; BYTES as usize]])
        .collect();
    let range = |slice: Slice| slice.offset as usize..(slice.offset + slice.bytes) as usize;
    for round in 0..schedule.rounds() {
        let steps: Vec<Vec<Step>> = (0..inputs.len() as u32)
            .map(|rank| {
                let mut steps = Vec::new();
                schedule.round(&Member { rank, ..members.prototype() }, round, &mut steps);
                steps
            })
            .collect();
        let mut flying: HashMap<(u32, u32), VecDeque<Option<Vec<u8>>>> = HashMap::new();
        for (rank, steps) in (0..).zip(&steps) {
            for step in steps {
                let Step::Send { to, from } = *step else { continue };
                let data =
                    buffer(from.buffer).map(|index| memory[rank as usize][index][range(from)].to_vec());
                flying.entry((rank, to)).or_default().push_back(data);
            }
        }
        for (rank, steps) in (0..).zip(&steps) {
            let own = &mut memory[rank as usize];
            for step in steps {
                match *step {
                    Step::Send { .. } => {}
                    Step::Receive { from, into } => {
                        let data = flying
                            .get_mut(&(from, rank))
                            .and_then(VecDeque::pop_front)
                            .expect("a message in its round");
                        if let (Some(index), Some(data)) = (buffer(into.buffer), data) {
                            own[index][range(into)].copy_from_slice(&data);
                        }
                    }
                    Step::Copy { from, into } => {
                        let data = own[buffer(from.buffer).unwrap()][range(from)].to_vec();
                        own[buffer(into.buffer).unwrap()][range(into)].copy_from_slice(&data);
                    }
                    Step::ReduceLeft { from, into } | Step::ReduceRight { from, into } => {
                        let other = own[buffer(from.buffer).unwrap()][range(from)].to_vec();
                        let mut mine = own[buffer(into.buffer).unwrap()][range(into)].to_vec();
                        if matches!(step, Step::ReduceLeft { .. }) {
                            hash(&other, &mut mine);
                        } else {
                            let mut result = other;
                            hash(&mine, &mut result);
                            mine = result;
                        }
                        own[buffer(into.buffer).unwrap()][range(into)].copy_from_slice(&mine);
                    }
                }
            }
        }
    }
    memory.into_iter().map(|[_, output, _]| output).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn members_get_what_the_collective_means_on_any_number_of_processes(
        kind in 0usize..Kind::ALL.len(),
        size in 1u32..20,
        root in 0u32..20,
        lanes in 0u64..4,
        commutative in any::<bool>(),
        irregular in any::<bool>(),
        cuts in proptest::collection::vec(0u32..70, 0..4),
        seed in 0u64..100,
    ) {
        let kind = Kind::ALL[kind];
        prop_assume!(kind != Kind::Neighbor);
        let rooted = matches!(kind, Kind::Bcast | Kind::Gather | Kind::Scatter | Kind::Reduce);
        let uneven = irregular
            && matches!(
                kind,
                Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::Alltoall | Kind::ReduceScatter
            );
        let bytes = match kind {
            Kind::Barrier => 0,
            Kind::ReduceScatter => lanes * ELEMENT * u64::from(size),
            _ if reduces(kind) => lanes * ELEMENT,
            _ => lanes,
        };
        let shape = Shape {
            root: if rooted { root % size } else { 0 },
            commutative: commutative || !reduces(kind),
            irregular: uneven,
            ..shape(kind, size, bytes)
        };
        let case = Case::new(shape, |from, to| (u64::from(from) * 7 + u64::from(to) * 5 + seed) % 4);
        for algorithm in of(kind).filter(|algorithm| (algorithm.supports)(&case.shape)) {
            let schedule = algorithm.schedule(&case.shape, &Parameters::default());
            let mut reduce = |_: u32, left: &[u8], right: &mut Vec<u8>| {
                *right = combine(case.shape.commutative, left, right)
            };
            let (outputs, faults) = outputs(&schedule, &case, &case.inputs, &mut reduce, &cuts);
            prop_assert!(faults.is_empty(), "{}: {faults:?}", algorithm.name);
            for (rank, expected) in case
                .expected
                .iter()
                .enumerate()
                .filter_map(|(rank, expected)| Some((rank, expected.as_ref()?)))
            {
                prop_assert_eq!(
                    &outputs[rank],
                    expected,
                    "{} of {:?}, member {}",
                    algorithm.name,
                    case.shape,
                    rank
                );
            }
        }
    }

    #[test]
    fn any_schedule_does_one_step_after_the_other(
        schedule in random_schedule(),
        cuts in proptest::collection::vec(0u32..70, 0..4),
        seed in any::<u8>(),
    ) {
        let inputs: Vec<Vec<u8>> = (0..schedule.size as u8)
            .map(|rank| (0..BYTES as u8).map(|at| rank ^ at.wrapping_mul(seed)).collect())
            .collect();
        let members = shape(Kind::Allreduce, schedule.size, BYTES);
        let schedule: Rc<dyn Schedule> = Rc::new(schedule);
        let expected = plain(&*schedule, &members, &inputs);
        let mut reduce = |_: u32, left: &[u8], right: &mut Vec<u8>| hash(left, right);
        let (outputs, faults) = outputs(&schedule, &members, &inputs, &mut reduce, &cuts);
        prop_assert_eq!(faults, Vec::new());
        prop_assert_eq!(outputs, expected);
    }
}

#[test]
fn who_expects_another_size_than_is_sent_is_told_so() {
    struct Uneven(u32);
    impl Members for Uneven {
        fn prototype(&self) -> Member {
            member_of(0, Blocks::Uniform(8), Blocks::Each(begins([8, 8, 8].into_iter()).collect()))
        }
        fn describe(&self, member: &mut Member) {
            member.send = Blocks::Uniform(if member.rank == self.0 { 9 } else { 8 });
        }
        fn output(&self, rank: u32) -> u64 {
            if rank == 0 { 24 } else { 0 }
        }
    }
    let shape = Shape { irregular: true, ..shape(Kind::Gather, 3, 0) };
    let schedule = of(Kind::Gather).next().unwrap().schedule(&shape, &Parameters::default());
    let inputs = [vec![1; 8], vec![2; 8], vec![3; 9]];
    let mut none = |_: u32, _: &[u8], _: &mut Vec<u8>| {};
    for cuts in [&[][..], &[1], &[1, 2]] {
        let (_, faults) = outputs(&schedule, &Uneven(2), &inputs, &mut none, cuts);
        assert_eq!(faults, [(0, SizeMismatch::Mismatch { from: 2, got: 9, expected: 8 })]);
    }
}

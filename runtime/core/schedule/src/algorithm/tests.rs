//! Every algorithm on every small size against the plain meaning of its collective.

use proptest::prelude::*;

use super::*;
use crate::model::{Case, Cost, ELEMENT, reduces, run, shape};
use crate::{Blocks, Member, Step};

/// Returns all but the neighbourhood collectives, whose data is of another form.
fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|&kind| kind != Kind::Neighbor)
}

fn sizes() -> impl Iterator<Item = u32> {
    (1..=17).chain([32, 33])
}

fn roots(kind: Kind, size: u32) -> Vec<u32> {
    match kind {
        Kind::Bcast | Kind::Gather | Kind::Scatter | Kind::Reduce if size <= 17 => (0..size).collect(),
        Kind::Bcast | Kind::Gather | Kind::Scatter | Kind::Reduce => vec![0, 1, size / 2, size - 1],
        _ => vec![0],
    }
}

/// Runs all algorithms that support the shape.
fn run_all(case: &Case, parameters: &Parameters) {
    for algorithm in of(case.shape.kind).filter(|algorithm| (algorithm.supports)(&case.shape)) {
        let schedule = algorithm.schedule(&case.shape, parameters);
        let label = format!("{} of {:?} {parameters:?}", algorithm.name, case.shape);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&*schedule, case)));
        assert!(result.is_ok(), "{label}");
    }
}

fn message_sizes(kind: Kind, size: u32) -> Vec<u64> {
    let counts = [0, 1, 3, u64::from(size) + 2];
    match kind {
        Kind::Barrier => vec![0],
        Kind::Agree => vec![0, 4],
        Kind::ReduceScatter => counts.map(|n| n * ELEMENT * u64::from(size)).to_vec(),
        _ if reduces(kind) => counts.map(|n| n * ELEMENT).to_vec(),
        Kind::Bcast => vec![0, 1, 5, 40, 101],
        _ => vec![0, 1, 5],
    }
}

#[test]
fn every_algorithm_gives_the_result_of_its_collective() {
    for kind in kinds() {
        for size in sizes() {
            for root in roots(kind, size) {
                for bytes in message_sizes(kind, size) {
                    for commutative in if reduces(kind) { vec![true, false] } else { vec![true] } {
                        let shape = Shape { root, commutative, ..shape(kind, size, bytes) };
                        run_all(&Case::new(shape, |_, _| 0), &Parameters::default());
                    }
                }
            }
        }
    }
}

#[test]
fn irregular_blocks_and_empty_ones_arrive() {
    for kind in [Kind::Gather, Kind::Scatter, Kind::Allgather, Kind::Alltoall, Kind::ReduceScatter] {
        for size in sizes() {
            for root in roots(kind, size) {
                for commutative in if reduces(kind) { vec![true, false] } else { vec![true] } {
                    for seed in 0..4 {
                        let shape = Shape { root, commutative, irregular: true, ..shape(kind, size, 0) };
                        let case = Case::new(shape, |from, to| {
                            u64::from((from * 5 + to * 3 + seed * 7) % (1 + seed))
                        });
                        run_all(&case, &Parameters::default());
                    }
                }
            }
        }
    }
}

#[test]
fn segments_and_fanouts_change_no_result() {
    for kind in [Kind::Bcast, Kind::Reduce, Kind::Alltoall] {
        for size in [2, 3, 5, 8, 13] {
            for root in roots(kind, size) {
                for segment in [1, 16, 50, 1000] {
                    for fanout in [1, 2, 3, 40] {
                        let shape = Shape { root, ..shape(kind, size, 7 * ELEMENT) };
                        run_all(&Case::new(shape, |_, _| 0), &Parameters { segment, fanout });
                    }
                }
            }
        }
    }
}

/// The algorithms that need nodes of several members.
const ON_NODES: [&str; 7] =
    ["two-level", "han", "smp", "smp-node-first", "smp-pieces", "smp-via-first", "smp-recursive-doubling"];

/// Runs all algorithms for nodes that support the shape.
fn run_on_nodes(shape: &Shape) {
    for algorithm in of(shape.kind).filter(|algorithm| ON_NODES.contains(&algorithm.name)) {
        if (algorithm.supports)(shape) {
            run(&*algorithm.schedule(shape, &Parameters::default()), &Case::new(shape.clone(), |_, _| 0));
        }
    }
}

#[test]
fn two_levels_agree_with_one() {
    for kind in kinds() {
        for size in sizes() {
            // The large ones with the nodes of usual machines.
            for node in (2..size.min(9)).filter(|node| size <= 17 || node.is_power_of_two() || *node == 3) {
                for root in roots(kind, size) {
                    for commutative in if reduces(kind) { vec![true, false] } else { vec![true] } {
                        let bytes = if kind == Kind::Barrier { 0 } else { 3 * ELEMENT };
                        run_on_nodes(&Shape { root, node, commutative, ..shape(kind, size, bytes) });
                    }
                }
            }
        }
    }
}

/// Messages for which stages of the compositions take their long algorithms.
#[test]
fn long_messages_pass_through_both_levels() {
    for kind in [Kind::Bcast, Kind::Reduce, Kind::Allreduce] {
        for (size, node) in [(24, 8), (16, 8), (20, 9), (32, 4), (33, 4), (33, 3), (30, 2)] {
            for bytes in [2048, 4096, 12_288 + ELEMENT, 13_007 * ELEMENT] {
                for root in roots(kind, size) {
                    run_on_nodes(&Shape { root, node, ..shape(kind, size, bytes) });
                }
            }
        }
    }
}

/// Makes a member with equal blocks, alone: what a schedule asks of it does not depend on the others.
fn member(rank: u32, shape: &Shape) -> Member {
    let block =
        if shape.kind == Kind::ReduceScatter { shape.bytes / u64::from(shape.size) } else { shape.bytes };
    let blocks = Blocks::Uniform(block);
    Member { rank, send: blocks.clone(), receive: blocks, sources: [].into(), destinations: [].into() }
}

/// Returns the messages of `rank` in `round`: (partner, bytes, whether it is sent).
fn messages(schedule: &dyn Schedule, shape: &Shape, rank: u32, round: u32) -> Vec<(u32, u64, bool)> {
    let mut steps = vec![];
    schedule.round(&member(rank, shape), round, &mut steps);
    let message = |step: &Step| match *step {
        Step::Send { to, from } => Some((to, from.bytes, true)),
        Step::Receive { from, into } => Some((from, into.bytes, false)),
        _ => None,
    };
    steps.iter().filter_map(message).collect()
}

proptest! {
    /// A message sent in a round is received in that round, with its size, also where ranks need all their
    /// bits.
    #[test]
    fn partners_agree_at_any_size(
        row in 0..ALL.len(),
        size in
            prop_oneof![Just(1_000_000u32), Just(1 << 20), Just(1 << 27), Just((1 << 31) - 1), 2u32..5000],
        rank in prop::arbitrary::any::<prop::sample::Index>(),
        round in prop::arbitrary::any::<prop::sample::Index>(),
        root in prop::arbitrary::any::<prop::sample::Index>(),
        node in 1u32..70,
        segment in prop_oneof![Just(0u64), 1u64..1000],
    ) {
        let algorithm = &ALL[row];
        let (kind, name) = (algorithm.kind, algorithm.name);
        // What takes one member steps in proportion to the size.
        let long =
            matches!(kind, Kind::Alltoall | Kind::ReduceScatter) || ["linear", "scattered"].contains(&name);
        prop_assume!(kind != Kind::Neighbor && !(long && size > 5000));
        let rooted = matches!(kind, Kind::Bcast | Kind::Gather | Kind::Scatter | Kind::Reduce);
        let bytes = match kind {
            Kind::Barrier => 0,
            Kind::ReduceScatter => 32 * u64::from(size),
            _ => 4096,
        };
        let root = if rooted { root.index(size as usize) as u32 } else { 0 };
        let shape = Shape { root, node, ..shape(kind, size, bytes) };
        prop_assume!((algorithm.supports)(&shape));
        let schedule = algorithm.schedule(&shape, &Parameters { segment, fanout: 0 });
        prop_assume!(schedule.rounds() > 0);
        let round = round.index(schedule.rounds() as usize) as u32;
        // Ranks at random, and some that are likely to do something in this round.
        let active = schedule.active(round).map_or(0, |active| {
            let step = rank.index(active.count.max(1) as usize) as u64;
            ((u64::from(active.first) + step * u64::from(active.stride)) % u64::from(size)) as u32
        });
        for rank in [rank.index(size as usize) as u32, active, root, size - 1] {
            for (partner, bytes, sent) in messages(&*schedule, &shape, rank, round) {
                prop_assert!(partner < size && partner != rank);
                let expected = (rank, bytes, !sent);
                let answer = messages(&*schedule, &shape, partner, round);
                prop_assert!(
                    answer.contains(&expected),
                    "{rank} {partner} {answer:?} lacks {expected:?} in round {round} of {name}"
                );
            }
        }
    }
}

#[test]
fn intercommunicators_exchange_between_their_groups() {
    for kind in kinds().filter(|kind| !matches!(kind, Kind::Scan | Kind::Exscan)) {
        for size in 2..=9 {
            for first in 1..size {
                for root in roots(kind, size) {
                    for irregular in [false, true] {
                        let bytes = if kind == Kind::Barrier { 0 } else { 3 * ELEMENT };
                        // Blocks of a reduce-scatter differ between the groups, but not in their sum.
                        let sum = u64::from(first * (size - first));
                        let irregular = irregular
                            && !matches!(kind, Kind::Barrier | Kind::Bcast | Kind::Agree)
                            || kind == Kind::ReduceScatter;
                        for commutative in if reduces(kind) { vec![true, false] } else { vec![true] } {
                            let sides = Some(first);
                            let shape =
                                Shape { root, irregular, sides, commutative, ..shape(kind, size, bytes) };
                            let case = Case::new(shape, |from, to| match kind {
                                Kind::ReduceScatter if from < first => sum / u64::from(first),
                                Kind::ReduceScatter => sum / u64::from(size - first),
                                _ => u64::from((from * 2 + to) % 4),
                            });
                            run_all(&case, &Parameters::default());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn neighbours_match_in_order_and_cartesian_directions_cross() {
    use crate::NOBODY;
    // A ring of two: both neighbours of a member are the other one.
    let member = |rank: u32| Member {
        rank,
        send: Blocks::Uniform(1),
        receive: Blocks::Uniform(1),
        sources: [1 - rank, 1 - rank, NOBODY, NOBODY].into(),
        destinations: [1 - rank, 1 - rank, NOBODY, NOBODY].into(),
    };
    for cartesian in [false, true] {
        let shape = Shape { cartesian, ..shape(Kind::Neighbor, 2, 0) };
        let crossed = |a: u8, b: u8| if cartesian { vec![b, a, 0xee, 0xee] } else { vec![a, b, 0xee, 0xee] };
        let case = Case {
            members: vec![member(0), member(1)],
            inputs: vec![vec![10, 11, 0, 0], vec![20, 21, 0, 0]],
            expected: vec![Some(crossed(20, 21)), Some(crossed(10, 11))],
            shape,
        };
        let schedule =
            find(Kind::Neighbor, "direct").expect("registered").schedule(&case.shape, &Parameters::default());
        run(&*schedule, &case);
    }
}

fn cost(kind: Kind, name: &str, size: u32, bytes: u64) -> Cost {
    let case = Case::new(shape(kind, size, bytes), |_, _| 0);
    run(&*find(kind, name).expect("registered").schedule(&case.shape, &Parameters::default()), &case)
}

/// Messages and bytes as the literature counts them (Thakur, Rabenseifner and Gropp 2005).
#[test]
fn algorithms_cost_what_their_formulas_say() {
    for n in [2u64, 4, 8, 16, 32, 3, 5, 12, 33] {
        let size = n as u32;
        let log = u64::from(parts::ceil_log2(size));
        let power = size.is_power_of_two();
        let b = ELEMENT * n;
        let expect = |kind, name, messages: u64, bytes: u64| {
            let cost = cost(kind, name, size, b);
            assert_eq!((cost.messages, cost.bytes), (messages, bytes), "{kind:?} {name} {size}");
        };
        expect(Kind::Barrier, "dissemination", n * log, 0);
        expect(Kind::Barrier, "linear", 2 * (n - 1), 0);
        expect(Kind::Barrier, "tree", 2 * (n - 1), 0);
        for name in ["linear", "binomial", "chain", "pipeline", "binary", "knomial"] {
            expect(Kind::Bcast, name, n - 1, (n - 1) * b);
            expect(Kind::Reduce, name, n - 1, (n - 1) * b);
        }
        expect(Kind::Bcast, "split-binary", 2 * (n - 1), (n - 1) * b);
        expect(Kind::Gather, "linear", n - 1, (n - 1) * b);
        expect(Kind::Allgather, "ring", n * (n - 1), n * (n - 1) * b);
        expect(Kind::Allgather, "bruck", n * log, n * (n - 1) * b);
        expect(Kind::Alltoall, "pairwise", n * (n - 1), n * (n - 1) * b);
        expect(Kind::Alltoall, "linear", n * (n - 1), n * (n - 1) * b);
        expect(Kind::Allreduce, "linear", 2 * (n - 1), 2 * (n - 1) * b);
        expect(Kind::Allreduce, "ring", 2 * n * (n - 1), 2 * (n - 1) * b);
        expect(Kind::ReduceScatter, "pairwise", n * (n - 1), (n - 1) * b);
        expect(Kind::ReduceScatter, "ring", n * (n - 1), (n - 1) * b);
        expect(Kind::Scan, "linear", n - 1, (n - 1) * b);
        if power {
            let ring = n - 1 + n * (n - 1);
            expect(Kind::Bcast, "scatter-ring-allgather", ring, (n - 1) * b + log * b / 2);
            expect(
                Kind::Bcast,
                "scatter-recursive-doubling-allgather",
                n - 1 + n * log,
                (n - 1) * b + log * b / 2,
            );
            expect(Kind::Barrier, "recursive-doubling", n * log, 0);
            expect(Kind::Gather, "binomial", n - 1, n / 2 * log * b);
            expect(Kind::Scatter, "binomial", n - 1, n / 2 * log * b);
            expect(Kind::Allgather, "recursive-doubling", n * log, n * (n - 1) * b);
            expect(Kind::Allgather, "neighbor-exchange", n * n / 2, n * (n - 1) * b);
            expect(Kind::Alltoall, "bruck", n * log, n * log * n / 2 * b);
            expect(Kind::Allreduce, "recursive-doubling", n * log, n * log * b);
            expect(Kind::Allreduce, "rabenseifner", 2 * n * log, 2 * (n - 1) * b);
            expect(Kind::ReduceScatter, "recursive-halving", n * log, (n - 1) * b);
            expect(Kind::ReduceScatter, "butterfly", n * log, (n - 1) * b);
            expect(Kind::Reduce, "rabenseifner", n * log + n - 1, (n - 1) * b + log * b / 2);
            expect(Kind::Scan, "recursive-doubling", n * log, n * log * b);
        }
    }
}

#[test]
fn names_are_unique_and_the_first_of_a_kind_supports_everything() {
    for (index, algorithm) in ALL.iter().enumerate() {
        assert!(
            !ALL[..index].iter().any(|other| (other.kind, other.name) == (algorithm.kind, algorithm.name))
        );
    }
    for kind in Kind::ALL {
        let first = of(kind).next().expect("every kind has an algorithm");
        let shape = Shape { commutative: false, irregular: true, predefined: false, ..shape(kind, 7, 0) };
        assert!((first.supports)(&shape));
    }
}

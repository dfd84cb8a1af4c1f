//! Programs of random patterns, as traces made by hand: those at some rank counts tell the one at another.

use extrapolate::extrapolate;
use proptest::prelude::*;
use trace::Trace;
use trace::assembly::Assembly;
use trace::builder::Builder;
use trace::part::{Item, ProcessTrace};
use trace::template::{Field, Peer, Position, Template};

/// The pattern of a call of a program: the destinations of its messages.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// The rank so far behind, round all ranks.
    Shift(i32),
    /// The neighbour on a cube, round it.
    Periodic([i32; 3]),
    /// The neighbour on a cube, if there is one.
    Bordered([i32; 3]),
    /// All but this rank to this one.
    Root(u32),
    /// The other side of the cube.
    Mirrored,
    /// A call for each rank on a side of the cube, to one after the other.
    Side,
}

const FUNCTION: &str = "MPI_Send dest count";

fn cube(rank: u32, side: u32) -> [i32; 3] {
    [rank / side / side, rank / side % side, rank % side].map(|at| at as i32)
}

/// Returns the destinations of a rank's calls.
fn destinations(pattern: Pattern, rank: u32, side: i32) -> Vec<i32> {
    let ranks = side * side * side;
    let at = cube(rank, side as u32);
    let number = |at: [i32; 3]| (at[0] * side + at[1]) * side + at[2];
    let moved = |by: [i32; 3]| [0, 1, 2].map(|d| at[d] + by[d]);
    match pattern {
        Pattern::Shift(by) => vec![(rank as i32 + by).rem_euclid(ranks)],
        Pattern::Periodic(by) => vec![number(moved(by).map(|at| at.rem_euclid(side)))],
        Pattern::Bordered(by) => {
            let to = moved(by);
            if to.iter().all(|at| (0..side).contains(at)) { vec![number(to)] } else { vec![-3] }
        }
        Pattern::Root(root) => {
            if rank == root {
                vec![]
            } else {
                vec![root as i32]
            }
        }
        Pattern::Mirrored => vec![number(at.map(|at| side - 1 - at))],
        Pattern::Side => (0..side).collect(),
    }
}

/// Returns the trace of a program of these patterns, each in a place of its own, gone through so often.
fn program(patterns: &[(Pattern, i64)], turns: u64, side: u32) -> Trace {
    let ranks = side * side * side;
    let sites = (0..patterns.len()).map(|line| format!("program.c:{line} main"));
    let part = ProcessTrace {
        ranks,
        functions: std::iter::once(FUNCTION.to_owned()).collect(),
        sites: sites.collect(),
        ..ProcessTrace::default()
    };
    let fields = vec![Field::Rank, Field::Count];
    let templates: Vec<Template> = (1..=patterns.len() as u32)
        .map(|site| Template { function: 0, site, code: 0, fields: fields.clone() })
        .collect();
    let mut assembly = Assembly::new(part);
    for rank in 0..ranks {
        let mut body: Vec<Item> = Vec::new();
        for (place, &(pattern, bytes)) in (0..).zip(patterns) {
            for to in destinations(pattern, rank, side as i32) {
                let peer = Peer::told(to, Position { rank, peers: ranks });
                body.push(assembly.call(place, vec![peer.number(), bytes * i64::from(side)]));
            }
        }
        let items = if body.is_empty() { body } else { vec![assembly.repeated(turns, body)] };
        assembly.keep(rank, items, None);
    }
    let mut builder = Builder::new(ranks);
    builder.add(assembly.finish(&templates));
    Trace::read(&builder.finish()).unwrap()
}

fn step() -> impl Strategy<Value = [i32; 3]> {
    prop::array::uniform3(-1i32..=1)
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        (-3i32..4).prop_map(Pattern::Shift),
        step().prop_map(Pattern::Periodic),
        step().prop_map(Pattern::Bordered),
        Just(Pattern::Root(0)),
        Just(Pattern::Mirrored),
        Just(Pattern::Side),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_program_of_random_patterns_is_told_for_more_ranks(
        patterns in prop::collection::vec((pattern(), 1i64..5000), 1..6),
        turns in 2u64..50,
    ) {
        let traces: Vec<Trace> = [4, 5, 6].map(|side| program(&patterns, turns, side)).into();
        let told = extrapolate(&traces, 512).map_err(TestCaseError::fail)?;
        let told = Trace::read(&told.file).map_err(TestCaseError::fail)?;
        let mut different = Vec::new();
        let is_same = trace::diff::diff(&told, &program(&patterns, turns, 8), &mut different).unwrap();
        prop_assert!(is_same, "{}", String::from_utf8_lossy(&different));
    }
}

#[test]
fn one_rank_that_does_otherwise_is_named() {
    let patterns = [(Pattern::Shift(1), 8)];
    let mut traces: Vec<Trace> = [4, 5, 6].map(|side| program(&patterns, 3, side)).into();
    assert!(extrapolate(&traces, 343).is_ok());
    // Rank 17 of 125 and no other sends to itself.
    let other = program(&[(Pattern::Shift(0), 8)], 3, 5);
    let mut part = Assembly::new(ProcessTrace {
        ranks: 125,
        functions: std::iter::once(FUNCTION.to_owned()).collect(),
        sites: std::iter::once("program.c:0 main".to_owned()).collect(),
        ..ProcessTrace::default()
    });
    for rank in 0..125 {
        let from = if rank == 17 { &other } else { &traces[1] };
        let view = from.rank(rank);
        let calls: Vec<Vec<i64>> = view.calls().map(|event| event.numbers.to_vec()).collect();
        let items: Vec<Item> = calls.into_iter().map(|numbers| part.call(0, numbers)).collect();
        part.keep(rank, items, None);
    }
    let template = Template { function: 0, site: 1, code: 0, fields: vec![Field::Rank, Field::Count] };
    let mut builder = Builder::new(125);
    builder.add(part.finish(&[template]));
    traces[1] = Trace::read(&builder.finish()).unwrap();
    let why = extrapolate(&traces, 343).unwrap_err();
    assert!(why.starts_with("MPI_Send at program.c:0 main: its argument dest: no formula"), "{why}");
}

//! Messages of models: who sends what to whom, whatever the pattern and the number of ranks.

mod common;

use aspen::{
    Collective, CommunicationPattern, EvaluationRequest, Grid, Message, Neighbors, Operation, Step, Wave,
};
use common::{application, load, with_main};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn step(text: &str) -> Step {
    let model = application(&with_main(&format!("execute {{ {text} }}")));
    let steps = model.communication(&EvaluationRequest::default()).unwrap_or_else(|error| panic!("{error}"));
    steps[0].step
}

/// Number of messages by sender, receiver and length in bytes.
type Pairs = BTreeMap<(u64, u64, u64), usize>;

fn pairs(step: &Step, ranks: u64, receives: bool, draw: u64) -> Pairs {
    let grid = step.grid(ranks).unwrap();
    let mut pairs = Pairs::new();
    for rank in 0..ranks {
        let all = if receives {
            step.receives(rank, ranks, grid.as_ref(), draw)
        } else {
            step.sends(rank, ranks, grid.as_ref(), draw)
        };
        for Message { peer, bytes } in all {
            *pairs.entry(if receives { (peer, rank, bytes) } else { (rank, peer, bytes) }).or_default() += 1;
        }
    }
    pairs
}

fn pattern() -> impl Strategy<Value = CommunicationPattern> {
    let wave = prop_oneof![Just(None), Just(Some(Wave::Up)), Just(Some(Wave::Down))];
    let neighbors = (1u32..=3, any::<[bool; 3]>(), wave);
    prop_oneof![
        neighbors.prop_map(|(dimensions, [faces, nodal, periodic], wave)| CommunicationPattern::Neighbors(
            Neighbors { dimensions, faces, nodal, periodic, wave }
        )),
        any::<bool>().prop_map(|up| CommunicationPattern::Sweep(if up { Wave::Up } else { Wave::Down })),
        Just(CommunicationPattern::Random),
        (0usize..3, any::<[bool; 2]>()).prop_map(|(axis, [up, periodic])| CommunicationPattern::Shift {
            axis,
            up,
            periodic
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_sent_is_received(
        pattern in pattern(),
        sides in prop::array::uniform3(1u64..5),
        count in 0u64..50,
        size in 1u64..30,
        draw in any::<u64>(),
    ) {
        let ranks = match pattern.dimensions() {
            Some(dimensions) => sides[0].pow(dimensions),
            None => sides.iter().product(),
        };
        let step = Step { pattern, count, size, times: 1 };
        prop_assert_eq!(pairs(&step, ranks, false, draw), pairs(&step, ranks, true, draw));
    }

    #[test]
    fn up_and_down_together_are_both_ways(
        dimensions in 1u32..=3,
        [faces, nodal, periodic] in any::<[bool; 3]>(),
        side in 2u64..5,
        count in 1u64..20,
    ) {
        let of = |wave| Step {
            pattern: CommunicationPattern::Neighbors(Neighbors { dimensions, faces, nodal, periodic, wave }),
            count,
            size: 8,
            times: 1,
        };
        let ranks = side.pow(dimensions);
        let mut halves = pairs(&of(Some(Wave::Up)), ranks, false, 0);
        prop_assert!(halves.keys().all(|&(from, to, _)| from < to));
        for (pair, times) in pairs(&of(Some(Wave::Down)), ranks, false, 0) {
            *halves.entry(pair).or_default() += times;
        }
        prop_assert_eq!(halves, pairs(&of(None), ranks, false, 0));
    }
}

#[test]
fn a_cube_has_six_faces_twelve_edges_and_eight_corners() {
    let step = step("comm [5] of size [8] as nn3d, periodic");
    let grid = step.grid(27).unwrap();
    for rank in 0..27 {
        let sends = step.sends(rank, 27, grid.as_ref(), 0);
        let of = |bytes: u64| sends.iter().filter(|message| message.bytes == bytes).count();
        assert_eq!((of(25 * 8), of(5 * 8), of(8), sends.len()), (6, 12, 8, 26));
        let mut peers: Vec<u64> = sends.iter().map(|message| message.peer).collect();
        peers.sort_unstable();
        peers.dedup();
        assert_eq!(peers.len(), 26, "all others");
    }
}

#[test]
fn nodes_are_twice_as_many_along_each_free_axis() {
    let bytes = |text: &str, ranks: u64| {
        let step = step(text);
        let mut bytes: Vec<u64> = step
            .sends(0, ranks, step.grid(ranks).unwrap().as_ref(), 0)
            .iter()
            .map(|message| message.bytes)
            .collect();
        bytes.sort_unstable();
        bytes
    };
    assert_eq!(
        bytes("comm [23] of size [24] as nn3d, nodal", 8),
        [24, 46 * 24, 46 * 24, 46 * 24, 2116 * 24, 2116 * 24, 2116 * 24]
    );
    assert_eq!(bytes("comm [23] of size [8] as nn2d, nodal", 4), [8, 46 * 8, 46 * 8]);
    assert_eq!(bytes("comm [23] of size [8] as nn2d, face", 4), [23 * 8, 23 * 8]);
    assert_eq!(bytes("comm [23] of size [8] as nn1d, nodal, periodic", 3), [8, 8]);
}

#[test]
fn ends_meet_only_if_it_is_periodic() {
    let peers = |text: &str, rank: u64| {
        let step = step(text);
        step.sends(rank, 4, step.grid(4).unwrap().as_ref(), 0)
            .iter()
            .map(|message| message.peer)
            .collect::<Vec<u64>>()
    };
    assert_eq!(peers("comm [1] of size [8] as nn1d", 0), [1]);
    assert_eq!(peers("comm [1] of size [8] as nn1d, periodic", 0), [3, 1]);
    assert_eq!(peers("comm [8] as sweep", 0), [1, 2]);
    assert_eq!(peers("comm [8] as sweep", 3), Vec::<u64>::new());
    assert_eq!(peers("comm [8] as sweep, nwave", 3), [2, 1]);
}

#[test]
fn messages_can_say_their_direction() {
    let step = step("messages [100] as positive, y");
    assert_eq!(step.pattern, CommunicationPattern::Shift { axis: 1, up: true, periodic: false });
    let grid = step.grid(27).unwrap();
    assert_eq!(step.sends(0, 27, grid.as_ref(), 0), [Message { peer: 3, bytes: 100 }]);
    assert_eq!(step.sends(6, 27, grid.as_ref(), 0), []);
    assert_eq!(step.receives(3, 27, grid.as_ref(), 0), [Message { peer: 0, bytes: 100 }]);
}

#[test]
fn messages_without_a_pattern_go_to_nobody_in_particular() {
    for text in ["messages [100]", "messages [100] as separate(3)"] {
        assert_eq!(step(text).pattern, CommunicationPattern::Unaddressed, "{text}");
        assert_eq!(step(text).traffic(8, 512).unwrap().messages, 0);
    }
}

#[test]
fn collective_operations_know_their_operation_and_bytes() {
    let of = |text: &str| (step(text).pattern, step(text).bytes());
    assert_eq!(
        of("comm [3] of size [8] as allreduce, min"),
        (CommunicationPattern::Collective(Collective::Allreduce, Operation::Min), 24)
    );
    assert_eq!(
        of("comm [5] as allreduce"),
        (CommunicationPattern::Collective(Collective::Allreduce, Operation::Sum), 5)
    );
    assert_eq!(
        of("comm [0] as barrier"),
        (CommunicationPattern::Collective(Collective::Barrier, Operation::Sum), 0)
    );
    for name in ["reduce", "scan", "bcast", "allgather", "alltoall", "scatter", "gather"] {
        assert!(step(&format!("comm [1] of size [4] as {name}")).pattern.to_string().starts_with(name));
    }
}

#[test]
fn times_are_counted_over_loops_and_calls() {
    let text = "model m { kernel a { execute [3] { comm [1] as barrier } } kernel main { iterate [10] { call \
        a map [2] { call a } } call a } }";
    let steps = application(text).communication(&EvaluationRequest::default()).unwrap();
    assert_eq!(steps.len(), 1);
    assert_eq!((steps[0].times, steps[0].step.times), (31.0, 3));
}

#[test]
fn unknown_traits_are_said() {
    for (text, parts) in [
        (
            "comm [1] of size [8] as allredcue",
            &["'allredcue' is no pattern", "did you mean 'allreduce'?"][..],
        ),
        (
            "comm [1] of size [8] as allreduce, avg",
            &["'avg' means for 'allreduce' is not known", "min, max, sum, prod"],
        ),
        ("comm [1] of size [8] as bcast, min", &["'min' means for 'bcast'", "takes no further traits"]),
        ("comm [1] of size [8] as nn3d, faces", &["'faces'", "did you mean 'face'?", "periodic"]),
        ("comm [1] of size [8] as nn3d, pwave, nwave", &["nobody would send"]),
        ("comm [1] as nn3d", &["of size"]),
        ("comm [1]", &["a trait must say how ranks communicate"]),
        ("messages [1] as positive", &["the axis is missing"]),
        ("messages [1] as positive, w", &["'w'", "x, y or z"]),
    ] {
        let (model, sources) = load(&with_main(&format!("execute {{ {text} }}"))).unwrap();
        let aspen::LoadedModel::Application(model) = model else { panic!("a machine") };
        let error =
            model.communication(&EvaluationRequest::default()).unwrap_err().located(&sources).to_string();
        assert!(model.warnings.iter().any(|warning| warning.to_string() == error), "{:?}", model.warnings);
        for part in parts {
            assert!(error.contains(part), "'{part}' is missing: {error}");
        }
    }
}

#[test]
fn ranks_without_a_grid_are_told_which_have_one() {
    let step = step("comm [5] of size [8] as nn3d");
    let error = step.grid(14).unwrap_err().to_string();
    assert!(
        error.contains("14 ranks make no grid of 3 dimensions") && error.contains("12 or 18 do"),
        "{error}"
    );
    assert_eq!(step.grid(12).unwrap().map(|grid| grid.sides()), Some([3, 2, 2]));
}

#[test]
fn messages_that_are_too_long_are_refused() {
    for text in
        ["comm [1e10] of size [8] as nn3d", "comm [1e300] as allreduce", "comm [4e9] of size [4e9] as bcast"]
    {
        let model = application(&with_main(&format!("execute {{ {text} }}")));
        assert!(model.communication(&EvaluationRequest::default()).is_err(), "{text}");
    }
}

#[test]
fn large_grids_are_found_at_once() {
    let grid = Grid::new(1_000_000, 3).unwrap();
    assert_eq!(grid.sides(), [100, 100, 100]);
    assert_eq!(grid.away(grid.place(999_999), [1, 1, 1], true), Some(0));
}

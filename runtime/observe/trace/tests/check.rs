//! Findings of `check` in loops are those in their iterations one by one, and do not take as long.

use proptest::prelude::*;
use recorder::Class;
use trace::Trace;
use trace::check::check;
use trace::column::Column;
use trace::template::{Field, Peer, Template};
use trace::trace::{Cell, Comms, Function, Node};

/// Calls that ranks may make.
#[derive(Clone, Copy, Debug)]
enum Call {
    Send {
        to: i32,
        tag: i64,
    },
    Recv {
        from: i32,
        tag: i64,
    },
    Isend {
        to: i32,
        slot: i64,
    },
    Irecv {
        from: i32,
        slot: i64,
    },
    SendInit {
        to: i32,
        slot: i64,
    },
    Start {
        slot: i64,
    },
    Wait {
        slot: i64,
    },
    /// For any of the first three requests: nothing says which.
    Waitany,
    Free {
        slot: i64,
    },
    Barrier,
    Bcast {
        root: i32,
    },
}

const FUNCTIONS: [(&str, &[&str]); 11] = [
    ("MPI_Send", &["dest", "tag", "comm"]),
    ("MPI_Recv", &["source", "tag", "comm"]),
    ("MPI_Isend", &["dest", "tag", "comm", "request"]),
    ("MPI_Irecv", &["source", "tag", "comm", "request"]),
    ("MPI_Send_init", &["dest", "tag", "comm", "request"]),
    ("MPI_Start", &["request"]),
    ("MPI_Wait", &["request"]),
    ("MPI_Waitany", &["array_of_requests", "index"]),
    ("MPI_Request_free", &["request"]),
    ("MPI_Barrier", &["comm"]),
    ("MPI_Bcast", &["root", "comm"]),
];

fn fields(function: &str) -> Vec<Field> {
    let request = || Field::Handle(Class::Request, None);
    let (peer, world) = ([Field::Rank, Field::Tag, Field::Comm(Some(0))], Field::Comm(Some(0)));
    match function {
        "MPI_Send" | "MPI_Recv" => peer.to_vec(),
        "MPI_Isend" | "MPI_Irecv" | "MPI_Send_init" => [&peer[..], &[request()][..]].concat(),
        "MPI_Waitany" => vec![Field::List(vec![(3, request())]), Field::Unknown],
        "MPI_Barrier" => vec![world],
        "MPI_Bcast" => vec![Field::Rank, world],
        _ => vec![request()],
    }
}

impl Call {
    fn told(self) -> (u32, Vec<i64>) {
        let peer = |distance: i32| Peer::Relative(distance).number();
        match self {
            Call::Send { to, tag } => (0, vec![peer(to), tag]),
            Call::Recv { from, tag } => (1, vec![peer(from), tag]),
            Call::Isend { to, slot } => (2, vec![peer(to), 9, slot]),
            Call::Irecv { from, slot } => (3, vec![peer(from), 9, slot]),
            Call::SendInit { to, slot } => (4, vec![peer(to), 9, slot]),
            Call::Start { slot } => (5, vec![slot]),
            Call::Wait { slot } => (6, vec![slot]),
            Call::Waitany => (7, vec![1, 2, 3]),
            Call::Free { slot } => (8, vec![slot]),
            Call::Barrier => (9, vec![]),
            Call::Bcast { root } => (10, vec![Peer::Absolute(root).number()]),
        }
    }
}

#[derive(Clone, Debug)]
enum Part {
    Call(Call),
    Loop(u64, Vec<Part>),
}

/// Returns a trace in which each rank does these.
fn trace(ranks: &[Vec<Part>]) -> Trace {
    fn nodes(parts: &[Part], calls: &mut Vec<(u32, Vec<Cell>)>) -> Vec<Node> {
        let node = |part: &Part| match part {
            Part::Call(call) => {
                let (function, numbers) = call.told();
                calls.push((function, numbers.into_iter().map(Cell::Same).collect()));
                Node::Call(calls.len() as u32 - 1)
            }
            Part::Loop(count, body) => {
                Node::Loop { count: Cell::Same(*count as i64), body: nodes(body, calls), varies: false }
            }
        };
        parts.iter().map(node).collect()
    }
    let mut calls = Vec::new();
    let shapes: Vec<Vec<Node>> = ranks.iter().map(|parts| nodes(parts, &mut calls)).collect();
    let function = |(name, arguments): (&str, &[&str])| Function {
        name: name.to_owned(),
        arguments: arguments.iter().map(|&name| name.to_owned()).collect(),
    };
    let template = |(number, (name, _)): (u32, (&str, &[&str]))| Template {
        function: number,
        site: 0,
        code: 0,
        fields: fields(name),
    };
    Trace {
        ranks: ranks.len() as u32,
        functions: FUNCTIONS.into_iter().map(function).collect(),
        sites: Vec::new(),
        names: vec!["MPI_COMM_WORLD".to_owned()],
        types: Vec::new(),
        templates: (0..).zip(FUNCTIONS).map(template).collect(),
        calls,
        columns: Vec::new(),
        sizes: vec![1; shapes.len()],
        shape_of: Column::of(0..shapes.len() as i64),
        shapes,
        comms: Comms::default(),
        histograms: Vec::new(),
        kinds: Vec::new(),
        times: Default::default(),
    }
}

/// Returns the same without loops.
fn unfolded(parts: &[Part]) -> Vec<Part> {
    let turns = |part: &Part| match part {
        Part::Call(_) => vec![part.clone()],
        Part::Loop(count, body) => (0..*count).flat_map(|_| unfolded(body)).collect(),
    };
    parts.iter().flat_map(turns).collect()
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let call = prop_oneof![
        (0..2, 0..2i64).prop_map(|(to, tag)| Call::Send { to, tag }),
        (0..2, 0..2i64).prop_map(|(from, tag)| Call::Recv { from, tag }),
        (0..2, 1..4i64).prop_map(|(to, slot)| Call::Isend { to, slot }),
        (0..2, 1..4i64).prop_map(|(from, slot)| Call::Irecv { from, slot }),
        (0..2, 1..4i64).prop_map(|(to, slot)| Call::SendInit { to, slot }),
        (1..4i64).prop_map(|slot| Call::Start { slot }),
        (1..4i64).prop_map(|slot| Call::Wait { slot }),
        Just(Call::Waitany),
        (1..4i64).prop_map(|slot| Call::Free { slot }),
        Just(Call::Barrier),
        (0..2).prop_map(|root| Call::Bcast { root }),
    ];
    let part = call.prop_map(Part::Call).prop_recursive(3, 24, 5, |inner| {
        (0..9u64, prop::collection::vec(inner, 1..5)).prop_map(|(count, body)| Part::Loop(count, body))
    });
    prop::collection::vec(part, 0..6)
}

proptest! {
    #[test]
    fn loops_are_found_to_do_what_their_turns_do_one_by_one(
        one in parts(),
        other in parts(),
        alike in any::<bool>(),
    ) {
        let ranks = [one.clone(), if alike { one } else { other }];
        let each: Vec<_> = ranks.iter().map(|parts| unfolded(parts)).collect();
        prop_assert_eq!(check(&trace(&ranks)), check(&trace(&each)));
    }
}

#[test]
fn loops_of_2_to_the_60_turns_are_checked() {
    let exchange = |distance: i32| {
        let calls = [
            Call::Irecv { from: distance, slot: 1 },
            Call::Isend { to: distance, slot: 2 },
            Call::Wait { slot: 1 },
            Call::Wait { slot: 2 },
            Call::Barrier,
        ];
        Part::Loop(1 << 30, vec![Part::Loop(1 << 30, calls.map(Part::Call).to_vec())])
    };
    assert_eq!(check(&trace(&[vec![exchange(1)], vec![exchange(1)]])), Vec::<String>::new());
    // One more barrier behind them, and one message for nobody.
    let more = vec![exchange(1), Part::Call(Call::Send { to: 1, tag: 3 })];
    let found = check(&trace(&[vec![exchange(1)], more]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("from 1 to 0 with tag 3: 1 sent and not received"), "{found:?}");
    assert!(found[0].contains(&format!("rank 1, call {}", 5u64 << 60)), "{found:?}");
}

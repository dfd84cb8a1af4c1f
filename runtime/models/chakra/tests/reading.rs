//! Files are read as they were encoded, and each fault is a kind with its byte.

mod encoder;

use chakra::{
    ChakraFault, ChakraFaultKind, ChakraGraph, ChakraStream, DependencyKinds, NodeWork, RankGraph, RankOf,
};
use encoder::{ALL_REDUCE, BARRIER, COLL, COMP, MEM_LOAD, METADATA, Node, RECV, SEND, Value};
use encoder::{collective, compute, file, message, receive, send};
use prop::sample::Index;
use proptest::prelude::*;

const ALONE: RankOf = RankOf { rank: 0, ranks: 4, dependencies: DependencyKinds::All };

fn read(bytes: &[u8]) -> Result<RankGraph, ChakraFault> {
    RankGraph::read(bytes, "x.0.et", ALONE)
}

/// Reads nodes, and expects a fault of a kind whose sentence has these parts. Its byte is that of the message
/// of a node, by its index, or none.
#[track_caller]
fn fault(nodes: &[Node], kind: ChakraFaultKind, at: usize, parts: &[&str]) {
    let fault = read(&file(nodes)).unwrap_err();
    assert_eq!(fault.kind, kind, "{fault}");
    assert_eq!(fault.byte, Some(file(&nodes[..at]).len() as u64), "{fault}");
    let text = fault.to_string();
    assert!(text.starts_with("x.0.et: byte "), "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "'{part}' is missing: {text}"));
}

#[test]
fn all_types_of_nodes_and_of_numbers_are_read() {
    let groups = r#"['[{"pg_name": "7", "ranks": [0, 3]}]']"#;
    let nodes = [
        Node {
            name: "## process_group:init ##".to_owned(),
            inputs: Some(groups.to_owned()),
            ..Node::new(1, METADATA)
        },
        compute(9, 4).after(&[2]).behind(&[1, 2]).with("is_cpu_op", Value::Bool(true)),
        Node::new(2, MEM_LOAD).with("tensor_size", Value::Uint64(1 << 40)),
        Node::new(3, COMP).with("num_ops", Value::Double(2.5e9)).with("stream", Value::Sint64(-7)),
        send(4, 2, 100).with("comm_tag", Value::Fixed32(5)),
        receive(5, 1, 10).with("comm_tag", Value::Sint64(-5)),
        collective(6, ALL_REDUCE, 64).with("pg_name", Value::Text("7".to_owned())),
        collective(7, BARRIER, 0).with("involved_dim", Value::Bools(vec![true, true])),
        Node::new(8, 0),
    ];
    let graph = read(&file(&nodes)).unwrap();
    assert_eq!(graph.nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let stream = |at: usize| graph.nodes[at].stream;
    assert_eq!((stream(8), stream(2)), (ChakraStream::Cpu, ChakraStream::Numbered(-7)));
    assert_eq!((stream(1), stream(3)), (ChakraStream::Memory, ChakraStream::Communication));
    assert_eq!((stream(0), stream(4)), (ChakraStream::Unlimited, ChakraStream::Unlimited));
    assert_eq!(graph.nodes[3].work, NodeWork::Send { to: 2, tag: 5, bytes: 100 });
    assert_eq!(graph.nodes[4].work, NodeWork::Receive { from: 1, tag: -5, bytes: 10 });
    let NodeWork::Compute(effort) = graph.nodes[2].work else { panic!("{:?}", graph.nodes[2]) };
    assert_eq!((effort.micros, effort.operations), (0, 2.5e9));
    assert_eq!(
        (graph.groups["7"].as_slice(), graph.collectives[0].group.as_deref()),
        (&[0, 3][..], Some("7"))
    );
    assert_eq!((graph.missing[8], graph.followers_of(0), graph.followers_of(1)), (2, &[8][..], &[8][..]));
}

#[test]
fn control_dependencies_on_nodes_that_were_removed_are_counted() {
    let graph =
        read(&file(&[compute(1, 1), compute(2, 1).behind(&[1, 5]), compute(3, 1).behind(&[5])])).unwrap();
    let (first, count) = graph.left_out.unwrap();
    assert_eq!((first.kind, first.byte, count), (ChakraFaultKind::UnknownDependency, Some(56), 2));
    assert_eq!(first.to_string(), "x.0.et: byte 56: node 2 waits for node 5, which the file does not have");
    assert_eq!(graph.missing, [0, 1, 0]);
}

#[test]
fn a_circle_of_control_and_data_is_none_of_data_alone() {
    let bytes = file(&[compute(1, 1).behind(&[2]), compute(2, 1).after(&[1])]);
    let fault = read(&bytes).unwrap_err();
    assert_eq!((fault.kind, fault.byte), (ChakraFaultKind::Cycle, Some(39)));
    assert!(
        fault.reason.ends_with("in a circle; --deps data keeps the data's dependencies alone"),
        "{fault}"
    );
    let data = RankOf { dependencies: DependencyKinds::Data, ..ALONE };
    assert_eq!(RankGraph::read(bytes.as_slice(), "x.0.et", data).unwrap().missing, [0, 1]);
}

#[test]
fn a_function_of_the_host_that_starts_a_collective_takes_its_duration() {
    let start = Node::new(1, COLL).lasting(7).with("is_cpu_op", Value::Bool(true));
    let graph = read(&file(&[start])).unwrap();
    let NodeWork::Compute(effort) = graph.nodes[0].work else { panic!("{:?}", graph.nodes[0]) };
    assert_eq!((effort.micros, graph.nodes[0].stream), (7, ChakraStream::Cpu));
}

#[test]
fn each_fault_of_a_node_has_its_kind_and_its_byte() {
    let first = compute(1, 1);
    let case = |node: Node, kind, parts: &[&str]| fault(&[first.clone(), node], kind, 1, parts);
    case(compute(1, 2), ChakraFaultKind::Duplicate, &["node 1 is defined a second time", "byte 39"]);
    case(Node::new(2, 8), ChakraFaultKind::UnknownType, &["node 2 has type 8"]);
    case(compute(2, 1).after(&[5]), ChakraFaultKind::UnknownDependency, &["node 2 waits for node 5"]);
    case(compute(2, 1).behind(&[2]), ChakraFaultKind::Cycle, &["node 2 waits for itself"]);
    case(Node::new(2, COLL), ChakraFaultKind::MissingAttribute, &["node 2 has no attribute comm_type"]);
    case(Node::new(2, SEND), ChakraFaultKind::MissingAttribute, &["comm_dst"]);
    case(Node::new(2, RECV), ChakraFaultKind::MissingAttribute, &["comm_src"]);
    let no_size = Node::new(2, SEND).with("comm_dst", Value::Int32(1));
    case(no_size, ChakraFaultKind::MissingAttribute, &["comm_size"]);
    case(send(2, 4, 1), ChakraFaultKind::BadAttribute, &["comm_dst 4", "ranks 0 to 3"]);
    case(send(2, -1, 1), ChakraFaultKind::BadAttribute, &["comm_dst -1"]);
    case(send(2, 1, -1), ChakraFaultKind::BadAttribute, &["comm_size -1"]);
    case(send(2, 1, i64::MAX), ChakraFaultKind::BadAttribute, &["2^48"]);
    let of_other = send(2, 1, 1).with("comm_src", Value::Int32(3));
    case(of_other, ChakraFaultKind::BadAttribute, &["comm_src 3", "rank 0"]);
    case(collective(2, 10, 1), ChakraFaultKind::BadAttribute, &["comm_type 10"]);
    let text = Node::new(2, COMP).with("num_ops", Value::Text("many".to_owned()));
    case(text, ChakraFaultKind::BadAttribute, &["num_ops that is no number"]);
    let part = collective(2, ALL_REDUCE, 8).with("involved_dim", Value::Bools(vec![true, false]));
    case(part, ChakraFaultKind::BadAttribute, &["involved_dim", "pg_name"]);
    let groups = Node {
        name: "process_group:init".to_owned(),
        inputs: Some("['{']".to_owned()),
        ..Node::new(2, METADATA)
    };
    case(groups, ChakraFaultKind::Group, &["node 2 lists no process groups"]);
    let circle = [compute(4, 1).after(&[7]), compute(5, 1).after(&[4]), compute(7, 1).after(&[5])];
    fault(&circle, ChakraFaultKind::Cycle, 0, &["nodes 4, 5, 7 wait for each other in a circle"]);
}

#[test]
fn each_fault_of_a_file_has_its_kind_and_its_byte() {
    let whole = file(&[compute(1, 1)]);
    let start = file(&[]).len();
    let case = |bytes: &[u8], kind, byte: usize, part: &str| {
        let fault = read(bytes).unwrap_err();
        assert_eq!((fault.kind, fault.byte), (kind, Some(byte as u64)), "{fault}");
        assert!(fault.to_string().contains(part), "'{part}' is missing: {fault}");
    };
    case(&[], ChakraFaultKind::NoMetadata, 0, "the file is empty");
    case(&message(&compute(1, 1).encoded()), ChakraFaultKind::NoMetadata, 2, "GlobalMetadata");
    case(
        &message(&Node { name: String::new(), ..compute(0, 1) }.encoded()),
        ChakraFaultKind::NoMetadata,
        0,
        "a node",
    );
    let cut = &whole[..whole.len() - 3];
    case(cut, ChakraFaultKind::Truncated, start + 1, "the file ends after");
    case(&[file(&[]), vec![0x80]].concat(), ChakraFaultKind::Truncated, start, "within the length");
    case(&[file(&[]), vec![0xff; 9]].concat(), ChakraFaultKind::TooLong, start, "more than 67108864 bytes");
    // Field 1, the id, as bytes.
    let wrong = [file(&[]), message(&[0x0a, 0])].concat();
    case(&wrong, ChakraFaultKind::Undecodable, start + 2, "Node.id: invalid wire type");
    // The name is longer than its message.
    let wrong = [file(&[]), message(&[0x12, 9, b'x'])].concat();
    case(&wrong, ChakraFaultKind::Undecodable, start + 3, "Node.name");
    let wrong = [file(&[]), message(&[0x12, 1, 0xff])].concat();
    case(&wrong, ChakraFaultKind::Undecodable, start + 4, "Node.name");
}

#[test]
fn collectives_that_do_not_match_are_faults_with_the_byte_of_one() {
    let fault = |of: [&[Node]; 2], parts: &[&str]| {
        let ranks = [0, 1].map(|rank| {
            let name = format!("x.{rank}.et");
            RankGraph::read(file(of[rank as usize]).as_slice(), &name, RankOf { rank, ranks: 2, ..ALONE })
                .unwrap()
        });
        let fault = ChakraGraph::new(ranks.into(), &Default::default()).unwrap_err();
        let text = fault.to_string();
        parts.iter().for_each(|part| assert!(text.contains(part), "'{part}' is missing: {text}"));
        fault.kind
    };
    let [reduce, barrier] = [collective(1, ALL_REDUCE, 8), collective(2, BARRIER, 0)];
    let kind = fault(
        [&[reduce.clone(), barrier.clone()], std::slice::from_ref(&reduce)],
        &["x.0.et: byte", "rank 1 has 1"],
    );
    assert_eq!(kind, ChakraFaultKind::Collectives);
    let other = [collective(5, ALL_REDUCE, 16)];
    let kind = fault(
        [std::slice::from_ref(&reduce), &other],
        &["allreduce of 8 bytes", "rank 1's (node 5", "16 bytes"],
    );
    assert_eq!(kind, ChakraFaultKind::Collectives);
    let named = [reduce.with("pg_name", Value::Text("a".to_owned()))];
    let kind = fault([&named, &[]], &["node 1: process group a is not defined"]);
    assert_eq!(kind, ChakraFaultKind::Group);
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<f64>().prop_map(Value::Double),
        any::<i32>().prop_map(Value::Int32),
        any::<i64>().prop_map(Value::Int64),
        any::<u64>().prop_map(Value::Uint64),
        any::<i64>().prop_map(Value::Sint64),
        any::<u32>().prop_map(Value::Fixed32),
        any::<bool>().prop_map(Value::Bool),
        prop::collection::vec(any::<bool>(), 0..4).prop_map(Value::Bools),
        ".*".prop_map(Value::Text),
    ]
}

/// Kind, duration, two nodes before it, a peer with a size and a kind of collective, further attributes.
type GeneratedNode = (u64, u64, [Index; 2], (i32, i64, i64), Vec<(String, Value)>, bool);

/// Nodes that can be executed, in any order of ids, and attributes that no replay needs.
fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let one = (
        prop_oneof![Just(COMP), Just(MEM_LOAD), Just(SEND), Just(RECV), Just(COLL), Just(METADATA)],
        any::<u64>(),
        any::<[Index; 2]>(),
        (0..4i32, 0..=1i64 << 48, 0..10i64),
        prop::collection::vec(("x.*", value()), 0..3),
        any::<bool>(),
    );
    (prop::collection::vec(one, 0..12), any::<u64>()).prop_map(|(all, key)| {
        let id = |at: usize| key.wrapping_mul(2 * at as u64 + 1).rotate_left(7) ^ at as u64;
        let node = |(at, one): (usize, GeneratedNode)| {
            let (kind, micros, before, (peer, size, number), others, is_unpacked) = one;
            let kinds = match kind {
                SEND => send(0, peer, size),
                RECV => receive(0, peer, size),
                COLL => collective(0, number, size),
                _ => Node::new(0, kind).lasting(micros),
            };
            let deps: Vec<u64> = if at == 0 { Vec::new() } else { vec![id(before[0].index(at))] };
            let mut node = Node { id: id(at), is_unpacked, ..kinds }.after(&deps);
            if at > 0 {
                node = node.behind(&[id(before[1].index(at))]);
            }
            node.attributes.extend(others);
            node
        };
        all.into_iter().enumerate().map(node).collect()
    })
}

proptest! {
    #[test]
    fn the_reader_gives_what_was_encoded(nodes in nodes()) {
        let mut ids: Vec<u64> = nodes.iter().map(|node| node.id).collect();
        ids.sort_unstable();
        prop_assume!(ids.windows(2).all(|pair| pair[0] != pair[1]));
        let graph = read(&file(&nodes)).unwrap();
        prop_assert_eq!(graph.nodes.len(), nodes.len());
        for node in &nodes {
            let at = graph.nodes.binary_search_by_key(&node.id, |node| node.id).unwrap();
            let number = |name: &str| {
                node.attributes.iter().find(|(of, _)| of == name).map(|(_, value)| value)
            };
            let Some((peer, bytes)) = (match number("comm_size") {
                Some(Value::Int64(size)) => Some((number("comm_dst").or(number("comm_src")), *size as u64)),
                _ => None,
            }) else {
                let matches = match graph.nodes[at].work {
                    NodeWork::Compute(effort) => node.kind == COMP && effort.micros == node.micros,
                    NodeWork::Memory { stores: false, effort } => {
                        node.kind == MEM_LOAD && effort.micros == node.micros
                    }
                    NodeWork::Nothing => node.kind == METADATA,
                    _ => false,
                };
                prop_assert!(matches, "{:?} of {:?}", graph.nodes[at], node);
                continue;
            };
            match (graph.nodes[at].work, peer) {
                (NodeWork::Send { to, bytes: found, .. }, Some(Value::Int32(peer)))
                | (NodeWork::Receive { from: to, bytes: found, .. }, Some(Value::Int32(peer))) => {
                    prop_assert_eq!((to, found), (*peer as u32, bytes));
                }
                (NodeWork::Collective(number), None) => {
                    let found = &graph.collectives[number as usize];
                    prop_assert!(found.node == at as u32 && (found.bytes == bytes || found.bytes == 0));
                }
                (work, _) => prop_assert!(false, "{work:?} of {node:?}"),
            }
        }
        // Each wait is counted once, whichever list has it.
        for node in &nodes {
            let at = graph.nodes.binary_search_by_key(&node.id, |node| node.id).unwrap();
            let mut waits: Vec<u64> = [node.ctrl_deps.as_slice(), &node.data_deps].concat();
            waits.sort_unstable();
            waits.dedup();
            prop_assert_eq!(graph.missing[at] as usize, waits.len());
            for id in waits {
                let earlier = graph.nodes.binary_search_by_key(&id, |node| node.id).unwrap();
                prop_assert!(graph.followers_of(earlier as u32).contains(&(at as u32)));
            }
        }
    }

    #[test]
    fn damaged_files_are_read_or_named_by_a_byte_within(
        nodes in nodes(),
        cut in any::<Index>(),
        flips in prop::collection::vec((any::<Index>(), 0..8u32), 0..4),
    ) {
        let mut bytes = file(&nodes);
        bytes.truncate(cut.index(bytes.len()) + 1);
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if let Err(fault) = read(&bytes) {
            prop_assert!(fault.byte.unwrap() <= bytes.len() as u64, "{}", fault);
        }
    }
}

//! Traces whose times are computed by hand, and random ones against a plain model.

mod encoder;

use chakra::{ChakraFaultKind, ChakraGraph, ChakraRun, DependencyKinds, RankGraph, RankOf, WorkRates, run};
use encoder::{ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BARRIER, BROADCAST, REDUCE_SCATTER};
use encoder::{COMP, MEM_LOAD, METADATA, Node, Value, collective, compute, file, receive, send};
use network::Machine;
use proptest::prelude::*;
use schedule::choose::Policy;

/// Messages take 2 us and a nanosecond a byte.
const STAR: &str = "star:l=1us,b=8Gbps";
const US: u64 = 1_000_000;

fn graph(ranks: &[Vec<Node>]) -> ChakraGraph {
    let count = ranks.len() as u32;
    let read = |(nodes, rank): (&Vec<Node>, u32)| {
        let of = RankOf { rank, ranks: count, dependencies: DependencyKinds::All };
        RankGraph::read(file(nodes).as_slice(), &format!("x.{rank}.et"), of).unwrap()
    };
    ChakraGraph::new(ranks.iter().zip(0..).map(read).collect(), &Default::default()).unwrap()
}

fn run_with(ranks: &[Vec<Node>], machine: &str, policy: &str, rates: WorkRates) -> ChakraRun {
    let mut built = Machine::parse(machine).unwrap().build(ranks.len() as u32).unwrap();
    run(&graph(ranks), &mut built, &rates, &policy.parse::<Policy>().unwrap()).unwrap()
}

fn run_on(ranks: &[Vec<Node>], machine: &str, policy: &str) -> ChakraRun {
    run_with(ranks, machine, policy, WorkRates::default())
}

/// Each rank's end, computation and exposed communication, in picoseconds.
#[track_caller]
fn ends(ranks: &[Vec<Node>], machine: &str, policy: &str) -> Vec<[u64; 3]> {
    let run = run_on(ranks, machine, policy);
    assert_eq!((run.deadlock, run.failure), (None, None));
    run.ends.iter().map(|end| [end.end.as_ps(), end.computed.as_ps(), end.exposed.as_ps()]).collect()
}

fn on_cpu(node: Node) -> Node {
    node.with("is_cpu_op", Value::Bool(true))
}

fn on_stream(node: Node, stream: i64) -> Node {
    node.with("stream", Value::Int64(stream))
}

#[test]
fn a_chain_takes_the_sum_and_two_streams_the_longer() {
    let chain = [compute(3, 10).after(&[2]), compute(2, 20).behind(&[1]), compute(1, 30)];
    assert_eq!(ends(&[chain.to_vec()], STAR, "linear"), [[60 * US, 60 * US, 0]]);
    // The host's processor has two nodes, the accelerator one: only that counts as computation.
    let two = [on_cpu(compute(1, 10)), on_cpu(compute(2, 15)), compute(3, 20).after(&[1])];
    assert_eq!(ends(&[two.to_vec()], STAR, "linear"), [[30 * US, 20 * US, 0]]);
    let streams = [on_stream(compute(1, 10), 7), on_stream(compute(2, 15), 20), on_stream(compute(3, 4), 7)];
    assert_eq!(ends(&[streams.to_vec()], STAR, "linear"), [[15 * US, 15 * US, 0]]);
}

#[test]
fn of_ready_nodes_the_least_id_begins_when_its_stream_is_free() {
    let nodes =
        vec![compute(1, 10), compute(5, 1), compute(3, 2), Node::new(4, METADATA), compute(9, 3).after(&[4])];
    let run = run_on(&[nodes], STAR, "linear");
    let begins: Vec<u64> = run.times[0].iter().map(|time| time.unwrap().0.as_ps() / US).collect();
    assert_eq!(begins, [0, 10, 0, 12, 13]);
}

#[test]
fn nodes_without_a_duration_take_the_longer_of_operations_and_bytes() {
    let work = |operations, bytes| {
        Node::new(1, COMP).with("num_ops", Value::Int64(operations)).with("tensor_size", Value::Uint64(bytes))
    };
    let rates = WorkRates { flops: Some(1e9), memory: Some("1GB/s".parse().unwrap()) };
    let takes = |node: Node, rates| run_with(&[vec![node]], STAR, "linear", rates).latest().as_ps();
    assert_eq!(takes(work(3000, 2000), rates), 3 * US);
    assert_eq!(takes(work(3000, 4000), rates), 4 * US);
    assert_eq!(takes(work(3000, 4000).lasting(7), rates), 7 * US);
    assert_eq!(takes(work(0, 0), WorkRates::default()), 0);
    let load = Node::new(1, MEM_LOAD).with("tensor_size", Value::Uint64(5000));
    assert_eq!(takes(load.clone(), rates), 5 * US);
    let mut built = Machine::parse(STAR).unwrap().build(1).unwrap();
    for (node, part) in [(work(3000, 0), "--flops"), (work(0, 3), "--memory"), (load, "--memory")] {
        let fault = run(&graph(&[vec![node]]), &mut built, &WorkRates::default(), &Policy::default());
        let fault = fault.unwrap_err();
        assert_eq!(fault.kind, ChakraFaultKind::NoRate);
        assert!(
            fault.to_string().contains(part) && fault.byte.is_some() && fault.file == "x.0.et",
            "{fault}"
        );
    }
    let long = vec![compute(1, u64::MAX)];
    let fault = run(&graph(&[long]), &mut built, &rates, &Policy::default()).unwrap_err();
    assert_eq!(fault.kind, ChakraFaultKind::Size);
}

#[test]
fn loads_overlap_with_computation_and_with_communication() {
    let load = Node::new(2, MEM_LOAD).lasting(9);
    assert_eq!(ends(&[vec![compute(1, 7), load]], STAR, "linear"), [[9 * US, 7 * US, 0]]);
}

/// Four ranks pass 1000 bytes on, each after 10 us of computation: a message takes 3 us.
#[test]
fn a_pipeline_of_sends_and_receives_adds_up() {
    let stage = |rank: i32| {
        let mut nodes = Vec::new();
        if rank > 0 {
            nodes.push(receive(1, rank - 1, 1000));
        }
        nodes.push(compute(2, 10).after(if rank > 0 { &[1] } else { &[] }));
        if rank < 3 {
            nodes.push(send(3, rank + 1, 1000).after(&[2]));
        }
        nodes
    };
    let found = ends(&[0, 1, 2, 3].map(stage), STAR, "linear");
    let expected = [0, 13, 26, 39].map(|before| [(before + 10) * US, 10 * US, before * US]);
    assert_eq!(found, expected);
    // A rank that waits for its receiver is done when that has answered: request and answer take 2 us each.
    let found = ends(&[0, 1, 2, 3].map(stage), &format!("{STAR}/rank:eager=10"), "linear");
    let at = [0, 17, 34, 51].map(|before| before + 10);
    assert_eq!(
        found.iter().map(|end| end[0] / US).collect::<Vec<_>>(),
        [at[0] + 4, at[1] + 4, at[2] + 4, at[3]]
    );
    // Both overheads are paid: 1 us at the sender, 2 us at the receiver.
    let found = ends(&[0, 1, 2, 3].map(stage), &format!("{STAR}/rank:o_send=1us,o_recv=2us"), "linear");
    assert_eq!(found.iter().map(|end| end[0] / US).collect::<Vec<_>>(), [11, 27, 43, 58]);
}

#[test]
fn messages_meet_by_sender_receiver_and_tag_in_their_order() {
    let tagged = |node: Node, tag| node.with("comm_tag", Value::Int32(tag));
    // The long message of tag 1 was sent first, the short one of tag 2 is received first.
    let sender = vec![
        tagged(send(1, 1, 9000), 1),
        tagged(send(2, 1, 1000), 2),
        tagged(send(3, 1, 500), 1).after(&[2]),
    ];
    let receiver = vec![
        tagged(receive(1, 0, 1000), 2),
        tagged(receive(2, 0, 9000), 1).after(&[1]),
        tagged(receive(3, 0, 500), 1).after(&[2]),
    ];
    let run = run_on(&[sender, receiver], STAR, "linear");
    let times: Vec<u64> = run.times[1].iter().map(|time| time.unwrap().1.as_ps()).collect();
    assert_eq!((times, run.failure), (vec![3 * US, 11 * US, 11 * US], None));
}

/// A ring of 4 ranks sends a quarter six times: 2 us and 1 us for 1000 bytes each.
#[test]
fn collectives_take_the_algorithm_that_is_named() {
    let on = |node: Node, policy| ends(&vec![vec![node]; 4], STAR, policy)[0];
    assert_eq!(on(collective(1, ALL_REDUCE, 4000), "allreduce=ring"), [18 * US, 0, 18 * US]);
    assert_eq!(on(collective(1, ALL_REDUCE, 4000), "allreduce=recursive-doubling")[0], 12 * US);
    assert_eq!(on(collective(1, REDUCE_SCATTER, 4000), "reduce_scatter=ring")[0], 9 * US);
    assert_eq!(on(collective(1, ALL_GATHER, 1000), "allgather=ring")[0], 9 * US);
    assert_eq!(on(collective(1, ALL_TO_ALL, 4000), "alltoall=pairwise")[0], 9 * US);
    assert_eq!(on(collective(1, BARRIER, 0), "barrier=dissemination")[0], 4 * US);
    let chain: Vec<u64> = ends(&vec![vec![collective(1, BROADCAST, 1000)]; 4], STAR, "bcast=pipeline")
        .iter()
        .map(|end| end[0])
        .collect();
    assert_eq!(chain, [0, 3 * US, 6 * US, 9 * US]);
    // The root is the second rank of a group of two.
    let in_group = |id| {
        let groups = r#"[{"pg_name": "3", "ranks": [2, 1]}]"#.to_owned();
        let metadata =
            Node { name: "process_group:init".to_owned(), inputs: Some(groups), ..Node::new(0, METADATA) };
        let call = collective(id, BROADCAST, 1000).with("pg_name", Value::Text("3".to_owned()));
        vec![metadata, call.with("comm_src", Value::Int32(1))]
    };
    let found = ends(&[vec![], in_group(4), in_group(8)], STAR, "bcast=binomial");
    assert_eq!(found.iter().map(|end| end[0]).collect::<Vec<_>>(), [0, 0, 3 * US]);
}

/// An all-reduce of 18 us begins behind 10 us of computation, beside another 12 us of it; a last computation
/// waits for both.
#[test]
fn communication_is_exposed_where_nothing_computes() {
    let nodes = vec![
        compute(1, 10),
        collective(2, ALL_REDUCE, 4000).after(&[1]),
        compute(3, 12).after(&[1]),
        compute(4, 5).after(&[2, 3]),
    ];
    let found = ends(&vec![nodes; 4], STAR, "allreduce=ring");
    assert_eq!(found, vec![[33 * US, 27 * US, 6 * US]; 4]);
}

#[test]
fn shared_networks_delay_messages_that_share_a_link() {
    let sender = |to: i32| vec![send(1, to, 1000)];
    let receiver = vec![receive(1, 0, 1000), receive(2, 1, 1000)];
    let ranks = [sender(2), sender(2), receiver];
    // Two messages of a microsecond each share the receiver's link.
    let flows = ends(&ranks, "star:l=1us,b=8Gbps,level=flow,router=0ns,flowmin=0", "linear")[2][0];
    assert_eq!((ends(&ranks, STAR, "linear")[2][0], flows), (3 * US, 4 * US));
    let reduce = vec![vec![collective(1, ALL_REDUCE, 4000)]; 4];
    let machine = "star:l=1us,b=8Gbps,level=flow,router=0ns,flowmin=0";
    assert_eq!(ends(&reduce, machine, "allreduce=ring")[0][0], 18 * US);
    let packets = run_on(&reduce, "star:n=4,l=1us,b=8Gbps,level=packet", "allreduce=ring");
    assert!(packets.deadlock.is_none() && packets.latest().as_ps() > 18 * US, "{:?}", packets.latest());
}

#[test]
fn nodes_that_never_end_and_messages_that_are_left_are_named() {
    let lonely = run_on(&[vec![receive(4, 1, 8)], vec![]], STAR, "linear");
    let text = lonely.deadlock.unwrap();
    assert!(
        text.contains("rank 0: node 4, receive of 8 bytes from rank 1 with tag 0 (x.0.et, byte "),
        "{text}"
    );
    let waiting = collective(2, ALL_REDUCE, 8).after(&[1]);
    let ranks = [vec![collective(2, ALL_REDUCE, 8)], vec![receive(1, 0, 4), waiting]];
    let text = run_on(&ranks, STAR, "linear").deadlock.unwrap();
    let part =
        "rank 0: node 2, allreduce of 8 bytes (x.0.et, byte 39) waits for rank 1, whose node 2 has not begun";
    assert!(text.contains(part) && text.contains("1 node waits behind these"), "{text}");
    let text = run_on(&[vec![send(4, 1, 8)], vec![]], STAR, "linear").failure.unwrap();
    assert!(text.contains("rank 0: node 4, send of 8 bytes") && text.contains("never received"), "{text}");
    let text = run_on(&[vec![send(4, 1, 8)], vec![receive(5, 0, 9)]], STAR, "linear").failure.unwrap();
    assert!(text.starts_with("sizes differ: rank 0: node 4") && text.contains("rank 1: node 5"), "{text}");
}

/// Nodes of one rank: stream (0 the processor, 1 and 2 numbered), microseconds, dependencies on earlier ones.
type PlainNode = (u8, u64, Vec<prop::sample::Index>);

/// Returns the times of nodes, taken one microsecond after the other. A node begins at the first instant at
/// which all before it have ended and no node of its stream runs; of several the first does.
fn plain(nodes: &[PlainNode], waits_for: &[Vec<usize>]) -> Vec<(u64, u64)> {
    let mut times: Vec<Option<(u64, u64)>> = vec![None; nodes.len()];
    for now in 0.. {
        if times.iter().all(Option::is_some) {
            break;
        }
        // Nodes of no length end within the instant.
        loop {
            let is_over =
                |at: usize, times: &[Option<(u64, u64)>]| times[at].is_some_and(|(_, end)| end <= now);
            let begins: Vec<usize> = (0..3)
                .filter_map(|stream| {
                    let own = |&at: &usize| nodes[at].0 == stream;
                    let all = || (0..nodes.len()).filter(own);
                    if all().any(|at| times[at].is_some() && !is_over(at, &times)) {
                        return None;
                    }
                    all().find(|&at| {
                        times[at].is_none() && waits_for[at].iter().all(|&at| is_over(at, &times))
                    })
                })
                .collect();
            if begins.is_empty() {
                break;
            }
            begins.iter().for_each(|&at| times[at] = Some((now, now + nodes[at].1)));
        }
    }
    times.into_iter().flatten().collect()
}

proptest! {
    #[test]
    fn random_graphs_take_the_times_of_a_plain_model(
        nodes in prop::collection::vec(
            (0..3u8, 0..6u64, prop::collection::vec(any::<prop::sample::Index>(), 0..3)),
            0..24,
        ),
    ) {
        let waits_for: Vec<Vec<usize>> = nodes.iter().enumerate().map(|(at, (_, _, before))| {
            before.iter().filter(|_| at > 0).map(|index| index.index(at.max(1))).collect()
        }).collect();
        let trace: Vec<Node> = nodes.iter().enumerate().map(|(at, (stream, micros, _))| {
            let before: Vec<u64> = waits_for[at].iter().map(|&at| at as u64).collect();
            let node = compute(at as u64, *micros).after(&before);
            if *stream == 0 { on_cpu(node) } else { on_stream(node, i64::from(*stream)) }
        }).collect();
        let run = run_on(&[trace], STAR, "linear");
        let found: Vec<(u64, u64)> = run.times[0].iter().flatten()
            .map(|(begin, end)| (begin.as_ps() / US, end.as_ps() / US)).collect();
        prop_assert_eq!(found, plain(&nodes, &waits_for));
    }
}

//! GOAL's texts, run as graphs: ends by arithmetic, and sentences about what cannot end.

use convert::{LogGops, graph_of};
use goal::{Carrier, GoalRun, ReadyOrder, run};
use network::Machine;
use std::io::Cursor;

fn run_on(text: &str, carrier: impl FnOnce(u32) -> (Option<network::Built>, LogGops)) -> GoalRun {
    let graph = graph_of(Cursor::new(text.as_bytes())).unwrap_or_else(|why| panic!("{why}: {text}"));
    let (mut built, model) = carrier(graph.ranks);
    let carrier = built.as_mut().map_or_else(|| Carrier::loggops(&model), Carrier::machine);
    run(&graph, carrier, ReadyOrder::Gnu).unwrap()
}

fn on_model(text: &str, model: &str) -> GoalRun {
    run_on(text, |_| (None, model.parse().unwrap()))
}

fn on_machine(text: &str, machine: &str) -> GoalRun {
    run_on(text, |ranks| (Some(Machine::parse(machine).unwrap().build(ranks).unwrap()), LogGops::default()))
}

/// Ends of all ranks in nanoseconds, of a run without a sentence.
#[track_caller]
fn ends(run: &GoalRun) -> Vec<u64> {
    assert_eq!((&run.deadlock, &run.failure), (&None, &None));
    run.ends.iter().map(|end| end.end.as_ps() / 1000).collect()
}

const FREE: &str = "L=0,o=0,g=0,G=0";

#[test]
fn computations_of_several_processors_run_at_once() {
    let text = "num_ranks 2\nrank 0 {\na: calc 700 cpu 0\nb: calc 3000 cpu 1\nc: send 8b to 1 tag 2 cpu 0\n\
                d: calc 40 cpu 0\nc requires a\nd requires c\nd requires b\n}\n\
                rank 1 {\nr: recv 8b from 0 tag 2 cpu 0\nx: calc 900 cpu 1\ne: calc 50 cpu 0\n\
                e requires r\n}\n";
    assert_eq!(ends(&on_model(text, FREE)), [3040, 900]);
    assert_eq!(ends(&on_machine(text, "star:l=0,b=inf")), [3040, 900]);
    assert_eq!(ends(&on_machine(text, "star:l=500ns,b=inf")), [3040, 1750]);
}

#[test]
fn a_chain_over_processors_waits_for_the_end_of_each_link() {
    let text = "num_ranks 1\nrank 0 {\na: calc 10 cpu 3\nb: calc 20 cpu 1\nc: calc 30 cpu 2\n\
        d: calc 5 cpu 3\n\
                b requires a\nc requires b\n}\n";
    assert_eq!(ends(&on_model(text, FREE)), [60]);
    let one = text.replace("cpu 1", "").replace("cpu 2", "").replace("cpu 3", "");
    assert_eq!(ends(&on_model(&one, FREE)), [65]);
}

#[test]
fn irequires_begins_with_the_other_and_requires_behind_it() {
    let text = |word: &str| {
        format!(
            "num_ranks 1\nrank 0 {{\na: calc 10\nb: calc 100 cpu 1\nc: calc 7 cpu 2\nb requires a\n\
                c {word} b\n}}\n"
        )
    };
    let order = |text: &str| on_model(text, FREE).orders[0].clone();
    assert_eq!(ends(&on_model(&text("irequires"), FREE)), [110]);
    assert_eq!(order(&text("irequires")), [0, 1, 2]);
    assert_eq!(ends(&on_model(&text("requires"), FREE)), [117]);
    let longer = text("irequires").replace("calc 7", "calc 200");
    assert_eq!(ends(&on_model(&longer, FREE)), [210]);
}

#[test]
fn receives_on_two_processors_take_their_messages_at_once() {
    let text = |cpu: u32, nic: u32| {
        format!(
            "num_ranks 3\nrank 0 {{\na: recv 1b from 1 tag 0\n\
                b: recv 1b from 2 tag 0 cpu {cpu} nic {nic}\n}}\n\
             rank 1 {{\nsend 1b to 0 tag 0\n}}\nrank 2 {{\nsend 1b to 0 tag 0\n}}\n"
        )
    };
    // Both messages leave at 100 and arrive at 600.
    let model = "L=500,o=100,g=300,G=0";
    assert_eq!(ends(&on_model(&text(1, 1), model))[0], 700);
    assert_eq!(ends(&on_model(&text(1, 0), model))[0], 1000, "the interface takes one each 300 ns");
    assert_eq!(ends(&on_model(&text(0, 1), model))[0], 800, "the processor takes one each 100 ns");
}

#[test]
fn a_receive_posted_late_on_one_of_two_processors_takes_its_message_then() {
    let text = "num_ranks 2\nrank 0 {\na: calc 1000 cpu 1\nb: recv 1b from 1 cpu 1\nb requires a\n\
        c: calc 5 cpu 0\n\
                c requires b\n}\nrank 1 {\nsend 1b to 0\n}\n";
    assert_eq!(ends(&on_model(text, "L=50,o=100,g=0,G=0"))[0], 1105);
}

#[test]
fn a_send_waits_for_its_interface() {
    let text = |nic: u32| {
        format!(
            "num_ranks 2\nrank 0 {{\na: send 101b to 1 tag 0\nb: send 1b to 1 tag 1 nic {nic}\n\
                c: calc 1\nc requires b\n}}\n\
             rank 1 {{\nrecv 101b from 0 tag 0 nic 0\nrecv 1b from 0 tag 1 cpu 1 nic 1\n}}\n"
        )
    };
    // The first takes its interface for 50 + 100 * 2 ns, and the processor for 20.
    let model = "L=10,o=20,g=50,G=2";
    let same = on_model(&text(0), model);
    assert_eq!(ends(&same), [250 + 20 + 1, 250 + 20 + 10 + 20]);
    assert_eq!(ends(&on_model(&text(1), model)), [20 + 20 + 1, 30 + 20 + 200]);
}

#[test]
fn a_long_send_ends_when_its_receive_is_posted() {
    let text = |bytes: u64| {
        format!(
            "num_ranks 2\nrank 0 {{\na: send {bytes}b to 1\nb: calc 10\nb requires a\n}}\n\
             rank 1 {{\nc: calc 5000\nd: recv {bytes}b from 0\nd requires c\n}}\n"
        )
    };
    let model = "L=100,o=30,g=0,G=0,S=64";
    assert_eq!(ends(&on_model(&text(64), model)), [40, 5030]);
    // The computation begins first, so that the message takes the processor behind it and the receive.
    assert_eq!(ends(&on_model(&text(65), model)), [5010, 5030]);
    let machine = "star:l=50ns,b=inf/rank:o_send=30ns,o_recv=30ns,eager=64";
    assert_eq!(ends(&on_machine(&text(65), machine)), [5010, 5030]);
}

#[test]
fn the_order_of_operations_follows_the_machine() {
    // What comes first at rank 0 depends on the distance of ranks 1 and 2.
    let text = "num_ranks 3\nrank 0 {\na: recv 1b from 1\nb: recv 1b from 2\nc: calc 1000\nd: calc 10\n\
                c requires a\nd requires b\ne: send 1b to 1\ne requires d\n}\n\
                rank 1 {\ns: send 1b to 0\nr: recv 1b from 0\n}\nrank 2 {\ncalc 1000\ns: send 1b to 0\n}\n";
    let order = |machine: &str| on_machine(text, machine).orders[0].clone();
    assert_eq!(order("star:l=1us,b=inf"), [0, 1, 2, 3, 4]);
    let late = text.replace("calc 1000\ns:", "s:").replace("rank 1 {\n", "rank 1 {\nq: calc 600\n");
    let late = late.replace("s: send 1b to 0\nr:", "s: send 1b to 0\ns requires q\nr:");
    let run = on_machine(&late, "star:l=1us,b=inf");
    assert_eq!(run.orders[0], [0, 1, 3, 4, 2]);
    assert_eq!(ends(&run), [3600, 4010, 0]);
}

#[test]
fn packets_and_flows_carry_the_bytes() {
    let text = "num_ranks 3\nrank 0 {\nsend 1000b to 2 tag 0\n}\nrank 1 {\nsend 1000b to 2 tag 0\n}\n\
                rank 2 {\nrecv 1000b from 0 tag 0\nrecv 1000b from 1 tag 0\n}\n";
    let by_formula = ends(&on_machine(text, "star:4,l=100ns,b=1GB/s"))[2];
    assert_eq!(by_formula, 201 + 2 * 999);
    for level in ["packet", "flow"] {
        let machine = format!("star:l=100ns,b=1GB/s,level={level}/rank:o_recv=40ns");
        let end = ends(&on_machine(text, &machine))[2];
        // Both cross the last link, a microsecond each.
        assert!((2200..4500).contains(&end), "{level}: {end}");
    }
}

#[test]
fn a_deadlock_names_operations_by_rank_and_line() {
    let text = "num_ranks 3\nrank 0 {\na: recv 8b from 1 tag 4\nb: send 9b to 1\nb requires a\n}\n\
                rank 1 {\nc: recv 8b from 0 tag -1\nd: send 8b to 0 tag 4\nd requires c\n}\n";
    let why = on_model(text, FREE).deadlock.unwrap();
    let parts = [
        "2 of 3 ranks wait",
        "rank 0: recv 8b from 1 tag 4 (line 3)",
        "rank 1: recv 8b from 0 tag -1 (line 8)",
        "2 operations wait behind",
    ];
    parts.iter().for_each(|part| assert!(why.contains(part), "'{part}' is missing: {why}"));
    let long = "num_ranks 2\nrank 1 {\nsend 70000b to 0 tag 1\n}\n";
    let why = on_model(long, "S=65535").deadlock.unwrap();
    assert!(why.contains("rank 1: send 70000b to 0 tag 1 (line 3)"), "{why}");
    let why = on_model(long, "S=70000").failure.unwrap();
    assert!(why.contains("rank 1: send 70000b to 0 tag 1 (line 3) is never received"), "{why}");
}

#[test]
fn time_that_passes_its_end_is_a_sentence() {
    let text =
        "num_ranks 1\nrank 0 {\na: calc 18446744073709551\nb: calc 18446744073709551\nb requires a\n}\n";
    assert!(on_model(text, FREE).failure.unwrap().contains("213 days"));
}

//! The library against a model of the order rules, with programs of a few ranks drawn at random: what each
//! call answers and when, on one process and on several.

#[path = "orders/channels.rs"]
mod channels;
#[path = "orders/driver.rs"]
mod driver;
#[path = "orders/model.rs"]
mod model;
#[path = "orders/program.rs"]
mod program;

use engine::Span;
use model::Pace;
use mpi::wire::Wire;
use network::Machine;
use program::{Op, Outcome, Program, programs};
use proptest::prelude::*;

/// With lookahead and without; times that coincide, and long messages that arrive after later short ones.
const MACHINES: [&str; 4] = ["star:l=5ps,b=8Tbps", "star:l=0,b=8Tbps", "star:l=0,b=inf", "star:l=1us,b=inf"];

/// Returns what the model says, which must not depend on who runs first, nor on whether anybody runs ahead
/// where messages take time.
fn expected(program: &Program, machine: &str) -> Outcome {
    let ranks = program.len() as u32;
    let wire = Wire::new(Machine::parse(machine).unwrap().build(ranks).unwrap(), 1);
    let latency = |from, to, bytes| wire.latency(from, to, bytes).as_ps();
    let ascending: Vec<u32> = (0..ranks).collect();
    let descending: Vec<u32> = (0..ranks).rev().collect();
    let outcome = model::run(program, &latency, Pace::Ahead, &ascending);
    assert_eq!(
        model::run(program, &latency, Pace::Ahead, &descending),
        outcome,
        "the rules leave something open"
    );
    if wire.lookahead() != Span::ZERO {
        assert_eq!(
            model::run(program, &latency, Pace::Together, &ascending),
            outcome,
            "running ahead is seen"
        );
    }
    outcome
}

// No program here cancels: whether matches are held as if it could must not be seen.
fn agrees(program: &Program, machine: &str, processes: u32, cancels: bool) {
    let (expected, found) = (expected(program, machine), driver::run(program, (machine, cancels), processes));
    assert_eq!(found, expected, "{machine} on {processes} processes, matches held: {cancels}");
}

/// A rank that waits for the first of two goes on when that is there, after everything else that is decided
/// at that instant. The second's arrival may be known by then or not.
#[test]
fn an_answer_does_not_rest_on_what_arrives_later() {
    let message = |to, tag| Op::Send { to, tag, bytes: 0, synchronous: false };
    let (one, any) = (Op::Post { from: Some(1), tag: Some(0) }, Op::Post { from: None, tag: Some(1) });
    let waits =
        vec![one, one, any, Op::WaitAny(2), message(0, 1), Op::WaitAny(usize::MAX), Op::WaitAny(usize::MAX)];
    // Whoever sends the second may run ahead, or wait itself for something at that later time.
    for between in [vec![Op::Compute(1_000)], vec![Op::Compute(1_000), Op::Iprobe { from: None, tag: None }]]
    {
        let sends = [vec![message(0, 0)], between, vec![message(0, 0)]].concat();
        let program = vec![waits.clone(), sends, vec![message(0, 1)]];
        let machine = "star:l=5ps,b=inf";
        assert_eq!(
            expected(&program, machine)[0][5].seen,
            Some((2, 1)),
            "the rank's own message is sent after the other was met"
        );
        (1..=3).for_each(|processes| agrees(&program, machine, processes, false));
    }
}

/// Configures so many programs, or as many as `PROPTEST_CASES` says.
fn cases(number: u32) -> ProptestConfig {
    let unkept = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    if given { unkept } else { ProptestConfig { cases: number, ..unkept } }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn one_process_follows_the_rules(
        program in programs(2..=4, 8),
        machine in prop::sample::select(&MACHINES[..]),
        cancels in any::<bool>(),
    ) {
        agrees(&program, machine, 1, cancels);
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn several_processes_follow_the_rules(
        program in programs(2..=5, 8),
        machine in prop::sample::select(&MACHINES[..]),
        processes in 2..=4_u32,
        cancels in any::<bool>(),
    ) {
        agrees(&program, machine, processes.min(program.len() as u32), cancels);
    }
}

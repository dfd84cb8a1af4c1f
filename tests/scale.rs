//! Many ranks: right results, and memory that a rank may cost. 100,000 ranks; with LONG=1 in the environment
//! 1,000,000.

mod common;

use common::{Run, scratch};

fn ranks() -> u32 {
    if std::env::var_os("LONG").is_some_and(|value| value != "0") { 1_000_000 } else { 100_000 }
}

#[track_caller]
fn holds(case: &str) {
    let output = Run::program("scale.c").arg(case).ranks(ranks()).run().success();
    assert_eq!(output.stdout, "ok\n", "{output}");
}

#[test]
fn messages_go_round_a_ring_of_many_ranks() {
    holds("ring");
    holds("token");
}

#[test]
fn messages_to_random_ranks_arrive_among_many() {
    holds("random");
}

#[test]
fn a_stencil_of_many_ranks_knows_its_neighbours() {
    holds("stencil");
}

#[test]
fn collectives_of_many_ranks_give_their_results() {
    holds("allreduce");
    holds("going_on");
}

#[test]
fn a_communicator_of_many_ranks_splits() {
    holds("comm_split");
}

#[test]
fn a_master_serves_many_workers_as_they_come() {
    holds("master_worker");
}

/// The largest resident set of ranks that meet in a barrier: `programs/idle.c` with these definitions and
/// arguments.
fn memory_of(ranks: u32, definitions: &[&str], arguments: &[&str]) -> f64 {
    let program = common::compile("tests/programs/idle.c", definitions);
    let report =
        scratch(&format!("memory-{ranks}{}{}", definitions.concat(), arguments.concat())).join("report.json");
    let run = arguments.iter().fold(Run::of(program), |run, argument| run.arg(*argument));
    let run = run.ranks(ranks).arg("-xsim-stack-mode=shared").arg("-xsim-compute=none");
    let output = run.arg(format!("-xsim-report={}", report.display())).run().success();
    assert_eq!(output.stdout, "", "{output}");
    let text = std::fs::read_to_string(report).unwrap();
    let field = text.lines().find(|line| line.contains("peak_rss_bytes")).unwrap();
    field.split(':').nth(1).unwrap().trim().trim_end_matches(',').parse().unwrap()
}

#[test]
fn an_idle_rank_costs_a_hundred_bytes_and_its_stack_and_nothing_grows_faster_than_ranks() {
    let (one, thousand, million) =
        (memory_of(1, &[], &[]), memory_of(1000, &[], &[]), memory_of(1_000_000, &[], &[]));
    // Parked stacks are kept whole below 100,000 ranks, and in pages of 2 MiB.
    assert!(thousand - one < 8e6, "1000 ranks take {} bytes more than one", thousand - one);
    // Of a parked stack 32 to 48 bytes are kept.
    assert!((million - one) / 1e6 < 148.0, "a rank of a million takes {} bytes", (million - one) / 1e6);
}

#[test]
fn a_member_of_a_collective_that_it_waits_for_costs_little_more_than_its_stack() {
    let (ranks, least) = (200_000, 4.2e6);
    let plain = memory_of(ranks, &[], &[]);
    // An agent for each member takes 600 bytes and more.
    for (definition, most) in [("-DNONBLOCKING", 250.0), ("-DGATHERED", 300.0)] {
        let member = (memory_of(ranks, &[definition], &[]) - plain - least) / f64::from(ranks);
        assert!(member < most, "{definition}: a member takes {member} bytes more than in a barrier");
    }
}

#[test]
fn globals_that_nobody_writes_cost_nothing_and_a_written_number_little() {
    let (ranks, least) = (200_000, 2.1e6);
    let plain = memory_of(ranks, &[], &[]);
    // 4 KiB are compared, 1 MiB is watched: of each rank that would be 800 MB and 200 GB.
    for size in [4096, 1 << 20] {
        let definition = format!("-DUNUSED={size}");
        let copied = memory_of(ranks, &[&definition], &["-xsim-globals=copy"]);
        assert!(
            copied - plain < least + 2.0 * f64::from(size),
            "{size} unused bytes take {} for each rank",
            (copied - plain) / f64::from(ranks)
        );
    }
    let written = memory_of(ranks, &[], &["written"]);
    assert!(
        (written - plain - least) / f64::from(ranks) < 40.0,
        "a written number takes {} bytes",
        (written - plain) / f64::from(ranks)
    );
}

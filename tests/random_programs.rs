//! Random programs (tests/programs/random_program.c) give the same output and the same simulated report,
//! however they are run: executors, stacks and globals are the simulator's own business.

mod common;

use common::{Run, compile, scratch};
use std::path::PathBuf;

const PHASES: &str = "30";

/// Returns what must not differ: the ranks' lines, and the part of the report about the simulated machine.
fn outcome(
    program: PathBuf,
    seed: u64,
    ranks: u32,
    machine: &str,
    options: &[&str],
) -> (Vec<String>, String) {
    let report =
        scratch(&format!("random-{seed}-{ranks}-{}", options.join("")).replace('/', "")).join("report.json");
    let mut run = Run::of(program).arg(seed.to_string()).arg(PHASES).ranks(ranks).machine(machine);
    for option in options {
        run = run.arg(*option);
    }
    let output = run.arg(format!("-xsim-report={}", report.display())).run().success();
    let lines: Vec<String> = output.lines().into_iter().map(str::to_owned).collect();
    assert_eq!(lines.len(), ranks as usize, "{output}");
    let text = std::fs::read_to_string(&report).unwrap();
    let simulated = text.split("\"host\": {").next().unwrap().to_owned();
    (lines, simulated)
}

fn program(large: bool) -> PathBuf {
    compile("tests/programs/random_program.c", if large { &["-DLARGE"] } else { &[] })
}

#[track_caller]
fn same(seeds: std::ops::Range<u64>, ranks: &[u32], machine: &str, large: bool, ways: &[&[&str]]) {
    for seed in seeds {
        for &ranks in ranks {
            let first = outcome(program(large), seed, ranks, machine, ways[0]);
            for way in &ways[1..] {
                let other = outcome(program(large), seed, ranks, machine, way);
                assert_eq!(
                    first, other,
                    "seed {seed}, {ranks} ranks on {machine}: {:?} differs from {way:?}",
                    ways[0]
                );
            }
        }
    }
}

const ON: &str = "-xsim-coll-events=on";
const OFF: &str = "-xsim-coll-events=off";
const OWN: &str = "-xsim-stack-mode=own";
const SHARED: &str = "-xsim-stack-mode=shared";
const COPY: &str = "-xsim-globals=copy";
const CLONE: &str = "-xsim-globals=clone";

#[test]
fn executors_stacks_and_globals_change_nothing() {
    let ways: &[&[&str]] = &[
        &[ON, OWN, COPY],
        &[OFF, OWN, COPY],
        &[OFF, SHARED, COPY],
        &[OFF, SHARED, CLONE],
        &[ON, SHARED, CLONE],
    ];
    same(0..12, &[2, 5, 16], "star:l=0.5us,b=100Gbps", false, ways);
}

#[test]
fn neither_do_they_with_much_data() {
    same(
        100..104,
        &[9],
        "star:l=0.5us,b=100Gbps",
        true,
        &[&[ON, OWN, CLONE], &[OFF, OWN, COPY], &[OFF, SHARED, COPY], &[OFF, SHARED, CLONE]],
    );
}

#[test]
fn neither_do_they_where_messages_cost_their_ranks_time() {
    for machine in [
        "star:l=0.5us,b=100Gbps/rank:o_send=0.3us,o_recv=0.2us",
        "star:l=0.5us,b=100Gbps/rank:reduce=1GB/s,copy=20ns@4GB/s",
        "torus:4x4,l=1us,b=8Gbps/rank:o_send=0.4us,o_recv=0.3us,eager=1000",
    ] {
        for table in ["-xsim-coll=mpich", "-xsim-coll=linear"] {
            same(300..304, &[5, 16], machine, false, &[&[ON, OWN, table], &[OFF, SHARED, table]]);
        }
    }
}

#[test]
fn neither_do_they_on_any_machine_or_with_any_table() {
    for (machine, seeds) in [
        ("torus:4x4,l=1us,b=8Gbps", 200..204),
        ("none", 210..213),
        ("star:4,l=1us,b=10Gbps/star:4,l=100ns,b=100Gbps", 220..224),
        ("torus:4x4,l=20ns,b=1Gbps,flowmin=0,level=flow", 230..232),
    ] {
        for table in ["-xsim-coll=mpich", "-xsim-coll=openmpi", "-xsim-coll=linear"] {
            same(seeds.clone(), &[13, 16], machine, false, &[&[ON, OWN, table], &[OFF, SHARED, table]]);
        }
    }
}

#[test]
fn neither_do_they_with_compositions_on_nodes_whose_reductions_take_time() {
    let machine =
        "star:l=1us,b=10Gbps/star:4,l=100ns,b=100Gbps/rank:o_recv=0.1us,reduce=1GB/s,copy=20ns@4GB/s";
    for (table, seed) in
        [("mpich-3.2", 240), ("mpich-3.3", 242), ("mpich-4", 244), ("openmpi-3.1", 246), ("openmpi-5", 248)]
    {
        let table = format!("-xsim-coll={table}");
        same(seed..seed + 2, &[13, 16], machine, false, &[&[ON, OWN, &table], &[OFF, SHARED, &table]]);
    }
}

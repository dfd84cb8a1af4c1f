//! Networks of packets and flows with ranks on several native processes: one process has the network, and all
//! of them give what one gives.

mod common;

use common::same::same;
use common::{Output, Run, compile, scratch};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

const MPICH: &str = "mpich";
const MACHINES: [&str; 8] = [
    "torus:4x4,l=20ns,level=packet",
    "fattree:m=8,n=3,l=10ns,b=100Gbps,router=90ns,level=packet",
    // Nodes with a formula inside them, and overheads.
    "star:n=8,l=10ns,b=100Gbps,router=90ns,level=packet/star:4,l=1us,b=100Gbps/rank:o_send=0.4us,\
     o_recv=0.3us",
    // No latency at all but that of routers and packets.
    "star:n=32,l=0ns,b=1Gbps,router=0ns,level=packet",
    // Flows: all messages are some, and short ones are none.
    "fattree:m=8,n=3,l=10ns,b=1Gbps,flowmin=0,level=flow",
    "dragonfly:p=2,a=4,h=2,l=20ns,b=1Gbps,routing=valiant,flowmin=64,level=flow/star:4,l=1us,b=10Gbps",
    // Nodes with several interfaces.
    "taperedtree:down=16x2,up=16,l=10ns,b=10Gbps,level=packet,nics=4,rail=stripe/star:4,l=0.1us",
    "taperedtree:down=16x2,up=16,l=10ns,b=1Gbps,level=flow,nics=4,rail=peer,wired=4/star:4,l=0.1us",
];

/// A directory of its own for each call.
fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("packet-native-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

#[test]
fn examples_give_the_same_bytes_on_any_number_of_processes() {
    for (name, ranks) in
        [("hello", 9), ("ring", 16), ("pingpong", 2), ("random", 16), ("stencil3d", 8), ("incast", 16)]
    {
        let program = compile(&format!("examples/c/{name}.c"), &[]);
        // The largest messages of a ping-pong are thousands of packets each.
        let run = |machine: &'static str| {
            let run = Run::of(program.clone()).ranks(ranks).machine(machine);
            if name == "pingpong" { run.arg("10") } else { run }
        };
        same(|| run(MACHINES[0]), MPICH, &[2, 3, 4]);
        same(|| run(MACHINES[2]), MPICH, &[2]);
        same(|| run(MACHINES[4]), MPICH, &[2, 4]);
    }
}

#[test]
fn programs_with_every_collective_do() {
    for (seed, machine) in (60..).zip(MACHINES) {
        same(
            || Run::program("random_program.c").ranks(13).arg(seed.to_string()).arg("12").machine(machine),
            MPICH,
            &[2, 3, 4],
        );
        same(|| Run::program("mixture.c").ranks(7).arg(seed.to_string()).machine(machine), MPICH, &[2, 4]);
    }
}

/// Receives for any source, probes, tests, waits for any, synchronous sends: all that depends on who comes
/// first.
#[test]
fn programs_whose_ranks_depend_on_each_other_do() {
    for (seed, (machine, ranks)) in (70..).zip(MACHINES.iter().zip([9, 6, 15, 4, 9, 12])) {
        for compute in ["none", "fixed:1us"] {
            let run = || {
                Run::program("random_orders.c").ranks(ranks).arg(seed.to_string()).arg("4").machine(machine)
            };
            same(|| run().variable("XSIM_COMPUTE", compute), MPICH, &[2, 3, 4]);
        }
    }
}

/// Messages that leave at the instant of a decision are one set, whoever drives the network: on a process
/// that has the network they must not leave before the decision.
#[test]
fn what_leaves_when_a_receive_is_decided_waits_for_the_decision() {
    let machine = "fattree:m=4,n=2,l=10ns,level=packet/star:4,l=1us,b=1Gbps/rank:eager=0";
    let run = || {
        let run = Run::program("random_orders.c").ranks(7).machine(machine);
        run.arg("934525").arg("4").arg("9").arg("20").variable("XSIM_COMPUTE", "none")
    };
    same(run, MPICH, &[2, 3]);
}

#[test]
fn open_mpi_carries_it_as_mpich_does() {
    same(
        || Run::program("random_program.c").ranks(9).arg("65").arg("12").machine(MACHINES[0]),
        "openmpi",
        &[2],
    );
}

#[test]
fn profile_and_critical_path_tell_the_same() {
    for machine in [MACHINES[0], MACHINES[2]] {
        let run = || {
            Run::program("mixture.c")
                .ranks(8)
                .arg("5")
                .machine(machine)
                .variable("XSIM_COMPUTE", "fixed:100ns")
        };
        same(|| run().arg("-xsim-profile").arg("-xsim-critical-path"), MPICH, &[2, 3]);
    }
}

#[track_caller]
fn holds(program: &str, case: &str, ranks: u32, all: u32) {
    // Stars: some cases say who is first where all are equally far apart.
    for machine in ["star:l=1us,b=1Gbps,level=packet", MACHINES[3]] {
        for processes in [2, 3] {
            let mut run = Run::program(program).arg(case).ranks(ranks).machine(machine);
            if program == "files.c" {
                run = run.arg(directory().join("data").to_str().unwrap());
            }
            run.variable("XSIM_UNIVERSE", &all.to_string()).processes(MPICH, processes).run().ok(all);
        }
    }
}

#[test]
fn windows_work_over_a_network_of_another_process() {
    for case in
        ["fences", "datatypes", "groups", "exclusive", "atomics", "requests", "dynamic", "objects", "flags"]
    {
        holds("rma.c", case, 7, 7);
    }
}

#[test]
fn random_accesses_to_windows_give_the_same_bytes() {
    for (seed, machine) in (80..).zip(MACHINES) {
        same(
            || Run::program("rma_random.c").ranks(6).arg(seed.to_string()).machine(machine),
            MPICH,
            &[2, 3, 4],
        );
    }
}

#[test]
fn files_partitions_ports_and_children_do() {
    for case in ["offsets", "views", "shared", "records", "requests", "atomic"] {
        holds("files.c", case, 7, 7);
    }
    for case in ["partitions", "ranges_and_lists", "order", "ahead", "partners"] {
        holds("partitioned.c", case, 7, 7);
    }
    for case in ["halves", "queue", "around"] {
        holds("ports.c", case, 7, 7);
    }
    holds("spawn.c", "workers", 4, 12);
    holds("spawn.c", "generations", 4, 8);
}

/// Returns what was said, but for what the host has to do with it.
fn said(output: &Output) -> Vec<&str> {
    let mut lines: Vec<_> = output.stderr.lines().filter(|line| line.starts_with("xsim: ")).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn what_ends_a_run_is_told_as_by_one_process() {
    let run = |case: &str, machine: &str| Run::program("faults.c").ranks(9).arg(case).machine(machine);
    for case in ["deadlock", "abort"] {
        let one = run(case, MACHINES[0]).run().failure();
        let several = run(case, MACHINES[0]).processes(MPICH, 3).run().failure();
        assert_eq!((said(&one), one.status.code()), (said(&several), several.status.code()), "{case}");
    }
    let fails = || {
        Run::of(compile("examples/c/stencil3d.c", &[]))
            .ranks(8)
            .machine(MACHINES[0])
            .arg("4")
            .arg("30")
            .arg("-xsim-fail=3@5us")
    };
    let (one, several) = (fails().run().failure(), fails().processes(MPICH, 3).run().failure());
    assert_eq!((said(&one), one.status.code()), (said(&several), Some(75)));
    // The network says itself why it goes on no more, wherever it is.
    let slow = || {
        Run::of(compile("examples/c/pingpong.c", &[]))
            .ranks(16)
            .machine("star:n=16,b=1bps,level=packet")
            .arg("2")
    };
    slow()
        .processes(MPICH, 2)
        .run()
        .failure()
        .says(&["still under way in the network; raise its bandwidth b"]);
}

#[test]
fn the_network_is_reported_as_by_one_process() {
    let report = |processes: Option<u32>| {
        let path = directory().join("net.json");
        let run =
            Run::of(compile("examples/c/stencil3d.c", &[])).ranks(16).machine(MACHINES[1]).arg("4").arg("3");
        let run = run.arg(format!("-xsim-network-report={}", path.display())).one_process();
        let run = match processes {
            Some(count) => run.processes(MPICH, count),
            None => run,
        };
        run.run().success();
        std::fs::read_to_string(path).unwrap()
    };
    assert_eq!(report(Some(4)), report(None));
}

/// A receive may be cancelled while its message is on its way: whether it has one already depends on who ran
/// first, and when that arrives does not.
#[test]
fn a_receive_gives_back_what_the_network_has_not_delivered() {
    let machine = "star:n=8,l=10ns,b=100Gbps,router=90ns,level=packet/star:4,l=1us,b=100Gbps";
    let run =
        || Run::program("random_orders.c").arg("16807160").arg("4").arg("127").ranks(2).machine(machine);
    same(|| run().variable("XSIM_COMPUTE", "fixed:1us").arg("-xsim-coll=openmpi"), MPICH, &[2]);
}

//! Messages above an eager limit on networks that messages share: packets, flows, nodes.

mod common;

use common::networks::number;
use common::same::same;
use common::{Output, Run};

const MPICH: &str = "mpich";
/// Two links of a microsecond each, and 100 ps a byte, in picoseconds.
const FORMULA: &str = "star:l=1us,b=80Gbps";
const PATH: u64 = 2_000_000;
const BYTE: u64 = 100;
/// The same with flows, with nodes of one rank that share nothing, and with packets.
const FLOWS: &str = "star:n=8,l=1us,b=80Gbps,router=0ns,level=flow";
const NODES: &str = "star:l=1us,b=80Gbps,nic=80Gbps";
const PACKETS: &str = "star:n=8,l=1us,b=80Gbps,router=0ns,level=packet";
/// The time of a whole packet on a link, by which packets follow their message's last bit through the switch.
const PACKET: u64 = 4096 * BYTE;

fn run(case: &str, ranks: u32, machine: &str, limit: u64, (bytes, late): (u64, u64)) -> Run {
    let run = Run::program("eager_limit.c").ranks(ranks).machine(&format!("{machine}/rank:eager={limit}"));
    let run = run.arg(case).arg(bytes.to_string()).arg(late.to_string());
    run.variable("XSIM_COMPUTE", "none")
}

/// Returns the number behind `name` in what the ranks print.
fn printed(output: &Output, name: &str) -> u64 {
    number(output, name) as u64
}

#[test]
fn a_message_alone_takes_what_the_formula_takes_with_the_same_limit() {
    let took = |machine: &str, bytes: u64, late: u64| {
        let output = run("alone", 2, machine, 1_000, (bytes, late)).run().success();
        (printed(&output, "sent "), printed(&output, "received "))
    };
    for bytes in [1_000, 1_001, 10_000, 1_000_000] {
        for late in [0, 1_000, 500_000] {
            let formula = took(FORMULA, bytes, late);
            let posted = late * 1_000;
            let expected = if bytes <= 1_000 {
                (0, posted.max(PATH + bytes * BYTE))
            } else {
                (posted.max(PATH) + PATH, posted.max(PATH) + 2 * PATH + bytes * BYTE)
            };
            assert_eq!(formula, expected, "{bytes} bytes, {late} ns");
            for machine in [FLOWS, NODES] {
                assert_eq!(took(machine, bytes, late), formula, "{machine}: {bytes} bytes, {late} ns");
            }
            // A packet waits for its whole in the switch; an empty one has a byte on each of two links.
            let packets = took(PACKETS, bytes, late);
            let (sent, received) = (packets.0 - formula.0, packets.1 - formula.1);
            assert!(
                sent <= 4 * BYTE && received <= PACKET + 4 * BYTE,
                "{bytes} bytes, {late} ns: {packets:?} instead of {formula:?}"
            );
        }
    }
}

#[test]
fn a_payload_takes_no_capacity_before_its_receive_is_posted() {
    let took = |machine: &str, late: u64| {
        let output = run("beside", 3, machine, 500_000, (1_000_000, late)).run().success();
        (printed(&output, "received 1 "), printed(&output, "received 2 "))
    };
    let alone = PATH + 250_000 * BYTE;
    // Packets of a request or clear to send have a byte.
    for (machine, more) in [(FLOWS, 0), (NODES, 0), (PACKETS, PACKET + 4 * BYTE)] {
        let (beside, last) = took(machine, 1_000_000);
        assert!((alone..=alone + more).contains(&beside), "{machine}: {beside} instead of {alone}");
        let posted = 1_000_000_000 + 2 * PATH + 1_000_000 * BYTE;
        assert!((posted..=posted + more).contains(&last), "{machine}: {last} instead of {posted}");
        // With the receive there the payload leaves meanwhile, and both share the sender's link.
        let (beside, _) = took(machine, 0);
        assert!(beside > alone + 20_000_000, "{machine}: {beside} beside a payload under way");
    }
}

#[test]
fn every_kind_of_send_and_receive_gives_the_same_bytes_on_any_number_of_processes() {
    let nodes = "star:l=1us,b=80Gbps,nic=80Gbps,o=0.2us/star:2,l=100ns,b=100Gbps,mem=20GB/s";
    for machine in [FLOWS, NODES, nodes, PACKETS] {
        for (limit, bytes, late) in [(0, 8, 1_000), (7_000, 10_000, 20_000)] {
            same(|| run("kinds", 6, machine, limit, (bytes, late)), MPICH, &[2, 4]);
        }
    }
}

#[test]
fn programs_whose_ranks_depend_on_each_other_give_the_same_bytes_with_a_limit() {
    for (seed, machine) in (50..).zip([FLOWS, NODES, PACKETS]) {
        for limit in [0, 1_000] {
            let machine = format!("{machine}/rank:eager={limit}");
            let run = || {
                let run = Run::program("random_orders.c").ranks(7).machine(&machine);
                run.arg(seed.to_string()).arg("4").variable("XSIM_COMPUTE", "none")
            };
            same(run, MPICH, &[2, 4]);
        }
    }
}

#[test]
fn a_ring_of_sends_above_the_limit_is_a_deadlock_as_by_formula() {
    let says = |machine: &str, processes: u32| {
        let run = Run::program("deadlocks.c").ranks(4).machine(&format!("{machine}/rank:eager=64KiB"));
        let run = if processes > 1 { run.processes(MPICH, processes) } else { run.one_process() };
        let output = run.arg("sends").run().failure();
        let mut lines: Vec<String> =
            output.stderr.lines().filter(|line| line.contains("rank")).map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let formula = says(FORMULA, 1);
    let above = "3 ranks in MPI_Send(destination=rank+1, tag=3; a standard send above the eager limit";
    assert!(formula.iter().any(|line| line.contains(above)), "{formula:#?}");
    for machine in [FLOWS, NODES, PACKETS] {
        for processes in [1, 3] {
            assert_eq!(says(machine, processes), formula, "{machine} on {processes} processes");
        }
    }
}

#[test]
fn profile_and_critical_path_are_the_same_on_any_number_of_processes() {
    for machine in [PACKETS, NODES] {
        let run = || {
            let run = Run::program("mixture.c").ranks(8).arg("5").machine(&format!("{machine}/rank:eager=0"));
            let run = run.variable("XSIM_COMPUTE", "fixed:100ns");
            run.arg("-xsim-profile").arg("-xsim-critical-path")
        };
        same(run, MPICH, &[2, 3]);
    }
}

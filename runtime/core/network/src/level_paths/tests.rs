//! Tests of shared interfaces and memory: alone as the formula has it, together in their shares.

use crate::nodes::tests::{arrivals, machine};
use crate::{Endpoint, Machine};
use engine::Time;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

/// Returns when messages `(source, destination, bytes)` arrive that are all sent at time 0, in nanoseconds.
fn together(specification: &str, ranks: u32, messages: &[(u32, u32, u64)]) -> Vec<u64> {
    let messages: Vec<_> = messages.iter().map(|&(from, to, bytes)| (Time::ZERO, from, to, bytes)).collect();
    let arrivals = arrivals(&mut *machine(specification, ranks), &messages);
    arrivals.iter().map(|at| at.as_ps().div_ceil(1000)).collect()
}

#[test]
fn ranks_of_a_node_share_its_interface() {
    // 1 MiB at 8 GB/s takes 131,072 ns, and the latency is 2 us.
    let star = "star:l=1us,b=64Gbps,nic=64Gbps/star:4,l=0,b=inf";
    let one = 131_072;
    assert_eq!(together(star, 16, &[(0, 4, MIB)]), [2_000 + one]);
    assert_eq!(together(star, 16, &[(0, 4, MIB), (1, 8, MIB)]), [2_000 + 2 * one; 2], "out");
    assert_eq!(together(star, 16, &[(4, 0, MIB), (8, 1, MIB), (12, 2, MIB)]), [2_000 + 3 * one; 3], "in");
    assert_eq!(together(star, 16, &[(0, 4, MIB), (4, 0, MIB)]), [2_000 + one; 2], "out and in are apart");
    assert_eq!(together(star, 16, &[(0, 1, MIB), (2, 3, MIB)]), [0; 2], "inside a node nothing is shared");
}

#[test]
fn a_link_narrower_than_the_interface_bounds_each_message() {
    let star = "star:l=1us,b=32Gbps,nic=64Gbps/star:4,l=0,b=inf";
    let one = 262_144;
    assert_eq!(together(star, 8, &[(0, 4, MIB), (1, 5, MIB)]), [2_000 + one; 2]);
    assert_eq!(
        together(star, 16, &[(0, 4, MIB), (1, 8, MIB), (2, 12, MIB), (3, 13, MIB)])[0],
        2_000 + 2 * one
    );
}

#[test]
fn several_interfaces_are_taken_by_their_rule() {
    let star = |rail: &str| format!("star:l=1us,b=inf,nic=64Gbps,nics=2{rail}/star:4,l=0,b=inf");
    let one = 131_072;
    let pairs = [(0, 4, MIB), (2, 6, MIB), (1, 5, MIB)];
    assert_eq!(together(&star(""), 8, &pairs), [2_000 + 2 * one, 2_000 + 2 * one, 2_000 + one], "rank");
    assert_eq!(together(&star(",rail=stripe"), 8, &pairs), [2_000 + one * 3 / 2; 3], "stripe");
    let pairs = [(0, 4, MIB), (1, 4, MIB), (2, 4, MIB)];
    assert_eq!(together(&star(",rail=peer"), 8, &pairs), [2_000 + 2 * one, 2_000 + one, 2_000 + 2 * one]);
}

#[test]
fn copies_inside_a_node_share_its_memory() {
    // A copy reads and writes: 32 GB/s move 16 GB/s of a message.
    let star = "star:l=1us,b=64Gbps/star:4,l=0,b=inf,mem=32GB/s";
    let one = 65_536;
    assert_eq!(together(star, 8, &[(0, 1, MIB)]), [one]);
    assert_eq!(together(star, 8, &[(0, 1, MIB), (2, 3, MIB), (4, 5, MIB)]), [2 * one, 2 * one, one]);
    let twice = "star:l=1us,b=64Gbps/star:4,l=0,b=inf,mem=32GB/s,copies=2";
    assert_eq!(together(twice, 8, &[(0, 1, MIB)]), [2 * one]);
    assert_eq!(together(star, 8, &[(0, 4, MIB), (1, 5, MIB)]), [2_000 + 131_072; 2], "others by formula");
}

#[test]
fn an_interface_takes_so_many_messages_a_second() {
    let star = "star:l=1us,b=inf,rate=10M/star:4,l=0,b=inf";
    let messages: Vec<_> = (0..5).map(|rank| (rank % 4, 4 + rank % 4, 8)).collect();
    assert_eq!(together(star, 8, &messages), [2_000, 2_100, 2_200, 2_300, 2_400]);
}

#[test]
fn memory_is_shared_inside_the_nodes_of_a_packet_network() {
    for level in ["packet", "flow"] {
        let nodes = format!("star:n=2,l=1us,b=64Gbps,level={level}/star:4,l=0,b=inf,mem=32GB/s");
        assert_eq!(together(&nodes, 8, &[(0, 1, MIB), (2, 3, MIB), (4, 5, MIB)]), [131_072, 131_072, 65_536]);
    }
}

#[test]
fn a_delay_adds_to_what_the_network_takes() {
    let plain = "star:n=4,l=1us,b=64Gbps,level=flow";
    let delayed = "star:n=4,l=1us,b=64Gbps,level=flow,delay=1us;64KiB:5us";
    for (bytes, delay) in [(0, 1000), (65_535, 1000), (MIB, 5000)] {
        let message = [(0, 1, bytes)];
        assert_eq!(together(delayed, 4, &message)[0], together(plain, 4, &message)[0] + delay, "{bytes}");
    }
}

#[test]
fn the_library_of_a_rank_serves_one_message_at_a_time() {
    let star = "star:l=1us,b=inf,o=300ns/star:4,l=0,b=inf,o=100ns;1KiB:200ns";
    assert_eq!(together(star, 8, &[(0, 4, 8)]), [2_600], "twice between nodes");
    assert_eq!(together(star, 8, &[(0, 1, 8), (2, 3, 1024)]), [200, 400], "by level and size");
    assert_eq!(together(star, 8, &[(0, 4, 8), (0, 5, 8), (0, 6, 8)]), [2_600, 2_900, 3_200], "sends");
    assert_eq!(together(star, 8, &[(0, 4, 8), (1, 4, 8), (2, 4, 8)]), [2_600, 2_900, 3_200], "receives");
    // The first to arrive waits until its receiver's library has sent.
    assert_eq!(together(star, 8, &[(0, 1, 8), (1, 4, 8)]), [400, 2_600], "both");
    assert_eq!(together(star, 8, &[(0, 0, 1 << 20)]), [0], "a message to the own rank takes no library");
}

#[test]
fn a_library_sends_before_it_receives_what_waits() {
    let mut network = machine("star:l=1us,b=inf,o=300ns/star:4,l=0,b=inf,o=100ns", 8);
    let at = |ns| Time::ZERO + engine::Span::from_ns(ns);
    // Three messages are at rank 1 at 100 ns. It sends when the first is through, and again 50 ns later.
    let messages =
        [(at(0), 0, 1, 8), (at(0), 2, 1, 8), (at(0), 3, 1, 8), (at(200), 1, 0, 8), (at(250), 1, 2, 8)];
    let arrivals = arrivals(&mut *network, &messages);
    assert_eq!(arrivals, [200, 500, 600, 400, 500].map(at));
}

#[test]
fn packets_and_flows_have_libraries_too() {
    for level in ["packet", "flow"] {
        let plain = format!("star:n=2,l=1us,b=64Gbps,level={level}/star:2,l=0,b=inf");
        let served = format!("star:n=2,l=1us,b=64Gbps,level={level},o=300ns/star:2,l=0,b=inf,o=100ns");
        let messages = [(0, 1, 64), (0, 2, 4096)];
        let (plain, served) = (together(&plain, 4, &messages), together(&served, 4, &messages));
        assert_eq!(served, [plain[0] + 200, plain[1] + 100 + 600], "{level}");
    }
}

#[test]
fn messages_inside_a_node_pass_its_interface_at_the_rate_of_its_loopback() {
    let star = "star:l=1us,b=64Gbps,nic=64Gbps,loopback=128Gbps,memmin=16KiB/star:4,l=0,b=inf";
    assert_eq!(together(star, 8, &[(0, 1, MIB)]), [65_536]);
    assert_eq!(together(star, 8, &[(0, 1, MIB), (2, 3, MIB)]), [131_072; 2], "one interface");
    assert_eq!(together(star, 8, &[(0, 1, MIB), (2, 4, MIB)])[0], 131_072, "half of it each");
    assert_eq!(together(star, 8, &[(0, 1, 16_383)]), [0], "shorter messages do not pass it");
}

#[test]
fn an_interface_takes_time_for_each_message_beside_its_bytes() {
    let star = "star:l=1us,b=inf,nic=8Gbps,nicgap=100ns;1KiB:1us/star:4,l=0,b=inf";
    assert_eq!(together(star, 8, &[(0, 4, 8), (1, 5, 8), (2, 6, 8)]), [2_008, 2_116, 2_224]);
}

#[test]
fn settings_that_cannot_be_say_why() {
    for (specification, why) in [
        ("star:l=1us/star:4,nic=1GB/s", "'nic' is for the outermost level"),
        ("star:rail=peer", "rail=... needs several interfaces"),
        ("star:nics=2,rail=left", "rail=left is none of rank, socket, peer and stripe"),
        ("star:copies=2", "copies=... needs mem="),
        ("star:memmin=2", "memmin=... needs mem=... or loopback="),
        ("star:mem=1GB/s,loopback=1GB/s", "exclude each other"),
        ("star:4/star:4,loopback=1GB/s", "'loopback' is for the outermost level"),
        ("star:o=1us;1us", "lacks the bytes"),
        ("star:flowmin=1KiB", "flowmin=... needs something that flows share"),
        ("star:nic=inf", "nic=inf is shared by nobody"),
        ("star:nic=0Gbps", "zero bandwidth"),
        ("star:rate=0", "not a number of messages a second"),
        ("star:rate=1e300", "not a number of messages a second"),
        ("star:nics=0", "nics=0 is not a number from 1 to 64"),
        ("star:delay=fast", "'fast' is not a length of time"),
        ("star:mem=1GB/s,mem=2GB/s", "'mem' is given twice"),
        ("none:delay=1us", "'delay' is not an option of 'none'"),
        ("star:n=4,level=packet/star:2,rate=5M", "'rate' is for the outermost level"),
    ] {
        let error = Machine::parse(specification).unwrap_err().to_string();
        assert!(error.contains(why), "{specification}: {error}");
    }
}

#[test]
fn a_loopback_needs_an_interface_whose_bytes_take_time() {
    let machine = Machine::parse("star:b=inf,loopback=1GB/s/star:4").unwrap();
    let error = machine.build(8).map(|built| built.specification).unwrap_err().to_string();
    assert!(error.contains("add nic="), "{error}");
}

#[test]
fn specifications_print_what_they_read() {
    let text = concat!(
        "star:4,l=1us,b=100Gbps,o=100ns,delay=200ns;1024:500ns@160Gbps,nicgap=10ns,nic=100Gbps,",
        "ejection=90Gbps,rate=50000000,nics=2,rail=peer,flowmin=1024",
        "/star:8,l=100ns,b=80Gbps,o=50ns,mem=1.6Tbps,memmin=4096,copies=2",
    );
    let machine = Machine::parse(text).unwrap();
    assert_eq!(machine.to_string(), text);
    assert_eq!(Machine::parse(&machine.to_string()).unwrap().network, machine.network);
}

proptest! {
    /// A part that no other message uses takes the time of the formula.
    #[test]
    fn a_message_alone_takes_the_formulas_time(
        outer in prop_oneof![Just("star:3"), Just("ring:3"), Just("mesh:3x1")],
        inner in prop_oneof![Just("star:4"), Just("mesh:2x2/star:2"), Just("tree:4")],
        delay in prop_oneof![Just(""), Just(",delay=1us;4KiB:3us@10GB/s")],
        bytes in prop_oneof![0u64..10_000, 0u64..1 << 24],
        pick: (u32, u32),
    ) {
        let formula = format!("{outer},l=1us,b=80Gbps{delay}/{inner},l=100ns,b=40Gbps");
        let shared = format!("{outer},l=1us,b=80Gbps,nic=80Gbps{delay}/{inner},l=100ns,b=40Gbps,mem=1TB/s");
        let built = Machine::parse(&formula).unwrap().build(12).unwrap().network;
        let endpoints = built.endpoints() as u32;
        let (from, to) = (pick.0 % endpoints, pick.1 % endpoints);
        let expected = built.formula().unwrap().latency(Endpoint(from), Endpoint(to), bytes).as_ps();
        let found = arrivals(&mut *machine(&shared, 12), &[(Time::ZERO, from, to, bytes)])[0].as_ps();
        // Rates are rounded down to a unit, of which the greatest has 2^57.
        prop_assert!(found.abs_diff(expected) <= 2, "{shared}: {found} and not {expected}");
    }

    #[test]
    fn no_message_arrives_before_the_formula_has_it(
        messages in prop::collection::vec((0u64..5_000_000, 0u32..12, 0u32..12, 0u64..100_000), 1..40),
    ) {
        let formula = "star:3,l=1us,b=80Gbps/star:4,l=100ns,b=40Gbps";
        let shared = "star:3,l=1us,b=80Gbps,nic=80Gbps,rate=20M/star:4,l=100ns,b=40Gbps,mem=20GB/s";
        let built = Machine::parse(formula).unwrap().build(12).unwrap().network;
        let timed = |(at, from, to, bytes)| (Time::from_ps(at), from, to, bytes);
        let mut messages: Vec<_> = messages.into_iter().map(timed).collect();
        messages.sort();
        let found = arrivals(&mut *machine(shared, 12), &messages);
        for (&(at, from, to, bytes), arrival) in messages.iter().zip(found) {
            let alone = built.formula().unwrap().latency(Endpoint(from), Endpoint(to), bytes);
            prop_assert!(arrival.as_ps() + 2 >= (at + alone).as_ps());
        }
    }
}

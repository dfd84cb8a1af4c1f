//! Without other traffic a message takes the time of the closed form, to the picosecond.

use super::{SMALL, distances, network, routings};
use crate::message::{Endpoint, Message};
use crate::model::Shared;
use crate::topology::{Cabling, Neighbor};
use engine::Time;

/// D/B in picoseconds at 100 Gbps.
const fn serialization(bytes: u64) -> u64 {
    bytes * 80
}

/// Sends one message and returns its time, with the network empty before and after.
fn time(network: &mut dyn Shared, start: u64, source: u32, destination: u32, bytes: u64) -> u64 {
    let message =
        Message { source: Endpoint(source), destination: Endpoint(destination), bytes, id: 7, class: 0 };
    assert_eq!(network.send(Time::from_ps(start), &message), None);
    let mut delivered = Vec::new();
    while network.advance_to_delivery(Time::MAX, &mut delivered) {}
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0].id, 7);
    delivered[0].at.as_ps() - start
}

/// Links of a minimal path from a router. A dragonfly's takes one global link (Kim et al., section 4.1),
/// though two by way of a third group can be shorter.
fn minimal(spec: &str, topology: &dyn Cabling, from: u32) -> Vec<u32> {
    let mut links = distances(topology, from);
    if spec.starts_with("dragonfly:") {
        let group = |router| topology.group(router);
        for to in (0..topology.routers()).filter(|&to| group(to) != group(from)) {
            let ends = (0..topology.routers())
                .filter(|&r| group(r) == group(from))
                .flat_map(|r| (0..topology.radix()).map(move |port| (r, port)));
            let by = |(r, port): (u32, u32)| match topology.neighbor(r, port) {
                Neighbor::Router { router, .. } if group(router) == group(to) => {
                    Some(1 + u32::from(r != from) + u32::from(router != to))
                }
                _ => None,
            };
            links[to as usize] = ends.filter_map(by).min().unwrap();
        }
    }
    links
}

/// Checks all pairs of a network, the pair with itself included; `expected` is given the number of switches
/// passed.
pub(super) fn check_pairs(spec: &str, bytes: u64, expected: impl Fn(u64) -> u64) {
    let mut net = network(spec);
    let fabric = crate::packet::parse(spec).unwrap().fabric(None).unwrap();
    let topology = &*fabric.topology;
    let mut start = 0;
    for source in 0..topology.endpoints() {
        let away = minimal(spec, topology, topology.attachment(source).0);
        for destination in 0..topology.endpoints() {
            let switches = u64::from(away[topology.attachment(destination).0 as usize]) + 1;
            let took = time(&mut *net, start, source, destination, bytes);
            assert_eq!(
                took,
                expected(switches),
                "{spec}: {source} to {destination} over {switches} switches"
            );
            assert!(
                source == destination || took >= net.lookahead(Endpoint(destination)).as_ps(),
                "{spec}: lookahead"
            );
            start += took + 1_000_000;
        }
    }
}

const LINKS: &str = "l=7ns,b=100Gbps,router=90ns,buf=64KiB";

#[test]
fn store_and_forward_takes_h_times_d_over_b_plus_latency_plus_routers() {
    for spec in SMALL {
        for routing in routings(spec).iter().filter(|&&r| !r.ends_with("valiant")) {
            let spec = format!("{spec},{LINKS},routing={routing}");
            // T = H (D/B + Tp) + Ts with H = S + 1 links and S routers.
            check_pairs(&spec, 512, |switches| {
                (switches + 1) * (serialization(512) + 7_000) + switches * 90_000
            });
        }
    }
}

#[test]
fn cut_through_takes_d_over_b_once() {
    for spec in SMALL {
        let spec = format!("{spec},{LINKS},switching=cut,chunk=64");
        check_pairs(&spec, 512, |s| {
            (s + 1) * (serialization(64) + 7_000) + s * 90_000 + serialization(512 - 64)
        });
    }
}

#[test]
fn a_message_of_several_packets_follows_itself_at_link_rate() {
    for spec in SMALL {
        let spec = format!("{spec},{LINKS},packet=512");
        // Three packets: the last is shorter and waits for nobody.
        let last = |s: u64| 2 * serialization(512) + (s + 1) * (serialization(100) + 7_000) + s * 90_000;
        let second = |s: u64| serialization(512) + (s + 1) * (serialization(512) + 7_000) + s * 90_000;
        // On the second link the short one catches up with the one before, and then stays behind it.
        let behind = |s: u64| second(s).max(last(s)).max(second(s) + serialization(100));
        check_pairs(&spec, 1124, behind);
    }
}

#[test]
fn a_message_without_bytes_takes_one_byte_on_the_wire() {
    check_pairs(&format!("torus:3x3,{LINKS}"), 0, |s| (s + 1) * (serialization(1) + 7_000) + s * 90_000);
    check_pairs(&format!("torus:3x3,{LINKS},header=32"), 0, |s| {
        (s + 1) * (serialization(32) + 7_000) + s * 90_000
    });
}

#[test]
fn a_narrow_link_stretches_the_rest_of_a_cut_through_packet() {
    // Global links at 10 Gbps between local ones at 100: the head is passed on, the tail comes at the narrow
    // link's pace.
    let mut net =
        network(&format!("dragonfly:p=1,a=1,h=1,g=2,{LINKS},gb=10Gbps,gl=1us,switching=cut,chunk=64"));
    let narrow = |bytes: u64| bytes * 800;
    let head =
        serialization(64) + 7_000 + 90_000 + narrow(64) + 1_000_000 + 90_000 + serialization(64) + 7_000;
    assert_eq!(time(&mut *net, 0, 0, 1, 512), head + narrow(512 - 64));
}

#[test]
fn a_slower_interface_counts_on_the_first_link_alone() {
    let mut net = network(&format!("star:n=2,{LINKS},nic=50Gbps"));
    assert_eq!(
        time(&mut *net, 0, 0, 1, 512),
        2 * serialization(512) + 7_000 + 90_000 + serialization(512) + 7_000
    );
}

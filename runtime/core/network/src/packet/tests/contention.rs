//! Shared links take turns.

use super::network;
use crate::message::{Delivered, Endpoint, Message};
use crate::model::Shared;
use engine::Time;

fn run(net: &mut dyn Shared, messages: &[(u64, u32, u32, u64)]) -> Vec<Delivered> {
    for (id, &(at, source, destination, bytes)) in messages.iter().enumerate() {
        net.send(
            Time::from_ps(at),
            &Message {
                source: Endpoint(source),
                destination: Endpoint(destination),
                bytes,
                id: id as u64,
                class: 0,
            },
        );
    }
    let mut delivered = Vec::new();
    while net.advance_to_delivery(Time::MAX, &mut delivered) {}
    assert_eq!(net.stuck(), None);
    assert_eq!(delivered.len(), messages.len());
    delivered
}

fn last(delivered: &[Delivered]) -> f64 {
    delivered.iter().map(|d| d.at.as_ps()).max().unwrap() as f64
}

#[test]
fn an_incast_of_n_senders_takes_n_times_the_single_transfer() {
    const BYTES: u64 = 1 << 20;
    for spec in [
        "fattree:m=8,n=3",
        "torus:4x4",
        "dragonfly:p=2,a=4,h=2",
        "star:n=16",
        "hyperx:4x4",
        "slimfly:q=5",
        "mesh:4x4",
    ] {
        let single = last(&run(&mut *network(spec), &[(0, 1, 0, BYTES)]));
        for senders in [2, 5, 13] {
            let messages: Vec<_> = (1..=senders).map(|source| (0, source, 0, BYTES)).collect();
            let all = last(&run(&mut *network(spec), &messages));
            let ratio = all / single / f64::from(senders);
            assert!(
                (ratio - 1.0).abs() < 0.02,
                "{spec}: {senders} senders take {ratio:.4} times their number"
            );
        }
    }
}

#[test]
fn an_ejection_link_of_its_own_bandwidth_bounds_what_an_endpoint_takes() {
    let single = |spec: &str| last(&run(&mut *network(spec), &[(0, 0, 1, 1 << 20), (0, 2, 1, 1 << 20)]));
    let (usual, double) = (single("star:n=4,l=0ns"), single("star:n=4,l=0ns,ejection=200Gbps"));
    assert!((usual / double / 2.0 - 1.0).abs() < 0.02, "{usual} and {double} ps");
    let alone = last(&run(&mut *network("mesh:2x1,l=0ns,router=0ns,ejection=50Gbps"), &[(0, 0, 1, 4096)]));
    assert_eq!(alone, 4096.0 * (80.0 + 80.0 + 160.0));
}

#[test]
fn two_senders_share_a_link_evenly_though_one_came_first() {
    // Both want endpoint 3; neither may finish long before the other.
    let delivered = run(&mut *network("star:n=4"), &[(0, 0, 3, 1 << 20), (1_000_000, 1, 3, 1 << 20)]);
    let gap = delivered[1].at.since(delivered[0].at).as_ps();
    assert!(gap < 3_000_000, "{gap} ps");
}

#[test]
fn an_endpoint_with_one_queue_sends_its_messages_one_after_the_other() {
    let delivered =
        run(&mut *network("star:n=4,l=0ns,router=0ns,nicq=fifo"), &[(0, 0, 1, 1 << 20), (0, 0, 2, 1000)]);
    // The short one leaves once the long one is sent, and overtakes the long one's last packet at the router.
    let leaves = (1 << 20) * 80;
    let short = delivered.iter().find(|d| d.id == 1).unwrap();
    assert_eq!(short.at.as_ps(), leaves + 2 * 1000 * 80);
}

#[test]
fn a_packet_waits_behind_one_for_another_output_only_in_a_single_queue() {
    // Endpoint 1 keeps the way to 2 busy; endpoint 0 sends a packet there, and then one to 3, which nobody
    // else wants.
    let third = |queue: &str| {
        let spec = format!("star:n=4,l=0ns,router=0ns,vcs=1,outq=0,queue={queue}");
        let delivered =
            run(&mut *network(&spec), &[(0, 1, 2, 1 << 20), (1000, 0, 2, 4096), (1000, 0, 3, 4096)]);
        delivered.iter().find(|d| d.id == 2).unwrap().at.as_ps()
    };
    let packet = 4096 * 80;
    // There once it has followed the first into the router: 2D; the first goes out from 2D to 3D.
    assert_eq!(third("voq"), 1000 + 3 * packet);
    assert_eq!(third("fifo"), 4 * packet);
}

#[test]
fn a_full_buffer_stops_the_link_before_it() {
    // One 4 KiB packet of buffer: a second must not start towards router 1 before the first has left it and
    // its credit has come back.
    let spec = "mesh:3,l=100ns,b=100Gbps,router=0ns,buf=4KiB,outq=0";
    let delivered = run(&mut *network(spec), &[(0, 0, 2, 8192)]);
    let packet = 4096 * 80;
    // First packet leaves router 0 at 2D+l, is at router 1 at 2D+2l... each D for a link; the credit of
    // router 1's buffer returns at 3D + 3l.
    let first_leaves_1 = 3 * packet + 200_000;
    let second_starts_at_0 = first_leaves_1 + 100_000;
    assert_eq!(delivered[0].at.as_ps(), second_starts_at_0 + 3 * packet + 300_000);
}

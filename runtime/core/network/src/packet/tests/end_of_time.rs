//! Virtual time ends at 2^64 picoseconds: what would happen later is said, and what happens before is right.

use super::network;
use crate::message::{Delivered, Endpoint, Message};
use crate::model::Shared;
use crate::packet::parse;
use crate::traffic::{Pace, TrafficError, TrafficPattern, TrafficRun};
use crate::{Machine, Network};
use engine::Time;
use proptest::prelude::*;

/// Delivers what arrives before the end of time.
fn drain(network: &mut dyn Shared, messages: &[(u64, u64)]) -> Vec<Delivered> {
    for (id, &(at, bytes)) in (0..).zip(messages) {
        network.send(
            Time::from_ps(at),
            &Message { source: Endpoint(0), destination: Endpoint(1), bytes, id, class: 0 },
        );
    }
    let mut delivered = Vec::new();
    while network.advance_to_delivery(Time::MAX, &mut delivered) {}
    delivered
}

fn told(network: &dyn Shared) -> String {
    network.stuck().expect("something is under way that cannot arrive")
}

#[test]
fn a_message_that_would_arrive_after_the_end_is_said_and_those_before_arrive() {
    let mut star = network("star:n=4,b=1bps,packet=4000,outq=0,router=0ns");
    // 1,000 bytes take 8,000 s on each link; 100 MB eight hundred million.
    let delivered = drain(&mut *star, &[(0, 1000), (0, 100_000_000)]);
    assert_eq!(delivered, [Delivered { id: 0, at: Time::from_ps(16_000 * 1_000_000_000_000) }]);
    assert!(told(&*star).contains("virtual time ends at 2^64 picoseconds"), "{}", told(&*star));
}

#[test]
fn a_message_sent_at_the_end_is_said() {
    let mut star = network("star:n=4,l=1us");
    assert_eq!(drain(&mut *star, &[(u64::MAX - 1000, 8)]), []);
    assert!(told(&*star).contains("still under way"), "{}", told(&*star));
}

#[test]
fn a_way_out_of_a_node_past_the_end_is_said() {
    let built = Machine::parse("star:n=2,packet=64,outq=0,level=packet/star:2,l=1us,b=inf")
        .unwrap()
        .build(4)
        .unwrap();
    let Network::Shared(mut nodes) = built.network else { unreachable!("it says level=packet") };
    for at in [u64::MAX - 1000, u64::MAX - 1_500_000] {
        nodes.send(
            Time::from_ps(at),
            &Message { source: Endpoint(0), destination: Endpoint(3), bytes: 0, id: at, class: 0 },
        );
    }
    let mut delivered = Vec::new();
    while nodes.advance_to_delivery(Time::MAX, &mut delivered) {}
    assert_eq!(delivered, []);
    assert!(told(&*nodes).contains("before 2 messages between nodes could arrive"), "{}", told(&*nodes));
}

#[test]
fn links_on_which_one_packet_takes_half_of_time_are_refused() {
    for spec in [
        "star:n=4,b=0.001bps",
        "star:n=4,l=300000min",
        "star:n=4,router=160000min",
        "torus:4x4,b=1bps,outq=2000000",
    ] {
        let error = parse(spec).unwrap().interfaces(1).err().unwrap().to_string();
        assert!(
            error.contains("takes more than 2^63 picoseconds (106 days) over a link; raise b"),
            "{spec}: {error}"
        );
    }
    network("star:n=4,l=100000min");
    network("star:n=4,b=0.1bps");
}

#[test]
fn traffic_past_the_end_is_an_error_on_any_number_of_threads() {
    for threads in [1, 2] {
        let traffic = TrafficRun {
            spec: parse("mesh:2x2,b=1bps").unwrap(),
            jobs: Vec::new(),
            pattern: TrafficPattern::Alltoall,
            grid: None,
            size: 4096,
            pace: Pace::Interval("1us".parse().unwrap()),
            fixed: true,
            packets: 1000,
            seed: 1,
            threads,
            margins: (0.0, 0.0),
        };
        let Err(TrafficError::Input(error)) = traffic.run(&|_, _| ()) else { panic!("this takes 380 days") };
        assert!(error.contains("virtual time ends at 2^64 picoseconds"), "{error}");
    }
}

proptest! {
    /// Checks that messages near the end of virtual time are delivered as early ones are, up to that end.
    #[test]
    fn time_never_wraps(
        late in 0u64..40_000_000,
        sizes in prop::collection::vec(0u64..30_000, 1..8),
        cut: bool,
    ) {
        let spec = format!("mesh:3,l=30ns,packet=1KiB,switching={}", if cut { "cut" } else { "saf" });
        let early = drain(&mut *network(&spec), &sizes.iter().map(|&bytes| (0, bytes)).collect::<Vec<_>>());
        let mut end = network(&spec);
        let start = u64::MAX - late;
        let found = drain(&mut *end, &sizes.iter().map(|&bytes| (start, bytes)).collect::<Vec<_>>());
        let expected: Vec<_> = early
            .iter()
            .filter_map(|d| Some(Delivered { at: Time::from_ps(start.checked_add(d.at.as_ps())?), ..*d }))
            .collect();
        // What happens in the very last step may be left out. By time and not by count: messages without
        // bytes come with others, and many short packets may be one step.
        prop_assert!(expected.starts_with(&found), "{found:?} of {expected:?}");
        let last_step = Time::from_ps(u64::MAX - 1_000_000);
        prop_assert!(
            expected[found.len()..].iter().all(|delivered| delivered.at > last_step),
            "{found:?} of {expected:?}"
        );
        prop_assert_eq!(end.stuck().is_some(), found.len() < sizes.len());
    }
}

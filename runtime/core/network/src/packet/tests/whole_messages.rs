//! How long messages of several packets take, from the first to the last of them.

use super::{SMALL, routings};
use crate::packet::parse;
use crate::traffic::{JobReport, Pace, TrafficPattern, TrafficRun};

fn total(spec: &str, pattern: TrafficPattern, size: u64, interval: &str) -> JobReport {
    let traffic = TrafficRun {
        spec: parse(spec).unwrap(),
        jobs: Vec::new(),
        pattern,
        grid: None,
        size,
        pace: Pace::Interval(interval.parse().unwrap()),
        fixed: true,
        packets: 20,
        seed: 3,
        threads: 1,
        margins: (0.0, 0.0),
    };
    traffic.run(&|_, _| ()).unwrap_or_else(|e| panic!("{spec}: {e}")).simulated.total
}

#[test]
fn a_message_alone_takes_its_first_packet_and_the_links_time_for_the_rest() {
    // One sender and two links: 40 ns for a packet of 500 B, 20 ns of latency, 90 ns in the router.
    let total = total(
        "star:n=2,packet=500,l=20ns,b=100Gbps,router=90ns,switching=saf",
        TrafficPattern::Incast,
        1700,
        "1ms",
    );
    let first = 2.0 * (40.0 + 20.0) + 90.0;
    // Two more whole packets, and 200 B, which follow at once through both links.
    let last = first + 2.0 * 40.0 + 16.0;
    let latency = total.messages.latency;
    assert_eq!((total.packets, total.messages.count, total.messages.packets_each), (80, 20, 4));
    assert_eq!((latency.min_ns, latency.mean_ns, latency.max_ns), (last, last, last));
    assert_eq!(total.latency.min_ns, first);
}

#[test]
fn a_message_takes_as_long_as_its_slowest_packet() {
    for spec in SMALL {
        for routing in routings(spec) {
            let total = total(
                &format!("{spec},packet=512,buf=2KiB,routing={routing}"),
                TrafficPattern::Uniform,
                2000,
                "500ns",
            );
            let messages = &total.messages;
            assert_eq!((messages.count, messages.packets_each), (total.packets / 4, 4), "{spec}");
            assert_eq!(messages.latency.max_ns, total.latency.max_ns, "{spec}");
            assert!(
                messages.latency.mean_ns > total.latency.mean_ns
                    && messages.latency.min_ns > total.latency.min_ns,
                "{spec}"
            );
        }
    }
}

#[test]
fn a_message_of_one_packet_takes_as_long_as_that() {
    let total = total("torus:4x4", TrafficPattern::Uniform, 0, "100ns");
    assert_eq!((total.messages.count, total.messages.packets_each), (320, 1));
    assert_eq!(total.messages.latency_histogram, total.latency_histogram);
}

//! The flow level on every topology: paths as packets take them, times by closed forms, options.

use super::{SMALL, network, routings};
use crate::message::{Delivered, Endpoint, Message};
use crate::model::{Interfaces, Shared};
use crate::packet::parse;
use crate::traffic::{Pace, TrafficPattern, TrafficRun};
use engine::Time;
use proptest::prelude::*;

type Sent = (u64, u32, u32, u64);

fn flows(spec: &str) -> Box<dyn Interfaces + Send> {
    parse(&format!("{spec},level=flow"))
        .and_then(|spec| spec.interfaces(1))
        .unwrap_or_else(|error| panic!("{spec}: {error}"))
}

/// Returns when each message arrives.
fn arrivals(network: &mut dyn Shared, messages: &[Sent]) -> Vec<u64> {
    for (id, &(at, source, destination, bytes)) in (0..).zip(messages) {
        let message =
            Message { source: Endpoint(source), destination: Endpoint(destination), bytes, id, class: 0 };
        assert_eq!(network.send(Time::from_ps(at), &message), None);
    }
    let mut delivered = Vec::new();
    while network.advance_to_delivery(Time::MAX, &mut delivered) {}
    let mut arrivals = vec![u64::MAX; messages.len()];
    delivered.iter().for_each(|&Delivered { id, at }| arrivals[id as usize] = at.as_ps());
    arrivals
}

/// Routings of a small network that go by no queues.
fn fixed(network: &str) -> impl Iterator<Item = &'static str> {
    routings(network)
        .iter()
        .copied()
        .filter(|routing| !["adaptive", "ugal-l", "ugal-g", "par"].contains(routing))
}

#[test]
fn a_flow_alone_takes_its_latencies_and_its_bytes_at_the_slowest_link_on_every_topology() {
    for small in SMALL {
        for routing in fixed(small) {
            let spec =
                format!("{small},routing={routing},l=7ns,b=80Gbps,nic=100Gbps,ejection=40Gbps,router=50ns");
            let count = flows(&spec).endpoints() as u32;
            for destination in 0..count {
                for bytes in [0, 1, 4095, 4096, 1_000_000] {
                    let mut network = flows(&spec);
                    let at = 1_000 * u64::from(destination);
                    let took = arrivals(&mut *network, &[(at, 0, destination, bytes)])[0] - at;
                    let routers = network.report(Time::from_ps(took)).total.routers_passed as u64;
                    // A byte takes 200 ps at the ejection's 40 Gbps.
                    assert_eq!(
                        took,
                        7_000 * (routers + 1) + 50_000 * routers + 200 * bytes,
                        "{spec}: 0 to {destination}"
                    );
                    let nearest = network.lookahead(Endpoint(destination)).as_ps();
                    assert!(
                        destination == 0 || took >= nearest,
                        "{spec}: 0 to {destination} {took} {nearest}"
                    );
                }
            }
        }
    }
}

#[test]
fn flows_take_the_paths_of_packets() {
    for small in SMALL {
        for routing in fixed(small) {
            let spec = format!("{small},routing={routing},l=10ns");
            let (mut packets, mut flows) = (network(&spec), flows(&format!("{spec},flowmin=0")));
            let count = packets.endpoints() as u32;
            let mut random = engine::Random::new(5, 0);
            let mut message = |id: u64| {
                (10_000 * id, random.below(count), random.below(count), 1 + u64::from(random.below(4096)))
            };
            let messages: Vec<Sent> = (0..500).map(&mut message).collect();
            arrivals(&mut *packets, &messages);
            arrivals(&mut *flows, &messages);
            let end = Time::from_ps(1_000_000_000);
            let bytes = |network: &dyn Shared| {
                network
                    .report(end)
                    .each_link
                    .iter()
                    .map(|link| (link.from, link.to, link.bytes))
                    .collect::<Vec<_>>()
            };
            assert_eq!(bytes(&*packets), bytes(&*flows), "{spec}");
            let hops = |network: &dyn Shared| network.report(end).total.routers_histogram;
            assert_eq!(hops(&*packets), hops(&*flows), "{spec}");
        }
    }
}

#[test]
fn an_incast_of_n_takes_n_times_one_on_every_topology() {
    for small in SMALL {
        let spec = format!("{small},l=0ns,b=100Gbps,router=0ns");
        let count = flows(&spec).endpoints() as u32;
        let messages: Vec<Sent> = (1..count).map(|source| (0, source, 0, 100_000)).collect();
        let found = arrivals(&mut *flows(&spec), &messages);
        let last = found.iter().max().unwrap();
        assert_eq!(*last, u64::from(count - 1) * 100_000 * 80, "{spec}");
    }
}

#[test]
fn sizes_of_10_20_30_end_at_30_50_60() {
    let messages: Vec<Sent> = (1..4).map(|source| (0, source, 0, 10_000 * u64::from(source))).collect();
    let found = arrivals(&mut *flows("star:n=4,b=1GB/s,l=100ns,router=0ns"), &messages);
    assert_eq!(found, [30_000, 50_000, 60_000].map(|bytes| 1000 * bytes + 200_000));
}

#[test]
fn a_flow_alone_takes_its_factors_and_a_window_each_round_trip_on_every_topology() {
    for small in SMALL {
        let spec = format!(
            "{small},l=7ns,b=80Gbps,router=50ns,bfactor=0.5;1000B:0.25;64KiB:1,lfactor=0.5;1000B:3,\
             window=400B"
        );
        let count = flows(&spec).endpoints() as u32;
        for destination in 1..count {
            for bytes in [1u64, 999, 1000, 4096, 65_536] {
                let mut network = flows(&spec);
                let took = arrivals(&mut *network, &[(0, 0, destination, bytes)])[0];
                let routers = network.report(Time::from_ps(took)).total.routers_passed as u64;
                let path = 7_000 * (routers + 1) + 50_000 * routers;
                let latency = if bytes < 1000 { path / 2 } else { 3 * path };
                // A byte takes 100 ps at 80 Gbps; short messages have no window.
                let at_link = 100
                    * bytes
                    * if bytes < 1000 {
                        2
                    } else if bytes < 65_536 {
                        4
                    } else {
                        1
                    };
                let in_windows = if bytes < 4096 { 0 } else { bytes * 2 * latency / 400 };
                let expected = latency + at_link.max(in_windows);
                assert!(
                    took.abs_diff(expected) <= 1,
                    "{spec}: 0 to {destination}, {bytes}: {took} {expected}"
                );
                let nearest = network.lookahead(Endpoint(destination)).as_ps();
                assert!(took >= nearest, "{spec}: 0 to {destination} {took} {nearest}");
            }
        }
    }
}

#[test]
fn flows_share_a_link_in_inverse_proportion_to_their_latencies() {
    // Both enter endpoint 3: one over 3 links, one over 5, hence with weights of 256 and 154.
    let spec = "mesh:4,b=1GB/s,l=1us,router=0ns";
    let messages = [(0, 2, 3, 256_000), (0, 0, 3, 154_000)];
    let found = arrivals(&mut *flows(&format!("{spec},share=latency")), &messages);
    assert_eq!(found, [410_000_000 + 3_000_000, 410_000_000 + 5_000_000]);
    let even = arrivals(&mut *flows(&format!("{spec},share=even")), &messages);
    assert_eq!(even, arrivals(&mut *flows(spec), &messages));
    let error = parse("mesh:4,l=0ns,router=0ns,share=latency,level=flow")
        .and_then(|spec| spec.interfaces(1).map(|_| ()))
        .unwrap_err();
    assert!(error.to_string().contains("give l= or router= above 0"), "{error}");
}

#[test]
fn each_flow_has_all_of_the_links_between_routers_of_a_fat_core() {
    // Two flows from one router to the next, and two into one endpoint.
    let messages = [(0, 0, 2, 10_000), (0, 1, 3, 10_000)];
    let incast = [(0, 0, 2, 10_000), (0, 1, 2, 10_000)];
    for (interfaces, apart, together) in
        [("nic=1GB/s,ejection=1GB/s", 10, 20), ("nic=4GB/s,ejection=2GB/s", 10, 10), ("nic=4GB/s", 10, 20)]
    {
        let spec = format!("mesh:2,p=2,b=1GB/s,l=0ns,router=0ns,core=fatpipe,{interfaces}");
        assert_eq!(arrivals(&mut *flows(&spec), &messages), [apart * 1_000_000; 2], "{spec}");
        assert_eq!(arrivals(&mut *flows(&spec), &incast), [together * 1_000_000; 2], "{spec}");
    }
}

#[test]
fn acknowledgements_take_a_twentieth_of_a_flow_on_its_way_back() {
    // Opposite messages get 20/21 of the links; one alone, and two of one direction, all of them.
    let spec = "mesh:2,p=2,b=1GB/s,l=0ns,router=0ns,crosstraffic";
    let opposite = [(0, 0, 2, 10_000), (0, 2, 0, 10_000)];
    assert_eq!(arrivals(&mut *flows(&format!("{spec}=on")), &opposite), [10_500_000; 2]);
    assert_eq!(arrivals(&mut *flows(&format!("{spec}=off")), &opposite), [10_000_000; 2]);
    for (messages, expected) in
        [(&opposite[..1], &[10_000_000][..]), (&[(0, 0, 2, 10_000), (0, 1, 3, 10_000)], &[20_000_000; 2])]
    {
        assert_eq!(arrivals(&mut *flows(&format!("{spec}=on")), messages), expected, "{messages:?}");
    }
    // Behind a core that flows do not share they meet in interfaces alone.
    let apart = [(0, 0, 2, 10_000), (0, 3, 1, 10_000)];
    let found = |core| arrivals(&mut *flows(&format!("{spec}=on,core={core}")), &apart);
    assert_eq!((found("shared"), found("fatpipe")), (vec![10_500_000; 2], vec![10_000_000; 2]));
}

#[test]
fn messages_inside_one_direction_of_a_link_share_it_and_those_of_both_do_not() {
    let spec = "mesh:2,p=2,b=1GB/s,l=0ns,router=0ns";
    let found = arrivals(&mut *flows(spec), &[(0, 0, 2, 10_000), (0, 1, 3, 10_000), (0, 2, 0, 10_000)]);
    assert_eq!(found, [20_000_000, 20_000_000, 10_000_000]);
}

#[test]
fn short_messages_wait_for_each_other_in_interfaces_and_not_for_flows() {
    let spec = "star:n=4,b=1GB/s,l=100ns,router=0ns,flowmin=1000B";
    // From one source, to one destination, beside a flow on both links.
    let found =
        arrivals(&mut *flows(spec), &[(0, 0, 1, 100), (0, 0, 1, 100), (0, 2, 1, 100), (0, 0, 1, 100_000)]);
    assert_eq!(found, [300_000, 500_000, 400_000, 100_200_000]);
    let flow = arrivals(
        &mut *flows("star:n=4,b=1GB/s,l=100ns,router=0ns,flowmin=0"),
        &[(0, 0, 1, 100), (0, 0, 1, 100)],
    );
    assert_eq!(flow, [400_000, 400_000]);
}

#[test]
fn bytes_take_no_time_where_bandwidth_is_infinite() {
    let found =
        arrivals(&mut *flows("star:n=4,b=inf,l=100ns,router=50ns"), &[(5, 0, 1, 0), (5, 1, 1, 1 << 40)]);
    assert_eq!(found, [250_005, 250_005]);
    let found = arrivals(
        &mut *flows("star:n=4,b=inf,nic=1GB/s,l=0ns,router=0ns"),
        &[(0, 0, 1, 10_000), (0, 0, 2, 10_000)],
    );
    assert_eq!(found, [20_000_000, 20_000_000]);
}

#[test]
fn what_lasts_longer_than_virtual_time_is_said() {
    let mut network = flows("star:n=3,b=0.1bps");
    assert_eq!(arrivals(&mut *network, &[(0, 0, 1, 1 << 40), (0, 0, 2, 1 << 50)]), [u64::MAX; 2]);
    let why = network.stuck().expect("two messages never arrive");
    assert!(why.contains("213 days") && why.contains("2 messages"), "{why}");
    let mut network = flows("star:n=3,l=200000s");
    arrivals(&mut *network, &[(u64::MAX / 100 * 99, 0, 1, 8)]);
    assert!(network.stuck().is_some_and(|why| why.contains("1 messages")));
}

#[test]
fn options_of_packets_and_routings_by_queues_are_refused() {
    for (spec, why) in [
        (
            "torus:4x4,buf=64KiB,level=flow",
            "buf=... is for packets; level=flow has neither packets nor buffers",
        ),
        ("torus:4x4,switching=cut,level=flow", "switching=... is for packets"),
        ("torus:4x4,rings=dateline,level=flow", "rings=... is for packets"),
        ("torus:4x4,vcs=2,level=flow", "leave vcs= out"),
        ("torus:4x4,flowmin=1KiB,level=packet", "flowmin=... needs level=flow"),
        ("torus:4x4,flowmin=1KiB", "flowmin=... needs level=flow"),
        ("torus:4x4,flowmin=many,level=flow", "flowmin=many is not a number of bytes"),
        ("torus:4x4,window=1MiB", "window=... needs level=flow"),
        ("torus:4x4,core=fatpipe,level=packet", "core=... needs level=flow"),
        ("torus:4x4,window=0,level=flow", "window=0 is not between 1 and 2^31 bytes"),
        ("torus:4x4,share=latancy,level=flow", "neither even nor latency; did you mean 'latency'?"),
        ("torus:4x4,core=fat,level=flow", "core=fat is neither shared nor fatpipe"),
        ("torus:4x4,crosstraffic=on,level=packet", "crosstraffic=... needs level=flow"),
        ("torus:4x4,crosstraffic=5%,level=flow", "crosstraffic=5% is neither off nor on"),
        ("torus:4x4,bfactor=0,level=flow", "bfactor: '0' is not a factor from 0.000001 to 1000"),
        ("torus:4x4,lfactor=1;2,level=flow", "lfactor: '2' lacks the bytes that it is from"),
        ("torus:4x4,level=flows", "did you mean 'level=flow'?"),
        (
            "torus:4x4,routing=adaptive,level=flow",
            "routing=adaptive goes by queues, which level=flow does not have",
        ),
        ("dragonfly:p=2,a=4,h=2,routing=ugal-l,level=flow", "take a routing with fixed paths"),
        ("star:n=200000000,level=flow", "GiB"),
    ] {
        let error = parse(spec).and_then(|spec| spec.interfaces(1)).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains(why)), "{spec}: {error:?}");
    }
}

#[test]
fn traffic_of_flows_goes_around_failures() {
    let path = std::env::temp_dir().join(format!("xsim-flows-{}", std::process::id()));
    for (network, failures, failed) in [
        ("fattree:m=4,n=3", "link 0 8\nrouter 19\n", 0),
        ("torus:4x4", "link 0 1\nlink 5 6\n", 0),
        ("dragonfly:p=2,a=4,h=2", "router 5\nlink 0 1\n", 2),
    ] {
        std::fs::write(&path, failures).unwrap();
        for routing in ["minimal", "valiant"] {
            let spec = parse(&format!("{network},failures={},routing={routing},level=flow", path.display()))
                .unwrap();
            let endpoints = u64::from(spec.fabric(None).unwrap().topology.endpoints());
            let traffic = TrafficRun {
                spec,
                jobs: Vec::new(),
                pattern: TrafficPattern::Alltoall,
                grid: None,
                size: 10_000,
                pace: Pace::Rate(0.9),
                fixed: false,
                packets: endpoints - 1,
                seed: 1,
                threads: 1,
                margins: (0.0, 0.0),
            };
            let report = traffic.run(&|_, _| ()).unwrap_or_else(|e| panic!("{network} {routing}: {e}"));
            let working = endpoints - failed;
            assert_eq!(report.simulated.total.packets, working * (working - 1), "{network} {routing}");
            let error = TrafficRun { threads: 2, ..traffic }.run(&|_, _| ()).err().unwrap().to_string();
            assert!(error.contains("one thread"), "{error}");
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_series_has_the_use_of_links_over_time() {
    let mut network = flows("star:n=3,b=1GB/s,l=0ns,router=0ns");
    network.keep_series();
    arrivals(&mut *network, &[(0, 1, 0, 65_536), (0, 2, 0, 65_536)]);
    let end = Time::from_ps(2 * 65_536_000);
    let series = network.series(end).unwrap();
    // The link to endpoint 0 is full all the time, those of the two sources half, and the three others idle.
    assert!(series.most.iter().all(|&most| most == 10_000), "{series:?}");
    assert!(series.mean.iter().all(|&mean| mean == 3333), "{series:?}");
    let link = &network.report(end).each_link[0];
    assert_eq!((link.bytes, link.usage), (131_072, 1.0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn arrivals_do_not_depend_on_the_order_of_messages_within_an_instant(
        kind in 0..SMALL.len(),
        messages in prop::collection::vec((0u64..4, any::<u32>(), any::<u32>(), 0u64..20_000), 1..60),
        seed in prop::collection::vec(any::<u32>(), 60),
    ) {
        let count = flows(SMALL[kind]).endpoints() as u32;
        let messages: Vec<Sent> = messages
            .into_iter()
            .map(|(at, from, to, bytes)| (1_000_000 * at, from % count, to % count, bytes))
            .collect();
        // Short messages of one interface are served in the order in which they were sent.
        let spec = format!("{},flowmin=0", SMALL[kind]);
        let mut order: Vec<usize> = (0..messages.len()).collect();
        order.sort_by_key(|&index| seed[index]);
        let shuffled: Vec<Sent> = order.iter().map(|&index| messages[index]).collect();
        let found = arrivals(&mut *flows(&spec), &messages);
        let expected: Vec<u64> = order.iter().map(|&index| found[index]).collect();
        prop_assert_eq!(arrivals(&mut *flows(&spec), &shuffled), expected);
    }
}

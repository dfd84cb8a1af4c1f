//! Nothing is lost and nothing stops under full load with the smallest buffers; the same bytes come out on
//! any number of threads.

use super::{SMALL, routings};
use crate::message::Endpoint;
use crate::packet::parse;
use crate::traffic::{Pace, TrafficPattern, TrafficReport, TrafficRun};

fn traffic(spec: &str, pattern: TrafficPattern, rate: f64, packets: u64, threads: u32) -> TrafficRun {
    TrafficRun {
        spec: parse(spec).unwrap_or_else(|e| panic!("{spec}: {e}")),
        jobs: Vec::new(),
        pattern,
        grid: None,
        size: 700,
        pace: Pace::Rate(rate),
        fixed: false,
        packets,
        seed: 11,
        threads,
        margins: (0.0, 0.0),
    }
}

fn run(traffic: &TrafficRun) -> TrafficReport {
    traffic.run(&|_, _| ()).unwrap_or_else(|e| panic!("{}: {e}", traffic.spec.text()))
}

#[test]
fn no_routing_deadlocks_or_loses_packets_with_the_smallest_buffers() {
    for spec in SMALL {
        for routing in routings(spec) {
            for switching in ["saf", "cut"] {
                // Two packets of 512: what the bubble rule needs, and the message's two packets need both.
                let spec =
                    format!("{spec},packet=512,buf=1024,l=20ns,switching={switching},routing={routing}");
                for pattern in
                    [TrafficPattern::Uniform, TrafficPattern::BitComplement, TrafficPattern::Tornado]
                {
                    let run_of = traffic(&spec, pattern, 1.0, 30, 1);
                    let report = run(&run_of);
                    assert_eq!(
                        report.simulated.total.packets,
                        2 * 30 * u64::from(report.simulated.endpoints),
                        "{spec}"
                    );
                }
            }
        }
    }
}

#[test]
fn rings_with_datelines_and_more_channels_do_not_deadlock_either() {
    for spec in [
        "torus:4x4,rings=dateline",
        "torus:4x4,vcs=3",
        "torus:4x4,vcs=4,rings=dateline,crossbar=yes",
        "torus:5x5,routing=adaptive,vcs=4",
        "mesh:4x4,vcs=8,outq=0",
        "torus:4x4,queue=fifo",
        "torus:5x4,queue=fifo,vcs=2,rings=dateline,crossbar=islip,turnaround=20ns",
        "torus:4x4,queue=fifo,routing=adaptive,vcs=3",
        "twistedtorus:4x6,twist=2,queue=fifo",
        "fattree:m=4,n=3,queue=fifo,crossbar=islip",
        "dragonfly:p=2,a=4,h=2,queue=fifo,routing=ugal-l",
        "hyperx:4x3,p=2,crossbar=islip,cycle=7ns",
    ] {
        let report =
            run(&traffic(&format!("{spec},packet=512,buf=1024"), TrafficPattern::Tornado, 1.0, 200, 1));
        assert_eq!(report.simulated.total.packets, 2 * 200 * u64::from(report.simulated.endpoints), "{spec}");
    }
}

#[track_caller]
fn results_do_not_depend_on_threads(spec: &str, rate: f64) {
    let texts = [1, 2, 4].map(|threads| {
        let report = run(&traffic(spec, TrafficPattern::Uniform, rate, 25, threads));
        serde_json::to_string(&report.simulated).unwrap() + &report.links_to_csv()
    });
    assert!(
        texts[0] == texts[1] && texts[0] == texts[2],
        "{spec}: results differ with the number of threads"
    );
}

#[test]
fn one_two_and_four_threads_give_the_same_bytes() {
    for spec in SMALL {
        for routing in routings(spec).iter().filter(|&&r| r != "ugal-g") {
            for (rate, buffer) in [(0.3, 65536), (1.0, 1024)] {
                let spec = format!("{spec},packet=512,buf={buffer},l=5ns,router=30ns,routing={routing}");
                results_do_not_depend_on_threads(&spec, rate);
            }
        }
    }
}

#[test]
fn threads_do_not_change_what_queues_and_matchings_do() {
    for spec in [
        "torus:4x3x5,queue=fifo,turnaround=3ns",
        "torus:5x4,queue=fifo,crossbar=islip,vcs=2",
        "mesh:4x3,crossbar=islip,vcs=2,routing=adaptive",
        "fattree:m=4,n=3,queue=fifo,crossbar=islip,routing=adaptive",
    ] {
        for (rate, buffer) in [(0.3, 65536), (1.0, 1024)] {
            let spec = format!("{spec},packet=512,buf={buffer},l=5ns,router=30ns");
            results_do_not_depend_on_threads(&spec, rate);
        }
    }
}

/// A stencil's messages leave an endpoint at one instant.
#[test]
fn threads_do_not_change_the_order_of_messages_of_one_instant() {
    for spec in ["torus:4x4x4", "fattree:m=4,n=3", "dragonfly:p=2,a=4,h=2,classes=2"] {
        let texts = [1, 2, 4].map(|threads| {
            let mut run_of =
                traffic(&format!("{spec},packet=512"), TrafficPattern::Stencil3d, 0.3, 40, threads);
            run_of.size = 3000;
            let report = run(&run_of);
            serde_json::to_string(&report.simulated).unwrap() + &report.links_to_csv()
        });
        assert!(
            texts[0] == texts[1] && texts[0] == texts[2],
            "{spec}: results differ with the number of threads"
        );
    }
}

/// Returns what a switch of 16 ports accepts of full load.
fn accepted(switching: &str) -> f64 {
    let spec = format!("star:n=16,packet=64,l=0ns,router=0ns,vcs=1,buf=64KiB,outq=0,{switching}");
    let mut run_of = traffic(&spec, TrafficPattern::Uniform, 1.0, 6000, 1);
    run_of.size = 64;
    crate::traffic::sweep(&run_of, &[1.0], &|_, _| ()).unwrap().saturation
}

#[test]
fn the_first_of_a_queue_holds_up_the_others() {
    // Karol, Hluchyj and Morgan, "Input versus output queueing on a space-division packet switch", IEEE
    // Transactions on Communications 35, 1987: 0.586 with many ports; by their simulations 0.60 with 16.
    let fifo = accepted("queue=fifo,crossbar=islip");
    assert!((fifo - 0.60).abs() < 0.02, "{fifo}");
    // With a queue for each output iSLIP's pointers part from each other under full load (McKeown 1999), and
    // nothing is wasted.
    let voq = accepted("crossbar=islip");
    assert!(voq > 0.95, "{voq}");
}

#[test]
fn a_detour_spreads_the_load_that_minimal_routing_piles_up() {
    // Each endpoint of a group sends to the next group: one global link carries all of it, unless detours are
    // made.
    let throughput = |routing: &str| {
        let spec = format!("dragonfly:p=2,a=4,h=2,routing={routing},packet=512,buf=8KiB,vcs=6");
        let mut run_of = traffic(&spec, TrafficPattern::Tornado, 1.0, 200, 1);
        run_of.size = 512;
        run(&run_of).simulated.total.throughput_bytes_per_ns
    };
    let minimal = throughput("minimal");
    for routing in ["valiant", "ugal-l", "ugal-g", "par"] {
        assert!(throughput(routing) > 1.3 * minimal, "{routing}: {} against {minimal}", throughput(routing));
    }
}

/// Mean latency and routers passed at a tenth of the load, where hardly anything queues.
fn at_low_load(spec: &str, pattern: TrafficPattern) -> (f64, f64) {
    let mut run_of = traffic(spec, pattern, 0.1, 60, 1);
    run_of.size = 512;
    let total = run(&run_of).simulated.total;
    (total.latency.mean_ns, total.routers_passed)
}

#[test]
fn adaptive_routings_are_minimal_where_nothing_queues() {
    // Long global links: what flies over them, and the credit for it, is not queued.
    let spec = |routing: &str| format!("dragonfly:p=4,a=8,h=4,gl=300ns,l=10ns,packet=512,routing={routing}");
    let (minimal, passed) = at_low_load(&spec("minimal"), TrafficPattern::Uniform);
    for routing in ["ugal-l", "ugal-g", "par"] {
        let (latency, routers) = at_low_load(&spec(routing), TrafficPattern::Uniform);
        assert!((latency / minimal - 1.0).abs() < 0.02, "{routing}: {latency} ns against {minimal} ns");
        assert!((routers - passed).abs() < 0.05, "{routing}: {routers} routers passed against {passed}");
    }
}

#[test]
fn a_bias_keeps_packets_on_the_minimal_path() {
    let passed = |bias: &str| {
        let spec = format!("dragonfly:p=2,a=4,h=2,routing=ugal-l,packet=512,buf=8KiB,vcs=5{bias}");
        let mut run_of = traffic(&spec, TrafficPattern::Tornado, 0.8, 200, 1);
        run_of.size = 512;
        run(&run_of).simulated.total.routers_passed
    };
    let (none, usual, all) = (passed(",bias=0"), passed(""), passed(",bias=1GiB"));
    assert!(none > usual && usual > all, "{none}, {usual}, {all} routers passed");
    assert!(all <= 4.0, "{all} routers passed on the minimal path");
}

#[test]
fn detours_spare_endpoints_of_one_router() {
    for network in ["dragonfly:p=4,a=4,h=2", "dragonflyplus:p=4,a=3,h=2", "slimfly:q=5,p=4", "hyperx:4x4,p=4"]
    {
        for routing in ["valiant", "ugal-l", "ugal-g"] {
            // From each of a router's endpoints to another of the same: pairs of two.
            let mut net = parse(&format!("{network},routing={routing}")).unwrap().interfaces(1).unwrap();
            let message =
                crate::Message { source: Endpoint(0), destination: Endpoint(3), bytes: 100, id: 0, class: 0 };
            net.send(engine::Time::ZERO, &message);
            let end = engine::Time::from_ps(1 << 40);
            assert!(net.advance_to_delivery(end, &mut Vec::new()));
            assert_eq!(net.report(end).total.routers_histogram, [0, 1], "{network}, {routing}");
        }
    }
}

#[test]
fn the_fat_tree_of_the_paper_passes_the_switches_it_should() {
    let mut run_of = traffic(
        "fattree:m=8,n=3,l=0ns,b=100Gbps,router=90ns,vcs=1,buf=64KiB",
        TrafficPattern::Uniform,
        0.1,
        2000,
        2,
    );
    run_of.size = 512;
    run_of.pace = Pace::Interval("1us".parse().unwrap());
    let total = run(&run_of).simulated.total;
    // 4.6875 = (8 * 1 + 24 * 3 + 96 * 5) / 128 + the share of pods: self-sends count one.
    assert!((total.routers_passed - 4.6875).abs() < 0.01, "{}", total.routers_passed);
    assert!((total.latency.mean_ns / 675.4 - 1.0).abs() < 0.05, "{}", total.latency.mean_ns);
}

#[test]
fn the_same_seed_repeats_and_another_differs() {
    let mut run_of = traffic("torus:4x4", TrafficPattern::Uniform, 0.5, 100, 1);
    let text = |t: &TrafficRun| serde_json::to_string(&run(t).simulated).unwrap();
    let first = text(&run_of);
    assert_eq!(first, text(&run_of));
    run_of.seed = 12;
    assert_ne!(first, text(&run_of));
}

#[test]
fn input_queued_routers_saturate_where_booksim2_does() {
    // Single-flit packets, 8 virtual channels of 8 flits, a cycle of 1 ns; the bench `validate` has whole
    // curves.
    let router =
        "b=64Gbps,l=1ns,router=2ns,vcs=8,buf=64B,packet=8,outq=0,queue=fifo,turnaround=2ns,crossbar=islip";
    for (network, load, saturation) in
        [("mesh:8x8", 0.46, 0.43), ("taperedtree:down=4x4x4,up=4x4", 0.9, 0.746)]
    {
        let mut run_of = traffic(&format!("{network},{router}"), TrafficPattern::Uniform, 1.0, 1500, 1);
        run_of.size = 8;
        let accepted = crate::traffic::sweep(&run_of, &[load], &|_, _| ()).unwrap().saturation;
        assert!((accepted / saturation - 1.0).abs() < 0.05, "{network}: {accepted}");
    }
}

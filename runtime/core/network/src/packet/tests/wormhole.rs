//! Wormhole switching: closed form at zero load, nothing stops with the smallest buffers, and what BookSim2
//! accepts.

use super::zero_load::check_pairs;
use super::{SMALL, routings};
use crate::packet::parse;
use crate::traffic::{Pace, TrafficPattern, TrafficRun, sweep};

/// Returns the specifications of the small networks, but for a twisted torus, which needs whole packets in a
/// buffer.
fn networks() -> impl Iterator<Item = String> {
    let names = SMALL.iter().filter(|spec| !spec.starts_with("twisted"));
    names.map(
        |spec| if spec.starts_with("torus") { format!("{spec},rings=dateline") } else { (*spec).to_owned() },
    )
}

#[test]
fn a_packet_alone_takes_its_flits_a_step_for_its_channel_and_nothing_else() {
    for spec in networks() {
        let spec = format!("{spec},b=64Gbps,chunk=8,l=7ns,router=9ns,buf=1KiB,switching=wormhole");
        // Head: S + 1 links of a cycle and the latency, S routers with a step to get a virtual channel. Then
        // the other 63 flits.
        check_pairs(&spec, 512, |switches| (switches + 1) * 8_000 + switches * 10_000 + 63_000);
    }
}

fn traffic(spec: &str, pattern: &str, size: u64, rate: f64, packets: u64) -> TrafficRun {
    TrafficRun {
        spec: parse(spec).unwrap_or_else(|e| panic!("{spec}: {e}")),
        jobs: Vec::new(),
        pattern: pattern.parse().unwrap(),
        grid: (pattern == "tornado" && spec.contains("8x8")).then(|| vec![8, 8]),
        size,
        pace: Pace::Rate(rate),
        fixed: false,
        packets,
        seed: 3,
        threads: 1,
        margins: (0.0, 0.0),
    }
}

#[test]
fn everything_arrives_at_full_load_with_buffers_of_one_flit() {
    for spec in networks() {
        for routing in routings(&spec).iter().filter(|&&r| r != "adaptive" || spec.contains("tree")) {
            for pattern in [TrafficPattern::Uniform, TrafficPattern::Tornado, TrafficPattern::BitComplement] {
                let spec = format!("{spec},routing={routing},switching=wormhole,chunk=64,packet=640,buf=64");
                let run = TrafficRun { pattern, ..traffic(&spec, "uniform", 1000, 1.0, 20) };
                let report = run.run(&|_, _| ()).unwrap_or_else(|e| panic!("{spec}: {e}"));
                assert_eq!(
                    report.simulated.total.packets,
                    2 * 20 * u64::from(report.simulated.endpoints),
                    "{spec}"
                );
            }
        }
    }
}

#[test]
fn few_channels_and_long_packets_saturate_where_booksim2_does() {
    // BookSim2 at the same offered load, a cycle of 1 ns: flits a cycle and node. See
    // docs/explanation/packet-validation.md for more.
    let router = "b=64Gbps,router=1ns,chunk=8,turnaround=2ns,switching=wormhole,outq=0,buf=64B";
    for (network, flits, load, accepted) in [
        ("mesh:8x8,l=1ns,credit=0ns,vcs=1", 1, 0.6, 0.1426),
        ("mesh:8x8,l=1ns,credit=0ns,vcs=2", 1, 0.6, 0.2892),
        ("mesh:8x8,l=1ns,credit=0ns,vcs=4", 4, 0.6, 0.3999),
        ("mesh:8x8,l=1ns,credit=0ns,vcs=4", 10, 0.6, 0.3933),
        ("taperedtree:down=4x4x4,up=4x4,l=1ns,credit=0ns,vcs=1", 1, 0.95, 0.2422),
        ("torus:8x8,rings=dateline,l=2ns,credit=1ns,vcs=2", 1, 0.9, 0.2177),
        ("hyperx:4x4,p=4,l=1ns,credit=0ns,vcs=8,routing=dor", 1, 0.95, 0.681),
        ("hyperx:4x4,p=4,l=1ns,credit=0ns,vcs=8,routing=dor-valiant", 1, 0.95, 0.381),
    ] {
        let spec = format!("{network},{router},packet={}", 8 * flits);
        let run = traffic(&spec, "uniform", 8 * flits, load, 1500 / flits);
        let found = sweep(&run, &[load], &|_, _| ()).unwrap().saturation;
        assert!((found / accepted - 1.0).abs() < 0.05, "{spec}: {found} against {accepted}");
    }
}

#[test]
fn a_ring_keeps_what_booksim2_keeps_past_its_peak() {
    let spec = "torus:8x8,rings=dateline,l=2ns,credit=1ns,b=64Gbps,router=1ns,chunk=8,turnaround=2ns,\
        switching=wormhole,outq=0,buf=64B,vcs=8,packet=8";
    for (pattern, accepted) in [("tornado", 0.0859), ("bit-complement", 0.3371)] {
        let found = sweep(&traffic(spec, pattern, 8, 0.9, 1500), &[0.9], &|_, _| ()).unwrap().saturation;
        assert!((found / accepted - 1.0).abs() < 0.05, "{pattern}: {found} against {accepted}");
    }
}

#[test]
fn a_faster_router_carries_more_through_few_channels() {
    let accepted = |router: &str| {
        let spec = format!(
            "mesh:8x8,vcs=2,l=1ns,credit=0ns,b=64Gbps,chunk=8,packet=8,switching=wormhole,buf=64B,outq=64,\
             {router}"
        );
        sweep(&traffic(&spec, "uniform", 8, 0.6, 1500), &[0.6], &|_, _| ()).unwrap().saturation
    };
    // BookSim2 with internal_speedup=2 accepts 0.484.
    let (slow, fast) =
        (accepted("router=1ns,turnaround=2ns"), accepted("speedup=2,router=500ps,turnaround=1ns"));
    assert!(fast > 1.4 * slow && (fast / 0.484 - 1.0).abs() < 0.05, "{slow} and {fast}");
}

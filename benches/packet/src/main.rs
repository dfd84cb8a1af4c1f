//! Packets a second of the packet-level networks: `cargo run --release -p xsim-bench-packet -- [--packets N]
//! [NAME ...]`.
//!
//! Without names all but the large cases run. Each case runs three times, and the best counts: the host is
//! shared. The rate is packets over the processor time of the busiest thread, and, in brackets, over the time
//! on the wall.
//!
//! `-- validate [DIRECTORY]` compares latencies with those of other simulators instead, and draws the curves
//! into the directory. `-- booksim2` compares what wormhole routers accept past saturation with BookSim2.

mod booksim;
mod validate;

use network::packet::parse;
use network::traffic::{HostReport, Pace, TrafficPattern, TrafficRun};
use std::process::ExitCode;

/// A case and what it must reach.
struct PacketCase {
    name: &'static str,
    network: &'static str,
    pattern: TrafficPattern,
    size: u64,
    interval: &'static str,
    packets: u64,
    threads: u32,
    /// Million packets a second, and MiB of memory.
    target: Option<(f64, f64)>,
    large: bool,
}

const TREE: &str = "l=0ns,b=100Gbps,router=90ns,vcs=1,buf=64KiB";

fn cases() -> Vec<PacketCase> {
    let uniform = |name, network, interval, packets, threads, target, large| PacketCase {
        name,
        network,
        pattern: TrafficPattern::Uniform,
        size: 512,
        interval,
        packets,
        threads,
        target,
        large,
    };
    // The grid that the pattern finds is the torus.
    let stencil = |name, network, target| PacketCase {
        name,
        network,
        pattern: TrafficPattern::Stencil3d,
        size: 128 << 10,
        interval: "1us",
        packets: 6,
        threads: 1,
        target,
        large: true,
    };
    vec![
        uniform("tree128-400", "fattree:m=8,n=3", "400ns", 20_000, 1, Some((3.0, 64.0)), false),
        uniform("tree128-50", "fattree:m=8,n=3", "50ns", 20_000, 1, Some((1.8, 64.0)), false),
        uniform("torus64", "torus:8x8", "20us", 40_000, 1, Some((2.5, 64.0)), false),
        uniform("dragonfly1056", "dragonfly:p=4,a=8,h=4,routing=minimal", "400ns", 1_000, 1, None, false),
        uniform("tree8192-1", "fattree:m=32,n=3", "400ns", 300, 1, None, false),
        uniform("tree8192-2", "fattree:m=32,n=3", "400ns", 300, 2, None, false),
        uniform("tree524288-1", "fattree:m=128,n=3", "400ns", 20, 1, Some((2.5, 2048.0)), true),
        uniform("tree524288-2", "fattree:m=128,n=3", "400ns", 20, 2, Some((2.2, 2048.0)), true),
        uniform("dragonfly262656", "dragonfly:p=16,a=32,h=16,routing=minimal", "400ns", 8, 1, None, true),
        uniform(
            "dragonfly1328256",
            "dragonfly:p=24,a=48,h=24,routing=minimal",
            "400ns",
            4,
            1,
            Some((1.2, 8192.0)),
            true,
        ),
        stencil("torus32768-stencil", "torus:32x32x32,packet=4096", None),
        stencil("torus524288-stencil", "torus:128x64x64,packet=4096", Some((1.2, 8192.0))),
    ]
}

fn run(case: &PacketCase) -> Result<HostReport, String> {
    let network = if case.network.contains("tree") {
        format!("{},{TREE}", case.network)
    } else {
        format!("{},buf=64KiB", case.network)
    };
    let traffic = TrafficRun {
        spec: parse(&network).map_err(|e| e.to_string())?,
        jobs: Vec::new(),
        pattern: case.pattern.clone(),
        grid: None,
        size: case.size,
        pace: Pace::Interval(case.interval.parse().map_err(|e| format!("{e}"))?),
        fixed: false,
        packets: case.packets,
        seed: 1,
        threads: case.threads,
        margins: (0.0, 0.0),
    };
    traffic.run(&|_, _| ()).map(|report| report.host).map_err(|e| e.to_string())
}

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let compared = match names.first().map(String::as_str) {
        Some("validate") => Some(validate::validate(names.get(1).map(std::path::Path::new))),
        Some("booksim2") => Some(booksim::compare()),
        _ => None,
    };
    if let Some(compared) = compared {
        return match compared {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let mut cases = cases();
    if names.first().is_some_and(|name| name == "--packets") {
        let Some(packets) = names.get(1).and_then(|n| n.parse().ok()) else {
            eprintln!("--packets needs a number: the messages of each endpoint");
            return ExitCode::from(2);
        };
        cases.iter_mut().for_each(|case| case.packets = packets);
        names.drain(..2);
    }
    if let Some(unknown) = names.iter().find(|name| cases.iter().all(|case| case.name != name.as_str())) {
        eprintln!(
            "there is no case '{unknown}'; take of {}",
            cases.iter().map(|c| c.name).collect::<Vec<_>>().join(", ")
        );
        return ExitCode::from(2);
    }
    for case in cases
        .iter()
        .filter(|case| if names.is_empty() { !case.large } else { names.iter().any(|n| n == case.name) })
    {
        let mut best: Option<HostReport> = None;
        for _ in 0..if case.large { 1 } else { 3 } {
            match run(case) {
                Ok(host) if best.as_ref().is_none_or(|b| host.packets_per_s > b.packets_per_s) => {
                    best = Some(host)
                }
                Ok(_) => {}
                Err(error) => {
                    eprintln!("{}: {error}", case.name);
                    return ExitCode::FAILURE;
                }
            }
        }
        let Some(host) = best else { continue };
        let rate = host.packets_per_s / 1e6;
        let wall = rate * host.cpu_s / host.run_s;
        let target =
            case.target.map_or(String::new(), |(rate, memory)| format!(" (to reach {rate} in {memory} MiB)"));
        println!(
            "{:20} {rate:.3} ({wall:.3}) million packets/s, {:.1} million events/s, {} threads, {:.0} \
             MiB{target}",
            case.name,
            host.events_per_s / 1e6,
            host.threads,
            host.memory_mib
        );
    }
    ExitCode::SUCCESS
}

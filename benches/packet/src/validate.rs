//! The packet level against published and measured figures of other simulators.

use network::packet::parse;
use network::traffic::{Pace, SweepReport, TrafficPattern, TrafficReport, TrafficRun, latency_load, sweep};
use std::path::Path;

/// A fat tree under uniform random traffic, and the mean end-to-end latency that CODES prints.
struct FatTreeRun {
    router: &'static str,
    routing: &'static str,
    interval: &'static str,
    reference_ns: f64,
    /// Share by which ours may differ.
    within: f64,
}

const fn tree(
    router: &'static str,
    routing: &'static str,
    interval: &'static str,
    reference_ns: f64,
    within: f64,
) -> FatTreeRun {
    FatTreeRun { router, routing, interval, reference_ns, within }
}

const TREES: [FatTreeRun; 18] = [
    tree("90ns", "ecmp", "1us", 675.4, 0.05),
    tree("90ns", "ecmp", "200ns", 690.7, 0.05),
    tree("90ns", "ecmp", "150ns", 699.8, 0.05),
    tree("90ns", "adaptive", "1us", 675.4, 0.05),
    tree("90ns", "adaptive", "200ns", 690.7, 0.05),
    tree("90ns", "adaptive", "150ns", 699.8, 0.05),
    tree("0ns", "adaptive", "400ns", 257.9, 0.10),
    tree("0ns", "adaptive", "100ns", 297.5, 0.10),
    tree("0ns", "adaptive", "60ns", 398.6, 0.10),
    tree("0ns", "adaptive", "50ns", 557.4, 0.10),
    tree("0ns", "dmodk", "400ns", 257.9, 0.10),
    tree("0ns", "dmodk", "100ns", 297.5, 0.10),
    tree("0ns", "dmodk", "60ns", 398.6, 0.10),
    tree("0ns", "dmodk", "50ns", 557.4, 0.10),
    tree("0ns", "ecmp", "400ns", 257.9, 0.15),
    tree("0ns", "ecmp", "100ns", 297.5, 0.15),
    tree("0ns", "ecmp", "60ns", 398.6, 0.15),
    tree("0ns", "ecmp", "50ns", 557.4, 0.15),
];

/// A network of single-flit packets with a cycle of 1 ns, and BookSim2's latency in cycles at some loads.
struct BookSimGrid {
    name: &'static str,
    network: &'static str,
    /// Load in flits a cycle and node, latency in cycles.
    curve: &'static [(f64, f64)],
    saturation: f64,
}

const GRIDS: [BookSimGrid; 3] = [
    BookSimGrid {
        name: "mesh 8x8",
        network: "mesh:8x8,b=64Gbps,l=1ns,router=2ns,vcs=8,buf=64B,packet=8,outq=0,queue=fifo,turnaround=2ns,\
            crossbar=islip",
        curve: &[(0.01, 26.9), (0.1, 27.3), (0.2, 27.8), (0.3, 29.2), (0.4, 38.4)],
        saturation: 0.43,
    },
    BookSimGrid {
        name: "torus 8x8",
        network: "torus:8x8,rings=dateline,b=64Gbps,l=1ns,router=2850ps,vcs=8,buf=64B,packet=8,outq=0,\
            queue=fifo,turnaround=2ns,crossbar=islip",
        curve: &[(0.01, 26.3), (0.3, 26.9), (0.5, 29.4), (0.6, 33.7)],
        saturation: 0.674,
    },
    BookSimGrid {
        name: "4-ary 3-tree",
        network: "taperedtree:down=4x4x4,up=4x4,b=64Gbps,l=1ns,router=2ns,vcs=8,buf=64B,packet=8,outq=0,\
            queue=fifo,turnaround=2ns,crossbar=islip",
        curve: &[(0.01, 19.5), (0.3, 20.4), (0.5, 23.1), (0.7, 50.3)],
        saturation: 0.746,
    },
];

fn traffic(network: &str, size: u64, pace: Pace, packets: u64) -> Result<TrafficRun, String> {
    Ok(TrafficRun {
        spec: parse(network).map_err(|e| e.to_string())?,
        jobs: Vec::new(),
        pattern: TrafficPattern::Uniform,
        grid: None,
        size,
        pace,
        fixed: false,
        packets,
        seed: 1,
        threads: 1,
        margins: (0.0, 0.0),
    })
}

fn run(network: &str, interval: &str, packets: u64) -> Result<TrafficReport, String> {
    let pace = Pace::Interval(interval.parse().map_err(|e| format!("{e}"))?);
    traffic(network, 512, pace, packets)?.run(&|_, _| ()).map_err(|e| e.to_string())
}

/// Prints every comparison; with `figures` also writes the curves there. Whether all are within their bounds.
pub fn validate(figures: Option<&Path>) -> Result<bool, String> {
    let mut holds = true;
    let mut judge = |ok: bool| {
        holds &= ok;
        if ok { "" } else { "  OUT OF BOUNDS" }
    };
    println!("8-port 3-tree, 512 B, uniform random, against CODES (mean ns)");
    for t in &TREES {
        let network = format!(
            "fattree:m=8,n=3,l=0ns,b=100Gbps,router={},vcs=1,buf=64KiB,routing={}",
            t.router, t.routing
        );
        let total = run(&network, t.interval, 3000)?.simulated.total;
        let off = total.latency.mean_ns / t.reference_ns - 1.0;
        let verdict = judge(off.abs() <= t.within);
        println!(
            "router {:4} {:8} every {:5}: {:.1} against {:.1}: {:+.1} % (within {:.0} %){verdict}",
            t.router,
            t.routing,
            t.interval,
            total.latency.mean_ns,
            t.reference_ns,
            off * 100.0,
            t.within * 100.0
        );
    }
    for grid in &GRIDS {
        println!(
            "{}, single-flit packets, 8 virtual channels of 8 flits, against BookSim2 (cycles)",
            grid.name
        );
        let mut rates: Vec<f64> = grid.curve.iter().map(|c| c.0).collect();
        rates.extend([0.35, 0.45, 0.55, 0.65, 0.75, 0.8, 0.9, 1.0]);
        rates.sort_by(f64::total_cmp);
        let curve = sweep(&traffic(grid.network, 8, Pace::Rate(1.0), 3000)?, &rates, &|_, _| ())
            .map_err(|e| e.to_string())?;
        for &(load, reference) in grid.curve {
            let Some(point) = curve.points.iter().find(|p| p.offered == load) else { continue };
            let off = point.latency_mean_ns / reference - 1.0;
            let bound = load < grid.saturation / 2.0;
            let verdict = judge(!bound || off.abs() <= 0.10);
            println!(
                "load {load:.2}: {:.1} against {reference:.1}: {:+.1} %{}{verdict}",
                point.latency_mean_ns,
                off * 100.0,
                if bound { " (within 10 %)" } else { "" }
            );
        }
        let off = curve.saturation / grid.saturation - 1.0;
        let verdict = judge(off.abs() <= 0.05);
        println!(
            "saturation {:.3} against {:.3}: {:+.1} % (within 5 %){verdict}",
            curve.saturation,
            grid.saturation,
            off * 100.0
        );
        if let Some(directory) = figures {
            draw(directory, grid, &curve)?;
        }
    }
    Ok(holds)
}

fn draw(directory: &Path, grid: &BookSimGrid, curve: &SweepReport) -> Result<(), String> {
    let mut other = curve.clone();
    other.points = grid
        .curve
        .iter()
        .map(|&(load, latency)| network::traffic::SweepPoint {
            offered: load,
            accepted: load,
            latency_mean_ns: latency,
            latency_p99_ns: latency,
            message_latency_mean_ns: latency,
            message_latency_p99_ns: latency,
        })
        .collect();
    let svg = latency_load(&[("xsim", curve), ("BookSim2", &other)]);
    let path = directory.join(format!("packet-{}.svg", grid.name.replace(' ', "-")));
    std::fs::write(&path, svg).map_err(|e| format!("'{}' cannot be written: {e}", path.display()))
}

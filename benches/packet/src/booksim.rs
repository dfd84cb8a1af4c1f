//! Wormhole routers past saturation against BookSim2's.

use network::packet::parse;
use network::traffic::{Pace, TrafficRun, sweep};

/// The load that BookSim2 accepts beyond saturation.
struct Row {
    network: &'static str,
    /// The options; a cycle is 1 ns and a flit 8 bytes.
    options: &'static str,
    flits: u64,
    pattern: &'static str,
    /// Flits a cycle and node.
    offered: f64,
    accepted: f64,
    /// Share by which ours may differ.
    within: f64,
}

const fn row(
    network: &'static str,
    options: &'static str,
    flits: u64,
    pattern: &'static str,
    offered: f64,
    accepted: f64,
) -> Row {
    Row { network, options, flits, pattern, offered, accepted, within: 0.05 }
}

const ROUTER: &str = "b=64Gbps,chunk=8,switching=wormhole";
const MESH: &str = "mesh:8x8,l=1ns,credit=0ns";
const TORUS: &str = "torus:8x8,rings=dateline,l=2ns,credit=1ns";
const TREE: &str = "taperedtree:down=4x4x4,up=4x4,l=1ns,credit=0ns";
const HYPERX: &str = "hyperx:4x4,p=4,l=1ns,credit=0ns";
const DRAGONFLY: &str = "dragonfly:p=2,a=4,h=2,l=10ns,gl=100ns";

/// Accepted at BookSim2 28f4329 with its defaults and `routing_delay=1`, 2026-11-22.
const ROWS: [Row; 19] = [
    row(MESH, "vcs=8", 1, "uniform", 0.60, 0.398),
    row(MESH, "vcs=2", 1, "uniform", 0.60, 0.289),
    row(MESH, "vcs=1", 1, "uniform", 0.60, 0.143),
    row(MESH, "vcs=4", 4, "uniform", 0.60, 0.400),
    row(MESH, "vcs=4", 10, "uniform", 0.60, 0.393),
    row(MESH, "vcs=2,speedup=2", 1, "uniform", 0.60, 0.484),
    row(TORUS, "vcs=8", 1, "uniform", 0.90, 0.559),
    row(TORUS, "vcs=2,buf=128B", 1, "uniform", 0.90, 0.213),
    row(TORUS, "vcs=2", 1, "uniform", 0.90, 0.218),
    row(TORUS, "vcs=8", 1, "tornado", 0.90, 0.0859),
    row(TORUS, "vcs=8", 1, "bit-complement", 0.90, 0.337),
    row(TREE, "vcs=8", 1, "uniform", 0.95, 0.734),
    row(TREE, "vcs=1", 1, "uniform", 0.95, 0.242),
    row(TREE, "vcs=4", 4, "uniform", 0.95, 0.661),
    row(HYPERX, "vcs=8,routing=dor", 1, "uniform", 0.95, 0.681),
    row(HYPERX, "vcs=8,routing=dor-valiant", 1, "uniform", 0.95, 0.381),
    row(HYPERX, "vcs=8,routing=dor", 1, "bit-complement", 0.95, 0.250),
    row(DRAGONFLY, "vcs=2,buf=2KiB,routing=minimal-2vc", 10, "uniform", 0.95, 0.554),
    // Here endpoints take packets by any virtual channel, there by that of the packet's set.
    Row { within: 0.07, ..row(DRAGONFLY, "vcs=2,buf=2KiB,routing=minimal-2vc", 1, "uniform", 0.95, 0.326) },
];

/// Prints each row; whether all are within their bounds.
///
/// # Errors
/// A sentence, where a network cannot be built or run.
pub fn compare() -> Result<bool, String> {
    let mut all = true;
    for row in &ROWS {
        let clock = if row.options.contains("speedup") {
            "router=500ps,turnaround=1ns,outq=64"
        } else {
            "router=1ns,turnaround=2ns,outq=0"
        };
        let buffer = if row.options.contains("buf=") { "" } else { ",buf=64B" };
        let network =
            format!("{},{ROUTER},{clock},packet={}{buffer},{}", row.network, 8 * row.flits, row.options);
        let traffic = TrafficRun {
            spec: parse(&network).map_err(|e| e.to_string())?,
            jobs: Vec::new(),
            pattern: row.pattern.parse()?,
            grid: (row.pattern == "tornado").then(|| vec![8, 8]),
            size: 8 * row.flits,
            pace: Pace::Rate(row.offered),
            fixed: false,
            // Buffers of 256 flits take long to fill, and until then more is accepted than in the end.
            packets: if row.options.contains("2KiB") { 24_000 } else { 6_000 } / row.flits,
            seed: 3,
            threads: 1,
            margins: (0.0, 0.0),
        };
        let accepted = sweep(&traffic, &[row.offered], &|_, _| ()).map_err(|e| e.to_string())?.saturation;
        let off = accepted / row.accepted - 1.0;
        all &= off.abs() <= row.within;
        let (topology, _) = row.network.split_once(',').unwrap_or((row.network, ""));
        println!(
            "{topology} {}, {} flits, {} {}: {:.4} against {} ({:+.1} %){}",
            row.options,
            row.flits,
            row.pattern,
            row.offered,
            accepted,
            row.accepted,
            100.0 * off,
            if off.abs() <= row.within { "" } else { ", out of bounds" }
        );
    }
    Ok(all)
}

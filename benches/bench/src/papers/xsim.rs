//! The network model of xSim: micro-benchmarks, and the NAS Parallel Benchmarks on the networks of Table I.

mod claims;
mod nas;

pub use claims::{CITATION, CLAIMS};

use super::FigureRequest;
use super::values::figure_row;
use crate::lab::{Lab, NO_COMPUTE};
use crate::measure::Invocation;
use crate::results::ResultRow;
use std::path::Path;

/// Ranks of figures 13 and 14, and of figure 11's mesh of 8 by 16.
const MESH_RANKS: u32 = 128;
/// Messages of a run that only averages latencies, at most.
const MAX_SAMPLES: u32 = 1 << 18;
/// Ranks of figure 11 at most: n^2 messages of more take minutes each.
const MAX_SQUARED_RANKS: u32 = 2048;
/// Seeds that latencies are averaged over.
const SEEDS: u32 = 3;

/// Measures all figures.
pub fn rows(lab: &Lab, request: &FigureRequest) -> Result<Vec<ResultRow>, String> {
    let mut rows = Vec::new();
    let programs =
        ["random", "ring", "hello"].map(|name| lab.compile("cc", &format!("examples/c/{name}.c"), name, ""));
    let [random, ring, hello] = programs;
    let (random, ring, hello) = (random?, ring?, hello?);
    if request.wants("I") {
        scale(lab, request, &hello, &mut rows)?;
    }
    if request.wants("11") {
        native_scaling(lab, &random, &mut rows)?;
        virtual_scaling(lab, request, &random, &mut rows)?;
    }
    if request.wants("12") {
        topologies(lab, request, &random, &ring, &mut rows)?;
    }
    if request.wants("13") {
        bandwidths(lab, &random, &mut rows)?;
    }
    if request.wants("14") {
        nested(lab, &random, &mut rows)?;
    }
    nas::rows(lab, request, &mut rows)?;
    Ok(rows)
}

/// Begins a run of an example on a machine, without computation.
fn run(lab: &Lab, program: &Path, arguments: &str, ranks: u32, machine: &str) -> Invocation {
    lab.ranks(program, arguments, ranks).args(NO_COMPUTE).args(&format!("-xsim-mn {machine}"))
}

/// Returns the mean latency in microseconds that `random` or `ring` prints in its last line.
fn latency(lab: &Lab, run: &Invocation) -> Result<f64, String> {
    let output = lab.once(run)?.output;
    let number = output.lines().last().and_then(|line| line.split_whitespace().rev().nth(1)?.parse().ok());
    number.ok_or_else(|| format!("a latency was expected as the last word but one, not: {output}"))
}

/// Returns the mean latency of `random` over several seeds.
fn random_latency(lab: &Lab, random: &Path, ranks: u32, machine: &str) -> Result<f64, String> {
    let hops = ranks.min(MAX_SAMPLES / ranks);
    let mut sum = 0.0;
    for seed in 1..=SEEDS {
        sum += latency(lab, &run(lab, random, &format!("{hops} {seed}"), ranks, machine))?;
    }
    Ok(sum / f64::from(SEEDS))
}

/// Measures how many ranks a run of `hello` can have.
fn scale(lab: &Lab, request: &FigureRequest, hello: &Path, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    let ranks = request.most.saturating_mul(256).min(1_000_000);
    let cost = lab.once(&run(lab, hello, "", ranks, "none"))?;
    let case = format!("hello, {ranks} ranks on one process");
    rows.push(figure_row("I", case.clone(), "GB", cost.gigabytes(), Some(4.0)));
    rows.push(figure_row("I", case, "CPU s", cost.cpu_s, None));
    Ok(())
}

/// Measures figure 11, top: the same run on one native process and on two, if MPICH is there.
fn native_scaling(lab: &Lab, random: &Path, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    if !lab.has_mpich() {
        return Ok(());
    }
    let single = run(lab, random, "2000 1", MESH_RANKS, "mesh:8x16,l=1us,b=1Gbps");
    let double = single.clone().under(Invocation::of("mpirun.mpich").args("-np 2"));
    let [single, double] = lab.least_of(3, [&single, &double])?;
    rows.push(figure_row("11", "128 ranks, 1 process", "wall s", single.wall_s, None));
    rows.push(figure_row("11", "128 ranks, 2 processes", "wall s", double.wall_s, None));
    Ok(())
}

/// Returns networks for `ranks` (a power of two) endpoints: name and specification without links.
fn networks(ranks: u32) -> Vec<(&'static str, String)> {
    let rows = 1 << (ranks.ilog2() / 2);
    let columns = ranks / rows;
    vec![
        ("star", format!("star:{ranks}")),
        ("ring", format!("ring:{ranks},dir=2")),
        ("one-way ring", format!("ring:{ranks},dir=1")),
        ("mesh", format!("mesh:{rows}x{columns}")),
        ("torus", format!("torus:{rows}x{columns}")),
        ("twisted torus", format!("twisted:{rows}x{columns},degree=1,jump=1x1")),
        ("tree", format!("tree:{ranks},degree=2")),
    ]
}

/// Measures figure 11, bottom: n^2 messages on all networks and without one, the least of some rounds in
/// which they take turns.
fn virtual_scaling(
    lab: &Lab,
    request: &FigureRequest,
    random: &Path,
    rows: &mut Vec<ResultRow>,
) -> Result<(), String> {
    for ranks in request.powers(256).take_while(|&ranks| ranks <= MAX_SQUARED_RANKS) {
        let machines: Vec<(&str, String)> = std::iter::once(("none", "none".to_owned()))
            .chain(networks(ranks).into_iter().map(|(name, spec)| (name, format!("{spec},l=1us,b=1Gbps"))))
            .collect();
        let runs: Vec<Invocation> = machines
            .iter()
            .map(|(_, machine)| run(lab, random, &format!("{ranks} 1"), ranks, machine))
            .collect();
        let mut least = vec![f64::INFINITY; runs.len()];
        for _ in 0..3 {
            for (run, least) in runs.iter().zip(&mut least) {
                *least = least.min(lab.once(run)?.cpu_s);
            }
        }
        for ((name, _), cpu_s) in machines.iter().zip(least) {
            rows.push(figure_row("11", format!("random on {name}, {ranks} ranks"), "CPU s", cpu_s, None));
        }
    }
    Ok(())
}

/// Measures figure 12: mean latencies of `random` and `ring` on all networks.
fn topologies(
    lab: &Lab,
    request: &FigureRequest,
    random: &Path,
    ring: &Path,
    rows: &mut Vec<ResultRow>,
) -> Result<(), String> {
    for ranks in request.powers(32).take_while(|&ranks| ranks <= 2048) {
        for (name, spec) in networks(ranks) {
            let machine = format!("{spec},l=1us,b=1Gbps");
            let mean = random_latency(lab, random, ranks, &machine)?;
            rows.push(figure_row("12", format!("random on {name}, {ranks} ranks"), "us", mean, None));
            let mean = latency(lab, &run(lab, ring, &ranks.to_string(), ranks, &machine))?;
            rows.push(figure_row("12", format!("ring on {name}, {ranks} ranks"), "us", mean, None));
        }
    }
    Ok(())
}

/// Measures figure 13: `random` on a mesh while links get slower.
fn bandwidths(lab: &Lab, random: &Path, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    for bandwidth in ["1Gbps", "1Mbps", "100kbps", "10kbps", "1kbps", "100bps", "10bps", "1bps", "0.1bps"] {
        let machine = format!("mesh:8x16,l=1us,b={bandwidth}");
        let mean = random_latency(lab, random, MESH_RANKS, &machine)?;
        rows.push(figure_row("13", bandwidth, "us", mean, None));
    }
    Ok(())
}

/// Measures figure 14: the same network between processors and between their cores.
fn nested(lab: &Lab, random: &Path, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    for cores in (0..=MESH_RANKS.ilog2()).map(|k| 1 << k) {
        for ((name, outer), (_, inner)) in networks(MESH_RANKS / cores).into_iter().zip(networks(cores)) {
            let machine = format!("{outer},l=1us,b=1Gbps/{inner},l=0.1us,b=10Gbps");
            let mean = random_latency(lab, random, MESH_RANKS, &machine)?;
            rows.push(figure_row("14", format!("{name}, {cores} cores a processor"), "us", mean, None));
        }
    }
    Ok(())
}

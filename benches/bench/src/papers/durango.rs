//! Durango: what LULESH's phases move, and rounds of messages and models of computation on large networks.

mod claims;

pub use claims::{CITATION, CLAIMS};

use super::FigureRequest;
use super::values::figure_row;
use crate::aspen::{PHASES, generated, walk};
use crate::lab::{Lab, root};
use crate::measure::Invocation;
use crate::results::{ResultRow, rounded};

/// Measures all figures.
pub fn rows(lab: &Lab, request: &FigureRequest) -> Result<Vec<ResultRow>, String> {
    let mut rows = Vec::new();
    if request.wants("4 to 7") {
        phases(lab, &mut rows)?;
    }
    if request.wants("8 to 10") {
        rounds(lab, request, &mut rows)?;
    }
    if request.wants("processes") {
        processes(lab, request, &mut rows)?;
    }
    Ok(rows)
}

/// Measures figures 4 to 7: ten steps of each phase on 64 ranks, as a walk and as a generated program.
fn phases(lab: &Lab, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    for (phase, paper) in PHASES {
        for (how, found) in [("walked", walk(lab, phase)?), ("generated program", generated(lab, phase)?)] {
            let case = format!("{phase}, {how}");
            for (at, quantity) in ["bytes", "packets", "hops"].into_iter().enumerate() {
                rows.push(figure_row(
                    "4 to 7",
                    case.clone(),
                    quantity,
                    found[at] as f64,
                    Some(paper[at] as f64),
                ));
            }
            let [ours, theirs] = [found, paper].map(|moved| moved[2] as f64 / moved[1] as f64);
            rows.push(figure_row("4 to 7", case, "hops a packet", ours, Some(rounded(theirs, 4))));
        }
    }
    Ok(())
}

/// A run of rounds of messages and of matrix products on a network.
fn rounds_on(lab: &Lab, ranks: u32, machine: &str) -> Invocation {
    lab.xsim("aspen run --quiet")
        .arg(root().join("examples/aspen/rounds.aspen"))
        .args(&format!("-n {ranks} -m {machine} --machine-model"))
        .arg(root().join("examples/aspen/rig.aspen"))
        .args("--socket cpu --socket accelerator=gpu")
}

/// Measures figures 8 to 10: rounds on a torus of 32,768 nodes and on the dragonfly of 1.3 million, as far as
/// `--most` times 1024 nodes go.
fn rounds(lab: &Lab, request: &FigureRequest, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    let torus = "torus:8x8x8x8x8,l=100ns,b=16Gbps,packet=512,level=packet";
    let small = "dragonfly:p=8,a=16,h=8,l=100ns,b=40Gbps,packet=512,routing=minimal,level=packet";
    let large = "dragonfly:p=24,a=48,h=24,l=100ns,b=40Gbps,packet=512,routing=minimal,level=packet";
    for (name, ranks, machine, paper) in [
        ("dragonfly", 16_512u32, small, None),
        ("torus 8^5", 32_768, torus, Some(726.0)),
        ("dragonfly", 1_328_256, large, Some(2200.0)),
    ] {
        if ranks > request.most.saturating_mul(1024) {
            continue;
        }
        // 128 requests, as in listing 6, which would take hours on the largest network.
        let requests = if ranks > 1_000_000 { 2 } else { 128 };
        let run = rounds_on(lab, ranks, machine).args(&format!("--param requests={requests} --report"));
        let run = run.arg(lab.scratch("report.json"));
        let cost = lab.once(&run)?;
        let case = format!("{name}, {ranks} nodes, {requests} requests");
        rows.push(figure_row("8 to 10", case.clone(), "wall s", cost.wall_s, paper));
        rows.push(figure_row("8 to 10", case.clone(), "CPU s", cost.cpu_s, None));
        rows.push(figure_row("8 to 10", case.clone(), "GB", cost.gigabytes(), None));
        let packets = lab.reported("report.json", "/simulated/network/total/packets")?;
        rows.push(figure_row("8 to 10", case, "packets", packets, None));
    }
    Ok(())
}

/// Measures the strong scaling of rounds by formula over native processes, if MPICH is there.
fn processes(lab: &Lab, request: &FigureRequest, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    if !lab.has_mpich() {
        return Ok(());
    }
    let ranks = request.most.saturating_mul(512).min(1_000_000);
    let single = rounds_on(lab, ranks, "star:l=1us,b=100Gbps");
    let double = single.clone().under(Invocation::of("mpirun.mpich").args("-np 2"));
    for (count, cost) in [1, 2].into_iter().zip(lab.least_of(3, [&single, &double])?) {
        let noun = if count == 1 { "process" } else { "processes" };
        let case = format!("by formula, {ranks} ranks, {count} {noun}");
        rows.push(figure_row("processes", case.clone(), "wall s", cost.wall_s, None));
        let each = cost.cpu_s / f64::from(count);
        rows.push(figure_row("processes", case, "CPU s a process", each, None));
    }
    Ok(())
}

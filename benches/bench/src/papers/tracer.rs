//! TraceR: replays of a 3-D stencil and of LeanMD on tori, by formula and as packets, and two jobs at a time.

mod claims;

pub use claims::{CITATION, CLAIMS};

use super::FigureRequest;
use super::values::figure_row;
use crate::lab::{Lab, root};
use crate::results::ResultRow;

/// Levels: the paper's name, ours, and keys of the specification.
const LEVELS: [(&str, &str, &str); 2] =
    [("SimpleNet", "formula", ""), ("TorusNet", "packets", ",level=packet,header=0")];
/// Payload of a packet of the stencil, which the paper does not state.
const STENCIL_PACKET: &str = "packet=4096";
/// Links of the 3-D torus: Blue Gene/P's, 425 MB/s.
const LINKS: &str = "l=100ns,b=3.4Gbps";
/// Sides of the stencil's cube and of its torus.
const CUBES: [[u32; 3]; 4] = [[8, 8, 8], [16, 16, 16], [32, 32, 32], [80, 80, 81]];

/// Measures all figures.
pub fn rows(lab: &Lab, request: &FigureRequest) -> Result<Vec<ResultRow>, String> {
    let mut rows = Vec::new();
    if request.wants("6") {
        stencils(lab, request, &mut rows)?;
    }
    if request.wants("7") {
        molecules(lab, request, &mut rows)?;
    }
    if request.wants("beyond") {
        two_jobs(lab, &mut rows)?;
    }
    Ok(rows)
}

/// Returns the number of seconds that the paper states for 512 K nodes on 512 cores.
fn published(level: &str, nodes: u32) -> Option<f64> {
    match (level, nodes) {
        ("SimpleNet", 500_000..) => Some(95.0),
        ("TorusNet", 500_000..) => Some(542.0),
        _ => None,
    }
}

/// Measures figures 5 and 6: replays of three exchanges of 128 KiB faces, up to `--most` times 1024 nodes.
fn stencils(lab: &Lab, request: &FigureRequest, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    let model = root().join("benches/programs/faces.aspen");
    let trace = lab.scratch("stencil.trace");
    for sides in CUBES {
        let nodes: u32 = sides.iter().product();
        if nodes > request.most.saturating_mul(1024) {
            continue;
        }
        let torus = format!("torus:{}x{}x{}", sides[0], sides[1], sides[2]);
        let record =
            lab.xsim("aspen run").arg(&model).args(&format!("-n {nodes} -m {torus} --quiet --trace"));
        lab.once(&record.arg(&trace))?;
        let read = lab.once(&lab.xsim("trace stat").arg(&trace))?;
        for (level, ours, keys) in LEVELS {
            let packet = if keys.is_empty() { String::new() } else { format!(",{STENCIL_PACKET}") };
            let machine = format!("{torus},{LINKS}{keys}{packet}");
            let replay = lab.xsim("replay --quiet --compute none -m").arg(machine);
            let report = lab.scratch("report.json");
            let cost = lab.once(&replay.arg("--report").arg(report).arg(&trace))?;
            let case = format!("stencil, {level} ({ours}), {nodes} nodes");
            rows.push(figure_row("6", case.clone(), "CPU s", cost.cpu_s, published(level, nodes)));
            rows.push(figure_row("6", case.clone(), "wall s", cost.wall_s, None));
            rows.push(figure_row("6", case.clone(), "GB", cost.gigabytes(), None));
            rows.push(figure_row("6", case.clone(), "% reading", 100.0 * read.cpu_s / cost.cpu_s, None));
            let time = lab.reported("report.json", "/simulated/virtual_time_ps")? / 1e9;
            rows.push(figure_row("6", case, "virtual ms", time, None));
        }
    }
    Ok(())
}

/// Measures figure 7: LeanMD with 1.2 million atoms on 5-D tori of 512 to 32,768 nodes.
fn molecules(lab: &Lab, request: &FigureRequest, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    let model = root().join("examples/aspen/leanmd.aspen");
    for (nodes, torus) in
        [(512u32, "torus:4x4x4x4x2"), (4096, "torus:8x8x8x4x2"), (32_768, "torus:8x8x8x8x8")]
    {
        if nodes > request.most.saturating_mul(64) {
            continue;
        }
        for (level, ours, keys) in LEVELS {
            let run = lab
                .xsim("aspen run --quiet")
                .arg(&model)
                .args(&format!("-n {nodes} --param ranks={nodes} -m {torus},l=50ns,b=16Gbps{keys} --report"));
            let cost = lab.once(&run.arg(lab.scratch("report.json")))?;
            let case = format!("LeanMD, {level} ({ours}), {nodes} nodes");
            let paper = match (level, nodes) {
                ("SimpleNet", 32_768) => Some(2.0),
                ("TorusNet", 32_768) => Some(65.0),
                _ => None,
            };
            rows.push(figure_row("7", case.clone(), "CPU s", cost.cpu_s, paper));
            let time = lab.reported("report.json", "/simulated/virtual_time_ps")? / 1e6;
            rows.push(figure_row("7", case, "virtual us", time, None));
        }
    }
    Ok(())
}

/// Measures what two stencils of 1,728 ranks cost each other on a torus of 4,096 nodes, side by side and on
/// nodes that are drawn.
fn two_jobs(lab: &Lab, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    let model = root().join("benches/programs/faces.aspen");
    let trace = lab.scratch("job.trace");
    let record = lab.xsim("aspen run").arg(model).args("-n 1728 -m torus:16x16x16 --quiet --trace");
    lab.once(&record.arg(&trace))?;
    let machine = format!("torus:16x16x16,{LINKS},level=packet,{STENCIL_PACKET},header=0");
    for (name, places) in [("in rows", ["next", "next"]), ("drawn", ["random:1", "random:2"])] {
        let mut run = lab.xsim("replay --quiet --compute none -m").arg(&machine);
        for place in places {
            run = run.arg("--job").arg(format!("{}@{place}", trace.display()));
        }
        lab.once(&run.arg("--report").arg(lab.scratch("report.json")))?;
        for job in [0, 1] {
            let ms = |field: &str| {
                Ok::<_, String>(lab.reported("report.json", &format!("/simulated/jobs/{job}/{field}"))? / 1e9)
            };
            let (alone, together) = (ms("alone_ps")?, ms("virtual_time_ps")?);
            let case = format!("job {} of 2, {name}", job + 1);
            rows.push(figure_row("beyond", case.clone(), "ms alone", alone, None));
            rows.push(figure_row("beyond", case.clone(), "ms together", together, None));
            rows.push(figure_row("beyond", case, "% longer", 100.0 * (together / alone - 1.0), None));
        }
    }
    Ok(())
}

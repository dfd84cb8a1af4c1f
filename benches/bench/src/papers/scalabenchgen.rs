//! ScalaBenchGen: programs made of traces of the NAS Parallel Benchmarks, beside the programs.

mod claims;

pub use claims::{CITATION, CLAIMS};

use super::FigureRequest;
use super::values::figure_row;
use crate::lab::Lab;
use crate::results::ResultRow;
use crate::traces::npb::{GeneratedBenchmark, MACHINES};

/// Codes and lines of the paper's generated programs with 16 and with 512 ranks (table III).
const CODES: [(&str, f64, f64); 8] = [
    ("bt", 705.0, 705.0),
    ("cg", 1057.0, 2815.0),
    ("ep", 538.0, 538.0),
    ("ft", 552.0, 552.0),
    ("is", 571.0, 571.0),
    ("lu", 2504.0, 2504.0),
    ("mg", 2603.0, 9507.0),
    ("sp", 689.0, 689.0),
];
/// Numbers of ranks of the paper; BT and SP take the nearest squares.
const RANKS: [u32; 9] = [16, 32, 36, 64, 121, 128, 256, 484, 512];

/// Measures all figures.
pub fn rows(lab: &Lab, request: &FigureRequest) -> Result<Vec<ResultRow>, String> {
    let mut rows = Vec::new();
    if request.wants("8") {
        for (code, few, many) in CODES {
            timing(lab, request, code, [few, many], &mut rows)?;
        }
    }
    if request.wants("Table III") {
        averaged(lab, request, &mut rows)?;
    }
    if request.wants("10") {
        other_machine(lab, request, &mut rows)?;
    }
    Ok(rows)
}

/// Returns the virtual seconds of a run.
fn seconds(lab: &Lab, run: crate::measure::Invocation) -> Result<f64, String> {
    lab.once(&run.arg("-xsim-report").arg(lab.scratch("report.json")))?;
    Ok(lab.reported("report.json", "/simulated/virtual_time_ps")? / 1e12)
}

/// Measures figure 8 and table III for a code: errors of time, calls and lines.
fn timing(
    lab: &Lab,
    request: &FigureRequest,
    code: &str,
    [few, many]: [f64; 2],
    rows: &mut Vec<ResultRow>,
) -> Result<(), String> {
    for ranks in RANKS.into_iter().filter(|&ranks| ranks <= request.most) {
        let Some(program) = request.program(code, ranks) else { continue };
        let run = lab.ranks(&program, "", ranks).args(&format!("-xsim-mn {}", MACHINES[0]));
        let case = format!("{code}, {ranks} ranks");
        // Codes end by themselves where their class is too small for so many ranks.
        if lab.once(&run).is_err() {
            rows.push(figure_row("8", case, "runs", 0.0, Some(1.0)));
            continue;
        }
        let name = format!("{code}-{ranks}");
        let made = GeneratedBenchmark::make(lab, &run, ranks, &name, ["histogram", "drawn"])?;
        rows.push(figure_row("8", case.clone(), "program s", made.program_s, None));
        rows.push(figure_row("8", case.clone(), "error %", made.error(), None));
        rows.push(figure_row("8", case.clone(), "same calls", f64::from(u8::from(made.is_same)), Some(1.0)));
        let paper = match ranks {
            16 => Some(few),
            512 => Some(many),
            _ => None,
        };
        let lines = made.main_lines + made.util_lines;
        rows.push(figure_row("8", case.clone(), "lines", lines as f64, paper));
        rows.push(figure_row("8", case, "lines of main.c", made.main_lines as f64, None));
    }
    Ok(())
}

/// Measures the lines of IS for table III with all-to-all counts averaged, as the paper does.
fn averaged(lab: &Lab, request: &FigureRequest, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    for ranks in RANKS.into_iter().filter(|&ranks| ranks <= request.most) {
        let Some(program) = request.program("is", ranks) else { continue };
        let (trace, sources) = (lab.scratch("is.trace"), lab.scratch(&format!("is-{ranks}-averaged")));
        let run = lab.ranks(&program, "", ranks).args(&format!("-xsim-mn {}", MACHINES[0]));
        lab.once(&run.arg("-xsim-trace").arg(&trace))?;
        let make = lab.xsim("trace benchmark --average").arg(&trace).arg("-o").arg(&sources);
        lab.once(&make)?;
        let mut lines = 0;
        for name in ["main.c", "util.c"] {
            let text = std::fs::read_to_string(sources.join(name)).map_err(|why| format!("{name}: {why}"))?;
            lines += text.lines().count();
        }
        let case = format!("is, {ranks} ranks");
        rows.push(figure_row("Table III", case, "lines averaged", lines as f64, Some(571.0)));
    }
    Ok(())
}

/// Measures figures 9 and 10: IS and MG on a processor that takes 0.775 of the time, from a trace of the
/// slower one with its times scaled, and as they are.
fn other_machine(lab: &Lab, request: &FigureRequest, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    const FACTOR: f64 = 0.775;
    for code in ["is", "mg"] {
        for ranks in RANKS.into_iter().filter(|&ranks| ranks <= request.most.min(128)) {
            let Some(program) = request.program(code, ranks) else { continue };
            let run = lab.ranks(&program, "", ranks).args(&format!("-xsim-mn {}", MACHINES[0]));
            // Measured computation varies with the host: the least of three runs counts for both.
            let (mut slow, mut fast, mut trace) = (f64::INFINITY, f64::INFINITY, lab.scratch("0.trace"));
            for round in 0..3 {
                let path = lab.scratch(&format!("{round}.trace"));
                let traced = seconds(lab, run.clone().arg("-xsim-trace").arg(&path))?;
                if traced < slow {
                    (slow, trace) = (traced, path);
                }
                fast = seconds(lab, run.clone().args(&format!("-xsim-proc {FACTOR}")))?.min(fast);
            }
            let case = format!("{code}, {ranks} ranks");
            rows.push(figure_row("10", case.clone(), "program s", fast, None));
            for (quantity, factor) in [("% as traced", 1.0), ("% scaled", FACTOR)] {
                let replay = lab.xsim("replay --quiet -m").arg(MACHINES[0]);
                let replay = replay.args(&format!("--compute {factor} --report"));
                lab.once(&replay.arg(lab.scratch("report.json")).arg(&trace))?;
                let s = lab.reported("report.json", "/simulated/virtual_time_ps")? / 1e12;
                rows.push(figure_row("10", case.clone(), quantity, 100.0 * (s / fast - 1.0), None));
            }
        }
    }
    Ok(())
}

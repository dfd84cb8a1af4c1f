//! The cost of private globals: a switch of ranks with each strategy above `none`, and the start of a program
//! with many of them.

use crate::lab::{Lab, NO_COMPUTE, is_installed};
use crate::results::{ResultRow, rounded};
use std::path::Path;

/// Bytes of globals, and those of them that ranks write.
const SIZES: [(u32, u32); 6] =
    [(256, 200), (1024, 200), (4096, 4096), (8192, 200), (65_536, 200), (65_536, 4096)];

/// Processor time, switches and memory of a run, as its report has them.
#[derive(Clone, Copy)]
struct Reported {
    cpu_s: f64,
    switches: f64,
    peak_bytes: f64,
}

/// Runs a program some times; the run with the least processor time counts.
fn least(
    lab: &Lab,
    runs: u32,
    program: &Path,
    words: &str,
    ranks: u32,
    globals: &str,
) -> Result<Reported, String> {
    let run = lab.ranks(program, words, ranks).args(NO_COMPUTE).args(&format!("-xsim-globals {globals}"));
    let run = run.arg("-xsim-report").arg(lab.scratch("report.json"));
    let mut best: Option<Reported> = None;
    for _ in 0..runs {
        lab.once(&run)?;
        let number = |name: &str| lab.reported("report.json", &format!("/host/{name}"));
        let this = Reported {
            cpu_s: number("cpu_time_s")?,
            switches: number("context_switches")?,
            peak_bytes: number("peak_rss_bytes")?,
        };
        best = Some(best.filter(|best| best.cpu_s <= this.cpu_s).unwrap_or(this));
    }
    best.ok_or_else(|| "no run was asked for".to_owned())
}

/// Measures a switch of ranks: nanoseconds with each strategy beyond those of shared globals.
///
/// # Errors
/// That of a run.
pub fn switches(lab: &Lab) -> Result<Vec<ResultRow>, String> {
    let mut rows = Vec::new();
    for (bytes, written) in SIZES {
        let flags = format!("-fPIC -DSEGMENT={bytes} -DDIRTY={written}");
        let program = lab.compile("cc", "benches/programs/switches.c", "switches", &flags)?;
        for ranks in [64, 1024] {
            let ns = |globals: &str| {
                let begun = least(lab, 7, &program, "0", ranks, globals)?;
                let ended = least(lab, 7, &program, &(1_000_000 / ranks).to_string(), ranks, globals)?;
                Ok::<_, String>((ended.cpu_s - begun.cpu_s) / (ended.switches - begun.switches) * 1e9)
            };
            let none = ns("none")?;
            for globals in ["copy", "clone"] {
                let row =
                    ResultRow::default().with("bytes", bytes).with("written", written).with("ranks", ranks);
                rows.push(row.with("globals", globals).with("ns more", (ns(globals)? - none).round() as i64));
            }
        }
    }
    Ok(rows)
}

/// Measures the start of a Fortran program with 64 KiB of COMMON, beyond that with shared globals.
///
/// # Errors
/// A sentence if gfortran is missing, or that of a run.
pub fn common(lab: &Lab, ranks: u32) -> Result<Vec<ResultRow>, String> {
    if !is_installed("gfortran") {
        return Err("gfortran is missing: install it".to_owned());
    }
    let program = lab.compile("fc", "benches/programs/common.f90", "common", "")?;
    let none = least(lab, 3, &program, "", ranks, "none")?;
    ["clone", "copy"]
        .map(|globals| {
            let this = least(lab, 3, &program, "", ranks, globals)?;
            let each = |whole: f64| rounded(whole / f64::from(ranks), 3);
            Ok(ResultRow::default()
                .with("globals", globals)
                .with("ranks", ranks)
                .with("us a rank", each(this.cpu_s * 1e6))
                .with("kB a rank", each(this.peak_bytes / 1e3))
                .with("us more", each((this.cpu_s - none.cpu_s) * 1e6))
                .with("kB more", each((this.peak_bytes - none.peak_bytes) / 1e3)))
        })
        .into_iter()
        .collect()
}

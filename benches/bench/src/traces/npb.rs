//! Traces of the NAS Parallel Benchmarks and of LULESH, in a directory that the user gives.

use super::{bytes, calls};
use crate::lab::Lab;
use crate::measure::Invocation;
use crate::results::{ResultRow, rounded};
use std::path::{Path, PathBuf};

const CODES: [&str; 8] = ["bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"];
const MACHINES: [&str; 3] = [
    "star:l=1us,b=10Gbps",
    "torus:4x4x4,l=1us,b=8Gbps/rank:o_send=0.4us,o_recv=0.3us,gap=0.1us,eager=1000",
    "torus:4x4x4,l=100ns,b=25Gbps,level=packet",
];

/// A program of the directory: its name, its arguments and its ranks.
struct Code {
    name: String,
    program: PathBuf,
    arguments: &'static str,
    ranks: u32,
}

impl Code {
    fn run(&self, lab: &Lab, compute: &str, machine: &str) -> Invocation {
        let run = lab.ranks(&self.program, self.arguments, self.ranks);
        run.args(&format!("-xsim-compute {compute} -xsim-mn {machine}"))
    }
}

/// Returns the programs that the directory has.
///
/// # Errors
/// A sentence if it has none.
fn codes(directory: &Path, lulesh: &[u32], ranks: &[u32]) -> Result<Vec<Code>, String> {
    let npb = CODES.iter().flat_map(|code| ranks.iter().map(move |&ranks| (*code, "", ranks)));
    let lulesh = lulesh.iter().map(|&ranks| ("lulesh", "-s 6 -i 20", ranks));
    let found: Vec<Code> = npb
        .chain(lulesh)
        .map(|(name, arguments, ranks)| {
            let file = if name == "lulesh" { "lulesh.x".to_owned() } else { format!("{name}.S.x") };
            Code { name: name.to_owned(), program: directory.join(file), arguments, ranks }
        })
        .filter(|code| code.program.is_file())
        .collect();
    match found.is_empty() {
        true => Err(format!(
            "'{}' has no bt.S.x, cg.S.x and so on: make NPB's class S there with `xsim fc` and `xsim cc`",
            directory.display()
        )),
        false => Ok(found),
    }
}

/// Measures how large traces are.
pub fn sizes(lab: &Lab, directory: &Path) -> Result<Vec<ResultRow>, String> {
    let mut rows = Vec::new();
    for code in codes(directory, &[], &[16, 64])? {
        for times in ["histogram", "none"] {
            let run = code.run(lab, "measured", MACHINES[0]).args(&format!("-xsim-trace-times {times}"));
            lab.once(&run.arg("-xsim-trace").arg(lab.scratch(times)))?;
        }
        let (calls, none) = (calls(lab, "none")?, bytes(&lab.scratch("none"))?);
        rows.push(
            ResultRow::default()
                .with("code", code.name)
                .with("ranks", code.ranks)
                .with("calls", calls as u64)
                .with("bytes with histograms", bytes(&lab.scratch("histogram"))?)
                .with("bytes without times", none)
                .with("calls a byte", (calls / none as f64) as u64),
        );
    }
    Ok(rows)
}

/// Compares replays with recorded runs.
pub fn replays(lab: &Lab, directory: &Path) -> Result<Vec<ResultRow>, String> {
    let codes = codes(directory, &[8, 27], &[16])?;
    let mut rows = Vec::new();
    for machine in MACHINES {
        for compute in ["fixed:1us", "measured"] {
            for code in &codes {
                let run = code.run(lab, compute, machine).args("-xsim-trace-times exact");
                lab.once(&run.arg("-xsim-trace").arg(lab.scratch("trace")))?;
                let replay = lab.xsim("replay --quiet --compare -m").arg(machine).arg(lab.scratch("trace"));
                rows.push(
                    ResultRow::default()
                        .with("code", code.name.clone())
                        .with("ranks", code.ranks)
                        .with("compute", compute)
                        .with("machine", machine)
                        .with("replay", lab.once(&replay)?.output.trim().replace('\n', "; ")),
                );
            }
        }
    }
    Ok(rows)
}

/// Measures programs that are made of traces: from histograms, from exact times the mean of each rank, and
/// each time.
pub fn benchmarks(lab: &Lab, directory: &Path) -> Result<Vec<ResultRow>, String> {
    let mut rows = Vec::new();
    for code in codes(directory, &[27, 64], &[16])? {
        for (times, kept, drawn) in
            [("histogram", "histogram", "drawn"), ("exact", "exact", "drawn"), ("each", "exact", "each")]
        {
            rows.push(benchmark(lab, &code, times, kept, drawn)?);
        }
    }
    Ok(rows)
}

fn benchmark(lab: &Lab, code: &Code, times: &str, kept: &str, drawn: &str) -> Result<ResultRow, String> {
    let reported = |run: Invocation, trace: &str| {
        let run = run.arg("-xsim-trace").arg(lab.scratch(trace)).arg("-xsim-report");
        lab.once(&run.arg(lab.scratch("report.json")))?;
        lab.reported("report.json", "/simulated/virtual_time_ps").map(|ps| ps / 1e12)
    };
    let run = code.run(lab, "measured", MACHINES[0]).args(&format!("-xsim-trace-times {kept}"));
    let program_s = reported(run, "a")?;
    let sources = lab.scratch(&format!("{}-{}-{times}", code.name, code.ranks));
    let make = lab.xsim("trace benchmark").arg(lab.scratch("a")).arg("-o").arg(&sources);
    lab.once(&make.args(&format!("--times {drawn}")))?;
    let program = lab.scratch("benchmark");
    let compile = lab
        .xsim("cc -O2 -std=c99 -Wall -Wextra")
        .arg(format!("-DTIMES=\"{}\"", sources.join("times.txt").display()))
        .arg(sources.join("main.c"))
        .arg(sources.join("util.c"));
    lab.once(&compile.arg("-o").arg(&program))?;
    let again = lab.ranks(&program, "", code.ranks);
    let benchmark_s = reported(again.args(&format!("-xsim-compute none -xsim-mn {}", MACHINES[0])), "b")?;
    let diff = lab.xsim("trace diff").arg(lab.scratch("a")).arg(lab.scratch("b"));
    let lines = |name: &str| {
        let text = std::fs::read_to_string(sources.join(name)).map_err(|why| format!("{name}: {why}"))?;
        Ok::<_, String>(text.lines().count())
    };
    Ok(ResultRow::default()
        .with("code", code.name.clone())
        .with("ranks", code.ranks)
        .with("times", times)
        .with("main.c", lines("main.c")?)
        .with("util.c", lines("util.c")?)
        .with("calls", if lab.once(&diff).is_ok() { "same" } else { "others" })
        .with("program s", program_s)
        .with("benchmark s", benchmark_s)
        .with("error %", rounded(100.0 * (benchmark_s / program_s - 1.0), 3)))
}

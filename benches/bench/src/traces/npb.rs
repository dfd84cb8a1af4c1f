//! Traces of the NAS Parallel Benchmarks and of LULESH, in a directory that the user gives.

use super::{bytes, calls};
use crate::lab::Lab;
use crate::measure::Invocation;
use crate::results::{ResultRow, rounded};
use std::path::{Path, PathBuf};

const CODES: [&str; 8] = ["bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"];
/// Machines of replays; the first is that of generated programs.
pub const MACHINES: [&str; 3] = [
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

/// A program made of a trace, beside the program that was traced.
pub struct GeneratedBenchmark {
    /// Virtual seconds of the program.
    pub program_s: f64,
    /// Virtual seconds of the generated program.
    pub benchmark_s: f64,
    /// Lines of `main.c`.
    pub main_lines: usize,
    /// Lines of `util.c`.
    pub util_lines: usize,
    /// `true` if both make the same calls.
    pub is_same: bool,
}

impl GeneratedBenchmark {
    /// Traces a run of a program, makes a program of the trace and traces that.
    ///
    /// # Errors
    /// That of a run.
    pub fn make(
        lab: &Lab,
        run: &Invocation,
        ranks: u32,
        name: &str,
        [kept, drawn]: [&str; 2],
    ) -> Result<GeneratedBenchmark, String> {
        let reported = |run: Invocation, trace: &str| {
            let run = run.arg("-xsim-trace").arg(lab.scratch(trace)).arg("-xsim-report");
            lab.once(&run.arg(lab.scratch("report.json")))?;
            lab.reported("report.json", "/simulated/virtual_time_ps").map(|ps| ps / 1e12)
        };
        let program_s = reported(run.clone().args(&format!("-xsim-trace-times {kept}")), "a")?;
        let sources = lab.scratch(name);
        let make = lab.xsim("trace benchmark").arg(lab.scratch("a")).arg("-o").arg(&sources);
        lab.once(&make.args(&format!("--times {drawn}")))?;
        let program = lab.scratch("benchmark");
        let compile = lab
            .xsim("cc -O2 -std=c99 -Wall -Wextra")
            .arg(format!("-DTIMES=\"{}\"", sources.join("times.txt").display()))
            .arg(sources.join("main.c"))
            .arg(sources.join("util.c"));
        lab.once(&compile.arg("-o").arg(&program))?;
        let again = lab.ranks(&program, "", ranks);
        let again = again.args(&format!("-xsim-compute none -xsim-mn {}", MACHINES[0]));
        let benchmark_s = reported(again, "b")?;
        let diff = lab.xsim("trace diff").arg(lab.scratch("a")).arg(lab.scratch("b"));
        let lines = |name: &str| {
            let text = std::fs::read_to_string(sources.join(name)).map_err(|why| format!("{name}: {why}"))?;
            Ok::<_, String>(text.lines().count())
        };
        Ok(GeneratedBenchmark {
            program_s,
            benchmark_s,
            main_lines: lines("main.c")?,
            util_lines: lines("util.c")?,
            is_same: lab.once(&diff).is_ok(),
        })
    }

    /// Returns how much longer the generated program takes, in percent.
    pub fn error(&self) -> f64 {
        100.0 * (self.benchmark_s / self.program_s - 1.0)
    }
}

fn benchmark(lab: &Lab, code: &Code, times: &str, kept: &str, drawn: &str) -> Result<ResultRow, String> {
    let name = format!("{}-{}-{times}", code.name, code.ranks);
    let run = code.run(lab, "measured", MACHINES[0]);
    let made = GeneratedBenchmark::make(lab, &run, code.ranks, &name, [kept, drawn])?;
    Ok(ResultRow::default()
        .with("code", code.name.clone())
        .with("ranks", code.ranks)
        .with("times", times)
        .with("main.c", made.main_lines)
        .with("util.c", made.util_lines)
        .with("calls", if made.is_same { "same" } else { "others" })
        .with("program s", made.program_s)
        .with("benchmark s", made.benchmark_s)
        .with("error %", rounded(made.error(), 3)))
}

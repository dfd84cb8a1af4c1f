//! The cost of listening to calls: traces and their sizes, profiles, replays, timelines.

pub mod npb;

use crate::lab::{Lab, NO_COMPUTE, is_installed};
use crate::measure::Invocation;
use crate::messages::compiled;
use crate::results::{ResultRow, rounded};
use clap::Subcommand;
use std::path::{Path, PathBuf};

/// The machine of all rows that name no other.
const MACHINE: &str = "star:l=1us,b=10Gbps";
const RUNS: u32 = 3;

/// Parts that are measured.
#[derive(Subcommand)]
pub enum TracePart {
    /// A recorded and a profiled call, at 1,024 ranks.
    Recording,
    /// Bytes of traces by ranks and steps, and memory while they are recorded.
    Sizes {
        /// Add 262,144 and a million ranks.
        #[arg(long)]
        long: bool,
    },
    /// Checking traces of stencils.
    Checking,
    /// Replaying, a message.
    Replay {
        /// Add a million ranks.
        #[arg(long)]
        long: bool,
    },
    /// Replaying faces of 128 KiB on a 3-D torus, by formula and as packets.
    Torus {
        /// Sides of the torus.
        #[arg(default_value = "80x80x81")]
        sides: String,
    },
    /// Timelines at 1,024 ranks in each format: events (calls and messages) a second, and memory.
    Timelines,
    /// Recording under mpirun, a call, one process of MPICH and of Open MPI (cabi/tracer/build.sh).
    Real,
    /// Reading archives of OTF2: events a second, and memory.
    Import,
    /// Sizes of NPB's traces: DIR has bt.S.x and so on, made with `xsim fc` and `xsim cc`.
    Npb {
        /// The directory.
        directory: PathBuf,
    },
    /// Replays of NPB's traces at 16 ranks, and of LULESH's (DIR/lulesh.x), beside the recorded run.
    Compare {
        /// The directory.
        directory: PathBuf,
    },
    /// Programs made of NPB's traces: lines, the same calls or others, virtual times.
    Benchmarks {
        /// The directory.
        directory: PathBuf,
    },
}

impl TracePart {
    /// Returns the name of the part's results.
    pub fn name(&self) -> &'static str {
        match self {
            TracePart::Recording => "trace-recording",
            TracePart::Sizes { .. } => "trace-sizes",
            TracePart::Checking => "trace-checking",
            TracePart::Replay { .. } => "trace-replay",
            TracePart::Torus { .. } => "trace-torus",
            TracePart::Timelines => "timelines",
            TracePart::Real => "trace-real",
            TracePart::Import => "otf2-import",
            TracePart::Npb { .. } => "npb-sizes",
            TracePart::Compare { .. } => "npb-replays",
            TracePart::Benchmarks { .. } => "npb-benchmarks",
        }
    }
}

/// Measures a part.
///
/// # Errors
/// That of a run.
pub fn rows(lab: &Lab, part: &TracePart) -> Result<Vec<ResultRow>, String> {
    match part {
        TracePart::Recording => recording(lab),
        TracePart::Sizes { long } => sizes(lab, *long),
        TracePart::Checking => checking(lab),
        TracePart::Replay { long } => replay(lab, *long),
        TracePart::Torus { sides } => torus(lab, sides),
        TracePart::Timelines => timelines(lab),
        TracePart::Real => real(lab),
        TracePart::Import => import(lab),
        TracePart::Npb { directory } => npb::sizes(lab, directory),
        TracePart::Compare { directory } => npb::replays(lab, directory),
        TracePart::Benchmarks { directory } => npb::benchmarks(lab, directory),
    }
}

/// A run of a pattern, without computation.
fn pattern(lab: &Lab, program: &Path, words: &str, ranks: u32) -> Invocation {
    lab.ranks(program, words, ranks).args(NO_COMPUTE).args(&format!("-xsim-mn {MACHINE}"))
}

/// The same with a trace in the scratch directory.
fn traced(lab: &Lab, run: &Invocation) -> Invocation {
    run.clone().arg("-xsim-trace").arg(lab.scratch("trace"))
}

/// Returns the number of calls in a trace.
fn calls(lab: &Lab, trace: &str) -> Result<f64, String> {
    let said = lab.once(&lab.xsim("trace stat").arg(lab.scratch(trace)))?.output;
    let first = said.lines().next().unwrap_or_default();
    let word = first.split_whitespace().nth(2).and_then(|word| word.replace(',', "").parse().ok());
    word.ok_or_else(|| format!("`xsim trace stat` has not said how many calls there are, but: {first}"))
}

fn bytes(path: &Path) -> Result<u64, String> {
    let failed = |why| format!("'{}': {why}", path.display());
    let about = path.metadata().map_err(failed)?;
    if !about.is_dir() {
        return Ok(about.len());
    }
    let entries = path.read_dir().map_err(failed)?;
    entries.map(|entry| bytes(&entry.map_err(failed)?.path())).sum()
}

fn recording(lab: &Lab) -> Result<Vec<ResultRow>, String> {
    let program = compiled(lab)?;
    let mut rows = Vec::new();
    for (name, times) in [("ring", 1000), ("stencil", 150)] {
        let plain = pattern(lab, &program, &format!("{name} {times}"), 1024);
        let (trace, profile) = (traced(lab, &plain), plain.clone().arg("-xsim-profile"));
        let [plain, trace, profile] = lab.least_of(RUNS, [&plain, &trace, &profile])?;
        let calls = calls(lab, "trace")?;
        let more = |cpu_s: f64| rounded((cpu_s - plain.cpu_s) * 1e6 / calls, 2);
        rows.push(
            ResultRow::default()
                .with("pattern", name)
                .with("ranks", 1024)
                .with("calls", calls as u64)
                .with("s without", rounded(plain.cpu_s, 3))
                .with("us more, traced", more(trace.cpu_s))
                .with("us more, profiled", more(profile.cpu_s)),
        );
    }
    Ok(rows)
}

fn sizes(lab: &Lab, long: bool) -> Result<Vec<ResultRow>, String> {
    let program = compiled(lab)?;
    let mut cases: Vec<(&str, u32, u32)> = Vec::new();
    for name in ["ring", "faces", "named"] {
        for ranks in [16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576] {
            // Each rank of `named` names others than its neighbours: as many numbers as ranks.
            if (ranks <= 65_536 || long) && (name != "named" || ranks <= 4096) {
                cases.push((name, ranks, 3));
            }
        }
    }
    cases.extend(
        [(64, 10), (64, 100), (64, 1000), (1000, 100), (10_000, 20), (100_000, 5)]
            .map(|(ranks, steps)| ("faces", ranks, steps)),
    );
    let mut rows = Vec::new();
    for (name, ranks, steps) in cases {
        let plain = pattern(lab, &program, &format!("{name} {steps}"), ranks);
        let without = lab.once(&plain)?.peak_bytes;
        let with = lab.once(&traced(lab, &plain))?.peak_bytes;
        rows.push(
            ResultRow::default()
                .with("pattern", name)
                .with("ranks", ranks)
                .with("steps", steps)
                .with("calls", calls(lab, "trace")? as u64)
                .with("bytes", bytes(&lab.scratch("trace"))?)
                .with("MB without", rounded(without as f64 / 1e6, 4))
                .with("MB with", rounded(with as f64 / 1e6, 4)),
        );
    }
    Ok(rows)
}

fn checking(lab: &Lab) -> Result<Vec<ResultRow>, String> {
    let program = compiled(lab)?;
    let mut rows = Vec::new();
    for (steps, ranks) in [(10, 1000), (100, 1000), (1000, 1000), (100, 10_000)] {
        lab.once(&traced(lab, &pattern(lab, &program, &format!("stencil {steps}"), ranks)))?;
        let cost = lab.least(RUNS, &lab.xsim("trace check").arg(lab.scratch("trace")))?;
        rows.push(
            ResultRow::default()
                .with("steps", steps)
                .with("ranks", ranks)
                .with("calls", calls(lab, "trace")? as u64)
                .with("s", rounded(cost.cpu_s, 3))
                .with("MB", rounded(cost.peak_bytes as f64 / 1e6, 3)),
        );
    }
    Ok(rows)
}

/// A replay of the trace in the scratch directory, with a report.
fn replayed(lab: &Lab, machine: &str) -> Invocation {
    let replay = lab.xsim("replay --quiet --compute none -m").arg(machine).arg(lab.scratch("trace"));
    replay.arg("--report").arg(lab.scratch("report.json"))
}

fn replay(lab: &Lab, long: bool) -> Result<Vec<ResultRow>, String> {
    let program = compiled(lab)?;
    // What a command takes that replays nothing to speak of.
    lab.once(&traced(lab, &pattern(lab, &program, "ring 1", 2)))?;
    let nothing = lab.once(&replayed(lab, MACHINE))?.peak_bytes;
    let mut cases = vec![("ring", 1000, 1024), ("stencil", 150, 1024)];
    if long {
        cases.extend([("ring", 5, 1_000_000), ("faces", 2, 1_000_000)]);
    }
    let mut rows = Vec::new();
    for (name, steps, ranks) in cases {
        let plain = pattern(lab, &program, &format!("{name} {steps}"), ranks);
        lab.once(&traced(lab, &plain))?;
        let [program, replay] = lab.least_of(RUNS, [&plain, &replayed(lab, MACHINE)])?;
        let messages = lab.reported("report.json", "/simulated/messages")?;
        let more = replay.peak_bytes.saturating_sub(nothing);
        rows.push(
            ResultRow::default()
                .with("pattern", name)
                .with("ranks", ranks)
                .with("messages", messages as u64)
                .with("program s", rounded(program.cpu_s, 3))
                .with("replay s", rounded(replay.cpu_s, 3))
                .with("us a message", rounded(replay.cpu_s * 1e6 / messages, 2))
                .with("bytes a rank", more / u64::from(ranks)),
        );
    }
    Ok(rows)
}

fn torus(lab: &Lab, sides: &str) -> Result<Vec<ResultRow>, String> {
    let ranks = sides
        .split('x')
        .map(|side| side.parse::<u32>().ok())
        .try_fold(1u32, |all, side| all.checked_mul(side.filter(|&side| side > 0)?));
    let ranks = ranks.ok_or_else(|| format!("'{sides}' are no sides of a torus, such as 80x80x81"))?;
    let source = crate::lab::root().join("benches/programs/faces.aspen");
    let run = lab.xsim("aspen run").arg(source).args(&format!("-n {ranks} -m torus:{sides} --quiet --trace"));
    lab.once(&run.arg(lab.scratch("trace")))?;
    let mut rows = Vec::new();
    for (level, option) in [("formula", ""), ("packet", ",level=packet")] {
        let machine = format!("torus:{sides},l=100ns,b=25Gbps{option}");
        let cost = lab.once(&replayed(lab, &machine))?;
        let number = |pointer: &str| lab.reported("report.json", pointer);
        let messages = number("/simulated/messages")?;
        let packets = number("/simulated/network/total/packets").ok();
        rows.push(
            ResultRow::default()
                .with("level", level)
                .with("virtual us", rounded(number("/simulated/virtual_time_ps")? / 1e6, 6))
                .with("messages", messages as u64)
                .with("CPU s", rounded(cost.cpu_s, 3))
                .with("us a message", rounded(cost.cpu_s * 1e6 / messages, 3))
                .with("MB", rounded(cost.peak_bytes as f64 / 1e6, 4))
                .maybe("packets a s", packets.map(|packets| (packets / cost.cpu_s) as u64)),
        );
    }
    Ok(rows)
}

fn timelines(lab: &Lab) -> Result<Vec<ResultRow>, String> {
    let program = compiled(lab)?;
    let mut rows = Vec::new();
    for (name, steps) in [("ring", 1000), ("stencil", 150)] {
        let plain = pattern(lab, &program, &format!("{name} {steps}"), 1024);
        lab.once(&traced(lab, &plain))?;
        let calls = calls(lab, "trace")?;
        let reported = plain.clone().arg("-xsim-report").arg(lab.scratch("report.json"));
        let without = lab.least(RUNS, &reported)?;
        let messages = lab.reported("report.json", "/simulated/messages")?;
        for format in ["pftrace", "json", "prv", "paje", "otf2"] {
            let directory = lab.scratch(&format!("{name}-{format}"));
            std::fs::create_dir_all(&directory).map_err(|why| format!("a scratch directory: {why}"))?;
            let timeline = directory.join(format!("run.{format}"));
            let with = lab.least(RUNS, &plain.clone().arg("-xsim-timeline").arg(timeline))?;
            let more = with.peak_bytes.saturating_sub(without.peak_bytes);
            rows.push(
                ResultRow::default()
                    .with("pattern", name)
                    .with("format", format)
                    .with("events", (calls + messages) as u64)
                    .with("bytes", bytes(&directory)?)
                    .with("s without", rounded(without.cpu_s, 3))
                    .with("s with", rounded(with.cpu_s, 3))
                    .with("events a s", rounded((calls + messages) / (with.cpu_s - without.cpu_s), 3) as u64)
                    .with("MB more", rounded(more as f64 / 1e6, 3)),
            );
        }
    }
    Ok(rows)
}

/// One process that sends to itself, without blocking sends, which MPICH lets wait for their receive: with
/// several the time is that of waiting.
fn real(lab: &Lab) -> Result<Vec<ResultRow>, String> {
    let mut rows = Vec::new();
    for (mpi, launch) in [("mpich", ""), ("openmpi", "--allow-run-as-root")] {
        let library = lab.built(&format!("libxsimtrace_{mpi}.so"));
        let compiler = format!("mpicc.{mpi}");
        if !library.is_file() || !is_installed(&compiler) {
            continue;
        }
        let program = lab.scratch(mpi);
        let source = crate::lab::root().join("benches/programs/patterns.c");
        lab.once(&Invocation::of(&compiler).args("-O2 -w").arg(source).arg("-o").arg(&program))?;
        for name in ["stencil", "faces"] {
            let (times, calls) = (50_000, 13.0 * 50_000.0);
            let of = |run: Invocation| {
                run.under(Invocation::of(format!("mpirun.{mpi}")).args("-n 1").args(launch))
            };
            let run = Invocation::of(&program).args(&format!("{name} {times}"));
            let mut preload = std::ffi::OsString::from("LD_PRELOAD=");
            preload.push(&library);
            let recorded = run.clone().under(Invocation::of("env").arg(preload));
            let recorded = of(recorded).env("XSIM_TRACE", lab.scratch("trace").to_string_lossy());
            let [alone, recorded] = lab.least_of(RUNS, [&of(run), &recorded])?;
            rows.push(
                ResultRow::default()
                    .with("MPI", mpi)
                    .with("pattern", name)
                    .with("calls", calls as u64)
                    .with("s alone", rounded(alone.cpu_s, 3))
                    .with("s recorded", rounded(recorded.cpu_s, 3))
                    .with("us a call more", rounded((recorded.cpu_s - alone.cpu_s) * 1e6 / calls, 2)),
            );
        }
    }
    match rows.is_empty() {
        true => Err("there is no recorder: sh cabi/tracer/build.sh mpich, with MPICH or Open MPI installed"
            .to_owned()),
        false => Ok(rows),
    }
}

fn import(lab: &Lab) -> Result<Vec<ResultRow>, String> {
    let program = compiled(lab)?;
    let mut rows = Vec::new();
    for (name, steps) in [("stencil", 10), ("stencil", 100), ("stencil", 1000), ("ring", 10_000)] {
        lab.once(&traced(lab, &pattern(lab, &program, &format!("{name} {steps}"), 64)))?;
        let archive = lab.scratch(&format!("{name}{steps}")).join("archive.otf2");
        std::fs::create_dir_all(archive.with_file_name("")).map_err(|why| format!("a directory: {why}"))?;
        lab.once(&lab.xsim("trace convert").arg(lab.scratch("trace")).arg("-o").arg(&archive))?;
        // A call is entered and left.
        let events = 2.0 * calls(lab, "trace")?;
        let read = lab.xsim("trace convert").arg(&archive).arg("-o").arg(lab.scratch("imported"));
        let cost = lab.least(RUNS, &read)?;
        rows.push(
            ResultRow::default()
                .with("pattern", name)
                .with("steps", steps)
                .with("events", events as u64)
                .with("bytes", bytes(&archive.with_file_name(""))?)
                .with("s", rounded(cost.cpu_s, 3))
                .with("events a s", rounded(events / cost.cpu_s, 3) as u64)
                .with("MB", rounded(cost.peak_bytes as f64 / 1e6, 3)),
        );
    }
    Ok(rows)
}

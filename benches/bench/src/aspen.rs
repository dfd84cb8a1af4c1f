//! Models in Aspen: what LULESH moves as a walk, as a generated program and as itself, and what walks cost at
//! scale, beside what is aimed at (docs/reference/aspen.md).

use crate::lab::{Lab, NO_COMPUTE, root};
use crate::measure::Invocation;
use crate::results::{ResultRow, rounded};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

/// The paper's machine, and what ten steps of each phase move there: bytes, packets, hops between routers.
const TORUS: &str = "torus:4x4x4,l=1us,b=8Gbps,packet=512,header=0,level=packet";
pub const PHASES: [(&str, [u64; 3]); 3] = [
    ("phase2", [139_968_000, 273_600, 273_600]),
    ("phase4", [151_079_040, 303_120, 320_400]),
    ("phase8", [151_079_040, 298_440, 311_400]),
];
/// Tags of each phase's messages in LULESH, and the first of them between two ranks: phase 1 has that of
/// phase 4 too.
const TAGS: [(&str, &str, usize); 3] = [("phase2", "3072", 0), ("phase4", "1024", 1), ("phase8", "2048", 0)];

/// Measures all rows; with `quick` the phases and a hundredth of the ranks of the others, once.
///
/// # Errors
/// That of a run.
pub fn rows(lab: &Lab, quick: bool, lulesh: Option<&Path>) -> Result<Vec<ResultRow>, String> {
    let mut rows = Vec::new();
    for (phase, expected) in PHASES {
        walked(lab, phase, expected, &mut rows)?;
    }
    if let Some(program) = lulesh {
        itself(lab, program, &mut rows)?;
    }
    messages(lab, quick, &mut rows)?;
    rounds(lab, quick, &mut rows)?;
    rows.push(parsing(lab, quick)?);
    Ok(rows)
}

/// Reads the models below a directory; one row for each that is refused, and one that counts.
///
/// # Errors
/// A sentence if the directory cannot be read.
pub fn models(lab: &Lab, directory: &Path) -> Result<Vec<ResultRow>, String> {
    let mut files = Vec::new();
    collect(directory, &mut files)?;
    let mut rows = Vec::new();
    for file in &files {
        // Files that they include are named from where they are.
        let run = Invocation::of("env").arg("-C").arg(file.with_file_name(""));
        if let Err(why) = lab.once(&lab.xsim("aspen check").arg(file).under(run)) {
            rows.push(ResultRow::default().with("model", file.display().to_string()).with("refused", why));
        }
    }
    let read = files.len() - rows.len();
    rows.push(ResultRow::default().with("model", format!("{read} of {} are read", files.len())));
    Ok(rows)
}

fn collect(directory: &Path, files: &mut Vec<std::path::PathBuf>) -> Result<(), String> {
    let failed = |why| format!("'{}': {why}", directory.display());
    for entry in directory.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "aspen") {
            files.push(path.canonicalize().map_err(failed)?);
        }
    }
    files.sort();
    Ok(())
}

/// Returns the bytes, packets and hops between routers of the last report, times `times`.
fn moved(lab: &Lab, times: u64) -> Result<[u64; 3], String> {
    let number = |name: &str| lab.reported("report.json", name).map(|number| number as u64);
    let report = lab.report("report.json")?;
    let passed = report.pointer("/simulated/network/total/routers_histogram").and_then(Value::as_array);
    // Of the packets that pass `n` routers each goes from router to router `n - 1` times.
    let hops = passed
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(routers, packets)| (routers as u64).saturating_sub(1) * packets.as_u64().unwrap_or(0));
    let network = ["/simulated/bytes", "/simulated/network/total/packets"].map(number);
    let [bytes, packets] = network;
    Ok([bytes? * times, packets? * times, hops.sum::<u64>() * times])
}

/// A row that must be as the paper has it.
fn equal(what: String, found: [u64; 3], expected: [u64; 3]) -> ResultRow {
    let shown = |[bytes, packets, hops]: [u64; 3]| format!("{bytes} B, {packets} packets, {hops} hops");
    let row =
        ResultRow::default().with("what", what).with("found", shown(found)).with("aim", shown(expected));
    row.maybe("differs", (found != expected).then_some("yes"))
}

/// One step of a phase as a walk, and as a generated program.
fn walked(lab: &Lab, phase: &str, expected: [u64; 3], rows: &mut Vec<ResultRow>) -> Result<(), String> {
    rows.push(equal(format!("LULESH, {phase}, walked"), walk(lab, phase)?, expected));
    rows.push(equal(format!("LULESH, {phase}, generated program"), generated(lab, phase)?, expected));
    Ok(())
}

/// Returns what ten steps of a phase move as a walk.
pub fn walk(lab: &Lab, phase: &str) -> Result<[u64; 3], String> {
    let model = root().join("examples/aspen/lulesh.aspen");
    let walk = lab.xsim("aspen run").arg(&model).args(&format!("--kernel {phase} -n 64 -m {TORUS} --quiet"));
    lab.once(&walk.arg("--report").arg(lab.scratch("report.json")))?;
    moved(lab, 10)
}

/// Returns what ten steps of a phase move as a generated program.
pub fn generated(lab: &Lab, phase: &str) -> Result<[u64; 3], String> {
    let model = root().join("examples/aspen/lulesh.aspen");
    let generate = lab.xsim("aspen generate").arg(&model).args(&format!("--kernel {phase} -o"));
    let source = lab.once(&generate.arg(lab.scratch("")))?.output;
    let program = lab.scratch("program");
    lab.once(&lab.xsim("cc -O1").arg(source.trim()).arg("-o").arg(&program))?;
    let run = lab.ranks(&program, "", 64).args(NO_COMPUTE).args(&format!("-xsim-mn {TORUS} -xsim-report"));
    lab.once(&run.arg(lab.scratch("report.json")))?;
    moved(lab, 10)
}

/// LULESH does all phases: its trace is cut to the messages of one, and replayed.
fn itself(lab: &Lab, program: &Path, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    let (trace, goal) = (lab.scratch("all.trace"), lab.scratch("all.goal"));
    let run = lab.ranks(program, "-s 45 -i 10", 64).args(NO_COMPUTE).args("-xsim-trace-times none");
    lab.once(&run.arg("-xsim-trace").arg(&trace))?;
    lab.once(&lab.xsim("trace convert").arg(&trace).arg("-o").arg(&goal))?;
    let all = std::fs::read_to_string(&goal).map_err(|why| format!("'{}': {why}", goal.display()))?;
    for ((phase, tag, first), (_, expected)) in TAGS.into_iter().zip(PHASES) {
        let cut = lab.scratch("phase.goal");
        std::fs::write(&cut, with_tag(&all, tag, first))
            .map_err(|why| format!("'{}': {why}", cut.display()))?;
        let phase_trace = lab.scratch("phase.trace");
        lab.once(&lab.xsim("trace convert").arg(&cut).arg("-o").arg(&phase_trace))?;
        let replay = lab.xsim("replay").arg(&phase_trace).args(&format!("-m {TORUS} --quiet --report"));
        lab.once(&replay.arg(lab.scratch("report.json")))?;
        rows.push(equal(format!("LULESH, {phase}, LULESH 2.0"), moved(lab, 1)?, expected));
    }
    Ok(())
}

/// Returns a schedule in GOAL without the messages of other tags, and without the first ones of a rank to
/// each other.
fn with_tag(goal: &str, tag: &str, first: usize) -> String {
    let mut kept = String::new();
    let mut seen: HashMap<(String, String), usize> = HashMap::new();
    for line in goal.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_frame = ["num_ranks", "rank", "}"].iter().any(|word| line.starts_with(word));
        if is_frame {
            seen.clear();
        }
        let is_message =
            words.len() > 4 && ["send", "recv"].contains(&words[1]) && words.last() == Some(&tag);
        let is_kept = is_frame
            || is_message && {
                let count = seen.entry((words[1].to_owned(), words[4].to_owned())).or_default();
                *count += 1;
                *count > first
            };
        if is_kept {
            let _ = writeln!(kept, "{line}");
        }
    }
    kept
}

/// Measures a message and a rank of a walk.
fn messages(lab: &Lab, quick: bool, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    let (ranks, runs) = if quick { (8000, 1) } else { (1_000_000, 3) };
    let nothing = lab.scratch("nothing.aspen");
    std::fs::write(&nothing, "model nothing { kernel main { execute { flops [1] } } }\n")
        .map_err(|why| format!("'{}': {why}", nothing.display()))?;
    let of = |model: &Path| {
        lab.xsim("aspen run --quiet").arg(model).args(&format!("-n {ranks} -m star:l=1us,b=100Gbps"))
    };
    for phase in ["phase2", "phase4"] {
        let walk =
            of(&root().join("examples/aspen/lulesh.aspen")).args(&format!("--kernel {phase} --report"));
        // Start-up is a run in which nothing is sent.
        let [start, whole] = lab.least_of(runs, [&of(&nothing), &walk.arg(lab.scratch("report.json"))])?;
        let us = (whole.cpu_s - start.cpu_s) * 1e6 / lab.reported("report.json", "/simulated/messages")?;
        let found = format!("{} us, {} B", rounded(us, 2), whole.peak_bytes / ranks);
        let what = format!("LULESH, {phase}, {ranks} ranks by formula: a message, a rank");
        rows.push(ResultRow::default().with("what", what).with("found", found).with("aim", "0.3 us, 200 B"));
    }
    Ok(())
}

/// Walks of `rounds.aspen` over packets.
fn rounds(lab: &Lab, quick: bool, rows: &mut Vec<ResultRow>) -> Result<(), String> {
    // Mubarak et al. (2012) have 1.3 million nodes as p = h = 24, a = 48.
    let cases = match quick {
        true => [
            ("dragonfly of 16,512 nodes", 16_512, "dragonfly:p=8,a=16,h=8,l=100ns,b=40Gbps", "", ""),
            ("torus 8^3", 512, "torus:8x8x8,l=100ns,b=16Gbps", "", ""),
        ],
        false => [
            (
                "dragonfly of 1,328,256 nodes",
                1_328_256,
                "dragonfly:p=24,a=48,h=24,l=100ns,b=40Gbps",
                "",
                "8 GB (paper: 2200 s on 32768)",
            ),
            (
                "torus 8^5, 128 requests",
                32_768,
                "torus:8x8x8x8x8,l=100ns,b=16Gbps",
                "--param requests=128",
                "(paper: 726 s on 4096)",
            ),
        ],
    };
    for (what, ranks, machine, options, aim) in cases {
        let routing = if machine.starts_with("dragonfly") { ",routing=minimal" } else { "" };
        let run = lab
            .xsim("aspen run --quiet")
            .arg(root().join("examples/aspen/rounds.aspen"))
            .args(&format!("-n {ranks} -m {machine},packet=512{routing},level=packet"))
            .arg("--machine-model")
            .arg(root().join("examples/aspen/rig.aspen"))
            .args("--socket cpu --socket accelerator=gpu")
            .args(options);
        let cost = lab.once(&run.arg("--report").arg(lab.scratch("report.json")))?;
        let packets = lab.reported("report.json", "/simulated/network/total/packets")? / 1e6;
        let found = format!(
            "{} s ({} s of CPU), {} GB, {} M packets",
            rounded(cost.wall_s, 3),
            rounded(cost.cpu_s, 3),
            rounded(cost.gigabytes(), 2),
            rounded(packets, 3)
        );
        let what = format!("rounds, {what}");
        rows.push(ResultRow::default().with("what", what).with("found", found).with("aim", aim));
    }
    Ok(())
}

/// Reads and evaluates a model of 100 kB: parameters that need each other, and kernels with all kinds of
/// steps.
fn parsing(lab: &Lab, quick: bool) -> Result<ResultRow, String> {
    let (mut parameters, mut kernels, mut calls) = (String::new(), String::new(), String::new());
    let mut k = 0;
    while parameters.len() + kernels.len() < 99_000 {
        let (half, third) = (k / 2, k / 3);
        let _ = writeln!(parameters, "  param p{} = max(p{half} + 1, n * log2(p{third} + 2)) / 2", k + 1);
        let _ = writeln!(
            kernels,
            "  kernel k{k}(param x) {{\n    iterate [x] {{\n      execute [n^2] \"block {k}\" {{\n        \
             loads [7 * n] of size [8] as stride(2)\n        flops [2 * p{k} + x * n^3] as dp, simd\n      \
             }}\n    }}\n    if (p{k} > 50 and x < 3) {{ execute {{ flops [n] }} }} else {{ execute {{ \
             comm [n] of size [8] as nn3d, face }} }}\n  }}"
        );
        let _ = writeln!(calls, "    call k{k}({})", k % 5);
        k += 1;
    }
    let body = format!("{parameters}{kernels}  kernel main {{\n{calls}  }}\n");
    let text = format!("model page {{\n  param n = 100\n  param p0 = n\n{body}}}\n");
    let page = lab.scratch("page.aspen");
    std::fs::write(&page, &text).map_err(|why| format!("'{}': {why}", page.display()))?;
    let cost = lab.least(if quick { 3 } else { 15 }, &lab.xsim("aspen eval").arg(&page))?;
    let what = format!("read and evaluate a model of {} bytes, start-up included", text.len());
    let found = format!("{} ms", rounded(cost.cpu_s * 1e3, 2));
    Ok(ResultRow::default().with("what", what).with("found", found).with("aim", "50 ms"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_cut_to_the_messages_of_one_tag() {
        let goal = "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 1024\nl2: send 8b to 1 tag 1024\n\
                    l3: send 8b to 1 tag 7\n}\nrank 1 {\nl1: recv 8b from 0 tag 1024\nl2: calc 5\n}\n";
        let kept = with_tag(goal, "1024", 1);
        assert_eq!(kept, "num_ranks 2\nrank 0 {\nl2: send 8b to 1 tag 1024\n}\nrank 1 {\n}\n");
        assert!(with_tag(goal, "1024", 0).contains("recv 8b from 0 tag 1024"));
    }
}

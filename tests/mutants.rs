//! Mutants of every kind of file that a user may hand over: none makes a command panic, hang, or take more
//! than 1 GB.
//!
//! `MUTANTS=20000 cargo test --release --test mutants` makes so many of each kind, beginning with seed
//! `MUTANTS_SEED`.

mod common;
#[path = "../runtime/models/chakra/tests/encoder/mod.rs"]
mod encoder;

use common::{command, compile, scratch};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use trace::trace::Cell;

/// Mutants of each kind where nothing else is said.
const DEFAULT_MUTANTS: u64 = 25;
/// Address space that a command may have, in KiB: the program itself and 1 GB.
const MAX_KIB: u64 = 1_300_000;
/// Seconds after which a command hangs.
const MAX_SECONDS: u32 = 20;

/// Xorshift: the same mutants on every host.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// Numbers that parsers get wrong.
const NUMBERS: [&str; 10] = [
    "0",
    "-1",
    "1",
    "65536",
    "2147483648",
    "4294967295",
    "18446744073709551615",
    "99999999999999999999999",
    "1e308",
    "0.0000000001",
];

/// Changes one thing or a few.
fn mutate(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(16)).min(bytes.len());
        match random.below(8) {
            _ if bytes.is_empty() => bytes.push(random.below(256) as u8),
            0 => bytes[at] = random.below(256) as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
            5 => drop(bytes.splice(at..end, std::iter::repeat_n(0xff, end - at))),
            // A number becomes another one.
            _ => {
                let digits = |&at: &usize| bytes[at].is_ascii_digit();
                if let Some(first) = (at..bytes.len()).find(digits) {
                    let last = (first..bytes.len()).take_while(digits).count();
                    let number = NUMBERS[random.below(NUMBERS.len())];
                    bytes.splice(first..first + last, number.bytes());
                }
            }
        }
    }
    bytes
}

/// Runs a command without a terminal, within bounds. Returns what is wrong with how it ended.
fn wrong(command: &Command, kib: Option<u64>) -> Option<String> {
    let limit = kib.map_or_else(String::new, |kib| format!("ulimit -v {kib}; "));
    let mut bounded = Command::new("sh");
    bounded
        .arg("-c")
        .arg(format!("{limit}exec timeout {MAX_SECONDS} \"$@\""))
        .arg("sh")
        .arg(command.get_program());
    bounded.args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bounded.env(name, value),
            None => bounded.env_remove(name),
        };
    }
    let output = bounded.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let how = match (output.status.code(), output.status.signal()) {
        (Some(124), _) => "hangs".to_owned(),
        (Some(134 | 137 | 139), _) | (None, _) => format!("ends with {}", output.status),
        // Not by the status: a program ends with the class of the error that it got, which may be 101 too.
        (Some(status), _) if said.contains("panicked") => format!("panics, status {status}"),
        (Some(status), _) if status != 0 && said.trim().is_empty() && output.stdout.is_empty() => {
            format!("says nothing, status {status}")
        }
        _ => return None,
    };
    Some(format!("{how}: {}", said.lines().take(5).collect::<Vec<_>>().join("\n")))
}

/// Makes mutants of files, and runs a command for each: the path of the mutant is what `commands` are given.
fn survive(
    kind: &str,
    suffix: &str,
    originals: &[Vec<u8>],
    kib: Option<u64>,
    commands: impl Fn(&Path) -> Vec<Command>,
) {
    survive_changed(kind, suffix, (originals, mutate), kib, commands);
}

/// Returns a mutant of a file.
type Change = fn(&[u8], &mut Random) -> Vec<u8>;

/// Makes mutants of files by this change, as [`survive`] does.
fn survive_changed(
    kind: &str,
    suffix: &str,
    (originals, change): (&[Vec<u8>], Change),
    kib: Option<u64>,
    commands: impl Fn(&Path) -> Vec<Command>,
) {
    let number =
        |name: &str, default: u64| std::env::var(name).map_or(default, |value| value.parse().unwrap());
    let (count, seed) = (number("MUTANTS", DEFAULT_MUTANTS), number("MUTANTS_SEED", 1));
    let directory = scratch(&format!("mutants-{kind}"));
    let path = directory.join(format!("mutant{suffix}"));
    let mut failures = Vec::new();
    for mutant in seed..seed + count {
        let mut random = Random(mutant.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..4).for_each(|_| {
            random.below(2);
        });
        let original = &originals[random.below(originals.len())];
        fs::write(&path, change(original, &mut random)).unwrap();
        for command in commands(&path) {
            if let Some(what) = wrong(&command, kib) {
                let kept = directory.join(format!("{mutant}{suffix}"));
                fs::copy(&path, &kept).unwrap();
                failures.push(format!("{}: {command:?} {what}", kept.display()));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{kind}: {} of {count}\n{}",
        failures.len(),
        failures[..failures.len().min(20)].join("\n")
    );
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn files(directory: &str, ending: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(common::root().join(directory)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let all: Vec<Vec<u8>> = paths
        .iter()
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .map(|path| fs::read(path).unwrap())
        .collect();
    assert!(!all.is_empty(), "{directory} has files that end with {ending}");
    all
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A recorded run: the trace and the report.
fn recorded(name: &str, program: &str, ranks: &str, arguments: &[&str]) -> (PathBuf, PathBuf) {
    let directory = scratch(&format!("mutants-of-{name}"));
    let (trace, report) = (directory.join("run.trace"), directory.join("run.json"));
    let mut run = Command::new(compile(program, &[]));
    run.args(arguments).args(["-xsim-np", ranks, "-xsim-compute", "none", "-xsim-quiet", "-xsim-profile"]);
    run.args(["-xsim-trace", text(&trace), "-xsim-report", text(&report)]);
    let output = common::clean(&mut run).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (trace, report)
}

/// Traces in another format.
fn converted(name: &str, file: &str) -> Vec<Vec<u8>> {
    let (trace, _) = recorded(name, "examples/c/ring.c", "3", &[]);
    let to = trace.with_file_name(file);
    let output = command(&["trace", "convert", text(&trace), "-o", text(&to)]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    vec![fs::read(to).unwrap()]
}

#[test]
fn mutants_of_machines_end_with_a_sentence() {
    let toml = r#"name = "two levels"
processor = 1.5
flops = "5Gflops"
placement = "round-robin"
[[level]]
topology = "torus"
size = [4, 4, 2]
wrap = [1, 0, 1]
latency = "7us"
bandwidth = "8.8Gbps"
[[level]]
topology = "star"
size = 2
latency = "0.32us"
bandwidth = "9.6Gbps"
[overheads]
send = "0.4us"
receive = "0.4us"
gap = "50ns"
eager_limit = "64KiB"
"#;
    let short = "name = \"one line\"\nnetwork = \"star:l=1us,b=10Gbps/star:4,l=100ns,b=80Gbps\"\n";
    let specifications = texts(&[
        "torus:4x4x2,l=1us,b=10Gbps",
        "star:l=2us,b=10Gbps/star:4,l=200ns,b=80Gbps",
        "fattree:m=4,n=2,l=10ns,router=90ns,level=packet/star:2",
        "dragonfly:p=2,a=4,h=2,g=4,l=10ns,router=90ns,routing=ugal-l,level=packet",
        "hyperx:4x4,p=2,l=10ns,level=packet,vcs=4",
        "ttorus:8x4,jump=2,l=1us,b=10Gbps",
        "tree:4,l=1us,b=10Gbps",
        "mesh:3x3,l=1us,b=1Gbps/rank:proc=3,flops=1G",
    ]);
    survive("specifications", "", &specifications, Some(MAX_KIB), |path| {
        let specification = String::from_utf8_lossy(&fs::read(path).unwrap()).replace(['\0', '/'], "");
        vec![command(&["topology", "-n", "16", "--", &format!("+{specification}")[1..]])]
    });
    survive("machines", ".toml", &texts(&[toml, short]), Some(MAX_KIB), |path| {
        vec![command(&["topology", "-n", "16", text(path)])]
    });
}

#[test]
fn mutants_of_traces_end_with_a_sentence() {
    let mut traces =
        vec![fs::read(recorded("traces", "examples/c/stencil3d.c", "8", &["4", "3"]).0).unwrap()];
    traces.push(fs::read(recorded("rings", "examples/c/ring.c", "4", &[]).0).unwrap());
    traces.extend(files("runtime/observe/trace/tests", ".trace"));
    survive("traces", ".trace", &traces, Some(MAX_KIB), |path| {
        let goal = path.with_extension("goal");
        vec![
            command(&["trace", "show", text(path)]),
            command(&["trace", "stat", text(path)]),
            command(&["trace", "check", text(path)]),
            command(&["trace", "convert", text(path), "-o", text(&goal)]),
        ]
    });
}

/// A trace whose contents are whole and say something else: one number of a call, or its function's error.
fn changed(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut trace = trace::Trace::read(original).unwrap();
    for _ in 0..=random.below(3) {
        let call = random.below(trace.calls.len());
        let (template, cells) = &mut trace.calls[call];
        let values = [-1, 0, 1, 7, 1000, 1 << 20, i64::from(i32::MAX), i64::MAX, i64::MIN];
        match random.below(8) {
            0 => trace.templates[*template as usize].code = random.below(30) as i32,
            _ if cells.is_empty() => {}
            _ => {
                let at = random.below(cells.len());
                cells[at] = Cell::Same(values[random.below(values.len())]);
            }
        }
    }
    trace.write()
}

#[test]
fn replays_of_traces_with_other_numbers_end_with_a_sentence() {
    let name = scratch("mutants-of-files").join("file");
    let programs = [
        recorded("windows", "tests/programs/random_windows.c", "4", &["5", "3"]),
        recorded("files", "tests/programs/random_files.c", "4", &["5", "2", text(&name)]),
        recorded("partitions", "tests/programs/partitions.c", "4", &[]),
        recorded("failing", "tests/programs/failing.c", "4", &["/nonexistent/file"]),
        recorded("bridges", "tests/programs/random_bridges.c", "4", &["3", "2"]),
        recorded("ports", "tests/programs/ports.c", "4", &["halves"]),
    ];
    let originals: Vec<Vec<u8>> = programs.iter().map(|(trace, _)| fs::read(trace).unwrap()).collect();
    let storage = "star:l=1us,b=10Gbps/storage:servers=2,stripe=1MB,b=1GB/s,l=50us";
    survive_changed("numbers", ".trace", (&originals, changed), Some(MAX_KIB), |path| {
        vec![command(&["replay", text(path)]), command(&["replay", text(path), "-m", storage])]
    });
}

#[test]
fn mutants_of_traces_of_other_simulators_end_with_a_sentence() {
    for (name, file) in [("goal", "run.goal"), ("goalbin", "run.goalbin"), ("ti", "run.ti")] {
        survive(name, &format!(".{name}"), &converted(name, file), Some(MAX_KIB), |path| {
            let mut commands =
                vec![command(&["trace", "convert", text(path), "-o", text(&path.with_extension("trace"))])];
            if name.starts_with("goal") {
                commands.push(command(&["replay", text(path), "-m", "star:l=1us,b=8Gbps", "--quiet=on"]));
            }
            commands
        });
    }
}

/// Each file of an archive in turn, the others as they are.
#[test]
fn mutants_of_chakra_traces_end_with_a_sentence() {
    use encoder::{ALL_REDUCE, BROADCAST, collective, compute, file, receive, send};
    let originals = [
        file(&[compute(1, 100), compute(2, 50).after(&[1]), collective(3, ALL_REDUCE, 4096).after(&[1, 2])]),
        file(&[
            compute(7, 3).behind(&[]),
            collective(9, BROADCAST, 64).after(&[7]),
            compute(8, 1).after(&[9]),
        ]),
        file(&[send(1, 0, 100), receive(2, 0, 100), compute(3, 9).after(&[1, 2])]),
    ];
    survive("chakra", ".0.et", &originals, Some(MAX_KIB), |path| {
        vec![command(&["replay", text(path), "-m", "star:l=1us,b=8Gbps", "--quiet=on"])]
    });
}

#[test]
fn mutants_of_archives_end_with_a_sentence() {
    let (trace, _) = recorded("otf2", "examples/c/ring.c", "3", &[]);
    let anchor = trace.with_file_name("run.otf2");
    let output = command(&["trace", "convert", text(&trace), "-o", text(&anchor)]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut members = Vec::new();
    let mut folders = vec![anchor.parent().unwrap().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if [".otf2", ".def", ".evt"].iter().any(|ending| text(&path).ends_with(ending)) => {
                    members.push(path)
                }
                false => {}
            }
        }
    }
    members.sort();
    assert!(members.len() > 2, "an archive has definitions and events: {members:?}");
    for (number, member) in members.iter().enumerate() {
        let whole = fs::read(member).unwrap();
        survive(&format!("otf2-{number}"), "", std::slice::from_ref(&whole), Some(MAX_KIB), |path| {
            fs::copy(path, member).unwrap();
            vec![command(&["trace", "convert", text(&anchor), "-o", text(&path.with_extension("trace"))])]
        });
        fs::write(member, whole).unwrap();
    }
}

#[test]
fn mutants_of_models_end_with_a_sentence() {
    survive("aspen", ".aspen", &files("examples/aspen", ".aspen"), Some(MAX_KIB), |path| {
        vec![command(&["aspen", "list", text(path)]), command(&["aspen", "eval", text(path)])]
    });
}

#[test]
fn mutants_of_measured_times_end_with_a_sentence() {
    let mut osu = "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n".to_owned();
    (0..20).for_each(|power| {
        osu += &format!("{}    {:.2}\n", 1u64 << power, 1.6 + (1u64 << power) as f64 / 6000.0)
    });
    let plain =
        osu.replace("# OSU MPI Latency Test v7.3\n# Size          Latency (us)", "bytes latency (us)");
    survive("times", ".txt", &texts(&[&osu, &plain]), Some(MAX_KIB), |path| {
        vec![command(&["calibrate", text(path)])]
    });
}

#[test]
fn mutants_of_reports_end_with_a_sentence() {
    let (_, report) = recorded("reports", "examples/c/stencil3d.c", "8", &["4", "3"]);
    survive("reports", ".json", &[fs::read(report).unwrap()], Some(MAX_KIB), |path| {
        vec![command(&["report", text(path)]), command(&["report", "--csv", "-", text(path)])]
    });
}

/// Files that a run reads. Its ranks' memory is reserved, not used.
#[test]
fn mutants_of_files_of_a_run_end_with_a_sentence() {
    let hello = compile("examples/c/hello.c", &[]);
    let run = |arguments: &[&str]| {
        let mut run = Command::new(&hello);
        run.args(["-xsim-np", "4", "-xsim-compute", "none", "-xsim-quiet"]).args(arguments);
        common::clean(&mut run);
        run
    };
    survive("places", ".txt", &texts(&["0\n3\n1\n2\n", "3 # the last\n2\n1\n0\n"]), None, |path| {
        vec![run(&["-xsim-mn", "star:n=4,l=1us", "-xsim-placement", &format!("file:{}", text(path))])]
    });
    survive("failures", ".txt", &texts(&["1 1ms\n2 1us\n", "# when\n0-3 2s\n"]), None, |path| {
        vec![run(&["-xsim-ft", "-xsim-fail", &format!("file:{}", text(path))])]
    });
    let rules = "base = \"mpich\"\n\
        [[rule]]\n\
        collective = \"bcast\"\n\
        algorithm = \"pipeline\"\n\
        min-bytes = 1048576\n\
        segment = 131072\n";
    survive("rules", ".toml", &texts(&[rules]), None, |path| vec![run(&["-xsim-coll", text(path)])]);
}

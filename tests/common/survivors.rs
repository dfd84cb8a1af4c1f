//! Runs in which ranks fail and the others go on (`-xsim-ft`).

use super::{Output, Run, scratch};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A run is the same however collectives are computed, whoever listens, and on any number of processes: what
/// one process says. `name` is the test's own.
#[track_caller]
pub fn tolerant(name: &str, run: impl Fn() -> Run) -> Output {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let log = format!("-xsim-log={}", scratch(&format!("{name}-{number}")).join("log").display());
    let one = run().run();
    for way in [&["-xsim-coll-events"][..], &["-xsim-stack-mode=shared", "-xsim-globals=clone"], &[&log]] {
        let other = way.iter().fold(run(), |run, option| run.arg(*option)).run();
        assert_eq!(
            (one.lines(), one.status.code()),
            (other.lines(), other.status.code()),
            "{way:?} changes something: {other}"
        );
    }
    for processes in [2, 4] {
        let several = run().processes("mpich", processes).run();
        assert_eq!(one.lines(), several.lines(), "{processes} processes change something: {several}");
        assert_eq!((one.status.code(), fallen(&one)), (several.status.code(), fallen(&several)), "{several}");
    }
    one
}

/// Returns what a run says of those that have failed while the others went on.
pub fn fallen(output: &Output) -> Vec<&str> {
    output.stderr.lines().filter(|line| line.contains(" failed, the first of them ")).collect()
}

/// All that the ranks of a case say, but `ok`.
#[track_caller]
pub fn said(output: Output, expected: &[&str]) {
    let output = output.success();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    let said: Vec<&str> = output.lines().into_iter().filter(|line| *line != "ok").collect();
    assert_eq!(said, expected, "{output}");
}

/// Returns how the names of a run's files begin, of which there are none.
pub fn fresh(name: &str) -> String {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    scratch(&format!("survivors-{name}-{number}")).join("data").display().to_string()
}

/// A random program of these kinds of steps whose ranks fail by a law and are told so after `delay`.
fn random_failures(kinds: u32, seed: u32, ranks: u32, machine: &str, delay: &str) -> Run {
    let files = fresh("random");
    let run = Run::program("random_failures.c")
        .arg(seed.to_string())
        .arg("30")
        .arg(kinds.to_string())
        .arg(files)
        .ranks(ranks)
        .machine(machine);
    let run = run.arg("-xsim-ft").arg(format!("-xsim-ft-delay={delay}"));
    run.arg(format!("-xsim-fail=exponential:mtbf=1ms,seed={seed}"))
}

/// A random program has one outcome, on so many processes too; how many ranks end.
#[track_caller]
pub fn is_the_same(kinds: u32, seed: u32, ranks: u32, machine: &str, delay: &str, processes: &[u32]) -> u32 {
    let run = || random_failures(kinds, seed, ranks, machine, delay);
    let one = run().run().success();
    let several = processes.iter().map(|&processes| run().processes("mpich", processes.min(ranks)).run());
    for other in several.chain([run().arg("-xsim-coll-events").run()]) {
        let other = other.success();
        assert_eq!(
            (one.lines(), fallen(&one)),
            (other.lines(), fallen(&other)),
            "seed {seed} on {machine}: {other}"
        );
    }
    one.lines().len() as u32
}

//! One process beside several of MPICH: wall-clock time, processor time of all processes, memory.

use crate::lab::{Lab, NO_COMPUTE};
use crate::measure::{CommandCost, Invocation};
use crate::results::{ResultRow, rounded};
use std::path::Path;

const RUNS: u32 = 3;

/// Puts a run on several processes.
fn on(processes: u32, run: Invocation) -> Invocation {
    match processes {
        1 => run,
        _ => run.under(Invocation::of("mpirun.mpich").args(&format!("-np {processes}"))),
    }
}

/// A run on one process beside the same on two: wall-clock times, and how many times as fast.
fn compared(lab: &Lab, what: &str, run: &Invocation, at_least: Option<f64>) -> Result<ResultRow, String> {
    let one = lab.least(RUNS, run)?;
    let two = lab.least(RUNS, &on(2, run.clone()))?;
    let figures =
        |cost: &CommandCost| [rounded(cost.wall_s, 3), rounded(cost.cpu_s, 3), rounded(cost.gigabytes(), 3)];
    let ([wall, cpu, memory], [wall_of_two, cpu_of_two, memory_of_two]) = (figures(&one), figures(&two));
    Ok(ResultRow::default()
        .with("what", what)
        .with("wall s", wall)
        .with("CPU s", cpu)
        .with("GB", memory)
        .with("wall s on 2", wall_of_two)
        .with("CPU s on 2", cpu_of_two)
        .with("GB a process of 2", memory_of_two)
        .with("times as fast", rounded(one.wall_s / two.wall_s, 3))
        .maybe("at least", at_least))
}

/// Processor time of a message between processes.
fn message(
    lab: &Lab,
    what: &str,
    [start, whole]: [Invocation; 2],
    count: f64,
    most: f64,
) -> Result<ResultRow, String> {
    let us = lab.beyond(RUNS, &start, &whole)? * 1e6 / count;
    Ok(ResultRow::default().with("what", what).with("us a message", rounded(us, 2)).with("at most", most))
}

/// Measures speed-ups of two processes, and what messages between processes cost.
///
/// # Errors
/// A sentence if MPICH is missing, or that of a run.
pub fn rows(lab: &Lab, ep: Option<&Path>, ep_ranks: u32) -> Result<Vec<ResultRow>, String> {
    if !lab.has_mpich() {
        return Err("MPICH or libxsim_native_mpich.so is missing: install MPICH, then \
                    sh runtime/core/transport/native/build.sh mpich"
            .to_owned());
    }
    let patterns = crate::messages::compiled(lab)?;
    let operations = lab.compile("cc", "benches/programs/operations.c", "operations", "")?;
    let of = |program: &Path, words: &str, ranks| lab.ranks(program, words, ranks).args(NO_COMPUTE);
    let mut rows = Vec::new();
    if let Some(ep) = ep {
        rows.push(compared(lab, "NPB EP", &lab.ranks(ep, "", ep_ranks), Some(1.7))?);
    }
    for (what, run, at_least) in [
        ("3-D stencil, 65,536 ranks, 20 steps", of(&patterns, "stencil 20", 65_536), Some(1.3)),
        ("allreduce of 8 bytes, 1,000,000 ranks, 20", of(&operations, "allreduce 20", 1_000_000), Some(1.3)),
        ("hello with a barrier, 2,000,000 ranks", of(&operations, "hello 1", 2_000_000), None),
        ("MPI_Comm_split into rows, 1,000,000 ranks, 2", of(&operations, "split 2", 1_000_000), None),
    ] {
        rows.push(compared(lab, what, &run, at_least)?);
    }
    let stream = |times: u32| on(2, of(&patterns, &format!("stream {times}"), 2));
    rows.push(message(lab, "4 bytes that cross in a stream", [stream(0), stream(2_000_000)], 2e6, 1.0)?);
    let any = |times: u32| on(4, of(&patterns, &format!("any {times}"), 64));
    let received = 64.0 * 20.0 * 40.0;
    rows.push(message(
        lab,
        "a receive for any source, 64 ranks on 4 processes",
        [any(0), any(40)],
        received,
        10.0,
    )?);
    rows.push(idle(lab)?);
    Ok(rows)
}

/// Processor time of processes that wait for one that sleeps.
fn idle(lab: &Lab) -> Result<ResultRow, String> {
    let program = lab.compile("cc", "benches/programs/idle.c", "idle", "")?;
    let cost = lab.once(&on(4, lab.ranks(&program, "10", 4).args(NO_COMPUTE)))?;
    Ok(ResultRow::default()
        .with("what", "an idle process: percent of a core")
        .with("us a message", rounded(cost.cpu_s / 10.0 / 3.0 * 100.0, 2))
        .with("at most", 5.0))
}

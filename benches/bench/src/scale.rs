//! The cost of ranks and operations at scale, beside what is aimed at. Start-up is taken off operations.

use crate::lab::{Lab, NO_COMPUTE};
use crate::measure::Invocation;
use crate::results::{ResultRow, rounded};
use std::path::{Path, PathBuf};

/// The size of a unit in seconds, and its name.
type CostUnit = (f64, &'static str);
const SECONDS: CostUnit = (1.0, "s");
const MICROSECONDS: CostUnit = (1e-6, "us");
/// Runs of which the least counts.
const RUNS: u32 = 3;

/// An operation of `operations.c`: ranks, repetitions, what a repetition consists of, and the cost of one of
/// those at most.
struct ScaleOperation {
    name: &'static str,
    ranks: u32,
    times: u32,
    parts: u32,
    unit: CostUnit,
    options: &'static str,
    what: &'static str,
    at_most: Option<f64>,
}

const fn second(name: &'static str, ranks: u32, times: u32, what: &'static str, most: f64) -> ScaleOperation {
    let at_most = if most > 0.0 { Some(most) } else { None };
    ScaleOperation { name, ranks, times, parts: 1, unit: SECONDS, options: NO_COMPUTE, what, at_most }
}

const fn epoch(name: &'static str, what: &'static str) -> ScaleOperation {
    ScaleOperation {
        name,
        ranks: 1024,
        times: 20,
        parts: 65_536,
        unit: MICROSECONDS,
        options: NO_COMPUTE,
        what,
        at_most: Some(0.15),
    }
}

const OPERATIONS: [ScaleOperation; 26] = [
    second("barrier", 1_000_000, 4, "barrier", 0.2),
    second("allreduce", 1_000_000, 4, "allreduce of 8 bytes", 0.2),
    second("reduce", 1_000_000, 4, "reduce of 8 bytes", 0.0),
    second("scan", 1_000_000, 1, "scan of 8 bytes", 0.0),
    second("ibarrier", 1_000_000, 2, "ibarrier", 0.0),
    second("iallreduce", 1_000_000, 2, "iallreduce", 0.0),
    second("gatherv", 1_000_000, 2, "gatherv", 0.0),
    second("scatterv", 1_000_000, 2, "scatterv", 0.0),
    second("function", 100_000, 2, "allreduce with a function of the program", 0.0),
    second("barrier", 16_384, 100, "barrier", 0.0),
    ScaleOperation {
        options: "-xsim-compute none -xsim-coll alltoall=pairwise",
        ..second("alltoall", 4096, 1, "alltoall of 8 bytes, pairwise", 0.5)
    },
    second("alltoallv", 4096, 1, "alltoallv of 0 to 16 bytes", 0.0),
    second("allgatherv", 4096, 1, "allgatherv of 0 to 16 bytes", 0.0),
    second("neighbor_alltoall", 1_000_000, 2, "neighbor_alltoall of 8 bytes in a 3-D grid", 0.0),
    second("neighbor_alltoallv", 1_000_000, 2, "neighbor_alltoallv of 0 to 16 bytes", 0.0),
    second("neighbor_allgather", 1_000_000, 2, "neighbor_allgather of 8 bytes", 0.0),
    second("split", 1_000_000, 2, "MPI_Comm_split into rows", 0.6),
    second("cart", 1_000_000, 2, "MPI_Cart_create", 0.0),
    epoch("rma_put", "MPI_Put of 8 bytes in an epoch of all"),
    epoch("rma_get", "MPI_Get of 8 bytes in an epoch of all"),
    epoch("rma_accumulate", "MPI_Accumulate of 8 bytes in an epoch of all"),
    second("rma_fence", 1_000_000, 4, "MPI_Win_fence", 0.3),
    ScaleOperation {
        parts: 100_000,
        unit: MICROSECONDS,
        ..second("file_shared", 100_000, 20, "MPI_File_write_shared of 8 bytes", 0.0)
    },
    ScaleOperation {
        parts: 100_000,
        unit: MICROSECONDS,
        ..second("file_plain", 100_000, 20, "pwrite of 8 bytes to the same file system", 0.0)
    },
    ScaleOperation {
        parts: 1024,
        unit: MICROSECONDS,
        ..second("exchange", 1024, 1000, "Irecv, Send and Wait", 0.0)
    },
    ScaleOperation {
        parts: 1024,
        unit: MICROSECONDS,
        options: "-xsim-compute measured",
        ..second("exchange", 1024, 1000, "the same, measured", 0.0)
    },
];

/// Messages of a rank that are outstanding at once: kind, ranks, count, repetitions, and microseconds each at
/// most.
const OUTSTANDING: [(&str, u32, u32, u32, Option<f64>); 9] = [
    ("any", 1024, 20, 100, None),
    ("any", 1024, 1000, 2, Some(0.35)),
    ("any", 100, 10_000, 2, Some(0.35)),
    ("named", 1024, 1000, 2, Some(0.25)),
    ("named", 100, 10_000, 2, Some(0.25)),
    ("waitany", 1024, 1000, 2, None),
    ("waitsome", 1024, 1000, 2, None),
    ("probe", 1024, 1000, 2, None),
    ("persistent", 1024, 1000, 2, None),
];

/// A row: what, ranks, its cost, and at most how much.
fn row(what: &str, ranks: u32, cost: f64, unit: &str, at_most: Option<f64>) -> ResultRow {
    ResultRow::default()
        .with("what", what)
        .with("ranks", ranks)
        .with("cost", rounded(cost, 2))
        .with("unit", unit)
        .maybe("at most", at_most)
}

fn compiled(lab: &Lab, name: &str) -> Result<PathBuf, String> {
    lab.compile("cc", &format!("benches/programs/{name}.c"), name, "")
}

/// `hello` with a barrier, start-up included.
fn hello(lab: &Lab, program: &Path, runs: u32, ranks: u32, at_most: [f64; 2]) -> Result<ResultRow, String> {
    let cost = lab.least(runs, &lab.ranks(program, "-q", ranks).args(NO_COMPUTE))?;
    let row = row("hello with a barrier", ranks, cost.cpu_s, "s", Some(at_most[0]));
    Ok(row.with("GB", rounded(cost.gigabytes(), 3)).with("GB at most", at_most[1]))
}

/// Measures 2^27 ranks.
///
/// # Errors
/// That of the run.
pub fn largest(lab: &Lab) -> Result<Vec<ResultRow>, String> {
    let program = lab.compile("cc", "examples/c/hello.c", "hello", "")?;
    Ok(vec![hello(lab, &program, 1, 1 << 27, [180.0, 20.0])?])
}

/// Measures ranks, operations, spawned ranks, halos over packets, and outstanding messages.
///
/// # Errors
/// That of a run.
pub fn rows(lab: &Lab) -> Result<Vec<ResultRow>, String> {
    let program = lab.compile("cc", "examples/c/hello.c", "hello", "")?;
    let mut rows = vec![
        hello(lab, &program, 3, 1_000_000, [0.8, 0.7])?,
        hello(lab, &program, 1, 10_000_000, [8.0, 6.0])?,
    ];
    let program = compiled(lab, "operations")?;
    for operation in &OPERATIONS {
        let of = |times| {
            lab.ranks(&program, &format!("{} {times}", operation.name), operation.ranks)
                .args(operation.options)
        };
        // Short runs, and more of them: between the pauses of a shared machine.
        let runs = if operation.name == "exchange" { 9 } else { RUNS };
        let seconds = lab.beyond(runs, &of(0), &of(operation.times))?;
        let (size, unit) = operation.unit;
        let cost = seconds / f64::from(operation.times) / f64::from(operation.parts) / size;
        rows.push(row(operation.what, operation.ranks, cost, unit, operation.at_most));
    }
    rows.push(spawned(lab)?);
    for sides in [[8, 8, 16, 100], [32, 32, 64, 2]] {
        rows.push(halo(lab, sides)?);
    }
    let program = compiled(lab, "outstanding")?;
    for (kind, ranks, count, times, at_most) in OUTSTANDING {
        let of = |times| lab.ranks(&program, &format!("{kind} {times} {count}"), ranks).args(NO_COMPUTE);
        let seconds = lab.beyond(RUNS, &of(0), &of(times))?;
        let us = seconds * 1e6 / (f64::from(times) * f64::from(ranks) * f64::from(count));
        let what = format!("{kind}, {count} outstanding: a message");
        rows.push(row(&what, ranks, us, "us", at_most));
    }
    Ok(rows)
}

/// Measures 10,000 ranks that are spawned, run their `main` to a barrier with their parents, and end.
fn spawned(lab: &Lab) -> Result<ResultRow, String> {
    let program = lab.compile("cc", "tests/programs/spawn.c", "spawn", "")?;
    let of = |universe: u32| {
        lab.ranks(&program, "many 0", 1).args(NO_COMPUTE).args(&format!("-xsim-universe {universe}"))
    };
    let seconds = lab.beyond(RUNS, &of(2), &of(10_001))?;
    Ok(row("spawn of 10,000 ranks", 1, seconds, "s", Some(0.2)))
}

/// Measures a halo exchange over packets: sides of the grid, which is the torus, and steps.
fn halo(lab: &Lab, [x, y, z, steps]: [u32; 4]) -> Result<ResultRow, String> {
    let program = compiled(lab, "halo")?;
    let ranks = x * y * z;
    let of = |steps: u32| -> Invocation {
        lab.ranks(&program, &format!("{steps} 64 {x} {y} {z}"), ranks)
            .args(NO_COMPUTE)
            .args(&format!("-xsim-mn torus:{x}x{y}x{z},l=100ns,b=10Gbps,level=packet"))
    };
    let seconds = lab.beyond(RUNS, &of(0), &of(steps))?;
    let us = seconds * 1e6 / (6.0 * f64::from(ranks) * f64::from(steps));
    Ok(row("halo of 64 bytes over packets: a message", ranks, us, "us", Some(0.67)))
}

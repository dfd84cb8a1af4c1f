//! Statements of the paper, with what decides each.

use super::super::values::ClaimJudge::{Missing, Test, Values};
use super::super::values::{ClaimVerdict, MeasuredValues, PaperClaim, brief};

pub const CITATION: &str = "C. D. Carothers et al., \"Durango: Scalable Synthetic Workload Generation\n\
    for Extreme-Scale HPC Application Modeling and Simulation\" (SIGSIM-PADS 2017)";

pub const CLAIMS: &[PaperClaim] = &[
    PaperClaim {
        figure: "2.1",
        says: "models in Aspen of applications and machines, with parameters, kernels and control flow",
        judge: Test("tests/aspen.rs", "read, checked and evaluated"),
    },
    PaperClaim {
        figure: "Listing 1",
        says: "the resource `comm` states patterns such as allreduce and nn3d by faces",
        judge: Test("tests/aspen_programs.rs", "each pattern moves what is stated"),
    },
    PaperClaim {
        figure: "2.4",
        says: "control flow is walked implicitly (a loop once) or explicitly (each iteration)",
        judge: Test("tests/aspen.rs", "`--explicit`, and loops multiplied without it"),
    },
    PaperClaim {
        figure: "Listing 3",
        says: "models become C programs with loops",
        judge: Test("tests/aspen_programs.rs", "`xsim aspen generate`, run here and under MPICH"),
    },
    PaperClaim {
        figure: "2.7",
        says: "models drive the network directly, without traces",
        judge: Test("tests/aspen_run.rs", "a walk takes the time of the generated program to the picosecond"),
    },
    PaperClaim {
        figure: "Listing 6",
        says: "each round computes on a socket of its choice",
        judge: Test("tests/aspen_run.rs", "each round computes on the socket of its kernel"),
    },
    PaperClaim {
        figure: "4",
        says: "hops a packet: 1.0 in phase 2 to 1.06 in phase 4, the same by the model and by LULESH",
        judge: Values(|values| {
            let of = |phase: &str| values.get("4 to 7", &format!("{phase}, walked"), "hops a packet");
            let all = [of("phase2")?, of("phase4")?, of("phase8")?];
            let [two, four, eight] = all.map(brief);
            ClaimVerdict::of(
                all[0] == 1.0 && (1.05..1.06).contains(&all[1]),
                format!("{two}, {four}, {eight} in phases 2, 4, 8"),
            )
        }),
    },
    PaperClaim {
        figure: "5",
        says: "272 K to 320 K finished packets, the same by the model and by LULESH",
        judge: Values(|values| exact(values, "packets")),
    },
    PaperClaim {
        figure: "6",
        says: "finished hops in the same range, the same by the model and by LULESH",
        judge: Values(|values| exact(values, "hops")),
    },
    PaperClaim {
        figure: "7",
        says: "140 MB in phase 2, 151 MB in phases 4 and 8, the same by the model and by LULESH",
        judge: Values(|values| exact(values, "bytes")),
    },
    PaperClaim {
        figure: "3.1.2",
        says: "LULESH waits for 26 requests in `MPI_Waitall` where fewer are open",
        judge: Missing(
            "a null request is complete in MPI: the call is right, and xsim runs LULESH 2.0 as it is",
        ),
    },
    PaperClaim {
        figure: "8",
        says: "torus of 32 K nodes: 24,000 s on 32 ranks to 1,000 s on 2,048, more than linear",
        judge: Missing("packets under a model run on one core of one process"),
    },
    PaperClaim {
        figure: "9",
        says: "torus of 32 K nodes: 726 s at best, on 256 nodes and 4,096 ranks",
        judge: Values(|values| faster(values, "torus 8^5, 32768 nodes", 128, 726.0)),
    },
    PaperClaim {
        figure: "8, 9",
        says: "efficiency falls from 92 % to -314 %",
        judge: Missing("xsim never runs ahead of what is safe, and rolls nothing back"),
    },
    PaperClaim {
        figure: "10",
        says: "dragonfly of 1.3 million nodes: 24,000 s on 1 K ranks, 2,200 s on 32 K ranks",
        judge: Values(|values| faster(values, "dragonfly, 1328256 nodes", 2, 2200.0)),
    },
    PaperClaim {
        figure: "8 to 10",
        says: "strong scaling over processes",
        judge: Values(|values| {
            let all: Vec<(&str, f64)> = values.cases("processes", "CPU s a process").collect();
            let [(case, single), (_, double)] = all[..] else { return None };
            ClaimVerdict::of(
                double < 0.75 * single,
                format!(
                    "{case}: {} s of CPU, {} s for each of two; packets of a model stay on one process",
                    brief(single),
                    brief(double)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "3.2.2",
        says: "no penalty of large traces",
        judge: Test("tests/aspen_run.rs", "a walk has no trace"),
    },
];

/// Judges that a quantity is the paper's in all phases.
fn exact(values: &MeasuredValues, quantity: &str) -> Option<ClaimVerdict> {
    let all: Vec<_> =
        values.rows().iter().filter(|row| row["figure"] == "4 to 7" && row["quantity"] == quantity).collect();
    (!all.is_empty()).then_some(())?;
    let same = all.iter().filter(|row| row["ours"].as_f64() == row["paper"].as_f64()).count();
    ClaimVerdict::of(
        same == all.len(),
        format!("{same} of {} equal (model and generated program, phases 2, 4, 8)", all.len()),
    )
}

/// Judges that a run's processor time with 128 requests a round, as in listing 6, is below the paper's best.
/// Multiplies the time of fewer requests.
fn faster(values: &MeasuredValues, network: &str, requests: u32, paper: f64) -> Option<ClaimVerdict> {
    let case = format!("{network}, {requests} requests");
    let (seconds, memory) = (values.get("8 to 10", &case, "CPU s")?, values.get("8 to 10", &case, "GB")?);
    let whole = seconds * f64::from(128 / requests);
    let estimate = match requests {
        128 => String::new(),
        _ => format!("; 128, as in listing 6, would take {} s", brief(whole)),
    };
    ClaimVerdict::of(
        whole <= paper,
        format!(
            "{} s of one core, {} GB, with {requests} requests in each of two rounds{estimate}",
            brief(seconds),
            brief(memory)
        ),
    )
}

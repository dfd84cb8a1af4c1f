//! Statements of the paper, with what decides each.

use super::super::values::ClaimJudge::{Missing, Test, Values};
use super::super::values::{ClaimVerdict, MeasuredValues, PaperClaim, brief};

pub const CITATION: &str = "B. Acun et al., \"Preliminary Evaluation of a Parallel Trace Replay Tool for\n\
    HPC Network Simulations\" (PADABS 2015)";

const NO_ROLLBACK: &str =
    "xsim never runs ahead of what is safe, and rolls nothing back: it has no such parameter";

pub const CLAIMS: &[PaperClaim] = &[
    PaperClaim {
        figure: "3",
        says: "a replay executes tasks when what they depend on is done: computation, messages, completions",
        judge: Test("tests/replay.rs", "replays take the time of their recording to the picosecond"),
    },
    PaperClaim {
        figure: "4",
        says: "regions of interest skip events such as start-up",
        judge: Test(
            "tests/trace.rs",
            "`xsim_trace_on()`, `xsim_trace_off()`, `MPI_Pcontrol`, `-xsim-trace-from`; BigSim's mark \
                `TRACER_Loop` is a string of its own traces, which xsim does not read",
        ),
    },
    PaperClaim {
        figure: "5",
        says: "proxies: a 3-D stencil with messages of 128 KB to six neighbours, and LeanMD; three \
            iterations",
        judge: Test(
            "examples/aspen/leanmd.aspen",
            "models of both, the stencil in benches/programs/faces.aspen",
        ),
    },
    PaperClaim {
        figure: "4",
        says: "one task or all ready tasks an event (TraceR-single, TraceR-multi)",
        judge: Missing("ranks run until they wait: there are no events for tasks"),
    },
    PaperClaim {
        figure: "2",
        says: "optimistic execution scales from 1 to 16 cores, conservative slows down (43 million \
            synchronizations, 1,239 for the other)",
        judge: Missing(NO_ROLLBACK),
    },
    PaperClaim {
        figure: "3",
        says: "event rates by batch size and GVT interval",
        judge: Missing(NO_ROLLBACK),
    },
    PaperClaim {
        figure: "4",
        says: "LPs in a KP: 1, 2, 16, 128: efficiency 51, 38, 2, -87 %; 82, 92, 119, 189 s",
        judge: Missing(NO_ROLLBACK),
    },
    PaperClaim {
        figure: "5",
        says: "one core: ten times as fast as BigSim, half of SST's time",
        judge: Missing("neither is at hand; the figure's times stand in the figure alone"),
    },
    PaperClaim {
        figure: "6.1",
        says: "reading a trace takes less than 5 % of the time",
        judge: Values(|values| {
            let of = |case: &str| case.contains("TorusNet");
            let (case, percent) = values.cases("6", "% reading").filter(|(case, _)| of(case)).last()?;
            ClaimVerdict::of(percent < 5.0, format!("{case}: {} %", brief(percent)))
        }),
    },
    PaperClaim {
        figure: "6",
        says: "512 K nodes, SimpleNet: 95 s on 512 cores",
        judge: Values(|values| largest(values, "SimpleNet")),
    },
    PaperClaim {
        figure: "6",
        says: "512 K nodes, TorusNet: 542 s on 512 cores",
        judge: Values(|values| largest(values, "TorusNet")),
    },
    PaperClaim {
        figure: "6",
        says: "the time grows with the nodes: less than 100 s for smaller systems",
        judge: Values(|values| {
            let all = values.series("6", "stencil, TorusNet (packets)", "CPU s");
            let (few, many) = (all.first()?, all.last()?);
            let us = |point: &(u64, f64)| brief(point.1 * 1e6 / point.0 as f64);
            ClaimVerdict::of(
                all.iter().filter(|point| point.0 < 500_000).all(|point| point.1 < 100.0),
                format!("{} us a node with {} nodes, {} with {}", us(few), few.0, us(many), many.0),
            )
        }),
    },
    PaperClaim {
        figure: "6",
        says: "scales with 1 to 512 cores",
        judge: Missing("packets of a replay run on one core"),
    },
    PaperClaim {
        figure: "5",
        says: "SimpleNet knows no topology, TorusNet has its links' queues",
        judge: Values(|values| {
            let at = |level: &str| values.series("6", &format!("stencil, {level}"), "virtual ms").pop();
            let (formula, packets) = (at("SimpleNet (formula)")?, at("TorusNet (packets)")?);
            ClaimVerdict::of(
                packets.1 > formula.1,
                format!(
                    "{} nodes: {} ms by formula, which has hops and no queues, {} ms as packets",
                    packets.0,
                    brief(formula.1),
                    brief(packets.1)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "7, left",
        says: "LeanMD, 32 K nodes of a 5-D torus: 2 s (SimpleNet), 65 s (TorusNet) on 128 cores",
        judge: Values(|values| {
            let at = |level: &str| values.get("7", &format!("LeanMD, {level}, 32768 nodes"), "CPU s");
            let (formula, packets) = (at("SimpleNet (formula)")?, at("TorusNet (packets)")?);
            ClaimVerdict::of(
                formula <= 2.0 && packets <= 65.0,
                format!(
                    "{} s and {} s of one core, for a model of its messages: 26 neighbours, 1.2 million \
                        atoms, 3 iterations",
                    brief(formula),
                    brief(packets)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "7, left",
        says: "LeanMD speeds up less than the stencil, for more is rolled back",
        judge: Missing(NO_ROLLBACK),
    },
    PaperClaim {
        figure: "7, right",
        says: "LeanMD: within 9 % of Vulcan on 512 to 8,192 nodes, mostly 2 %",
        judge: Missing(
            "Vulcan's times stand in the figure alone, and LeanMD is Charm++, which xsim does not run",
        ),
    },
    PaperClaim {
        figure: "7",
        says: "half a million nodes in less than 10 minutes",
        judge: Values(|values| {
            let (nodes, seconds) = values.series("6", "stencil, TorusNet (packets)", "wall s").pop()?;
            ClaimVerdict::of(
                nodes > 500_000 && seconds < 600.0,
                format!("{nodes} nodes in {} s of the clock on the wall", brief(seconds)),
            )
        }),
    },
    PaperClaim {
        figure: "beyond",
        says: "(not in the paper) two jobs on one machine wait for each other's packets",
        judge: Values(|values| {
            let longer = |name: &str| values.get("beyond", &format!("job 1 of 2, {name}"), "% longer");
            let (rows, drawn) = (longer("in rows")?, longer("drawn")?);
            ClaimVerdict::of(
                drawn > rows,
                format!("{} % longer side by side, {} % on drawn nodes", brief(rows), brief(drawn)),
            )
        }),
    },
];

/// Judges the time of the largest stencil.
fn largest(values: &MeasuredValues, level: &str) -> Option<ClaimVerdict> {
    let ours = if level == "SimpleNet" { "formula" } else { "packets" };
    let series = format!("stencil, {level} ({ours})");
    let (nodes, seconds) = values.series("6", &series, "CPU s").pop()?;
    let memory = values.series("6", &series, "GB").pop()?.1;
    let most = if level == "SimpleNet" { 95.0 } else { 542.0 };
    let packets = if level == "SimpleNet" { "" } else { ", packets of 4 KiB (the paper states no size)" };
    let scale = if nodes > 500_000 { String::new() } else { format!(", not 512 K ({nodes} by --most)") };
    ClaimVerdict::of(
        nodes > 500_000 && seconds <= most,
        format!("{nodes} nodes: {} s of one core, {} GB{packets}{scale}", brief(seconds), brief(memory)),
    )
}

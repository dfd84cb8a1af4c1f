//! Statements of the paper, with what decides each.

use super::super::values::ClaimJudge::{Missing, Test, Values};
use super::super::values::{ClaimVerdict, MeasuredValues, PaperClaim, brief};

pub const CITATION: &str = "X. Wu, V. Deshpande and F. Mueller, \"ScalaBenchGen: Auto-Generation of\n\
    Communication Benchmarks Traces\" (IPDPS 2012)";

pub const CLAIMS: &[PaperClaim] = &[
    PaperClaim {
        figure: "II",
        says: "traces of near constant size, compressed within and between nodes",
        judge: Test("tests/folding.rs", "loops and ranks fold; `xsim-bench traces sizes` measures"),
    },
    PaperClaim {
        figure: "II",
        says: "times between calls as histograms by call path",
        judge: Test(
            "tests/trace_benchmark.rs",
            "histograms keep work of other sizes, phases and first times apart",
        ),
    },
    PaperClaim {
        figure: "III",
        says: "C code with loops as in the program, conditions on ranks, requests in a ring and \
            communicators",
        judge: Test("tests/trace_benchmark.rs", "generated programs make the calls of random programs"),
    },
    PaperClaim {
        figure: "Table I",
        says: "main.h, main.c, util.h and util.c",
        judge: Test("tests/trace_benchmark.rs", "main.c and util.c, and the times of calls in times.txt"),
    },
    PaperClaim {
        figure: "III.C",
        says: "computation depends on which path led to a call",
        judge: Test("tests/trace_benchmark.rs", "computation is that of the recording"),
    },
    PaperClaim {
        figure: "III.D",
        says: "unequal parameters are vectors that the program reads",
        judge: Test("tests/trace_benchmark.rs", "numbers that differ between ranks are tables"),
    },
    PaperClaim {
        figure: "V.A",
        says: "the generated programs make the same events with the same volumes",
        judge: Values(|values| {
            let all: Vec<(&str, f64)> = values.cases("8", "same calls").collect();
            let same = all.iter().filter(|case| case.1 == 1.0).count();
            (!all.is_empty()).then_some(())?;
            let others: Vec<&str> = all.iter().filter(|case| case.1 != 1.0).map(|case| case.0).collect();
            ClaimVerdict::of(
                others.is_empty(),
                format!("{same} of {} by `xsim trace diff`; others: {}", all.len(), named(&others)),
            )
        }),
    },
    PaperClaim {
        figure: "8",
        says: "times are off by 6.4 % on average",
        judge: Values(|values| {
            let all: Vec<f64> = values.cases("8", "error %").map(|case| case.1.abs()).collect();
            (!all.is_empty()).then_some(())?;
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let worst = values.cases("8", "error %").max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
            ClaimVerdict::of(
                mean <= 6.4,
                format!(
                    "{} % over {} runs; worst {} with {} %",
                    brief(mean),
                    all.len(),
                    worst.0,
                    brief(worst.1)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "8",
        says: "IS is the least accurate: 15.3 %, 21.6 % with 128 and 22.1 % with 512 ranks",
        judge: Values(|values| {
            let mean = |code: &str| {
                let all: Vec<f64> =
                    values.series("8", code, "error %").iter().map(|point| point.1.abs()).collect();
                (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
            };
            let codes = ["bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"];
            let all: Vec<(&str, f64)> = codes.iter().filter_map(|code| Some((*code, mean(code)?))).collect();
            let worst = all.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
            let shown: Vec<String> =
                all.iter().map(|(code, error)| format!("{code} {}", brief(*error))).collect();
            ClaimVerdict::of(
                worst.0 == "is",
                format!(
                    "mean error in %: {}; each member's bytes of `MPI_Alltoallv` are kept, which the \
                        paper averages",
                    shown.join(", ")
                ),
            )
        }),
    },
    PaperClaim {
        figure: "8",
        says: "classes C and D, 16 to 512 ranks, on ARC",
        judge: Missing(
            "ARC is not at hand, and the class is the user's (--class): a smaller one has less \
                computation, and some codes end by themselves on many ranks",
        ),
    },
    PaperClaim {
        figure: "9, 10",
        says: "a program made on ARC runs on Jaguar as the original does there, off by the processors' speed",
        judge: Values(|values| {
            let worst =
                |quantity: &str| values.cases("10", quantity).map(|case| case.1.abs()).max_by(f64::total_cmp);
            let (plain, scaled) = (worst("% as traced")?, worst("% scaled")?);
            ClaimVerdict::of(
                scaled < plain,
                format!(
                    "IS and MG on a processor that takes 0.775 of the time: off by up to {} % as traced, \
                        {} % with times scaled",
                    brief(plain),
                    brief(scaled)
                ),
            )
        }),
    },
    PaperClaim {
        figure: "9",
        says: "IS: fastest with 64 ranks on ARC, with 256 on Jaguar",
        judge: Missing("a property of two machines that are not at hand"),
    },
    PaperClaim {
        figure: "10",
        says: "with delta times cut by 23 %, MG matches Jaguar",
        judge: Values(|values| {
            let of = |case: &str| case.starts_with("mg");
            let worst = values.cases("10", "% scaled").filter(|(case, _)| of(case));
            let worst = worst.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
            ClaimVerdict::of(worst.1.abs() < 10.0, format!("{}: {} %", worst.0, brief(worst.1)))
        }),
    },
    PaperClaim {
        figure: "Table II",
        says: "3,000 to 9,000 matrix products: 44.2 to 132.4 s on ARC, 34.3 to 102.6 s on Jaguar, 22.4 % \
            less",
        judge: Missing("two processors that are not at hand; their ratio 0.775 is figure 10's factor"),
    },
    PaperClaim {
        figure: "Table III",
        says: "BT 705, EP 538, FT 552, IS 571, LU 2,504, SP 689 lines, with any number of ranks",
        judge: Values(|values| {
            let codes = ["bt", "ep", "ft", "is", "lu", "sp"];
            let mut texts = Vec::new();
            let mut constant = true;
            for code in codes {
                let lines = values.series("8", code, "lines");
                let (Some(first), Some(last)) = (lines.first(), lines.last()) else { continue };
                constant &= lines.iter().all(|point| point.1 == first.1);
                texts.push(format!("{code} {} to {}", first.1, last.1));
            }
            (!texts.is_empty()).then_some(())?;
            let averaged = values.series("Table III", "is", "lines averaged");
            if let (Some(first), Some(last)) = (averaged.first(), averaged.last()) {
                texts.push(format!("with `--average` is {} to {}", first.1, last.1));
            }
            ClaimVerdict::of(constant, format!("{} (no counts are averaged by default)", texts.join(", ")))
        }),
    },
    PaperClaim {
        figure: "Table III",
        says: "CG 1,057 to 2,815 and MG 2,603 to 9,507 lines, less than proportional to the ranks",
        judge: Values(|values| {
            let mut texts = Vec::new();
            let mut holds = true;
            for code in ["cg", "mg"] {
                let lines = values.series("8", code, "lines");
                let (first, last) = (lines.first()?, lines.last()?);
                holds &= last.1 / first.1 <= last.0 as f64 / first.0 as f64;
                texts.push(format!(
                    "{code} {} lines with {} ranks, {} with {}",
                    first.1, first.0, last.1, last.0
                ));
            }
            ClaimVerdict::of(holds, texts.join("; "))
        }),
    },
    PaperClaim {
        figure: "Table III",
        says: "shorter than the programs, but for EP, MG and CG with many ranks; 42.5 to 6.6 % shorter \
            on average",
        judge: Values(|values| {
            let changes: Vec<(&str, f64)> = PROGRAM_LINES
                .iter()
                .filter_map(|(code, program)| {
                    let (_, lines) = values.series("8", code, "lines").pop()?;
                    Some((*code, 100.0 * (lines / program - 1.0)))
                })
                .collect();
            (!changes.is_empty()).then_some(())?;
            let others = ["ep", "mg", "cg"];
            let texts: Vec<String> =
                changes.iter().map(|(code, change)| format!("{code} {}", change.round())).collect();
            ClaimVerdict::of(
                changes.iter().all(|(code, change)| *change < 0.0 || others.contains(code)),
                format!("change in % with the most ranks: {}", texts.join(", ")),
            )
        }),
    },
    PaperClaim {
        figure: "Table III",
        says: "EP's main.c has 71 lines",
        judge: Values(|values| shorter(values, "ep", 71.0)),
    },
    PaperClaim {
        figure: "Table III",
        says: "Sweep3D: 1,110 lines",
        judge: Missing("Sweep3D is not among the programs of --npb; sweeps are in LU"),
    },
    PaperClaim {
        figure: "VII",
        says: "generated programs hide the original's source",
        judge: Test("tests/trace_benchmark.rs", "an obfuscated benchmark has no names"),
    },
];

/// Lines of the programs as table III has them.
const PROGRAM_LINES: [(&str, f64); 8] = [
    ("bt", 9217.0),
    ("cg", 1796.0),
    ("ep", 325.0),
    ("ft", 2165.0),
    ("is", 1141.0),
    ("lu", 5937.0),
    ("mg", 2580.0),
    ("sp", 4922.0),
];

fn named(cases: &[&str]) -> String {
    if cases.is_empty() { "none".to_owned() } else { cases.join("; ") }
}

/// Judges that a generated `main.c` has at most so many lines.
fn shorter(values: &MeasuredValues, code: &str, most: f64) -> Option<ClaimVerdict> {
    let (ranks, lines) = values.series("8", code, "lines of main.c").pop()?;
    ClaimVerdict::of(lines <= most, format!("{lines} with {ranks} ranks"))
}

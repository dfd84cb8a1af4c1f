//! The cost of a message, by pattern and number of ranks.

use crate::lab::{Lab, NO_COMPUTE};
use crate::measure::Invocation;
use crate::results::{ResultRow, rounded};
use std::path::{Path, PathBuf};

/// The patterns of `benches/programs/patterns.c`.
pub const PATTERNS: [&str; 8] = ["ring", "backwards", "token", "stencil", "faces", "named", "any", "barrier"];
/// Microseconds of processor time a message at most.
const AIMS: [(&str, u32, f64); 16] = [
    ("ring", 64, 0.05),
    ("ring", 1024, 0.05),
    ("ring", 16_384, 0.06),
    ("ring", 1_000_000, 0.10),
    ("backwards", 64, 0.10),
    ("backwards", 1024, 0.10),
    ("backwards", 16_384, 0.15),
    ("backwards", 1_000_000, 0.25),
    ("token", 1024, 0.12),
    ("token", 1_000_000, 0.30),
    ("stencil", 1024, 0.18),
    ("faces", 1_000_000, 0.15),
    ("named", 1024, 0.15),
    ("named", 1_000_000, 0.8),
    ("any", 1024, 0.35),
    ("stencil", 64, 0.18),
];

/// Compiles the patterns.
///
/// # Errors
/// The compiler's messages.
pub fn compiled(lab: &Lab) -> Result<PathBuf, String> {
    lab.compile("cc", "benches/programs/patterns.c", "patterns", "")
}

/// Returns how often a pattern is repeated, so that ranks send about `messages` in all.
pub fn repetitions(pattern: &str, messages: u32, ranks: u32) -> u32 {
    let each = match pattern {
        "stencil" | "faces" => 6,
        "named" | "any" | "barrier" => 20,
        _ => 1,
    };
    (messages / ranks / each).max(1)
}

/// A pattern at a number of repetitions.
pub fn pattern(lab: &Lab, program: &Path, name: &str, repetitions: u32, ranks: u32) -> Invocation {
    lab.ranks(program, &format!("{name} {repetitions}"), ranks).args(NO_COMPUTE)
}

/// Returns the number of messages that the patterns print.
///
/// # Errors
/// A sentence if they print none.
pub fn counted(output: &str) -> Result<f64, String> {
    output
        .lines()
        .find_map(|line| line.strip_prefix("messages ")?.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| format!("the pattern has not printed its messages, but: {output}"))
}

/// Measures the microseconds of a message: of a whole run beyond its start.
///
/// # Errors
/// A sentence if a run fails, or tells no messages.
pub fn microseconds(lab: &Lab, runs: u32, start: &Invocation, whole: &Invocation) -> Result<f64, String> {
    let [start, whole] = lab.least_of(runs, [start, whole])?;
    Ok((whole.cpu_s - start.cpu_s) * 1e6 / counted(&whole.output)?)
}

/// Measures all patterns, beside what is aimed at.
///
/// # Errors
/// That of a run.
pub fn alone(lab: &Lab, rounds: u32, ranks: &[u32]) -> Result<Vec<ResultRow>, String> {
    let program = compiled(lab)?;
    let all = [64, 1024, 16_384, 1_000_000];
    let mut rows = Vec::new();
    for &ranks in if ranks.is_empty() { &all[..] } else { ranks } {
        for name in PATTERNS {
            // Up to 1,024 ranks several short runs: between the pauses of a shared machine.
            let (messages, runs) = if ranks > 1024 { (20_000_000, 1) } else { (4_000_000, 5) };
            let of = |repetitions| pattern(lab, &program, name, repetitions, ranks);
            let us = microseconds(lab, runs * rounds, &of(0), &of(repetitions(name, messages, ranks)))?;
            let aim = AIMS.iter().find(|(of, at, _)| (*of, *at) == (name, ranks)).map(|(.., aim)| *aim);
            let row = ResultRow::default().with("pattern", name).with("ranks", ranks);
            rows.push(row.with("us", rounded(us, 2)).maybe("at most", aim));
        }
    }
    Ok(rows)
}

/// Measures patterns with `-xsim-check` and without it.
///
/// # Errors
/// That of a run.
pub fn checked(lab: &Lab, rounds: u32) -> Result<Vec<ResultRow>, String> {
    let program = compiled(lab)?;
    let mut rows = Vec::new();
    for ranks in [64, 1024, 16_384] {
        for name in ["stencil", "faces", "ring"] {
            let of = |repetitions| pattern(lab, &program, name, repetitions, ranks);
            let (start, whole) = (of(0), of(repetitions(name, 2_000_000, ranks)));
            let [checked_start, checked] = [&start, &whole].map(|run| run.clone().arg("-xsim-check"));
            let costs = lab.least_of(rounds, [&start, &whole, &checked_start, &checked])?;
            let messages = counted(&costs[1].output)?;
            let us = |start: usize, whole: usize| (costs[whole].cpu_s - costs[start].cpu_s) * 1e6 / messages;
            let (without, with) = (us(0, 1), us(2, 3));
            rows.push(
                ResultRow::default()
                    .with("pattern", name)
                    .with("ranks", ranks)
                    .with("us without", rounded(without, 2))
                    .with("us with", rounded(with, 2))
                    .with("times", rounded(with / without, 2)),
            );
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_repeated_until_its_messages_are_sent() {
        assert_eq!(repetitions("ring", 4_000_000, 64), 62_500);
        assert_eq!(repetitions("stencil", 4_000_000, 64), 10_416);
        assert_eq!(repetitions("any", 10, 64), 1);
        assert_eq!(counted("messages 4000000 sent\n"), Ok(4e6));
        assert!(counted("nothing").is_err());
    }
}

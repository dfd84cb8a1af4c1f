//! The text of a model.

use crate::join::{CommonRuns, CommonStep, Numbers, StepKind};
use aspen::Collective;
use fit::{Approximation, fit};
use std::fmt::Write;

/// The machine of recordings: a computation takes the time that was recorded. It has one core, whatever is
/// computed side by side.
pub const MACHINE: &str = "\
// The machine of recordings: a second of 'compute' takes a second.
machine recorded { node [1] host }

node host { socket [1] cpu }

socket cpu { core [1] rank }

core rank { resource compute(seconds) [seconds] }
";

/// Above this the difference between a formula and what was seen is told.
const LARGE: f64 = 0.1;

/// The text of a model of this name, as `xsim aspen format` writes it, and what it does not say.
pub fn model(name: &str, joined: &CommonRuns) -> (String, Vec<String>) {
    let mut writing = Writing { joined, parameters: String::new(), counts: [0; 4], notes: Vec::new() };
    let body = writing.body(&joined.body, 2);
    let ranks: Vec<String> = joined.ranks.iter().map(u32::to_string).collect();
    let last = ranks.last().map_or("1", String::as_str);
    let text = format!(
        "// From traces of {} ranks (xsim aspen from). Computation is in seconds of the recordings' \
         machine.\n\
         model {name} {{\n  param ranks = {last}\n\
         {}\n  kernel main {{\n\
         {body}  }}\n\
         }}\n",
        ranks.join(", "),
        writing.parameters
    );
    (text, writing.notes)
}

struct Writing<'j> {
    joined: &'j CommonRuns,
    parameters: String,
    /// Parameters of each kind.
    counts: [usize; 4],
    notes: Vec<String>,
}

/// The kind of a number.
#[derive(Clone, Copy)]
enum NumberKind {
    Times,
    Count,
    Bytes,
    Seconds,
}

impl Writing<'_> {
    /// A number in the text: itself if it is the same on any number of ranks, else a parameter of its own.
    fn number(&mut self, kind: NumberKind, values: &Numbers) -> String {
        let seen: Vec<(f64, f64)> =
            self.joined.ranks.iter().map(|&ranks| f64::from(ranks)).zip(values.iter().copied()).collect();
        let Approximation { text, error, varies, .. } = fit(&seen, !matches!(kind, NumberKind::Seconds));
        if !varies && error == 0.0 {
            return text;
        }
        let word = ["times", "count", "bytes", "seconds"][kind as usize];
        let number = &mut self.counts[kind as usize];
        *number += 1;
        let name = format!("{word}{number}");
        let comment = if error > 1e-3 { format!(" // within {:.1} %", error * 100.0) } else { String::new() };
        let _ = writeln!(self.parameters, "  param {name} = {text}{comment}");
        if error > LARGE {
            self.notes.push(format!(
                "no formula in the number of ranks comes closer to '{name}' than {:.0} %: {values:?}",
                error * 100.0
            ));
        }
        name
    }

    fn body(&mut self, body: &[CommonStep], depth: usize) -> String {
        let indent = "  ".repeat(depth);
        let mut text = String::new();
        for common in body {
            let _ = match common {
                CommonStep::Loop(counts, body) => {
                    let (times, body) = (self.number(NumberKind::Times, counts), self.body(body, depth + 1));
                    writeln!(text, "{indent}iterate [{times}] {{\n{body}{indent}}}")
                }
                CommonStep::Step(doing, computed) => {
                    if computed.iter().any(|&seconds| seconds > 0.0) {
                        let seconds = self.number(NumberKind::Seconds, computed);
                        let _ = writeln!(text, "{indent}execute {{ compute [{seconds}] }}");
                    }
                    writeln!(text, "{indent}execute {{ {} }}", self.doing(doing))
                }
            };
        }
        text
    }

    fn doing(&mut self, doing: &StepKind) -> String {
        match doing {
            StepKind::Collective(which, operation, bytes) => {
                let bytes = if *which == Collective::Barrier {
                    "0".to_owned()
                } else {
                    self.number(NumberKind::Bytes, bytes)
                };
                let operation =
                    if which.reduces() { format!(", {}", operation.name()) } else { String::new() };
                format!("comm [{bytes}] as {}{operation}", which.name())
            }
            StepKind::Exchange(pattern, counts, sizes) => {
                let (count, size) =
                    (self.number(NumberKind::Count, counts), self.number(NumberKind::Bytes, sizes));
                let resource = if matches!(pattern, aspen::CommunicationPattern::Shift { .. }) {
                    "messages"
                } else {
                    "comm"
                };
                format!("{resource} [{count}] of size [{size}] as {pattern}")
            }
            StepKind::Open(bytes) => {
                let bytes = self.number(NumberKind::Bytes, bytes);
                self.notes.push(format!(
                    "messages of no pattern of Aspen's, {bytes} bytes of each rank on average, have no \
                     receiver in the model"
                ));
                format!("messages [{bytes}]")
            }
        }
    }
}

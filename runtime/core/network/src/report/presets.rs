//! Presets in words.

use super::machine_report;
use crate::machine::{Machine, MachineError, Preset};
use std::fmt::Write;

/// Describes the nodes, ranks, links and rates of a preset, the times of messages on it, its specification,
/// sources, and what is derived or assumed.
///
/// # Errors
/// A machine that cannot be built, which no preset is.
pub fn describe_preset(preset: &Preset) -> Result<String, MachineError> {
    let machine = Machine::parse(preset.name)?;
    let mut text = format!("preset     {}\n", preset.name);
    if !preset.title.is_empty() {
        let _ = writeln!(text, "machine    {}", preset.title);
    }
    let nodes = preset.nodes.map_or("as many as the ranks need".to_owned(), |nodes| nodes.to_string());
    let each = if preset.rank.is_empty() { String::new() } else { format!(", each {}", preset.rank) };
    let _ = writeln!(text, "nodes      {nodes}\nranks      {} a node{each}", preset.ranks);
    let report = machine_report(&machine, Some(preset.all_ranks()))?.to_string();
    let known = ["machine ", "source "];
    for line in report.lines().filter(|line| !known.iter().any(|word| line.starts_with(word))) {
        let _ = writeln!(text, "{line}");
    }
    for ping_pong in &preset.ping_pongs {
        let [from, to] = ping_pong.ranks;
        let _ = writeln!(
            text,
            "message    {} bytes from rank {from} to {to}: {} ({})",
            ping_pong.bytes, ping_pong.time, ping_pong.basis
        );
    }
    for source in &preset.sources {
        let _ = writeln!(text, "source     {source}");
    }
    for fact in &preset.assumed {
        let _ = writeln!(text, "{fact}");
    }
    Ok(text)
}

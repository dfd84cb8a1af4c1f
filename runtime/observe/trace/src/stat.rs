//! A trace in numbers: calls, messages and bytes by function, sizes and distances of messages, and what the
//! compression is.

use crate::roles::Roles;
use crate::template::{Field, Peer};
use crate::trace::{Act, Made, Node, RankView, Trace};
use std::collections::BTreeMap;
use std::io::{Result, Write};

/// Distances that are shown.
const SHOWN: usize = 16;

/// Calls of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FunctionTotals {
    /// Calls.
    pub calls: u64,
    /// Messages that they sent to a rank, `MPI_PROC_NULL` aside.
    pub messages: u64,
    /// The bytes of these, or that they brought to a collective.
    pub bytes: u128,
}

/// A trace in numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceStatistics {
    /// By function.
    pub functions: BTreeMap<String, FunctionTotals>,
    /// Messages by the bits of their bytes.
    pub sizes: BTreeMap<u32, u64>,
    /// Messages and bytes by how far the destination is from the sender, round the communicator.
    pub distances: BTreeMap<i32, (u64, u128)>,
}

impl TraceStatistics {
    /// Adds up the calls and messages of all ranks; O(ranks, times the folded steps of a rank).
    pub fn of(trace: &Trace) -> TraceStatistics {
        let roles: Vec<Roles> = trace.templates.iter().map(|template| Roles::of(trace, template)).collect();
        let mut all = TraceStatistics::default();
        for rank in 0..trace.ranks {
            let view = trace.rank(rank);
            all.add(&view, view.acts(), 1, &roles);
        }
        all
    }

    fn add(&mut self, view: &RankView, acts: &[Act], times: u64, roles: &[Roles]) {
        for act in acts {
            match act {
                Act::Loop { turns, body } => self.add(view, body, times.saturating_mul(*turns), roles),
                Act::Call(made) => self.call(view, *made, times, roles),
            }
        }
    }

    fn call(&mut self, view: &RankView, made: Made, times: u64, roles: &[Roles]) {
        let (trace, event) = (view.trace, view.event(made));
        let roles = &roles[trace.calls[made.call as usize].0 as usize];
        let name = &trace.functions[event.template.function as usize].name;
        let bytes = roles.sent(trace, &event, view.position(&event));
        let destination =
            roles.find(&event, "dest").filter(|to| *to.field == Field::Rank && !name.ends_with("_init"));
        let tally = self.functions.entry(name.clone()).or_default();
        tally.calls = tally.calls.saturating_add(times);
        let to =
            destination.and_then(|to| to.number()).map(|number| (view.position(&event), Peer::of(number)));
        match to.filter(|(position, to)| to.rank(*position) >= 0) {
            Some((position, to)) => {
                tally.messages = tally.messages.saturating_add(times);
                tally.bytes = tally.bytes.saturating_add(u128::from(bytes) * u128::from(times));
                *self.sizes.entry(u64::BITS - bytes.leading_zeros()).or_default() += times;
                if let Peer::Relative(distance) = Peer::relative(to.rank(position), position) {
                    let (messages, sum) = self.distances.entry(distance).or_default();
                    *messages = messages.saturating_add(times);
                    *sum = sum.saturating_add(u128::from(bytes) * u128::from(times));
                }
            }
            None if destination.is_some() => {}
            None => tally.bytes = tally.bytes.saturating_add(u128::from(bytes) * u128::from(times)),
        }
    }

    /// Writes the statistics as text; `file` is the size of the trace in bytes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, trace: &Trace, file: u64, out: &mut impl Write) -> Result<()> {
        let calls = self.functions.values().fold(0u64, |sum, tally| sum.saturating_add(tally.calls));
        writeln!(
            out,
            "{} ranks, {calls} calls in {file} bytes: {:.6} bytes a call",
            trace.ranks,
            file as f64 / calls.max(1) as f64
        )?;
        let stored: usize = trace.shapes.iter().map(|nodes| length(nodes)).sum();
        writeln!(out, "{} shapes with {stored} calls, {} columns", trace.shapes.len(), trace.columns.len())?;
        writeln!(out, "\n{:<28} {:>16} {:>16} {:>20}", "function", "calls", "messages", "bytes")?;
        for (name, tally) in &self.functions {
            writeln!(out, "{name:<28} {:>16} {:>16} {:>20}", tally.calls, tally.messages, tally.bytes)?;
        }
        if !self.sizes.is_empty() {
            writeln!(out, "\n{:<28} {:>16}", "message of at least, bytes", "messages")?;
        }
        for (&bits, messages) in &self.sizes {
            writeln!(out, "{:<28} {messages:>16}", if bits == 0 { 0 } else { 1u64 << (bits - 1) })?;
        }
        if !self.distances.is_empty() {
            writeln!(out, "\n{:<28} {:>16} {:>20}", "distance to destination", "messages", "bytes")?;
        }
        let mut distances: Vec<_> = self.distances.iter().collect();
        distances.sort_by_key(|(distance, (messages, bytes))| {
            (std::cmp::Reverse((*bytes, *messages)), **distance)
        });
        for (distance, (messages, bytes)) in distances.iter().take(SHOWN) {
            writeln!(out, "{:<28} {messages:>16} {bytes:>20}", format!("{distance:+}"))?;
        }
        if distances.len() > SHOWN {
            writeln!(out, "and {} more", distances.len() - SHOWN)?;
        }
        Ok(())
    }
}

fn length(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| if let Node::Loop { body, .. } = node { length(body) } else { 1 }).sum()
}

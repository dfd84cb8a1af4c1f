//! Execution of a trace, and its results.

use crate::execution::{ChakraExecution, NodeProgress};
use crate::fault::{ChakraFault, ChakraFaultKind};
use crate::graph::ChakraGraph;
use crate::medium::MachineMedium;
use crate::node::{NodeEffort, NodeWork};
use engine::{Span, Time};
use network::{Bandwidth, Built, Serialization};
use rustc_hash::FxHashMap;
use schedule::choose::Policy;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Nodes that a sentence names at most.
const MAX_NAMED: usize = 8;

/// Rates at which nodes without a duration do their work: the roofline.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct WorkRates {
    /// Operations in a second.
    pub flops: Option<f64>,
    /// Bandwidth of the memory.
    pub memory: Option<Bandwidth>,
}

/// End of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChakraEnd {
    /// Time at which its last node ended.
    pub end: Time,
    /// Time in which it computed.
    pub computed: Span,
    /// Time in which it communicated and did not compute.
    pub exposed: Span,
}

impl ChakraEnd {
    /// Returns the time in which it did neither.
    pub fn idle(&self) -> Span {
        self.end.since(Time::ZERO) - self.computed - self.exposed
    }
}

/// Nodes of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NodeTotal {
    /// Number of those that began.
    pub count: u64,
    /// Sum of their times, in picoseconds.
    pub time_ps: u128,
}

/// An execution that is over.
#[derive(Clone, Debug)]
pub struct ChakraRun {
    /// Ends by rank.
    pub ends: Vec<ChakraEnd>,
    /// Begin and end of each rank's nodes, in the order of their ids; `None` for a node that never ended.
    pub times: Vec<Vec<Option<(Time, Time)>>>,
    /// Nodes by kind: `compute`, `send`, `allreduce` and the like.
    pub totals: BTreeMap<&'static str, NodeTotal>,
    /// Messages that were sent, those of collectives included.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u128,
    /// A sentence about nodes that never ended: a deadlock.
    pub deadlock: Option<String>,
    /// A sentence about messages that were never received, or have another size than their receive.
    pub failure: Option<String>,
}

impl ChakraRun {
    /// Returns the latest end.
    pub fn latest(&self) -> Time {
        self.ends.iter().map(|end| end.end).max().unwrap_or(Time::ZERO)
    }
}

/// Executes the trace of all ranks on a machine that has room for them. Unwinds with [`engine::EndOfTime`]
/// beyond 2^64 ps.
///
/// # Errors
/// A node without a duration and without the rate that its work needs.
pub fn run(
    graph: &ChakraGraph,
    built: &mut Built,
    rates: &WorkRates,
    policy: &Policy,
) -> Result<ChakraRun, ChakraFault> {
    let durations = durations(graph, rates)?;
    let mut execution = ChakraExecution::new(graph, &durations, policy, MachineMedium::new(built));
    execution.run();
    let deadlock = deadlock(graph, &execution);
    let failure = if deadlock.is_none() { failure(graph, &execution) } else { None };
    let (mut totals, mut times) = (BTreeMap::<&str, NodeTotal>::new(), Vec::with_capacity(graph.ranks.len()));
    for (rank, &first) in graph.ranks.iter().zip(&execution.first) {
        let mut own = Vec::with_capacity(rank.nodes.len());
        for (node, at) in rank.nodes.iter().zip(first as usize..) {
            let ended = execution.progress[at] == NodeProgress::Ended;
            let time = ended.then(|| (execution.begun[at], execution.ended[at]));
            own.push(time);
            let kind = match node.work {
                NodeWork::Nothing => continue,
                NodeWork::Compute(_) => "compute",
                NodeWork::Memory { stores: false, .. } => "mem_load",
                NodeWork::Memory { stores: true, .. } => "mem_store",
                NodeWork::Send { .. } => "send",
                NodeWork::Receive { .. } => "recv",
                NodeWork::Collective(number) => rank.collectives[number as usize].kind.name(),
            };
            if execution.progress[at] != NodeProgress::Waiting {
                let total = totals.entry(kind).or_default();
                total.count += 1;
                total.time_ps += time.map_or(0, |(begin, end)| u128::from(end.since(begin).as_ps()));
            }
        }
        times.push(own);
    }
    let ends = execution.accounts.iter();
    let ends = ends.map(|of| ChakraEnd { end: of.end, computed: of.computed, exposed: of.exposed });
    Ok(ChakraRun {
        ends: ends.collect(),
        times,
        totals,
        messages: execution.messages,
        bytes: execution.bytes,
        deadlock,
        failure,
    })
}

/// Returns how long each node computes, loads or stores.
fn durations(graph: &ChakraGraph, rates: &WorkRates) -> Result<Vec<Vec<Span>>, ChakraFault> {
    let memory = rates.memory.map(Serialization::new);
    let mut all = Vec::with_capacity(graph.ranks.len());
    for rank in &graph.ranks {
        let mut own = Vec::with_capacity(rank.nodes.len());
        for node in &rank.nodes {
            own.push(match &node.work {
                NodeWork::Compute(effort) | NodeWork::Memory { effort, .. } => {
                    duration(effort, rates.flops, memory.as_ref()).map_err(|(kind, reason)| {
                        let reason = format!("node {} {reason}", node.id);
                        ChakraFault::at(kind, node.byte, reason).in_file(&rank.file)
                    })?
                }
                _ => Span::ZERO,
            });
        }
        all.push(own);
    }
    Ok(all)
}

/// Returns a duration: the recorded one, or else the longer of operations and bytes by their rates.
fn duration(
    effort: &NodeEffort,
    flops: Option<f64>,
    memory: Option<&Serialization>,
) -> Result<Span, (ChakraFaultKind, String)> {
    const MICROSECOND: Span = Span::from_ps(1_000_000);
    let &NodeEffort { micros, operations, bytes } = effort;
    let too_long = || (ChakraFaultKind::Size, "takes longer than 213 days".to_owned());
    if micros > 0 {
        return MICROSECOND.checked_mul(micros).ok_or_else(too_long);
    }
    let by_operations = match flops {
        _ if operations == 0.0 => Span::ZERO,
        Some(flops) => Span::from_seconds(operations / flops).ok_or_else(too_long)?,
        None => {
            let reason =
                format!("has {operations} operations and no duration: give --flops, or the machine flops=");
            return Err((ChakraFaultKind::NoRate, reason));
        }
    };
    let by_bytes = match memory {
        _ if bytes == 0 => Span::ZERO,
        Some(memory) => memory.checked_time(bytes).ok_or_else(too_long)?,
        None => {
            let reason = format!("moves {bytes} bytes of memory and has no duration: give --memory");
            return Err((ChakraFaultKind::NoRate, reason));
        }
    };
    Ok(by_operations.max(by_bytes))
}

/// Returns the words of a node, with its file and byte.
fn named(graph: &ChakraGraph, execution: &ChakraExecution, node: u32) -> String {
    let rank = &graph.ranks[execution.rank(node) as usize];
    let found = &rank.nodes[execution.own_number(node) as usize];
    let text = match found.work {
        NodeWork::Nothing => "metadata".to_owned(),
        NodeWork::Compute(_) => "computation".to_owned(),
        NodeWork::Memory { .. } => "load or store".to_owned(),
        NodeWork::Send { to, tag, bytes } => format!("send of {bytes} bytes to rank {to} with tag {tag}"),
        NodeWork::Receive { from, tag, bytes } => {
            format!("receive of {bytes} bytes from rank {from} with tag {tag}")
        }
        NodeWork::Collective(number) => {
            let collective = &rank.collectives[number as usize];
            format!("{} of {} bytes", collective.kind.name(), collective.bytes)
        }
    };
    format!("rank {}: node {}, {text} ({}, byte {})", execution.rank(node), found.id, rank.file, found.byte)
}

/// Returns which members of a collective have not begun it.
fn lacking(graph: &ChakraGraph, execution: &ChakraExecution, node: u32) -> String {
    let rank = execution.rank(node);
    let found = &graph.ranks[rank as usize].nodes[execution.own_number(node) as usize];
    let NodeWork::Collective(number) = found.work else { return "never meets its other half".to_owned() };
    let (collective, _) = graph.calls[rank as usize][number as usize];
    let group = &graph.collectives[collective as usize];
    let waits = |&(&member, &node): &(&u32, &u32)| {
        execution.progress[(execution.first[member as usize] + node) as usize] == NodeProgress::Waiting
    };
    let first = group.members.iter().zip(&group.nodes).find(waits);
    first.map_or("never ends".to_owned(), |(&member, &node)| {
        let rank = &graph.ranks[member as usize];
        format!("waits for rank {member}, whose node {} has not begun", rank.nodes[node as usize].id)
    })
}

/// Explains which nodes have begun and never end.
fn deadlock(graph: &ChakraGraph, execution: &ChakraExecution) -> Option<String> {
    let (mut lines, mut begun, mut behind) = (Vec::new(), 0usize, 0u64);
    let mut ranks = FxHashMap::default();
    for (node, progress) in (0..).zip(&execution.progress) {
        match progress {
            NodeProgress::Ended => continue,
            NodeProgress::Waiting => behind += 1,
            NodeProgress::Begun => {
                begun += 1;
                if lines.len() < MAX_NAMED {
                    let why = lacking(graph, execution, node);
                    lines.push(format!("{} {why}", named(graph, execution, node)));
                }
            }
        }
        ranks.insert(execution.rank(node), ());
    }
    if ranks.is_empty() {
        return None;
    }
    let latest = execution.accounts.iter().map(|account| account.end).max().unwrap_or(Time::ZERO);
    let waiting = engine::deadlock::waiting(ranks.len(), graph.ranks.len() as u32);
    let mut text = format!("deadlock at virtual time {latest}: {waiting}");
    for line in &lines {
        let _ = write!(text, "\n  {line}");
    }
    if begun > lines.len() {
        let _ = write!(text, "\n  and {} more", begun - lines.len());
    }
    match behind {
        0 => {}
        1 => text.push_str("\n  1 node waits behind these"),
        behind => {
            let _ = write!(text, "\n  {behind} nodes wait behind these");
        }
    }
    if let Some(why) = execution.stuck() {
        let _ = write!(text, "\n  {why}");
    }
    Some(text)
}

/// Explains that messages have no receives, or receives another size.
fn failure(graph: &ChakraGraph, execution: &ChakraExecution) -> Option<String> {
    if let Some((send, receive)) = execution.mismatch {
        let [send, receive] = [send, receive].map(|node| named(graph, execution, node));
        return Some(format!("sizes differ: {send} meets {receive}"));
    }
    let mut left: Vec<u32> = execution.pairs.unreceived().collect();
    left.sort_unstable();
    let send = named(graph, execution, *left.first()?);
    let others =
        if left.len() > 1 { format!("; {} more are not either", left.len() - 1) } else { String::new() };
    Some(format!("{send} is never received{others}"))
}

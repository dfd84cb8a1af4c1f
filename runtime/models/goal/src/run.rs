//! Results of an execution.

use crate::carrier::Carrier;
use crate::execution::{Execution, MAX_OPERATIONS, OperationProgress};
use crate::graph::{ANY_SOURCE, ANY_TAG, GoalGraph, Work};
use crate::ready_order::ReadyOrder;
use engine::{Span, Time};
use std::fmt::Write;

/// Operations that a sentence names at most.
const MAX_NAMED: usize = 8;

/// Ends of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RankEnd {
    /// Number of the rank.
    pub rank: u32,
    /// Time at which its last operation has ended.
    pub end: Time,
    /// Time of its computations.
    pub computed: Span,
    /// Time in which its processors did nothing before its end, on their mean.
    pub idle: Span,
}

/// Operations of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OperationTotal {
    /// Number of those that began.
    pub count: u64,
    /// Processor time that they took.
    pub time: Span,
}

/// An execution that is over.
#[derive(Clone, Debug)]
pub struct GoalRun {
    /// Ranks that have operations, in the order of the graph.
    pub ends: Vec<RankEnd>,
    /// Their operations in the order in which they began.
    pub orders: Vec<Vec<u32>>,
    /// Computations.
    pub calculations: OperationTotal,
    /// Sends.
    pub sends: OperationTotal,
    /// Receives.
    pub receives: OperationTotal,
    /// Bytes that were sent.
    pub bytes: u128,
    /// A sentence about operations that never ended: a deadlock.
    pub deadlock: Option<String>,
    /// A sentence about messages that were never received, or that time has passed its end.
    pub failure: Option<String>,
}

impl GoalRun {
    /// Returns the latest end.
    pub fn latest(&self) -> Time {
        self.ends.iter().map(|end| end.end).max().unwrap_or(Time::ZERO)
    }
}

/// Executes a graph over a network. O(log) time for each operation and dependency, O(both) memory.
///
/// # Errors
/// A sentence, if there are more than 2^32 - 1 operations or dependencies.
pub fn run(graph: &GoalGraph, carrier: Carrier, order: ReadyOrder) -> Result<GoalRun, String> {
    let total = |count: fn(&crate::Operations) -> usize| -> u64 {
        graph.blocks.iter().map(|(_, operations)| count(operations) as u64).sum()
    };
    let most = total(|operations| operations.works.len()).max(total(|operations| operations.edges.len()));
    if most >= MAX_OPERATIONS {
        return Err(format!("{most} operations or dependencies are too many: at most 2^32 - 2 are executed"));
    }
    let mut execution = Execution::new(graph, carrier, order);
    execution.run();
    let deadlock = deadlock(graph, &execution);
    let failure = if deadlock.is_none() { failure(graph, &execution) } else { None };
    let [mut calculations, mut sends, mut receives] =
        execution.spent.map(|time| OperationTotal { count: 0, time });
    for (state, (_, operations)) in execution.ranks.iter().zip(&graph.blocks) {
        for &operation in &state.order {
            let total = match operations.works[operation as usize] {
                Work::Calculate(_) => &mut calculations,
                Work::Send { .. } => &mut sends,
                Work::Receive { .. } => &mut receives,
            };
            total.count += 1;
        }
    }
    let ends = execution.ranks.iter().map(|state| {
        let busy = Span::from_ps(state.busy.as_ps() / u64::from(state.cpus));
        let idle = state.end.since(Time::ZERO) - busy;
        RankEnd { rank: state.rank, end: state.end, computed: state.computed, idle }
    });
    Ok(GoalRun {
        ends: ends.collect(),
        calculations,
        sends,
        receives,
        bytes: execution.sent_bytes,
        deadlock,
        failure,
        orders: execution.ranks.into_iter().map(|state| state.order).collect(),
    })
}

/// Returns the words of an operation, and its line.
fn named(graph: &GoalGraph, execution: &Execution, operation: u32) -> String {
    let (block, own) = (execution.block(operation), execution.own_number(operation));
    let (rank, operations) = &graph.blocks[block];
    let text = match execution.work(operation) {
        Work::Send { bytes, to, tag } => format!("send {bytes}b to {to} tag {tag}"),
        Work::Receive { bytes, from, tag } => {
            let from = if from == ANY_SOURCE { "-1".to_owned() } else { from.to_string() };
            let tag = if tag == ANY_TAG { "-1".to_owned() } else { tag.to_string() };
            format!("recv {bytes}b from {from} tag {tag}")
        }
        Work::Calculate(time) => format!("calc {time}"),
    };
    format!("rank {rank}: {text} ({})", operations.location(own))
}

/// Explains which operations have begun and never end.
fn deadlock(graph: &GoalGraph, execution: &Execution) -> Option<String> {
    let (mut named_ones, mut begun, mut behind, mut ranks, mut last) = (Vec::new(), 0, 0u64, 0, usize::MAX);
    for (operation, progress) in (0..).zip(&execution.progress) {
        match progress {
            OperationProgress::Ended => continue,
            OperationProgress::Waiting => behind += 1,
            OperationProgress::Begun => {
                begun += 1;
                if named_ones.len() < MAX_NAMED {
                    named_ones.push(named(graph, execution, operation));
                }
            }
        }
        let block = execution.block(operation);
        ranks += usize::from(std::mem::replace(&mut last, block) != block);
    }
    if ranks == 0 {
        return None;
    }
    let latest = execution.ranks.iter().map(|state| state.end).max().unwrap_or(Time::ZERO);
    let mut text =
        format!("deadlock at virtual time {latest}: {}", engine::deadlock::waiting(ranks, graph.ranks));
    for operation in &named_ones {
        let _ = write!(text, "\n  {operation} never meets its other half");
    }
    if begun > named_ones.len() {
        let _ = write!(text, "\n  and {} more", begun - named_ones.len());
    }
    match behind {
        0 => {}
        1 => text.push_str("\n  1 operation waits behind these"),
        behind => {
            let _ = write!(text, "\n  {behind} operations wait behind these");
        }
    }
    if let Some(why) = execution.stuck() {
        let _ = write!(text, "\n  {why}");
    }
    Some(text)
}

/// Explains that messages have no receives, or that virtual time was not enough.
fn failure(graph: &GoalGraph, execution: &Execution) -> Option<String> {
    if execution.ranks.iter().any(|state| state.end == Time::MAX) {
        return Some("virtual time passed 2^64 picoseconds (213 days): reduce the computations".to_owned());
    }
    if let Some(why) = execution.stuck() {
        return Some(why);
    }
    let mut left = execution.queues.left();
    let first = left.next()?;
    let Work::Send { to, .. } = execution.work(first) else { return None };
    let others = match left.count() {
        0 => String::new(),
        1 => "; another message is not either".to_owned(),
        count => format!("; {count} more messages are not either"),
    };
    let send = named(graph, execution, first);
    Some(format!("{send} is never received: give rank {to} a recv for it{others}"))
}

//! Structure that several runs have in common: their loops and steps, with a number for each run where they
//! differ.

use crate::fold::{ModelNode, fold};
use crate::pattern::{Fitting, fitting};
use crate::steps::{RunSteps, StepAction};
use aspen::{Collective, CommunicationPattern, Operation};

/// One number for each run.
pub type Numbers = Vec<f64>;

/// A step or a loop of all runs.
#[derive(Clone, Debug)]
pub enum CommonStep {
    /// A step, and the seconds that a rank computes before it.
    Step(StepKind, Numbers),
    /// A loop: how many iterations it has, and its body.
    Loop(Numbers, Vec<CommonStep>),
}

/// The kind of a step.
#[derive(Clone, Debug)]
pub enum StepKind {
    /// A collective operation and its bytes.
    Collective(Collective, Operation, Numbers),
    /// Messages between pairs: items, and bytes of one.
    Exchange(CommunicationPattern, Numbers, Numbers),
    /// Messages of no pattern: the bytes that a rank sends on average.
    Open(Numbers),
}

/// The common part of runs.
#[derive(Clone, Debug)]
pub struct CommonRuns {
    /// The ranks of each.
    pub ranks: Vec<u32>,
    /// In their order.
    pub body: Vec<CommonStep>,
}

/// Returns what runs have in common.
///
/// # Errors
/// A sentence: they differ by more than numbers.
pub fn join(runs: &[RunSteps]) -> Result<CommonRuns, String> {
    let folded: Vec<Vec<ModelNode>> = runs.iter().map(fold).collect();
    let ranks: Vec<u32> = runs.iter().map(|run| run.ranks).collect();
    let bodies: Vec<&[ModelNode]> = folded.iter().map(Vec::as_slice).collect();
    let body = together(&ranks, &bodies)?;
    Ok(CommonRuns { ranks, body })
}

fn described(node: Option<&ModelNode>) -> String {
    match node {
        None => "nothing more".to_owned(),
        Some(ModelNode::Loop { count, body }) => format!("{count} times {}", described(body.first())),
        Some(ModelNode::Step { what: StepAction::Collective(which, ..), .. }) => which.name().to_owned(),
        Some(ModelNode::Step { what: StepAction::Messages(messages), .. }) => {
            format!("{} messages between pairs", messages.len())
        }
    }
}

fn together(ranks: &[u32], bodies: &[&[ModelNode]]) -> Result<Vec<CommonStep>, String> {
    let length = bodies.iter().map(|body| body.len()).max().unwrap_or(0);
    (0..length)
        .map(|at| {
            let nodes: Option<Vec<&ModelNode>> = bodies.iter().map(|body| body.get(at)).collect();
            nodes.and_then(|nodes| common(ranks, &nodes).transpose()).unwrap_or_else(|| {
                let has = |(ranks, body): (&u32, &&[ModelNode])| {
                    format!("on {ranks} ranks {}", described(body.get(at)))
                };
                let all: Vec<String> = ranks.iter().zip(bodies).map(has).collect();
                Err(format!(
                    "the traces differ by more than numbers: at one place there are {}",
                    all.join(", ")
                ))
            })
        })
        .collect()
}

/// Nodes of all runs as one; nothing if they are of different kinds.
fn common(ranks: &[u32], nodes: &[&ModelNode]) -> Result<Option<CommonStep>, String> {
    match nodes.first() {
        Some(ModelNode::Loop { .. }) => {
            let (mut counts, mut bodies) = (Vec::new(), Vec::new());
            for node in nodes {
                let ModelNode::Loop { count, body } = node else { return Ok(None) };
                counts.push(*count as f64);
                bodies.push(body.as_slice());
            }
            Ok(Some(CommonStep::Loop(counts, together(ranks, &bodies)?)))
        }
        Some(ModelNode::Step { .. }) => {
            let (mut computed, mut whats) = (Vec::new(), Vec::new());
            for node in nodes {
                let ModelNode::Step { what, computed: seconds, times } = node else { return Ok(None) };
                computed.push(seconds / times);
                whats.push(what);
            }
            Ok(doing(ranks, &whats).map(|doing| CommonStep::Step(doing, computed)))
        }
        None => Ok(None),
    }
}

fn doing(ranks: &[u32], whats: &[&StepAction]) -> Option<StepKind> {
    if let Some(StepAction::Collective(which, operation, _)) = whats.first() {
        let bytes = whats.iter().map(|what| match what {
            StepAction::Collective(other, by, bytes) if (other, by) == (which, operation) => {
                Some(*bytes as f64)
            }
            _ => None,
        });
        return Some(StepKind::Collective(*which, *operation, bytes.collect::<Option<_>>()?));
    }
    let mut messages = Vec::new();
    for what in whats {
        let StepAction::Messages(these) = what else { return None };
        messages.push(these);
    }
    // A pattern that all runs have: on few ranks several may fit.
    let mut fits: Vec<Vec<Fitting>> =
        ranks.iter().zip(&messages).map(|(&ranks, messages)| fitting(ranks, messages)).collect();
    let others = fits.split_off(1);
    for first in fits.remove(0) {
        let same = |fits: &Vec<Fitting>| fits.iter().find(|fit| fit.pattern == first.pattern).copied();
        let Some(rest) = others.iter().map(same).collect::<Option<Vec<Fitting>>>() else { continue };
        let all = || std::iter::once(&first).chain(&rest);
        return Some(StepKind::Exchange(
            first.pattern,
            all().map(|fit| fit.count as f64).collect(),
            all().map(|fit| fit.size as f64).collect(),
        ));
    }
    let all = messages.iter().map(|messages| messages.iter().map(|&(.., bytes)| bytes as f64).sum::<f64>());
    Some(StepKind::Open(ranks.iter().zip(all).map(|(&ranks, bytes)| bytes / f64::from(ranks)).collect()))
}

//! What several runs have in common: their loops and steps, with a number for each run where they differ.

use crate::fold::{Node, fold};
use crate::pattern::{Fitting, fitting};
use crate::steps::{Run, What};
use aspen::{Collective, Operation, Pattern};

/// One number for each run.
pub type Numbers = Vec<f64>;

/// A step or a loop of all runs.
#[derive(Clone, Debug)]
pub enum Common {
    /// A step, and the seconds that a rank computes before it.
    Step(Doing, Numbers),
    /// A loop: how many iterations it has, and its body.
    Loop(Numbers, Vec<Common>),
}

/// The kind of a step.
#[derive(Clone, Debug)]
pub enum Doing {
    /// A collective operation and its bytes.
    Collective(Collective, Operation, Numbers),
    /// Messages between pairs: items, and bytes of one.
    Exchange(Pattern, Numbers, Numbers),
    /// Messages of no pattern: the bytes that a rank sends on average.
    Open(Numbers),
}

/// The common part of runs.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The ranks of each.
    pub ranks: Vec<u32>,
    /// In their order.
    pub body: Vec<Common>,
}

/// Returns what runs have in common.
///
/// # Errors
/// A sentence: they differ by more than numbers.
pub fn join(runs: &[Run]) -> Result<Joined, String> {
    let folded: Vec<Vec<Node>> = runs.iter().map(fold).collect();
    let ranks: Vec<u32> = runs.iter().map(|run| run.ranks).collect();
    let bodies: Vec<&[Node]> = folded.iter().map(Vec::as_slice).collect();
    let body = together(&ranks, &bodies)?;
    Ok(Joined { ranks, body })
}

fn described(node: Option<&Node>) -> String {
    match node {
        None => "nothing more".to_owned(),
        Some(Node::Loop { count, body }) => format!("{count} times {}", described(body.first())),
        Some(Node::Step { what: What::Collective(which, ..), .. }) => which.name().to_owned(),
        Some(Node::Step { what: What::Messages(messages), .. }) => {
            format!("{} messages between pairs", messages.len())
        }
    }
}

fn together(ranks: &[u32], bodies: &[&[Node]]) -> Result<Vec<Common>, String> {
    let length = bodies.iter().map(|body| body.len()).max().unwrap_or(0);
    (0..length)
        .map(|at| {
            let nodes: Option<Vec<&Node>> = bodies.iter().map(|body| body.get(at)).collect();
            nodes.and_then(|nodes| common(ranks, &nodes).transpose()).unwrap_or_else(|| {
                let has =
                    |(ranks, body): (&u32, &&[Node])| format!("on {ranks} ranks {}", described(body.get(at)));
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
fn common(ranks: &[u32], nodes: &[&Node]) -> Result<Option<Common>, String> {
    match nodes.first() {
        Some(Node::Loop { .. }) => {
            let (mut counts, mut bodies) = (Vec::new(), Vec::new());
            for node in nodes {
                let Node::Loop { count, body } = node else { return Ok(None) };
                counts.push(*count as f64);
                bodies.push(body.as_slice());
            }
            Ok(Some(Common::Loop(counts, together(ranks, &bodies)?)))
        }
        Some(Node::Step { .. }) => {
            let (mut computed, mut whats) = (Vec::new(), Vec::new());
            for node in nodes {
                let Node::Step { what, computed: seconds, times } = node else { return Ok(None) };
                computed.push(seconds / times);
                whats.push(what);
            }
            Ok(doing(ranks, &whats).map(|doing| Common::Step(doing, computed)))
        }
        None => Ok(None),
    }
}

fn doing(ranks: &[u32], whats: &[&What]) -> Option<Doing> {
    if let Some(What::Collective(which, operation, _)) = whats.first() {
        let bytes = whats.iter().map(|what| match what {
            What::Collective(other, by, bytes) if (other, by) == (which, operation) => Some(*bytes as f64),
            _ => None,
        });
        return Some(Doing::Collective(*which, *operation, bytes.collect::<Option<_>>()?));
    }
    let mut messages = Vec::new();
    for what in whats {
        let What::Messages(these) = what else { return None };
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
        return Some(Doing::Exchange(
            first.pattern,
            all().map(|fit| fit.count as f64).collect(),
            all().map(|fit| fit.size as f64).collect(),
        ));
    }
    let all = messages.iter().map(|messages| messages.iter().map(|&(.., bytes)| bytes as f64).sum::<f64>());
    Some(Doing::Open(ranks.iter().zip(all).map(|(&ranks, bytes)| bytes / f64::from(ranks)).collect()))
}
